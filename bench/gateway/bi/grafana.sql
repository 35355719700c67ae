-- Statements of Grafana's data source for Trino: its macros for groups and filters of time, and variables.

-- name: a series by one minute
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/60)*60) AS time,
  count(*) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1
ORDER BY 1

-- name: a series by five minutes
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/300)*300) AS time,
  count(*) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1
ORDER BY 1

-- name: a series by an hour
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/3600)*3600) AS time,
  count(*) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1
ORDER BY 1

-- name: a series by a day
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/86400)*86400) AS time,
  count(*) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1
ORDER BY 1

-- name: a series by a week
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/604800)*604800) AS time,
  count(*) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1
ORDER BY 1

-- name: series of some kinds by an hour
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/3600)*3600) AS time,
  e_kind AS metric,
  avg(e_score) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1, 2
ORDER BY 1, 2

-- name: a series of a zoned timestamp
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_seen)/900)*900) AS time,
  max(e_score) AS value
FROM ssb.events
WHERE e_seen BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
GROUP BY 1
ORDER BY 1

-- name: a series by days of a date
SELECT
  e_day AS time,
  sum(e_amount) AS value
FROM ssb.events
WHERE e_day BETWEEN date '2026-01-01' AND date '2026-06-30'
GROUP BY e_day
ORDER BY e_day

-- name: a gauge
SELECT count_if(e_done) * 100.0 / count(*) AS done_percent
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'

-- name: a table of the newest
SELECT e_at, e_kind, e_country, e_amount
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00'
ORDER BY e_at DESC
LIMIT 100

-- name: values of a variable
SELECT DISTINCT e_country FROM ssb.events WHERE e_country IS NOT NULL ORDER BY 1

-- name: values of a variable by another
SELECT DISTINCT c_city FROM ssb.customer WHERE c_nation IN ('GERMANY','FRANCE') ORDER BY c_city

-- name: a variable of many values
SELECT
  date_trunc('hour', e_at) AS time,
  count(*) AS value
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-03-01 00:00:00' AND TIMESTAMP '2026-03-08 00:00:00' AND e_kind IN ('buy','refund')
GROUP BY 1
ORDER BY 1

-- name: seconds since 1970 in a filter
SELECT e_kind, count(*) AS n
FROM ssb.events
WHERE to_unixtime(e_at) BETWEEN 1767225600 AND 1769904000
GROUP BY e_kind

-- name: percentiles over time
SELECT
  FROM_UNIXTIME(FLOOR(TO_UNIXTIME(e_at)/86400)*86400) AS time,
  approx_percentile(e_score, 0.5) AS p50,
  approx_percentile(e_score, 0.99) AS p99
FROM ssb.events
WHERE e_at BETWEEN TIMESTAMP '2026-01-01 00:00:00' AND TIMESTAMP '2026-04-01 00:00:00'
GROUP BY 1
ORDER BY 1
