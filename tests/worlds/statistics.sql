-- Groups for percentiles, correlations and the value beside an extreme: edges, ties and long columns.

-- 1: NaN, an infinity, a negative zero and the ends of BIGINT; 2: one row; 3: NULLs alone; 4: ties;
-- 5: both infinities; 6: squares too small for a DOUBLE; 7: too large
CREATE TABLE lake.d.st (k INT, i INT, l BIGINT, d DECIMAL(3, 2), x DOUBLE, f FLOAT, s STRING,
  b BOOLEAN, dt DATE, ts TIMESTAMP) USING iceberg;
INSERT INTO lake.d.st SELECT /*+ COALESCE(1) */ * FROM VALUES
  (1, 1, 10L, 1.50, 1D, 1.5F, 'a', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:01'),
  (1, 2, 9007199254740993L, 2.25, CAST('NaN' AS DOUBLE), 2.5F, 'b', false, DATE '2020-01-02',
  TIMESTAMP '2020-01-01 00:00:02'),
  (1, NULL, 9223372036854775807L, NULL, CAST('Infinity' AS DOUBLE), NULL, NULL, NULL, NULL, NULL),
  (1, 3, -9223372036854775808L, 2.25, CAST('-0.0' AS DOUBLE), 0.1F, 'c', true, DATE '2020-01-03',
  TIMESTAMP '2020-01-01 00:00:03'),
  (2, 7, NULL, 0.07, 0D, 0F, 'z', NULL, NULL, NULL),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 5, 3L, 1.10, 0.1D, 0.1F, 'é', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00'),
  (4, 5, 3L, 1.10, 0.1D, 0.1F, 'Z', true, DATE '9999-12-31', TIMESTAMP '2020-01-01 00:00:00'),
  (4, 9, 4L, 1.20, 0.3D, 0.7F, 'Z', true, DATE '0001-01-01', TIMESTAMP '2020-01-01 00:00:00'),
  (5, 1, 1L, 1.00, CAST('-Infinity' AS DOUBLE), 1F, 'q', true, DATE '2020-01-01',
  TIMESTAMP '2020-01-01 00:00:00'),
  (5, 2, 2L, 3.00, CAST('Infinity' AS DOUBLE), 2F, 'q', true, DATE '2020-01-01',
  TIMESTAMP '2020-01-01 00:00:00'),
  (6, 1, 1L, 1.00, 1e-200, 1F, 'q', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00'),
  (6, 2, 2L, 3.00, 2e-200, 1F, 'q', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00'),
  (7, 1, 1L, 1.00, 1e200, 1F, 'q', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00'),
  (7, 2, 2L, 3.00, 3e200, 1F, 'q', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00');
-- odd and even numbers of rows; whole numbers about 2^53 and 2^62, long decimals, fractions
CREATE TABLE lake.d.st_many USING iceberg AS SELECT CAST(id % 6 AS INT) AS g, id,
  CAST(nullif(pmod(xxhash64(id), 4000000007) - 2000000003, 5) AS INT) AS i,
  9007199254740000L + pmod(xxhash64(id, 1), 3001) AS l,
  xxhash64(id, 2) DIV 2 AS w,
  CAST(CAST(xxhash64(id, 3) AS DECIMAL(20, 0)) * CAST(0.001 AS DECIMAL(4, 3)) AS DECIMAL(23, 3)) AS d,
  CAST(pmod(xxhash64(id, 4), 10007) / 100 AS DECIMAL(7, 2)) AS e,
  CAST(pmod(xxhash64(id, 5), 1000003) / 7 AS DOUBLE) AS x,
  CAST(pmod(xxhash64(id, 6), 1009) / 9 AS FLOAT) AS f,
  concat('s', id % 6, '-', pmod(xxhash64(id, 7), 31)) AS s, concat('group ', id % 6) AS n,
  date_add(DATE '2020-01-01', CAST(pmod(xxhash64(id, 8), 40) AS INT)) AS day
  FROM range(0, 1999, 1, 1);
CREATE TABLE lake.d.st_names USING iceberg AS SELECT CAST(id AS INT) AS g,
  concat('group ', id) AS name FROM range(5);
-- state made
