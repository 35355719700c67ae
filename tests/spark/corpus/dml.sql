%%%% insert
%%
CREATE TABLE lake.mine.i (id INT, name STRING, n BIGINT) USING iceberg PARTITIONED BY (name)
%%
INSERT INTO lake.mine.i VALUES (1, 'a', 10), (2, 'b', NULL)
%%
INSERT INTO TABLE lake.mine.i (name, id) VALUES ('c', 3)
%%
INSERT INTO lake.mine.i BY NAME SELECT 'd' AS name, 40L AS n, 4 AS id
%%
INSERT INTO lake.mine.i SELECT shop, city, count(*) FROM lake.corpus.sales JOIN lake.corpus.shops USING (shop) GROUP BY shop, city
%%
INSERT INTO lake.mine.i TABLE lake.mine.i
%%
SELECT * FROM lake.mine.i
%%
WITH t AS (SELECT 5 AS id, 'e' AS name, sum(qty) AS n FROM lake.corpus.sales) INSERT INTO lake.mine.i SELECT * FROM t
%%
WITH t AS (SELECT shop, sum(qty) AS n FROM sales GROUP BY shop) INSERT INTO lake.mine.i SELECT t.shop, s.name, t.n FROM t JOIN shops s ON s.shop = t.shop
%%
SELECT * FROM lake.mine.i
%%
FROM lake.corpus.shops INSERT INTO lake.mine.i SELECT shop, name, 1 WHERE shop = 1 INSERT INTO lake.mine.i SELECT shop, name, 2 WHERE shop = 2
%%
WITH t AS (SELECT max(qty) AS q FROM sales) FROM t INSERT INTO lake.mine.i SELECT 6, 'f', q
%%
SELECT count(*), sum(n) FROM lake.mine.i
%%
INSERT OVERWRITE lake.mine.i PARTITION (name = 'a') SELECT 7, 70
%%
INSERT INTO lake.mine.i REPLACE WHERE name = 'b' SELECT 8, 'b', 80
%%
SELECT * FROM lake.mine.i WHERE name < 'g'
%%
INSERT OVERWRITE TABLE lake.mine.i SELECT 9, region, count(*) FROM lake.corpus.sales WHERE region IS NOT NULL GROUP BY region
%%
SELECT name, sum(n) FROM lake.mine.i GROUP BY name
%% raises INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS
INSERT INTO lake.mine.i VALUES (1)
%% raises INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
INSERT INTO lake.mine.i VALUES ('x', 'y', 1)
%% raises INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST
INSERT INTO lake.mine.i SELECT DATE '2024-01-01', 'y', 1
%% raises TABLE_OR_VIEW_NOT_FOUND
INSERT INTO lake.mine.nothing SELECT 1
%% raises DIVIDE_BY_ZERO
INSERT INTO lake.mine.i SELECT 1, 'z', sum(qty) DIV 0 FROM lake.corpus.sales
%%
SELECT count(*) FROM lake.mine.i
%%
DROP TABLE lake.mine.i
%%%% change
%%
CREATE TABLE lake.mine.m USING iceberg TBLPROPERTIES ('write.merge.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read') AS SELECT shop, name, area FROM lake.corpus.shops
%%
UPDATE lake.mine.m SET area = area + 1, name = upper(name) WHERE shop < 3
%%
UPDATE lake.mine.m AS t SET t.area = (SELECT max(qty) FROM lake.corpus.sales) WHERE t.shop IN (SELECT shop FROM lake.corpus.sales WHERE region = 'north' AND shop > 5)
%%
SELECT * FROM lake.mine.m
%%
DELETE FROM lake.mine.m WHERE shop = 4
%%
DELETE FROM lake.mine.m AS t WHERE NOT EXISTS (SELECT 1 FROM lake.corpus.sales f WHERE f.shop = t.shop)
%%
SELECT * FROM lake.mine.m
%%
WITH gone AS (SELECT min(shop) AS s FROM sales) DELETE FROM lake.mine.m WHERE shop IN (SELECT s FROM gone)
%%
WITH new AS (SELECT shop, sum(qty) AS q FROM sales GROUP BY shop) MERGE INTO lake.mine.m t USING new s ON t.shop = s.shop WHEN MATCHED THEN UPDATE SET area = s.q
%%
MERGE INTO lake.mine.m AS t USING (SELECT shop, count(*) AS n FROM lake.corpus.sales GROUP BY shop) AS s ON t.shop = s.shop WHEN MATCHED AND s.n > 26 THEN DELETE WHEN MATCHED THEN UPDATE SET t.area = s.n WHEN NOT MATCHED THEN INSERT (shop, name) VALUES (s.shop, 'new') WHEN NOT MATCHED BY SOURCE AND t.shop > 6 THEN UPDATE SET name = 'alone'
%%
SELECT * FROM lake.mine.m
%%
MERGE INTO lake.mine.m t USING lake.corpus.shops s ON t.shop = s.shop WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
%%
SELECT * FROM lake.mine.m
%% raises MERGE_CARDINALITY_VIOLATION
MERGE INTO lake.mine.m t USING lake.corpus.sales s ON t.shop = s.shop WHEN MATCHED AND s.qty > 0 THEN UPDATE SET area = s.qty
%%
DELETE FROM lake.mine.m
%%
SELECT count(*) FROM lake.mine.m
%%
DROP TABLE lake.mine.m
%%%% procedures
%%
CREATE TABLE lake.mine.p (id INT) USING iceberg
%%
INSERT INTO lake.mine.p VALUES (1)
%%
INSERT INTO lake.mine.p VALUES (2)
%% loose
CALL lake.system.rewrite_data_files(table => 'mine.p', options => map('rewrite-all', 'true'))
%% loose
CALL lake.system.rewrite_manifests('mine.p')
%% loose
CALL lake.system.expire_snapshots(table => 'mine.p', retain_last => 1)
%% loose
CALL lake.system.ancestors_of('mine.p')
%% loose
CALL lake.system.remove_orphan_files(table => 'mine.p', dry_run => true)
%% raises FAILED_TO_LOAD_ROUTINE
CALL lake.system.no_such_procedure('mine.p')
%% raises REQUIRED_PARAMETER_NOT_FOUND
CALL lake.system.rollback_to_snapshot('mine.p')
%% loose
SHOW PROCEDURES IN lake.system
%%
SELECT count(*) FROM lake.mine.p
%%
DROP TABLE lake.mine.p
