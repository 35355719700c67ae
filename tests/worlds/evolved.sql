-- Values spread over all files, in columns that are renamed and widened.

-- of range_index.slt
CREATE TABLE lake.d.ranges (id INT, x DOUBLE, s STRING, d DATE, n DECIMAL(12, 2), ts TIMESTAMP)
  USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read');
CREATE TABLE lake.d.range_index_rows USING iceberg AS SELECT * FROM (SELECT id, CAST(id * 104729 %
  1000003 AS INT), IF(id % 17 = 0, DOUBLE('NaN'), (id * 104729 % 1000003 - 500000) / 4), IF(id %
  19 = 0, NULL, concat('né-', id * 104729 % 1000003)), date_add(DATE '1800-01-01', CAST(id *
  104729 % 90001 AS INT)), id * 104729 % 1000003 / 100, TIMESTAMP '1950-01-01 00:00:00Z' +
  make_dt_interval(0, 0, 0, id * 104729 % 1000003 * 60) FROM range(0, 5050, 1, 1)) AS t (row, c1,
  c2, c3, c4, c5, c6);
INSERT INTO lake.d.ranges SELECT * EXCEPT (row) FROM lake.d.range_index_rows WHERE row < 150;
INSERT INTO lake.d.ranges SELECT * EXCEPT (row) FROM lake.d.range_index_rows WHERE row BETWEEN 150
  AND 299;
INSERT INTO lake.d.ranges SELECT * EXCEPT (row) FROM lake.d.range_index_rows WHERE row BETWEEN 300
  AND 449;
INSERT INTO lake.d.ranges SELECT * EXCEPT (row) FROM lake.d.range_index_rows WHERE row BETWEEN 450
  AND 599;
-- state made


-- of range_index.slt
INSERT INTO lake.d.ranges SELECT * EXCEPT (row) FROM lake.d.range_index_rows WHERE row BETWEEN
  5000 AND 5049;
-- state appended


-- of range_index.slt
DELETE FROM lake.d.ranges WHERE id % 5 = 1;
-- state deleted


-- of range_index.slt
ALTER TABLE lake.d.ranges RENAME COLUMN id TO number;
-- state renamed


-- of range_index.slt
ALTER TABLE lake.d.ranges ALTER COLUMN number TYPE BIGINT;
-- state widened


-- of range_index.slt
ALTER TABLE lake.d.ranges ALTER COLUMN n TYPE DECIMAL(20, 2);
-- state wider

-- state built
