-- Expressions over aggregates: rounded averages, ratios, shares, differences.

SELECT carrier, round(avg(dep_delay), 2) AS delay FROM fl.flights WHERE day >= DATE'{day}' GROUP BY carrier

SELECT origin, sum(CASE WHEN cancelled THEN 1 ELSE 0 END) / count(*) AS cancelled_share
FROM fl.flights
GROUP BY origin
ORDER BY origin

SELECT service, sum(bytes) / nullif(count(DISTINCT user_id), 0) AS bytes_per_user
FROM log.requests
WHERE country = '{country}'
GROUP BY service

SELECT d_year, round(sum(lo_revenue) / 100, 2) AS revenue, sum(lo_revenue) - sum(lo_supplycost) AS profit
FROM ssb.lineorder JOIN ssb.dates ON lo_orderdate = d_datekey
WHERE lo_shipmode = '{mode}'
GROUP BY d_year

SELECT round(100.0 * count(IF(status >= 500, 1, NULL)) / count(*), 2) AS error_percent
FROM log.requests
WHERE service = '{service}'

SELECT max(dep_delay) - min(dep_delay) AS span, coalesce(max(arr_delay), 0) AS worst
FROM fl.flights
WHERE tailnum = '{tail}'

SELECT dest, sum(distance) / nullif(sum(air_time), 0) * 60 AS mph
FROM fl.flights
WHERE origin = '{origin}' AND dest LIKE '{letter}%'
GROUP BY dest
HAVING count(*) > 10

SELECT level, round(avg(latency_ms), 1) AS mean_ms, ceil(max(latency_ms)) AS max_ms
FROM log.requests
WHERE day_text = '{log_day}'
GROUP BY level

SELECT c_nation, round(sum(lo_revenue) / sum(lo_quantity)) AS per_piece
FROM ssb.lineorder JOIN ssb.customer ON lo_custkey = c_custkey
WHERE c_region = '{region}'
GROUP BY c_nation
ORDER BY per_piece DESC, c_nation

SELECT count(*) - count(country) AS without_country, count(DISTINCT host) * 2 AS slots
FROM log.requests
WHERE level = '{level}'

SELECT carrier, concat(round(avg(distance)), ' miles') AS typical
FROM fl.flights
WHERE dest = '{dest}'
GROUP BY carrier

SELECT p_mfgr, sum(lo_revenue - lo_supplycost) / sum(lo_revenue) AS margin
FROM ssb.lineorder, ssb.part
WHERE lo_partkey = p_partkey AND p_color = '{color}'
GROUP BY p_mfgr

SELECT month(day) AS month, if(avg(dep_delay) > {delay}, 'bad', 'good') AS verdict, count(*) AS n
FROM fl.flights
WHERE carrier = '{carrier}'
GROUP BY month(day)
ORDER BY month

SELECT abs(sum(arr_delay) - sum(dep_delay)) AS made_good, sqrt(count(*)) AS root
FROM fl.flights
WHERE origin = '{origin}' AND day = DATE'{day}'

SELECT country, sum(price) AS revenue, sum(price) * 0.19 AS tax
FROM log.requests
WHERE ok AND price IS NOT NULL
GROUP BY country
ORDER BY country

SELECT CASE WHEN count(*) = 0 THEN NULL ELSE sum(lo_discount) / count(*) END AS mean_discount
FROM ssb.lineorder
WHERE lo_orderpriority = '{priority}' AND lo_quantity < {quantity}

SELECT host, count(*) % 10 AS last_digit, greatest(max(bytes), {bytes}) AS at_least
FROM log.requests
WHERE service = '{service}'
GROUP BY host

SELECT origin, dest, count(*) AS n, round(count(*) / count(DISTINCT day), 1) AS per_day
FROM fl.flights
WHERE dest IN ('{dest}', '{more}')
GROUP BY origin, dest

SELECT cast(avg(lo_quantity) AS decimal(10, 2)) AS quantity, cast(sum(lo_extendedprice) / 1000000 AS int) AS millions
FROM ssb.lineorder
WHERE lo_discount >= {discount}

SELECT service, sum(if(ok, 1, 0)) AS fine, round(sum(if(ok, 1, 0)) * 100 / count(*), 1) AS percent
FROM log.requests
GROUP BY service
HAVING sum(if(ok, 0, 1)) > {few}
ORDER BY percent DESC, service
