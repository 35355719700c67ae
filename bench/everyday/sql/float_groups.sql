-- GROUP BY, DISTINCT and counts over floats and doubles.

SELECT dep_delay, count(*) AS n FROM fl.flights WHERE carrier = '{carrier}' GROUP BY dep_delay

SELECT DISTINCT sample_rate FROM log.requests WHERE service = '{service}'

SELECT sample_rate, count(*) AS n, sum(bytes) AS bytes
FROM log.requests
WHERE level = '{level}'
GROUP BY sample_rate
ORDER BY sample_rate

SELECT count(DISTINCT air_time) AS times FROM fl.flights WHERE origin = '{origin}' AND day >= DATE'{day}'

SELECT arr_delay, count(*) AS n
FROM fl.flights
WHERE dest = '{dest}'
GROUP BY arr_delay
ORDER BY n DESC, arr_delay
LIMIT {top}

SELECT cpu_load, count(*) AS n FROM log.requests WHERE host = '{host}' GROUP BY cpu_load

SELECT DISTINCT dep_delay FROM fl.flights WHERE tailnum = '{tail}' ORDER BY dep_delay

SELECT carrier, dep_delay, count(*) AS n
FROM fl.flights
WHERE dep_delay BETWEEN {delay} AND {delay} + 10
GROUP BY carrier, dep_delay

SELECT DISTINCT geo.lat, geo.lon FROM log.requests WHERE country = '{country}'

SELECT service, count(DISTINCT latency_ms) AS latencies
FROM log.requests
WHERE status = {status}
GROUP BY service

SELECT air_time, max(distance) AS miles
FROM fl.flights
WHERE flight_id BETWEEN {id} AND {id} + 500
GROUP BY air_time

SELECT sample_rate, level, avg(latency_ms) AS latency
FROM log.requests
WHERE day_text >= '{log_day}'
GROUP BY sample_rate, level

SELECT dep_delay - arr_delay AS gained, count(*) AS n
FROM fl.flights
WHERE day = DATE'{day}'
GROUP BY dep_delay - arr_delay

SELECT DISTINCT carrier, dep_delay FROM fl.flights WHERE dep_delay > {minutes} AND day = DATE'{day}'

SELECT cpu_load, min(request_id) AS first_request
FROM log.requests
WHERE cpu_load > 2 AND service = '{service}'
GROUP BY cpu_load
HAVING count(*) > 1
ORDER BY cpu_load DESC
LIMIT {top}

SELECT latency_ms / 2 AS half, count(*) AS n
FROM log.requests
WHERE user_id = {few}
GROUP BY latency_ms / 2

SELECT lo_extendedprice / lo_quantity AS unit_price, count(*) AS n
FROM ssb.lineorder
WHERE lo_custkey = {key}
GROUP BY lo_extendedprice / lo_quantity

SELECT count(*) AS n, count(DISTINCT dep_delay) AS dep, count(DISTINCT arr_delay) AS arr
FROM fl.flights
WHERE carrier IN ('{carrier}', 'DL')

SELECT sample_rate * 100 AS percent, count(DISTINCT host) AS hosts
FROM log.requests
WHERE country IS NOT NULL AND bytes > {bytes}
GROUP BY sample_rate * 100

SELECT d.delay, count(*) AS flights
FROM (SELECT DISTINCT flight_id, dep_delay AS delay FROM fl.flights WHERE dest = '{dest}') d
GROUP BY d.delay
