-- Superset's nineteen time grains over a date, a timestamp and a timestamp with time zone, in six kinds of chart.

-- name: second of a date, as a line
SELECT date_trunc('second', CAST("e_day" AS TIMESTAMP)) AS "e_day", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-01-01' AND "e_day" < DATE '2026-01-01'
GROUP BY date_trunc('second', CAST("e_day" AS TIMESTAMP))
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: five seconds of a date, as series
SELECT date_trunc('second', CAST("e_day" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_day" AS TIMESTAMP)) % 5) AS "e_day", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-01-01' AND "e_day" < DATE '2026-03-01' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('second', CAST("e_day" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_day" AS TIMESTAMP)) % 5), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: thirty seconds of a date, as the top three series
SELECT date_trunc('second', CAST("e_day" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_day" AS TIMESTAMP)) % 30) AS "e_day", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-07-01' AND "e_day" < DATE '2025-10-01' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_day" >= DATE '2025-07-01' AND "e_day" < DATE '2025-10-01' GROUP BY date_trunc('second', CAST("e_day" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_day" AS TIMESTAMP)) % 30), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: minute of a date, over a virtual dataset
SELECT date_trunc('minute', CAST("e_day" AS TIMESTAMP)) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_day, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_day" >= DATE '2024-02-01' AND "e_day" < DATE '2024-05-01' AND "e_kind" != 'view'
GROUP BY date_trunc('minute', CAST("e_day" AS TIMESTAMP))
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: five minutes of a date, with a metric of one's own
SELECT date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 5) AS "e_day", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2024-01-01' AND "e_day" < DATE '2025-01-01' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 5)
HAVING ((count(*) > 1))
ORDER BY date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 5) ASC
LIMIT 5000

-- name: ten minutes of a date, as numbers
SELECT date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 10) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-05-01' AND "e_day" < DATE '2026-06-01' AND "e_done" = true
GROUP BY date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 10)
LIMIT 50000

-- name: fifteen minutes of a date, as a line
SELECT date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 15) AS "e_day", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-01-01' AND "e_day" < DATE '2026-01-01'
GROUP BY date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 15)
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: half hour of a date, as series
SELECT date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 30) AS "e_day", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-01-01' AND "e_day" < DATE '2026-03-01' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('minute', CAST("e_day" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_day" AS TIMESTAMP)) % 30), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: hour of a date, as the top three series
SELECT date_trunc('hour', CAST("e_day" AS TIMESTAMP)) AS "e_day", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-07-01' AND "e_day" < DATE '2025-10-01' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_day" >= DATE '2025-07-01' AND "e_day" < DATE '2025-10-01' GROUP BY date_trunc('hour', CAST("e_day" AS TIMESTAMP)), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: six hours of a date, over a virtual dataset
SELECT date_trunc('hour', CAST("e_day" AS TIMESTAMP)) - interval '1' hour * (hour(CAST("e_day" AS TIMESTAMP)) % 6) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_day, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_day" >= DATE '2024-02-01' AND "e_day" < DATE '2024-05-01' AND "e_kind" != 'view'
GROUP BY date_trunc('hour', CAST("e_day" AS TIMESTAMP)) - interval '1' hour * (hour(CAST("e_day" AS TIMESTAMP)) % 6)
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: day of a date, with a metric of one's own
SELECT date_trunc('day', CAST("e_day" AS TIMESTAMP)) AS "e_day", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2024-01-01' AND "e_day" < DATE '2025-01-01' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('day', CAST("e_day" AS TIMESTAMP))
HAVING ((count(*) > 1))
ORDER BY date_trunc('day', CAST("e_day" AS TIMESTAMP)) ASC
LIMIT 5000

-- name: week of a date, as numbers
SELECT date_trunc('week', CAST("e_day" AS TIMESTAMP)) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-05-01' AND "e_day" < DATE '2026-06-01' AND "e_done" = true
GROUP BY date_trunc('week', CAST("e_day" AS TIMESTAMP))
LIMIT 50000

-- name: month of a date, as a line
SELECT date_trunc('month', CAST("e_day" AS TIMESTAMP)) AS "e_day", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-01-01' AND "e_day" < DATE '2026-01-01'
GROUP BY date_trunc('month', CAST("e_day" AS TIMESTAMP))
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: quarter of a date, as series
SELECT date_trunc('quarter', CAST("e_day" AS TIMESTAMP)) AS "e_day", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-01-01' AND "e_day" < DATE '2026-03-01' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('quarter', CAST("e_day" AS TIMESTAMP)), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: year of a date, as the top three series
SELECT date_trunc('year', CAST("e_day" AS TIMESTAMP)) AS "e_day", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-07-01' AND "e_day" < DATE '2025-10-01' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_day" >= DATE '2025-07-01' AND "e_day" < DATE '2025-10-01' GROUP BY date_trunc('year', CAST("e_day" AS TIMESTAMP)), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: week from Sunday of a date, over a virtual dataset
SELECT date_trunc('week', CAST("e_day" AS TIMESTAMP) + interval '1' day) - interval '1' day AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_day, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_day" >= DATE '2024-02-01' AND "e_day" < DATE '2024-05-01' AND "e_kind" != 'view'
GROUP BY date_trunc('week', CAST("e_day" AS TIMESTAMP) + interval '1' day) - interval '1' day
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: week from Monday of a date, as series
SELECT date_trunc('week', CAST("e_day" AS TIMESTAMP)) AS "e_day", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-01-01' AND "e_day" < DATE '2026-03-01' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('week', CAST("e_day" AS TIMESTAMP)), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: week to Saturday of a date, as numbers
SELECT date_trunc('week', CAST("e_day" AS TIMESTAMP) + interval '1' day) + interval '5' day AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2026-05-01' AND "e_day" < DATE '2026-06-01' AND "e_done" = true
GROUP BY date_trunc('week', CAST("e_day" AS TIMESTAMP) + interval '1' day) + interval '5' day
LIMIT 50000

-- name: week to Sunday of a date, as a line
SELECT date_trunc('week', CAST("e_day" AS TIMESTAMP)) + interval '6' day AS "e_day", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_day" >= DATE '2025-01-01' AND "e_day" < DATE '2026-01-01'
GROUP BY date_trunc('week', CAST("e_day" AS TIMESTAMP)) + interval '6' day
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: second of a timestamp, as the top three series
SELECT date_trunc('second', CAST("e_at" AS TIMESTAMP)) AS "e_at", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY date_trunc('second', CAST("e_at" AS TIMESTAMP)), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: five seconds of a timestamp, over a virtual dataset
SELECT date_trunc('second', CAST("e_at" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_at" AS TIMESTAMP)) % 5) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_at, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_at" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('second', CAST("e_at" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_at" AS TIMESTAMP)) % 5)
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: thirty seconds of a timestamp, with a metric of one's own
SELECT date_trunc('second', CAST("e_at" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_at" AS TIMESTAMP)) % 30) AS "e_at", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('second', CAST("e_at" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_at" AS TIMESTAMP)) % 30)
HAVING ((count(*) > 1))
ORDER BY date_trunc('second', CAST("e_at" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_at" AS TIMESTAMP)) % 30) ASC
LIMIT 5000

-- name: minute of a timestamp, as numbers
SELECT date_trunc('minute', CAST("e_at" AS TIMESTAMP)) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('minute', CAST("e_at" AS TIMESTAMP))
LIMIT 50000

-- name: five minutes of a timestamp, as a line
SELECT date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 5) AS "e_at", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-01-01 00:00:00.000000'
GROUP BY date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 5)
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: ten minutes of a timestamp, as series
SELECT date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 10) AS "e_at", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-03-01 00:00:00.000000' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 10), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: fifteen minutes of a timestamp, as the top three series
SELECT date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 15) AS "e_at", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 15), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: half hour of a timestamp, over a virtual dataset
SELECT date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 30) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_at, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_at" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('minute', CAST("e_at" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_at" AS TIMESTAMP)) % 30)
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: hour of a timestamp, with a metric of one's own
SELECT date_trunc('hour', CAST("e_at" AS TIMESTAMP)) AS "e_at", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('hour', CAST("e_at" AS TIMESTAMP))
HAVING ((count(*) > 1))
ORDER BY date_trunc('hour', CAST("e_at" AS TIMESTAMP)) ASC
LIMIT 5000

-- name: six hours of a timestamp, as numbers
SELECT date_trunc('hour', CAST("e_at" AS TIMESTAMP)) - interval '1' hour * (hour(CAST("e_at" AS TIMESTAMP)) % 6) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('hour', CAST("e_at" AS TIMESTAMP)) - interval '1' hour * (hour(CAST("e_at" AS TIMESTAMP)) % 6)
LIMIT 50000

-- name: day of a timestamp, as a line
SELECT date_trunc('day', CAST("e_at" AS TIMESTAMP)) AS "e_at", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-01-01 00:00:00.000000'
GROUP BY date_trunc('day', CAST("e_at" AS TIMESTAMP))
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: week of a timestamp, as series
SELECT date_trunc('week', CAST("e_at" AS TIMESTAMP)) AS "e_at", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-03-01 00:00:00.000000' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('week', CAST("e_at" AS TIMESTAMP)), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: month of a timestamp, as the top three series
SELECT date_trunc('month', CAST("e_at" AS TIMESTAMP)) AS "e_at", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY date_trunc('month', CAST("e_at" AS TIMESTAMP)), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: quarter of a timestamp, over a virtual dataset
SELECT date_trunc('quarter', CAST("e_at" AS TIMESTAMP)) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_at, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_at" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('quarter', CAST("e_at" AS TIMESTAMP))
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: year of a timestamp, with a metric of one's own
SELECT date_trunc('year', CAST("e_at" AS TIMESTAMP)) AS "e_at", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('year', CAST("e_at" AS TIMESTAMP))
HAVING ((count(*) > 1))
ORDER BY date_trunc('year', CAST("e_at" AS TIMESTAMP)) ASC
LIMIT 5000

-- name: week from Sunday of a timestamp, as numbers
SELECT date_trunc('week', CAST("e_at" AS TIMESTAMP) + interval '1' day) - interval '1' day AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('week', CAST("e_at" AS TIMESTAMP) + interval '1' day) - interval '1' day
LIMIT 50000

-- name: week from Monday of a timestamp, over a virtual dataset
SELECT date_trunc('week', CAST("e_at" AS TIMESTAMP)) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_at, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_at" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('week', CAST("e_at" AS TIMESTAMP))
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: week to Saturday of a timestamp, as series
SELECT date_trunc('week', CAST("e_at" AS TIMESTAMP) + interval '1' day) + interval '5' day AS "e_at", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2026-03-01 00:00:00.000000' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('week', CAST("e_at" AS TIMESTAMP) + interval '1' day) + interval '5' day, "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: week to Sunday of a timestamp, as the top three series
SELECT date_trunc('week', CAST("e_at" AS TIMESTAMP)) + interval '6' day AS "e_at", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_at" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_at" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY date_trunc('week', CAST("e_at" AS TIMESTAMP)) + interval '6' day, "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: second of a timestamp with time zone, with a metric of one's own
SELECT date_trunc('second', CAST("e_seen" AS TIMESTAMP)) AS "e_seen", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('second', CAST("e_seen" AS TIMESTAMP))
HAVING ((count(*) > 1))
ORDER BY date_trunc('second', CAST("e_seen" AS TIMESTAMP)) ASC
LIMIT 5000

-- name: five seconds of a timestamp with time zone, as numbers
SELECT date_trunc('second', CAST("e_seen" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_seen" AS TIMESTAMP)) % 5) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('second', CAST("e_seen" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_seen" AS TIMESTAMP)) % 5)
LIMIT 50000

-- name: thirty seconds of a timestamp with time zone, as a line
SELECT date_trunc('second', CAST("e_seen" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_seen" AS TIMESTAMP)) % 30) AS "e_seen", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2025-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-01-01 00:00:00.000000'
GROUP BY date_trunc('second', CAST("e_seen" AS TIMESTAMP)) - interval '1' second * (second(CAST("e_seen" AS TIMESTAMP)) % 30)
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: minute of a timestamp with time zone, as series
SELECT date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) AS "e_seen", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-03-01 00:00:00.000000' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('minute', CAST("e_seen" AS TIMESTAMP)), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: five minutes of a timestamp with time zone, as the top three series
SELECT date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 5) AS "e_seen", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_seen" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 5), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: ten minutes of a timestamp with time zone, over a virtual dataset
SELECT date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 10) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_seen, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_seen" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 10)
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: fifteen minutes of a timestamp with time zone, with a metric of one's own
SELECT date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 15) AS "e_seen", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 15)
HAVING ((count(*) > 1))
ORDER BY date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 15) ASC
LIMIT 5000

-- name: half hour of a timestamp with time zone, as numbers
SELECT date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 30) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('minute', CAST("e_seen" AS TIMESTAMP)) - interval '1' minute * (minute(CAST("e_seen" AS TIMESTAMP)) % 30)
LIMIT 50000

-- name: hour of a timestamp with time zone, as a line
SELECT date_trunc('hour', CAST("e_seen" AS TIMESTAMP)) AS "e_seen", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2025-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-01-01 00:00:00.000000'
GROUP BY date_trunc('hour', CAST("e_seen" AS TIMESTAMP))
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: six hours of a timestamp with time zone, as series
SELECT date_trunc('hour', CAST("e_seen" AS TIMESTAMP)) - interval '1' hour * (hour(CAST("e_seen" AS TIMESTAMP)) % 6) AS "e_seen", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-03-01 00:00:00.000000' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('hour', CAST("e_seen" AS TIMESTAMP)) - interval '1' hour * (hour(CAST("e_seen" AS TIMESTAMP)) % 6), "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: day of a timestamp with time zone, as the top three series
SELECT date_trunc('day', CAST("e_seen" AS TIMESTAMP)) AS "e_seen", "e_country" AS "e_country", sum("e_amount") AS "revenue"
FROM "ssb"."events" JOIN (SELECT "e_country" AS "e_country__", sum("e_amount") AS "mme_inner__"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY "e_country" ORDER BY "mme_inner__" DESC
LIMIT 3) AS "anon_1" ON "e_country" = "e_country__"
WHERE "e_seen" >= TIMESTAMP '2025-07-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-10-01 00:00:00.000000' GROUP BY date_trunc('day', CAST("e_seen" AS TIMESTAMP)), "e_country" ORDER BY "revenue" DESC
LIMIT 10000

-- name: week of a timestamp with time zone, over a virtual dataset
SELECT date_trunc('week', CAST("e_seen" AS TIMESTAMP)) AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_seen, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_seen" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('week', CAST("e_seen" AS TIMESTAMP))
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: month of a timestamp with time zone, with a metric of one's own
SELECT date_trunc('month', CAST("e_seen" AS TIMESTAMP)) AS "e_seen", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('month', CAST("e_seen" AS TIMESTAMP))
HAVING ((count(*) > 1))
ORDER BY date_trunc('month', CAST("e_seen" AS TIMESTAMP)) ASC
LIMIT 5000

-- name: quarter of a timestamp with time zone, as numbers
SELECT date_trunc('quarter', CAST("e_seen" AS TIMESTAMP)) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('quarter', CAST("e_seen" AS TIMESTAMP))
LIMIT 50000

-- name: year of a timestamp with time zone, as a line
SELECT date_trunc('year', CAST("e_seen" AS TIMESTAMP)) AS "e_seen", sum("e_amount") AS "SUM(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2025-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-01-01 00:00:00.000000'
GROUP BY date_trunc('year', CAST("e_seen" AS TIMESTAMP))
ORDER BY "SUM(e_amount)" DESC
LIMIT 10000

-- name: week from Sunday of a timestamp with time zone, as series
SELECT date_trunc('week', CAST("e_seen" AS TIMESTAMP) + interval '1' day) - interval '1' day AS "e_seen", "e_kind" AS "e_kind", count(*) AS "count"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-03-01 00:00:00.000000' AND "e_country" IN ('DE', 'FR', 'US')
GROUP BY date_trunc('week', CAST("e_seen" AS TIMESTAMP) + interval '1' day) - interval '1' day, "e_kind"
ORDER BY "count" DESC
LIMIT 50000

-- name: week from Monday of a timestamp with time zone, as numbers
SELECT date_trunc('week', CAST("e_seen" AS TIMESTAMP)) AS "__timestamp", min("e_score") AS "MIN(e_score)", max("e_score") AS "MAX(e_score)", count("e_amount") AS "COUNT(e_amount)"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2026-05-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2026-06-01 00:00:00.000000' AND "e_done" = true
GROUP BY date_trunc('week', CAST("e_seen" AS TIMESTAMP))
LIMIT 50000

-- name: week to Saturday of a timestamp with time zone, over a virtual dataset
SELECT date_trunc('week', CAST("e_seen" AS TIMESTAMP) + interval '1' day) + interval '5' day AS "__timestamp", count(DISTINCT "e_user") AS "COUNT_DISTINCT(e_user)", avg("e_score") AS "AVG(e_score)"
FROM (SELECT e_seen, e_user, e_score, e_kind
FROM ssb.events
WHERE e_done
) AS "virtual_table"
WHERE "e_seen" >= TIMESTAMP '2024-02-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2024-05-01 00:00:00.000000' AND "e_kind" != 'view'
GROUP BY date_trunc('week', CAST("e_seen" AS TIMESTAMP) + interval '1' day) + interval '5' day
ORDER BY "COUNT_DISTINCT(e_user)" DESC
LIMIT 1000

-- name: week to Sunday of a timestamp with time zone, with a metric of one's own
SELECT date_trunc('week', CAST("e_seen" AS TIMESTAMP)) + interval '6' day AS "e_seen", sum(CASE WHEN e_kind = 'buy' THEN 1 ELSE 0 END) * 100.0 / count(*) AS "conversion"
FROM "ssb"."events"
WHERE "e_seen" >= TIMESTAMP '2024-01-01 00:00:00.000000' AND "e_seen" < TIMESTAMP '2025-01-01 00:00:00.000000' AND ((e_country IS NOT NULL))
GROUP BY date_trunc('week', CAST("e_seen" AS TIMESTAMP)) + interval '6' day
HAVING ((count(*) > 1))
ORDER BY date_trunc('week', CAST("e_seen" AS TIMESTAMP)) + interval '6' day ASC
LIMIT 5000
