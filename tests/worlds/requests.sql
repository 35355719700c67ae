-- Requests with structs and floats, whose nested fields are added, renamed, widened and made anew.

CREATE TABLE lake.d.requests (id INT, service STRING, rate FLOAT, load DOUBLE, bytes BIGINT, day
  DATE, client STRUCT<ip: STRING, agent: STRUCT<name: STRING, version: INT>, secure: BOOLEAN>, geo
  STRUCT<city: STRING, lat: DOUBLE>) USING iceberg
  TBLPROPERTIES ('write.delete.mode'='merge-on-read');
CREATE TABLE lake.d.requests_rows USING iceberg AS SELECT CAST(id AS INT) AS id, nullif(concat('s',
  id % 4), 's3') AS service, element_at(array(FLOAT('0'), FLOAT('-0.0'), FLOAT('NaN'),
  FLOAT('1.5'), NULL), CAST(id % 5 AS INT) + 1) AS rate, element_at(array(0D, DOUBLE('-0.0'),
  DOUBLE('NaN'), -2.25D, NULL, DOUBLE('Infinity')), CAST(id % 6 AS INT) + 1) AS load, id * 37 % 101
  AS bytes, date_add(DATE '2026-03-16', CAST(id % 28 AS INT)) AS day, IF(id % 11 = 0, NULL,
  named_struct('ip', nullif(concat('10.0.', id % 9, '.1'), '10.0.4.1'), 'agent', IF(id % 7 = 0,
  NULL, named_struct('name', nullif(concat('Agent', id % 3), 'Agent2'), 'version', CAST(id % 40 +
  90 AS INT))), 'secure', id % 10 < 8)) AS client, IF(id % 13 = 0, NULL, named_struct('city',
  concat('c', id div 30), 'lat', element_at(array(DOUBLE('NaN'), DOUBLE('-0.0'), 0D, 52.5D, NULL),
  CAST(id % 5 AS INT) + 1))) AS geo FROM range(0, 150, 1, 1);
INSERT INTO lake.d.requests SELECT * FROM lake.d.requests_rows WHERE id < 30;
INSERT INTO lake.d.requests SELECT * FROM lake.d.requests_rows WHERE id BETWEEN 30 AND 59;
INSERT INTO lake.d.requests SELECT * FROM lake.d.requests_rows WHERE id BETWEEN 60 AND 89;

CREATE TABLE lake.d.requests_hosts (host STRING, client STRUCT<ip: STRING, rack: INT>)
  USING iceberg;
INSERT INTO lake.d.requests_hosts SELECT concat('h', id), IF(id = 5, NULL, named_struct('ip',
  concat('10.0.', id, '.1'), 'rack', CAST(id % 3 AS INT))) FROM range(0, 8, 1, 1);
CREATE TABLE lake.d.requests_named_all (`all` INT, b INT) USING iceberg;
INSERT INTO lake.d.requests_named_all VALUES (1, 2), (1, 3), (2, NULL);
CREATE TABLE lake.d.requests_none USING iceberg AS SELECT * FROM lake.d.requests_rows WHERE id < 0;
CREATE TABLE lake.d.requests_by_city (id INT, geo STRUCT<city: STRING, lat: DOUBLE>) USING iceberg
  PARTITIONED BY (geo.city);
INSERT INTO lake.d.requests_by_city SELECT id, geo FROM lake.d.requests_rows WHERE id < 90;
CREATE TABLE lake.d.requests_items (id INT, items ARRAY<STRUCT<sku: STRING, n: INT>>, labels
  MAP<STRING, STRUCT<n: INT>>, told STRUCT<tags: ARRAY<STRING>, at: TIMESTAMP, price: DECIMAL(9,
  2)>) USING iceberg;
INSERT INTO lake.d.requests_items SELECT CAST(id AS INT), array(named_struct('sku', concat('k', id),
  'n', CAST(id AS INT))), map('n', named_struct('n', CAST(id AS INT))), named_struct('tags',
  array('a', concat('t', id)), 'at', timestamp_seconds(id * 3600), 'price', CAST(id * 1.25 AS
  DECIMAL(9, 2))) FROM range(0, 9, 1, 1);
CREATE TABLE lake.d.requests_needed (id INT, told STRUCT<n: INT NOT NULL, s: STRING> NOT NULL)
  USING iceberg;
INSERT INTO lake.d.requests_needed SELECT CAST(id AS INT), named_struct('n', CAST(id % 3 AS INT),
  's', nullif(concat('s', id % 2), 's1')) FROM range(0, 9, 1, 1);
CREATE TABLE lake.d.requests_orc USING iceberg TBLPROPERTIES ('write.format.default'='orc') AS
  SELECT id, client, geo FROM lake.d.requests_rows WHERE id < 40;
CREATE TABLE lake.d.requests_by_load (id INT, load DOUBLE, rate FLOAT) USING iceberg PARTITIONED BY
  (load);
INSERT INTO lake.d.requests_by_load SELECT id, load, rate FROM lake.d.requests_rows WHERE id < 20;
INSERT INTO lake.d.requests_by_load SELECT id, load, rate FROM lake.d.requests_rows WHERE id > 130;
-- state made

INSERT INTO lake.d.requests SELECT * FROM lake.d.requests_rows WHERE id BETWEEN 90 AND 119;
-- state appended

DELETE FROM lake.d.requests WHERE id % 10 = 3;
-- state deleted

ALTER TABLE lake.d.requests ADD COLUMN client.agent.engine STRING;
ALTER TABLE lake.d.requests RENAME COLUMN client.ip TO address;
ALTER TABLE lake.d.requests ADD COLUMN client.ip STRING;
ALTER TABLE lake.d.requests ALTER COLUMN client.agent.version TYPE BIGINT;
ALTER TABLE lake.d.requests DROP COLUMN geo.lat;
ALTER TABLE lake.d.requests ADD COLUMN geo.lat DOUBLE;
INSERT INTO lake.d.requests SELECT id, service, rate, load, bytes, day, IF(client IS NULL, NULL,
  named_struct('address', client.ip, 'agent', IF(client.agent IS NULL, NULL, named_struct('name',
  client.agent.name, 'version', CAST(client.agent.version AS BIGINT) * 10000000000, 'engine',
  concat('e', id % 2))), 'secure', client.secure, 'ip', concat('fe80::', id % 3))), IF(geo IS NULL,
  NULL, named_struct('city', geo.city, 'lat', id / 4D)) FROM lake.d.requests_rows WHERE id >= 120;
-- state evolved
