-- date_add, date_sub, datediff, and dates and timestamps plus and minus intervals.

SELECT count(*) AS n FROM fl.flights WHERE day BETWEEN date_sub(DATE'{day}', {days}) AND DATE'{day}'

SELECT carrier, count(*) AS n
FROM fl.flights
WHERE day >= DATE'{day}' AND day < date_add(DATE'{day}', 7)
GROUP BY carrier

SELECT origin, sum(distance) AS miles
FROM fl.flights
WHERE day >= DATE'{day}' - INTERVAL 1 MONTH AND day < DATE'{day}'
GROUP BY origin

SELECT datediff(DATE'{day}', day) AS days_before, count(*) AS flights
FROM fl.flights
WHERE day > DATE'{day}' - INTERVAL 14 DAYS AND day <= DATE'{day}'
GROUP BY datediff(DATE'{day}', day)
ORDER BY days_before

SELECT level, count(*) AS n
FROM log.requests
WHERE ts >= TIMESTAMP'{moment}' - INTERVAL {hours} HOURS AND ts < TIMESTAMP'{moment}'
GROUP BY level

SELECT flight_id, departs, departs + INTERVAL 45 MINUTES AS boarding_closed
FROM fl.flights
WHERE tailnum = '{tail}'

SELECT floor(datediff(day, DATE'2013-01-01') / 7) AS week, avg(dep_delay) AS delay
FROM fl.flights
WHERE dest = '{dest}'
GROUP BY floor(datediff(day, DATE'2013-01-01') / 7)
ORDER BY week

SELECT date_add(day, {days}) AS due, count(*) AS n
FROM fl.flights
WHERE carrier = '{carrier}' AND day >= DATE'{day}'
GROUP BY date_add(day, {days})

SELECT count(*) AS n FROM fl.flights WHERE departs BETWEEN TIMESTAMP_NTZ'{day} 06:00:00' AND TIMESTAMP_NTZ'{day} 06:00:00' + INTERVAL {hours} HOURS

SELECT service, max(latency_ms) AS worst
FROM log.requests
WHERE received > TIMESTAMP_NTZ'{moment}' - INTERVAL '1' DAY AND received <= TIMESTAMP_NTZ'{moment}'
GROUP BY service

SELECT day - INTERVAL {days} DAYS AS shifted, count(DISTINCT tailnum) AS planes
FROM fl.flights
WHERE day BETWEEN DATE'{day}' AND DATE'{later}'
GROUP BY day - INTERVAL {days} DAYS

SELECT min(day) AS first_day, max(day) AS last_day, datediff(max(day), min(day)) + 1 AS days
FROM fl.flights
WHERE tailnum = '{tail}'

SELECT count(*) AS n FROM log.requests WHERE ts + INTERVAL {minutes} MINUTES > TIMESTAMP'{moment}' AND service = '{service}'

SELECT request_id, ts, ts + INTERVAL 90 SECONDS AS expires
FROM log.requests
WHERE user_id = {few} AND status = 200

SELECT day, day + 1 AS next_day, count(*) AS flights
FROM fl.flights
WHERE origin = '{origin}' AND day >= DATE'{later}'
GROUP BY day
ORDER BY day
LIMIT {top}

SELECT datediff(later.day, earlier.day) AS gap, count(*) AS pairs
FROM fl.flights earlier JOIN fl.flights later ON later.tailnum = earlier.tailnum AND later.day > earlier.day
WHERE earlier.tailnum = '{tail}'
GROUP BY datediff(later.day, earlier.day)

SELECT day, sum(distance) AS miles
FROM fl.flights
WHERE day >= date_add(DATE'{day}', -{days}) AND day <= date_add(DATE'{day}', {days}) AND carrier = '{carrier}'
GROUP BY day
ORDER BY day

SELECT count(*) AS n
FROM fl.flights
WHERE day >= DATE'{day}' - INTERVAL '1' YEAR AND day < DATE'{day}' + INTERVAL '2' WEEK AND cancelled

SELECT flight_id, dateadd(DAY, {days}, day) AS follow_up FROM fl.flights WHERE flight_id IN ({id}, {other})

SELECT day - DATE'{day}' AS distance_in_time, flight_id
FROM fl.flights
WHERE flight_id BETWEEN {id} AND {id} + 5
