-- cube: a star by inner join
SELECT f.g, d.name, d.region, f.k, count(*) n, sum(f.v) sv, count(f.v) cv, count(d.region) cr, sum(f.n) sn
FROM f JOIN d ON f.k = d.k GROUP BY f.g, d.name, d.region, f.k;

-- title: the same join
-- expect: answers
SELECT d.region, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY d.region;

-- title: the same join, tables and equality turned round
-- expect: answers
SELECT region, sum(v) s FROM d, f WHERE d.k = f.k GROUP BY region;

-- title: the join left out
-- expect: answers [complete d; unique d]
SELECT g, sum(v) s, count(*) n FROM f GROUP BY g;

-- title: a key of the dimension for the fact's
-- expect: answers
SELECT d.k, count(*) n FROM f JOIN d ON f.k = d.k WHERE d.k > 3 GROUP BY d.k;

-- title: a left join needs every key to be found
-- expect: answers [complete d]
SELECT region, sum(v) s FROM f LEFT JOIN d ON f.k = d.k GROUP BY region;

-- title: T31 the dimension's key under a left join isn't the fact's
-- expect: answers [complete d]
SELECT f.k, count(d.region) c FROM f LEFT JOIN d ON f.k = d.k GROUP BY f.k;

-- title: a left join with more in its ON
-- expect: answers [complete d; unique d]
SELECT count(*) n FROM f LEFT JOIN d ON f.k = d.k AND d.region = 'r0';

-- title: a left join with more in WHERE
-- expect: answers [complete d]
SELECT count(*) n FROM f LEFT JOIN d ON f.k = d.k WHERE d.region = 'r0';

-- title: an inner join with more in its ON
-- expect: answers
SELECT count(*) n FROM f JOIN d ON f.k = d.k AND d.region = 'r0';

-- title: another equality
-- expect: column_not_in_cube
SELECT count(*) n FROM f JOIN d ON f.i = d.k;

-- title: no equality at all
-- expect: answers [complete d; unique d]
SELECT count(*) n FROM f CROSS JOIN d;

-- title: T33 the fact is null-supplying
-- expect: fact_null_supplying
SELECT d.name, count(f.k) n FROM d LEFT JOIN f ON f.k = d.k GROUP BY d.name;

-- title: T33 the fact is null-supplying by a right join
-- expect: fact_null_supplying
SELECT count(*) n FROM f RIGHT JOIN d ON f.k = d.k;

-- title: a right join is a left join turned round
-- expect: answers [complete d]
SELECT region, sum(v) s FROM d RIGHT JOIN f ON f.k = d.k GROUP BY region;

-- title: a right join of more than two tables
-- expect: join_unsupported
SELECT count(*) n FROM d RIGHT OUTER JOIN f ON f.k = d.k JOIN o ON d.ok = o.ok;

-- title: USING
-- expect: answers
SELECT k, region, count(*) n FROM f JOIN d USING (k) WHERE k > 2 GROUP BY k, region;

-- title: USING, the tables turned round
-- expect: answers
SELECT k, f.g, count(*) n FROM d INNER JOIN f USING (k) GROUP BY k, f.g;

-- title: USING of a left join: the bare name is the left table's
-- expect: answers [complete d]
SELECT k, f.k fk, count(*) n FROM f LEFT JOIN d USING (k) GROUP BY k, f.k;

-- title: USING of a left join: the other column by its table
-- expect: answers [complete d]
SELECT k, d.k dk, count(*) n FROM f LEFT JOIN d USING (k) GROUP BY k, d.k;

-- title: USING of a right join: the bare name is the right table's
-- expect: answers [complete d]
SELECT k, count(d.k) n FROM d RIGHT JOIN f USING (k) GROUP BY k;

-- title: USING of a name that only one table has
-- expect: column_unknown
SELECT count(*) n FROM f JOIN d USING (g);

-- title: USING of a name that two tables have before it
-- expect: name_ambiguous
SELECT count(*) n FROM f, t JOIN d USING (k);

-- title: USING of a full join
-- expect: join_unsupported
SELECT count(*) n FROM f FULL JOIN d USING (k);

-- title: a natural join
-- expect: join_unsupported
SELECT count(*) n FROM f NATURAL JOIN d;

-- title: a full join
-- expect: join_unsupported
SELECT count(*) n FROM f FULL JOIN d ON f.k = d.k;

-- title: an anti join
-- expect: join_unsupported
SELECT count(*) n FROM f LEFT ANTI JOIN d ON f.k = d.k;

-- title: T34 the dimension alone
-- expect: fact_not_in_query
SELECT region, count(*) n FROM d GROUP BY region;

-- title: the dimension twice
-- expect: answers [complete d; unique d]
SELECT count(*) n FROM f JOIN d a ON f.k = a.k JOIN d b ON f.k = b.k;

-- title: one more table
-- expect: answers [complete d; unique d]
SELECT count(*) n FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok;

-- title: a comma before JOIN … ON, which sees every table before it
-- expect: answers [complete d; unique d]
SELECT count(*) n FROM f, o JOIN d ON f.k = d.k AND d.ok = o.ok;

-- cube: a star by left join
SELECT f.g, d.region, f.k, count(*) n, sum(f.v) sv, count(d.name) cn
FROM f LEFT JOIN d ON f.k = d.k GROUP BY f.g, d.region, f.k;

-- title: the same left join
-- expect: answers
SELECT region, count(*) n, count(d.name) c FROM f LEFT JOIN d ON f.k = d.k GROUP BY region;

-- title: the left join left out
-- expect: answers [unique d]
SELECT g, sum(v) s FROM f GROUP BY g;

-- title: T6 an inner join needs every key to be found
-- expect: answers [complete d]
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k GROUP BY region;

-- title: T2 rows without a partner
-- expect: answers
SELECT count(*) n FROM f LEFT JOIN d ON f.k = d.k WHERE region IS NULL;

-- title: T31 the dimension's key isn't stored under a left join
-- expect: answers [unique d]
SELECT d.k, count(*) n FROM f LEFT JOIN d ON f.k = d.k GROUP BY d.k;

-- cube: a join that multiplies
SELECT f.g, t.tag, count(*) n, sum(f.v) sv FROM f JOIN t ON f.k = t.k GROUP BY f.g, t.tag;

-- title: USING
-- expect: answers
SELECT tag, sum(v) s FROM f JOIN t USING (k) GROUP BY tag;

-- title: itself
-- expect: answers
SELECT tag, sum(v) s FROM f JOIN t ON f.k = t.k GROUP BY tag;

-- title: rolled up, still multiplied
-- expect: answers
SELECT count(*) n FROM f JOIN t ON f.k = t.k WHERE g = 'a';

-- cube: a snowflake
SELECT f.g, d.region, o.land, count(*) n, sum(f.v) sv
FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok GROUP BY f.g, d.region, o.land;

-- title: all of it
-- expect: answers
SELECT land, sum(v) s FROM f, d, o WHERE f.k = d.k AND d.ok = o.ok GROUP BY land;

-- title: without its outer table
-- expect: answers [complete o; unique o]
SELECT region, sum(v) s FROM f JOIN d ON f.k = d.k GROUP BY region;

-- title: the fact alone
-- expect: answers [complete d o; unique d o]
SELECT g, sum(v) s FROM f GROUP BY g;

-- title: a comma and then JOIN … ON what stands before the comma
-- expect: answers
SELECT land, sum(v) s FROM d, o JOIN f ON d.k = f.k WHERE d.ok = o.ok GROUP BY land;

-- title: JOIN … ON and then a comma
-- expect: answers
SELECT land, sum(v) s FROM f JOIN d ON d.k = f.k, o WHERE d.ok = o.ok GROUP BY land;

-- title: USING twice
-- expect: answers
SELECT land, sum(v) s FROM f JOIN d USING (k) JOIN o USING (ok) WHERE region = 'r0' GROUP BY land;

-- title: the outer table without the one between
-- expect: answers [complete d o; unique d o]
SELECT count(*) n FROM f, o;

-- cube: a filtered join
SELECT f.g, d.region, count(*) n, sum(f.v) sv FROM f JOIN d ON f.k = d.k AND d.name = 'n1' GROUP BY f.g, d.region;

-- title: the same filter
-- expect: answers
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k WHERE name = 'n1' GROUP BY region;

-- title: without the filter
-- expect: predicate_not_implied
SELECT region, count(*) n FROM f JOIN d ON f.k = d.k GROUP BY region;

-- title: without the filtered table
-- expect: join_not_counted
SELECT g, count(*) n FROM f GROUP BY g;

-- cube: a left join by USING
SELECT k, d.region, count(*) n, sum(f.v) sv FROM f LEFT JOIN d USING (k) GROUP BY k, d.region;

-- title: the same join by ON, and turned round
-- expect: answers
SELECT region, sum(v) s FROM d RIGHT JOIN f ON d.k = f.k WHERE f.k > 1 GROUP BY region;

-- title: the hidden column isn't the bare one
-- expect: answers [unique d]
SELECT count(*) n FROM f LEFT JOIN d USING (k) WHERE d.k > 1;
