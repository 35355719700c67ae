-- Column lists on CTEs and derived tables.

WITH per_carrier (carrier, flights) AS (
  SELECT carrier, count(*) FROM fl.flights WHERE day >= DATE'{day}' GROUP BY carrier
)
SELECT carrier, flights FROM per_carrier ORDER BY flights DESC, carrier

SELECT t.c, t.n FROM (SELECT carrier, count(*) FROM fl.flights WHERE origin = '{origin}' GROUP BY carrier) AS t (c, n)

WITH late (id, minutes) AS (SELECT flight_id, dep_delay FROM fl.flights WHERE dep_delay > {minutes})
SELECT count(*) AS n, max(minutes) AS worst FROM late

SELECT host, requests
FROM (SELECT host, count(*) FROM log.requests WHERE level = '{level}' GROUP BY host) AS h (host, requests)
WHERE requests > 3
ORDER BY requests DESC, host
LIMIT {top}

WITH yearly (year, revenue) AS (
  SELECT d_year, sum(lo_revenue)
  FROM ssb.lineorder JOIN ssb.dates ON lo_orderdate = d_datekey
  WHERE lo_discount = {discount}
  GROUP BY d_year
)
SELECT max(revenue) AS best, min(revenue) AS worst FROM yearly

WITH a (name, n) AS (
  SELECT service, count(*) FROM log.requests WHERE country = '{country}' GROUP BY service
)
SELECT sum(n) AS total FROM a

SELECT x.day, x.flights
FROM (
  SELECT day, count(*) FROM fl.flights WHERE carrier = '{carrier}' GROUP BY day
) x (day, flights)
WHERE x.day BETWEEN DATE'{day}' AND DATE'{later}'
ORDER BY x.day

WITH names (code, airline) AS (SELECT carrier, name FROM fl.carriers)
SELECT airline, count(*) AS n
FROM fl.flights JOIN names ON carrier = code
WHERE dest = '{dest}'
GROUP BY airline

WITH big (k, city, nation) AS (
  SELECT c_custkey, c_city, c_nation FROM ssb.customer WHERE c_region = '{region}'
)
SELECT nation, sum(lo_revenue) AS revenue
FROM ssb.lineorder JOIN big ON lo_custkey = k
GROUP BY nation
ORDER BY nation

SELECT avg(t.total) AS per_user
FROM (SELECT user_id, sum(bytes) FROM log.requests WHERE service = '{service}' GROUP BY user_id) AS t (u, total)

WITH hops (plane, legs, miles) AS (
  SELECT tailnum, count(*), sum(distance)
  FROM fl.flights
  WHERE origin = '{origin}' AND NOT cancelled
  GROUP BY tailnum
)
SELECT plane, legs, miles FROM hops WHERE miles > {miles} ORDER BY miles DESC, plane LIMIT {top}

WITH errors (svc, at) AS (SELECT service, received FROM log.requests WHERE status >= 500)
SELECT svc, min(at) AS first_error, count(*) AS n FROM errors GROUP BY svc

SELECT p.mfgr, p.parts
FROM (SELECT p_mfgr, count(*) FROM ssb.part WHERE p_color = '{color}' GROUP BY p_mfgr) AS p (mfgr, parts)

WITH j (f, t) AS (
  SELECT origin, dest FROM fl.flights WHERE day = DATE'{day}'
), k (f, t, n) AS (
  SELECT f, t, count(*) FROM j GROUP BY f, t
)
SELECT f, max(n) AS busiest FROM k GROUP BY f

WITH daily (d, n, bytes) AS (
  SELECT day_text, count(*), sum(bytes) FROM log.requests GROUP BY day_text
)
SELECT d, n, bytes FROM daily WHERE d >= '{log_day}' ORDER BY d

SELECT s.label, count(*) AS n
FROM (
  SELECT flight_id, CASE WHEN arr_delay > {minutes} THEN 'late' ELSE 'in time' END
  FROM fl.flights
  WHERE carrier = '{carrier}'
) AS s (id, label)
GROUP BY s.label

WITH m (month, n) AS (SELECT month(day), count(*) FROM fl.flights WHERE dest = '{dest}' GROUP BY month(day))
SELECT month, n FROM m WHERE n > {few} ORDER BY month

WITH lines (order_no, pieces) AS (
  SELECT lo_orderkey, sum(lo_quantity) FROM ssb.lineorder WHERE lo_shipmode = '{mode}' GROUP BY lo_orderkey
)
SELECT pieces, count(*) AS orders FROM lines GROUP BY pieces ORDER BY pieces DESC LIMIT {top}

SELECT r.id, r.`who`, r.ms
FROM (SELECT request_id, email, latency_ms FROM log.requests WHERE host = '{host}' AND level = 'ERROR') AS r (id, `who`, ms)
ORDER BY r.id

WITH total (all_flights) AS (SELECT count(*) FROM fl.flights WHERE origin = '{origin}')
SELECT all_flights, all_flights * 2 AS twice FROM total
