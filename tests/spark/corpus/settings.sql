%%%% set and reset
%%
SET spark.sql.shuffle.partitions = 3
%%
SET spark.sql.shuffle.partitions
%%
SELECT region, sum(qty) FROM sales GROUP BY region
%%
SET `spark.sql.ansi.enabled` = `false`
%%
SELECT 1 / 0, CAST('x' AS INT), count(*) FROM sales
%%
SELECT shop, sum(qty) / 0 FROM sales GROUP BY shop
%%
RESET spark.sql.ansi.enabled
%% raises DIVIDE_BY_ZERO
SELECT 1 / 0, count(*) FROM sales
%%
SET spark.sql.caseSensitive = true
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT REGION, count(*) FROM sales GROUP BY REGION
%%
RESET
%%
SELECT REGION, count(*) FROM sales GROUP BY REGION
%% raises INVALID_SET_SYNTAX
SET my.own.key = some text; and more
%%
SET my.own.key = some text with spaces
%%
SET my.own.key
%%
SELECT '${my.own.key}', count(*) FROM sales
%%
SET spark.sql.variable.substitute = true
%%
SELECT '${my.own.key}', count(*) FROM sales
%%
SET my.table = sales
%%
SELECT region, count(*) FROM ${my.table} GROUP BY region
%%
SET spark.sql.variable.substitute = false
%% raises PARSE_SYNTAX_ERROR
SELECT count(*) FROM ${my.table}
%%
RESET
%% raises CANNOT_MODIFY_STATIC_CONFIG
SET spark.sql.warehouse.dir = /elsewhere
%% loose
SET -v
%% raises INVALID_CONF_VALUE.TYPE_MISMATCH
SET spark.sql.shuffle.partitions = many
%%%% texts read otherwise
%%
SET spark.sql.ansi.doubleQuotedIdentifiers = true
%%
SELECT "region", count(*) AS "n o" FROM "sales" GROUP BY "region"
%%
SET spark.sql.ansi.doubleQuotedIdentifiers = false
%%
SELECT "region", count(*) FROM sales GROUP BY "region"
%%
SET spark.sql.groupByOrdinal = false
%%
SELECT count(*) FROM sales GROUP BY 1
%%
RESET spark.sql.groupByOrdinal
%%
SET spark.sql.parser.escapedStringLiterals = true
%%
SELECT '\n' AS t, count(*) FROM sales WHERE item RLIKE '^p\w+$'
%%
RESET
%%
SET spark.sql.mapKeyDedupPolicy = LAST_WIN
%%
SELECT map(1, 'a', 1, max(region)) FROM sales
%%
SET spark.sql.legacy.setopsPrecedence.enabled = true
%% ordered
SELECT count(*) AS n FROM sales UNION SELECT 0 EXCEPT SELECT 0 INTERSECT SELECT 1 ORDER BY n
%%
RESET spark.sql.legacy.setopsPrecedence.enabled
%% ordered
SELECT count(*) AS n FROM sales UNION SELECT 0 EXCEPT SELECT 0 INTERSECT SELECT 1 ORDER BY n
%%
SET spark.sql.decimalOperations.allowPrecisionLoss = false
%%
SELECT avg(price) * 1.2345678901234567890 AS a, sum(price) / 3.000000000000000000 AS s FROM sales
%%
RESET
%%
SELECT avg(price) * 1.2345678901234567890 AS a, sum(price) / 3.000000000000000000 AS s FROM sales
%%
SET spark.sql.timestampType = TIMESTAMP_NTZ
%%
SELECT TIMESTAMP '2024-01-01 00:00:00', count(*) FROM sales WHERE at < TIMESTAMP '2024-02-01 00:00:00'
%%
RESET
%%
SET spark.sql.legacy.literal.pickMinimumPrecision = false
%%
SELECT sum(price) * 1 AS a, 5 * max(price) AS b FROM sales
%%
RESET
%%
SET spark.sql.ansi.enforceReservedKeywords = true
%% raises PARSE_SYNTAX_ERROR
SELECT count(*) AS user FROM sales
%%
RESET
%%
SET spark.sql.legacy.exponentLiteralAsDecimal.enabled = true
%%
SELECT 1e2 AS e, sum(price) * 1e2 AS s FROM sales
%%
RESET
%%
SET spark.sql.legacy.negativeIndexInArrayInsert = true
%%
SELECT array_insert(array(1, 2), -1, 3), max(shop) FROM sales
%%
RESET
%%
SET spark.sql.crossJoin.enabled = false
%%
SELECT max(qty) FROM sales
%%
RESET
%%
SET spark.sql.legacy.sizeOfNull = true
%%
SELECT size(CAST(NULL AS ARRAY<INT>)), count(*) FROM sales
%%
RESET
%%
SET spark.sql.legacy.percentileDiscCalculation = true
%%
SELECT region, percentile_disc(0.3) WITHIN GROUP (ORDER BY qty) AS p FROM sales GROUP BY region
%%
RESET
%%
SET spark.sql.legacy.integerGroupingId = true
%%
SELECT region, grouping_id() AS g, count(*) FROM sales GROUP BY ROLLUP (region)
%%
RESET
%%
SET spark.sql.legacy.parser.havingWithoutGroupByAsWhere = true
%%
SELECT 1 AS one FROM sales HAVING qty > 8
%%
RESET
%%
SET spark.sql.legacy.dataset.nameNonStructGroupingKeyAsValue = true
%%
SET spark.sql.storeAssignmentPolicy = LEGACY
%%
RESET
%%
SET spark.sql.legacy.duplicateBetweenInput = true
%%
SELECT region, count(*) FROM sales WHERE qty BETWEEN 2 AND 5 GROUP BY region
%%
RESET
%%
SET spark.sql.lateralColumnAlias.enableImplicitResolution = false
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT region, sum(qty) AS s, s + 1 AS t FROM sales GROUP BY region
%%
RESET
%%
SET spark.sql.legacy.decimal.retainFractionDigitsOnTruncate = true
%%
SELECT avg(price) AS a, sum(price) * 1.5 AS b FROM sales
%%
RESET
%%
SET spark.sql.legacy.castComplexTypesToString.enabled = true
%%
SELECT CAST(struct(1, NULL) AS STRING) AS s, count(*) FROM sales
%%
RESET
%%
SET spark.sql.legacy.ctePrecedencePolicy = LEGACY
%%
WITH t AS (SELECT 1 AS q), u AS (WITH t AS (SELECT max(qty) AS q FROM sales) SELECT q FROM t) SELECT q FROM u
%%
RESET
%%
SET spark.sql.parser.quotedRegexColumnNames = true
%%
SELECT `(shop|name)` FROM shops
%%
SELECT `region`, sum(qty) FROM sales GROUP BY region
%%
RESET
%%
SET spark.sql.legacy.groupingIdWithAppendedUserGroupBy = true
%%
SELECT shop, grouping_id() AS g, count(*) FROM sales GROUP BY region, shop GROUPING SETS ((shop), (shop, region))
%%
RESET
%%
SELECT shop, grouping_id() AS g, count(*) FROM sales GROUP BY region, shop GROUPING SETS ((shop), (shop, region))
%%
SET spark.sql.legacy.allowParameterlessCount = true
%%
SELECT count() FROM sales
%%
RESET
%% raises WRONG_NUM_ARGS.WITH_SUGGESTION
SELECT count() FROM sales
%%
SET spark.sql.legacy.allowStarWithSingleTableIdentifierInCount = true
%%
SELECT count(s.*) AS n FROM sales s
%%
RESET
%%%% zones
%%
SET TIME ZONE 'Asia/Tokyo'
%%
SELECT current_timezone(), date_trunc('DAY', at) AS d, count(*) FROM sales WHERE id < 20 GROUP BY ALL
%%
SELECT count(*) FROM sales WHERE at < '2024-02-01'
%%
SET TIME ZONE INTERVAL '-03:30' HOUR TO MINUTE
%%
SELECT min(at), CAST(max(at) AS STRING) AS m, hour(max(at)) AS h FROM sales
%%
SET TIME ZONE LOCAL
%%
SET spark.sql.session.timeZone
%%
SET TIME ZONE '+02:00'
%%
SELECT CAST(max(at) AS DATE), CAST(TIMESTAMP '2024-01-01 00:00:00' AS STRING) FROM sales
%% raises INVALID_CONF_VALUE.TIME_ZONE
SET TIME ZONE 'No/Where'
%%
SET TIME ZONE 'UTC'
%%
RESET
%%%% catalogs and namespaces
%%
USE lake.mine
%%
SELECT current_catalog(), current_schema()
%%
SHOW CURRENT NAMESPACE
%% raises TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM sales
%%
SELECT count(*) FROM corpus.sales
%%
USE NAMESPACE corpus
%%
SELECT region, count(*) FROM sales GROUP BY region
%%
SET CATALOG spark_catalog
%% raises TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM sales
%%
SELECT count(*) FROM lake.corpus.sales
%%
SHOW CURRENT NAMESPACE
%%
USE default
%%
SET CATALOG 'lake'
%%
SELECT current_schema()
%%
USE DATABASE mine
%%
SHOW CATALOGS LIKE 'la*'
%%
SHOW NAMESPACES IN lake LIKE 'corp*'
%%
SHOW DATABASES LIKE 'mine*'
%% raises SCHEMA_NOT_FOUND
USE lake.nowhere
%%
USE IDENTIFIER('lake.' || 'corpus')
%%
SELECT count(*) FROM sales
%%%% collations
%%
SET spark.sql.defaultCollation
%%
DESCRIBE QUERY SELECT region COLLATE UNICODE_CI AS c FROM sales
%%%% variables
%%
DECLARE VARIABLE bound INT DEFAULT 5
%%
SELECT region, count(*) FROM sales WHERE qty > bound GROUP BY region
%%
SET VAR bound = (SELECT max(qty) FROM sales)
%%
SELECT bound, session.bound, system.session.bound, count(*) FROM sales WHERE qty = bound
%%
DECLARE OR REPLACE region = 'hidden by the column'
%%
SELECT count(*) FROM sales WHERE region = 'north'
%%
SELECT session.region AS v, region, count(*) FROM sales GROUP BY region
%%
SELECT region
%%
DECLARE VARIABLE day DATE
%%
SET VARIABLE (bound, day) = (SELECT max(shop), max(day) FROM sales)
%%
SELECT bound, day
%%
SET VAR bound = bound + 1, day = DEFAULT
%%
SELECT bound * 2 AS b, sum(qty) AS q FROM sales GROUP BY shop HAVING sum(qty) > bound
%%
SELECT count(*) FROM sales LIMIT bound
%%
DROP TEMPORARY VARIABLE bound
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT count(*) FROM sales WHERE qty > bound
%%
DROP TEMPORARY VARIABLE IF EXISTS bound
%% raises VARIABLE_NOT_FOUND
DROP TEMPORARY VARIABLE bound
%%
DROP TEMPORARY VARIABLE region
%%
DROP TEMPORARY VARIABLE day
%%%% execute immediate
%%
EXECUTE IMMEDIATE 'SELECT region, count(*) FROM sales GROUP BY region'
%%
EXECUTE IMMEDIATE 'SELECT count(*) FROM sales WHERE region = ? AND qty > ?' USING 'north', 2
%%
EXECUTE IMMEDIATE 'SELECT count(*) FROM sales WHERE region = :r AND qty > :q' USING 'north' AS r, (1 + 1) AS q
%%
DECLARE text STRING DEFAULT 'SELECT sum(qty) FROM sales WHERE shop = :s'
%%
DECLARE total BIGINT
%%
EXECUTE IMMEDIATE text INTO total USING (2 AS s)
%%
SELECT total
%%
EXECUTE IMMEDIATE 'SET VAR total = 7'
%%
SELECT total, count(*) FROM sales
%%
DROP TEMPORARY VARIABLE text
%%
DROP TEMPORARY VARIABLE total
%%%% temporary views
%%
CREATE TEMPORARY VIEW north AS SELECT * FROM lake.corpus.sales WHERE region = 'north'
%%
SELECT item, count(*) FROM north GROUP BY item
%%
CREATE OR REPLACE TEMP VIEW north (k COMMENT 'key', n) COMMENT 'counted' AS SELECT item, count(*) FROM sales GROUP BY item
%%
SELECT sum(n) FROM north
%%
CREATE TEMPORARY VIEW sales AS SELECT 'hidden' AS region, 1 AS qty
%%
SELECT region, sum(qty) FROM sales GROUP BY region
%%
SELECT count(*) FROM lake.corpus.sales
%%
WITH s AS (SELECT * FROM sales) SELECT count(*) FROM s
%%
SHOW VIEWS
%%
DESCRIBE north
%%
ALTER VIEW north AS SELECT 1 AS k, 2 AS n
%%
TABLE north
%%
DROP VIEW sales
%%
SELECT region, sum(qty) FROM sales GROUP BY region
%%
CREATE GLOBAL TEMPORARY VIEW mine_all AS SELECT count(*) AS n FROM lake.corpus.sales
%%
SELECT n FROM global_temp.mine_all
%%
DROP VIEW global_temp.mine_all
%% raises PATH_NOT_FOUND
CREATE TEMPORARY VIEW ids (id BIGINT) USING parquet OPTIONS (path '/no/such/place')
%%
DROP VIEW IF EXISTS ids
%%
DROP VIEW north
%%%% functions
%%
CREATE TEMPORARY FUNCTION total() RETURNS BIGINT RETURN (SELECT sum(qty) FROM lake.corpus.sales)
%%
SELECT total() AS t, count(*) FROM sales
%%
SELECT region, sum(qty) * 100 / total() AS share FROM sales GROUP BY region
%%
CREATE TEMPORARY FUNCTION limit_of() RETURNS INT RETURN 5
%%
SELECT region, count(*) FROM sales WHERE qty > limit_of() GROUP BY region
%%
CREATE TEMPORARY FUNCTION first_shops() RETURNS TABLE (i INT, s STRING) RETURN SELECT shop, name FROM lake.corpus.shops WHERE shop < 3
%%
SELECT * FROM first_shops()
%%
SELECT count(*) FROM sales f JOIN first_shops() s ON f.shop = s.i
%% raises USER_DEFINED_FUNCTIONS.CANNOT_REPLACE_NON_SQL_UDF_WITH_SQL_UDF
CREATE OR REPLACE TEMPORARY FUNCTION current_catalog() RETURNS STRING RETURN 'mine'
%%
SELECT current_catalog() AS c, count(*) FROM sales
%%
CREATE TEMPORARY FUNCTION signature() RETURNS STRING LANGUAGE SQL DETERMINISTIC COMMENT 'none' CONTAINS SQL RETURN 's'
%%
SELECT signature() AS s, max(qty) FROM sales
%% loose
DESCRIBE FUNCTION total
%% raises ROUTINE_ALREADY_EXISTS
CREATE TEMPORARY FUNCTION total() RETURNS INT RETURN 1
%% raises UnsupportedOperationException
CREATE TEMPORARY FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x * 2
%%
DROP TEMPORARY FUNCTION IF EXISTS twice
%%
DROP TEMPORARY FUNCTION limit_of
%%
DROP TEMPORARY FUNCTION first_shops
%%
DROP TEMPORARY FUNCTION signature
%%
DROP TEMPORARY FUNCTION total
%% raises UNRESOLVED_ROUTINE
SELECT total(), sum(qty) FROM sales
%%
SELECT plus_one(shop) AS p, count(*) FROM sales GROUP BY plus_one(shop)
%%
SELECT region, plus_one(CAST(sum(qty) AS INT)) AS p FROM sales GROUP BY region
%%
SELECT * FROM words('a b c')
%%
SELECT region, w.word FROM (SELECT region, count(*) AS n FROM sales GROUP BY region) t, LATERAL words(t.region) AS w
%%
SELECT region, biggest(qty) AS m FROM sales GROUP BY region
