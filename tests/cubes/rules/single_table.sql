-- cube: one table, three dimensions
SELECT g, k, dt, count(*) n, sum(v) sv, count(v) cv, min(v) lo, max(w) hi, sum(w) sw, sum(c) sc, count(c) cc,
       count(DISTINCT v) dv, count(DISTINCT c) dc, stddev(v) sd, bool_and(b) ba, bool_or(b) bo, sum(n) sn,
       sum(v) FILTER (WHERE b) fv, count_if(b) cb
FROM f GROUP BY g, k, dt;

-- title: the cube's own grouping
-- expect: answers
SELECT g, k, dt, count(*) n, sum(v) s FROM f GROUP BY g, k, dt;

-- title: a coarser grouping
-- expect: answers
SELECT g, sum(v) s, count(v) c, min(v) l, max(w) h FROM f GROUP BY g;

-- title: a text compared with a number is cast, which may raise on a row
-- expect: may_raise
SELECT k, count(*) n FROM f WHERE g = 1 GROUP BY k;

-- title: and a list of numbers
-- expect: may_raise
SELECT k, count(*) n FROM f WHERE g IN (1, 2) OR k = 3 GROUP BY k;

-- title: a number compared with a text that is one
-- engine: spark
-- expect: answers
SELECT g, count(*) n FROM f WHERE k = '1' GROUP BY g;

-- title: a number compared with a text that is none
-- expect: may_raise
SELECT g, count(*) n FROM f WHERE k = 'x' GROUP BY g;

-- title: a text compared with a number inside FILTER
-- expect: may_raise
SELECT k, count(*) FILTER (WHERE g = 1) n FROM f GROUP BY k;

-- title: a text compared with a number inside CASE
-- expect: may_raise
SELECT k, count(CASE WHEN g = 1 THEN v END) n FROM f GROUP BY k;

-- title: T3 a scalar aggregate over nothing is one row, counts 0, sums NULL
-- expect: answers
SELECT count(*) n, count(v) c, sum(v) s, min(v) l, avg(v) a, count(DISTINCT v) d FROM f WHERE g = 'none';

-- title: T3 a group that doesn't exist is no row
-- expect: answers
SELECT k, count(*) n, sum(v) s FROM f WHERE g = 'none' GROUP BY k;

-- title: T4 count(*) isn't count of a nullable column
-- expect: answers
SELECT count(*) n, count(v) c FROM f;

-- title: T5 count of a column without a stored count
-- expect: aggregate_not_in_cube
SELECT count(w) c FROM f;

-- title: T9 avg leaves NULLs out
-- expect: answers
SELECT g, avg(v) a FROM f GROUP BY g;

-- title: T10 count and count distinct of one column
-- expect: answers
SELECT g, count(DISTINCT v) d, count(v) c FROM f GROUP BY g;

-- title: T11 avg of distinct values
-- expect: aggregate_unsupported
SELECT avg(DISTINCT v) a FROM f;

-- title: T12 distinct counts don't add up
-- expect: answers
SELECT count(DISTINCT v) d FROM f;

-- title: T12 a distinct count of a column that is only counted
-- expect: aggregate_not_in_cube
SELECT count(DISTINCT n) d FROM f;

-- title: T13 aggregates of a grouping key are weighted by rows
-- expect: answers
SELECT count(k) c, sum(k) s, avg(k) a, min(k) l, max(k) h, count(DISTINCT k) d FROM f;

-- title: T13 the same, grouped by the key itself
-- expect: answers
SELECT k, count(k) c, sum(k) s, avg(k) a FROM f GROUP BY k;

-- title: T14 no aggregate: duplicates would be lost
-- expect: no_aggregate
SELECT g, k FROM f;

-- title: T14 DISTINCT doesn't mind duplicates
-- expect: answers
SELECT DISTINCT g, k FROM f;

-- title: T18 grouping sets
-- expect: answers
SELECT g, k, count(*) n FROM f GROUP BY GROUPING SETS ((g), (k));

-- title: T18 rollup
-- expect: answers
SELECT g, count(*) n FROM f GROUP BY ROLLUP (g);

-- title: T20 a constant key gives no row over nothing
-- expect: answers
SELECT 'a' z, count(*) n FROM f WHERE g = 'none' GROUP BY z;

-- title: T20 a number as key is no position
-- expect: answers
SELECT 7 z, g, count(*) n FROM f GROUP BY z, g;

-- title: T20 DISTINCT of a number
-- expect: answers
SELECT DISTINCT 3 z, g FROM f;

-- title: T21 a scalar aggregate over the cube's own key
-- expect: answers
SELECT count(dt) c FROM f;

-- title: T22 a scalar aggregate rolls up to one row
-- expect: answers
SELECT sum(v) s, max(w) h FROM f;

-- title: T23 an equality predicate on a key that is grouped by stays a filter
-- expect: answers
SELECT k, count(*) n FROM f WHERE k = 1 GROUP BY k;

-- title: T24 one expression twice
-- expect: answers
SELECT sum(v) a, sum(v) b, g x, g y FROM f GROUP BY g;

-- title: T25 a predicate on a dimension itself
-- expect: answers
SELECT count(*) n FROM f WHERE dt BETWEEN DATE'2020-01-31' AND DATE'2020-02-01';

-- title: T35 NOT over dimensions, NULL being neither
-- expect: answers
SELECT count(*) n FROM f WHERE NOT (g = 'a' AND k > 2);

-- title: T1 NOT IN with a NULL is never true
-- expect: answers
SELECT count(*) n FROM f WHERE k NOT IN (1, NULL);

-- title: OR across dimensions
-- expect: answers
SELECT count(*) n FROM f WHERE g = 'a' OR k IS NULL OR dt > '2020-02-01';

-- title: T43 the current date isn't folded
-- expect: expression_unsupported
SELECT count(*) n FROM f WHERE dt < current_date();

-- title: T47 a sample
-- expect: block_unsupported
SELECT count(*) n FROM f TABLESAMPLE (10 PERCENT);

-- title: T48 a limit below the aggregate
-- expect: block_unsupported
SELECT count(*) n FROM (SELECT * FROM f LIMIT 3) z;

-- title: a limit above it
-- expect: answers
SELECT g, count(*) m FROM f GROUP BY g ORDER BY m DESC, g LIMIT 2;

-- title: ORDER BY an aggregate that isn't selected
-- expect: answers
SELECT g FROM f GROUP BY g ORDER BY max(w) DESC NULLS LAST, g LIMIT 2;

-- title: HAVING
-- expect: answers
SELECT g, sum(v) s FROM f GROUP BY g HAVING count(*) > 2 AND sum(v) IS NOT NULL;

-- title: HAVING without GROUP BY
-- expect: answers
SELECT count(*) n FROM f HAVING count(*) > 1000;

-- title: a predicate on a column that is no dimension
-- expect: column_not_in_cube
SELECT count(*) n FROM f WHERE h = 'p';

-- title: a key that is no dimension
-- expect: column_not_in_cube
SELECT h, count(*) n FROM f GROUP BY h;

-- title: a metadata column
-- expect: expression_unsupported
SELECT count(*) n FROM f WHERE _file = 'x';

-- title: parts of a date
-- expect: answers
SELECT year(dt) y, quarter(dt) q, month(dt) m, day(dt) d, sum(w) s FROM f GROUP BY year(dt), quarter(dt), month(dt), day(dt);

-- title: computed keys
-- expect: answers
SELECT CASE WHEN k > 4 THEN 'high' WHEN k IS NULL THEN 'none' ELSE 'low' END z, count(*) n FROM f GROUP BY 1;

-- title: COALESCE as key
-- expect: answers
SELECT coalesce(g, '?') z, sum(c) s FROM f GROUP BY coalesce(g, '?');

-- title: LIKE on a dimension
-- expect: answers
SELECT count(*) n FROM f WHERE g LIKE '_' AND g LIKE 'a%';

-- title: a stored filter
-- expect: answers
SELECT g, sum(v) FILTER (WHERE b) s, coalesce(count_if(b), 0) c FROM f GROUP BY g;

-- title: another filter than the stored one
-- expect: column_not_in_cube
SELECT sum(v) FILTER (WHERE h = 'p') s FROM f;

-- title: a filter over dimensions
-- expect: answers
SELECT g, sum(v) FILTER (WHERE k = 1) s, count(*) FILTER (WHERE dt > '2020-01-31') c, avg(v) FILTER (WHERE k > 2) a FROM f GROUP BY g;

-- title: a distinct count under a filter over dimensions
-- expect: answers
SELECT count(DISTINCT v) FILTER (WHERE k < 4) d FROM f;

-- title: count_if over dimensions
-- expect: answers
SELECT g, count_if(k > 3) c FROM f GROUP BY g;

-- title: count_if with a filter counts rows where both hold
-- expect: answers
SELECT g, coalesce(count_if(k > 3) FILTER (WHERE dt > '2020-01-31'), 0) c FROM f GROUP BY g;

-- title: count_if of what is stored, under a filter over dimensions
-- expect: column_not_in_cube
SELECT count_if(b) FILTER (WHERE k = 1) c FROM f;

-- title: a distinct count of a constant is left to Spark
-- expect: aggregate_unsupported
SELECT count(DISTINCT 1) d FROM f;

-- title: count of NULL
-- expect: answers
SELECT count(NULL) c, count(1) d FROM f;

-- title: the only value of a dimension
-- expect: answers
SELECT g, any_value(g) a, first(k) FILTER (WHERE k = 1) b FROM f GROUP BY g;

-- title: first of a double, whose zeros have signs
-- expect: aggregate_unsupported
SELECT first(x) a FROM f;

-- title: a median has no state
-- expect: aggregate_not_in_cube
SELECT g, median(v) m, sum(v) s FROM f GROUP BY g;

-- title: a window
-- expect: expression_unsupported
SELECT sum(v) OVER () x FROM f;

-- title: QUALIFY, CTE, set operation
-- expect: block_unsupported
SELECT count(*) n FROM f UNION ALL SELECT count(*) n FROM f;

-- title: a join that the cube lacks
-- expect: answers
SELECT count(*) n FROM f JOIN d ON f.k = d.k;

-- title: the fact joined with itself
-- expect: answers
SELECT count(*) n FROM f a JOIN f b ON a.k = b.k;

-- title: T34 another table alone
-- expect: fact_not_in_query
SELECT count(*) n FROM d;

-- title: adjacent literals mean something else to Spark
-- expect: expression_unsupported
SELECT count(*) n FROM f WHERE g = 'it''s';

-- title: moments
-- expect: answers
SELECT g, stddev(v) a, stddev_pop(v) b, variance(v) c, var_pop(v) d FROM f GROUP BY g;

-- title: booleans
-- expect: answers
SELECT k, bool_and(b) x, bool_or(b) y FROM f GROUP BY k;

-- title: a predicate that can raise isn't moved to cells
-- expect: may_raise
SELECT count(*) n FROM f WHERE k + 1 > 3;

-- title: Spark's other words for aggregates
-- expect: answers
SELECT k, mean(v) a, stddev_samp(v) c, var_samp(v) d FROM f GROUP BY k;

-- title: words for aggregates that the parser knows and Spark doesn't
-- expect: parse_failed
SELECT approx_distinct(v) a FROM f;

-- title: a path behind an alias
-- expect: column_unknown
SELECT sum(s.f.v) s FROM s.f AS z;

-- title: a query in FROM that only selects
-- expect: answers
SELECT count(*) n FROM (SELECT * FROM f) x;

-- title: a CTE that only renames
-- expect: block_unsupported
WITH z AS (SELECT g AS a, v AS b FROM f) SELECT a, sum(b) s FROM z GROUP BY a;

-- title: a computed output
-- expect: answers
SELECT g, sum(v) + count(*) * 2 z FROM f GROUP BY g;

-- cube: only some rows
SELECT g, k, count(*) n, sum(v) sv FROM f WHERE k >= 2 AND g IN ('a', 'b') GROUP BY g, k;

-- title: the same predicate
-- expect: answers
SELECT sum(v) s FROM f WHERE k >= 2 AND g IN ('a', 'b');

-- title: a narrower one
-- expect: answers
SELECT count(*) n FROM f WHERE k > 3 AND g = 'b';

-- title: the other way round, and between
-- expect: answers
SELECT count(*) n FROM f WHERE 2 <= k AND k BETWEEN 1 AND 5 AND 'a' = g;

-- title: a wider one
-- expect: predicate_not_implied
SELECT count(*) n FROM f WHERE k >= 1 AND g = 'a';

-- title: an open bound less
-- expect: answers
SELECT count(*) n FROM f WHERE k > 2 AND g = 'a';

-- title: a bound by a fraction
-- expect: predicate_not_implied
SELECT count(*) n FROM f WHERE k > 1.5 AND g = 'a';

-- title: no predicate
-- expect: predicate_not_implied
SELECT count(*) n FROM f;

-- title: OR isn't narrower
-- expect: predicate_not_implied
SELECT count(*) n FROM f WHERE (k > 2 AND g = 'a') OR g = 'b';

-- title: NULL in the list
-- expect: answers
SELECT count(*) n FROM f WHERE k = 5 AND g IN ('a', NULL) AND g = 'a';

-- cube: floats
SELECT x, g, count(*) n FROM f GROUP BY x, g;

-- title: a floating key, bare
-- expect: answers
SELECT g, count(*) n FROM f WHERE x = 0 GROUP BY g;

-- title: a range of a floating dimension
-- expect: expression_not_proven
SELECT count(*) n FROM f WHERE x > 0;

-- title: a function of a floating dimension
-- expect: expression_not_proven
SELECT x + 1 z, count(*) n FROM f GROUP BY x + 1;

-- cube: sums and counts of whole numbers
SELECT g, k, count(*) n, sum(v) s, sum(w) t, min(v) m FROM f GROUP BY g, k;

-- title: integer division of aggregates
-- expect: answers
SELECT g, sum(v) div count(*) AS q, sum(w) div 7 AS r, (min(v) - 1) div 2 AS t FROM f GROUP BY g;

-- cube: sums of decimals by dimensions that are numbers
SELECT g, i, n, count(*) rows, sum(c) sc, count(c) cc, sum(v) sv, count(v) cv FROM f GROUP BY g, i, n;

-- title: a constant times a decimal
-- expect: answers
SELECT g, sum(c * 1.5) AS a, sum(2 * c) AS b, sum(-1.0 * c) AS d, sum(0.001 * c) AS e FROM f GROUP BY g;

-- title: a constant added to a decimal
-- expect: answers
SELECT g, sum(c + 1) AS a, sum(c - 0.125) AS b, sum(7 - c) AS d, sum(1.5 + c) AS e FROM f GROUP BY g;

-- title: both, and means of them
-- expect: answers
SELECT g, sum(c * 1.1 + 3) AS a, sum(2 * (c - 1.5)) AS b, sum(1 - c * 0.5) AS d FROM f WHERE n > -2 GROUP BY g;

-- title: dimensions times a decimal, and added to it
-- expect: answers
SELECT g, sum(c * i) AS a, sum(c + i) AS b, sum(i - c) AS d, sum(c * (n + 1.5)) AS e FROM f GROUP BY g;

-- title: integers may be too large in a row
-- expect: aggregate_not_in_cube
SELECT g, sum(v * 2) AS a FROM f GROUP BY g;

-- title: a product of two that are no dimensions
-- expect: aggregate_not_in_cube
SELECT g, sum(c * v) AS a FROM f GROUP BY g;

-- title: digits that may be too many
-- expect: aggregate_not_in_cube
SELECT g, sum(c * 123456789012345678.9) AS a FROM f GROUP BY g;

-- cube: a decimal's sum alone
SELECT g, i, sum(c) sc FROM f GROUP BY g, i;

-- title: a product needs no count
-- expect: answers
SELECT g, sum(c * 1.5) AS a, sum(i * c) AS b FROM f GROUP BY g;

-- title: a shifted sum does
-- expect: aggregate_not_in_cube
SELECT g, sum(c + 1) AS a FROM f GROUP BY g;
