%%%% compound
%%
BEGIN
  DECLARE n INT DEFAULT 0;
  SET n = (SELECT count(*) FROM sales WHERE region = 'north');
  SELECT n AS found;
END
%%
BEGIN
  DECLARE i INT = 0;
  DECLARE s INT = 0;
  WHILE i < 4 DO
    SET i = i + 1;
    SET s = s + i;
  END WHILE;
  SELECT i, s;
END;
%%
BEGIN
  DECLARE i INT = 0;
  round: LOOP
    SET i = i + 1;
    IF i = 2 THEN ITERATE round; END IF;
    IF i > 3 THEN LEAVE round; END IF;
  END LOOP round;
  REPEAT SET i = i + 10; UNTIL i > 20 END REPEAT;
  SELECT i;
END
%%
BEGIN
  DECLARE t BIGINT = 0;
  FOR r AS SELECT shop, sum(qty) AS q FROM sales GROUP BY shop DO
    SET t = t + coalesce(r.q, 0);
  END FOR;
  SELECT t AS total;
END
%%
BEGIN
  DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO BEGIN SELECT 'caught' AS c; END;
  SELECT 1 / 0;
END
%%
BEGIN
  CASE (SELECT count(*) > 10 FROM sales)
    WHEN true THEN SELECT region, count(*) FROM sales GROUP BY region;
    ELSE SELECT 'few';
  END CASE;
END
%%
BEGIN
  CREATE TABLE lake.mine.scripted (a INT) USING iceberg;
  INSERT INTO lake.mine.scripted VALUES (1), (2);
  SELECT sum(a) FROM lake.mine.scripted;
END
%%
SELECT * FROM lake.mine.scripted
%% raises DIVIDE_BY_ZERO
BEGIN
  INSERT INTO lake.mine.scripted VALUES (3);
  SELECT 1 / 0;
END
%%
SELECT count(*) FROM lake.mine.scripted
%%
DROP TABLE lake.mine.scripted
%% raises PARSE_SYNTAX_ERROR
BEGIN SELECT 1
%%
BEGIN END
%% raises PARSE_SYNTAX_ERROR
a: BEGIN SELECT 1; END b
%%%% explain and describe
%% loose
EXPLAIN SELECT region, sum(qty) FROM sales GROUP BY region
%% loose
EXPLAIN EXTENDED SELECT count(*) FROM sales
%% loose
EXPLAIN FORMATTED SELECT count(*) FROM shops
%% loose
EXPLAIN CODEGEN SELECT 1
%% loose
EXPLAIN COST SELECT * FROM shops
%% loose
EXPLAIN INSERT INTO lake.corpus.shops SELECT * FROM lake.corpus.shops
%% loose
EXPLAIN DELETE FROM lake.corpus.shops WHERE shop = 1
%% loose
EXPLAIN DROP TABLE lake.corpus.shops
%%
SELECT count(*) FROM shops
%%
DESCRIBE QUERY SELECT region, sum(qty) AS q FROM sales GROUP BY region
%%
DESC SELECT max(price) AS m FROM sales
%%
DESCRIBE QUERY WITH t AS (SELECT 1 AS a) SELECT * FROM t
%%
DESCRIBE TABLE lake.corpus.sales
%%
DESC lake.corpus.sales region
%%
DESCRIBE TABLE EXTENDED shops
%%
DESCRIBE NAMESPACE lake.corpus
%%
DESC FUNCTION sum
%%
DESCRIBE FUNCTION EXTENDED upper
%%
DESCRIBE FUNCTION <=>
%%%% show
%%
SHOW TABLES IN lake.mine
%%
SHOW TABLES FROM lake.corpus LIKE 'sh*'
%%
SHOW COLUMNS IN lake.corpus.shops
%% raises SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE
SHOW COLUMNS FROM shops IN lake.corpus
%%
SHOW TBLPROPERTIES lake.corpus.shops ('format')
%%
SHOW CREATE TABLE lake.corpus.shops
%%
SHOW FUNCTIONS LIKE 'regexp_*'
%%
SHOW SYSTEM FUNCTIONS LIKE 'year*'
%% own
SHOW USER FUNCTIONS
%% raises INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED
SHOW PARTITIONS lake.corpus.shops
%%
SHOW VIEWS IN lake.mine
%%
SHOW SCHEMAS IN lake LIKE 'mine'
%% raises TABLE_OR_VIEW_NOT_FOUND
SHOW COLUMNS IN lake.corpus.nothing
%%
SHOW TABLE EXTENDED IN lake.corpus LIKE 'nothing*'
%% raises INVALID_STATEMENT_OR_CLAUSE
SHOW LOCKS
%% raises INVALID_STATEMENT_OR_CLAUSE
COMMIT
%%%% cache and refresh
%%
CACHE TABLE cached AS SELECT region, count(*) AS n FROM sales GROUP BY region
%%
SELECT * FROM cached
%%
UNCACHE TABLE cached
%%
DROP VIEW cached
%%
CACHE LAZY TABLE lake.corpus.shops OPTIONS ('storageLevel' 'MEMORY_ONLY')
%%
SELECT city, sum(qty) FROM sales JOIN shops USING (shop) GROUP BY city
%%
UNCACHE TABLE IF EXISTS lake.corpus.shops
%%
CLEAR CACHE
%%
REFRESH TABLE lake.corpus.sales
%%
REFRESH "/some/where"
%% raises NOT_SUPPORTED_COMMAND_FOR_V2_TABLE
ANALYZE TABLE lake.corpus.shops COMPUTE STATISTICS NOSCAN
%%
LIST FILES
%%
LIST JAR
%%%% transform
%%
SELECT TRANSFORM (shop, name) USING 'cat' AS (a STRING, b STRING) FROM shops WHERE shop < 3
%%
SELECT TRANSFORM (region, n) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'cat' AS (line) FROM (SELECT region, count(*) AS n FROM sales GROUP BY region)
%%
FROM shops MAP shop USING 'cat' AS (a INT) WHERE shop < 4
%%
FROM shops REDUCE name USING 'cat' AS (a) CLUSTER BY a
