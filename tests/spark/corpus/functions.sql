%%%% literals
%%
SELECT 1Y, 2S, 3, 4L, 5.5, 6e2, 7D, 8.25F, 9BD, -10, 0.1 + 0.2, 1e-3BD
%%
SELECT DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00.5', TIMESTAMP_NTZ '2024-02-29 01:02:03', TIMESTAMP_LTZ '2024-02-29 00:00:00+02:00'
%%
SELECT X'CAFE', x'00', true, FALSE, NULL, 'a' 'b' "c"
%%
SELECT 'tab\there', r'raw\n', R"raw ""x", 'it\'s', "it's", 'it''s', '\u00e9\x41', 'per\%cent\_'
%%
SELECT CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING), INTERVAL '3 04:05:06.7' DAY TO SECOND, INTERVAL 5 DAYS, INTERVAL -'7' HOUR
%%
SELECT INTERVAL 1 DAY 2 HOURS + INTERVAL '3' MINUTE, DATE '2024-01-31' + INTERVAL 1 MONTH, TIMESTAMP '2024-03-10 00:00:00' - INTERVAL '36' HOUR
%%
SELECT 9223372036854775807, -9223372036854775808L, 99999999999999999999, 1.7976931348623157E308
%%
SELECT array(1, 2, 3)[1], map('a', 1, 'b', 2)['b'], struct(1 AS x, 'y' AS y).y, named_struct('p', 1.5).p
%%
SELECT CAST('12' AS INT), '3.5'::DOUBLE, CAST(1 AS STRING) || '!', try_cast('x' AS INT), CAST(NULL AS DATE)
%%
SELECT sum(qty) + 1Y, max(price) * 2BD, count(*) / 3D, min(day) + INTERVAL 1 DAY FROM sales
%%
SELECT 7 DIV 2, 7 % 4, -7 % 4, 5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 4, 256 >> 2, -1 >>> 60, !true
%%
SELECT region, sum(qty) DIV 7 AS d, sum(qty) % 7 AS m, count(*) & 3 AS a, count(*) << 1 AS s FROM sales GROUP BY region
%%
SELECT 1 = 1.0, 2 <> 3, 2 != 2, NULL <=> NULL, 'a' < 'b', 3 BETWEEN 1 AND 5, 2 == 2
%%
SELECT CAST('inf' AS DOUBLE), CAST('NaN' AS FLOAT), -0.0, 0.0D = -0.0D, double('NaN') = double('NaN')
%%%% texts
%%
SELECT upper(item), lower(region), length(item), trim(BOTH 'p' FROM item), substring(item FROM 2 FOR 2), overlay(item PLACING '#' FROM 1 FOR 1), position('n' IN item) FROM sales WHERE id < 10
%%
SELECT substr(item, 1, 2) AS s, count(*) FROM sales GROUP BY substr(item, 1, 2)
%%
SELECT concat(region, '/', item) AS k, sum(qty) FROM sales GROUP BY concat(region, '/', item)
%%
SELECT coalesce(region, 'none') AS r, count(*) FROM sales GROUP BY coalesce(region, 'none')
%%
SELECT regexp_replace('a1b22', '[0-9]+', '#'), regexp_extract('k=v', '(\\w)=(\\w)', 2), regexp_count('abab', 'ab'), split('a,b,c', ','), split_part('a.b.c', '.', 2)
%%
SELECT lpad('7', 3, '0'), rpad('x', 3), repeat('ab', 2), reverse('abc'), initcap('one two'), translate('abc', 'ac', 'xy'), replace('aXa', 'X', '-'), left('abc', 2), right('abc', 1), ascii('A'), chr(66)
%%
SELECT base64('x'), unbase64('eA=='), hex(255), unhex('FF'), md5('a'), sha2('a', 256), crc32('a'), hash('a', 1), xxhash64('a')
%%
SELECT format_number(12345.678, 2), format_string('%d-%s', 5, 'x'), printf('%05.1f', 2.5D), soundex('Robert'), levenshtein('kitten', 'sitting')
%%
SELECT startswith(item, 'p') AS s, contains(item, 'n') AS c, endswith(item, 'k') AS e, count(*) FROM sales GROUP BY ALL
%%
SELECT char_length('äö'), octet_length('äö'), bit_length('a'), find_in_set('b', 'a,b'), instr('hello', 'l'), locate('l', 'hello', 4), space(2) || '|', to_char(1234.5, '9,999.9'), to_number('$12', '$99')
%%
SELECT 'a' COLLATE UTF8_LCASE = 'A', collation('x' COLLATE UNICODE_CI), 'b' COLLATE UTF8_BINARY
%%
SELECT upper(region) COLLATE UTF8_LCASE AS r, count(*) FROM sales GROUP BY upper(region) COLLATE UTF8_LCASE
%%
SELECT item COLLATE UTF8_LCASE AS i, sum(qty) FROM sales GROUP BY item COLLATE UTF8_LCASE
%%
SELECT count(*) FROM sales WHERE region COLLATE UTF8_LCASE = 'NORTH'
%%
SELECT region, max(item COLLATE UTF8_LCASE) FROM sales GROUP BY region
%%%% times
%%
SELECT year(day) AS y, quarter(day) AS q, count(*) FROM sales GROUP BY year(day), quarter(day)
%%
SELECT date_trunc('MONTH', at) AS m, sum(qty) FROM sales GROUP BY date_trunc('MONTH', at)
%%
SELECT trunc(day, 'MM') AS m, sum(price) FROM sales GROUP BY trunc(day, 'MM')
%%
SELECT EXTRACT(MONTH FROM day) AS m, count(*) FROM sales GROUP BY EXTRACT(MONTH FROM day)
%%
SELECT extract(dow FROM DATE '2024-02-29'), date_part('week', DATE '2024-02-29'), dayofyear(DATE '2024-12-31'), last_day(DATE '2024-02-01'), next_day(DATE '2024-02-29', 'MON'), weekday(DATE '2024-02-29')
%%
SELECT date_add(day, 1), date_sub(day, 1), datediff(day, DATE '2024-01-01'), add_months(day, 1), months_between(day, DATE '2024-01-01'), day - DATE '2024-01-01' FROM sales WHERE id < 5
%%
SELECT dateadd(HOUR, 5, TIMESTAMP '2024-01-01 00:00:00'), timestampdiff(MINUTE, TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-01 01:30:00'), date_diff(DAY, DATE '2024-01-01', DATE '2024-02-01')
%%
SELECT to_date('2024-03-05'), to_timestamp('05/03/2024', 'dd/MM/yyyy'), date_format(TIMESTAMP '2024-03-05 06:07:08', 'yyyy-MM-dd HH:mm'), unix_timestamp('2024-01-01 00:00:00'), from_unixtime(0), make_date(2024, 1, 2), make_timestamp(2024, 1, 2, 3, 4, 5.6)
%%
SELECT from_utc_timestamp(TIMESTAMP '2024-07-01 00:00:00', 'Europe/Paris'), to_utc_timestamp(TIMESTAMP '2024-07-01 00:00:00', 'Asia/Tokyo'), convert_timezone('UTC', 'America/New_York', TIMESTAMP_NTZ '2024-01-01 00:00:00')
%%
SELECT window.start AS s, count(*) FROM sales GROUP BY window(at, '30 days')
%%
SELECT window_time(w) AS t, q FROM (SELECT window(at, '60 days') AS w, sum(qty) AS q FROM sales GROUP BY 1)
%%
SELECT min(at), max(ntz), max(at) - min(at) AS span FROM sales
%%
SELECT count(*) FROM sales WHERE at >= '2024-02-01' AND ntz < TIMESTAMP_NTZ '2024-03-01 00:00:00'
%%
SELECT region, count(*) FROM sales WHERE day BETWEEN '2024-01-15' AND '2024-02-15' GROUP BY region
%%
SELECT DATE '2024-01-01' + make_interval(0, 1, 0, 2), DATE '2024-01-01', make_dt_interval(1, 2), CAST(make_ym_interval(1, 2) AS STRING), abs(INTERVAL '-1' DAY)
%%
SELECT sum(INTERVAL '1' DAY * qty) AS s FROM sales
%% raises UNSUPPORTED_TIME_TYPE
SELECT TIME '12:34:56.789', hour(TIME '01:02:03'), CAST('05:06' AS TIME(0))
%%%% collections
%%
SELECT transform(array(1, 2, 3), x -> x * 2), transform(array(5, 6), (x, i) -> x + i), filter(array(1, NULL, 3), x -> x IS NOT NULL), aggregate(array(1, 2, 3), 0, (a, x) -> a + x, a -> a * 10)
%%
SELECT exists(array(1, 2), x -> x > 1), forall(array(1, 2), x -> x > 1), zip_with(array(1, 2), array(3, 4), (x, y) -> x * y), array_sort(array(3, 1, 2), (a, b) -> CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END)
%%
SELECT map_filter(map('a', 1, 'b', 2), (k, v) -> v > 1), transform_values(map('a', 1), (k, v) -> v + 1), transform_keys(map('a', 1), (k, v) -> upper(k)), map_zip_with(map('a', 1), map('a', 2), (k, x, y) -> x + y)
%%
SELECT id, transform(tags, t -> upper(t)) AS u, size(tags) AS n, array_contains(tags, 't1') AS c, cardinality(attrs) AS m FROM sales WHERE id < 15
%%
SELECT region, transform(collect_list(qty), q -> q * 0) AS z, size(collect_list(qty)) AS n FROM sales GROUP BY region
%%
SELECT map_keys(map(1, 'a')), map_values(map(1, 'a')), map_entries(map(1, 'a')), map_from_arrays(array(1), array('b')), map_concat(map(1, 'a'), map(2, 'b')), str_to_map('a:1,b:2')
%%
SELECT array_distinct(array(1, 1)), array_union(array(1), array(2)), array_except(array(1, 2), array(2)), array_join(array('a', 'b'), '-'), flatten(array(array(1), array(2))), slice(array(1, 2, 3), 2, 2), sequence(DATE '2024-01-01', DATE '2024-03-01', INTERVAL 1 MONTH), arrays_zip(array(1), array('a')), array_repeat('x', 2), sort_array(array(2, 1), false)
%%
SELECT sum(info.a) AS s, max(info.b) AS b FROM sales
%%
SELECT info.b, count(*) FROM sales GROUP BY info.b
%%
SELECT tags[0] AS t, sum(qty) FROM sales GROUP BY tags[0]
%%
SELECT tags, count(*) FROM sales GROUP BY tags
%%
SELECT try_element_at(array(1), 5), get(array(1), 9), array_position(array('a'), 'a'), array_max(array(1, 3)), array_compact(array(1, NULL)), array_append(array(1), 2), array_insert(array(1, 3), 2, 2)
%%%% documents
%%
SELECT from_json('{"a": 1, "b": [true]}', 'a INT, b ARRAY<BOOLEAN>') AS j, to_json(struct(1 AS a, NULL AS b)), get_json_object('{"x": {"y": 7}}', '$.x.y'), schema_of_json('{"a": 1.5}'), json_array_length('[1,2]'), json_object_keys('{"k": 1}')
%%
SELECT get_json_object(js, '$.k') AS k, sum(qty) FROM sales GROUP BY get_json_object(js, '$.k')
%%
SELECT from_json(js, 'k STRING').k AS k, count(*) FROM sales GROUP BY 1
%%
SELECT from_csv('1,x', 'a INT, b STRING'), to_csv(struct(1, 'x')), schema_of_csv('1,x')
%%
SELECT from_xml('<r><a>1</a></r>', 'a INT'), xpath_string('<r><a>q</a></r>', 'r/a'), to_xml(named_struct('a', 1)), schema_of_xml('<r><a>1</a></r>')
%%
SELECT variant_get(parse_json('{"a": {"b": 3}}'), '$.a.b', 'int') AS b, try_parse_json('{bad') IS NULL AS bad, is_variant_null(parse_json('null')) AS n, schema_of_variant(parse_json('{"a": 1}')) AS s
%%
SELECT parse_json('{"a": [1, "x"]}'):a[1]::string AS a
%%
SELECT CAST(parse_json(js):k AS STRING) AS k, sum(qty) FROM sales GROUP BY CAST(parse_json(js):k AS STRING)
%%
SELECT to_json(struct(region, count(*))) AS j FROM sales GROUP BY region
%%%% numbers
%%
SELECT round(2.5), bround(2.5), ceil(1.2), floor(-1.2), abs(-3), sqrt(16), power(2, 10), exp(0), ln(1), log10(1000), pmod(-7, 3), sign(-2), greatest(1, NULL, 3), least(4, 2), width_bucket(5, 0, 10, 5), factorial(5), cbrt(27), hypot(3, 4), conv('ff', 16, 10), bin(5)
%%
SELECT round(avg(weight), 3) AS w, ceil(avg(price)) AS p, floor(sum(weight)) AS f FROM sales
%%
SELECT nvl(NULL, 1), nvl2(1, 'a', 'b'), ifnull(NULL, 'x'), nullif(1, 1), if(1 > 2, 'y', 'n'), decode(2, 1, 'one', 2, 'two', 'many'), zeroifnull(NULL), nullifzero(0)
%%
SELECT try_add(2147483647, 1), try_divide(1, 0), try_subtract(1, 2), try_multiply(2, 3), try_to_number('x', '9'), try_mod(5, 0)
%%
SELECT shop % 2 AS odd, sum(qty) FROM sales GROUP BY shop % 2
%%
SELECT bit_count(7), bitmap_bucket_number(1), shiftleft(1, 3), getbit(5, 0), typeof(1.5BD), typeof(array(map(1, 'a')))
%%
SELECT typeof(sum(qty)), typeof(avg(price)), typeof(sum(price)), typeof(count(*)), typeof(avg(weight)) FROM sales
%% loose
SELECT rand(), randn(), uuid(), current_timestamp(), current_date(), now(), monotonically_increasing_id(), spark_partition_id(), random(5)
%% loose
SELECT region, rand() AS r, count(*) FROM sales GROUP BY region
%% loose
SELECT current_user(), user(), session_user(), version(), current_timezone(), input_file_name()
%%
SELECT current_catalog(), current_database(), current_schema(), count(*) FROM sales
%% loose
SELECT shuffle(array(1, 2, 3)), unix_timestamp(), localtimestamp() FROM shops
%%
SELECT count(*) FROM sales WHERE rand() >= 0
%%
SELECT equal_null(NULL, NULL), assert_true(true), luhn_check('79927398713'), is_valid_utf8('a'), reflect('java.lang.Math', 'abs', -1)
%%%% called otherwise
%%
SELECT mask('AbC-12', lowerChar => 'l', digitChar => '9'), mask(max(region), upperChar => 'U') FROM sales
%% raises UNRESOLVED_ROUTINE
SELECT system.builtin.upper('x')
%%
SELECT hll_sketch_estimate(hll_sketch_agg(shop)) AS e, bitmap_count(bitmap_construct_agg(bitmap_bit_position(id))) AS b FROM sales
%%
SELECT histogram_numeric(qty, 2) IS NOT NULL AS h, approx_top_k(region, 2) IS NOT NULL AS k FROM sales
%%
SELECT regr_slope(qty, shop) AS s, regr_count(qty, shop) AS n, kurtosis(qty) AS k FROM sales
%%
SELECT lake.system.iceberg_version() IS NOT NULL AS v, lake.system.bucket(16, 'x') AS b, lake.system.truncate(10, 25) AS t, lake.system.years(DATE '2024-01-01') AS y
%%
SELECT region, lake.system.bucket(4, region) AS b, count(*) FROM sales GROUP BY region, lake.system.bucket(4, region)
%%
SELECT raise_error('never') FROM shops WHERE shop < 0
%%
SELECT interval_col + INTERVAL 1 DAY FROM VALUES (INTERVAL 2 DAYS) AS t(interval_col)
