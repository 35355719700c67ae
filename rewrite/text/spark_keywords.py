"""The words of Spark's SQL up to version 4.1: those of its grammar, and its functions.

Facts of Spark 4.1.4: the names of its lexer's tokens, what SHOW FUNCTIONS lists, and with how many
arguments it refuses a call of each. Promise: a word that isn't here is a mere identifier to its
grammar, or no function of a session that has no functions of its own.
`tests/spark/test_errors_at_once.py` asks Spark for all of them.
"""

from __future__ import annotations


def in_order(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


def words(text: str) -> frozenset[str]:
    """The same, as a set."""
    return frozenset(text.split())


LACKED_TYPES = frozenset(("time", "timestamp_ns", "timestamptz_ns"))
"""Iceberg's types that Spark has no type for: it refuses a table with a column of one."""
VERSION = (4, 1)
"""The newest release of which these are all words."""
KEYWORDS = words("""
    ADD AFTER AGGREGATE ALL ALTER ALWAYS ANALYZE AND ANTI ANY ANY_VALUE ARCHIVE ARRAY AS ASC AT
    ATOMIC AUTHORIZATION BEGIN BETWEEN BIGINT BINARY BINDING BOOLEAN BOTH BUCKET BUCKETS BY BYTE
    CACHE CALL CALLED CASCADE CASE CAST CATALOG CATALOGS CHANGE CHAR CHARACTER CHECK CLEAR
    CLUSTER CLUSTERED CODEGEN COLLATE COLLATION COLLECTION COLUMN COLUMNS COMMENT COMMIT COMPACT
    COMPACTIONS COMPENSATION COMPUTE CONCATENATE CONDITION CONSTRAINT CONTAINS CONTINUE COST
    CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATA
    DATABASE DATABASES DATE DATEADD DATEDIFF DATE_ADD DATE_DIFF DAY DAYOFYEAR DAYS DBPROPERTIES
    DEC DECIMAL DECLARE DEFAULT DEFINED DEFINER DELAY DELETE DELIMITED DESC DESCRIBE
    DETERMINISTIC DFS DIRECTORIES DIRECTORY DISTINCT DISTRIBUTE DIV DO DOUBLE DROP ELSE ELSEIF
    END ENFORCED ESCAPE ESCAPED EVOLUTION EXCEPT EXCHANGE EXCLUDE EXECUTE EXISTS EXIT EXPLAIN
    EXPORT EXTEND EXTENDED EXTERNAL EXTRACT FALSE FETCH FIELDS FILEFORMAT FILTER FIRST FLOAT FLOW
    FOLLOWING FOR FOREIGN FORMAT FORMATTED FOUND FROM FULL FUNCTION FUNCTIONS GENERATED GEOGRAPHY
    GEOMETRY GLOBAL GRANT GROUP GROUPING HANDLER HAVING HOUR HOURS IDENTIFIER IDENTITY IF IGNORE
    ILIKE IMMEDIATE IMPORT IN INCLUDE INCREMENT INDEX INDEXES INNER INPATH INPUT INPUTFORMAT
    INSERT INT INTEGER INTERSECT INTERVAL INTO INVOKER IS ITEMS ITERATE JOIN JSON KEY KEYS
    LANGUAGE LAST LATERAL LAZY LEADING LEAVE LEFT LEVEL LIKE LIMIT LINES LIST LOAD LOCAL LOCATION
    LOCK LOCKS LOGICAL LONG LOOP MACRO MAP MATCHED MATERIALIZED MAX MERGE MICROSECOND
    MICROSECONDS MILLISECOND MILLISECONDS MINUS MINUTE MINUTES MODIFIES MONTH MONTHS MSCK NAME
    NAMESPACE NAMESPACES NANOSECOND NANOSECONDS NATURAL NO NONE NORELY NOT NULL NULLS NUMERIC OF
    OFFSET ON ONLY OPTION OPTIONS OR ORDER OUT OUTER OUTPUTFORMAT OVER OVERLAPS OVERLAY OVERWRITE
    PARTITION PARTITIONED PARTITIONS PERCENT PIVOT PLACING POSITION PRECEDING PRIMARY PRINCIPALS
    PROCEDURE PROCEDURES PROPERTIES PURGE QUARTER QUERY RANGE READS REAL RECORDREADER
    RECORDWRITER RECOVER RECURSION RECURSIVE REDUCE REFERENCES REFRESH REGEXP RELY RENAME REPAIR
    REPEAT REPEATABLE REPLACE RESET RESPECT RESTRICT RETURN RETURNS REVOKE RIGHT RLIKE ROLE ROLES
    ROLLBACK ROLLUP ROW ROWS SCHEMA SCHEMAS SECOND SECONDS SECURITY SELECT SEMI SEPARATED SERDE
    SERDEPROPERTIES SESSION_USER SET SETS SHORT SHOW SINGLE SKEWED SMALLINT SOME SORT SORTED
    SOURCE SPECIFIC SQL SQLEXCEPTION SQLSTATE START STATISTICS STORED STRATIFY STREAM STREAMING
    STRING STRUCT SUBSTR SUBSTRING SYNC SYSTEM_TIME SYSTEM_VERSION TABLE TABLES TABLESAMPLE
    TARGET TBLPROPERTIES TEMP TEMPORARY TERMINATED THEN TIME TIMEDIFF TIMESTAMP TIMESTAMPADD
    TIMESTAMPDIFF TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT TO TOUCH TRAILING TRANSACTION TRANSACTIONS
    TRANSFORM TRIM TRUE TRUNCATE TRY_CAST TYPE UNARCHIVE UNBOUNDED UNCACHE UNION UNIQUE UNKNOWN
    UNLOCK UNPIVOT UNSET UNTIL UPDATE USE USER USING VALUE VALUES VAR VARCHAR VARIABLE VARIANT
    VERSION VIEW VIEWS VOID WATERMARK WEEK WEEKS WHEN WHERE WHILE WINDOW WITH WITHIN WITHOUT X
    YEAR YEARS ZONE
""")
"""What Spark's lexer has a token of its own for, reserved or not."""
FUNCTIONS = words("""
    abs acos acosh add_months aes_decrypt aes_encrypt aggregate and any any_value
    approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine approx_top_k_estimate array array_agg array_append array_compact
    array_contains array_distinct array_except array_insert array_intersect array_join array_max
    array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh avg
    base64 between bigint bin binary bit_and bit_count bit_get bit_length bit_or bit_xor
    bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count
    bitmap_or_agg bool_and bool_or boolean bround btrim cardinality case cast cbrt ceil ceiling
    char char_length character_length chr coalesce collate collation collations collect_list
    collect_set concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if
    count_min_sketch covar_pop covar_samp crc32 csc cume_dist curdate current_catalog
    current_database current_date current_schema current_time current_timestamp current_timezone
    current_user date date_add date_diff date_format date_from_unix_date date_part date_sub
    date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal
    decode degrees dense_rank div double e element_at elt encode endswith equal_null every exists
    exp explode explode_outer expm1 extract factorial filter find_in_set first first_value
    flatten float floor forall format_number format_string from_avro from_csv from_json
    from_protobuf from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest
    grouping grouping_id hash hex histogram_numeric hll_sketch_agg hll_sketch_estimate hll_union
    hll_union_agg hour hypot if ifnull ilike in initcap inline inline_outer
    input_file_block_length input_file_block_start input_file_name instr int is_valid_utf8
    is_variant_null isnan isnotnull isnull java_method json_array_length json_object_keys
    json_tuple kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
    kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint
    kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
    kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint
    kll_sketch_to_string_double kll_sketch_to_string_float kurtosis lag last last_day last_value
    lcase lead least left len length levenshtein like listagg ln localtimestamp locate log log10
    log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time
    make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map
    map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys
    map_values map_zip_with mask max max_by md5 mean median min min_by minute mod mode
    monotonically_increasing_id month monthname months_between named_struct nanvl negative
    next_day not now nth_value ntile nullif nullifzero nvl nvl2 octet_length or overlay
    parse_json parse_url percent_rank percentile percentile_approx percentile_cont
    percentile_disc pi pmod posexplode posexplode_outer position positive pow power printf
    python_worker_logs quarter quote radians raise_error rand randn random randstr range rank
    reduce reflect regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy repeat replace reverse right rint rlike round row_number rpad
    rtrim schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg
    schema_of_xml sec second sentences sequence session_user session_window sha sha1 sha2
    shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice
    smallint some sort_array soundex space spark_partition_id split split_part sql_keywords sqrt
    st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid stack startswith std stddev
    stddev_pop stddev_samp str_to_map string string_agg struct substr substring substring_index
    sum tan tanh theta_difference theta_intersection theta_intersection_agg theta_sketch_agg
    theta_sketch_estimate theta_union theta_union_agg time time_diff time_trunc timestamp
    timestamp_micros timestamp_millis timestamp_seconds tinyint to_avro to_binary to_char to_csv
    to_date to_json to_number to_protobuf to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp to_varchar to_variant_object to_xml transform
    transform_keys transform_values translate trim trunc try_add try_aes_decrypt try_avg
    try_divide try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url try_reflect
    try_subtract try_sum try_to_binary try_to_date try_to_number try_to_time try_to_timestamp
    try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 unhex uniform
    unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode
    user uuid validate_utf8 var_pop var_samp variance variant_explode variant_explode_outer
    variant_get version weekday weekofyear when width_bucket window window_time xpath
    xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short
    xpath_string xxhash64 year zeroifnull zip_with
""")
"""Spark's own, those of tables among them."""
ICEBERGS = frozenset(("bucket", "days", "hours", "iceberg_version", "months", "truncate", "years"))
"""Functions of an Iceberg catalog, found without its name where no namespace is current."""
ARGUMENTS: dict[str, frozenset[str]] = {
    "0": words("""
        cume_dist curdate current_catalog current_database current_schema current_timezone e
        input_file_block_length input_file_block_start input_file_name localtimestamp
        monotonically_increasing_id now pi row_number spark_partition_id version
    """),
    "1": words("""
        abs acos acosh array_agg array_compact array_distinct array_max array_min array_size
        ascii asin asinh atan atanh avg base64 bigint bin binary bit_and bit_count
        bit_length bit_or bit_xor bitmap_and_agg bitmap_bit_position bitmap_bucket_number
        bitmap_construct_agg bitmap_count bitmap_or_agg bool_and bool_or boolean cardinality
        cbrt char char_length character_length chr collation collect_list collect_set cos
        cosh cot count_if crc32 csc date date_from_unix_date day dayname dayofmonth
        dayofweek dayofyear degrees double exp expm1 factorial flatten float grouping hex
        hll_sketch_estimate initcap int is_valid_utf8 is_variant_null isnan isnotnull isnull
        json_array_length json_object_keys kll_sketch_get_n_bigint kll_sketch_get_n_double
        kll_sketch_get_n_float kll_sketch_to_string_bigint kll_sketch_to_string_double
        kll_sketch_to_string_float kurtosis last_day lcase len length ln log10 log1p log2
        lower luhn_check make_valid_utf8 map_entries map_from_entries map_keys map_values
        max md5 mean median min month monthname negative nullifzero octet_length parse_json
        percentile_cont percentile_disc positive quarter quote radians raise_error reverse
        rint schema_of_variant schema_of_variant_agg sec sha sha1 sign signum sin sinh size
        skewness smallint soundex space sqrt st_asbinary st_geogfromwkb st_geomfromwkb
        st_srid std stddev stddev_pop stddev_samp string sum tan tanh theta_intersection_agg
        theta_sketch_estimate time timestamp timestamp_micros timestamp_millis
        timestamp_seconds tinyint to_variant_object try_avg try_parse_json try_sum
        try_url_decode try_validate_utf8 typeof ucase unbase64 unhex unix_date unix_micros
        unix_millis unix_seconds upper url_decode url_encode validate_utf8 var_pop var_samp
        variance weekday weekofyear window_time year zeroifnull
    """),
    "2": words("""
        add_months array_append array_contains array_except array_intersect array_position
        array_prepend array_remove array_repeat array_union arrays_overlap atan2 bit_get
        contains corr covar_pop covar_samp date_format date_part date_sub date_trunc
        datepart element_at encode endswith equal_null extract filter find_in_set forall
        format_number from_utc_timestamp get get_json_object getbit histogram_numeric hypot
        ifnull instr kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
        kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
        kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double
        kll_sketch_merge_float left map_contains_key map_filter map_from_arrays max_by
        min_by mod nanvl next_day nullif nvl pmod pow power regexp_count regexp_like
        regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
        regr_sxx regr_sxy regr_syy repeat right session_window sha2 shiftleft shiftright
        shiftrightunsigned st_setsrid startswith theta_difference theta_intersection
        time_trunc to_char to_number to_utc_timestamp to_varchar transform transform_keys
        transform_values trunc try_add try_divide try_element_at try_mod try_multiply
        try_subtract try_to_number xpath xpath_boolean xpath_double xpath_float xpath_int
        xpath_long xpath_number xpath_short xpath_string
    """),
    "3": words("""
        array_insert conv if make_date make_time map_zip_with nvl2 slice split_part
        substring_index time_diff translate zip_with
    """),
    "4": words("width_bucket"),
    "1-": words("""
        coalesce concat_ws format_string hash hour minute printf second xxhash64
    """),
    "2-": words("""
        decode elt greatest java_method json_tuple least reflect stack try_reflect
    """),
    "0-1": words("""
        explode explode_outer inline inline_outer ntile posexplode posexplode_outer rand
        randn random uuid
    """),
    "0-2": words("make_ym_interval mode unix_timestamp"),
    "0-4": words("count_min_sketch lag lead make_dt_interval"),
    "0-5": words("mask"),
    "0-7": words("make_interval"),
    "1-2": words("""
        any_value approx_count_distinct approx_top_k_accumulate approx_top_k_combine
        approx_top_k_estimate array_sort assert_true bround btrim ceil ceiling first
        first_value floor from_unixtime hll_sketch_agg hll_union_agg kll_merge_agg_bigint
        kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
        kll_sketch_agg_float last last_value listagg log ltrim randstr round rtrim
        schema_of_avro schema_of_csv schema_of_json schema_of_xml shuffle sort_array
        string_agg theta_sketch_agg theta_union_agg to_avro to_binary to_csv to_date to_json
        to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_xml trim
        try_to_binary try_to_date try_to_time try_to_timestamp
    """),
    "1-3": words("approx_top_k sentences str_to_map"),
    "1-7": words("try_make_interval"),
    "2,6": words("make_timestamp_ntz try_make_timestamp_ntz"),
    "2-3": words("""
        approx_percentile array_join convert_timezone date_add date_diff dateadd datediff
        from_avro from_csv from_json from_xml hll_union levenshtein locate lpad
        months_between nth_value parse_url percentile percentile_approx position
        regexp_extract regexp_extract_all regexp_instr replace rpad sequence split substr
        substring theta_union try_parse_url try_variant_get uniform variant_get
    """),
    "2-4": words("from_protobuf to_protobuf window"),
    "2-5": words("aes_decrypt try_aes_decrypt"),
    "2-6": words("aes_encrypt"),
    "3-4": words("aggregate overlay reduce regexp_replace"),
    "2,3,6,7": words("make_timestamp_ltz try_make_timestamp_ltz"),
    "1,2,3,6,7": words("make_timestamp try_make_timestamp"),
}
"""How many arguments Spark's functions take: so many, from-to, at least, or one of several numbers.

Operators in words aren't among them, nor functions that take any number.
"""
