-- Facts and dimensions, with NULL, dangling and repeated keys; files come, rows and keys change.

-- of semi_joins.slt
CREATE TABLE lake.d.semi_f (k INT, i INT, g STRING, v INT, b BOOLEAN) USING iceberg;
CREATE TABLE lake.d.semi_d (k INT, ok INT, region STRING) USING iceberg TBLPROPERTIES
  ('write.delete.mode'='merge-on-read');
CREATE TABLE lake.d.semi_o (ok INT, land STRING) USING iceberg;
CREATE TABLE lake.d.semi_t (k INT, tag STRING) USING iceberg;
INSERT INTO lake.d.semi_d SELECT id, id % 3, if(id = 4, NULL, concat('r', id % 2)) FROM range(6)
  UNION ALL VALUES (NULL, 0, 'r0'), (NULL, 1, 'r1');
INSERT INTO lake.d.semi_o VALUES (0, 'x'), (1, 'y');
INSERT INTO lake.d.semi_t VALUES (0, 'a'), (0, 'b'), (1, 'a'), (NULL, 'a');
INSERT INTO lake.d.semi_f SELECT nullif(CAST(id % 9 AS INT), 8), CAST(id % 4 AS INT), concat('g',
  id % 2), if(id % 7 = 0, NULL, id % 13), if(id % 5 = 0, NULL, id % 5 = 1) FROM range(0, 60, 1,
  1);
INSERT INTO lake.d.semi_f SELECT nullif(CAST(id % 9 AS INT), 8), CAST(id % 4 AS INT), concat('g',
  id % 2), if(id % 7 = 0, NULL, id % 13), if(id % 5 = 0, NULL, id % 5 = 1) FROM range(60, 120, 1,
  1);

-- of join_forms.slt
CREATE TABLE lake.d.forms_f (k INT, g STRING, v INT) USING iceberg;
CREATE TABLE lake.d.forms_d (k INT, ok INT, region STRING) USING iceberg;
CREATE TABLE lake.d.forms_o (ok INT, land STRING) USING iceberg;
INSERT INTO lake.d.forms_d SELECT id, id % 3, concat('r', id % 2) FROM range(6);
INSERT INTO lake.d.forms_o VALUES (0, 'x'), (1, 'y'), (2, NULL);
INSERT INTO lake.d.forms_f SELECT nullif(CAST(id % 9 AS INT), 8), concat('g', id % 2), id FROM
  range(0, 40);
INSERT INTO lake.d.forms_f SELECT nullif(CAST(id % 9 AS INT), 8), concat('g', id % 2), id FROM
  range(40, 80);

-- of two_cubes.slt
CREATE TABLE lake.d.two_cubes_rows USING iceberg AS SELECT id AS row, CAST(id AS INT) % 7 AS k,
  nullif(concat('g', id % 3), 'g2') AS g, nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id AS
  DECIMAL(9,2)) / 4 AS c, CAST(id % 5 AS DOUBLE) / 8 - 0.25 AS x, id AS w, date_add(DATE
  '2024-01-28', CAST(id % 40 AS INT)) AS d FROM range(0, 130, 1, 1);
CREATE TABLE lake.d.two_f USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read') AS
  SELECT * EXCEPT (row) FROM lake.d.two_cubes_rows WHERE row < 90;
CREATE TABLE lake.d.two_d AS SELECT CAST(id AS INT) AS dk, concat('n', id % 4) AS name FROM
  range(6);

-- of delta_joins.slt
CREATE TABLE lake.d.delta_joins_rows USING iceberg AS SELECT id AS row, nullif(CAST(id AS INT) %
  11, 9) AS k, nullif(concat('g', id % 3), 'g2') AS g, CAST(id AS INT) % 4 AS i, nullif(CAST(id AS
  INT) % 7, 0) AS v, id * 100 AS w, CAST(id AS DECIMAL(9,2)) / 4 AS c, CAST(id % 5 AS DOUBLE) / 8
  AS x, date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS d FROM range(0, 75, 1, 1);
CREATE TABLE lake.d.delta_f USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read',
  'write.update.mode'='merge-on-read') AS SELECT * EXCEPT (row) FROM lake.d.delta_joins_rows WHERE
  row < 60;
CREATE TABLE lake.d.delta_e USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read',
  'write.update.mode'='merge-on-read') AS SELECT * EXCEPT (row) FROM lake.d.delta_joins_rows WHERE
  row < 0;
CREATE TABLE lake.d.delta_b USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read',
  'write.update.mode'='merge-on-read') AS SELECT * EXCEPT (row) FROM lake.d.delta_joins_rows WHERE
  row < 60;
DELETE FROM lake.d.delta_b WHERE k IS NULL OR k > 8;
CREATE TABLE lake.d.delta_d USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read',
  'write.update.mode'='merge-on-read') AS SELECT CAST(id AS INT) AS dk, nullif(concat('r', id %
  3), 'r2') AS region, concat('n', id) AS name, CAST(id % 4 AS INT) AS ok, CAST(id AS DOUBLE) / 3
  - 1 AS weight, timestamp_seconds(1700000000 + id * 86400) AS since, named_struct('a', id) AS s
  FROM range(0, 9);
CREATE TABLE lake.d.delta_t AS SELECT CAST(id % 4 AS INT) AS tk, concat('t', id % 3) AS tag FROM
  range(6);

-- of attacked_joins.slt
CREATE TABLE lake.d.attacked_f (id BIGINT, k INT, name STRING) USING iceberg;
INSERT INTO lake.d.attacked_f SELECT /*+ COALESCE(1) */ id, CAST(0 * 10 + id % 10 AS INT),
  concat('n', id) FROM range(100);
INSERT INTO lake.d.attacked_f SELECT /*+ COALESCE(1) */ id, CAST(1 * 10 + id % 10 AS INT),
  concat('n', id) FROM range(100);
INSERT INTO lake.d.attacked_f SELECT /*+ COALESCE(1) */ id, CAST(2 * 10 + id % 10 AS INT),
  concat('n', id) FROM range(100);
INSERT INTO lake.d.attacked_f SELECT /*+ COALESCE(1) */ id, CAST(3 * 10 + id % 10 AS INT),
  concat('n', id) FROM range(100);
CREATE TABLE lake.d.attacked_d (k INT, x INT) USING iceberg;
INSERT INTO lake.d.attacked_d SELECT CAST(id AS INT), CAST(id + 1 AS INT) FROM range(40);
CREATE TABLE lake.d.attacked_arrays (k INT, a ARRAY<INT>, y INT) USING iceberg;
INSERT INTO lake.d.attacked_arrays VALUES (3, array(1), 1), (33, array(2, NULL), 2);
CREATE TABLE lake.d.attacked_nan (k INT, x DOUBLE) USING iceberg;
INSERT INTO lake.d.attacked_nan SELECT /*+ COALESCE(1) */ CAST(a AS INT), CAST(b AS DOUBLE) FROM
  VALUES (1, 1e0), (2, DOUBLE('NaN')) t(a, b);
INSERT INTO lake.d.attacked_nan SELECT /*+ COALESCE(1) */ CAST(a AS INT), CAST(b AS DOUBLE) FROM
  VALUES (3, 9e0), (4, 2e0) t(a, b);
CREATE TABLE lake.d.attacked_states_f (id BIGINT, k INT, v INT) USING iceberg;
CREATE TABLE lake.d.attacked_states_d (k INT, region STRING) USING iceberg;
INSERT INTO lake.d.attacked_states_d SELECT CAST(id AS INT), concat('r', id % 4) FROM range(20);
ALTER TABLE lake.d.attacked_states_d CREATE TAG before;
UPDATE lake.d.attacked_states_d SET region = concat('r', (k + 1) % 4);
INSERT INTO lake.d.attacked_states_f SELECT id, CAST(id % 22 AS INT), CAST(id AS INT) FROM
  range(100);
CREATE TABLE lake.d.attacked_nested_f (a ARRAY<INT>, k INT) USING iceberg;
CREATE TABLE lake.d.attacked_nested_d (k INT, region STRING) USING iceberg;
INSERT INTO lake.d.attacked_nested_d SELECT CAST(id AS INT), concat('r', id % 4) FROM range(20);
INSERT INTO lake.d.attacked_nested_f SELECT array(CAST(id AS INT)), CAST(id % 22 AS INT) FROM
  range(100);

-- of tables_beside.slt
CREATE TABLE lake.d.beside_f (k STRING, d DATE, v INT, p DECIMAL(9, 2)) USING iceberg;
CREATE TABLE lake.d.beside_d (dk STRING, g STRING, w INT, c DECIMAL(5, 1), e DATE) USING iceberg
  TBLPROPERTIES ('write.delete.mode'='merge-on-read');
CREATE TABLE lake.d.beside_x USING iceberg AS SELECT struct(1 AS one) AS x, 'a' AS y;
INSERT INTO lake.d.beside_f SELECT nullif(substr('abcdefgé', CAST(id % 9 AS INT), 1), ''),
  date_add(DATE '2023-11-20', CAST(id * 17 % 900 AS INT)), nullif(CAST(id * 7 % 13 AS INT), 5), id
  * 31 % 97 / 4 FROM range(60);
INSERT INTO lake.d.beside_d VALUES ('a', 'x', 1, 7.5, DATE '2024-01-01'), ('a', 'y', 2, -1, DATE
  '2024-02-01'), ('é', NULL, 0, 3, NULL), (NULL, 'x', NULL, NULL, DATE '2023-01-01'), ('q', 'z',
  7, 0, NULL);
CREATE TABLE lake.d.beside_empty (k STRING, n INT, y BINARY) USING iceberg;

-- of joined.slt
CREATE TABLE lake.d.joined_f (id BIGINT, k INT, day DATE, name STRING, v DECIMAL(9, 2), x DOUBLE)
  USING iceberg;
CREATE TABLE lake.d.joined_d (k INT, a STRING, y INT) USING iceberg;
CREATE TABLE lake.d.joined_e (day DATE, month INT) USING iceberg;
INSERT INTO lake.d.joined_d SELECT CAST(id AS INT), IF(id % 9 = 0, NULL, concat('a', id % 5)),
  CAST(id DIV 10 AS INT) FROM range(60) UNION ALL VALUES (NULL, 'a1', 1);
INSERT INTO lake.d.joined_e SELECT date_add(DATE '2026-01-01', CAST(id AS INT)), CAST(id DIV 30 AS
  INT) FROM range(180);
INSERT INTO lake.d.joined_f SELECT /*+ COALESCE(1) */ id, CAST(IF(id % 17 = 0, NULL, 0 * 12 + id %
  13) AS INT), date_add(DATE '2026-01-01', CAST(0 * 30 + id % 31 AS INT)), concat('n', id % 7), id
  % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8) FROM range(0, 100);
INSERT INTO lake.d.joined_f SELECT /*+ COALESCE(1) */ id, CAST(IF(id % 17 = 0, NULL, 1 * 12 + id %
  13) AS INT), date_add(DATE '2026-01-01', CAST(1 * 30 + id % 31 AS INT)), concat('n', id % 7), id
  % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8) FROM range(100, 200);
INSERT INTO lake.d.joined_f SELECT /*+ COALESCE(1) */ id, CAST(IF(id % 17 = 0, NULL, 2 * 12 + id %
  13) AS INT), date_add(DATE '2026-01-01', CAST(2 * 30 + id % 31 AS INT)), concat('n', id % 7), id
  % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8) FROM range(200, 300);
INSERT INTO lake.d.joined_f SELECT /*+ COALESCE(1) */ id, CAST(IF(id % 17 = 0, NULL, 3 * 12 + id %
  13) AS INT), date_add(DATE '2026-01-01', CAST(3 * 30 + id % 31 AS INT)), concat('n', id % 7), id
  % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8) FROM range(300, 400);
INSERT INTO lake.d.joined_f SELECT /*+ COALESCE(1) */ id, CAST(IF(id % 17 = 0, NULL, 4 * 12 + id %
  13) AS INT), date_add(DATE '2026-01-01', CAST(4 * 30 + id % 31 AS INT)), concat('n', id % 7), id
  % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8) FROM range(400, 500);
INSERT INTO lake.d.joined_f SELECT /*+ COALESCE(1) */ id, CAST(IF(id % 17 = 0, NULL, 5 * 12 + id %
  13) AS INT), date_add(DATE '2026-01-01', CAST(5 * 30 + id % 31 AS INT)), concat('n', id % 7), id
  % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8) FROM range(500, 600);
-- state made


-- of delta_joins.slt
UPDATE lake.d.delta_d SET region = 'r9', name = 'late' WHERE dk IN (2, 3);
DELETE FROM lake.d.delta_d WHERE dk = 4;
INSERT INTO lake.d.delta_d SELECT 10, 'r10', 'ten', 1, -0.0D, TIMESTAMP '2024-01-01',
  named_struct('a', 1L);

-- of attacked_joins.slt
CREATE OR REPLACE TABLE lake.d.attacked_d USING iceberg AS SELECT CAST(id AS INT) k, true x FROM
  range(40);
-- state updated


-- of semi_joins.slt
INSERT INTO lake.d.semi_f SELECT nullif(CAST(id % 9 AS INT), 8), CAST(id % 4 AS INT), concat('g',
  id % 2), if(id % 7 = 0, NULL, id % 13), if(id % 5 = 0, NULL, id % 5 = 1) FROM range(120, 180, 1,
  1);

-- of join_forms.slt
INSERT INTO lake.d.forms_f VALUES (1, 'g0', 7), (77, 'g1', 8), (NULL, 'g9', 9);

-- of two_cubes.slt
INSERT INTO lake.d.two_f SELECT * EXCEPT (row) FROM lake.d.two_cubes_rows WHERE row BETWEEN 90 AND
  129;

-- of delta_joins.slt
INSERT INTO lake.d.delta_f SELECT * EXCEPT (row) FROM lake.d.delta_joins_rows WHERE row BETWEEN 60
  AND 74;

-- of tables_beside.slt
INSERT INTO lake.d.beside_d VALUES ('b', 'w', 3, 1, DATE '2025-01-01');
DELETE FROM lake.d.beside_d WHERE g = 'y';
INSERT INTO lake.d.beside_f VALUES ('b', DATE '2025-01-01', 100, 1), (NULL, NULL, 7, 2);
-- state appended


-- of semi_joins.slt
INSERT INTO lake.d.semi_d VALUES (3, 2, 'r0');

-- of two_cubes.slt
DELETE FROM lake.d.two_f WHERE w % 11 = 3;

-- of delta_joins.slt
DELETE FROM lake.d.delta_f WHERE v = 3;

-- of tables_beside.slt
ALTER TABLE lake.d.beside_d RENAME COLUMN g TO h;
ALTER TABLE lake.d.beside_d ADD COLUMN g BIGINT;
INSERT INTO lake.d.beside_empty VALUES ('a', 7, X'00'), ('c', NULL, NULL);
CREATE VIEW lake.d.beside_v (g, t) AS SELECT g, sum(s) FROM (SELECT k, sum(v) AS s, count(*) AS n,
  max(p) AS p FROM lake.d.beside_f GROUP BY k) a JOIN lake.d.beside_d ON k = dk GROUP BY g;
-- state changed


-- of semi_joins.slt
DELETE FROM lake.d.semi_d WHERE k = 3 AND ok = 2;
-- state undone

-- state rebuilt
