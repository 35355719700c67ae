-- Statements of Lightdash over dbt's models.

-- name: day of a date
SELECT
  DATE_TRUNC('DAY', "events".e_day) AS "events_e_day_day",
  SUM("events".e_amount) AS "events_total_amount"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_e_day_day" DESC
LIMIT 500

-- name: week of a date
SELECT
  DATE_TRUNC('WEEK', "events".e_day) AS "events_e_day_week",
  SUM("events".e_amount) AS "events_total_amount"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_e_day_week" DESC
LIMIT 500

-- name: month of a date
SELECT
  DATE_TRUNC('MONTH', "events".e_day) AS "events_e_day_month",
  SUM("events".e_amount) AS "events_total_amount"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_e_day_month" DESC
LIMIT 500

-- name: quarter of a date
SELECT
  DATE_TRUNC('QUARTER', "events".e_day) AS "events_e_day_quarter",
  SUM("events".e_amount) AS "events_total_amount"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_e_day_quarter" DESC
LIMIT 500

-- name: year of a date
SELECT
  DATE_TRUNC('YEAR', "events".e_day) AS "events_e_day_year",
  SUM("events".e_amount) AS "events_total_amount"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_e_day_year" DESC
LIMIT 500

-- name: hours of a timestamp with a filter
SELECT
  DATE_TRUNC('HOUR', "events".e_at) AS "events_e_at_hour",
  COUNT(DISTINCT "events".e_user) AS "events_unique_users"
FROM "lake"."ssb"."events" AS "events"

WHERE ((
  (DATE_TRUNC('DAY', "events".e_at)) >= CAST('2026-01-10 00:00:00' AS timestamp) AND (DATE_TRUNC('DAY', "events".e_at)) <= CAST('2026-01-12 00:00:00' AS timestamp)
))
GROUP BY 1
ORDER BY "events_e_at_hour" DESC
LIMIT 500

-- name: days of a zoned timestamp in the project's zone
SELECT
  DATE_TRUNC('DAY', CAST(CAST("events".e_seen AS timestamp with time zone) AT TIME ZONE 'America/New_York' AS timestamp)) AS "events_e_seen_day",
  COUNT("events".e_id) AS "events_count"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_e_seen_day" DESC
LIMIT 500

-- name: name of the weekday
SELECT
  DATE_FORMAT("events".e_at, '%W') AS "events_e_at_day_of_week_name",
  AVG("events".e_score) AS "events_average_score",
  APPROX_PERCENTILE("events".e_score,0.5) AS "events_median_score"
FROM "lake"."ssb"."events" AS "events"


GROUP BY 1
ORDER BY "events_average_score" DESC
LIMIT 500

-- name: a joined table with filters
SELECT
  "customer".c_region AS "customer_c_region",
  "lineorder".lo_shipmode AS "lineorder_lo_shipmode",
  SUM("lineorder".lo_revenue) AS "lineorder_total_revenue"
FROM "lake"."ssb"."lineorder" AS "lineorder"
LEFT OUTER JOIN "lake"."ssb"."customer" AS "customer"
  ON ("lineorder".lo_custkey) = ("customer".c_custkey)

WHERE ((
  ("customer".c_region) IN ('ASIA','EUROPE')
) AND (
  ("lineorder".lo_quantity) > (25)
))
GROUP BY 1,2
ORDER BY "lineorder_total_revenue" DESC
LIMIT 500

-- name: a table calculation over metrics
WITH metrics AS (
SELECT
  "dates".d_year AS "dates_d_year",
  SUM("lineorder".lo_revenue) AS "lineorder_total_revenue"
FROM "lake"."ssb"."lineorder" AS "lineorder"
LEFT OUTER JOIN "lake"."ssb"."dates" AS "dates"
  ON ("lineorder".lo_orderdate) = ("dates".d_datekey)


GROUP BY 1
)
SELECT
  *,
  "lineorder_total_revenue" / SUM("lineorder_total_revenue") OVER () AS "share"
FROM metrics
ORDER BY "dates_d_year"
LIMIT 500

-- name: columns of a table
SELECT table_catalog, table_schema, table_name, column_name, data_type
FROM lake.information_schema.columns
WHERE table_catalog = 'lake'
  AND table_schema = 'ssb'
  AND table_name = 'events'
ORDER BY 1, 2, 3, ordinal_position

-- name: all tables
SELECT table_catalog, table_schema, table_name
FROM information_schema.tables
WHERE table_type = 'BASE TABLE'
  AND table_catalog = 'lake'
  AND table_schema NOT IN ('information_schema', 'pg_catalog')
ORDER BY 1, 2, 3
