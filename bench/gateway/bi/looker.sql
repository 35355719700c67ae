-- Statements of Looker's dialect for Trino: timeframes, relative dates, measures, pivots, derived tables.

-- name: date of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m-%d')) AS "events.at_date",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: month of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m')) AS "events.at_month",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: year of a timestamp
SELECT
    (YEAR(events.e_at )) AS "events.at_year",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: quarter of a timestamp
SELECT
    (DATE_FORMAT(CAST(DATE_TRUNC('QUARTER', events.e_at ) AS TIMESTAMP), '%Y-%m')) AS "events.at_quarter",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: week of a timestamp
SELECT
    (DATE_FORMAT(DATE_TRUNC('DAY', DATE_ADD('day', (0 - MOD((DAY_OF_WEEK(events.e_at) % 7) - 1 + 7, 7)), events.e_at)), '%Y-%m-%d')) AS "events.at_week",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: time of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m-%d %T')) AS "events.at_time",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: hour of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m-%d %H')) AS "events.at_hour",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: minute of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m-%d %H:%i')) AS "events.at_minute",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: hour_of_day of a timestamp
SELECT
    (HOUR(events.e_at )) AS "events.at_hour_of_day",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: day_of_month of a timestamp
SELECT
    (DAY(events.e_at )) AS "events.at_day_of_month",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: day_of_week of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%W')) AS "events.at_day_of_week",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: day_of_week_index of a timestamp
SELECT
    (MOD((DAY_OF_WEEK(events.e_at ) % 7) - 1 + 7, 7)) AS "events.at_day_of_week_index",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: day_of_year of a timestamp
SELECT
    (DAY_OF_YEAR(events.e_at )) AS "events.at_day_of_year",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: month_name of a timestamp
SELECT
    (DATE_FORMAT(events.e_at , '%M')) AS "events.at_month_name",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: month_num of a timestamp
SELECT
    (MONTH(events.e_at )) AS "events.at_month_num",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: week_of_year of a timestamp
SELECT
    (WEEK(events.e_at )) AS "events.at_week_of_year",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((TIMESTAMP '2026-01-01')) AND ( events.e_at ) < ((DATE_ADD('month', 3, TIMESTAMP '2026-01-01')))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: quarter_of_year of a timestamp
SELECT
    (CONCAT('Q', CAST(QUARTER(events.e_at ) AS VARCHAR))) AS "events.at_quarter_of_year",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: date of a date
SELECT
    (DATE_FORMAT(events.e_day , '%Y-%m-%d')) AS "events.day_date",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE events.e_kind = 'buy'
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: month of a date
SELECT
    (DATE_FORMAT(events.e_day , '%Y-%m')) AS "events.day_month",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE events.e_kind = 'buy'
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: year of a date
SELECT
    (YEAR(events.e_day )) AS "events.day_year",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE events.e_kind = 'buy'
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: week of a date
SELECT
    (DATE_FORMAT(DATE_TRUNC('DAY', DATE_ADD('day', (0 - MOD((DAY_OF_WEEK(events.e_day) % 7) - 1 + 7, 7)), events.e_day)), '%Y-%m-%d')) AS "events.day_week",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE events.e_kind = 'buy'
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: quarter of a date
SELECT
    (DATE_FORMAT(DATE_TRUNC('QUARTER', events.e_day ), '%Y-%m')) AS "events.day_quarter",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE events.e_kind = 'buy'
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: date of a zoned timestamp in the query's zone
SELECT
    (DATE_FORMAT((events.e_seen AT TIME ZONE 'America/New_York') , '%Y-%m-%d')) AS "events.seen_date",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_seen ) >= (TIMESTAMP '2025-10-25 04:00:00 UTC') AND ( events.e_seen ) < (TIMESTAMP '2025-11-10 05:00:00 UTC')))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: hour of a zoned timestamp in the query's zone
SELECT
    (DATE_FORMAT((events.e_seen AT TIME ZONE 'America/New_York') , '%Y-%m-%d %H')) AS "events.seen_hour",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_seen ) >= (TIMESTAMP '2025-10-25 04:00:00 UTC') AND ( events.e_seen ) < (TIMESTAMP '2025-11-10 05:00:00 UTC')))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: week of a zoned timestamp in the query's zone
SELECT
    (DATE_FORMAT(DATE_TRUNC('DAY', DATE_ADD('day', (0 - MOD((DAY_OF_WEEK((events.e_seen AT TIME ZONE 'America/New_York')) % 7) - 1 + 7, 7)), (events.e_seen AT TIME ZONE 'America/New_York'))), '%Y-%m-%d')) AS "events.seen_week",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_seen ) >= (TIMESTAMP '2025-10-25 04:00:00 UTC') AND ( events.e_seen ) < (TIMESTAMP '2025-11-10 05:00:00 UTC')))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: month of a zoned timestamp in the query's zone
SELECT
    (DATE_FORMAT((events.e_seen AT TIME ZONE 'America/New_York') , '%Y-%m')) AS "events.seen_month",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_seen ) >= (TIMESTAMP '2025-10-25 04:00:00 UTC') AND ( events.e_seen ) < (TIMESTAMP '2025-11-10 05:00:00 UTC')))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: the last seven days
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m-%d')) AS "events.at_date",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((DATE_ADD('day', -6, CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)))) AND ( events.e_at ) < ((DATE_ADD('day', 7, DATE_ADD('day', -6, CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)))))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: twelve weeks before this one
SELECT
    (DATE_FORMAT(DATE_TRUNC('DAY', DATE_ADD('day', (0 - MOD((DAY_OF_WEEK(events.e_at) % 7) - 1 + 7, 7)), events.e_at)), '%Y-%m-%d')) AS "events.at_week",
    COUNT(DISTINCT events.e_user) AS "events.user_count"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((DATE_ADD('week', -12, DATE_TRUNC('DAY', DATE_ADD('day', (0 - MOD((DAY_OF_WEEK(CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)) % 7) - 1 + 7, 7)), CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)))))) AND ( events.e_at ) < ((DATE_ADD('week', 12, DATE_ADD('week', -12, DATE_TRUNC('DAY', DATE_ADD('day', (0 - MOD((DAY_OF_WEEK(CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)) % 7) - 1 + 7, 7)), CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)))))))))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: the last six months
SELECT
    (DATE_FORMAT(events.e_at , '%Y-%m')) AS "events.at_month",
    events.e_kind AS "events.kind",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((DATE_ADD('month', -5, DATE_TRUNC('MONTH', CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP))))) AND ( events.e_at ) < ((DATE_ADD('month', 6, DATE_ADD('month', -5, DATE_TRUNC('MONTH', CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP))))))))
GROUP BY
    1,
    2
ORDER BY
    1 DESC,
    3 DESC
LIMIT 500

-- name: this year to date
SELECT
    (DATE_FORMAT(CAST(DATE_TRUNC('QUARTER', events.e_at ) AS TIMESTAMP), '%Y-%m')) AS "events.at_quarter",
    COALESCE(SUM(events.e_amount), 0) AS "events.total_amount"
FROM ssb.events AS events
WHERE ((( events.e_at ) >= ((DATE_TRUNC('YEAR', CAST(CAST(DATE_TRUNC('DAY', NOW()) AS DATE) AS TIMESTAMP)))) AND ( events.e_at ) < (NOW())))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: before a date or after another
SELECT
    events.e_country AS "events.country",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE (( events.e_day ) < ((DATE(TIMESTAMP '2024-03-01'))) OR ( events.e_day ) >= ((DATE(TIMESTAMP '2026-10-01'))))
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: sum over a joined view
SELECT
    customer.c_region  AS "customer.region",
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: two dimensions and two measures
SELECT
    dates.d_year  AS "dates.year",
    customer.c_region  AS "customer.region",
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue",
    AVG(lineorder.lo_discount) AS "lineorder.average_discount"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
LEFT JOIN ssb.dates AS dates ON lineorder.lo_orderdate = dates.d_datekey
GROUP BY
    1,
    2
ORDER BY
    1,
    3 DESC
LIMIT 500

-- name: distinct customers with a filter
SELECT
    part.p_mfgr  AS "part.mfgr",
    COUNT(DISTINCT customer.c_custkey) AS "customer.count"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
INNER JOIN ssb.part AS part ON lineorder.lo_partkey = part.p_partkey
WHERE (customer.c_region ) IN ('ASIA', 'AFRICA') AND (lineorder.lo_quantity ) > 10
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: a filter of a measure
SELECT
    customer.c_city  AS "customer.city",
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
GROUP BY
    1
HAVING COALESCE(SUM(lineorder.lo_revenue ), 0) > 100000000
ORDER BY
    2 DESC
LIMIT 500

-- name: a filter of a measure that isn't shown
SELECT
    customer.c_nation  AS "customer.nation",
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
GROUP BY
    1
HAVING COUNT(*) >= 100
ORDER BY
    2 DESC
LIMIT 500

-- name: a filtered measure
SELECT
    customer.c_nation  AS "customer.nation",
    COALESCE(SUM(CASE WHEN (lineorder.lo_shipmode = 'AIR') THEN lineorder.lo_revenue  ELSE NULL END), 0) AS "lineorder.air_revenue",
    COUNT(CASE WHEN (lineorder.lo_discount > 5) THEN 1 ELSE NULL END) AS "lineorder.discounted_lines"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: a ratio of measures
SELECT
    part.p_category  AS "part.category",
    1.0 * (COALESCE(SUM(lineorder.lo_revenue - lineorder.lo_supplycost), 0)) / NULLIF((COALESCE(SUM(lineorder.lo_revenue), 0)), 0) AS "lineorder.margin"
FROM ssb.lineorder AS lineorder
INNER JOIN ssb.part AS part ON lineorder.lo_partkey = part.p_partkey
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: yes or no as a dimension
SELECT
    CASE WHEN lineorder.lo_discount >= 5  THEN 'Yes' ELSE 'No' END AS "lineorder.is_discounted",
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue"
FROM ssb.lineorder AS lineorder
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: a yes or no filter
SELECT
    events.e_kind AS "events.kind",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE events.e_done
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: not a yes, NULL counted
SELECT
    events.e_kind AS "events.kind",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE (NOT COALESCE(events.e_done, FALSE))
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: tiers
SELECT
    CASE
WHEN lineorder.lo_quantity  < 10 THEN '0'
WHEN lineorder.lo_quantity  >= 10 AND lineorder.lo_quantity  < 25 THEN '1'
WHEN lineorder.lo_quantity  >= 25 THEN '2'
ELSE '3'
END AS "lineorder.tier__sort_",
    CASE
WHEN lineorder.lo_quantity  < 10 THEN 'Below 10'
WHEN lineorder.lo_quantity  >= 10 AND lineorder.lo_quantity  < 25 THEN '10 to 24'
WHEN lineorder.lo_quantity  >= 25 THEN '25 or Above'
ELSE 'Undefined'
END AS "lineorder.tier",
    COUNT(*) AS "lineorder.count"
FROM ssb.lineorder AS lineorder
GROUP BY
    1,
    2
ORDER BY
    1
LIMIT 500

-- name: texts that contain, start and don't contain
SELECT
    part.p_name  AS "part.name",
    COUNT(*) AS "lineorder.count"
FROM ssb.lineorder AS lineorder
INNER JOIN ssb.part AS part ON lineorder.lo_partkey = part.p_partkey
WHERE ((part.p_name ) LIKE '%papaya%' ESCAPE '^' OR (part.p_name ) LIKE 'lace%' ESCAPE '^') AND ((part.p_name ) NOT LIKE '%^_%' ESCAPE '^' OR (part.p_name ) IS NULL)
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: texts whatever their case
SELECT
    customer.c_city  AS "customer.city",
    COUNT(*) AS "customer.count"
FROM ssb.customer AS customer
WHERE UPPER(customer.c_city ) LIKE UPPER('united%') ESCAPE '^'
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: not one of some
SELECT
    events.e_country AS "events.country",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE ((events.e_country ) NOT IN ('DE', 'US') OR (events.e_country ) IS NULL)
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: is empty
SELECT
    events.e_kind AS "events.kind",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
WHERE (events.e_comment IS NULL OR LENGTH(events.e_comment ) = 0)
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: a pivot
SELECT * FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY least_rank) as row_place, RANK() OVER (PARTITION BY column_place ORDER BY least_rank) as place_in_column, CASE WHEN least_rank = cell_rank THEN 1 ELSE 0 END AS is_first_cell FROM (
SELECT *, MIN(cell_rank) OVER (PARTITION BY "customer.region") as least_rank FROM (
SELECT *, RANK() OVER (ORDER BY CASE WHEN column_place=1 THEN (CASE WHEN "lineorder.total_revenue" IS NOT NULL THEN 0 ELSE 1 END) ELSE 2 END, CASE WHEN column_place=1 THEN "lineorder.total_revenue" ELSE NULL END DESC, "lineorder.total_revenue" DESC, column_place, "customer.region") AS cell_rank FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY CASE WHEN "dates.year" IS NULL THEN 1 ELSE 0 END, "dates.year") AS column_place FROM (
SELECT
    dates.d_year  AS "dates.year",
    customer.c_region  AS "customer.region",
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
LEFT JOIN ssb.dates AS dates ON lineorder.lo_orderdate = dates.d_datekey
GROUP BY
    1,
    2
) cells
) placed WHERE column_place <= 16384
) ranked
) rowed
) pivoted
 WHERE (column_place <= 50 OR is_first_cell = 1) AND (row_place <= 500 OR place_in_column = 1) ORDER BY row_place

-- name: totals of an explore
SELECT
    COALESCE(SUM(lineorder.lo_revenue), 0) AS "lineorder.total_revenue",
    COUNT(DISTINCT lineorder.lo_custkey) AS "lineorder.customer_count"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
WHERE customer.c_region = 'EUROPE'
LIMIT 1

-- name: a derived table with a template's filter
WITH first_buy AS (SELECT
      e_user,
      MIN(e_at) AS first_at,
      SUM(e_amount) AS amount
    FROM ssb.events
    WHERE e_kind = 'buy' AND 1=1 -- no filter on 'first_buy.day'

    GROUP BY 1)
SELECT
    (DATE_FORMAT(first_buy.first_at , '%Y-%m')) AS "first_buy.first_month",
    COUNT(*) AS "first_buy.count",
    AVG(first_buy.amount ) AS "first_buy.average_amount"
FROM first_buy
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- name: durations between two columns
SELECT
    (DATE_DIFF('minute', events.e_at, CAST(events.e_seen AS TIMESTAMP))) AS "events.minutes_to_seen",
    COUNT(*) AS "events.count"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    1
LIMIT 500

-- name: days since a fixed day
SELECT
    AVG(DATE_DIFF('day', CAST((DATE_FORMAT(events.e_day , '%Y-%m-%d')) AS TIMESTAMP), TIMESTAMP '2026-12-31')) AS "events.average_age"
FROM ssb.events AS events
LIMIT 500

-- name: median and percentiles
SELECT
    events.e_kind AS "events.kind",
    APPROX_PERCENTILE(events.e_score, 0.5) AS "events.median_score",
    APPROX_PERCENTILE(events.e_score, 0.75) AS "events.p75_score"
FROM ssb.events AS events
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- name: suggestions for a filter
SELECT
    DISTINCT part.p_brand1  AS "part.brand"
FROM ssb.part AS part
WHERE UPPER(part.p_brand1 ) LIKE UPPER('%mfgr#12%') ESCAPE '^'
ORDER BY
    1
LIMIT 1000

-- name: a drill to rows
SELECT
    lineorder.lo_orderkey  AS "lineorder.orderkey",
    lineorder.lo_linenumber  AS "lineorder.linenumber",
    customer.c_name  AS "customer.name",
    lineorder.lo_revenue  AS "lineorder.revenue"
FROM ssb.lineorder AS lineorder
LEFT JOIN ssb.customer AS customer ON lineorder.lo_custkey = customer.c_custkey
WHERE (customer.c_nation ) = 'CHINA'
GROUP BY
    1,
    2,
    3,
    4
ORDER BY
    1
LIMIT 500
