-- Facts in a few files, with few dimensions: one for each suite, appended to and changed.

-- of nested.slt
CREATE TABLE lake.d.nest_f (k STRING, d DATE, v INT, p DECIMAL(9, 2)) USING iceberg;
CREATE TABLE lake.d.nest_d (dk STRING, g STRING) USING iceberg;
CREATE TABLE lake.d.nested_rows USING iceberg AS SELECT * FROM (SELECT id,
  nullif(substr('abcdefgé', CAST(id % 9 AS INT), 1), ''), date_add(DATE '2023-11-20', CAST(id * 17
  % 900 AS INT)), nullif(CAST(id * 7 % 13 AS INT), 5), id * 31 % 97 / 4 FROM range(0, 80, 1, 1))
  AS t (row, c1, c2, c3, c4);
INSERT INTO lake.d.nest_f SELECT * EXCEPT (row) FROM lake.d.nested_rows WHERE row < 40;
INSERT INTO lake.d.nest_f SELECT * EXCEPT (row) FROM lake.d.nested_rows WHERE row BETWEEN 40 AND
  79;
INSERT INTO lake.d.nest_d VALUES ('a', 'x'), ('b', 'x'), ('c', 'y'), ('é', NULL), ('q', 'z');

-- of set_operations.slt
CREATE TABLE lake.d.set_f USING iceberg AS SELECT CAST(id AS INT) % 7 AS k, nullif(concat('g', id
  % 3), 'g2') AS g, nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id % 5 AS DOUBLE) / 8 - 0.25 AS x
  FROM range(0, 90, 1, 1);

-- of grouping_sets.slt
CREATE TABLE lake.d.grouping_sets_rows USING iceberg AS SELECT id AS row, nullif(id % 4, 3) AS a,
  nullif(concat('b', id % 3), 'b2') AS b, date_add(DATE '2023-11-28', CAST(id AS INT)) AS d,
  nullif(CAST(id AS INT) % 5, 0) AS v, CAST(id AS DOUBLE) / 4 AS x, id % 6 AS k FROM range(0, 55,
  1, 1);
CREATE TABLE lake.d.sets USING iceberg AS SELECT * EXCEPT (row) FROM lake.d.grouping_sets_rows
  WHERE row < 40;
CREATE TABLE lake.d.sets_empty USING iceberg AS SELECT * EXCEPT (row) FROM
  lake.d.grouping_sets_rows WHERE row < 0;
CREATE TABLE lake.d.sets_d AS SELECT id AS dk, concat('g', id % 2) AS g FROM range(5);

-- of decimals.slt
CREATE TABLE lake.d.decimals_rows USING iceberg AS SELECT id AS row, nullif(concat('g', id % 3),
  'g2') AS g, nullif(CAST(id AS INT) % 5 - 2, 1) AS i, CAST(id % 4 AS DECIMAL(3,2)) / 8 AS r,
  nullif(CAST(id - 30 AS DECIMAL(9,2)), 7) AS c, CAST((id - 20) * 99999999999.1234 AS
  DECIMAL(18,4)) AS p, CAST((id - 9) * 10101010.0123456789 AS DECIMAL(24,10)) AS q, id *
  1000000007 AS w FROM range(0, 90, 1, 1);
CREATE TABLE lake.d.decimals_f USING iceberg AS SELECT * EXCEPT (row) FROM lake.d.decimals_rows
  WHERE row < 60;
CREATE TABLE lake.d.decimals_rows1 USING iceberg AS SELECT id AS row, nullif(concat('g', id % 3),
  'g2') AS g, id % 7 AS k, CAST(nullif(id % 5, 3) * 12345678901.23 - id AS DECIMAL(15,2)) AS e,
  CAST(id % 11 / 100 AS DECIMAL(15,2)) AS d, CAST(id % 9 * 11111111.11 AS DECIMAL(15,2)) AS t FROM
  range(0, 90, 1, 1);
CREATE TABLE lake.d.decimals_w USING iceberg TBLPROPERTIES ('format-version'='2') AS SELECT *
  EXCEPT (row) FROM lake.d.decimals_rows1 WHERE row < 60;
CREATE TABLE lake.d.decimals_sums (k INT, a DECIMAL(30,2), b DECIMAL(30,2)) USING iceberg;
INSERT INTO lake.d.decimals_sums VALUES (1, CAST(3000000000000000 AS DECIMAL(30,2)),
  CAST(3000000000000000 AS DECIMAL(30,2)) * 200), (2, 1, 2);
CREATE TABLE lake.d.decimals_minus (k INT, c DECIMAL(38,2)) USING iceberg;
INSERT INTO lake.d.decimals_minus VALUES (1, CAST('123456789012345678901234567890123456.78' AS
  DECIMAL(38,2)));
INSERT INTO lake.d.decimals_minus VALUES (1, CAST('-7.25' AS DECIMAL(38,2)));

-- of partial.slt
CREATE TABLE lake.d.partial_rows USING iceberg AS SELECT id AS row, nullif(CAST(id AS INT) % 7, 6)
  AS k, nullif(concat('g', id % 3), 'g2') AS g, CAST(id AS INT) % 5 AS v, CAST(id AS DECIMAL(9,2))
  / 4 AS c, CAST(id % 5 AS DOUBLE) / 8 AS x, date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS
  d, TIMESTAMP_NTZ '2024-03-10 02:30:00' + make_interval(0, 0, 0, id % 3) AS z FROM range(0, 120,
  1, 1);
CREATE TABLE lake.d.part_f USING iceberg AS SELECT * EXCEPT (row) FROM lake.d.partial_rows WHERE
  row < 90;
CREATE TABLE lake.d.part_d AS SELECT CAST(id AS INT) AS k, concat('n', id) AS name FROM range(9);
CREATE VIEW lake.d.part_view AS SELECT * FROM lake.d.part_f;

-- of views.slt
CREATE TABLE lake.d.seen_f USING iceberg AS SELECT CAST(id AS INT) % 7 AS k, nullif(concat('g', id
  % 3), 'g2') AS g, nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id AS DECIMAL(9,2)) / 4 AS c,
  date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS d FROM range(0, 90, 1, 1);
CREATE TABLE lake.d.seen_d AS SELECT CAST(id AS INT) AS dk, concat('n', id % 4) AS name FROM
  range(6);
CREATE VIEW lake.d.seen_sums (who COMMENT 'a name', total) AS SELECT g, sum(v) FROM lake.d.seen_f
  GROUP BY g;
CREATE VIEW lake.d.seen_all AS SELECT * FROM lake.d.seen_f WHERE v >= 1 -- all but these;
CREATE VIEW lake.d.seen_both AS SELECT f.g, f.v, f.c, name, f.d FROM lake.d.seen_f f JOIN
  lake.d.seen_d ON k = dk;
CREATE VIEW lake.d.seen_qualified AS SELECT f.* FROM lake.d.seen_f f;
CREATE VIEW lake.d.seen_newer AS SELECT g, v, parse_json('1') AS j FROM lake.d.seen_f;
CREATE VIEW lake.d.seen_named (one, two) AS SELECT g, v FROM lake.d.seen_f;
CREATE VIEW lake.d.seen_deep AS SELECT who, total FROM lake.d.seen_sums WHERE total > 2;
CREATE VIEW lake.d.seen_star AS SELECT * FROM lake.d.seen_f f JOIN lake.d.seen_d ON k = dk;
CREATE VIEW lake.d.seen_with AS WITH x AS (SELECT g, v + 1 AS w FROM lake.d.seen_f) SELECT g, w
  FROM x;
CREATE VIEW lake.d.seen_windows AS SELECT g, rank() OVER (ORDER BY v) AS r FROM lake.d.seen_f;
CREATE VIEW lake.d.seen_union AS SELECT g FROM lake.d.seen_f UNION ALL SELECT name FROM
  lake.d.seen_d;
CREATE TABLE lake.d.seen_wide AS SELECT 'a' AS g, 1 AS v UNION ALL SELECT 'b', 2;
CREATE VIEW lake.d.seen_row AS SELECT * FROM lake.d.seen_wide;
CREATE VIEW lake.d.seen_distinct AS SELECT DISTINCT * FROM lake.d.seen_wide;

-- of times.slt
CREATE TABLE lake.d.times (day DATE, at TIMESTAMP, clock TIMESTAMP_NTZ, v INT);
INSERT INTO lake.d.times SELECT CAST(d AS DATE), CAST(concat(d, ' ', c) AS TIMESTAMP),
  CAST(concat(d, ' ', c) AS TIMESTAMP_NTZ), i * 5 + j FROM (SELECT posexplode(array('0001-01-01',
  '0004-02-29', '1500-03-01', '1582-10-04', '1582-10-15', '1900-02-28', '1969-12-31',
  '1970-01-01', '2000-02-29', '2019-12-30', '2020-01-31', '2020-02-01', '2020-02-29',
  '2020-03-01', '2020-04-01', '2020-12-31', '2021-01-03', '2021-01-04', '2024-03-10',
  '9999-12-31')) AS (i, d)) CROSS JOIN (SELECT posexplode(array('00:00:00', '00:00:00.000001',
  '06:59:59.5', '12:30:00', '23:59:59.999999')) AS (j, c)) UNION ALL VALUES (NULL, NULL, NULL, 7);
-- state made


-- of set_operations.slt
DELETE FROM lake.d.set_f WHERE k = 4;
-- state trimmed


-- of nested.slt
INSERT INTO lake.d.nest_f VALUES ('a', DATE '2025-01-01', 100, 1), (NULL, NULL, 7, 2);

-- of set_operations.slt
INSERT INTO lake.d.set_f VALUES (9, NULL, NULL, -0D), (1, 'new', 8, double('NaN'));

-- of decimals.slt
INSERT INTO lake.d.decimals_f SELECT * EXCEPT (row) FROM lake.d.decimals_rows WHERE row BETWEEN 60
  AND 89;
INSERT INTO lake.d.decimals_w SELECT * EXCEPT (row) FROM lake.d.decimals_rows1 WHERE row BETWEEN
  60 AND 89;
INSERT INTO lake.d.decimals_sums SELECT 3 + id, CAST(3000000000000000 AS DECIMAL(30,2)) * 600,
  CAST(3000000000000000 AS DECIMAL(30,2)) FROM range(2);

-- of partial.slt
INSERT INTO lake.d.part_f SELECT * EXCEPT (row) FROM lake.d.partial_rows WHERE row BETWEEN 90 AND
  119;

-- of views.slt
INSERT INTO lake.d.seen_f SELECT k, g, v + 1, c, d FROM lake.d.seen_f WHERE k < 3;
CREATE OR REPLACE VIEW lake.d.seen_new AS SELECT g, sum(v) AS s FROM lake.d.seen_f GROUP BY g;
ALTER TABLE lake.d.seen_wide ADD COLUMN w INT;
INSERT INTO lake.d.seen_wide VALUES ('a', 1, 7), ('a', 1, 8);
-- state appended


-- of nested.slt
DELETE FROM lake.d.nest_f WHERE k = 'b' OR v = 100;

-- of grouping_sets.slt
INSERT INTO lake.d.sets SELECT * EXCEPT (row) FROM lake.d.grouping_sets_rows WHERE row BETWEEN 40
  AND 54;
DELETE FROM lake.d.sets WHERE k = 2 AND d > '2024-01-09';

-- of decimals.slt
INSERT INTO lake.d.decimals_w SELECT 'g9', 1L, CAST(9999999999999.99 AS DECIMAL(15,2)),
  -CAST(9999999999999.99 AS DECIMAL(15,2)), CAST(9999999999999.99 AS DECIMAL(15,2));

-- of views.slt
CREATE OR REPLACE VIEW lake.d.seen_new AS SELECT g, min(v) + 100 AS s FROM lake.d.seen_f GROUP BY
  g;
ALTER TABLE lake.d.seen_wide ALTER COLUMN v TYPE BIGINT;
-- state changed


-- of partial.slt
ALTER TABLE lake.d.part_f ADD COLUMN late INT;

-- of views.slt
CREATE OR REPLACE VIEW lake.d.seen_new AS SELECT g, count(*) AS s FROM lake.d.seen_f GROUP BY g;
-- state widened


-- of views.slt
DROP VIEW lake.d.seen_new;
CREATE TABLE lake.d.seen_new AS SELECT -5 AS s;
-- state last
