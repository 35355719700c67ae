-- date_trunc, and hours, minutes and seconds in the session's zone. Half of them in Berlin's.

SELECT date_trunc('HOUR', ts) AS hour, count(*) AS requests
FROM log.requests
WHERE ts >= TIMESTAMP'{moment}' AND ts < TIMESTAMP'{moment_after}'
GROUP BY date_trunc('HOUR', ts)
ORDER BY hour

-- zone: Europe/Berlin
SELECT date_trunc('day', ts) AS day, count(*) AS requests, count(DISTINCT user_id) AS users
FROM log.requests
WHERE service = '{service}'
GROUP BY date_trunc('day', ts)
ORDER BY day

SELECT hour(departs) AS hour, count(*) AS flights FROM fl.flights WHERE origin = '{origin}' GROUP BY hour(departs)

-- zone: Europe/Berlin
SELECT hour(ts) AS hour, avg(latency_ms) AS latency
FROM log.requests
WHERE level = '{level}'
GROUP BY hour(ts)
ORDER BY hour

SELECT date_trunc('month', day) AS month, count(*) AS flights, sum(distance) AS miles
FROM fl.flights
WHERE carrier = '{carrier}'
GROUP BY date_trunc('month', day)

-- zone: Europe/Berlin
SELECT date_trunc('week', ts) AS week, sum(bytes) AS bytes
FROM log.requests
WHERE country = '{country}'
GROUP BY 1
ORDER BY 1

SELECT minute(ts) AS minute, count(*) AS n
FROM log.requests
WHERE ts >= TIMESTAMP'{moment}' AND ts < TIMESTAMP'{moment}' + INTERVAL 1 HOUR
GROUP BY minute(ts)
ORDER BY minute

-- zone: Europe/Berlin
SELECT count(*) AS at_night FROM log.requests WHERE hour(ts) BETWEEN 0 AND 5 AND status >= {status}

SELECT date_trunc('quarter', departs) AS quarter, avg(arr_delay) AS delay
FROM fl.flights
WHERE dest = '{dest}'
GROUP BY date_trunc('quarter', departs)

-- zone: Europe/Berlin
SELECT request_id, ts, hour(ts) AS h, minute(ts) AS m, second(ts) AS s
FROM log.requests
WHERE user_id = {few}
ORDER BY request_id

SELECT hour(departs) AS hour, minute(departs) AS minute, count(*) AS n
FROM fl.flights
WHERE day = DATE'{day}'
GROUP BY hour(departs), minute(departs)

-- zone: Europe/Berlin
SELECT date_trunc('MINUTE', ts) AS minute, max(latency_ms) AS worst
FROM log.requests
WHERE ts BETWEEN TIMESTAMP'{moment}' AND TIMESTAMP'{moment}' + INTERVAL 30 MINUTES
GROUP BY date_trunc('MINUTE', ts)
ORDER BY minute

SELECT date_trunc('hour', received) AS hour, service, count(*) AS n
FROM log.requests
WHERE received >= TIMESTAMP_NTZ'{moment}' AND received < TIMESTAMP_NTZ'{moment_after}'
GROUP BY date_trunc('hour', received), service

-- zone: Europe/Berlin
SELECT CASE WHEN hour(ts) < 6 THEN 'night' WHEN hour(ts) < 12 THEN 'morning' WHEN hour(ts) < 18 THEN 'afternoon' ELSE 'evening' END AS part,
       count(*) AS n
FROM log.requests
WHERE ts IS NOT NULL AND service = '{service}'
GROUP BY 1

SELECT second(received) AS second, count(*) AS n FROM log.requests WHERE host = '{host}' GROUP BY second(received)

-- zone: Europe/Berlin
SELECT date_trunc('year', ts) AS year, date_trunc('month', ts) AS month, count(*) AS n
FROM log.requests
WHERE level = '{level}'
GROUP BY date_trunc('year', ts), date_trunc('month', ts)

SELECT date_trunc('week', day) AS week, count(*) AS flights
FROM fl.flights
WHERE day >= DATE'{day}' AND origin = '{origin}'
GROUP BY date_trunc('week', day)
ORDER BY week
LIMIT 8

-- zone: Europe/Berlin
SELECT date_trunc('day', ts) AS day, sum(CASE WHEN status >= 500 THEN 1 ELSE 0 END) AS errors
FROM log.requests
WHERE date_trunc('day', ts) >= TIMESTAMP'{log_day} 00:00:00'
GROUP BY date_trunc('day', ts)
ORDER BY day

SELECT extract(HOUR FROM departs) AS hour, avg(dep_delay) AS delay
FROM fl.flights
WHERE carrier = '{carrier}' AND day > DATE'{day}'
GROUP BY extract(HOUR FROM departs)
ORDER BY hour

-- zone: Europe/Berlin
SELECT minute(ts) div 15 AS quarter, count(*) AS n
FROM log.requests
WHERE hour(ts) = {hours} AND country = '{country}'
GROUP BY minute(ts) div 15
