-- Casts among whole numbers, doubles, decimals, texts, dates, timestamps and booleans.

SELECT CAST(departs AS DATE) AS day, count(*) AS flights FROM fl.flights WHERE carrier = '{carrier}' GROUP BY CAST(departs AS DATE)

SELECT cast(status_text AS int) AS status, count(*) AS n FROM log.requests WHERE service = '{service}' GROUP BY cast(status_text AS int)

SELECT sum(CAST(lo_revenue AS DECIMAL(18, 2))) AS revenue FROM ssb.lineorder WHERE lo_discount = {discount}

SELECT cast(lo_orderdate AS string) AS day, sum(lo_quantity) AS quantity
FROM ssb.lineorder
WHERE lo_orderdate BETWEEN {year}0301 AND {year}0331
GROUP BY cast(lo_orderdate AS string)

SELECT CAST(dep_delay AS INT) AS delay, count(*) AS n
FROM fl.flights
WHERE dep_delay BETWEEN -10 AND {minutes}
GROUP BY CAST(dep_delay AS INT)
ORDER BY delay

SELECT sum(cast(cancelled AS int)) AS cancelled, count(*) AS flights FROM fl.flights WHERE day >= DATE'{day}'

SELECT request_id, CAST(ts AS STRING) AS at FROM log.requests WHERE user_id = {few} ORDER BY request_id LIMIT 20

-- zone: Europe/Berlin
SELECT CAST(ts AS DATE) AS day, count(*) AS n
FROM log.requests
WHERE level = '{level}'
GROUP BY CAST(ts AS DATE)
ORDER BY day

SELECT CAST(price AS DOUBLE) AS price, count(*) AS n
FROM log.requests
WHERE price < {price}
GROUP BY CAST(price AS DOUBLE)

SELECT avg(cast(distance AS double)) AS miles, avg(cast(flight AS bigint)) AS number
FROM fl.flights
WHERE dest = '{dest}'

SELECT count(*) AS n FROM fl.flights WHERE CAST(day AS STRING) LIKE '2013-0{digit}-%' AND origin = '{origin}'

SELECT day_text, count(*) AS n
FROM log.requests
WHERE CAST(day_text AS DATE) >= DATE'{log_day}'
GROUP BY day_text

SELECT CAST(substring(c_name, 10) AS BIGINT) AS number, c_city FROM ssb.customer WHERE c_custkey < {few}

SELECT flight_id, CAST(flight AS STRING) AS number, CAST(day AS TIMESTAMP) AS midnight
FROM fl.flights
WHERE flight_id IN ({id}, {other})

SELECT cast(ok AS string) AS ok, cast(sum(bytes) AS decimal(20, 3)) AS bytes
FROM log.requests
WHERE country = '{country}'
GROUP BY ok

SELECT max(CAST(time_text AS TIMESTAMP)) AS newest, min(CAST(time_text AS TIMESTAMP)) AS oldest
FROM log.requests
WHERE host = '{host}'

SELECT CAST(latency_ms AS DECIMAL(10, 1)) AS latency, count(*) AS n
FROM log.requests
WHERE latency_ms < {ms} AND service = '{service}'
GROUP BY CAST(latency_ms AS DECIMAL(10, 1))
ORDER BY latency
LIMIT {top}

SELECT status::string AS status, count(*)::int AS n FROM log.requests WHERE bytes > {bytes} GROUP BY status::string

SELECT try_cast(status_text AS smallint) AS status, avg(cast(bytes AS float)) AS bytes
FROM log.requests
WHERE level = '{level}'
GROUP BY try_cast(status_text AS smallint)

SELECT tailnum, CAST(CAST(sum(distance) AS DOUBLE) / 1000 AS DECIMAL(12, 3)) AS thousand_miles
FROM fl.flights
WHERE CAST(substring(tailnum, 2) AS INT) BETWEEN {few} AND {few} + 15
GROUP BY tailnum
ORDER BY tailnum
