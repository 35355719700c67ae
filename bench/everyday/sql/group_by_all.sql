-- GROUP BY ALL.

SELECT carrier, count(*) AS n FROM fl.flights WHERE day > DATE'{day}' GROUP BY ALL

SELECT origin, dest, sum(distance) AS miles FROM fl.flights WHERE carrier = '{carrier}' GROUP BY ALL

SELECT level, service, count(*) AS n, avg(latency_ms) AS latency
FROM log.requests
WHERE status >= {status}
GROUP BY ALL
ORDER BY n DESC, level, service

SELECT d_year, c_region, sum(lo_revenue) AS revenue
FROM ssb.lineorder
JOIN ssb.dates ON lo_orderdate = d_datekey
JOIN ssb.customer ON lo_custkey = c_custkey
WHERE c_mktsegment = '{segment}'
GROUP BY ALL

SELECT month(day) AS month, count(*) AS flights, max(dep_delay) AS worst
FROM fl.flights
WHERE origin = '{origin}'
GROUP BY ALL
ORDER BY month

SELECT count(*) AS n, sum(bytes) AS bytes FROM log.requests WHERE host = '{host}' GROUP BY ALL

SELECT carrier, cancelled, count(DISTINCT tailnum) AS planes
FROM fl.flights
WHERE dest = '{dest}'
GROUP BY ALL

SELECT lo_discount, lo_tax, sum(lo_extendedprice) AS price
FROM ssb.lineorder
WHERE lo_shipmode = '{mode}' AND lo_quantity > {quantity}
GROUP BY ALL
ORDER BY lo_discount, lo_tax

SELECT CASE WHEN distance < {miles} THEN 'near' ELSE 'far' END AS range, count(*) AS n
FROM fl.flights
GROUP BY ALL

SELECT country, count(*) AS n
FROM log.requests
WHERE level IN ('WARN', '{level}')
GROUP BY ALL
HAVING count(*) > 5

SELECT p_mfgr, p_category, count(*) AS parts, max(p_size) AS largest
FROM ssb.part
WHERE p_color = '{color}'
GROUP BY ALL

SELECT c.name, year(f.day) AS year, count(*) AS flights
FROM fl.flights f
JOIN fl.carriers c ON c.carrier = f.carrier
WHERE f.distance BETWEEN {miles} AND {miles} + 500
GROUP BY ALL

SELECT status, ok, min(received) AS earliest, max(received) AS latest
FROM log.requests
WHERE service = '{service}'
GROUP BY ALL

SELECT day, carrier, sum(CASE WHEN arr_delay > {minutes} THEN 1 ELSE 0 END) AS late
FROM fl.flights
WHERE day BETWEEN DATE'{day}' AND DATE'{later}'
GROUP BY ALL
ORDER BY day, carrier

SELECT s_nation, count(*) AS lines, sum(lo_supplycost) AS cost
FROM ssb.lineorder, ssb.supplier
WHERE lo_suppkey = s_suppkey AND s_region = '{region}'
GROUP BY ALL
ORDER BY cost DESC, s_nation

SELECT service AS `Service`, status AS `HTTP status`, count(*) AS `Requests`
FROM log.requests
WHERE day_text = '{log_day}'
GROUP BY ALL

SELECT carrier, dest, avg(air_time) AS air_time
FROM fl.flights
WHERE tailnum LIKE '{tail}%'
GROUP BY ALL

SELECT carrier, round(avg(arr_delay), 1) AS delay, count(*) AS n
FROM fl.flights
WHERE dest LIKE '{letter}%'
GROUP BY ALL
ORDER BY carrier

SELECT d_yearmonth, lo_orderpriority, sum(lo_quantity) AS pieces
FROM ssb.lineorder JOIN ssb.dates ON lo_orderdate = d_datekey
WHERE d_year = {year}
GROUP BY ALL

SELECT host, level, count(*) AS n
FROM log.requests
WHERE ts >= TIMESTAMP'{moment}'
GROUP BY ALL
ORDER BY ALL
LIMIT {top}
