-- Other statements of Superset: charts, filters, samples, SQL Lab and what it asks about tables.

-- name: table chart
SELECT "c_region" AS "c_region", "d_year" AS "d_year", sum("lo_revenue") AS "SUM(lo_revenue)", avg("lo_quantity") AS "AVG(lo_quantity)"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table"
GROUP BY "c_region", "d_year"
ORDER BY "SUM(lo_revenue)" DESC
LIMIT 10000

-- name: bar chart ordered by a metric that isn't selected
SELECT "c_nation" AS "c_nation", sum("lo_revenue") AS "SUM(lo_revenue)"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table"
WHERE "c_region" = 'ASIA'
GROUP BY "c_nation"
ORDER BY count(*) DESC
LIMIT 25

-- name: pivot table with two levels
SELECT "p_category" AS "p_category", "c_region" AS "c_region", "d_year" AS "d_year", sum("lo_revenue") AS "revenue", count(*) AS "count", max("lo_discount") AS "MAX(lo_discount)"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table"
WHERE "d_year" IN (1993, 1994, 1995) AND "p_category" LIKE 'MFGR#1%'
GROUP BY "p_category", "c_region", "d_year"
ORDER BY "revenue" DESC
LIMIT 50000

-- name: big number
SELECT count(DISTINCT "c_city") AS "COUNT_DISTINCT(c_city)"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table"
LIMIT 50000

-- name: histogram
SELECT "e_score" AS "e_score"
FROM "ssb"."events"
WHERE "e_kind" = 'buy'
LIMIT 10000

-- name: box plot
SELECT date_trunc('month', CAST("e_day" AS TIMESTAMP)) AS "e_day", "e_kind" AS "e_kind", avg("e_score") AS "AVG(e_score)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-01-01' AND "e_day" < DATE '2026-01-01'
GROUP BY date_trunc('month', CAST("e_day" AS TIMESTAMP)), "e_kind"
ORDER BY "AVG(e_score)" DESC
LIMIT 10000

-- name: heatmap by hour and weekday
SELECT hour("e_at") AS "hour", day_of_week("e_at") AS "weekday", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-01-01 00:00:00.000000'
GROUP BY hour("e_at"), day_of_week("e_at")
ORDER BY "count" DESC
LIMIT 10000

-- name: sunburst
SELECT "c_region" AS "c_region", "c_nation" AS "c_nation", "c_city" AS "c_city", sum("lo_revenue") AS "SUM(lo_revenue)"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table"
WHERE "c_region" IN ('EUROPE', 'AMERICA')
GROUP BY "c_region", "c_nation", "c_city"
ORDER BY "SUM(lo_revenue)" DESC
LIMIT 10000

-- name: values of a filter
SELECT "c_nation" AS "c_nation"
FROM "ssb"."customer"
GROUP BY "c_nation"
ORDER BY "c_nation" ASC
LIMIT 1000

-- name: values of a filter that are searched for
SELECT DISTINCT "c_city" AS "c_city"
FROM "ssb"."customer"
WHERE lower(CAST("c_city" AS VARCHAR)) LIKE lower('%united%')
LIMIT 10000

-- name: range of a numeric filter
SELECT min("lo_quantity") AS "min", max("lo_quantity") AS "max"
FROM "ssb"."lineorder"
LIMIT 50000

-- name: range of times
SELECT min("e_seen") AS "min", max("e_seen") AS "max"
FROM "ssb"."events"

-- name: samples of a dataset
SELECT "e_id" AS "e_id", "e_user" AS "e_user", "e_kind" AS "e_kind", "e_country" AS "e_country", "e_day" AS "e_day", "e_at" AS "e_at", "e_seen" AS "e_seen", "e_amount" AS "e_amount", "e_done" AS "e_done", "e_comment" AS "e_comment"
FROM "ssb"."events"
LIMIT 1000

-- name: row count of samples
SELECT COUNT(*) AS "rowcount"
FROM (SELECT "c_nation" AS "c_nation", count(*) AS "count"
FROM "ssb"."customer" GROUP BY "c_nation" ORDER BY "count" DESC
) AS "rowcount_qry"
LIMIT 50000

-- name: raw records newest first
SELECT "e_at" AS "e_at", "e_kind" AS "e_kind", "e_comment" AS "e_comment"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-12-01 00:00:00.000000'
ORDER BY "e_at" DESC
LIMIT 1000

-- name: filters of every kind
SELECT "e_country" AS "e_country", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_kind" NOT IN ('view', 'click') AND "e_amount" >= 10.5 AND "e_country" IS NOT NULL AND "e_comment" LIKE '%fine%' AND "e_score" BETWEEN 20 AND 80 AND "e_done" = false
GROUP BY "e_country"
ORDER BY "count" DESC
LIMIT 100

-- name: a filter with NULL among its values
SELECT "e_kind" AS "e_kind", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_country" IS NULL OR "e_country" IN ('BR', 'JP')
GROUP BY "e_kind"
ORDER BY "SUM(e_amount)" DESC
LIMIT 100

-- name: others are put together
SELECT CASE WHEN "series_limit"."join_column_0" IS NOT NULL THEN "c_nation" ELSE 'Others' END AS "c_nation", sum("lo_revenue") AS "SUM(lo_revenue)"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table" LEFT OUTER JOIN (SELECT "c_nation" AS "join_column_0", sum("lo_revenue") AS "mme_inner__"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table" GROUP BY "c_nation" ORDER BY "mme_inner__" DESC
LIMIT 5) AS "series_limit" ON "c_nation" = "series_limit"."join_column_0" GROUP BY CASE WHEN "series_limit"."join_column_0" IS NOT NULL THEN "c_nation" ELSE 'Others' END ORDER BY "SUM(lo_revenue)" DESC
LIMIT 1000

-- name: a whole number as time
SELECT date_trunc('month', CAST(date_parse(CAST(lo_orderdate AS varchar), '%Y%m%d') AS TIMESTAMP)) AS "ordered", sum("lo_revenue") AS "SUM(lo_revenue)"
FROM "ssb"."lineorder"
GROUP BY date_trunc('month', CAST(date_parse(CAST(lo_orderdate AS varchar), '%Y%m%d') AS TIMESTAMP))
ORDER BY "SUM(lo_revenue)" DESC
LIMIT 10000

-- name: median and percentiles of a metric
SELECT "lo_shipmode" AS "lo_shipmode", approx_percentile("lo_quantity", 0.5) AS "median", approx_percentile("lo_revenue", 0.95) AS "p95"
FROM (
SELECT lo_revenue, lo_quantity, lo_discount, lo_shipmode, lo_orderpriority, c_region, c_nation, c_city, p_category, p_brand1, d_year, d_month, d_yearmonthnum
FROM lineorder
JOIN dates ON lo_orderdate = d_datekey
JOIN customer ON lo_custkey = c_custkey
JOIN part ON lo_partkey = p_partkey
) AS "virtual_table"
GROUP BY "lo_shipmode"
ORDER BY "median" DESC
LIMIT 100

-- name: a cohort with dates of its own
SELECT date_trunc('month', CAST("first_day" AS TIMESTAMP)) AS "first_day", count(*) AS "count"
FROM (SELECT e_user, min(e_day) AS first_day
FROM ssb.events
GROUP BY e_user
) AS "virtual_table"
GROUP BY date_trunc('month', CAST("first_day" AS TIMESTAMP))
ORDER BY "count" DESC
LIMIT 10000

-- name: a calculated column
SELECT CASE WHEN e_amount > 10000 THEN 'large' WHEN e_amount > 1000 THEN 'middle' ELSE 'small' END AS "size", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_amount" IS NOT NULL
GROUP BY CASE WHEN e_amount > 10000 THEN 'large' WHEN e_amount > 1000 THEN 'middle' ELSE 'small' END
ORDER BY "count" DESC
LIMIT 100

-- name: a query of SQL Lab with windows
SELECT c_nation, d_year, revenue, rank() OVER (PARTITION BY d_year ORDER BY revenue DESC) AS place
FROM (
  SELECT c_nation, d_year, sum(lo_revenue) AS revenue
  FROM lineorder JOIN customer ON lo_custkey = c_custkey JOIN dates ON lo_orderdate = d_datekey
  GROUP BY c_nation, d_year
) t
ORDER BY d_year, place
LIMIT 1001

-- name: partitions of a table
SELECT *
FROM ssb."lineorder$partitions"

LIMIT 1

-- name: columns of a table
SELECT
    "column_name",
    "data_type",
    "column_default",
    UPPER("is_nullable") AS "is_nullable"
FROM "information_schema"."columns"
WHERE "table_schema" = 'ssb'
    AND "table_name" = 'events'
ORDER BY "ordinal_position" ASC

-- name: what a query would cost
EXPLAIN (TYPE IO, FORMAT JSON) SELECT c_region, count(*) FROM customer GROUP BY c_region
