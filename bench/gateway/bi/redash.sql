-- Statements that analysts write for dashboards in Redash.

-- name: a line of revenue by month
/* Username: ann@shop.test, query_id: 100, Queue: queries, Job ID: 5b0c100, Query Hash: 9f100, Scheduled: False */ SELECT date_trunc('month', date_parse(CAST(lo_orderdate AS varchar), '%Y%m%d')) AS month,
       round(sum(lo_revenue) / 1e6, 2) AS millions
FROM lineorder
GROUP BY 1
ORDER BY 1

-- name: a table with if and shares
/* Username: ann@shop.test, query_id: 101, Queue: queries, Job ID: 5b0c101, Query Hash: 9f101, Scheduled: False */ SELECT c_region,
       count(if(lo_discount > 5, 1)) AS discounted,
       sum(if(lo_shipmode = 'AIR', lo_revenue, 0)) AS by_air,
       round(100.0 * count(if(lo_discount > 5, 1)) / count(*), 1) AS percent
FROM lineorder JOIN customer ON lo_custkey = c_custkey
GROUP BY c_region
ORDER BY percent DESC

-- name: values as texts
/* Username: ann@shop.test, query_id: 102, Queue: queries, Job ID: 5b0c102, Query Hash: 9f102, Scheduled: False */ SELECT CAST(e_id AS varchar) AS id, CAST(e_day AS varchar) AS day, CAST(e_at AS varchar(16)) AS at, CAST(e_amount AS varchar) AS amount, CAST(e_done AS varchar) AS done, CAST(e_user AS varchar(4)) AS user_number
FROM events
WHERE e_kind = 'buy'
ORDER BY e_id
LIMIT 100

-- name: a label that is put together
/* Username: ann@shop.test, query_id: 103, Queue: queries, Job ID: 5b0c103, Query Hash: 9f103, Scheduled: False */ SELECT format('%s (%s)', c_nation, c_region) AS label, count(*) AS customers
FROM customer
GROUP BY c_nation, c_region
ORDER BY customers DESC
LIMIT 20

-- name: types of some expressions
/* Username: ann@shop.test, query_id: 104, Queue: queries, Job ID: 5b0c104, Query Hash: 9f104, Scheduled: False */ SELECT typeof(e_day) AS day, typeof(e_at) AS at, typeof(e_seen) AS seen, typeof(e_amount) AS amount, typeof(e_score * 2) AS score
FROM events
LIMIT 1

-- name: two summaries joined by USING
/* Username: ann@shop.test, query_id: 105, Queue: queries, Job ID: 5b0c105, Query Hash: 9f105, Scheduled: False */ SELECT nation, revenue, customers
FROM (SELECT c_nation AS nation, sum(lo_revenue) AS revenue FROM lineorder JOIN customer ON lo_custkey = c_custkey GROUP BY 1)
JOIN (SELECT c_nation AS nation, count(*) AS customers FROM customer GROUP BY 1) USING (nation)
ORDER BY revenue DESC

-- name: two summaries joined by two names
/* Username: ann@shop.test, query_id: 106, Queue: queries, Job ID: 5b0c106, Query Hash: 9f106, Scheduled: False */ SELECT region, nation, customers, suppliers
FROM (SELECT c_region AS region, c_nation AS nation, count(*) AS customers FROM customer GROUP BY 1, 2) AS bought
FULL JOIN (SELECT s_region AS region, s_nation AS nation, count(*) AS suppliers FROM supplier GROUP BY 1, 2) AS sold USING (region, nation)
ORDER BY region, nation

-- name: a funnel
/* Username: ann@shop.test, query_id: 107, Queue: queries, Job ID: 5b0c107, Query Hash: 9f107, Scheduled: False */ SELECT count(DISTINCT e_user) FILTER (WHERE e_kind = 'view') AS viewed,
       count(DISTINCT e_user) FILTER (WHERE e_kind = 'cart') AS put_into_the_cart,
       count(DISTINCT e_user) FILTER (WHERE e_kind = 'buy') AS bought
FROM events
WHERE e_day BETWEEN date '2026-01-01' AND date '2026-01-31'

-- name: a week beside the week before
/* Username: ann@shop.test, query_id: 108, Queue: queries, Job ID: 5b0c108, Query Hash: 9f108, Scheduled: False */ WITH weekly AS (
  SELECT date_trunc('week', e_at) AS week, sum(e_amount) AS amount
  FROM events
  GROUP BY 1
)
SELECT week, amount, amount - lag(amount) OVER (ORDER BY week) AS difference
FROM weekly
ORDER BY week DESC
LIMIT 26

-- name: a total under the groups
/* Username: ann@shop.test, query_id: 109, Queue: queries, Job ID: 5b0c109, Query Hash: 9f109, Scheduled: False */ SELECT coalesce(c_region, 'all') AS region, sum(lo_revenue) AS revenue
FROM lineorder JOIN customer ON lo_custkey = c_custkey
GROUP BY ROLLUP (c_region)
ORDER BY revenue DESC

-- name: the newest event of each user
/* Username: ann@shop.test, query_id: 110, Queue: queries, Job ID: 5b0c110, Query Hash: 9f110, Scheduled: False */ SELECT e_user, max(e_at) AS last_at, max_by(e_kind, e_at) AS last_kind, min_by(e_country, e_at) AS first_country
FROM events
GROUP BY e_user
ORDER BY last_at DESC
LIMIT 50

-- name: days without an event
/* Username: ann@shop.test, query_id: 111, Queue: queries, Job ID: 5b0c111, Query Hash: 9f111, Scheduled: False */ SELECT c_date
FROM calendar LEFT JOIN events ON c_date = e_day
WHERE e_id IS NULL AND c_date >= date '1998-01-01'
ORDER BY c_date
LIMIT 31

-- name: parameters of a dashboard
/* Username: ann@shop.test, query_id: 112, Queue: queries, Job ID: 5b0c112, Query Hash: 9f112, Scheduled: False */ SELECT e_country, e_kind, count(*) AS n, sum(e_amount) AS amount
FROM events
WHERE e_at >= timestamp '2026-01-01 00:00' AND e_at < timestamp '2026-04-01 23:59' AND e_country IN ('DE','FR') AND e_kind LIKE 'b%'
GROUP BY 1, 2
ORDER BY 1, 2

-- name: customers in lists
/* Username: ann@shop.test, query_id: 113, Queue: queries, Job ID: 5b0c113, Query Hash: 9f113, Scheduled: False */ SELECT c_region, array_join(array_sort(array_agg(DISTINCT c_mktsegment)), ', ') AS segments, cardinality(array_agg(DISTINCT c_nation)) AS nations
FROM customer
GROUP BY c_region
ORDER BY c_region
