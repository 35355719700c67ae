-- cube: states of every sort over three dimensions and a date
SELECT g, k, dt, x, count(*) n, sum(v) sv, count(v) cv, min(v) lv, max(c) hc, count(DISTINCT v) dv, sum(n) sn, count(n) cn
FROM f GROUP BY g, k, dt, x;

-- title: GROUPING SETS
-- expect: answers
SELECT g, k, count(*) n, sum(v) s, min(v) l FROM f GROUP BY GROUPING SETS ((g, k), (g), k, ());

-- title: ROLLUP
-- expect: answers
SELECT g, k, sum(v) s, avg(v) a, count(DISTINCT v) d FROM f GROUP BY ROLLUP (g, k);

-- title: CUBE
-- expect: answers
SELECT g, k, year(dt) y, count(v) n FROM f GROUP BY CUBE (g, k, year(dt));

-- title: several keys at once in a ROLLUP
-- expect: answers
SELECT g, k, dt, count(*) n FROM f GROUP BY ROLLUP ((g, k), dt);

-- title: lists multiply
-- expect: answers
SELECT g, k, dt, count(*) n FROM f GROUP BY g, ROLLUP (k, dt);

-- title: sets of sets
-- expect: answers
SELECT g, k, dt, max(c) m FROM f GROUP BY GROUPING SETS (ROLLUP (g, k), (dt));

-- title: which keys a set lacks
-- expect: answers
SELECT g, grouping(g) gg, grouping(k) gk, grouping_id(g, k) i, count(*) n FROM f GROUP BY CUBE (g, k);

-- title: in HAVING and ORDER BY
-- expect: answers
SELECT g, k, sum(v) s FROM f GROUP BY ROLLUP (g, k) HAVING grouping(k) = 1 OR sum(v) > 3 ORDER BY grouping(g), g, k;

-- title: named where it's NULL for want of its key
-- expect: answers
SELECT CASE WHEN grouping(g) = 1 THEN 'all' ELSE coalesce(g, 'none') END t, sum(v) s FROM f GROUP BY ROLLUP (g);

-- title: aggregates see a key before it's taken away
-- expect: answers
SELECT g, k, count(DISTINCT k) d, sum(k) s, max(g) m, count(g) c FROM f GROUP BY GROUPING SETS ((g), (k), ());

-- title: a set twice
-- expect: block_unsupported
SELECT g, count(*) n FROM f GROUP BY GROUPING SETS ((g), (g));

-- title: a key twice
-- expect: block_unsupported
SELECT g, count(*) n FROM f GROUP BY ROLLUP (g, g);

-- title: no key at all
-- expect: block_unsupported
SELECT count(*) n FROM f GROUP BY GROUPING SETS (());

-- title: by a constant
-- expect: block_unsupported
SELECT g, count(*) n FROM f GROUP BY ROLLUP (g, 'x');

-- title: grouping without sets
-- expect: block_unsupported
SELECT g, grouping(g) n FROM f GROUP BY g;

-- title: grouping of no key
-- expect: block_unsupported
SELECT g, grouping(k) n, count(*) FROM f GROUP BY ROLLUP (g);

-- title: a column that no dimension is
-- expect: column_not_in_cube
SELECT g, h, count(*) n FROM f GROUP BY ROLLUP (g, h);
