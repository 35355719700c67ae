-- cube: one sketch serves every percentage, within its accuracy
SELECT g, k, approx_percentile(v, 0.5, 1000) m, approx_percentile(v, 0.9, 100) n, approx_percentile(x, 0.5) mx,
       approx_percentile(w, 0.1, 500) FILTER (WHERE b) fw
FROM f GROUP BY g, k;

-- title: the cube's own percentage, coarser
-- expect: answers
SELECT g, approx_percentile(v, 0.5, 1000) p FROM f GROUP BY g;

-- title: any other percentage, and both names
-- expect: answers
SELECT g, percentile_approx(v, 0.05, 1000) a, approx_percentile(v, 0, 1000) b, approx_percentile(v, 1.0, 1000) c,
       approx_percentile(v, 75e-2, 1000) d FROM f GROUP BY g;

-- title: a coarser accuracy
-- expect: answers
SELECT approx_percentile(v, 0.25, 200) p FROM f;

-- title: a finer accuracy than the cube keeps
-- expect: aggregate_not_in_cube
SELECT approx_percentile(v, 0.5) p FROM f;

-- title: the accuracy that Spark takes by itself
-- expect: answers
SELECT approx_percentile(x, 0.5) p, approx_percentile(x, 0.5, 10000) q FROM f WHERE k = 3;

-- title: nothing at all is NULL
-- expect: answers
SELECT approx_percentile(x, 0.5) p, approx_percentile(v, 0, 10) q FROM f WHERE g = 'none';

-- title: a filter over dimensions
-- expect: answers
SELECT g, approx_percentile(v, 0.5, 1000) FILTER (WHERE k > 3) p FROM f GROUP BY g;

-- title: the cube's own filter
-- expect: answers
SELECT k, approx_percentile(w, 0.9, 500) FILTER (WHERE b) p FROM f GROUP BY k;

-- title: the count that goes with it
-- expect: answers
SELECT g, count(v) c, approx_percentile(v, 0.5, 10) p FROM f GROUP BY g;

-- title: a filter on what isn't a dimension
-- expect: column_not_in_cube
SELECT approx_percentile(v, 0.5, 1000) FILTER (WHERE n > 0) p FROM f;

-- title: filtered rows don't tell of all rows
-- expect: aggregate_not_in_cube
SELECT approx_percentile(w, 0.5, 500) p FROM f;

-- title: a dimension's values aren't weighted
-- expect: aggregate_not_in_cube
SELECT approx_percentile(k, 0.5) p FROM f;

-- title: an accuracy that no sketch reaches
-- expect: aggregate_unsupported
SELECT approx_percentile(v, 0.5, 20994) p FROM f;

-- title: a decimal has more digits than a sketch
-- expect: aggregate_unsupported
SELECT approx_percentile(c, 0.5) p FROM f;

-- title: several percentages at once
-- expect: aggregate_unsupported
SELECT approx_percentile(v, array(0.1, 0.9), 1000) p FROM f;

-- title: of distinct values
-- expect: aggregate_unsupported
SELECT approx_percentile(DISTINCT v, 0.5, 1000) p FROM f;
