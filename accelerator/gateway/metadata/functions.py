"""SHOW FUNCTIONS: what of Trino's functions the door translates, as `docs/reference/dialects.md`.

Types are Trino's; those of answers are Spark's, which may have more digits.
"""

from __future__ import annotations

Function = tuple[str, str, str, str, bool, str]
"""Name, type of what it returns, types of its arguments, kind, deterministic, description."""

_AGGREGATES = (
    ("approx_distinct", "bigint", "T", "About how many distinct values there are"),
    ("avg", "double", "bigint", "The mean"),
    ("avg", "double", "double", "The mean"),
    ("avg", "decimal(p,s)", "decimal(p,s)", "The mean"),
    ("bool_and", "boolean", "boolean", "Whether all values are true"),
    ("bool_or", "boolean", "boolean", "Whether a value is true"),
    ("count", "bigint", "", "The number of rows"),
    ("count", "bigint", "T", "The number of values"),
    ("count_if", "bigint", "boolean", "The number of values that are true"),
    ("grouping", "bigint", "T", "Whether a key is left out of the group"),
    ("max", "T", "T", "The greatest value"),
    ("min", "T", "T", "The least value"),
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
