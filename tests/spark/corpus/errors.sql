%%%% parse
%% raises PARSE_SYNTAX_ERROR
SELEC region FROM sales
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT region, FROM FROM sales
%% raises PARSE_SYNTAX_ERROR
SELECT count(*) FROM sales GROUP BY region HAVING
%% raises PARSE_SYNTAX_ERROR
SELECT region FROM sales WHERE (qty = 1
%% raises PARSE_SYNTAX_ERROR
SELECT 'open
%% raises UNCLOSED_BRACKETED_COMMENT
SELECT 1 /* open
%% raises PARSE_EMPTY_STATEMENT

%% raises PARSE_SYNTAX_ERROR
-- nothing but a comment
%% raises PARSE_SYNTAX_ERROR
;
%% raises PARSE_SYNTAX_ERROR
SELECT 1; SELECT 2
%% raises PARSE_SYNTAX_ERROR
SELECT count(*) FROM sales; DROP TABLE shops
%% raises INVALID_TYPED_LITERAL
SELECT DATE '2024-13-01'
%% raises UNSUPPORTED_DATATYPE
SELECT CAST(1 AS NO_SUCH_TYPE)
%% raises INVALID_IDENTIFIER
SELECT count(*) FROM test-table
%% raises INVALID_NUMERIC_LITERAL_RANGE
SELECT 300Y
%% raises PARSE_SYNTAX_ERROR
SELECT region sum(qty) FROM sales GROUP BY region
%% raises PARSE_SYNTAX_ERROR
EXPLAIN WITH
%%%% analysis
%% raises TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM lake.corpus.nothing
%% raises TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM nowhere.nothing
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT regoin, count(*) FROM sales GROUP BY regoin
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT sum(shops.qty) FROM sales
%% raises MISSING_AGGREGATION
SELECT region, item, count(*) FROM sales GROUP BY region
%% raises MISSING_GROUP_BY
SELECT region, sum(qty) FROM sales
%% raises UNRESOLVED_ROUTINE
SELECT no_such_function(region), count(*) FROM sales GROUP BY 1
%% raises AMBIGUOUS_REFERENCE
SELECT shop, count(*) FROM sales JOIN shops ON sales.shop = shops.shop GROUP BY shop
%% raises WRONG_NUM_ARGS.WITHOUT_SUGGESTION
SELECT upper(region, item), count(*) FROM sales GROUP BY ALL
%% raises DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE
SELECT sum(tags) FROM sales
%% raises DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN
SELECT count(*) FROM sales WHERE qty
%% raises INVALID_WHERE_CONDITION
SELECT region, count(*) FROM sales WHERE count(*) > 1 GROUP BY region
%% raises NUM_COLUMNS_MISMATCH
SELECT region, count(*) FROM sales GROUP BY region UNION ALL SELECT region FROM sales
%% raises INCOMPATIBLE_COLUMN_TYPE
SELECT count(*) FROM sales UNION ALL SELECT tags FROM sales
%% raises GROUP_BY_POS_OUT_OF_RANGE
SELECT region, count(*) FROM sales GROUP BY 5
%% raises ORDER_BY_POS_OUT_OF_RANGE
SELECT region, count(*) FROM sales GROUP BY region ORDER BY 3
%% raises GROUP_BY_POS_AGGREGATE
SELECT region, count(*) FROM sales GROUP BY 2
%% raises GROUP_BY_AGGREGATE
SELECT count(*) FROM sales GROUP BY sum(qty)
%% raises NESTED_AGGREGATE_FUNCTION
SELECT sum(count(*)) FROM sales
%% raises INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE
SELECT region, sum(qty) FROM sales GROUP BY region LIMIT -1
%% raises UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT region, sum(qty) FROM sales GROUP BY region LIMIT qty
%%
SELECT (SELECT sum(qty) FROM sales f WHERE f.shop < s.shop) FROM shops s
%% raises UNBOUND_SQL_PARAMETER
SELECT count(*) FROM sales WHERE region = :region
%% raises UNBOUND_SQL_PARAMETER
SELECT count(*) FROM sales WHERE region = ?
%% raises UNRESOLVED_USING_COLUMN_FOR_JOIN
SELECT count(*) FROM sales JOIN shops USING (region)
%% raises DUPLICATED_CTE_NAMES
WITH t AS (SELECT 1), t AS (SELECT 2) SELECT count(*) FROM t, sales
%% raises UNPIVOT_VALUE_DATA_TYPE_MISMATCH
SELECT * FROM shops UNPIVOT (v FOR k IN (name, area))
%% raises FIELD_NOT_FOUND
SELECT info.zzz, count(*) FROM sales GROUP BY info.zzz
%% raises MISSING_WINDOW_SPECIFICATION
SELECT region, rank() OVER nope FROM sales GROUP BY region
%% raises WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE
SELECT region, rank(), count(*) FROM sales GROUP BY region
%% raises INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT
SELECT count(*) FROM sales TIMESTAMP AS OF 'not a time'
%% raises COLLATION_INVALID_NAME
SELECT region COLLATE nope, count(*) FROM sales GROUP BY 1
%%%% run time
%% raises DIVIDE_BY_ZERO
SELECT 1 / 0
%% raises DIVIDE_BY_ZERO
SELECT region, sum(qty) / (count(*) - count(*)) FROM sales GROUP BY region
%% raises REMAINDER_BY_ZERO
SELECT shop, count(*) FROM sales GROUP BY shop HAVING count(*) % 0 = 1
%% raises CAST_INVALID_INPUT
SELECT CAST(region AS INT), count(*) FROM sales GROUP BY CAST(region AS INT)
%% raises CAST_INVALID_INPUT
SELECT count(*) FROM sales WHERE item = 5
%% raises CAST_INVALID_INPUT
SELECT count(*) FROM sales WHERE day = 'someday'
%% raises CAST_OVERFLOW
SELECT CAST(sum(qty) AS TINYINT) FROM sales
%% raises ARITHMETIC_OVERFLOW
SELECT 2147483647 + 1
%% raises ARITHMETIC_OVERFLOW
SELECT sum(9223372036854775807) FROM sales
%% raises ARITHMETIC_OVERFLOW
SELECT region, sum(qty) * 9223372036854775807 FROM sales GROUP BY region
%% raises NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT CAST(sum(price) AS DECIMAL(2, 1)) FROM sales
%% raises INVALID_ARRAY_INDEX
SELECT array(1, 2)[5]
%% raises INVALID_ARRAY_INDEX
SELECT sum(tags[7]) FROM sales WHERE id = 3
%% raises org.apache.spark.SparkException
SELECT (SELECT region FROM sales GROUP BY region)
%% raises USER_RAISED_EXCEPTION
SELECT raise_error('as told'), count(*) FROM sales
%% raises USER_RAISED_EXCEPTION
SELECT assert_true(sum(qty) < 0, 'too many') FROM sales
%% raises org.apache.spark.SparkException
SELECT parse_json('{bad'), count(*) FROM sales
%% raises DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION
SELECT make_date(2024, 13, 1), count(*) FROM sales
%% raises INVALID_FRACTION_OF_SECOND
SELECT make_timestamp(2024, 1, 1, 1, 1, 60.5)
%% raises NULL_MAP_KEY
SELECT map(CAST(NULL AS STRING), 1)
%% raises DUPLICATED_MAP_KEY
SELECT map(1, 'a', 1, 'b')
