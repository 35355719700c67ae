-- substring, left, right, lpad, rpad, instr and split_part.

SELECT substring(tailnum, 2, 2) AS prefix, count(*) AS flights
FROM fl.flights
WHERE origin = '{origin}'
GROUP BY substring(tailnum, 2, 2)
ORDER BY flights DESC, prefix
LIMIT {top}

SELECT split_part(host, '.', 2) AS zone, count(*) AS n FROM log.requests WHERE level = '{level}' GROUP BY split_part(host, '.', 2)

SELECT left(c_phone, 2) AS country_code, count(*) AS customers
FROM ssb.customer
WHERE c_mktsegment = '{segment}'
GROUP BY left(c_phone, 2)

SELECT flight_id, lpad(flight, 5, '0') AS number FROM fl.flights WHERE tailnum = '{tail}' AND carrier = '{carrier}'

SELECT right(p_brand1, 2) AS brand, sum(lo_revenue) AS revenue
FROM ssb.lineorder JOIN ssb.part ON lo_partkey = p_partkey
WHERE p_category = '{category}'
GROUP BY right(p_brand1, 2)

SELECT split_part(email, '@', 2) AS domain, count(DISTINCT user_id) AS users
FROM log.requests
WHERE email IS NOT NULL AND service = '{service}'
GROUP BY split_part(email, '@', 2)

SELECT substr(path, 1, 8) AS root, avg(latency_ms) AS latency
FROM log.requests
WHERE status < {status}
GROUP BY substr(path, 1, 8)

SELECT count(*) AS n FROM log.requests WHERE instr(message, 'took') > 0 AND host = '{host}'

SELECT instr(email, '@') - 1 AS name_length, count(*) AS n
FROM log.requests
WHERE country = '{country}'
GROUP BY instr(email, '@') - 1

SELECT rpad(carrier, 4, '.') AS carrier, count(*) AS n
FROM fl.flights
WHERE dep_delay > {minutes}
GROUP BY rpad(carrier, 4, '.')

SELECT left(day_text, 7) AS month, sum(bytes) AS bytes FROM log.requests WHERE service = '{service}' GROUP BY left(day_text, 7)

SELECT split_part(path, '/', 4) AS resource, count(*) AS n
FROM log.requests
WHERE day_text >= '{log_day}'
GROUP BY split_part(path, '/', 4)
ORDER BY n DESC, resource

SELECT substring(lo_orderpriority, 3) AS priority, sum(lo_extendedprice) AS price
FROM ssb.lineorder
WHERE lo_quantity BETWEEN {quantity} AND {quantity} + 9
GROUP BY substring(lo_orderpriority, 3)

SELECT s_suppkey, right(s_name, 4) AS serial, left(s_city, 9) AS city
FROM ssb.supplier
WHERE s_nation = '{nation}'

SELECT DISTINCT left(dest, 1) AS letter FROM fl.flights WHERE distance > {miles} AND day >= DATE'{day}'

SELECT concat(lpad(d_daynuminmonth, 2, '0'), '.', lpad(d_monthnuminyear, 2, '0'), '.', d_year) AS german_date
FROM ssb.dates
WHERE d_year = {year} AND d_holidayfl = 1

SELECT split_part(client.ip, '.', 1) AS network, count(*) AS n
FROM log.requests
WHERE client.ip IS NOT NULL AND status = {status}
GROUP BY split_part(client.ip, '.', 1)
ORDER BY n DESC, network
LIMIT {top}

SELECT c_name, substring(c_name, instr(c_name, '#') + 1) AS number
FROM ssb.customer
WHERE c_city = '{city}'
ORDER BY c_name

SELECT right(tailnum, 1) AS last_digit, count(*) AS n, sum(distance) AS miles
FROM fl.flights
WHERE left(dest, 1) = '{letter}'
GROUP BY right(tailnum, 1)

SELECT request_id, left(message, 20) AS beginning, right(time_text, 8) AS at
FROM log.requests
WHERE substring(host, 5, 3) = '{number}' AND level = 'WARN'
ORDER BY request_id
LIMIT 100
