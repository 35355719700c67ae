CREATE NAMESPACE lake.shop COMMENT 'what is sold'
CREATE NAMESPACE lake.`a-b`
CREATE NAMESPACE lake.empty WITH DBPROPERTIES ('k' = 'v', 'a' = 'b c')
CREATE NAMESPACE lake.shop.eu
CREATE TABLE lake.shop.sales (id BIGINT NOT NULL COMMENT 'the key', store INT, amount DECIMAL(10,2), sold TIMESTAMP, day DATE COMMENT 'it''s "a" day', note STRING, tags ARRAY<STRING>, at STRUCT<x: DOUBLE, y: FLOAT NOT NULL>, m MAP<STRING, INT>, raw BINARY, ok BOOLEAN, ntz TIMESTAMP_NTZ) USING iceberg PARTITIONED BY (days(sold), bucket(4, store), truncate(3, note)) COMMENT 'all sales' TBLPROPERTIES ('a' = '1', 'write.parquet.row-group-size-bytes' = '1000000')
CREATE TABLE lake.shop.plain (k INT, v STRING) USING iceberg
CREATE TABLE lake.shop.byday (k INT, day DATE, region STRING) USING iceberg PARTITIONED BY (day, region) TBLPROPERTIES ('format-version' = '1')
CREATE TABLE lake.shop.`odd name` (`a b` INT, `c.d` STRING) USING iceberg
CREATE TABLE lake.shop.Zebra (Id INT) USING iceberg
CREATE TABLE lake.shop.eu.nested (k INT) USING iceberg
CREATE TABLE lake.shop.char (c CHAR(3), vc VARCHAR(4)) USING iceberg
INSERT INTO lake.shop.sales VALUES (1, 1, 1.5, TIMESTAMP'2024-01-01 10:00:00', DATE'2024-01-01', 'abcdef', array('x'), named_struct('x', 1D, 'y', CAST(2 AS FLOAT)), map('a', 1), X'01', true, TIMESTAMP_NTZ'2024-01-01 10:00:00'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
INSERT INTO lake.shop.plain VALUES (1, 'a'), (2, 'b')
INSERT INTO lake.shop.byday VALUES (1, DATE'2024-01-02', 'b'), (2, DATE'2024-01-01', 'z'), (3, DATE'2024-01-02', 'a'), (4, NULL, NULL), (5, DATE'2024-01-01', 'z')
INSERT INTO lake.shop.byday VALUES (6, DATE'2023-01-02', 'b')
DELETE FROM lake.shop.byday WHERE k = 3
ALTER TABLE lake.shop.plain ADD COLUMN extra DOUBLE COMMENT 'more'
ALTER TABLE lake.shop.Zebra WRITE ORDERED BY Id DESC NULLS LAST
ALTER TABLE lake.shop.sales SET IDENTIFIER FIELDS id
CREATE VIEW lake.shop.totals (store COMMENT 'which', n) COMMENT 'per store' TBLPROPERTIES ('p' = 'q') AS SELECT store, count(*) FROM lake.shop.sales GROUP BY store
CREATE VIEW lake.shop.bare AS SELECT * FROM lake.shop.plain
CREATE VIEW lake.empty.onlyview AS SELECT 1 AS one
CREATE NAMESPACE lake.aaa
CREATE NAMESPACE lake.zzz.inner
CREATE NAMESPACE lake.`2024`
CREATE NAMESPACE lake.props WITH DBPROPERTIES ('k' = 'v', 'a' = 'b c', 'api_token' = 'x')
CREATE TABLE lake.shop.parts (k INT, t TIMESTAMP, n TIMESTAMP_NTZ, d DATE, s STRING, b BIGINT, dec DECIMAL(9,3), bo BOOLEAN, st STRUCT<`in ner`: INT COMMENT 'it''s', x: ARRAY<STRUCT<y: INT>>> COMMENT 'a struct') USING iceberg PARTITIONED BY (years(t), months(n), days(d), k, s, dec, bo, truncate(10, b), bucket(3, st.`in ner`))
CREATE TABLE lake.shop.v3 (k INT, v VARIANT) USING iceberg TBLPROPERTIES ('format-version' = '3')
CREATE TABLE lake.shop.mor (k INT, s STRING) USING iceberg PARTITIONED BY (s) TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'access-key' = 'abc', 'x' = 'my password', 'quote''d' = 'v''w\\n', 'option.a' = 'b')
CREATE TABLE lake.shop.sorted (k INT, s STRING, t TIMESTAMP) USING iceberg
ALTER TABLE lake.shop.sorted WRITE ORDERED BY s ASC NULLS FIRST, k DESC, days(t), bucket(4, k), truncate(2, s)
INSERT INTO lake.shop.mor VALUES (1, 'a'), (2, 'a'), (3, 'b')
DELETE FROM lake.shop.mor WHERE k = 1
CREATE TABLE lake.shop.evolved (a INT, b INT) USING iceberg PARTITIONED BY (a)
ALTER TABLE lake.shop.evolved DROP PARTITION FIELD a
ALTER TABLE lake.shop.evolved ADD PARTITION FIELD bucket(2, b)
CREATE TABLE lake.shop.wide (w STRUCT<a1:INT,a2:INT,a3:INT,a4:INT,a5:INT,a6:INT,a7:INT,a8:INT,a9:INT,a10:INT,a11:INT,a12:INT,a13:INT,a14:INT,a15:INT,a16:INT,a17:INT,a18:INT,a19:INT,a20:INT,a21:INT,a22:INT,a23:INT,a24:INT,a25:INT,a26:INT,a27:INT>) USING iceberg
CREATE TABLE lake.shop.ids (a INT NOT NULL, b INT NOT NULL) USING iceberg
ALTER TABLE lake.shop.ids SET IDENTIFIER FIELDS b, a
CREATE TABLE lake.shop.`ü` (`ö` INT, `1a` INT, select INT) USING iceberg
