-- cube: a star by inner join, without the key
SELECT f.g, f.i, d.name, d.region, d.ok, count(*) n, sum(f.v) sv, count(DISTINCT f.v) dv, min(f.w) mw
FROM f JOIN d ON f.k = d.k GROUP BY f.g, f.i, d.name, d.region, d.ok;

-- title: a semi join
-- expect: answers
SELECT g, count(*) n, sum(v) s FROM f LEFT SEMI JOIN d ON f.k = d.k GROUP BY g;

-- title: without the word LEFT, with USING
-- expect: answers
SELECT g, count(*) n FROM f SEMI JOIN d USING (k) GROUP BY g;

-- title: a predicate in its ON
-- expect: answers
SELECT count(*) n, min(w) w FROM f LEFT SEMI JOIN d ON d.region = 'r1' AND d.k = f.k AND f.i < 2;

-- title: a predicate that NULL may pass
-- expect: answers
SELECT g, sum(v) s FROM f LEFT SEMI JOIN d ON f.k = d.k AND d.region IS NULL GROUP BY g;

-- title: IN
-- expect: answers
SELECT g, count(*) n FROM f WHERE k IN (SELECT k FROM d) GROUP BY g;

-- title: IN under a predicate of its own, beside another
-- expect: answers
SELECT i, count(DISTINCT v) c FROM f WHERE g = 'a' AND (k IN (SELECT DISTINCT d.k FROM d WHERE region = 'r0' OR ok = 2)) GROUP BY i;

-- title: EXISTS
-- expect: answers
SELECT g, count(*) n FROM f WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k) GROUP BY g;

-- title: EXISTS under a predicate of its own
-- expect: answers
SELECT sum(v) s FROM f WHERE EXISTS (SELECT * FROM d x WHERE f.k = x.k AND region IN ('r1', 'r2')) AND g <> 'b';

-- title: SELECT EXISTS over IN
-- expect: answers
SELECT EXISTS (SELECT 1 FROM f WHERE k IN (SELECT k FROM d WHERE region = 'none')) e;

-- title: a key that stands twice
-- expect: semi_not_unique
SELECT g, count(*) n FROM f WHERE k IN (SELECT k FROM t) GROUP BY g;

-- title: a part of the key's table that is no key
-- expect: semi_not_unique
SELECT g, count(*) n FROM f WHERE i IN (SELECT ok FROM d) GROUP BY g;

-- title: a table that the cube has once
-- expect: table_not_in_cube
SELECT count(*) n FROM f WHERE k IN (SELECT k FROM d) AND EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND region = 'r1');

-- title: a key that the cube doesn't join by
-- expect: column_not_in_cube
SELECT count(*) n FROM f WHERE v IN (SELECT k FROM d);

-- title: another of the cube's keys
-- expect: answers [complete d; unique d]
SELECT count(*) n FROM f WHERE i IN (SELECT k FROM d);

-- cube: the fact alone, by its key
SELECT g, k, i, count(*) n, sum(v) s FROM f GROUP BY g, k, i;

-- title: a dimension that the cube hasn't
-- expect: answers
SELECT g, count(*) n FROM f WHERE k IN (SELECT k FROM d) GROUP BY g;

-- cube: a snowflake
SELECT f.g, d.region, o.land, count(*) n, sum(f.v) sv FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok GROUP BY f.g, d.region, o.land;

-- title: a semi join from a dimension
-- expect: answers
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k LEFT SEMI JOIN o ON o.ok = d.ok AND land = 'x' GROUP BY region;

-- title: IN of a dimension's column
-- expect: answers
SELECT region, count(*) n FROM f JOIN d USING (k) WHERE d.ok IN (SELECT ok FROM o WHERE land <> 'x') GROUP BY region;

-- title: a semi join, then a left join
-- expect: join_differs
SELECT g, count(*) n FROM f LEFT SEMI JOIN d ON f.k = d.k LEFT JOIN o ON f.i = o.ok GROUP BY g;

-- cube: a left join below an inner one
SELECT f.g, d.region, o.land, count(*) n, sum(f.v) sv FROM f LEFT JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok GROUP BY f.g, d.region, o.land;

-- title: a semi join by a column that may be padded
-- expect: answers
SELECT region, count(*) n FROM f LEFT JOIN d ON f.k = d.k LEFT SEMI JOIN o ON o.ok = d.ok GROUP BY region;

-- title: EXISTS by a column that may be padded
-- expect: answers
SELECT region, sum(v) s FROM f LEFT JOIN d ON f.k = d.k WHERE EXISTS (SELECT 1 FROM o WHERE o.ok = d.ok AND land IS NULL) GROUP BY region;

-- cube: a left join beside an inner one
SELECT f.g, d.region, o.land, count(*) n, sum(f.v) sv FROM f JOIN o ON f.i = o.ok LEFT JOIN d ON f.k = d.k GROUP BY f.g, d.region, o.land;

-- title: a semi join before a left one
-- expect: answers
SELECT region, count(*) n FROM f LEFT SEMI JOIN o ON f.i = o.ok AND land = 'x' LEFT JOIN d ON f.k = d.k GROUP BY region;

-- title: a semi join behind a left one
-- expect: answers
SELECT region, count(*) n FROM f LEFT JOIN d ON f.k = d.k LEFT SEMI JOIN o ON f.i = o.ok AND land = 'x' GROUP BY region;

-- title: IN above a left join
-- expect: answers
SELECT region, count(*) n FROM f LEFT JOIN d ON f.k = d.k WHERE i IN (SELECT ok FROM o) GROUP BY region;

-- title: a semi join by a left one's ON
-- expect: answers
SELECT d.region, sum(v) s FROM d RIGHT JOIN f ON d.k = f.k WHERE f.i IN (SELECT ok FROM o WHERE land = 'y') GROUP BY d.region;
