%%%% clauses
%%
SELECT region, count(*) AS n, sum(qty) AS q FROM lake.corpus.sales GROUP BY region
%% ordered
SELECT item, sum(price) AS revenue FROM sales WHERE region = 'north' GROUP BY item ORDER BY revenue DESC, item
%%
SELECT ALL shop, max(day) AS latest FROM sales WHERE qty BETWEEN 1 AND 9 GROUP BY shop HAVING count(*) > 2
%%
SELECT DISTINCT region, item FROM sales
%% ordered
SELECT DISTINCT region FROM sales ORDER BY region NULLS LAST
%% ordered
SELECT region, shop, count(*) AS n FROM sales GROUP BY ALL ORDER BY ALL
%% ordered
SELECT shop, sum(qty) FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 3
%% ordered
SELECT shop, sum(qty) AS s FROM sales GROUP BY shop ORDER BY shop NULLS FIRST LIMIT 2 OFFSET 1
%% ordered
SELECT id FROM sales ORDER BY id LIMIT ALL OFFSET 215
%% ties 0
SELECT region, item FROM sales ORDER BY region LIMIT 7
%% ties
SELECT id, item FROM sales LIMIT 5
%% ordered
SELECT day, count(*) FROM sales WHERE day >= DATE '2024-03-01' GROUP BY day ORDER BY day LIMIT 2 + 2
%%
SELECT count(*) FROM sales LIMIT 0
%%
SELECT count(*) FROM sales OFFSET 1
%%
SELECT sum(qty), avg(weight), min(price), max(price), count(DISTINCT shop) FROM sales
%%
SELECT sum(qty) FILTER (WHERE ok) AS good, count_if(NOT ok) AS bad FROM sales
%%
SELECT 1
%%
SELECT 1 AS one WHERE false
%%
SELECT region r, count(*) `number of rows`, sum(qty) `alias` FROM sales GROUP BY region
%%
SELECT region FROM sales WHERE id IN (1, 2, NULL) OR item IS NULL
%%
SELECT item, count(*) FROM sales WHERE NOT ok AND item NOT IN ('pen', 'ink') OR region IS NULL GROUP BY item
%%
SELECT region, count(*) FROM sales WHERE region IS DISTINCT FROM 'north' GROUP BY region
%%
SELECT region <=> NULL AS unknown, count(*) FROM sales GROUP BY region <=> NULL
%%
SELECT region, ok IS TRUE AS t, ok IS NOT UNKNOWN AS k, count(*) FROM sales GROUP BY region, ok
%%
SELECT item LIKE 'p%' AS p, count(*) FROM sales GROUP BY item LIKE 'p%'
%%
SELECT item, count(*) FROM sales WHERE item ILIKE 'P_N' OR item RLIKE '^in' GROUP BY item
%%
SELECT item, count(*) FROM sales WHERE item LIKE ANY ('p%', '%k') AND item NOT LIKE ALL ('x%', 'y%') GROUP BY item
%%
SELECT count(*) FROM sales WHERE item LIKE 'p\%n' ESCAPE '!'
%%%% groups
%%
SELECT region, item, sum(qty) FROM sales GROUP BY region, item WITH ROLLUP
%%
SELECT region, item, count(*) FROM sales GROUP BY CUBE (region, item)
%%
SELECT region, item, grouping(region) AS a, grouping_id(region, item) AS b, sum(price) FROM sales GROUP BY GROUPING SETS ((region, item), (item), ())
%%
SELECT region, shop, item, count(*) FROM sales GROUP BY region, ROLLUP (shop, item)
%%
SELECT region, shop, sum(qty) FROM sales GROUP BY region, shop GROUPING SETS ((region), (shop))
%%
SELECT upper(region) AS r, year(day) AS y, month(day) AS m, sum(qty) FROM sales GROUP BY upper(region), year(day), month(day)
%%
SELECT CASE WHEN shop < 3 THEN 'low' ELSE 'high' END AS part, sum(price) FROM sales GROUP BY part
%%
SELECT CASE region WHEN 'north' THEN 1 WHEN 'south' THEN 2 END AS n, count(*) FROM sales GROUP BY 1
%%
SELECT count(*) AS n FROM sales GROUP BY region HAVING region = 'south' OR sum(qty) > 100
%%
SELECT region, count(*) FROM sales GROUP BY region HAVING NOT (count(*) < 10)
%%
SELECT sum(qty) + 1 AS a, sum(qty) / count(*) AS b, -sum(price) AS c FROM sales
%%
SELECT region, first(item) IS NOT NULL AS f, any_value(region) AS v FROM sales GROUP BY region
%%
SELECT region, mode(region) AS m, bool_or(ok) AS o, every(ok) AS e, bit_xor(qty) AS x FROM sales GROUP BY region
%%
SELECT region, array_sort(collect_set(item)) AS items, listagg(DISTINCT item, ',') WITHIN GROUP (ORDER BY item) AS list FROM sales GROUP BY region
%%
SELECT shop, percentile_cont(0.5) WITHIN GROUP (ORDER BY qty) AS p, percentile(qty, 0.25) AS q, median(qty) AS m FROM sales GROUP BY shop
%%
SELECT max_by(item, id) AS a, min_by(item, id) AS b, max(struct(price, id)) AS c FROM sales
%%
SELECT stddev(qty), var_pop(qty), corr(qty, shop), covar_samp(qty, shop), skewness(qty) FROM sales
%%
SELECT approx_count_distinct(item), try_sum(qty), try_avg(qty), sum(DISTINCT qty) FROM sales
%%
SELECT region AS k, k || '!' AS lateral_alias, length(lateral_alias) AS n FROM sales WHERE id < 9
%%
SELECT region, sum(qty) AS s, s * 2 AS twice FROM sales GROUP BY region
%%%% star
%%
SELECT * FROM shops
%%
SELECT * EXCEPT (area) FROM shops
%%
SELECT s.*, s.shop + 1 AS next FROM shops AS s
%% raises _LEGACY_ERROR_TEMP_1021
SELECT count(*), count(s.*) FROM shops s
%%
SELECT s.* EXCEPT (name, city) FROM shops s WHERE s.shop = 1
%%
SELECT struct(*) AS whole FROM shops
%%
SELECT info.* FROM sales WHERE id < 5
%%
SELECT info.a AS a, tags[0] AS t, attrs['x'] AS x, element_at(tags, 1) AS e FROM sales WHERE id < 12
%%
SELECT lake.corpus.shops.shop, shops.`name` FROM lake.corpus.shops
%%
SELECT `S`.`SHOP`, S.nAmE FROM `lake`.`corpus`.`shops` AS `s`
%%
SELECT count(*, qty) AS n, count(* EXCEPT (tags)) AS m, count(1) AS k FROM sales
%%
SELECT region, count(*, *) FROM sales GROUP BY region
%%%% joins
%%
SELECT city, sum(qty) AS q FROM sales JOIN shops USING (shop) GROUP BY city
%%
SELECT s.city, f.region, count(*) AS n, sum(f.qty) AS q FROM sales f INNER JOIN shops s ON f.shop = s.shop GROUP BY s.city, f.region
%%
SELECT s.name, count(f.id) AS n FROM shops s LEFT OUTER JOIN sales f ON s.shop = f.shop GROUP BY s.name
%%
SELECT s.name, sum(f.qty) AS n FROM sales f RIGHT JOIN shops s ON s.shop = f.shop AND f.region = 'east' GROUP BY s.name
%%
SELECT a.shop, b.shop AS other FROM shops a FULL OUTER JOIN shops b ON a.shop = b.shop + 1
%%
SELECT a.shop, b.city FROM shops a CROSS JOIN shops b WHERE a.shop < 3 AND b.shop > 6
%%
SELECT count(*) FROM sales f LEFT SEMI JOIN shops s ON f.shop = s.shop AND s.city = 'Oslo'
%%
SELECT region, count(*) FROM sales f LEFT ANTI JOIN shops s ON f.shop = s.shop GROUP BY region
%%
SELECT region, sum(qty) FROM sales ANTI JOIN shops ON sales.shop = shops.shop GROUP BY region
%%
SELECT city, max(price) FROM sales NATURAL JOIN shops GROUP BY city
%%
SELECT count(*) FROM sales f, shops s WHERE f.shop = s.shop AND s.area > 20
%%
SELECT s.city, t.q FROM shops s JOIN LATERAL (SELECT sum(f.qty) AS q FROM sales f WHERE f.shop = s.shop) t
%%
SELECT s.shop, t.m FROM shops s, LATERAL (SELECT s.shop * 2 AS m) t
%%
SELECT s.shop, t.id FROM shops s LEFT JOIN LATERAL (SELECT id FROM sales f WHERE f.shop = s.shop AND f.id < 9) AS t ON t.id > 1
%%
SELECT count(*) FROM (sales JOIN shops USING (shop)) JOIN (VALUES ('Oslo'), ('Rome')) AS c(city) USING (city)
%%
SELECT f.item, g.item FROM sales f JOIN sales g ON f.id = g.id + 1 AND f.region = g.region WHERE f.id < 20
%%%% subqueries
%%
SELECT r, q FROM (SELECT region AS r, sum(qty) AS q FROM sales GROUP BY region) WHERE q > 50
%%
SELECT max(n) FROM (SELECT count(*) AS n FROM sales GROUP BY region, item) AS counted
%%
SELECT region, count(*) FROM sales WHERE shop IN (SELECT shop FROM shops WHERE city = 'Rome') GROUP BY region
%%
SELECT count(*) FROM sales WHERE shop NOT IN (SELECT shop FROM shops WHERE area > 30)
%%
SELECT name FROM shops s WHERE EXISTS (SELECT 1 FROM sales f WHERE f.shop = s.shop AND f.qty > 8)
%%
SELECT name FROM shops s WHERE NOT EXISTS (SELECT * FROM sales f WHERE f.shop = s.shop)
%%
SELECT name, (SELECT count(*) FROM sales f WHERE f.shop = s.shop) AS n FROM shops s
%%
SELECT region, sum(qty) * 100 / (SELECT sum(qty) FROM sales) AS share FROM sales GROUP BY region
%%
SELECT id FROM sales WHERE day = (SELECT max(day) FROM sales)
%%
SELECT count(*) FROM sales WHERE (region, item) IN (SELECT 'north', 'pen' UNION ALL SELECT 'south', 'ink')
%%
SELECT * FROM (TABLE shops) WHERE shop = 2
%%
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(x, y)
%%
VALUES (1, 'a'), (2, NULL)
%% ordered
VALUES 3, 1, 2 ORDER BY col1 DESC
%%
TABLE shops
%% ordered
TABLE lake.corpus.shops ORDER BY shop DESC LIMIT 2
%%
(SELECT region, count(*) FROM sales GROUP BY region)
%%
((SELECT max(qty) AS m FROM sales))
%%%% with
%%
WITH t AS (SELECT region, sum(qty) AS q FROM sales GROUP BY region) SELECT * FROM t WHERE q > (SELECT avg(q) FROM t)
%%
WITH t(r, n) AS (SELECT region, count(*) FROM sales GROUP BY region), u AS (SELECT max(n) AS m FROM t) SELECT r, n, m FROM t CROSS JOIN u
%%
WITH sales AS (SELECT 1 AS qty) SELECT sum(qty) FROM sales
%%
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT sum(n) FROM c
%%
WITH RECURSIVE walk AS (SELECT min(shop) AS s FROM sales UNION ALL SELECT s + 1 FROM walk WHERE s < 4) SELECT walk.s, count(f.id) FROM walk LEFT JOIN sales f ON f.shop = walk.s GROUP BY walk.s
%%
SELECT (WITH t AS (SELECT max(qty) AS m FROM sales) SELECT m FROM t) AS m
%%
WITH t AS (WITH u AS (SELECT item, sum(price) AS p FROM sales GROUP BY item) SELECT * FROM u WHERE p > 10) SELECT count(*) FROM t
%%%% sets
%%
SELECT region FROM sales GROUP BY region UNION SELECT city FROM shops
%%
SELECT region, count(*) FROM sales GROUP BY region UNION ALL SELECT 'all', count(*) FROM sales
%%
SELECT shop FROM shops EXCEPT SELECT shop FROM sales
%%
SELECT shop FROM sales EXCEPT ALL SELECT shop FROM shops
%%
SELECT shop FROM shops MINUS SELECT shop FROM sales WHERE region = 'west'
%%
SELECT shop FROM sales INTERSECT SELECT shop FROM shops
%%
SELECT item FROM sales WHERE id < 40 INTERSECT ALL SELECT item FROM sales WHERE id > 100
%% ordered
(SELECT region AS r, sum(qty) AS q FROM sales GROUP BY region ORDER BY q, region LIMIT 1) UNION ALL SELECT 'none', 0 ORDER BY r
%%
SELECT 1 AS a UNION DISTINCT SELECT 1L UNION ALL SELECT 2.5
%%%% turned
%%
SELECT * FROM (SELECT region, item, qty FROM sales) PIVOT (sum(qty) FOR item IN ('pen', 'ink', 'pad'))
%%
SELECT * FROM (SELECT region, ok, qty, price FROM sales) PIVOT (sum(qty) AS q, max(price) AS p FOR ok IN (true AS yes, false AS no))
%%
SELECT * FROM (SELECT shop, region, item, qty FROM sales) PIVOT (count(qty) FOR (region, item) IN (('north', 'pen') AS np, ('south', 'ink') AS si))
%%
SELECT * FROM (SELECT region, sum(qty) AS q, count(*) AS n FROM sales GROUP BY region) UNPIVOT (v FOR what IN (q, n))
%%
SELECT * FROM shops UNPIVOT INCLUDE NULLS ((v, w) FOR kind IN ((name, city) AS texts, (city, name) AS turned)) AS u
%%
SELECT * FROM shops UNPIVOT EXCLUDE NULLS (v FOR col IN (name AS n, city AS c))
%%%% views of arrays
%%
SELECT id, t FROM sales LATERAL VIEW explode(tags) e AS t WHERE id < 20
%%
SELECT id, p, t FROM sales LATERAL VIEW OUTER posexplode(tags) e AS p, t WHERE id < 20
%%
SELECT t, count(*) FROM sales LATERAL VIEW explode(tags) AS t GROUP BY t
%%
SELECT k, v, u FROM sales LATERAL VIEW explode(attrs) a AS k, v LATERAL VIEW explode(array(1, 2)) b AS u WHERE id = 3
%%
SELECT id, explode(tags) AS t FROM sales WHERE id BETWEEN 3 AND 8
%%
SELECT stack(2, region, n, 'fixed', 0L) AS (k, v) FROM (SELECT region, count(*) AS n FROM sales GROUP BY region)
%%
SELECT inline(array(struct(1 AS a, 'x' AS b), struct(2 AS a, 'y' AS b)))
%%
SELECT * FROM explode(sequence(1, 3)) AS e(n)
%%
SELECT * FROM range(2, 9, 3)
%%
SELECT n.id, count(f.id) FROM range(5) n LEFT JOIN sales f ON f.shop = n.id GROUP BY n.id
%%
SELECT s.shop, e.c FROM shops s, LATERAL explode(split(s.name, '')) AS e(c) WHERE s.shop < 2
%%
SELECT json_tuple('{"a": 1, "b": "two"}', 'a', 'b') AS (x, y)
%%%% samples
%%
SELECT count(*) < 300 AS few FROM sales TABLESAMPLE (50 PERCENT) REPEATABLE (7)
%%
SELECT count(*) FROM sales TABLESAMPLE (10 ROWS)
%%
SELECT count(*) <= 220 AS b FROM sales TABLESAMPLE (BUCKET 1 OUT OF 4)
%%
SELECT count(*) FROM (SELECT region, sum(qty) FROM sales GROUP BY region) TABLESAMPLE (100 PERCENT)
%%%% physical order
%%
SELECT region, qty FROM sales WHERE id < 30 DISTRIBUTE BY region SORT BY qty DESC
%%
SELECT region, count(*) FROM sales GROUP BY region CLUSTER BY region
%%
SELECT region, sum(qty) AS q FROM sales GROUP BY region SORT BY q
%%
SELECT item FROM sales WHERE id < 9 DISTRIBUTE BY item
%%%% hints
%%
SELECT /*+ BROADCAST(s) */ s.city, sum(f.qty) FROM sales f JOIN shops s ON f.shop = s.shop GROUP BY s.city
%%
SELECT /*+ MERGE(f, s), REPARTITION(3) */ count(*) FROM sales f JOIN shops s USING (shop)
%%
SELECT /*+ SHUFFLE_HASH(s) */ /*+ COALESCE(1) */ city, count(*) FROM sales JOIN shops s USING (shop) GROUP BY city
%%
SELECT /*+ REPARTITION_BY_RANGE(2, region) */ region, count(*) FROM sales GROUP BY region
%%
SELECT /*+ REBALANCE(region), NO_SUCH_HINT */ region, sum(qty) FROM sales GROUP BY region
%%
SELECT /*+ PLAIN */ region, sum(qty) FROM sales GROUP BY region
%%
SELECT /*+ PLAIN, BROADCAST(shops) */ city, count(*) FROM sales JOIN shops USING (shop) GROUP BY city
%%%% from first and pipes
%%
FROM sales SELECT region, count(*) GROUP BY region
%%
FROM shops
%%
FROM (SELECT region, qty FROM sales) t SELECT sum(t.qty) WHERE t.region = 'north'
%%
FROM sales |> WHERE region = 'north' |> AGGREGATE count(*) AS n, sum(qty) AS q GROUP BY item
%%
TABLE sales |> SELECT region, qty |> EXTEND qty * 2 AS twice |> WHERE twice > 12 |> AGGREGATE sum(twice) AS s GROUP BY region
%% ordered
SELECT region, sum(qty) AS q FROM sales GROUP BY region |> WHERE q > 0 |> ORDER BY q DESC, region |> LIMIT 2
%%
FROM shops |> SET area = 0 |> DROP city |> AS s |> JOIN sales f ON f.shop = s.shop |> AGGREGATE count(*) GROUP BY s.name
%%
FROM shops |> SELECT shop |> UNION ALL (SELECT shop FROM sales) |> WHERE shop > 4
%%
FROM sales |> SELECT region, item, qty |> PIVOT (sum(qty) FOR item IN ('pen', 'ink'))
%%
FROM shops |> TABLESAMPLE (100 PERCENT) |> AGGREGATE max(area)
%%
FROM sales |> SELECT DISTINCT region |> AGGREGATE count(*) AS n
%%
FROM shops |> UNPIVOT (v FOR k IN (name, city)) |> AGGREGATE count(*) GROUP BY k
%%%% named by text
%%
SELECT count(*) FROM IDENTIFIER('lake.corpus.sales') WHERE region = 'north'
%%
SELECT IDENTIFIER('region'), sum(qty) FROM sales GROUP BY IDENTIFIER('region')
%%
SELECT IDENTIFIER('up' || 'per')(region) AS r, count(*) FROM sales GROUP BY ALL
%%
SELECT * FROM IDENTIFIER('sh' || 'ops') AS s WHERE s.shop = 1
%%%% writing
%%

  -- a comment in front
  /* and /* a nested */ one */ SELECT region, count(*) -- behind
  FROM sales /* inside */ GROUP BY region;
%%
select Region, SUM(Qty) from sales group by REGION
%%
SELECT region, count(*) FROM sales GROUP BY region;;
%%
SELECT/**/region,sum(qty)FROM sales GROUP BY(region)
%%
SELECT count(*) FROM sales --
WHERE region = 'north' -- ;
%%
SELECT region, '-- no comment /* nor this */' AS c, count(*) FROM sales GROUP BY region
%%
SELECT region AS `a.b`, count(*) AS `back``tick` FROM sales GROUP BY region
%%
SELECT count(*) AS select_, sum(qty) AS `from`, max(qty) AS end FROM sales
%%
SELECT region AS date, count(*) AS timestamp, sum(qty) AS year FROM sales GROUP BY region
%%
SELECT `sum(qty)` + 1 FROM (SELECT sum(qty) FROM sales)
%%
SELECT 'déjà', '名', '𝄞' AS `ключ`, count(*) FROM sales
%%
SELECT region	,count(*)
FROM
sales
GROUP	BY
region
%%%% over the cubes
%%
SELECT region, item, count(*) AS n, avg(weight) AS w FROM sales GROUP BY region, item
%% ordered
SELECT item, max(price) - min(price) AS spread FROM sales WHERE shop IN (1, 2, 3) GROUP BY item ORDER BY item
%%
SELECT shop, sum(qty) FROM sales WHERE region IN ('north', 'east') AND ok GROUP BY shop
%%
SELECT min(day), max(day) FROM sales WHERE item = 'ink'
%%
SELECT region, sum(CASE WHEN ok THEN qty ELSE 0 END) AS good FROM sales GROUP BY region
%%
SELECT item, ok, sum(price) AS p FROM sales WHERE day < DATE '2024-02-15' GROUP BY item, ok HAVING sum(price) > 10
%% ordered
SELECT region, sum(weight) AS w FROM sales GROUP BY region ORDER BY w DESC, region LIMIT 2
%%
SELECT s.city, max(f.qty) AS m FROM sales f JOIN shops s ON f.shop = s.shop WHERE f.region = 'west' GROUP BY s.city
%%
SELECT a.region, a.q, b.n FROM (SELECT region, sum(qty) AS q FROM sales GROUP BY region) a JOIN (SELECT region, count(*) AS n FROM sales WHERE ok GROUP BY region) b ON a.region = b.region
%%
SELECT count(DISTINCT region), count(DISTINCT item) FROM sales
%%
SELECT max(q) FROM (SELECT shop, sum(qty) AS q FROM sales GROUP BY shop)
%%
SELECT coalesce(item, '?') AS i, count(qty) AS n FROM sales WHERE shop > 2 GROUP BY coalesce(item, '?')
%%
SELECT day, count(*) FROM sales WHERE day BETWEEN DATE '2024-01-10' AND DATE '2024-01-20' GROUP BY day
%%
SELECT region, max(qty) FROM sales GROUP BY region UNION ALL SELECT item, max(qty) FROM sales GROUP BY item
