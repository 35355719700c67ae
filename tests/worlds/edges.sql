-- Values at the ends of their types, of which plain Spark's answer hangs on how it leaves out files.

CREATE TABLE lake.d.edge_prefixes (s STRING, v INT) USING iceberg PARTITIONED BY (s);
INSERT INTO lake.d.edge_prefixes VALUES ('a b', 1), (NULL, 2), ('x', 3);
CREATE TABLE lake.d.edge_cut (s STRING, v INT) USING iceberg PARTITIONED BY (truncate(2, s));
INSERT INTO lake.d.edge_cut VALUES ('a b', 1), (NULL, 2), ('xyz', 3);
CREATE TABLE lake.d.edge_full (s STRING, v INT) USING iceberg PARTITIONED BY (s);
INSERT INTO lake.d.edge_full VALUES ('a b', 1), ('x', 3);
CREATE TABLE lake.d.edge_least (i INT, l BIGINT, v INT) USING iceberg PARTITIONED BY (truncate(10, i));
INSERT INTO lake.d.edge_least VALUES (-2147483648, -9223372036854775808, 1), (-2147483641, 2, 2), (7, 3, 3), (2147483647, 4, 4);
CREATE TABLE lake.d.edge_least_long (i INT, l BIGINT, v INT) USING iceberg PARTITIONED BY (truncate(10, l));
INSERT INTO lake.d.edge_least_long VALUES (-2147483648, -9223372036854775808, 1), (-2147483641, 2, 2), (7, 3, 3), (2147483647, 9223372036854775807, 4);
CREATE TABLE lake.d.edge_texts (s STRING, v INT) USING iceberg;
INSERT INTO lake.d.edge_texts SELECT /*+ COALESCE(1) */ CAST(b AS STRING), v FROM VALUES (X'EFBD9E', 1), (X'F09F9880', 2), (X'F09F9881', 3) AS t(b, v);
INSERT INTO lake.d.edge_texts VALUES ('a', 4);
CREATE TABLE lake.d.edge_bytes (s STRING, v INT) USING iceberg;
INSERT INTO lake.d.edge_bytes SELECT /*+ COALESCE(1) */ CAST(b AS STRING), v FROM VALUES (X'80', 1), (X'81', 2) AS t(b, v);
INSERT INTO lake.d.edge_bytes VALUES ('a', 4), ('z', 5);
CREATE TABLE lake.d.edge_dates (d DATE, v INT) USING iceberg;
INSERT INTO lake.d.edge_dates SELECT /*+ COALESCE(1) */ date_from_unix_date(n), v FROM VALUES (2147483647, 1), (2147483646, 2), (-2147483647, 3), (-2147483648, 4), (19724, 5), (NULL, 6) AS t(n, v);
CREATE TABLE lake.d.edge_folds (l BIGINT, i INT, x FLOAT, m DECIMAL(5,2), v INT, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, b BOOLEAN, s STRING) USING iceberg;
INSERT INTO lake.d.edge_folds VALUES (1, 1, 1, 1, 1, DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00', TIMESTAMP_NTZ'2020-01-01 00:00:00', true, 'a'), (NULL, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL, NULL), (3, 3, 3, 3, 3, DATE'2020-01-03', TIMESTAMP'2020-01-03 00:00:00', TIMESTAMP_NTZ'2020-01-03 00:00:00', false, 'b');
CREATE TABLE lake.d.edge_points (s STRING, v INT) USING iceberg PARTITIONED BY (truncate(2, s));
INSERT INTO lake.d.edge_points SELECT CAST(b AS STRING), v FROM VALUES (X'F09F988078', 1), (X'F09F9881', 2), (X'EFBD9E61', 3), (X'616263', 4), (X'F09F988061', 5) AS t(b, v);
CREATE TABLE lake.d.edge_instants (t TIMESTAMP, n TIMESTAMP_NTZ, v INT) USING iceberg;
INSERT INTO lake.d.edge_instants SELECT /*+ COALESCE(1) */ timestamp_micros(m), CAST(timestamp_micros(m) AS TIMESTAMP_NTZ), v FROM VALUES (9223372036854775807, 1), (9223372036854775806, 2), (-9223372036854775807, 3), (-9223372036854775806, 4), (1577880000000000, 5), (NULL, 6) AS t(m, v);
-- state made
