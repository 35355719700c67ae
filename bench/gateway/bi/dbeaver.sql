-- Statements of DBeaver's grid, its panels and its navigator.

-- name: the rows of a table
SELECT x.* FROM lake.ssb.events x
LIMIT 200

-- name: rows sorted by a column
SELECT x.* FROM lake.ssb.events x
ORDER BY x.e_at DESC
LIMIT 200

-- name: the next rows
SELECT x.* FROM lake.ssb.customer x
ORDER BY x.c_custkey
OFFSET 200 LIMIT 200

-- name: rows with a filter of the grid
SELECT x.* FROM lake.ssb.lineorder x
WHERE lo_shipmode = 'AIR' AND lo_quantity > 40
ORDER BY x.lo_revenue DESC
LIMIT 200

-- name: rows with a filter of texts
SELECT x.* FROM lake.ssb.events x
WHERE e_comment LIKE '%50\% off%' ESCAPE '\' OR e_comment IS NULL
LIMIT 200

-- name: rows of a day
SELECT x.* FROM lake.ssb.events x
WHERE e_day = DATE '2026-02-03'
LIMIT 200

-- name: how many rows a table has
SELECT COUNT(*) FROM lake.ssb.lineorder x

-- name: how many rows a query has
SELECT COUNT(*) FROM (
SELECT e_user, SUM(e_amount) FROM ssb.events GROUP BY e_user
) dbvrcnt

-- name: the grouping panel
SELECT e_kind, COUNT(*)
FROM lake.ssb.events
GROUP BY e_kind
ORDER BY COUNT(*) DESC

-- name: the grouping panel over a query
SELECT src.c_region, COUNT(*)
FROM (SELECT * FROM ssb.customer WHERE c_mktsegment = 'BUILDING') src
GROUP BY src.c_region

-- name: the calculator of a column
SELECT COUNT(*), COUNT(DISTINCT e_user), SUM(e_amount), AVG(e_amount), MIN(e_amount), MAX(e_amount) FROM lake.ssb.events

-- name: values of a column for a filter
SELECT DISTINCT c_mktsegment FROM lake.ssb.customer WHERE c_mktsegment IS NOT NULL ORDER BY c_mktsegment LIMIT 200

-- name: a description beside a key
SELECT c_custkey, c_name FROM lake.ssb.customer WHERE c_custkey IN (1, 2, 3)

-- name: statistics of a table
SHOW STATS FOR lake.ssb.lineorder

-- name: how a query would run
EXPLAIN SELECT c_region, SUM(lo_revenue) FROM ssb.lineorder JOIN ssb.customer ON lo_custkey = c_custkey GROUP BY c_region
