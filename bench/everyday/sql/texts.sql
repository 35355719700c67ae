-- length, upper, lower, trim and its kin, concat, || and replace.

SELECT upper(level) AS level, count(*) AS n FROM log.requests WHERE service = '{service}' GROUP BY upper(level)

SELECT concat(origin, '-', dest) AS route, count(*) AS flights
FROM fl.flights
WHERE carrier = '{carrier}'
GROUP BY concat(origin, '-', dest)
ORDER BY flights DESC, route
LIMIT {top}

SELECT count(*) AS n FROM log.requests WHERE lower(email) LIKE '{person}%'

SELECT length(message) AS characters, count(*) AS n
FROM log.requests
WHERE level = '{level}'
GROUP BY length(message)
ORDER BY characters

SELECT trim(message) AS message FROM log.requests WHERE request_id = {request}

SELECT origin || ' > ' || dest AS route, sum(distance) AS miles
FROM fl.flights
WHERE day = DATE'{day}'
GROUP BY origin || ' > ' || dest

SELECT replace(host, '.eu-west', '') AS short_host, count(*) AS n
FROM log.requests
WHERE status = {status}
GROUP BY replace(host, '.eu-west', '')

SELECT c_custkey, upper(c_name) AS name, lower(c_city) AS city
FROM ssb.customer
WHERE c_nation = '{nation}' AND length(c_address) > 20

SELECT s_name, trim(s_city) AS city, replace(s_phone, '-', ' ') AS phone
FROM ssb.supplier
WHERE s_region = '{region}'
ORDER BY s_suppkey
LIMIT 25

SELECT lower(name) AS airline, count(*) AS n
FROM fl.flights f JOIN fl.carriers c ON f.carrier = c.carrier
WHERE f.origin = '{origin}'
GROUP BY lower(name)

SELECT max(length(path)) AS longest, avg(length(path)) AS mean, min(length(path)) AS shortest
FROM log.requests
WHERE service = '{service}' AND ok

SELECT ltrim(message) AS message, rtrim(message) AS other
FROM log.requests
WHERE request_id BETWEEN {request} AND {request} + 10

SELECT lower(trim(country)) AS country, count(DISTINCT host) AS hosts
FROM log.requests
WHERE country IS NOT NULL AND latency_ms > {ms}
GROUP BY lower(trim(country))

SELECT concat(p_color, ' ', p_type) AS part, count(*) AS n
FROM ssb.part
WHERE p_category = '{category}'
GROUP BY concat(p_color, ' ', p_type)

SELECT count(*) AS n FROM fl.flights WHERE upper(tailnum) = upper('{tail}') AND length(dest) = 3

SELECT d_year || '-' || d_monthnuminyear AS month, sum(lo_revenue) AS revenue
FROM ssb.lineorder JOIN ssb.dates ON lo_orderdate = d_datekey
WHERE d_year = {year}
GROUP BY d_year || '-' || d_monthnuminyear

SELECT trim(BOTH '/' FROM path) AS path, count(*) AS n
FROM log.requests
WHERE host = '{host}'
GROUP BY trim(BOTH '/' FROM path)
ORDER BY n DESC, path
LIMIT {top}

SELECT replace(lower(p_name), ' ', '_') AS slug, p_partkey FROM ssb.part WHERE p_brand1 = '{brand}'

SELECT service, sum(CASE WHEN lower(message) LIKE '%timeout%' THEN 1 ELSE 0 END) AS timeouts
FROM log.requests
WHERE country = '{country}' OR country IS NULL
GROUP BY service

SELECT DISTINCT concat(c_region, '/', c_nation) AS place FROM ssb.customer WHERE c_mktsegment = '{segment}'
