-- cube: states of every sort over three dimensions
SELECT g, k, dt, count(*) n, sum(v) sv, count(v) cv, min(v) lv, max(v) hv, sum(n) sn, count(n) cn, sum(w) sw, count(w) cw,
       max(w) hw, sum(c) sc, count(c) cc, min(c) lc, sum(x) sx, count(x) cx, max(x) hx, min(h) lh, count(h) ch,
       count(DISTINCT v) dv, count(DISTINCT h) dh, stddev(v) sd, bool_and(b) ba, bool_or(b) bo,
       sum(i) FILTER (WHERE b) fi, sum(CASE WHEN b THEN v ELSE 0 END) bv
FROM f GROUP BY g, k, dt;

-- title: sum of CASE over dimensions
-- expect: answers
SELECT sum(CASE WHEN k = 1 THEN v END) a, sum(CASE WHEN k > 1 THEN 1 ELSE 0 END) b FROM f;

-- title: a literal in ELSE is summed once a row
-- expect: answers
SELECT g, sum(CASE WHEN k = 1 THEN v ELSE 0 END) a, sum(CASE WHEN k = 1 THEN v ELSE -7 END) b FROM f GROUP BY g;

-- title: another column in ELSE
-- expect: answers
SELECT g, sum(CASE WHEN k = 1 THEN v ELSE n END) a FROM f GROUP BY g;

-- title: several WHENs, of which the first that is true wins
-- expect: answers
SELECT sum(CASE WHEN k > 5 THEN v WHEN k > 3 THEN 100 WHEN g = 'a' THEN n WHEN k > 4 THEN 1000 END) a,
       count(CASE WHEN k > 5 THEN v WHEN k > 3 THEN 100 WHEN g = 'a' THEN n WHEN k > 4 THEN 1000 END) b FROM f;

-- title: a NULL condition isn't true
-- expect: answers
SELECT sum(CASE WHEN k <> 1 THEN v ELSE 1 END) a, sum(CASE WHEN NOT (k <> 1) THEN v ELSE 1 END) b,
       count(CASE WHEN g = NULL THEN v ELSE n END) c FROM f;

-- title: CASE of a value, and IF
-- expect: answers
SELECT g, sum(CASE k WHEN 1 THEN v WHEN 2 THEN n ELSE 0 END) a, sum(if(k > 2, v, 0)) b, sum(if(k > 2, v, NULL)) c FROM f GROUP BY g;

-- title: counts of CASE: a literal counts rows, NULL counts nothing
-- expect: answers
SELECT g, count(CASE WHEN k = 1 THEN 1 END) a, count(CASE WHEN k = 1 THEN v ELSE 8 END) b,
       count(CASE WHEN k > 2 THEN v ELSE w END) c, count(CASE WHEN k > 2 THEN h END) d FROM f GROUP BY g;

-- title: least and greatest of CASE
-- expect: answers
SELECT g, min(CASE WHEN k > 2 THEN v ELSE 3 END) a, max(CASE WHEN k > 2 THEN v ELSE w END) b, min(CASE WHEN k > 2 THEN h ELSE 'pp' END) c,
       max(CASE WHEN k > 2 THEN v WHEN k IS NULL THEN k ELSE NULL END) d, max(CASE WHEN k > 2 THEN x ELSE 1 END) e FROM f GROUP BY g;

-- title: averages of CASE
-- expect: answers
SELECT g, avg(CASE WHEN k > 2 THEN v END) a, avg(CASE WHEN k > 2 THEN v ELSE 0 END) b, avg(CASE WHEN k > 2 THEN w ELSE v END) c,
       avg(CASE WHEN k > 2 THEN c ELSE 0 END) d, avg(CASE WHEN k > 2 THEN x ELSE 0.5 END) e FROM f GROUP BY g;

-- title: branches of several exact types
-- expect: answers
SELECT g, sum(CASE WHEN k > 2 THEN c ELSE 0 END) a, sum(CASE WHEN k > 2 THEN c WHEN k = 1 THEN 0.125 ELSE w END) b,
       min(CASE WHEN k > 2 THEN c ELSE 1.5 END) d, sum(CASE WHEN k > 2 THEN 2.5 ELSE 1 END) e FROM f GROUP BY g;

-- title: branches of floats and exact numbers
-- expect: answers
SELECT g, sum(CASE WHEN k > 2 THEN x ELSE 0 END) a, sum(CASE WHEN k > 2 THEN x ELSE v END) b, sum(CASE WHEN k > 2 THEN x ELSE -0.25 END) d FROM f GROUP BY g;

-- title: a dimension in a branch
-- expect: answers
SELECT g, sum(CASE WHEN dt > '2020-01-31' THEN k ELSE v END) a, count(CASE WHEN dt > '2020-01-31' THEN k ELSE v END) b,
       sum(CASE WHEN k > 2 THEN k + 1 ELSE v END) d FROM f GROUP BY g;

-- title: CASE within CASE
-- expect: answers
SELECT sum(CASE WHEN g = 'a' THEN CASE WHEN k > 3 THEN v ELSE 1 END WHEN g = 'b' THEN w ELSE 0 END) a FROM f;

-- title: a stored CASE, alone and within another
-- expect: answers
SELECT g, sum(CASE WHEN b THEN v ELSE 0 END) a, sum(CASE WHEN k > 2 THEN CASE WHEN b THEN v ELSE 0 END ELSE 5 END) b FROM f GROUP BY g;

-- title: sets, moments and booleans of CASE without a literal
-- expect: answers
SELECT g, count(DISTINCT CASE WHEN k > 2 THEN v END) a, count(DISTINCT CASE WHEN k > 2 THEN h END) b,
       stddev(CASE WHEN k > 2 THEN v END) c, bool_and(CASE WHEN k > 2 THEN b ELSE true END) d, bool_or(CASE WHEN k > 2 THEN b END) e FROM f GROUP BY g;

-- title: a set with a literal in ELSE
-- expect: aggregate_not_in_cube
SELECT count(DISTINCT CASE WHEN k > 2 THEN v ELSE 0 END) a FROM f;

-- title: a set over a wider type
-- expect: aggregate_not_in_cube
SELECT count(DISTINCT CASE WHEN k > 2 THEN v ELSE w END) a FROM f;

-- title: a spread with a literal in ELSE
-- expect: aggregate_not_in_cube
SELECT stddev(CASE WHEN k > 2 THEN v ELSE 0 END) a FROM f;

-- title: CASE under a filter over dimensions
-- expect: answers
SELECT g, sum(CASE WHEN k > 2 THEN v ELSE 1 END) FILTER (WHERE dt > '2020-01-31') a,
       count(CASE WHEN k > 2 THEN v ELSE 1 END) FILTER (WHERE dt > '2020-01-31') b FROM f GROUP BY g;

-- title: CASE over nothing
-- expect: answers
SELECT sum(CASE WHEN k = 1 THEN v ELSE 0 END) a, count(CASE WHEN k = 1 THEN v ELSE 0 END) b FROM f WHERE g = 'none';

-- title: a condition that isn't over dimensions
-- expect: column_not_in_cube
SELECT sum(CASE WHEN h = 'p' THEN v ELSE 0 END) a FROM f;

-- title: one of the conditions isn't over dimensions
-- expect: column_not_in_cube
SELECT sum(CASE WHEN k = 1 THEN v WHEN b THEN 1 ELSE 0 END) a FROM f;

-- title: a condition that can raise
-- expect: may_raise
SELECT sum(CASE WHEN k + 1 > 2 THEN v ELSE 0 END) a FROM f;

-- title: a branch whose sum isn't kept
-- expect: aggregate_not_in_cube
SELECT sum(CASE WHEN k = 1 THEN v ELSE i END) a FROM f;

-- title: a branch that computes
-- expect: aggregate_not_in_cube
SELECT sum(CASE WHEN k = 1 THEN v * 2 ELSE 0 END) a FROM f;

-- title: a filtered state isn't the branch's
-- expect: aggregate_not_in_cube
SELECT sum(CASE WHEN k = 1 THEN i END) a FROM f;

-- title: a number with too many digits to be weighted
-- expect: aggregate_not_in_cube
SELECT sum(CASE WHEN k = 1 THEN c ELSE 0.12345678901234567890 END) a FROM f;

-- title: branches whose common type would be clipped
-- expect: aggregate_unsupported
SELECT sum(CASE WHEN k = 1 THEN w ELSE 0.1234567890123456789 END) a FROM f;

-- title: branches without a common type
-- expect: aggregate_unsupported
SELECT max(CASE WHEN k = 1 THEN v ELSE 'x' END) a FROM f;

-- title: sums of wider casts
-- expect: answers
SELECT g, sum(CAST(v AS BIGINT)) a, avg(CAST(v AS DOUBLE)) b, max(CAST(w AS DOUBLE)) c, count(CAST(v AS BIGINT)) d FROM f GROUP BY g;

-- title: a distinct count of a wider cast
-- expect: aggregate_not_in_cube
SELECT count(DISTINCT CAST(v AS BIGINT)) a FROM f;

-- cube: a decimal dimension
SELECT c, k, count(*) n, sum(v) sv FROM f GROUP BY c, k;

-- title: a decimal dimension is weighted by rows
-- expect: answers
SELECT sum(c) a, avg(c) b, sum(CASE WHEN c > 1 THEN c ELSE v END) d FROM f;
