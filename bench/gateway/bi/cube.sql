-- Statements of Cube's driver for Trino, whose zones are added hours and minutes.

-- name: day of a timestamp, zone UTC
SELECT
  date_trunc('day', CAST(date_add('minute', timezone_minute("events".e_at AT TIME ZONE 'UTC'), date_add('hour', timezone_hour("events".e_at AT TIME ZONE 'UTC'), "events".e_at)) AS TIMESTAMP)) "events__e_at_day", count(*) "events__count"
FROM ssb.events AS "events"
WHERE ("events".e_at >= from_iso8601_timestamp('2025-01-01T00:00:00.000Z') AND "events".e_at <= from_iso8601_timestamp('2025-12-31T23:59:59.999Z'))
GROUP BY 1
ORDER BY 1 ASC
LIMIT 10000

-- name: month of a timestamp, zone Europe/Berlin
SELECT
  date_trunc('month', CAST(date_add('minute', timezone_minute("events".e_at AT TIME ZONE 'Europe/Berlin'), date_add('hour', timezone_hour("events".e_at AT TIME ZONE 'Europe/Berlin'), "events".e_at)) AS TIMESTAMP)) "events__e_at_month", count(*) "events__count"
FROM ssb.events AS "events"
WHERE ("events".e_at >= from_iso8601_timestamp('2025-01-01T00:00:00.000Z') AND "events".e_at <= from_iso8601_timestamp('2025-12-31T23:59:59.999Z'))
GROUP BY 1
ORDER BY 1 ASC
LIMIT 10000

-- name: hour of a zoned timestamp, zone Europe/Berlin
SELECT
  date_trunc('hour', CAST(date_add('minute', timezone_minute("events".e_seen AT TIME ZONE 'Europe/Berlin'), date_add('hour', timezone_hour("events".e_seen AT TIME ZONE 'Europe/Berlin'), "events".e_seen)) AS TIMESTAMP)) "events__e_seen_hour", count(*) "events__count"
FROM ssb.events AS "events"
WHERE ("events".e_seen >= from_iso8601_timestamp('2026-03-28T00:00:00.000Z') AND "events".e_seen <= from_iso8601_timestamp('2026-03-30T23:59:59.999Z'))
GROUP BY 1
ORDER BY 1 ASC
LIMIT 10000

-- name: week of a zoned timestamp, zone America/New_York
SELECT
  date_trunc('week', CAST(date_add('minute', timezone_minute("events".e_seen AT TIME ZONE 'America/New_York'), date_add('hour', timezone_hour("events".e_seen AT TIME ZONE 'America/New_York'), "events".e_seen)) AS TIMESTAMP)) "events__e_seen_week", count(*) "events__count"
FROM ssb.events AS "events"
WHERE ("events".e_seen >= from_iso8601_timestamp('2025-01-01T00:00:00.000Z') AND "events".e_seen <= from_iso8601_timestamp('2025-12-31T23:59:59.999Z'))
GROUP BY 1
ORDER BY 1 ASC
LIMIT 10000

-- name: a measure by a joined dimension
SELECT
  "customer".c_region "customer__region", sum("lineorder".lo_revenue) "lineorder__revenue", count(distinct "lineorder".lo_custkey) "lineorder__customers"
FROM ssb.lineorder AS "lineorder"
LEFT JOIN ssb.customer AS "customer" ON "lineorder".lo_custkey = "customer".c_custkey
GROUP BY 1
ORDER BY 2 DESC
LIMIT 10000

-- name: a text that contains, by a parameter
EXECUTE IMMEDIATE 'SELECT
  "customer".c_city "customer__city", count(*) "customer__count"
FROM ssb.customer AS "customer"
WHERE (LOWER("customer".c_city) LIKE CONCAT(''%'', LOWER(?) , ''%'') ESCAPE ''\'')
GROUP BY 1
ORDER BY 2 DESC
LIMIT 10000' USING 'united'

-- name: a rolling window over a series of days
SELECT q_0."day", "events__rolling" FROM (
SELECT "series".d "day", sum("daily".n) "events__rolling"
FROM (SELECT d FROM UNNEST(SEQUENCE(CAST(from_iso8601_timestamp('2026-01-01T00:00:00.000') AS TIMESTAMP), CAST(from_iso8601_timestamp('2026-01-31T00:00:00.000') AS TIMESTAMP), INTERVAL '1' day)) AS dates(d)) AS "series"
LEFT JOIN (SELECT date_trunc('day', e_at) t, count(*) n FROM ssb.events GROUP BY 1) AS "daily" ON "daily".t > date_add('day', -7, "series".d) AND "daily".t <= "series".d
GROUP BY 1
) as q_0 ORDER BY 1 ASC LIMIT 10000

-- name: an approximate count and a filter of a measure
SELECT
  "events".e_kind "events__kind", approx_distinct("events".e_user) "events__users"
FROM ssb.events AS "events"
GROUP BY 1
HAVING (sum("events".e_amount) > CAST(1000 AS DOUBLE))
ORDER BY 2 DESC
LIMIT 10000
