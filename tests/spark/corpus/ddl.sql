%%%% tables
%%
CREATE TABLE lake.mine.t (id BIGINT NOT NULL COMMENT 'the key', name STRING, at TIMESTAMP, d DECIMAL(9, 2)) USING iceberg PARTITIONED BY (bucket(4, id), days(at)) COMMENT 'made here' TBLPROPERTIES ('a' = '1', b.c = true)
%%
DESCRIBE lake.mine.t
%%
CREATE TABLE IF NOT EXISTS lake.mine.t (other INT)
%% raises TABLE_OR_VIEW_ALREADY_EXISTS
CREATE TABLE lake.mine.t (other INT) USING iceberg
%%
ALTER TABLE lake.mine.t ADD COLUMNS (n INT COMMENT 'added' AFTER id, s STRUCT<x: INT, y: STRING>)
%%
ALTER TABLE lake.mine.t ADD COLUMN s.z DOUBLE
%%
ALTER TABLE lake.mine.t RENAME COLUMN name TO title
%%
ALTER TABLE lake.mine.t ALTER COLUMN n TYPE BIGINT
%%
ALTER TABLE lake.mine.t ALTER COLUMN id DROP NOT NULL
%%
ALTER TABLE lake.mine.t ALTER title COMMENT 'what it is called', d COMMENT 'how much'
%%
ALTER TABLE lake.mine.t ALTER COLUMN d FIRST
%%
ALTER TABLE lake.mine.t CHANGE COLUMN d d DECIMAL(12, 2) COMMENT 'wider'
%%
ALTER TABLE lake.mine.t DROP COLUMN s.y
%%
ALTER TABLE lake.mine.t DROP COLUMNS IF EXISTS (nothing, s)
%%
ALTER TABLE lake.mine.t SET TBLPROPERTIES ('a' = '2', 'e' = 'f')
%%
ALTER TABLE lake.mine.t UNSET TBLPROPERTIES IF EXISTS ('e', 'g')
%%
SHOW TBLPROPERTIES lake.mine.t ('a')
%%
COMMENT ON TABLE lake.mine.t IS 'told anew'
%% loose
DESCRIBE TABLE EXTENDED lake.mine.t
%% loose
SHOW CREATE TABLE lake.mine.t
%%
ALTER TABLE lake.mine.t ADD PARTITION FIELD truncate(3, title) AS short
%%
ALTER TABLE lake.mine.t DROP PARTITION FIELD days(at)
%%
ALTER TABLE lake.mine.t REPLACE PARTITION FIELD short WITH identity(title)
%%
ALTER TABLE lake.mine.t WRITE ORDERED BY id DESC NULLS LAST, title
%%
ALTER TABLE lake.mine.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id
%%
ALTER TABLE lake.mine.t WRITE UNORDERED
%% raises _LEGACY_ERROR_TEMP_2330
ALTER TABLE lake.mine.t ALTER COLUMN id SET NOT NULL
%% raises FIELD_ALREADY_EXISTS
ALTER TABLE lake.mine.t ADD COLUMN d INT
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
ALTER TABLE lake.mine.t DROP COLUMN nothing
%% raises NOT_SUPPORTED_CHANGE_COLUMN
ALTER TABLE lake.mine.t ALTER COLUMN d TYPE INT
%%
ALTER TABLE lake.mine.t RENAME TO mine.u
%%
SELECT count(*) FROM lake.mine.u
%%
TRUNCATE TABLE lake.mine.u
%%
DROP TABLE lake.mine.u PURGE
%%
DROP TABLE IF EXISTS lake.mine.u
%% raises TABLE_OR_VIEW_NOT_FOUND
DROP TABLE lake.mine.u
%%%% tables by queries
%%
CREATE TABLE lake.mine.q USING iceberg PARTITIONED BY (region) AS SELECT region, item, sum(qty) AS q FROM lake.corpus.sales GROUP BY region, item
%%
SELECT region, sum(q) FROM lake.mine.q GROUP BY region
%%
CREATE OR REPLACE TABLE lake.mine.q USING iceberg TBLPROPERTIES ('k' = 'v') AS SELECT region, count(*) AS n FROM lake.corpus.sales GROUP BY region
%%
REPLACE TABLE lake.mine.q USING iceberg AS WITH t AS (SELECT shop, name FROM lake.corpus.shops) SELECT * FROM t WHERE shop < 4
%%
SELECT * FROM lake.mine.q
%%
CREATE TABLE lake.mine.v (a INT, b STRING) USING iceberg TBLPROPERTIES ('format-version' = '3')
%%
CREATE TABLE IF NOT EXISTS lake.mine.q AS SELECT 1 AS other
%%
CREATE TABLE IDENTIFIER('lake.mine.' || 'named') (a INT, b STRING) USING iceberg TBLPROPERTIES ('format-version' = '3')
%%
DESCRIBE lake.mine.named
%% raises PARSE_SYNTAX_ERROR
CREATE TABLE lake.mine.like_q LIKE lake.mine.q
%% raises TABLE_OR_VIEW_NOT_FOUND
REPLACE TABLE lake.mine.nothing USING iceberg AS SELECT 1 AS a
%% raises PARSE_SYNTAX_ERROR
CREATE TABLE lake.mine.w (a INT b INT)
%% raises COLUMN_ALREADY_EXISTS
CREATE TABLE lake.mine.w (a INT, A INT) USING iceberg
%% raises UNSUPPORTED_DATATYPE
CREATE TABLE lake.mine.w (a NOPE) USING iceberg
%%
DROP TABLE lake.mine.q
%%
DROP TABLE lake.mine.v
%%
DROP TABLE lake.mine.named
%%%% namespaces
%%
CREATE NAMESPACE lake.mine_more COMMENT 'more' WITH PROPERTIES ('k' = 'v')
%%
CREATE SCHEMA IF NOT EXISTS lake.mine_more
%%
ALTER NAMESPACE lake.mine_more SET PROPERTIES ('k' = 'w')
%%
COMMENT ON NAMESPACE lake.mine_more IS 'other'
%% loose
DESCRIBE NAMESPACE EXTENDED lake.mine_more
%% raises SCHEMA_ALREADY_EXISTS
CREATE DATABASE lake.mine_more
%%
CREATE TABLE lake.mine_more.t (a INT) USING iceberg
%% raises org.apache.iceberg.exceptions.NamespaceNotEmptyException
DROP NAMESPACE lake.mine_more RESTRICT
%%
DROP TABLE lake.mine_more.t
%%
DROP SCHEMA lake.mine_more
%%
DROP NAMESPACE IF EXISTS lake.mine_more
%%%% spark's own catalog
%%
CREATE TABLE spark_catalog.default.mine_p (a INT, p STRING) USING parquet PARTITIONED BY (p) LOCATION 'TEMPORARY_FOLDER/mine_p'
%%
INSERT INTO spark_catalog.default.mine_p VALUES (1, 'x'), (2, 'y')
%%
SELECT p, sum(a) FROM spark_catalog.default.mine_p GROUP BY p
%%
SELECT count(*) FROM lake.corpus.sales f JOIN spark_catalog.default.mine_p m ON f.shop = m.a
%%
SELECT m.p, t.n FROM spark_catalog.default.mine_p m JOIN (SELECT shop, count(*) AS n FROM sales GROUP BY shop) t ON t.shop = m.a
%%
SHOW PARTITIONS spark_catalog.default.mine_p
%%
ALTER TABLE spark_catalog.default.mine_p ADD IF NOT EXISTS PARTITION (p = 'z')
%%
ALTER TABLE spark_catalog.default.mine_p DROP IF EXISTS PARTITION (p = 'x'), PARTITION (p = 'w')
%%
MSCK REPAIR TABLE spark_catalog.default.mine_p
%%
ANALYZE TABLE spark_catalog.default.mine_p COMPUTE STATISTICS FOR ALL COLUMNS
%% raises PARSE_SYNTAX_ERROR
ANALYZE TABLE spark_catalog.default.mine_p COMPUTE
%%
INSERT OVERWRITE spark_catalog.default.mine_p PARTITION (p = 'y') SELECT 9
%%
SELECT * FROM spark_catalog.default.mine_p
%%
SET CATALOG spark_catalog
%%
CREATE TABLE default.mine_like LIKE default.mine_p USING parquet LOCATION 'TEMPORARY_FOLDER/mine_like'
%%
USE lake.corpus
%%
CREATE VIEW spark_catalog.default.mine_view AS SELECT region, sum(qty) AS q FROM lake.corpus.sales GROUP BY region
%%
SELECT sum(q) FROM spark_catalog.default.mine_view
%%
SELECT v.region, v.q, f.n FROM spark_catalog.default.mine_view v JOIN (SELECT region, count(*) AS n FROM sales GROUP BY region) f USING (region)
%%
SHOW VIEWS IN spark_catalog.default LIKE 'mine*'
%%
ALTER VIEW spark_catalog.default.mine_view AS SELECT 1 AS q
%%
SELECT sum(q) FROM spark_catalog.default.mine_view
%%
CREATE FUNCTION spark_catalog.default.mine_half() RETURNS DOUBLE COMMENT 'half' RETURN 0.5D
%%
SELECT spark_catalog.default.mine_half() AS h, count(*) FROM sales
%%
DROP FUNCTION spark_catalog.default.mine_half
%%
DROP VIEW spark_catalog.default.mine_view
%%
DROP TABLE spark_catalog.default.mine_like
%% raises _LEGACY_ERROR_TEMP_1266
TRUNCATE TABLE spark_catalog.default.mine_p PARTITION (p = 'y')
%%
ALTER TABLE spark_catalog.default.mine_p RENAME TO default.mine_r
%%
DROP TABLE spark_catalog.default.mine_r
%%
CREATE VIEW lake.mine.view (n COMMENT 'how many') COMMENT 'counted' TBLPROPERTIES ('k' = 'v') AS SELECT count(*) AS n FROM lake.corpus.sales
%%
SELECT n + 1 AS m FROM lake.mine.view
%%
SELECT v.n, t.q FROM lake.mine.view v CROSS JOIN (SELECT sum(qty) AS q FROM sales) t
%%
SHOW VIEWS IN lake.mine
%%
DESCRIBE lake.mine.view
%%
CREATE OR REPLACE VIEW lake.mine.view AS SELECT region, sum(qty) AS q FROM sales GROUP BY region
%%
SELECT max(q) FROM lake.mine.view
%%
ALTER VIEW lake.mine.view SET TBLPROPERTIES ('k' = 'w')
%%
DROP VIEW lake.mine.view
%%%% branches and tags
%%
CREATE TABLE lake.mine.b USING iceberg AS SELECT shop, name FROM lake.corpus.shops
%%
ALTER TABLE lake.mine.b CREATE BRANCH audit RETAIN 7 DAYS
%%
ALTER TABLE lake.mine.b CREATE TAG IF NOT EXISTS first
%%
INSERT INTO lake.mine.b.branch_audit VALUES (99, 'late')
%%
SELECT count(*) FROM lake.mine.b
%%
SELECT count(*) FROM lake.mine.b.branch_audit
%%
SELECT count(*) FROM lake.mine.b VERSION AS OF 'audit'
%%
DELETE FROM lake.mine.b.branch_audit WHERE shop < 3
%% raises IllegalArgumentException
CALL lake.system.fast_forward('mine.b', 'main', 'nope')
%% raises org.apache.iceberg.exceptions.ValidationException
ALTER TABLE lake.mine.b REPLACE TAG first AS OF VERSION 1
%%
ALTER TABLE lake.mine.b DROP TAG first
%%
ALTER TABLE lake.mine.b DROP BRANCH audit
%%
SELECT name, type FROM lake.mine.b.refs
%%
DROP TABLE lake.mine.b
