-- A fact whose files come after its cubes, with keys that are whole, NULL or dangling, and dimensions.

-- of filled_covers.slt
CREATE TABLE lake.d.filled_f (id BIGINT, k INT, day DATE, g STRING, v INT, x DOUBLE, m DECIMAL(9, 2))
  USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read');
CREATE TABLE lake.d.filled_d (k INT, a STRING, y INT) USING iceberg;
CREATE TABLE lake.d.filled_e (day DATE, month INT) USING iceberg;
INSERT INTO lake.d.filled_d SELECT CAST(id AS INT), concat('a', id % 5), CAST(id DIV 4 AS INT) FROM
  range(12);
INSERT INTO lake.d.filled_e SELECT date_add(DATE '2026-01-01', CAST(id AS INT)), CAST(id DIV 30 AS
  INT) FROM range(180);
INSERT INTO lake.d.filled_f SELECT /*+ COALESCE(1) */ id, CAST(id % 12 AS INT), date_add(DATE
  '2026-01-01', CAST(id % 31 AS INT)), concat('g', id % 3), nullif(CAST(id % 7 AS INT), 5), IF(id %
  10 = 0, DOUBLE('NaN'), id / 8), id % 100 / 4 FROM range(0, 60);
INSERT INTO lake.d.filled_f SELECT /*+ COALESCE(1) */ id, CAST(id % 12 AS INT), date_add(DATE
  '2026-02-01', CAST(id % 31 AS INT)), concat('g', id % 3), nullif(CAST(id % 7 AS INT), 5), IF(id %
  10 = 0, DOUBLE('NaN'), id / 8), id % 100 / 4 FROM range(60, 120);
-- state made


-- of filled_covers.slt
INSERT INTO lake.d.filled_f SELECT /*+ COALESCE(1) */ id, CAST(id % 12 AS INT), date_add(DATE
  '2026-03-01', CAST(id % 31 AS INT)), nullif(concat('g', id % 4), 'g3'), nullif(CAST(id % 7 AS
  INT), 5), id / 8, id % 100 / 4 FROM range(120, 180);
INSERT INTO lake.d.filled_f SELECT /*+ COALESCE(1) */ id, CAST(id % 12 AS INT), DATE '2026-04-05',
  'g1', CAST(id % 7 AS INT), id / 8, id % 100 / 4 FROM range(180, 240);
INSERT INTO lake.d.filled_f SELECT /*+ COALESCE(1) */ id, CAST(id % 12 AS INT), DATE '2026-05-05',
  'g9', NULL, -0.0D, 7.25 FROM range(240, 250);
-- state appended


-- of filled_covers.slt
DELETE FROM lake.d.filled_f WHERE id % 9 = 4 AND id BETWEEN 60 AND 179;
-- state deleted


-- of filled_covers.slt
INSERT INTO lake.d.filled_f SELECT /*+ COALESCE(1) */ id, IF(id % 4 = 0, NULL, CAST(id % 20 AS INT)),
  DATE '2026-03-03', 'g2', 3, id / 8, 1.5 FROM range(250, 290);
-- state dangling


-- of filled_covers.slt
UPDATE lake.d.filled_d SET a = 'a9', y = 7 WHERE k = 3;
-- state changed


-- of filled_covers.slt
INSERT INTO lake.d.filled_d VALUES (5, 'twice', 1);
-- state doubled
