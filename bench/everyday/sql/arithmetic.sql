-- Rounding, signs, roots and powers; division, whole division and remainders over columns.

SELECT flight_id, round(air_time / 60, 2) AS hours FROM fl.flights WHERE tailnum = '{tail}'

SELECT round(distance, -2) AS miles, count(*) AS flights
FROM fl.flights
WHERE origin = '{origin}'
GROUP BY round(distance, -2)
ORDER BY miles

SELECT carrier, sum(abs(arr_delay - dep_delay)) AS drift
FROM fl.flights
WHERE day BETWEEN DATE'{day}' AND DATE'{later}'
GROUP BY carrier

SELECT floor(dep_delay / 15) * 15 AS bucket, count(*) AS n
FROM fl.flights
WHERE dep_delay IS NOT NULL AND carrier = '{carrier}'
GROUP BY floor(dep_delay / 15) * 15
ORDER BY bucket

SELECT ceil(latency_ms / 100) AS hundred_ms, count(*) AS requests
FROM log.requests
WHERE service = '{service}'
GROUP BY 1
ORDER BY 1

SELECT sign(arr_delay) AS side, count(*) AS n FROM fl.flights WHERE dest = '{dest}' GROUP BY sign(arr_delay)

SELECT sqrt(sum(power(latency_ms, 2)) / count(latency_ms)) AS rms
FROM log.requests
WHERE level = '{level}' AND latency_ms IS NOT NULL

SELECT request_id, round(price * 1.19, 2) AS gross
FROM log.requests
WHERE price > {price} AND service = '{service}'
ORDER BY request_id
LIMIT 50

SELECT user_id % 16 AS shard, count(*) AS requests
FROM log.requests
WHERE user_id IS NOT NULL
  AND status >= {status}
GROUP BY user_id % 16

SELECT lo_orderdate div 10000 AS year, sum(lo_revenue) AS revenue
FROM ssb.lineorder
WHERE lo_discount BETWEEN {discount} AND {discount} + 2
GROUP BY lo_orderdate div 10000

SELECT lo_orderkey, lo_linenumber, lo_revenue / lo_quantity AS unit_price
FROM ssb.lineorder
WHERE lo_custkey = {key} AND lo_quantity > {quantity}

SELECT d_year, d_monthnuminyear % 3 AS in_quarter, sum(lo_revenue) AS revenue
FROM ssb.lineorder JOIN ssb.dates ON lo_orderdate = d_datekey
WHERE d_year >= {year}
GROUP BY d_year, d_monthnuminyear % 3

SELECT min(distance / air_time) AS slowest, max(distance / air_time) AS fastest
FROM fl.flights
WHERE air_time > 0 AND origin = '{origin}' AND dest <> '{dest}'

SELECT count(*) AS far_off FROM fl.flights WHERE abs(arr_delay) > {minutes} AND day = DATE'{day}'

SELECT c_region, sum(floor(lo_revenue / 1000)) AS thousands
FROM ssb.lineorder, ssb.customer
WHERE lo_custkey = c_custkey AND c_mktsegment = '{segment}'
GROUP BY c_region

SELECT bytes div 1024 AS kib, count(*) AS n
FROM log.requests
WHERE status = {status} AND bytes < 65536
GROUP BY bytes div 1024
ORDER BY n DESC, kib
LIMIT 20

SELECT service, sum(bytes) / 1024 / 1024 AS mib FROM log.requests WHERE country = '{country}' GROUP BY service

SELECT flight % 2 = 0 AS even_number, count(*) AS n, avg(dep_delay) AS delay
FROM fl.flights
WHERE carrier IN ('{carrier}', 'UA')
GROUP BY flight % 2 = 0

SELECT round(geo.lat, 1) AS lat, round(geo.lon, 1) AS lon, count(*) AS hits
FROM log.requests
WHERE geo.city IS NOT NULL AND level = '{level}'
GROUP BY round(geo.lat, 1), round(geo.lon, 1)

SELECT lo_shipmode, sum(lo_extendedprice * lo_discount / 100) AS given, sum(round(lo_extendedprice * lo_tax / 100.0, 0)) AS tax
FROM ssb.lineorder
WHERE lo_quantity < {quantity}
GROUP BY lo_shipmode
