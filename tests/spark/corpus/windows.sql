%%%% over
%%
SELECT id, row_number() OVER (PARTITION BY region ORDER BY id) AS r FROM sales
%%
SELECT id, sum(qty) OVER (PARTITION BY region ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM sales WHERE id < 60
%%
SELECT id, avg(weight) OVER (ORDER BY id RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS a FROM sales WHERE id < 60
%%
SELECT day, count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW) AS n FROM sales WHERE id < 60
%%
SELECT region, q, rank() OVER (ORDER BY q DESC) AS r, dense_rank() OVER (ORDER BY q) AS d, sum(q) OVER () AS t FROM (SELECT region, sum(qty) AS q FROM sales GROUP BY region)
%%
SELECT region, sum(qty) AS q, rank() OVER (ORDER BY sum(qty) DESC, region) AS r FROM sales GROUP BY region
%%
SELECT item, day, sum(qty) AS q, sum(sum(qty)) OVER (PARTITION BY item ORDER BY day) AS running FROM sales GROUP BY item, day
%%
SELECT region, count(*) AS n, ntile(2) OVER (ORDER BY region) AS t, percent_rank() OVER (ORDER BY region) AS p, cume_dist() OVER (ORDER BY region) AS c FROM sales GROUP BY region
%%
SELECT id, lag(item) OVER w AS l, lead(item, 2, 'none') OVER w AS n, first_value(id) OVER w AS f, nth_value(id, 2) OVER w AS s FROM sales WHERE id < 30 WINDOW w AS (PARTITION BY shop ORDER BY id)
%%
SELECT id, last_value(item) IGNORE NULLS OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS l, lag(item, 1) RESPECT NULLS OVER (ORDER BY id) AS g FROM sales WHERE id < 40
%%
SELECT region, m, lag(q) OVER w AS before, q - lag(q) OVER w AS more FROM (SELECT region, month(day) AS m, sum(qty) AS q FROM sales GROUP BY region, month(day)) WINDOW w AS (PARTITION BY region ORDER BY m)
%%
SELECT region, sum(qty) AS a, max(sum(qty)) OVER w AS b, min(sum(qty)) OVER (w) AS c FROM sales GROUP BY region WINDOW w AS (ORDER BY region), v AS (w)
%% raises _LEGACY_ERROR_TEMP_1030
SELECT id, count(*) FILTER (WHERE ok) OVER (PARTITION BY shop) AS n FROM sales WHERE id < 40
%%
SELECT region, id FROM (SELECT region, id, row_number() OVER (PARTITION BY region ORDER BY qty DESC, id) AS r FROM sales) WHERE r <= 2
%%
SELECT region, item, q FROM (SELECT region, item, sum(qty) AS q, rank() OVER (PARTITION BY region ORDER BY sum(qty) DESC, item) AS r FROM sales GROUP BY region, item) WHERE r = 1
%%
SELECT id, sum(qty) OVER (DISTRIBUTE BY shop SORT BY id) AS s, max(qty) OVER (CLUSTER BY shop) AS m FROM sales WHERE id < 20
%%
SELECT count(*) OVER () AS n, region FROM sales GROUP BY region
%%
WITH m AS (SELECT trunc(day, 'MM') AS month, sum(price) AS p FROM sales GROUP BY trunc(day, 'MM')) SELECT month, p, avg(p) OVER (ORDER BY month ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM m
%% raises UNSUPPORTED_EXPR_FOR_OPERATOR
SELECT region, sum(qty) AS q FROM sales GROUP BY region ORDER BY rank() OVER (ORDER BY sum(qty), region)
%%
SELECT DISTINCT region, count(*) OVER (PARTITION BY region) AS n FROM sales
%%
SELECT city, sum(qty) AS q, row_number() OVER (ORDER BY city) AS n FROM sales JOIN shops USING (shop) GROUP BY city
%%
SELECT session_window.start AS s, count(*) FROM sales GROUP BY session_window(at, '2 days')
%% raises PARSE_SYNTAX_ERROR
SELECT region, count(*) AS n FROM sales GROUP BY region QUALIFY rank() OVER (ORDER BY n) = 1
