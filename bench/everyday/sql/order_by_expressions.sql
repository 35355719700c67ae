-- ORDER BY an expression, with LIMIT.

SELECT flight_id, dep_delay, arr_delay
FROM fl.flights
WHERE origin = '{origin}' AND day = DATE'{day}'
ORDER BY arr_delay - dep_delay DESC, flight_id
LIMIT 10

SELECT carrier, count(*) AS n FROM fl.flights WHERE dest = '{dest}' GROUP BY carrier ORDER BY count(*) DESC, carrier LIMIT 5

SELECT request_id, path, latency_ms
FROM log.requests
WHERE service = '{service}'
ORDER BY abs(latency_ms - {ms}), request_id
LIMIT {top}

SELECT lo_orderkey, lo_linenumber, lo_extendedprice
FROM ssb.lineorder
WHERE lo_discount = {discount}
ORDER BY lo_extendedprice * lo_discount DESC, lo_orderkey, lo_linenumber
LIMIT 10

SELECT flight_id, tailnum, distance
FROM fl.flights
WHERE carrier = '{carrier}'
ORDER BY distance / nullif(air_time, 0) DESC NULLS LAST, flight_id
LIMIT 20

SELECT host, sum(bytes) AS total
FROM log.requests
WHERE level = '{level}'
GROUP BY host
ORDER BY sum(bytes) / count(*) DESC, host
LIMIT {top}

SELECT c_custkey, c_name FROM ssb.customer WHERE c_nation = '{nation}' ORDER BY length(c_address) DESC, c_custkey LIMIT 15

SELECT dest, avg(dep_delay) AS delay
FROM fl.flights
WHERE origin = '{origin}'
GROUP BY dest
ORDER BY round(avg(dep_delay)) DESC, dest
LIMIT 10

SELECT flight_id, departs
FROM fl.flights
WHERE day BETWEEN DATE'{day}' AND DATE'{later}' AND dest = '{dest}'
ORDER BY abs(datediff(day, DATE'{day}')) DESC, flight_id
LIMIT {top}

SELECT request_id, email
FROM log.requests
WHERE email IS NOT NULL AND country = '{country}'
ORDER BY lower(email), request_id
LIMIT 25

SELECT service, count(*) AS n
FROM log.requests
GROUP BY service
ORDER BY CASE WHEN service = '{service}' THEN 0 ELSE 1 END, service
LIMIT 10

SELECT flight_id, carrier, dep_delay
FROM fl.flights
WHERE tailnum = '{tail}'
ORDER BY coalesce(dep_delay, 0) DESC, flight_id
LIMIT 10

SELECT p_brand1, sum(lo_revenue) AS revenue
FROM ssb.lineorder JOIN ssb.part ON lo_partkey = p_partkey
WHERE p_category = '{category}'
GROUP BY p_brand1
ORDER BY sum(lo_revenue) - sum(lo_supplycost) DESC, p_brand1
LIMIT {top}

SELECT request_id, ts, bytes
FROM log.requests
WHERE status = {status}
ORDER BY bytes % 1000 DESC, request_id
LIMIT {top}

SELECT flight_id, flight FROM fl.flights WHERE day = DATE'{day}' ORDER BY flight % 100, flight, flight_id DESC LIMIT 30

SELECT d_year, sum(lo_revenue) AS revenue
FROM ssb.lineorder, ssb.dates
WHERE lo_orderdate = d_datekey AND lo_shipmode = '{mode}'
GROUP BY d_year
ORDER BY -d_year
LIMIT 3

SELECT request_id, message
FROM log.requests
WHERE host = '{host}'
ORDER BY length(message) DESC, upper(level), request_id
LIMIT 10

SELECT carrier, origin, max(arr_delay) AS worst
FROM fl.flights
WHERE dest LIKE '{letter}%'
GROUP BY carrier, origin
ORDER BY concat(origin, carrier)
LIMIT {top}

SELECT s_suppkey, s_name, s_city
FROM ssb.supplier
WHERE s_region = '{region}'
ORDER BY substring(s_city, 10, 1), s_nation DESC, s_suppkey
LIMIT 20 OFFSET 5

SELECT request_id, price, bytes
FROM log.requests
WHERE price IS NOT NULL AND service = '{service}'
ORDER BY price * bytes DESC, request_id
LIMIT 12
