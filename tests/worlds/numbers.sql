-- Decimals whose averages Spark computes in DOUBLE, and zeros of both signs.

-- of averages.slt: groups of 1 to 160 rows, totals that end in ties, values of all digits
CREATE TABLE lake.d.avg_rows USING iceberg AS SELECT id AS row, CAST(id % 7 AS INT) AS g,
  CAST(id DIV 16 AS INT) AS k, nullif(concat('s', id % 3), 's2') AS s,
  CAST(nullif(id % 5, 3) / 8 AS DECIMAL(4, 3)) AS d,
  CAST(nullif(pmod(xxhash64(id), 2000), 7) / 100 AS DECIMAL(9, 2)) AS c,
  CAST(CAST(pmod(xxhash64(id, 1), 2 * 99999999999L) - 99999999999L AS DECIMAL(20, 0)) *
  CAST(0.0001 AS DECIMAL(4, 4)) AS DECIMAL(11, 4)) AS e,
  CAST(pmod(xxhash64(id, 2), 10) / 10 AS DECIMAL(1, 1)) AS u,
  CAST(CAST(pmod(xxhash64(id, 3), 199) - 99 AS DECIMAL(11, 0)) *
  CAST(0.00000000001 AS DECIMAL(11, 11)) AS DECIMAL(11, 11)) AS t,
  CAST(pmod(xxhash64(id, 4), 100000000000) AS DECIMAL(11, 0)) AS w,
  CAST(nullif(pmod(xxhash64(id), 2000), 7) / 100 AS DECIMAL(12, 2)) AS x FROM range(0, 6400, 1, 1);
CREATE TABLE lake.d.avg_f USING iceberg AS SELECT * EXCEPT (row) FROM lake.d.avg_rows
  WHERE row < 2400;
CREATE TABLE lake.d.avg_plain USING iceberg AS SELECT * EXCEPT (row) FROM lake.d.avg_rows;
CREATE TABLE lake.d.avg_d USING iceberg AS SELECT CAST(id AS INT) AS dk, concat('n', id % 2) AS n,
  CAST(id / 1000 AS DECIMAL(5, 3)) AS v FROM range(7);
-- 0.07 in 160 rows, and 0.0625: without and with a DOUBLE between
CREATE TABLE lake.d.avg_ties USING iceberg AS SELECT CAST(id DIV 160 AS INT) AS k, CAST(CASE
  WHEN id % 160 = 0 THEN (id DIV 160 * 2 + 1) / 100 ELSE 0 END AS DECIMAL(9, 2)) AS c
  FROM range(0, 64000, 1, 1);
CREATE TABLE lake.d.avg_parts (p DECIMAL(4, 3), v INT) USING iceberg PARTITIONED BY (p);
INSERT INTO lake.d.avg_parts SELECT CAST(id % 3 / 1000 AS DECIMAL(4, 3)), id FROM
  range(0, 160, 1, 1);
CREATE TABLE lake.d.avg_held USING iceberg AS SELECT CAST(if(id = 0, 0.07, 0) AS DECIMAL(9, 2)) AS
  c, CAST(id AS INT) AS i FROM range(0, 160, 1, 1);
-- 16 digits: the average's DOUBLE has other neighbours of 16 digits than the tie
CREATE TABLE lake.d.avg_wide USING iceberg AS SELECT CAST(id DIV 31 AS INT) AS k,
  CAST(90000000000 + pmod(xxhash64(id), 9999999999) AS DECIMAL(11, 0)) AS w,
  CAST(0 - 90000000000 - pmod(xxhash64(id), 9999999999) AS DECIMAL(11, 0)) AS z
  FROM range(0, 31000, 1, 1);

-- of signed_zeros.slt
CREATE TABLE lake.d.zero_f (k INT, d DOUBLE, f FLOAT, v INT) USING iceberg;
INSERT INTO lake.d.zero_f SELECT /*+ COALESCE(1) */ * FROM VALUES
  (1, CAST('-0.0' AS DOUBLE), CAST('-0.0' AS FLOAT), 1), (2, 0D, CAST(0 AS FLOAT), 2),
  (3, CAST('-0.0' AS DOUBLE), CAST('-0.0' AS FLOAT), 3), (3, 0D, CAST(0 AS FLOAT), 4),
  (4, 0D, CAST(0 AS FLOAT), 5), (4, CAST('-0.0' AS DOUBLE), CAST('-0.0' AS FLOAT), 6),
  (5, NULL, NULL, 7), (6, 1.5D, CAST(1.5 AS FLOAT), 8),
  (7, CAST('NaN' AS DOUBLE), CAST('NaN' AS FLOAT), 9);
CREATE TABLE lake.d.zero_plus (k INT, d DOUBLE) USING iceberg;
INSERT INTO lake.d.zero_plus SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 0D), (2, 0D), (3, 2D);
CREATE TABLE lake.d.zero_minus (k INT, d DOUBLE) USING iceberg;
INSERT INTO lake.d.zero_minus SELECT /*+ COALESCE(1) */ * FROM VALUES
  (1, CAST('-0.0' AS DOUBLE)), (2, CAST('-0.0' AS DOUBLE)), (3, -2D);
-- state made
INSERT INTO lake.d.avg_f SELECT * EXCEPT (row) FROM lake.d.avg_rows WHERE row >= 1600;
INSERT INTO lake.d.zero_f SELECT /*+ COALESCE(1) */ * FROM VALUES
  (1, CAST('-0.0' AS DOUBLE), CAST('-0.0' AS FLOAT), 10), (2, 0D, CAST(0 AS FLOAT), 11),
  (8, CAST('-0.0' AS DOUBLE), CAST('-0.0' AS FLOAT), 12);
-- state appended
DELETE FROM lake.d.avg_f WHERE k % 5 = 1;
-- state deleted
