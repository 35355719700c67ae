-- Fields of structs, in every place of a statement.

SELECT client.agent.name AS browser, count(*) AS n FROM log.requests WHERE service = '{service}' GROUP BY client.agent.name

SELECT request_id, client.ip, geo.city FROM log.requests WHERE user_id = {few} ORDER BY request_id

SELECT count(*) AS n FROM log.requests WHERE client.secure AND status >= {status}

SELECT geo.city AS city, avg(latency_ms) AS latency
FROM log.requests
WHERE country = '{country}'
GROUP BY geo.city
ORDER BY city

SELECT max(client.agent.version) AS newest, min(client.agent.version) AS oldest
FROM log.requests
WHERE client.agent.name = '{browser}'

SELECT count(DISTINCT client.ip) AS addresses FROM log.requests WHERE level = '{level}' AND day_text = '{log_day}'

SELECT client.secure AS secure, sum(bytes) AS bytes
FROM log.requests
WHERE geo.city IS NOT NULL AND host = '{host}'
GROUP BY client.secure

SELECT service, count(*) AS n
FROM log.requests
WHERE client.agent.name IN ('{browser}', 'curl') AND client.agent.version > {digit}
GROUP BY service

SELECT r.client.agent.name, r.client.agent.version, count(*) AS n
FROM log.requests r
WHERE r.service = '{service}'
GROUP BY r.client.agent.name, r.client.agent.version
ORDER BY n DESC, r.client.agent.name, r.client.agent.version
LIMIT {top}

SELECT DISTINCT geo.city FROM log.requests WHERE country = '{country}' ORDER BY city

SELECT avg(geo.lat) AS lat, avg(geo.lon) AS lon FROM log.requests WHERE geo.city = '{place}'

SELECT count(*) AS n, count(client) AS with_client, count(client.ip) AS with_ip
FROM log.requests
WHERE level = '{level}'

SELECT request_id, client.ip AS ip
FROM log.requests
WHERE client.ip LIKE '10.{digit}.%' AND status = 500
ORDER BY request_id
LIMIT {top}

SELECT geo.city, sum(price) AS revenue
FROM log.requests
WHERE geo.lat > 45 AND service = '{service}'
GROUP BY geo.city
HAVING sum(price) > {price}

SELECT CASE WHEN client.agent.version < {browser_version} THEN 'old' ELSE 'new' END AS age, count(*) AS n
FROM log.requests
WHERE client.agent.name = '{browser}'
GROUP BY 1

SELECT upper(client.agent.name) AS browser, sum(bytes) AS bytes
FROM log.requests
WHERE status < {status}
GROUP BY upper(client.agent.name)

SELECT request_id, geo.lat, geo.lon
FROM log.requests
WHERE geo.lat BETWEEN 48 AND 53 AND host = '{host}'
ORDER BY geo.lat, request_id
LIMIT {top}

SELECT log.requests.client.agent.name AS browser, max(latency_ms) AS worst
FROM log.requests
WHERE log.requests.geo.city = '{place}'
GROUP BY log.requests.client.agent.name

SELECT count(*) AS n FROM log.requests WHERE client IS NULL OR geo.city IS NULL AND country = '{country}'

SELECT day_text, sum(CASE WHEN client.secure THEN 0 ELSE 1 END) AS plain, count(*) AS n
FROM log.requests
WHERE client.agent.name = '{browser}' AND day_text >= '{log_day}'
GROUP BY day_text
ORDER BY day_text
