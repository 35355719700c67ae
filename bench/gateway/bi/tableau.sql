-- Statements of Tableau with a live connection: axes, parts of dates, filters, calculations, levels of detail.

-- name: month axis of a date
SELECT SUM("events"."e_amount") AS "sum:e_amount:ok",
  date_add('day', CAST(1 - EXTRACT(DAY FROM "events"."e_day") AS INTEGER), "events"."e_day") AS "tmn:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 2

-- name: year axis of a date
SELECT SUM("events"."e_amount") AS "sum:e_amount:ok",
  date_add('day', CAST(1 - EXTRACT(DOY FROM "events"."e_day") AS INTEGER), "events"."e_day") AS "tyr:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 2

-- name: week axis of a date
SELECT COUNT(1) AS "cnt:events:ok",
  date_add('day', CAST(-(EXTRACT(DOW FROM "events"."e_day") % 7) AS INTEGER), "events"."e_day") AS "twk:e_day:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_day" >= DATE '2025-01-01') AND ("events"."e_day" <= DATE '2025-12-31'))
GROUP BY 2

-- name: quarter axis of a date
SELECT AVG("events"."e_score") AS "avg:e_score:ok",
  date_add('month', CAST(-((EXTRACT(MONTH FROM "events"."e_day") - 1) % 3) AS INTEGER), date_add('day', CAST(1 - EXTRACT(DAY FROM "events"."e_day") AS INTEGER), "events"."e_day")) AS "tqr:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 2

-- name: day axis of a date
SELECT "events"."e_day" AS "tdy:e_day:ok",
  SUM(1) AS "sum:Number of Records:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_day" >= DATE '2026-01-01') AND ("events"."e_day" < DATE '2026-07-01'))
GROUP BY 1

-- name: month axis of a timestamp
SELECT SUM("events"."e_amount") AS "sum:e_amount:ok",
  date_add('day', CAST(1 - EXTRACT(DAY FROM "events"."e_at") AS INTEGER), date_trunc('day', "events"."e_at")) AS "tmn:e_at:ok"
FROM "ssb"."events" "events"
GROUP BY 2

-- name: year axis of a timestamp
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('YEAR', "events"."e_at") AS "tyr:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: quarter axis of a timestamp
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('QUARTER', "events"."e_at") AS "tqr:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: month axis of a timestamp by date_trunc
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('MONTH', "events"."e_at") AS "tmn:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: week axis of a timestamp
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('WEEK', "events"."e_at") AS "twk:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: day axis of a timestamp
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('DAY', "events"."e_at") AS "tdy:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: hour axis of a timestamp
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('HOUR', "events"."e_at") AS "thr:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: minute axis of a timestamp
SELECT "events"."e_kind" AS "e_kind",
  COUNT(DISTINCT "events"."e_user") AS "ctd:e_user:ok",
  DATE_TRUNC('MINUTE', "events"."e_at") AS "tmi:e_at:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_at" >= TIMESTAMP '2025-03-01 00:00:00.000') AND ("events"."e_at" <= TIMESTAMP '2025-05-31 23:59:59.999'))
GROUP BY 1,
  3

-- name: month axis of a zoned timestamp
SELECT SUM("events"."e_amount") AS "sum:e_amount:ok",
  DATE_TRUNC('MONTH', CAST("events"."e_seen" AS TIMESTAMP)) AS "tmn:e_seen:ok"
FROM "ssb"."events" "events"
GROUP BY 2

-- name: day axis of a zoned timestamp
SELECT COUNT(1) AS "cnt:events:ok",
  CAST("events"."e_seen" AS DATE) AS "tdy:e_seen:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_seen" >= TIMESTAMP '2026-02-01 00:00:00.000') AND ("events"."e_seen" <= TIMESTAMP '2026-02-28 23:59:59.999'))
GROUP BY 2

-- name: year as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(EXTRACT(YEAR FROM "events"."e_day") AS INTEGER) AS "yr:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: quarter as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(EXTRACT(QUARTER FROM "events"."e_day") AS INTEGER) AS "qr:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: month as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(EXTRACT(MONTH FROM "events"."e_day") AS INTEGER) AS "mn:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: week number as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(EXTRACT(WEEK FROM "events"."e_day") AS INTEGER) AS "wk:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: weekday as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(((EXTRACT(DOW FROM "events"."e_day") % 7) + 1) AS INTEGER) AS "wd:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: day of the month as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(EXTRACT(DAY FROM "events"."e_day") AS INTEGER) AS "dy:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: hour as a discrete part
SELECT "events"."e_country" AS "e_country",
  SUM("events"."e_amount") AS "sum:e_amount:ok",
  CAST(EXTRACT(HOUR FROM "events"."e_at") AS INTEGER) AS "hr:e_at:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  3

-- name: name of the weekday and of the month
SELECT DATE_FORMAT("events"."e_at", '%W') AS "Calculation_1",
  DATE_FORMAT("events"."e_at", '%M') AS "Calculation_2",
  COUNT(1) AS "cnt:events:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  2

-- name: one measure without a dimension
SELECT SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok"
FROM "ssb"."lineorder" "lineorder"
HAVING (COUNT(1) > 0)

-- name: many measures without a dimension
SELECT AVG(CAST("lineorder"."lo_quantity" AS DOUBLE)) AS "avg:lo_quantity:ok",
  MAX("lineorder"."lo_revenue") AS "max:lo_revenue:ok",
  MIN("lineorder"."lo_revenue") AS "min:lo_revenue:ok",
  STDDEV("lineorder"."lo_quantity") AS "std:lo_quantity:ok",
  SUM(1) AS "sum:Number of Records:ok"
FROM "ssb"."lineorder" "lineorder"
HAVING (COUNT(1) > 0)

-- name: bars by region
SELECT "customer"."c_region" AS "c_region",
  SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
GROUP BY 1

-- name: crosstab of region and year
SELECT "customer"."c_region" AS "c_region",
  "dates"."d_year" AS "d_year",
  SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok",
  SUM("lineorder"."lo_supplycost") AS "sum:lo_supplycost:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
  INNER JOIN "ssb"."dates" "dates" ON ("lineorder"."lo_orderdate" = "dates"."d_datekey")
GROUP BY 1,
  2

-- name: all five tables
SELECT "customer"."c_nation" AS "c_nation",
  "dates"."d_year" AS "d_year",
  "part"."p_category" AS "p_category",
  "supplier"."s_nation" AS "s_nation",
  SUM(("lineorder"."lo_revenue" - "lineorder"."lo_supplycost")) AS "sum:Calculation_3:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
  INNER JOIN "ssb"."dates" "dates" ON ("lineorder"."lo_orderdate" = "dates"."d_datekey")
  INNER JOIN "ssb"."part" "part" ON ("lineorder"."lo_partkey" = "part"."p_partkey")
  INNER JOIN "ssb"."supplier" "supplier" ON ("lineorder"."lo_suppkey" = "supplier"."s_suppkey")
WHERE (("customer"."c_region" = 'AMERICA') AND ("supplier"."s_region" = 'AMERICA') AND ("part"."p_mfgr" IN ('MFGR#1', 'MFGR#2')))
GROUP BY 1,
  2,
  3,
  4

-- name: ratio of sums
SELECT "customer"."c_nation" AS "c_nation",
  (CASE WHEN SUM("lineorder"."lo_revenue") = 0 THEN NULL ELSE CAST(SUM(("lineorder"."lo_revenue" - "lineorder"."lo_supplycost")) AS DOUBLE) / SUM("lineorder"."lo_revenue") END) AS "usr:Calculation_4:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
GROUP BY 1

-- name: filter of an aggregate
SELECT "customer"."c_city" AS "c_city",
  SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
GROUP BY 1
HAVING ((SUM("lineorder"."lo_revenue") >= 100000000) AND (SUM("lineorder"."lo_revenue") <= 2000000000))

-- name: filter of an aggregate that isn't shown
SELECT "part"."p_brand1" AS "p_brand1",
  SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."part" "part" ON ("lineorder"."lo_partkey" = "part"."p_partkey")
GROUP BY 1
HAVING (AVG(CAST("lineorder"."lo_discount" AS DOUBLE)) > 5)

-- name: top ten by a joined query
SELECT "customer"."c_city" AS "c_city",
  SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
  INNER JOIN (
  SELECT "customer"."c_city" AS "c_city",
    SUM("lineorder"."lo_revenue") AS "$__alias__0"
  FROM "ssb"."lineorder" "lineorder"
    INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
  GROUP BY 1
  ORDER BY 2 DESC,
    1 ASC
  LIMIT 10
) "t0" ON ("customer"."c_city" = "t0"."c_city")
GROUP BY 1

-- name: level of detail fixed
SELECT "t0"."c_region" AS "c_region",
  AVG(CAST("t0"."$__alias__0" AS DOUBLE)) AS "avg:Calculation_5:ok"
FROM (
  SELECT "customer"."c_region" AS "c_region",
    "lineorder"."lo_custkey" AS "lo_custkey",
    SUM("lineorder"."lo_revenue") AS "$__alias__0"
  FROM "ssb"."lineorder" "lineorder"
    INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
  GROUP BY 1,
    2
) "t0"
GROUP BY 1

-- name: level of detail joined to rows
SELECT "events"."e_kind" AS "e_kind",
  SUM("t0"."$__alias__0") AS "sum:Calculation_6:ok"
FROM "ssb"."events" "events"
  LEFT JOIN (
  SELECT "events"."e_country" AS "e_country",
    MIN("events"."e_day") AS "$__alias__1",
    MAX("events"."e_amount") AS "$__alias__0"
  FROM "ssb"."events" "events"
  GROUP BY 1
) "t0" ON ("events"."e_country" IS NOT DISTINCT FROM "t0"."e_country")
GROUP BY 1

-- name: share of a total by two queries
SELECT "t0"."c_region" AS "c_region",
  "t0"."X" AS "sum:lo_revenue:ok",
  CAST("t0"."X" AS DOUBLE) / "t1"."Y" AS "pcto:sum:lo_revenue:ok"
FROM (
  SELECT "customer"."c_region" AS "c_region",
    SUM("lineorder"."lo_revenue") AS "X"
  FROM "ssb"."lineorder" "lineorder"
    INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
  GROUP BY 1
) "t0"
  CROSS JOIN (
  SELECT SUM("lineorder"."lo_revenue") AS "Y"
  FROM "ssb"."lineorder" "lineorder"
  HAVING (COUNT(1) > 0)
) "t1"

-- name: values of a quick filter
SELECT "customer"."c_nation" AS "c_nation"
FROM "ssb"."customer" "customer"
GROUP BY 1
ORDER BY "c_nation" ASC

-- name: range of a date filter
SELECT MIN("events"."e_day") AS "TEMP(TC_)(1)(0)",
  MAX("events"."e_day") AS "TEMP(TC_)(2)(0)"
FROM "ssb"."events" "events"
HAVING (COUNT(1) > 0)

-- name: years of a date filter
SELECT CAST(EXTRACT(YEAR FROM "events"."e_day") AS INTEGER) AS "yr:e_day:ok"
FROM "ssb"."events" "events"
GROUP BY 1
ORDER BY 1 ASC

-- name: rows are counted
SELECT COUNT(1) AS "cnt:TEMP(row count):qk"
FROM "ssb"."lineorder" "lineorder"
HAVING (COUNT(1) > 0)

-- name: relative date by months
SELECT "events"."e_kind" AS "e_kind",
  SUM("events"."e_amount") AS "sum:e_amount:ok"
FROM "ssb"."events" "events"
WHERE (("events"."e_day" >= CAST(DATE_TRUNC('MONTH', DATE_ADD('month', -5, CURRENT_DATE)) AS DATE)) AND ("events"."e_day" < CAST(DATE_TRUNC('MONTH', DATE_ADD('month', 1, CURRENT_DATE)) AS DATE)))
GROUP BY 1

-- name: wildcard filter
SELECT "part"."p_name" AS "p_name",
  SUM("lineorder"."lo_quantity") AS "sum:lo_quantity:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."part" "part" ON ("lineorder"."lo_partkey" = "part"."p_partkey")
WHERE (STRPOS(LOWER("part"."p_name"), LOWER('papaya')) > 0)
GROUP BY 1
LIMIT 1000

-- name: filter that starts with a text
SELECT "customer"."c_city" AS "c_city",
  COUNT(1) AS "cnt:customer:ok"
FROM "ssb"."customer" "customer"
WHERE (SUBSTR(LTRIM("customer"."c_city"), 1, LENGTH('UNITED')) = 'UNITED')
GROUP BY 1

-- name: everything but two values and NULL
SELECT "events"."e_country" AS "e_country",
  COUNT(1) AS "cnt:events:ok"
FROM "ssb"."events" "events"
WHERE ((NOT ("events"."e_country" IN ('DE', 'JP'))) OR ("events"."e_country" IS NULL))
GROUP BY 1

-- name: by parts of a date in a filter
SELECT "events"."e_kind" AS "e_kind",
  SUM("events"."e_amount") AS "sum:e_amount:ok"
FROM "ssb"."events" "events"
WHERE ((CAST(EXTRACT(YEAR FROM "events"."e_day") AS INTEGER) IN (2025, 2026)) AND (CAST(EXTRACT(MONTH FROM "events"."e_day") AS INTEGER) <= 6))
GROUP BY 1

-- name: IIF and groups of values
SELECT (CASE WHEN ("customer"."c_region" IN ('ASIA', 'MIDDLE EAST')) THEN 'East' WHEN (NOT ("customer"."c_region" IN ('ASIA', 'MIDDLE EAST'))) THEN 'West' ELSE NULL END) AS "Calculation_7",
  SUM("lineorder"."lo_revenue") AS "sum:lo_revenue:ok"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
GROUP BY 1

-- name: bins
SELECT CAST(FLOOR("lineorder"."lo_quantity" / 5.0) AS BIGINT) AS "lo_quantity (bin)",
  SUM(1) AS "cnt:lo_quantity:ok"
FROM "ssb"."lineorder" "lineorder"
GROUP BY 1

-- name: texts that are put together
SELECT (("customer"."c_nation" || ' / ') || UPPER(SUBSTR("customer"."c_city", 1, 3))) AS "Calculation_8",
  COUNT(DISTINCT "customer"."c_custkey") AS "ctd:c_custkey:ok"
FROM "ssb"."customer" "customer"
GROUP BY 1

-- name: a part of a text
SELECT SPLIT_PART("customer"."c_phone", '-', 1) AS "c_phone - Split 1",
  COUNT(1) AS "cnt:customer:ok"
FROM "ssb"."customer" "customer"
GROUP BY 1

-- name: a number as text and a text as number
SELECT CAST("dates"."d_yearmonthnum" AS VARCHAR) AS "Calculation_9",
  SUM(CAST(SUBSTR("dates"."d_yearmonth", 4) AS BIGINT)) AS "sum:Calculation_10:ok"
FROM "ssb"."dates" "dates"
GROUP BY 1

-- name: days between two dates
SELECT "events"."e_kind" AS "e_kind",
  AVG(CAST(DATE_DIFF('day', "events"."e_day", DATE '2026-12-31') AS DOUBLE)) AS "avg:Calculation_11:ok"
FROM "ssb"."events" "events"
GROUP BY 1

-- name: a date that is moved
SELECT DATE_ADD('month', 3, "events"."e_day") AS "Calculation_12",
  SUM("events"."e_amount") AS "sum:e_amount:ok"
FROM "ssb"."events" "events"
WHERE (DATE_ADD('month', 3, "events"."e_day") >= DATE '2026-01-01')
GROUP BY 1

-- name: ZN, ROUND and ABS
SELECT "events"."e_country" AS "e_country",
  SUM(COALESCE("events"."e_amount", 0)) AS "sum:Calculation_13:ok",
  AVG(ROUND(ABS("events"."e_score" - 50), 1)) AS "avg:Calculation_14:ok"
FROM "ssb"."events" "events"
GROUP BY 1

-- name: median and a percentile
SELECT "events"."e_kind" AS "e_kind",
  APPROX_PERCENTILE("events"."e_score", 0.5) AS "med:e_score:ok",
  APPROX_PERCENTILE("events"."e_score", 0.9) AS "p90:e_score:ok"
FROM "ssb"."events" "events"
GROUP BY 1

-- name: a boolean
SELECT "events"."e_done" AS "e_done",
  (CASE WHEN "events"."e_done" THEN 'yes' WHEN NOT "events"."e_done" THEN 'no' ELSE NULL END) AS "Calculation_15",
  COUNT(1) AS "cnt:events:ok"
FROM "ssb"."events" "events"
GROUP BY 1,
  2

-- name: columns of a custom query
SELECT *
FROM (
  select c_region, d_year, sum(lo_revenue) as revenue
  from lineorder join customer on lo_custkey = c_custkey join dates on lo_orderdate = d_datekey
  group by c_region, d_year
) "Custom SQL Query"
LIMIT 0

-- name: chart over a custom query
SELECT "Custom SQL Query"."c_region" AS "c_region",
  SUM("Custom SQL Query"."revenue") AS "sum:revenue:ok"
FROM (
  select c_region, d_year, sum(lo_revenue) as revenue
  from lineorder join customer on lo_custkey = c_custkey join dates on lo_orderdate = d_datekey
  group by c_region, d_year
) "Custom SQL Query"
WHERE ("Custom SQL Query"."d_year" = 1995)
GROUP BY 1

-- name: view of the data under a mark
SELECT "lineorder"."lo_orderkey" AS "lo_orderkey",
  "lineorder"."lo_linenumber" AS "lo_linenumber",
  "lineorder"."lo_revenue" AS "lo_revenue",
  "customer"."c_name" AS "c_name"
FROM "ssb"."lineorder" "lineorder"
  INNER JOIN "ssb"."customer" "customer" ON ("lineorder"."lo_custkey" = "customer"."c_custkey")
WHERE ("customer"."c_nation" = 'CHINA')
LIMIT 10001

-- name: the first rows of a table
SELECT "part".*
FROM "ssb"."part" "part"
LIMIT 10000
