-- Tables of statements and values that were once answered wrongly.

-- of wrong_once.slt
CREATE TABLE lake.d.once (g STRING, k INT, v INT, w BIGINT, e DECIMAL(18,4), s TIMESTAMP) USING
  iceberg;
CREATE TABLE lake.d.wrong_once_rows USING iceberg AS SELECT * FROM (SELECT id, concat('g', id %
  3), CAST(id % 4 AS INT), CAST(if(id % 7 = 0, NULL, id % 9) AS INT), CASE id % 4 WHEN 0 THEN NULL
  WHEN 1 THEN 4611686018427387905 ELSE 4611686018427387904 + id END, CAST(id AS DECIMAL(18,4)) /
  3, timestamp_seconds(1600000000 + id) FROM range(0, 90, 1, 1)) AS t (row, c1, c2, c3, c4, c5,
  c6);
INSERT INTO lake.d.once SELECT * EXCEPT (row) FROM lake.d.wrong_once_rows WHERE row < 50;
CREATE TABLE lake.d.wrong_promoted (g STRING, d DATE, i INT, x FLOAT) USING iceberg;
INSERT INTO lake.d.wrong_promoted VALUES ('a', DATE '2024-01-02', 3, 0.5), ('b', NULL, NULL,
  NULL);

-- of float_order.slt
CREATE TABLE lake.d.floats (k INT, d DOUBLE) USING iceberg;
INSERT INTO lake.d.floats SELECT CAST(id AS INT), IF(id % 2 = 0, DOUBLE('-0.0'), 0.0D) FROM
  range(0, 10, 1, 1);
INSERT INTO lake.d.floats SELECT CAST(id AS INT), DOUBLE('NaN') FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats SELECT CAST(id AS INT), DOUBLE('-0.0') FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats SELECT CAST(id AS INT), id + 5.0D FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats SELECT CAST(id AS INT), IF(id = 3, DOUBLE('NaN'), id / 2) FROM range(0,
  10, 1, 1);
CREATE TABLE lake.d.floats_few (k INT, d DOUBLE) USING iceberg;
INSERT INTO lake.d.floats_few SELECT CAST(id AS INT), id / 2 FROM range(1, 51, 1, 1);
INSERT INTO lake.d.floats_few SELECT CAST(id AS INT), id / 2 FROM range(100, 150, 1, 1);
CREATE TABLE lake.d.floats_zeros (k INT, d DOUBLE) USING iceberg;
INSERT INTO lake.d.floats_zeros SELECT CAST(id AS INT), DOUBLE('-0.0') FROM range(0, 10, 1, 1);
CREATE TABLE lake.d.floats_nan (k INT, d DOUBLE, e DOUBLE) USING iceberg;
INSERT INTO lake.d.floats_nan SELECT CAST(id AS INT), IF(id = 3, DOUBLE('NaN'), id / 8), id + 1.0D
  FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats_nan SELECT CAST(id AS INT), id + 5.0D, id + 1.0D FROM range(0, 10, 1,
  1);
CREATE TABLE lake.d.floats_on (k INT, d DOUBLE) USING iceberg;
INSERT INTO lake.d.floats_on SELECT CAST(id AS INT), DOUBLE('-0.0') FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats_on SELECT CAST(id AS INT), 0.0D FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats_on SELECT CAST(id AS INT), DOUBLE('NaN') FROM range(0, 10, 1, 1);
INSERT INTO lake.d.floats_on SELECT CAST(id AS INT), id + 5.0D FROM range(0, 10, 1, 1);

-- of names.slt
CREATE TABLE lake.d.named (g STRING, k INT, v INT, b BOOLEAN) USING iceberg;
INSERT INTO lake.d.named SELECT element_at(array('a', 'b', NULL), 1 + CAST(id % 3 AS INT)), id %
  4, id, id % 5 = 0 FROM range(0, 20);
INSERT INTO lake.d.named SELECT element_at(array('a', 'b', NULL), 1 + CAST(id % 3 AS INT)), id %
  4, id, id % 5 = 0 FROM range(20, 40);
CREATE TABLE lake.d.named_history (g STRING, v INT) USING iceberg;
INSERT INTO lake.d.named_history VALUES ('a', 1), ('b', 2);
ALTER TABLE lake.d.named_history CREATE BRANCH b;
ALTER TABLE lake.d.named_history CREATE TAG old;
INSERT INTO lake.d.named_history.branch_b VALUES ('b', 10), (NULL, 20);
INSERT INTO lake.d.named_history VALUES ('a', 100);
CREATE TABLE lake.d.named_ours (_acc_part INT, _acc_segment INT, segment INT, d0 INT, s0 INT)
  USING iceberg;
INSERT INTO lake.d.named_ours SELECT CAST(id % 2 AS INT), CAST(id % 3 AS INT), CAST(id % 4 AS
  INT), CAST(id % 5 AS INT), CAST(id % 6 AS INT) FROM range(40);
CREATE TABLE lake.d.named_ours_joined (_acc_part INT, _acc_segment INT, segment INT, d0 INT, s0
  INT) USING iceberg;
INSERT INTO lake.d.named_ours_joined SELECT CAST(id % 2 AS INT), CAST(id % 3 AS INT), CAST(id % 4
  AS INT), CAST(id % 5 AS INT), CAST(id % 6 AS INT) FROM range(40);

-- of case_aggregates.slt
CREATE TABLE lake.d.cases (g INT, k INT, m DECIMAL(10,2), i INT, n BIGINT, c DECIMAL(10,2), q
  DECIMAL(18,4), x DOUBLE, f FLOAT, s STRING, b BOOLEAN, d DATE) USING iceberg;
CREATE TABLE lake.d.cases_rows USING iceberg AS SELECT id AS row, g, element_at(array(NULL, 1, 2,
  3), 1 + pmod(hash(id, 'k', 1), 4)) AS k, if(pmod(hash(g, 'm'), 3) * 5 > pmod(hash(id, 'm'), 10),
  NULL, CAST(pmod(hash(id, 'm', 1), 601) - 300 AS DECIMAL(10,2)) / 100) AS m, if(pmod(hash(g,
  'i'), 3) * 5 > pmod(hash(id, 'i'), 10), NULL, element_at(array(-2147483648, -1, 0, 1,
  2147483647), 1 + pmod(hash(id, 'i', 1), 5))) AS i, if(pmod(hash(g, 'n'), 3) * 5 > pmod(hash(id,
  'n'), 10), NULL, element_at(array(-1099511627777, -1L, 0L, 1099511627777), 1 + pmod(hash(id,
  'n', 1), 4))) AS n, if(pmod(hash(g, 'c'), 3) * 5 > pmod(hash(id, 'c'), 10), NULL,
  CAST(pmod(xxhash64(id, 'c'), 19999999999) - 9999999999 AS DECIMAL(12)) / 100) AS c,
  if(pmod(hash(g, 'q'), 3) * 5 > pmod(hash(id, 'q'), 10), NULL, CAST(pmod(xxhash64(id, 'q'),
  1999999999999999999) - 999999999999999999 AS DECIMAL(19)) / 10000) AS q, if(pmod(hash(g, 'x'),
  3) * 5 > pmod(hash(id, 'x'), 10), NULL, CASE pmod(hash(id, 'x', 1), 4) WHEN 0 THEN DOUBLE('NaN')
  WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D ELSE (pmod(hash(id, 'x', 2), 161) - 80) / 8D END) AS x,
  if(pmod(hash(g, 'f'), 3) * 5 > pmod(hash(id, 'f'), 10), NULL, (pmod(hash(id, 'f', 1), 161) - 80)
  / 8) AS f, if(pmod(hash(g, 's'), 3) * 5 > pmod(hash(id, 's'), 10), NULL, element_at(array('',
  'a', 'Z', 'é'), 1 + pmod(hash(id, 's', 1), 4))) AS s, if(pmod(hash(g, 'b'), 3) * 5 >
  pmod(hash(id, 'b'), 10), NULL, pmod(hash(id, 'b', 1), 2) = 0) AS b, if(pmod(hash(g, 'd'), 3) * 5
  > pmod(hash(id, 'd'), 10), NULL, date_add(DATE '2020-02-27', pmod(hash(id, 'd', 1), 6))) AS d
  FROM (SELECT id, CAST(sqrt(id % 60) AS INT) AS g FROM range(0, 120, 1, 1));
INSERT INTO lake.d.cases SELECT * EXCEPT (row) FROM lake.d.cases_rows WHERE row < 60;

-- of overflow.slt
CREATE TABLE lake.d.overflowing (g STRING, i INT, l BIGINT, h BIGINT, d DECIMAL(9, 2)) USING iceberg;
INSERT INTO lake.d.overflowing SELECT if(id = 2, 'b', 'a'), element_at(array(2147483647, 1, 5),
  CAST(id AS INT) + 1), element_at(array(9223372036854775807, 1L, -1L), CAST(id AS INT) + 1),
  if(id = 0, 4611686018427387904, id), id FROM range(0, 3, 1, 1);
CREATE TABLE lake.d.cancelling (k INT, e INT, l BIGINT, a DECIMAL(38, 0), c DECIMAL(38, 2),
  p DECIMAL(30, 2)) USING iceberg;
INSERT INTO lake.d.cancelling SELECT CAST(id % 2 AS INT), CAST(1 + id % 4 AS INT),
  if(id < 4, 5000000000000000000, -4000000000000000000),
  CAST(if(id < 4, '', '-') || '6' || repeat('0', 37) AS DECIMAL(38, 0)),
  CAST(if(id < 4, '', '-') || '6' || repeat('0', 35) AS DECIMAL(38, 2)), id
  FROM range(0, 8, 1, 1);

-- state made


-- of wrong_once.slt
INSERT INTO lake.d.once SELECT * EXCEPT (row) FROM lake.d.wrong_once_rows WHERE row BETWEEN 40 AND
  89;
ALTER TABLE lake.d.wrong_promoted ALTER COLUMN i TYPE BIGINT;
ALTER TABLE lake.d.wrong_promoted ALTER COLUMN x TYPE DOUBLE;
INSERT INTO lake.d.wrong_promoted VALUES ('a', DATE '2024-01-05', 4000000000, 0.1);

-- of names.slt
ALTER TABLE lake.d.named_history RENAME COLUMN v TO w;
INSERT INTO lake.d.named_history VALUES ('c', 1000);

-- of case_aggregates.slt
INSERT INTO lake.d.cases SELECT * EXCEPT (row) FROM lake.d.cases_rows WHERE row >= 60;
-- state appended


-- of names.slt
CREATE NAMESPACE lake.d.named_history;
CREATE TABLE lake.d.named_history.branch_b (g STRING, v INT) USING iceberg;
-- state changed


-- of names.slt
DROP TABLE lake.d.named_history.branch_b;
DROP NAMESPACE lake.d.named_history;
-- state undone
