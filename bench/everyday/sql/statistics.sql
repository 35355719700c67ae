-- median, percentile, stddev, corr, min_by, max_by, collect_set and any_value.

SELECT carrier, median(dep_delay) AS delay FROM fl.flights WHERE day >= DATE'{day}' GROUP BY carrier

SELECT service, percentile(latency_ms, 0.95) AS p95, percentile(latency_ms, 0.99) AS p99
FROM log.requests
WHERE country = '{country}'
GROUP BY service

SELECT origin, avg(arr_delay) AS mean, stddev(arr_delay) AS spread
FROM fl.flights
WHERE carrier = '{carrier}'
GROUP BY origin

SELECT corr(dep_delay, arr_delay) AS r FROM fl.flights WHERE origin = '{origin}' AND day < DATE'{day}'

SELECT tailnum, max_by(dest, flight_id) AS last_seen
FROM fl.flights
WHERE carrier = '{carrier}' AND day <= DATE'{day}'
GROUP BY tailnum
ORDER BY tailnum
LIMIT {top}

SELECT host, min_by(message, request_id) AS first_message, max_by(level, request_id) AS last_level
FROM log.requests
WHERE service = '{service}'
GROUP BY host

SELECT carrier, size(collect_set(dest)) AS places FROM fl.flights WHERE origin = '{origin}' AND day = DATE'{day}' GROUP BY carrier

SELECT c_city, any_value(c_nation) AS nation, count(*) AS customers
FROM ssb.customer
WHERE c_region = '{region}'
GROUP BY c_city

SELECT median(lo_revenue) AS typical, max(lo_revenue) AS largest
FROM ssb.lineorder
WHERE lo_shipmode = '{mode}'

SELECT d_year, stddev(lo_quantity) AS quantity, variance(lo_discount) AS discount
FROM ssb.lineorder JOIN ssb.dates ON lo_orderdate = d_datekey
WHERE lo_orderpriority = '{priority}'
GROUP BY d_year

SELECT sort_array(collect_set(carrier)) AS carriers FROM fl.flights WHERE tailnum = '{tail}'

SELECT percentile(distance, 0.25) AS q1, percentile(distance, 0.5) AS q2, percentile(distance, 0.75) AS q3
FROM fl.flights
WHERE dest LIKE '{letter}%'

SELECT level, stddev_samp(latency_ms) AS spread, stddev_pop(latency_ms) AS of_all, count(*) AS n
FROM log.requests
WHERE host LIKE 'web-0{digit}%'
GROUP BY level

SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY dep_delay) AS p90
FROM fl.flights
WHERE carrier = '{carrier}' AND distance > {miles}

SELECT f.carrier, any_value(c.name) AS name, median(f.air_time) AS air_time
FROM fl.flights f JOIN fl.carriers c ON f.carrier = c.carrier
WHERE f.dest = '{dest}'
GROUP BY f.carrier

SELECT country, corr(bytes, latency_ms) AS r
FROM log.requests
WHERE status < {status}
GROUP BY country

SELECT p_brand1, max_by(p_name, p_partkey) AS newest, min(p_size) AS smallest
FROM ssb.part
WHERE p_category = '{category}'
GROUP BY p_brand1

SELECT median(datediff(day, DATE'2013-01-01')) AS middle FROM fl.flights WHERE tailnum IN ('{tail}', 'N17')

SELECT service, array_join(sort_array(collect_set(level)), ',') AS levels
FROM log.requests
WHERE status >= {status}
GROUP BY service
ORDER BY service

SELECT any_value(p_category) AS category, stddev(p_size) AS spread, median(p_size) AS size FROM ssb.part WHERE p_brand1 = '{brand}'
