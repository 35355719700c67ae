-- Statements of Metabase's driver for Starburst and Trino: breakouts, filters, joins, custom columns, its sync.

-- name: count by minute of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: 00000000
SELECT DATE_TRUNC('minute', "ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" WHERE ("ssb"."events"."e_at" >= timestamp '2025-11-01 00:00:00.000' AND "ssb"."events"."e_at" < timestamp '2025-12-01 00:00:00.000') GROUP BY DATE_TRUNC('minute', "ssb"."events"."e_at") ORDER BY DATE_TRUNC('minute', "ssb"."events"."e_at") ASC

-- name: count by hour of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: 9e3779b1
SELECT DATE_TRUNC('hour', "ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" WHERE ("ssb"."events"."e_at" >= timestamp '2025-11-01 00:00:00.000' AND "ssb"."events"."e_at" < timestamp '2025-12-01 00:00:00.000') GROUP BY DATE_TRUNC('hour', "ssb"."events"."e_at") ORDER BY DATE_TRUNC('hour', "ssb"."events"."e_at") ASC

-- name: count by month of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: 3c6ef362
SELECT DATE_TRUNC('month', "ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE_TRUNC('month', "ssb"."events"."e_at") ORDER BY DATE_TRUNC('month', "ssb"."events"."e_at") ASC

-- name: count by quarter of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: daa66d13
SELECT DATE_TRUNC('quarter', "ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE_TRUNC('quarter', "ssb"."events"."e_at") ORDER BY DATE_TRUNC('quarter', "ssb"."events"."e_at") ASC

-- name: count by year of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: 78dde6c4
SELECT DATE_TRUNC('year', "ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE_TRUNC('year', "ssb"."events"."e_at") ORDER BY DATE_TRUNC('year', "ssb"."events"."e_at") ASC

-- name: count by day of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: 17156075
SELECT DATE("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE("ssb"."events"."e_at") ORDER BY DATE("ssb"."events"."e_at") ASC

-- name: sum by week of a timestamp
-- Metabase:: userID: 1 queryType: MBQL queryHash: b54cda26
SELECT DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_at"))) AS "e_at", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" GROUP BY DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_at"))) ORDER BY DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_at"))) ASC

-- name: sum by month of a date
SELECT DATE_TRUNC('month', "ssb"."events"."e_day") AS "e_day", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" GROUP BY DATE_TRUNC('month', "ssb"."events"."e_day") ORDER BY DATE_TRUNC('month', "ssb"."events"."e_day") ASC

-- name: sum by quarter of a date
SELECT DATE_TRUNC('quarter', "ssb"."events"."e_day") AS "e_day", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" GROUP BY DATE_TRUNC('quarter', "ssb"."events"."e_day") ORDER BY DATE_TRUNC('quarter', "ssb"."events"."e_day") ASC

-- name: sum by year of a date
SELECT DATE_TRUNC('year', "ssb"."events"."e_day") AS "e_day", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" GROUP BY DATE_TRUNC('year', "ssb"."events"."e_day") ORDER BY DATE_TRUNC('year', "ssb"."events"."e_day") ASC

-- name: sum by day of a date
SELECT "ssb"."events"."e_day" AS "e_day", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" GROUP BY "ssb"."events"."e_day" ORDER BY "ssb"."events"."e_day" ASC

-- name: sum by week of a date
SELECT DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_day"))) AS "e_day", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" GROUP BY DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_day"))) ORDER BY DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_day"))) ASC

-- name: count by hour of a zoned timestamp in the report's zone
SELECT DATE_TRUNC('hour', "ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') AS "e_seen", COUNT(*) AS "count" FROM "ssb"."events" WHERE ("ssb"."events"."e_seen" >= timestamp '2026-03-28 00:00:00.000 +01:00' AND "ssb"."events"."e_seen" < timestamp '2026-03-31 00:00:00.000 +02:00') GROUP BY DATE_TRUNC('hour', "ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') ORDER BY DATE_TRUNC('hour', "ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') ASC

-- name: count by month of a zoned timestamp in the report's zone
SELECT DATE_TRUNC('month', "ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') AS "e_seen", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE_TRUNC('month', "ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') ORDER BY DATE_TRUNC('month', "ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') ASC

-- name: count by day of a zoned timestamp in the report's zone
SELECT DATE("ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') AS "e_seen", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE("ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') ORDER BY DATE("ssb"."events"."e_seen" AT TIME ZONE 'Europe/Berlin') ASC

-- name: count by week of a zoned timestamp in the report's zone
SELECT DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_seen") AT TIME ZONE 'Europe/Berlin')) AS "e_seen", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_seen") AT TIME ZONE 'Europe/Berlin')) ORDER BY DATE_ADD('day', -1, DATE_TRUNC('week', DATE_ADD('day', 1, "ssb"."events"."e_seen") AT TIME ZONE 'Europe/Berlin')) ASC

-- name: count by hour of the day
SELECT HOUR("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY HOUR("ssb"."events"."e_at") ORDER BY HOUR("ssb"."events"."e_at") ASC

-- name: count by minute of the hour
SELECT MINUTE("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY MINUTE("ssb"."events"."e_at") ORDER BY MINUTE("ssb"."events"."e_at") ASC

-- name: count by day of the month
SELECT DAY("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DAY("ssb"."events"."e_at") ORDER BY DAY("ssb"."events"."e_at") ASC

-- name: count by day of the year
SELECT DAY_OF_YEAR("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY DAY_OF_YEAR("ssb"."events"."e_at") ORDER BY DAY_OF_YEAR("ssb"."events"."e_at") ASC

-- name: count by month of the year
SELECT MONTH("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY MONTH("ssb"."events"."e_at") ORDER BY MONTH("ssb"."events"."e_at") ASC

-- name: count by quarter of the year
SELECT QUARTER("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY QUARTER("ssb"."events"."e_at") ORDER BY QUARTER("ssb"."events"."e_at") ASC

-- name: count by day of the week
SELECT CASE WHEN MOD((DAY_OF_WEEK("ssb"."events"."e_at") + 1), 7) = 0 THEN 7 ELSE MOD((DAY_OF_WEEK("ssb"."events"."e_at") + 1), 7) END AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY CASE WHEN MOD((DAY_OF_WEEK("ssb"."events"."e_at") + 1), 7) = 0 THEN 7 ELSE MOD((DAY_OF_WEEK("ssb"."events"."e_at") + 1), 7) END ORDER BY CASE WHEN MOD((DAY_OF_WEEK("ssb"."events"."e_at") + 1), 7) = 0 THEN 7 ELSE MOD((DAY_OF_WEEK("ssb"."events"."e_at") + 1), 7) END ASC

-- name: count by ISO week of the year
SELECT WEEK("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY WEEK("ssb"."events"."e_at") ORDER BY WEEK("ssb"."events"."e_at") ASC

-- name: the last thirty days
-- Metabase:: userID: 1 queryType: MBQL queryHash: d5336898
SELECT DATE("ssb"."events"."e_at") AS "e_at", COUNT(*) AS "count" FROM "ssb"."events" WHERE "ssb"."events"."e_at" >= DATE(DATE_ADD('day', -30, NOW())) AND "ssb"."events"."e_at" < DATE(NOW()) GROUP BY DATE("ssb"."events"."e_at") ORDER BY DATE("ssb"."events"."e_at") ASC

-- name: the last twelve months with this one
SELECT DATE_TRUNC('month', "ssb"."events"."e_day") AS "e_day", SUM("ssb"."events"."e_amount") AS "sum" FROM "ssb"."events" WHERE "ssb"."events"."e_day" >= DATE_TRUNC('month', DATE_ADD('month', -12, NOW())) AND "ssb"."events"."e_day" < DATE_TRUNC('month', DATE_ADD('month', 1, NOW())) GROUP BY DATE_TRUNC('month', "ssb"."events"."e_day") ORDER BY DATE_TRUNC('month', "ssb"."events"."e_day") ASC

-- name: the last seven days of a zoned timestamp
SELECT DATE_TRUNC('hour', "ssb"."events"."e_seen") AS "e_seen", COUNT(*) AS "count" FROM "ssb"."events" WHERE "ssb"."events"."e_seen" >= DATE(DATE_ADD('day', -7, NOW())) AND "ssb"."events"."e_seen" < DATE(NOW()) GROUP BY DATE_TRUNC('hour', "ssb"."events"."e_seen") ORDER BY DATE_TRUNC('hour', "ssb"."events"."e_seen") ASC

-- name: between two days
-- Metabase:: userID: 1 queryType: MBQL queryHash: afd9d5ab
SELECT COUNT(*) AS "count" FROM "ssb"."events" WHERE ("ssb"."events"."e_at" >= timestamp '2026-01-01 00:00:00.000') AND ("ssb"."events"."e_at" < timestamp '2026-02-01 00:00:00.000')

-- name: excluding weekends
SELECT COUNT(*) AS "count" FROM "ssb"."events" WHERE (CASE WHEN MOD((DAY_OF_WEEK("ssb"."events"."e_day") + 1), 7) = 0 THEN 7 ELSE MOD((DAY_OF_WEEK("ssb"."events"."e_day") + 1), 7) END <> 1) AND (CASE WHEN MOD((DAY_OF_WEEK("ssb"."events"."e_day") + 1), 7) = 0 THEN 7 ELSE MOD((DAY_OF_WEEK("ssb"."events"."e_day") + 1), 7) END <> 7)

-- name: sum over a joined dimension
-- Metabase:: userID: 1 queryType: MBQL queryHash: ec48c90d
SELECT "Customer"."c_region" AS "Customer__c_region", SUM("ssb"."lineorder"."lo_revenue") AS "sum" FROM "ssb"."lineorder" LEFT JOIN "ssb"."customer" AS "Customer" ON "ssb"."lineorder"."lo_custkey" = "Customer"."c_custkey" GROUP BY "Customer"."c_region" ORDER BY "Customer"."c_region" ASC

-- name: two breakouts, two aggregations
-- Metabase:: userID: 1 queryType: MBQL queryHash: 8a8042be
SELECT "Customer"."c_region" AS "Customer__c_region", "Dates"."d_year" AS "Dates__d_year", SUM("ssb"."lineorder"."lo_revenue") AS "sum", AVG("ssb"."lineorder"."lo_discount") AS "avg" FROM "ssb"."lineorder" LEFT JOIN "ssb"."customer" AS "Customer" ON "ssb"."lineorder"."lo_custkey" = "Customer"."c_custkey" LEFT JOIN "ssb"."dates" AS "Dates" ON "ssb"."lineorder"."lo_orderdate" = "Dates"."d_datekey" GROUP BY "Customer"."c_region", "Dates"."d_year" ORDER BY "Customer"."c_region" ASC, "Dates"."d_year" ASC

-- name: ordered by the sum with a limit
SELECT "Customer"."c_nation" AS "Customer__c_nation", SUM("ssb"."lineorder"."lo_revenue") AS "sum" FROM "ssb"."lineorder" LEFT JOIN "ssb"."customer" AS "Customer" ON "ssb"."lineorder"."lo_custkey" = "Customer"."c_custkey" WHERE "Customer"."c_region" = 'EUROPE' GROUP BY "Customer"."c_nation" ORDER BY "sum" DESC, "Customer"."c_nation" ASC LIMIT 5

-- name: a filter after the summary
SELECT "source"."Customer__c_city" AS "Customer__c_city", "source"."sum" AS "sum" FROM (SELECT "Customer"."c_city" AS "Customer__c_city", SUM("ssb"."lineorder"."lo_revenue") AS "sum" FROM "ssb"."lineorder" LEFT JOIN "ssb"."customer" AS "Customer" ON "ssb"."lineorder"."lo_custkey" = "Customer"."c_custkey" GROUP BY "Customer"."c_city" ORDER BY "Customer"."c_city" ASC) AS "source" WHERE "source"."sum" > 100000000 LIMIT 1048575

-- name: a summary of a summary
SELECT AVG("source"."count") AS "avg", MAX("source"."count") AS "max" FROM (SELECT "ssb"."lineorder"."lo_custkey" AS "lo_custkey", COUNT(*) AS "count" FROM "ssb"."lineorder" GROUP BY "ssb"."lineorder"."lo_custkey" ORDER BY "ssb"."lineorder"."lo_custkey" ASC) AS "source"

-- name: a pivot table's rows
SELECT "Customer"."c_region" AS "Customer__c_region", "Dates"."d_year" AS "Dates__d_year", ABS(0) AS "pivot-grouping", SUM("ssb"."lineorder"."lo_revenue") AS "sum" FROM "ssb"."lineorder" LEFT JOIN "ssb"."customer" AS "Customer" ON "ssb"."lineorder"."lo_custkey" = "Customer"."c_custkey" LEFT JOIN "ssb"."dates" AS "Dates" ON "ssb"."lineorder"."lo_orderdate" = "Dates"."d_datekey" GROUP BY "Customer"."c_region", "Dates"."d_year", ABS(0) ORDER BY "Customer"."c_region" ASC, "Dates"."d_year" ASC, ABS(0) ASC

-- name: a pivot table's totals
SELECT "Dates"."d_year" AS "Dates__d_year", ABS(1) AS "pivot-grouping", SUM("ssb"."lineorder"."lo_revenue") AS "sum" FROM "ssb"."lineorder" LEFT JOIN "ssb"."customer" AS "Customer" ON "ssb"."lineorder"."lo_custkey" = "Customer"."c_custkey" LEFT JOIN "ssb"."dates" AS "Dates" ON "ssb"."lineorder"."lo_orderdate" = "Dates"."d_datekey" GROUP BY "Dates"."d_year", ABS(1) ORDER BY "Dates"."d_year" ASC, ABS(1) ASC

-- name: cumulative sum
SELECT DATE_TRUNC('month', "ssb"."events"."e_at") AS "e_at", SUM(SUM("ssb"."events"."e_amount")) OVER (ORDER BY DATE_TRUNC('month', "ssb"."events"."e_at") ASC ROWS UNBOUNDED PRECEDING) AS "sum" FROM "ssb"."events" GROUP BY DATE_TRUNC('month', "ssb"."events"."e_at") ORDER BY DATE_TRUNC('month', "ssb"."events"."e_at") ASC

-- name: cumulative count
SELECT "ssb"."events"."e_day" AS "e_day", SUM(COUNT(*)) OVER (ORDER BY "ssb"."events"."e_day" ASC ROWS UNBOUNDED PRECEDING) AS "count" FROM "ssb"."events" WHERE "ssb"."events"."e_day" >= date '2026-01-01' GROUP BY "ssb"."events"."e_day" ORDER BY "ssb"."events"."e_day" ASC

-- name: the month before beside each
SELECT DATE_TRUNC('month', "ssb"."events"."e_day") AS "e_day", COUNT(*) AS "count", LAG(COUNT(*), 1) OVER (ORDER BY DATE_TRUNC('month', "ssb"."events"."e_day") ASC) AS "count_2" FROM "ssb"."events" GROUP BY DATE_TRUNC('month', "ssb"."events"."e_day") ORDER BY DATE_TRUNC('month', "ssb"."events"."e_day") ASC

-- name: distinct values, deviation, median, percentile
SELECT "ssb"."events"."e_kind" AS "e_kind", COUNT(DISTINCT "ssb"."events"."e_user") AS "count", STDDEV_POP("ssb"."events"."e_score") AS "stddev", APPROX_PERCENTILE("ssb"."events"."e_score", 0.5) AS "median", APPROX_PERCENTILE("ssb"."events"."e_score", 0.9) AS "percentile" FROM "ssb"."events" GROUP BY "ssb"."events"."e_kind" ORDER BY "ssb"."events"."e_kind" ASC

-- name: share and sum under a condition
SELECT "ssb"."events"."e_country" AS "e_country", SUM(CASE WHEN "ssb"."events"."e_kind" = 'buy' THEN 1.00 ELSE 0.0 END) / COUNT(*) AS "share", SUM(CASE WHEN "ssb"."events"."e_done" = TRUE THEN "ssb"."events"."e_amount" ELSE 0.0 END) AS "sum-where" FROM "ssb"."events" GROUP BY "ssb"."events"."e_country" ORDER BY "ssb"."events"."e_country" ASC

-- name: a ratio of aggregates
SELECT "ssb"."lineorder"."lo_shipmode" AS "lo_shipmode", CAST(SUM("ssb"."lineorder"."lo_revenue") AS double) / NULLIF(CAST(SUM("ssb"."lineorder"."lo_quantity") AS double), 0.0) AS "price" FROM "ssb"."lineorder" GROUP BY "ssb"."lineorder"."lo_shipmode" ORDER BY "ssb"."lineorder"."lo_shipmode" ASC

-- name: a number in bins
SELECT ((FLOOR((("ssb"."lineorder"."lo_quantity" - 0.0) / 10.0)) * 10.0) + 0.0) AS "lo_quantity", COUNT(*) AS "count" FROM "ssb"."lineorder" GROUP BY ((FLOOR((("ssb"."lineorder"."lo_quantity" - 0.0) / 10.0)) * 10.0) + 0.0) ORDER BY ((FLOOR((("ssb"."lineorder"."lo_quantity" - 0.0) / 10.0)) * 10.0) + 0.0) ASC

-- name: a double in bins
SELECT ((FLOOR((("ssb"."events"."e_score" - 0.0) / 12.5)) * 12.5) + 0.0) AS "e_score", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY ((FLOOR((("ssb"."events"."e_score" - 0.0) / 12.5)) * 12.5) + 0.0) ORDER BY ((FLOOR((("ssb"."events"."e_score" - 0.0) / 12.5)) * 12.5) + 0.0) ASC

-- name: custom columns of texts
SELECT "ssb"."events"."e_id" AS "e_id", CONCAT("ssb"."events"."e_kind", ' ', COALESCE("ssb"."events"."e_country", '?')) AS "both", UPPER("ssb"."events"."e_kind") AS "upper", LENGTH("ssb"."events"."e_comment") AS "length", SUBSTRING("ssb"."events"."e_kind", 1, 2) AS "start", REGEXP_EXTRACT("ssb"."events"."e_comment", '[a-z]+') AS "word", REPLACE("ssb"."events"."e_comment", '_', ' ') AS "spaced", TRIM("ssb"."events"."e_comment") AS "trimmed" FROM "ssb"."events" LIMIT 2000

-- name: custom columns of numbers
SELECT "ssb"."events"."e_id" AS "e_id", ROUND("ssb"."events"."e_score") AS "round", FLOOR("ssb"."events"."e_score") AS "floor", CEIL("ssb"."events"."e_score") AS "ceil", ABS("ssb"."events"."e_score" - 50) AS "abs", SQRT(ABS("ssb"."events"."e_score")) AS "sqrt", POWER("ssb"."events"."e_score", 2) AS "power", LOG10(ABS("ssb"."events"."e_score") + 1) AS "log", EXP("ssb"."events"."e_score" / 100.0) AS "exp" FROM "ssb"."events" LIMIT 2000

-- name: a case as a breakout
SELECT CASE WHEN "ssb"."events"."e_score" < 35 THEN 'low' WHEN "ssb"."events"."e_score" < 65 THEN 'middle' ELSE 'high' END AS "level", COUNT(*) AS "count" FROM "ssb"."events" GROUP BY CASE WHEN "ssb"."events"."e_score" < 35 THEN 'low' WHEN "ssb"."events"."e_score" < 65 THEN 'middle' ELSE 'high' END ORDER BY CASE WHEN "ssb"."events"."e_score" < 35 THEN 'low' WHEN "ssb"."events"."e_score" < 65 THEN 'middle' ELSE 'high' END ASC

-- name: days between two columns
SELECT AVG(DATE_DIFF('day', DATE(CAST("ssb"."events"."e_at" AS timestamp with time zone) AT TIME ZONE 'UTC'), DATE("ssb"."events"."e_seen" AT TIME ZONE 'UTC'))) AS "avg" FROM "ssb"."events"

-- name: minutes between two columns
SELECT "ssb"."events"."e_kind" AS "e_kind", AVG(DATE_DIFF('minute', CAST("ssb"."events"."e_at" AS timestamp with time zone) AT TIME ZONE 'UTC', "ssb"."events"."e_seen" AT TIME ZONE 'UTC')) AS "avg" FROM "ssb"."events" GROUP BY "ssb"."events"."e_kind" ORDER BY "ssb"."events"."e_kind" ASC

-- name: dates that are moved
SELECT "ssb"."events"."e_id" AS "e_id", DATE_ADD('month', 1, "ssb"."events"."e_day") AS "due", DATE_ADD('hour', -2, "ssb"."events"."e_at") AS "before" FROM "ssb"."events" ORDER BY "ssb"."events"."e_id" ASC LIMIT 2000

-- name: a time in another zone
SELECT "ssb"."events"."e_id" AS "e_id", CAST(AT_TIMEZONE(WITH_TIMEZONE("ssb"."events"."e_at", 'UTC'), 'Asia/Tokyo') AS timestamp) AS "tokyo" FROM "ssb"."events" LIMIT 2000

-- name: contains, whatever the case
-- Metabase:: userID: 1 queryType: MBQL queryHash: 850d3e43
SELECT COUNT(*) AS "count" FROM "ssb"."events" WHERE (LOWER("ssb"."events"."e_comment") LIKE '%größe%')

-- name: does not contain
SELECT COUNT(*) AS "count" FROM "ssb"."events" WHERE (NOT ("ssb"."events"."e_comment" LIKE '%off%') OR ("ssb"."events"."e_comment" IS NULL))

-- name: is empty
SELECT COUNT(*) AS "count" FROM "ssb"."events" WHERE (("ssb"."events"."e_comment" IS NULL) OR ("ssb"."events"."e_comment" = ''))

-- name: is one of
SELECT "ssb"."lineorder"."lo_shipmode" AS "lo_shipmode", COUNT(*) AS "count" FROM "ssb"."lineorder" WHERE (("ssb"."lineorder"."lo_shipmode" = 'AIR') OR ("ssb"."lineorder"."lo_shipmode" = 'REG AIR')) AND (("ssb"."lineorder"."lo_quantity" >= 10) AND ("ssb"."lineorder"."lo_quantity" <= 20)) GROUP BY "ssb"."lineorder"."lo_shipmode" ORDER BY "ssb"."lineorder"."lo_shipmode" ASC

-- name: texts as hexadecimal digits
SELECT COUNT(*) AS "count" FROM "ssb"."customer" WHERE "ssb"."customer"."c_region" = from_utf8(from_hex('41534941'))

-- name: parameters of a prepared statement
EXECUTE IMMEDIATE 'SELECT "ssb"."customer"."c_nation" AS "c_nation", COUNT(*) AS "count" FROM "ssb"."customer" WHERE ("ssb"."customer"."c_region" = ?) AND ("ssb"."customer"."c_custkey" < ?) GROUP BY "ssb"."customer"."c_nation" ORDER BY "ssb"."customer"."c_nation" ASC' USING 'ASIA', BIGINT '1000'

-- name: rows of a table
SELECT "ssb"."events"."e_id" AS "e_id", "ssb"."events"."e_user" AS "e_user", "ssb"."events"."e_kind" AS "e_kind", "ssb"."events"."e_country" AS "e_country", "ssb"."events"."e_day" AS "e_day", "ssb"."events"."e_at" AS "e_at", "ssb"."events"."e_seen" AS "e_seen", "ssb"."events"."e_amount" AS "e_amount", "ssb"."events"."e_score" AS "e_score", "ssb"."events"."e_done" AS "e_done", "ssb"."events"."e_comment" AS "e_comment" FROM "ssb"."events" LIMIT 2000

-- name: the second page of rows
SELECT "c_custkey", "c_name" FROM (SELECT "ssb"."customer"."c_custkey" AS "c_custkey", "ssb"."customer"."c_name" AS "c_name", row_number() OVER (ORDER BY "ssb"."customer"."c_custkey" ASC) AS "__rownum__" FROM "ssb"."customer" ORDER BY "ssb"."customer"."c_custkey" ASC) WHERE "__rownum__" > 20 LIMIT 20

-- name: values for a filter's list
SELECT "ssb"."part"."p_category" AS "p_category" FROM "ssb"."part" GROUP BY "ssb"."part"."p_category" ORDER BY "ssb"."part"."p_category" ASC LIMIT 1001

-- name: a look at the first rows for fingerprints
SELECT "source"."e_kind" AS "e_kind", "source"."substring1" AS "substring1", "source"."e_at" AS "e_at", "source"."e_amount" AS "e_amount" FROM (SELECT "ssb"."events"."e_kind" AS "e_kind", SUBSTRING("ssb"."events"."e_comment", 1, 1234) AS "substring1", "ssb"."events"."e_at" AS "e_at", "ssb"."events"."e_amount" AS "e_amount" FROM "ssb"."events") AS "source" LIMIT 10000

-- name: tables like one
SHOW TABLES FROM "ssb" LIKE 'events'

-- name: columns of a table
DESCRIBE "lake"."ssb"."events"
