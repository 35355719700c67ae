-- cube: by month of a date
SELECT trunc(dt, 'MM') m, g, count(*) n, sum(v) sv, count(v) cv FROM f GROUP BY trunc(dt, 'MM'), g;

-- title: the month under Spark's other words
-- expect: answers
SELECT trunc(dt, 'MONTH') m, sum(v) FROM f GROUP BY trunc(dt, 'MONTH') ORDER BY m;

-- title: quarters and years of months
-- expect: answers
SELECT trunc(dt, 'QUARTER') q, year(dt) y, count(*) FROM f GROUP BY trunc(dt, 'QUARTER'), year(dt);

-- title: parts that a month has
-- expect: answers
SELECT year(dt) y, quarter(dt) q, month(dt) m, extract(MONTH FROM dt) e, sum(v) s FROM f
GROUP BY year(dt), quarter(dt), month(dt), extract(MONTH FROM dt);

-- title: as a timestamp
-- expect: answers
SELECT date_trunc('MONTH', dt) m, date_trunc('year', dt) y, count(v) FROM f GROUP BY date_trunc('MONTH', dt), date_trunc('year', dt);

-- title: a week lies in no month
-- expect: column_not_in_cube
SELECT trunc(dt, 'WEEK') w, count(*) FROM f GROUP BY trunc(dt, 'WEEK');

-- title: days aren't told
-- expect: column_not_in_cube
SELECT day(dt) d, count(*) FROM f GROUP BY day(dt);

-- title: whole months by the date itself
-- expect: answers
SELECT g, sum(v), count(*) FROM f WHERE dt >= DATE '2020-01-01' AND dt < DATE '2020-03-01' GROUP BY g;

-- title: last days of months
-- expect: answers
SELECT g, sum(v), count(*) FROM f WHERE dt > DATE '2019-12-31' AND dt <= '2020-02-29' GROUP BY g;

-- title: BETWEEN, from the other side, and not
-- expect: answers
SELECT count(*) FROM f WHERE dt BETWEEN '2020-01-01' AND '2020-01-31' OR NOT (DATE '2020-04-01' > dt);

-- title: a month begun
-- expect: column_not_in_cube
SELECT count(*) FROM f WHERE dt >= DATE '2020-01-02';

-- title: a single day
-- expect: column_not_in_cube
SELECT count(*) FROM f WHERE dt = DATE '2020-02-01';

-- title: a day is no bound of its month
-- expect: column_not_in_cube
SELECT count(*) FROM f WHERE dt <= DATE '2020-02-01';

-- title: NULL is a bucket
-- expect: answers
SELECT count(*), sum(v) FROM f WHERE (dt < DATE '2020-02-01') IS NOT TRUE;

-- title: truncated on both sides
-- expect: answers
SELECT count(*) FROM f WHERE trunc(dt, 'MM') = trunc(DATE '2020-02-20', 'MM') AND date_trunc('MONTH', dt) >= '2020-02-01';

-- title: a condition of an aggregate
-- expect: answers
SELECT sum(v) FILTER (WHERE dt >= DATE '2020-02-01') a, count(CASE WHEN month(dt) < 3 THEN v END) b FROM f;

-- cube: by day of a timestamp
SELECT CAST(ts AS DATE) d, count(*) n, sum(v) sv, count(v) cv FROM f GROUP BY CAST(ts AS DATE);

-- title: the day in other words
-- expect: answers
SELECT date(ts) a, to_date(ts) b, date_trunc('DD', ts) c, count(*) FROM f GROUP BY date(ts), to_date(ts), date_trunc('DD', ts);

-- title: all that days lie in
-- expect: answers
SELECT year(ts) y, month(ts) m, day(ts) d, weekofyear(ts) w, dayofweek(ts) dw, dayofyear(ts) dy, trunc(ts, 'WEEK') tw, date_trunc('MON', ts) tm, sum(v) s
FROM f GROUP BY year(ts), month(ts), day(ts), weekofyear(ts), dayofweek(ts), dayofyear(ts), trunc(ts, 'WEEK'), date_trunc('MON', ts);

-- title: hours aren't told
-- expect: column_not_in_cube
SELECT hour(ts) h, count(*) FROM f GROUP BY hour(ts);

-- title: midnights
-- expect: answers
SELECT count(*), sum(v) FROM f WHERE ts >= TIMESTAMP '2020-01-31 00:00:00' AND ts < '2020-02-29';

-- title: the last microsecond of a day
-- expect: answers
SELECT count(*), sum(v) FROM f WHERE ts > TIMESTAMP '2020-01-30 23:59:59.999999' AND ts <= '2020-02-29 23:59:59.999999';

-- title: midnight itself isn't the day
-- expect: column_not_in_cube
SELECT count(*), sum(v) FROM f WHERE ts <= '2020-02-29';

-- cube: by hour of a timestamp
SELECT date_trunc('HOUR', ts) h, count(*) n, sum(v) sv, count(v) cv FROM f GROUP BY date_trunc('HOUR', ts);

-- title: hours, days and weeks of hours
-- expect: answers
SELECT hour(ts) h, date(ts) d, date_trunc('WEEK', ts) w, sum(v) s FROM f GROUP BY hour(ts), date(ts), date_trunc('WEEK', ts);

-- title: minutes aren't told
-- expect: column_not_in_cube
SELECT minute(ts) m, count(*) FROM f GROUP BY minute(ts);

-- title: days by a cast
-- expect: answers
SELECT count(*) FROM f WHERE CAST(ts AS DATE) BETWEEN '2020-01-31' AND '2020-02-01' AND hour(ts) = 12;

-- cube: by week
SELECT date_trunc('WEEK', ts) w, trunc(dt, 'WEEK') dw, count(*) n FROM f GROUP BY date_trunc('WEEK', ts), trunc(dt, 'WEEK');

-- title: a week's number
-- expect: answers
SELECT weekofyear(ts) w, extract(WEEK FROM dt) d, count(*) FROM f GROUP BY weekofyear(ts), extract(WEEK FROM dt);

-- title: a week isn't of one year
-- expect: column_not_in_cube
SELECT year(ts) y, count(*) FROM f GROUP BY year(ts);

-- title: from a Monday on
-- expect: answers
SELECT count(*) FROM f WHERE ts >= '2019-12-30' AND dt < DATE '2020-03-30';

-- title: from a Tuesday on
-- expect: column_not_in_cube
SELECT count(*) FROM f WHERE ts >= '2019-12-31';

-- cube: by year and month
SELECT year(dt) y, month(dt) m, year(ts) ty, count(*) n, sum(v) sv, count(v) cv FROM f GROUP BY year(dt), month(dt), year(ts);

-- title: the quarter of a month
-- expect: answers
SELECT quarter(dt) q, sum(v) FROM f GROUP BY quarter(dt);

-- title: months of years are compared as pairs
-- expect: answers
SELECT count(*), sum(v) FROM f WHERE dt >= DATE '2020-02-01' AND dt < DATE '2020-05-01';

-- title: pairs, in three-valued logic
-- expect: answers
SELECT count(*), sum(v) FROM f WHERE NOT (dt <= DATE '2020-01-31') OR (dt > '2020-12-31') IS NULL;

-- title: years alone
-- expect: answers
SELECT count(*), sum(v) FROM f WHERE dt < DATE '2021-01-01' AND ts >= '2020-01-01';

-- title: a year says nothing of months
-- expect: column_not_in_cube
SELECT count(*) FROM f WHERE ts >= '2020-02-01';

-- title: a truncation isn't made of parts
-- expect: column_not_in_cube
SELECT trunc(dt, 'MM') m, count(*) FROM f GROUP BY trunc(dt, 'MM');
