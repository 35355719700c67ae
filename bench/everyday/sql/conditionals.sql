-- nullif, ifnull, nvl, coalesce, greatest, least and if.

SELECT coalesce(country, 'unknown') AS country, count(*) AS requests
FROM log.requests
WHERE status >= {status}
GROUP BY coalesce(country, 'unknown')

SELECT carrier, sum(if(dep_delay > {minutes}, 1, 0)) AS late, count(*) AS flights
FROM fl.flights
GROUP BY carrier
ORDER BY carrier

SELECT ifnull(geo.city, '(none)') AS city, count(*) AS n FROM log.requests GROUP BY 1 ORDER BY n DESC, city LIMIT {top}

SELECT avg(greatest(dep_delay, 0)) AS delay FROM fl.flights WHERE origin = '{origin}' AND day > DATE'{day}'

SELECT least(lo_quantity, 10) AS up_to_ten, count(*) AS lines
FROM ssb.lineorder
WHERE lo_discount = {discount}
GROUP BY least(lo_quantity, 10)

SELECT nullif(level, 'INFO') AS level, count(*) AS n
FROM log.requests
WHERE service = '{service}'
GROUP BY nullif(level, 'INFO')

SELECT flight_id, nvl(arr_delay, 0) AS arr_delay, nvl(dep_delay, 0) AS dep_delay
FROM fl.flights
WHERE flight_id BETWEEN {id} AND {id} + 25

SELECT if(distance > {miles}, 'long', 'short') AS haul, avg(air_time) AS air_time
FROM fl.flights
WHERE NOT cancelled
GROUP BY if(distance > {miles}, 'long', 'short')

SELECT sum(coalesce(price, 0)) AS revenue, count(price) AS paid, count(*) AS all_requests
FROM log.requests
WHERE ts >= TIMESTAMP'{moment}'

SELECT request_id, coalesce(email, concat('user-', user_id), 'anonymous') AS who
FROM log.requests
WHERE host = '{host}' AND level = 'ERROR'
ORDER BY request_id

SELECT d_year, sum(if(c_region = '{region}', lo_revenue, 0)) AS here, sum(if(c_region = '{region}', 0, lo_revenue)) AS elsewhere
FROM ssb.lineorder
JOIN ssb.customer ON lo_custkey = c_custkey
JOIN ssb.dates ON lo_orderdate = d_datekey
GROUP BY d_year
ORDER BY d_year

SELECT max(greatest(arr_delay, dep_delay)) AS worst, min(least(arr_delay, dep_delay)) AS best
FROM fl.flights
WHERE dest = '{dest}'

SELECT count(nullif(lo_discount, 0)) AS discounted, count(*) AS lines
FROM ssb.lineorder
WHERE lo_shipmode = '{mode}'

SELECT if(ok, 'good', 'bad') AS outcome, count(DISTINCT user_id) AS users
FROM log.requests
WHERE service IN ('{service}', 'login')
GROUP BY if(ok, 'good', 'bad')

SELECT count(*) AS n FROM fl.flights WHERE coalesce(arr_delay, dep_delay, -1) < {delay} AND carrier = '{carrier}'

SELECT ifnull(email, '') = '' AS no_mail, count(*) AS n
FROM log.requests
WHERE country = '{country}'
GROUP BY ifnull(email, '') = ''

SELECT origin,
       count(if(cancelled, flight_id, NULL)) AS cancelled,
       count(if(cancelled, NULL, flight_id)) AS flown
FROM fl.flights
WHERE day >= DATE'{day}' AND day <= DATE'{later}'
GROUP BY origin

SELECT lo_orderkey, lo_linenumber, greatest(lo_orderdate, lo_commitdate) AS last_date, least(lo_tax, lo_discount) AS rate
FROM ssb.lineorder
WHERE lo_suppkey = {few} AND lo_quantity = {quantity}

SELECT service, avg(nvl(latency_ms, 0.0)) AS latency
FROM log.requests
WHERE nvl(country, 'XX') <> '{country}'
GROUP BY service

SELECT if(status >= 500, 'server', if(status >= 400, 'client', 'fine')) AS class, count(*) AS n, sum(bytes) AS bytes
FROM log.requests
WHERE host LIKE 'web-00%' AND bytes > {bytes}
GROUP BY if(status >= 500, 'server', if(status >= 400, 'client', 'fine'))
