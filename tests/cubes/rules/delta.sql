-- cube: the fact alone, by its keys
SELECT k, g, i, dt, count(*) n, sum(v) sv, count(v) cv, min(w) mw, max(x) mx, sum(c) sc, count(DISTINCT v) dv, avg(x) ax, stddev(v) sd
FROM f GROUP BY k, g, i, dt;

-- title: a dimension by a key that the cube groups by
-- expect: answers
SELECT region, count(*) n, sum(v) s, min(w) w FROM f JOIN d ON f.k = d.k GROUP BY region;

-- title: a predicate on it, and no attribute
-- expect: answers
SELECT g, sum(v) s, avg(x) a, stddev(v) sd FROM f JOIN d ON f.k = d.k WHERE d.region = 'r0' OR d.ok = 2 GROUP BY g;

-- title: constants that are computed
-- expect: answers
SELECT g, sum(v) s FROM f JOIN d ON f.k = d.k WHERE d.ok IN (1, 1 + 1, 4 - 1) OR d.ok BETWEEN -(2 * 2) AND 7 - 7 GROUP BY g;

-- title: a constant that leaves its type
-- expect: table_not_in_cube
SELECT g, sum(v) s FROM f JOIN d ON f.k = d.k WHERE d.ok < 2147483647 + 1 GROUP BY g;

-- title: a snowflake
-- expect: answers
SELECT land, count(*) n, max(x) m, count(DISTINCT v) c FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok GROUP BY land;

-- title: the dimension in two roles
-- expect: answers
SELECT a.region, b.name, count(*) n FROM f JOIN d a ON f.k = a.k JOIN d b ON f.i = b.k WHERE a.name <> b.name GROUP BY a.region, b.name;

-- title: two outputs of one name
-- expect: answers
SELECT a.name, b.name, count(*) n FROM f JOIN d a ON f.k = a.k JOIN d b ON f.i = b.k GROUP BY a.name, b.name ORDER BY a.name;

-- title: which ORDER BY can't mean
-- expect: name_ambiguous
SELECT a.name, b.name, count(*) n FROM f JOIN d a ON f.k = a.k JOIN d b ON f.i = b.k GROUP BY a.name, b.name ORDER BY name;

-- title: a join that multiplies
-- expect: answers
SELECT tag, count(*) n, sum(v) s, avg(x) a, stddev(v) sd, count(DISTINCT v) c, sum(c) t FROM f JOIN t ON f.k = t.k GROUP BY tag;

-- title: a left join
-- expect: answers
SELECT region, count(*) n, count(d.name) c, sum(v) s FROM f LEFT JOIN d ON f.k = d.k GROUP BY region;

-- title: a left join with more in its ON, and what it lacks
-- expect: answers
SELECT g, count(*) n, count(d.k) c FROM f LEFT JOIN d ON f.k = d.k AND d.region = 'r1' AND f.i > 1 WHERE d.name IS NULL OR d.name > 'n0' GROUP BY g;

-- title: a left join that multiplies, beside an inner one
-- expect: answers
SELECT tag, region, count(*) n, sum(v) s FROM f LEFT JOIN t ON f.k = t.k JOIN d ON f.k = d.k GROUP BY tag, region;

-- title: a right join is a left join turned round
-- expect: answers
SELECT region, sum(v) s FROM d RIGHT JOIN f ON f.k = d.k GROUP BY region;

-- title: by no equality
-- expect: answers
SELECT region, count(*) n, sum(v) s FROM f JOIN d ON f.k < d.ok GROUP BY region;

-- title: every pair
-- expect: answers
SELECT d.name, count(*) n FROM f CROSS JOIN d GROUP BY d.name;

-- title: IN, whose right side has each key once
-- expect: answers
SELECT g, sum(v) s FROM f WHERE k IN (SELECT k FROM d WHERE region = 'r0') GROUP BY g;

-- title: EXISTS
-- expect: answers
SELECT count(*) n FROM f WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND name = 'n1');

-- title: aggregates of the dimension
-- expect: answers
SELECT g, max(d.name) m, min(d.k) k, count(d.region) c, sum(d.ok) s, avg(d.ok) a, count(DISTINCT d.region) dr FROM f JOIN d ON f.k = d.k GROUP BY g;

-- title: of a left join's
-- expect: answers
SELECT g, max(d.name) m, count(d.region) c, sum(d.ok) s, count(*) n FROM f LEFT JOIN d ON f.k = d.k GROUP BY g;

-- title: a filter on the dimension in an aggregate
-- expect: answers
SELECT sum(v) FILTER (WHERE region = 'r0') s, sum(CASE WHEN d.ok > 0 THEN v END) t, count_if(region IS NULL) c FROM f JOIN d ON f.k = d.k;

-- title: a CASE over both
-- expect: answers
SELECT CASE WHEN g = 'a' THEN region ELSE g END x, count(*) n FROM f JOIN d ON f.k = d.k GROUP BY CASE WHEN g = 'a' THEN region ELSE g END;

-- title: ROLLUP over both
-- expect: answers
SELECT region, g, grouping(region) r, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY ROLLUP (region, g);

-- title: HAVING and ORDER BY
-- expect: answers
SELECT name, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY name HAVING count(*) > 2 ORDER BY name;

-- title: a condition over both
-- expect: answers
SELECT count(*) n FROM f JOIN d ON f.k = d.k WHERE f.g = d.region OR f.i > d.ok;

-- title: the fact's own column isn't in the cube
-- expect: column_not_in_cube
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k WHERE b GROUP BY region;

-- title: joined by a column that the cube lacks
-- expect: column_not_in_cube
SELECT region, count(*) n FROM f JOIN d ON f.n = d.k GROUP BY region;

-- title: T5 a product of both
-- expect: table_not_in_cube
SELECT sum(v * d.ok) s FROM f JOIN d ON f.k = d.k;

-- title: a condition on the dimension that raises on some rows
-- expect: table_not_in_cube
SELECT count(*) n FROM f JOIN d ON f.k = d.k WHERE d.k / d.ok > 1;

-- title: the fact is null-supplying
-- expect: table_not_in_cube
SELECT d.name, count(f.k) n FROM d LEFT JOIN f ON f.k = d.k GROUP BY d.name;

-- title: the fact with itself
-- expect: answers
SELECT a.g, count(*) n, sum(b.v) s FROM f a JOIN f b ON a.k = b.k AND a.dt = b.dt GROUP BY a.g;

-- cube: a star that keeps its key
SELECT f.g, f.k, d.region, count(*) n, sum(f.v) sv FROM f JOIN d ON f.k = d.k GROUP BY f.g, f.k, d.region;

-- title: join back: an attribute that the cube hasn't
-- expect: answers [complete d; unique d]
SELECT d.name, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY d.name;

-- title: and one that it has
-- expect: answers [complete d; unique d]
SELECT d.name, d.region, count(*) n FROM f JOIN d ON f.k = d.k WHERE g = 'a' GROUP BY d.name, d.region;

-- title: one table more, by an attribute that the cube hasn't
-- expect: answers [complete d; unique d]
SELECT land, sum(v) s FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok GROUP BY land;

-- title: one table more, by one that it has
-- expect: answers
SELECT d.region, count(*) n FROM f JOIN d ON f.k = d.k JOIN t ON t.tag = d.region OR t.k = d.k GROUP BY d.region;

-- title: an aggregate of what it hasn't
-- expect: answers [complete d; unique d]
SELECT g, max(d.name) m FROM f JOIN d ON f.k = d.k GROUP BY g;

-- cube: a star that has no key
SELECT f.g, d.region, count(*) n, sum(f.v) sv FROM f JOIN d ON f.k = d.k GROUP BY f.g, d.region;

-- title: an attribute that the cube hasn't, and no key to find it by
-- expect: column_not_in_cube
SELECT d.name, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY d.name;

-- cube: of some rows
SELECT f.g, f.k, count(*) n, sum(f.v) sv FROM f WHERE f.i > 2 GROUP BY f.g, f.k;

-- title: under the same predicate
-- expect: answers
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k WHERE f.i > 2 GROUP BY region;

-- title: without it
-- expect: table_not_in_cube
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k GROUP BY region;

-- title: under it in a left join's ON, which leaves no row out
-- expect: table_not_in_cube
SELECT region, count(*) n FROM f LEFT JOIN d ON f.k = d.k AND f.i > 2 GROUP BY region;
