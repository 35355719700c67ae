-- to_date, last_day, add_months and months_between.

SELECT to_date(day_text) AS day, count(*) AS requests FROM log.requests WHERE service = '{service}' GROUP BY to_date(day_text)

SELECT last_day(day) AS month_end, sum(distance) AS miles
FROM fl.flights
WHERE carrier = '{carrier}'
GROUP BY last_day(day)
ORDER BY month_end

SELECT count(*) AS n FROM fl.flights WHERE day >= add_months(DATE'{day}', -1) AND day < DATE'{day}'

SELECT carrier, count(*) AS n
FROM fl.flights
WHERE day BETWEEN DATE'{day}' AND last_day(DATE'{day}')
GROUP BY carrier

SELECT floor(months_between(day, DATE'2012-11-15')) AS months, count(*) AS flights
FROM fl.flights
WHERE dest = '{dest}'
GROUP BY floor(months_between(day, DATE'2012-11-15'))

-- zone: Europe/Berlin
SELECT to_date(ts) AS day, count(*) AS n, avg(latency_ms) AS latency
FROM log.requests
WHERE level = '{level}'
GROUP BY to_date(ts)
ORDER BY day

SELECT to_date(departs) AS day, max(dep_delay) AS worst
FROM fl.flights
WHERE tailnum = '{tail}'
GROUP BY to_date(departs)

SELECT flight_id, day, add_months(day, {months}) AS next_check
FROM fl.flights
WHERE flight_id BETWEEN {id} AND {id} + 10

SELECT min(day) AS first_flight, max(day) AS last_flight, months_between(max(day), min(day)) AS months
FROM fl.flights
WHERE tailnum = '{tail}'

SELECT count(*) AS on_last_days FROM fl.flights WHERE day = last_day(day) AND origin = '{origin}'

SELECT sum(bytes) AS bytes FROM log.requests WHERE to_date(day_text, 'yyyy-MM-dd') = DATE'{log_day}'

SELECT d_datekey, to_date(d_datekey, 'yyyyMMdd') AS day
FROM ssb.dates
WHERE d_year = {year} AND d_daynuminmonth = 1

SELECT last_day(to_date(lo_orderdate, 'yyyyMMdd')) AS month_end, sum(lo_revenue) AS revenue
FROM ssb.lineorder
WHERE lo_orderdate BETWEEN {year}0101 AND {year}0630
GROUP BY last_day(to_date(lo_orderdate, 'yyyyMMdd'))

SELECT day, count(*) AS n
FROM fl.flights
WHERE day IN (DATE'{day}', add_months(DATE'{day}', 1), add_months(DATE'{day}', -1))
GROUP BY day

-- zone: Europe/Berlin
SELECT to_date(ts) AS day, service, count(*) AS n
FROM log.requests
WHERE to_date(ts) BETWEEN DATE'{log_day}' AND DATE'{log_day}' + INTERVAL 3 DAYS
GROUP BY to_date(ts), service

SELECT datediff(last_day(day), day) AS days_left, count(*) AS n
FROM fl.flights
WHERE carrier = '{carrier}' AND NOT cancelled
GROUP BY datediff(last_day(day), day)

SELECT user_id, round(months_between(max(to_date(day_text)), min(to_date(day_text))), 2) AS months
FROM log.requests
WHERE user_id BETWEEN {few} AND {few} + 20
GROUP BY user_id

SELECT add_months(last_day(day), -1) AS previous_end, count(DISTINCT dest) AS places
FROM fl.flights
WHERE origin = '{origin}'
GROUP BY add_months(last_day(day), -1)

SELECT count(*) AS n FROM fl.flights WHERE months_between(DATE'{later}', day) BETWEEN 0 AND 1 AND carrier = '{carrier}'

SELECT request_id, to_date(time_text) AS day, last_day(time_text) AS month_end
FROM log.requests
WHERE host = '{host}' AND status = 500
ORDER BY request_id
LIMIT {top}
