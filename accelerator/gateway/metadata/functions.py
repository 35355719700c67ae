"""SHOW FUNCTIONS: what of Trino's functions the door translates, as `docs/reference/dialects.md`.

Types are Trino's; those of answers are Spark's, which may have more digits.
"""

from __future__ import annotations

Function = tuple[str, str, str, str, bool, str]
"""Name, type of what it returns, types of its arguments, kind, deterministic, description."""

_AGGREGATES = (
    ("any_value", "T", "T", "One of the values"),
    ("approx_distinct", "bigint", "T", "About how many distinct values there are"),
    ("approx_percentile", "T", "T, double", "The value at about that share"),
    ("arbitrary", "T", "T", "One of the values"),
    ("array_agg", "array(T)", "T", "All values, NULLs too"),
    ("avg", "double", "bigint", "The mean"),
    ("avg", "double", "double", "The mean"),
    ("avg", "decimal(p,s)", "decimal(p,s)", "The mean"),
    ("bool_and", "boolean", "boolean", "Whether all values are true"),
    ("bool_or", "boolean", "boolean", "Whether a value is true"),
    ("count", "bigint", "", "The number of rows"),
    ("count", "bigint", "T", "The number of values"),
    ("count_if", "bigint", "boolean", "The number of values that are true"),
    ("covar_pop", "double", "double, double", "The covariance of all values"),
    ("covar_samp", "double", "double, double", "The covariance of a sample"),
    ("grouping", "bigint", "T", "Whether a key is left out of the group"),
    ("max", "T", "T", "The greatest value"),
    ("max_by", "T", "T, bigint", "The value where another one is greatest"),
    ("min", "T", "T", "The least value"),
    ("min_by", "T", "T, bigint", "The value where another one is least"),
    ("stddev", "double", "double", "The standard deviation of a sample"),
    ("stddev_pop", "double", "double", "The standard deviation of all values"),
    ("stddev_samp", "double", "double", "The standard deviation of a sample"),
    ("sum", "bigint", "bigint", "The sum"),
    ("sum", "double", "double", "The sum"),
    ("sum", "decimal(38,s)", "decimal(p,s)", "The sum"),
    ("var_pop", "double", "double", "The variance of all values"),
    ("var_samp", "double", "double", "The variance of a sample"),
    ("variance", "double", "double", "The variance of a sample"),
)
_WINDOWS = (
    ("cume_dist", "double", "", "The share of rows up to this one"),
    ("dense_rank", "bigint", "", "The rank, without gaps"),
    ("first_value", "T", "T", "The value of the frame's first row"),
    ("lag", "T", "T", "The value of a row before"),
    ("last_value", "T", "T", "The value of the frame's last row"),
    ("lead", "T", "T", "The value of a row behind"),
    ("ntile", "bigint", "bigint", "The number of the row's bucket"),
    ("percent_rank", "double", "", "The rank as a share of the rows"),
    ("rank", "bigint", "", "The rank, with gaps"),
    ("row_number", "bigint", "", "The number of the row"),
)
_SCALARS = (
    ("abs", "T", "T", "The absolute value"),
    ("atan2", "double", "double, double", "The angle of a point"),
    ("cbrt", "double", "double", "The cube root"),
    ("date", "date", "timestamp(p)", "The day of a time"),
    ("date_format", "varchar", "timestamp(p), varchar", "A time as a text, in MySQL's format"),
    ("date_parse", "timestamp(3)", "varchar, varchar", "A text as a time, in MySQL's format"),
    ("exp", "double", "double", "e to that power"),
    ("format_datetime", "varchar", "timestamp(p), varchar", "A time as a text, in Joda's format"),
    ("from_unixtime", "timestamp(3) with time zone", "bigint", "So many seconds after 1970"),
    ("from_utf8", "varchar", "varbinary", "The text that bytes are"),
    ("greatest", "T", "T, T", "The greatest of the values"),
    ("is_finite", "boolean", "double", "Whether it's a number and not infinite"),
    ("is_infinite", "boolean", "double", "Whether it's infinite"),
    ("is_nan", "boolean", "double", "Whether it's no number"),
    ("last_day_of_month", "date", "date", "The last day of its month"),
    ("least", "T", "T, T", "The least of the values"),
    ("ln", "double", "double", "The natural logarithm"),
    ("log10", "double", "double", "The logarithm to base 10"),
    ("log2", "double", "double", "The logarithm to base 2"),
    ("ltrim", "varchar", "varchar", "The text without white space before it"),
    ("md5", "varbinary", "varbinary", "The MD5 digest"),
    ("pi", "double", "", "The constant"),
    ("pow", "double", "double, double", "The power"),
    ("power", "double", "double, double", "The power"),
    ("regexp_extract", "varchar", "varchar, varchar", "What of the text the pattern matches"),
    ("regexp_like", "boolean", "varchar, varchar", "Whether the pattern matches somewhere"),
    ("regexp_replace", "varchar", "varchar, varchar", "The text without what the pattern matches"),
    ("replace", "varchar", "varchar, varchar, varchar", "The text with another one put for one"),
    ("reverse", "varchar", "varchar", "The text backwards"),
    ("round", "T", "T, bigint", "Rounded to so many digits"),
    ("rtrim", "varchar", "varchar", "The text without white space behind it"),
    ("second", "bigint", "timestamp(p)", "The second"),
    ("sha256", "varbinary", "varbinary", "The SHA-256 digest"),
    ("split", "array(varchar)", "varchar, varchar", "The parts between delimiters"),
    ("split_part", "varchar", "varchar, varchar, bigint", "One of these parts"),
    ("sqrt", "double", "double", "The square root"),
    ("starts_with", "boolean", "varchar, varchar", "Whether the text begins with another"),
    ("strpos", "bigint", "varchar, varchar", "Where another text stands in it, 0 if nowhere"),
    ("to_hex", "varchar", "varbinary", "Bytes as digits"),
    ("to_unixtime", "double", "timestamp(p) with time zone", "Seconds after 1970"),
    ("to_utf8", "varbinary", "varchar", "The bytes of a text"),
    ("trim", "varchar", "varchar", "The text without white space around it"),
    ("week", "bigint", "date", "The week of the year"),
    ("day_of_week", "bigint", "date", "The day of the week, Monday is 1"),
    ("ceil", "T", "T", "The next whole number up"),
    ("ceiling", "T", "T", "The next whole number up"),
    ("coalesce", "T", "T, T", "The first value that isn't NULL"),
    ("concat", "varchar", "varchar, varchar", "Texts behind each other"),
    ("current_timezone", "varchar", "", "The session's time zone"),
    ("date_trunc", "timestamp(p)", "varchar, timestamp(p)", "A time at the beginning of its unit"),
    ("day", "bigint", "date", "The day of the month"),
    ("day_of_month", "bigint", "date", "The day of the month"),
    ("day_of_year", "bigint", "date", "The day of the year"),
    ("floor", "T", "T", "The next whole number down"),
    ("hour", "bigint", "timestamp(p)", "The hour"),
    ("if", "T", "boolean, T, T", "One of two values"),
    ("length", "bigint", "varchar", "The number of letters"),
    ("lower", "varchar", "varchar", "The text in lower case"),
    ("minute", "bigint", "timestamp(p)", "The minute"),
    ("month", "bigint", "date", "The month"),
    ("now", "timestamp(3) with time zone", "", "When the statement was asked"),
    ("nullif", "T", "T, T", "NULL where both are equal"),
    ("quarter", "bigint", "date", "The quarter"),
    ("substr", "varchar", "varchar, bigint", "The text from a place on"),
    ("substr", "varchar", "varchar, bigint, bigint", "So many letters from a place on"),
    ("substring", "varchar", "varchar, bigint", "The text from a place on"),
    ("upper", "varchar", "varchar", "The text in upper case"),
    ("version", "varchar", "", "The server's version"),
    ("year", "bigint", "date", "The year"),
)


def functions() -> list[Function]:
    """All of them, by name and types."""
    kinds = (("aggregate", _AGGREGATES), ("window", _WINDOWS), ("scalar", _SCALARS))
    found: list[Function] = [
        (name, result, arguments, kind, True, description)
        for kind, some in kinds
        for name, result, arguments, description in some
    ]
    return sorted(found)
