"""Spark's result types for the operators and aggregates that the rewriter knows, under ANSI mode.

Source: Spark 4.1's documented type rules, each checked against `spark.sql(…).schema` by
`tests/spark/test_types.py`. None means unknown.
"""

from __future__ import annotations

import math
import re

EXACT = ("int", "bigint")
FLOATING = ("float", "double")
TIMESTAMPS = ("timestamp", "timestamp_ntz")
"""The first is an instant, the second a date and a time of no zone."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DIGITS = {"int": 10, "bigint": 20}
_DOUBLE_DIGITS = 15
_AVERAGE_DIGITS = 4
"""An average of decimals has so many more than they have, all of them behind the point."""
_KEPT_SCALE, DECIMAL_DIGITS = 6, 38
"""Spark's `DecimalType.MINIMUM_ADJUSTED_SCALE`."""
_WIDENED = frozenset(
    {("int", "bigint"), ("int", "double"), ("bigint", "double"), ("float", "double")}
)
COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
TEXT_TESTS = frozenset({"like", "ilike", "rlike", "contains", "startswith", "endswith"})
TOKEN_TESTS = frozenset({"has_token", "match"})
"""Our own functions, whose needles are constants."""
BOOLEAN_OPERATORS = frozenset(
    {"and", "or", "not", "is_null", "in", *TEXT_TESTS, *TOKEN_TESTS, *COMPARISONS}
)
DATE_PARTS = frozenset({"year", "month", "day", "quarter", "weekofyear", "dayofweek", "dayofyear"})
TIME_PARTS = frozenset({"hour", "minute", "second"})
OPERATORS = (
    BOOLEAN_OPERATORS
    | DATE_PARTS
    | TIME_PARTS
    | {
        *("+", "-", "*", "/", "div", "%", "neg", "case", "coalesce", "upper", "lower", "length"),
        *("substring", "concat", "date_trunc", "trunc", "cast", "grouping", "grouping_id"),
        "only_value",
    }
)
AGGREGATES = frozenset(
    {
        *("count", "count_if", "sum", "avg", "min", "max", "bool_and", "bool_or"),
        *("stddev", "stddev_pop", "var_samp", "var_pop"),
        *("approx_count_distinct", "approx_percentile"),
    }
)
_WHOLE = r"-?\d{1,38}"
_EXACT_NUMBER = r"-?(\d{1,80}(\.\d{0,80})?|\.\d{1,80})([eE][+-]?\d{1,4})?"
_DATE = r"[+-]?\d{4,7}-\d\d-\d\d"
_TIME = rf"{_DATE}[ T]\d\d:\d\d(:\d\d(\.\d{{1,9}})?)?"
_CONSTANTS = {
    **dict.fromkeys(("tinyint", "smallint", *EXACT), _WHOLE),
    **dict.fromkeys(FLOATING, rf"{_EXACT_NUMBER}|(?i:nan|-?inf(inity)?)"),
    **dict.fromkeys(TIMESTAMPS, _TIME),
    "decimal": _EXACT_NUMBER,
    "date": _DATE,
    "boolean": "(?i:true|false)",
    "void": "(?i:null)",
    "string": ".*",
}
_PATTERNS = {type_: re.compile(text, re.ASCII | re.DOTALL) for type_, text in _CONSTANTS.items()}


def is_constant(text: str, type_: str) -> bool:
    """Whether the text is a constant of the type and nothing else, so that it can stand in SQL.

    A text may hold anything; it's quoted where it's written.

    >>> is_constant("-1.50", "decimal(3,2)"), is_constant("1); COPY", "int")
    (True, False)
    """
    pattern = _PATTERNS.get(type_) or (_PATTERNS["decimal"] if decimal_parts(type_) else None)
    return pattern is not None and pattern.fullmatch(text) is not None


def decimal_parts(type_: str | None) -> tuple[int, int] | None:
    """Precision and scale.

    >>> decimal_parts("decimal(10,2)"), decimal_parts("int")
    ((10, 2), None)
    """
    found = _DECIMAL.fullmatch(type_ or "")
    return (int(found[1]), int(found[2])) if found else None


def as_decimal(type_: str | None) -> tuple[int, int] | None:
    """Precision and scale that Spark widens an exact numeric type to."""
    if type_ in _DIGITS:
        return (_DIGITS[type_], 0)
    return decimal_parts(type_)


def decimal_type(precision: int, scale: int) -> str | None:
    """The text of a decimal type; None where Spark would clip it to 38 digits."""
    return f"decimal({precision},{scale})" if precision <= 38 else None


DIGITS_MAX = 4_000
"""Characters of a number in a text that is parsed; Python refuses to read 4,301 digits."""


def is_numeric(type_: str | None) -> bool:
    """Whether the type is one of Spark's numeric types that Iceberg has."""
    return type_ in (*EXACT, *FLOATING) or decimal_parts(type_) is not None


def literal_number_type(text: str) -> str | None:
    """The type of a number as written.

    >>> literal_number_type("7"), literal_number_type("3000000000"), literal_number_type("1.50")
    ('int', 'bigint', 'decimal(3,2)')
    """
    if re.fullmatch(r"-?\d+", text):
        if len(text) > DIGITS_MAX:  # Python refuses to read it
            return None
        value = int(text)
        if -(2**31) <= value < 2**31:
            return "int"
        return "bigint" if -(2**63) <= value < 2**63 else None
    found = re.fullmatch(r"-?(\d*)\.(\d+)", text)
    if found:
        whole = len(found[1].lstrip("0"))
        return decimal_type(max(whole + len(found[2]), 1), len(found[2]))
    if re.fullmatch(r"-?\d+(\.\d*)?[eE][+-]?\d+", text):
        return "double" if math.isfinite(float(text)) else None  # Spark refuses 1e400
    return None


def arithmetic(op: str, left: str | None, right: str | None) -> str | None:
    """The type of `left op right`; None where it isn't known or where Spark may round.

    >>> arithmetic("*", "decimal(32,4)", "decimal(16,2)"), arithmetic("/", "int", "int")
    ('decimal(38,6)', 'double')
    """
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if op == "/":
        return _quotient(left, right)
    if op == "div":
        return "bigint" if {left, right} <= set(EXACT) else None
    if "double" in (left, right) or ("float" in (left, right) and left != right):
        return "double"
    if left == right == "float":
        return "float"
    if decimal_parts(left) is None and decimal_parts(right) is None:
        return "bigint" if "bigint" in (left, right) else "int"
    a, b = as_decimal(left), as_decimal(right)
    if a is None or b is None or op == "%":
        return None
    if op == "*":
        return _computed_decimal(a[0] + b[0] + 1, a[1] + b[1])
    scale = max(a[1], b[1])
    return _computed_decimal(max(a[0] - a[1], b[0] - b[1]) + scale + 1, scale)


def _quotient(left: str | None, right: str | None) -> str | None:
    """The type of a quotient: a decimal's has six digits behind the point, or more if 38 allow."""
    a, b = as_decimal(left), as_decimal(right)
    if a is None or b is None or not (decimal_parts(left) or decimal_parts(right)):
        return "double"
    whole, scale = a[0] - a[1] + b[1], max(_KEPT_SCALE, a[1] + b[0] + 1)
    if whole + scale <= DECIMAL_DIGITS:
        return decimal_type(whole + scale, scale)
    return decimal_type(DECIMAL_DIGITS, max(DECIMAL_DIGITS - whole, _KEPT_SCALE))


def _computed_decimal(precision: int, scale: int) -> str | None:
    """Of a sum or product. Beyond 38 digits Spark keeps six behind the point, and rounds the rest.

    With no more of them a result is exact, or has too many digits before the point: then it raises.
    """
    kept = 38 if scale <= _KEPT_SCALE else precision
    return decimal_type(min(precision, kept), scale)


def common(types: list[str | None]) -> str | None:
    """The type that Spark widens CASE or COALESCE branches to; None where it isn't known.

    A whole number counts with all digits of its type, a literal too.

    >>> common(["decimal(10,2)", "int"]), common(["int", "void", "bigint"]), common(["date", "int"])
    ('decimal(12,2)', 'bigint', None)
    """
    known = {t for t in types if t != "void"}
    if len(known) == 1:
        return known.pop()
    if not known or not all(is_numeric(t) for t in known):
        return None
    if known & {"float", "double"}:
        return "double"
    if not any(decimal_parts(t) for t in known):
        return "bigint"
    parts = [p for p in map(as_decimal, known) if p is not None]
    scale = max(s for _, s in parts)
    return decimal_type(max(p - s for p, s in parts) + scale, scale)


def widens(source: str | None, target: str | None) -> bool:
    """Whether the cast can't fail and keeps the order of values, alike in Spark and DuckDB.

    Decimals of more than 15 digits are left out beside doubles: engines round them differently.

    >>> widens("int", "decimal(12,2)"), widens("decimal(12,2)", "decimal(12,3)")
    (True, False)
    """
    if (source, target) in _WIDENED:
        return True
    mine = decimal_parts(source)
    if target == "double":
        return mine is not None and mine[0] <= _DOUBLE_DIGITS
    mine, wide = as_decimal(source), decimal_parts(target)
    if mine is None or wide is None:
        return False
    return wide[1] >= mine[1] and wide[0] - wide[1] >= mine[0] - mine[1]


def sum_type(type_: str | None) -> str | None:
    """Spark's type of sum(x)."""
    if type_ in EXACT:
        return "bigint"
    if type_ in FLOATING:
        return "double"
    parts = decimal_parts(type_)
    return f"decimal({min(38, parts[0] + 10)},{parts[1]})" if parts else None


def avg_type(type_: str | None) -> str | None:
    """Spark's type of avg(x)."""
    if type_ in ("int", "bigint", "float", "double"):
        return "double"
    parts = decimal_parts(type_)
    # With more than 34 digits Spark clips precision and scale together; left to Spark.
    return decimal_type(parts[0] + _AVERAGE_DIGITS, parts[1] + _AVERAGE_DIGITS) if parts else None


def averages_as_double(type_: str | None) -> bool:
    """Decides whether Spark computes avg(x) of the type in DOUBLE (its rule DecimalAggregates).

    >>> averages_as_double("decimal(11,2)"), averages_as_double("decimal(12,2)")
    (True, False)
    """
    parts = decimal_parts(type_)
    return parts is not None and parts[0] + _AVERAGE_DIGITS <= _DOUBLE_DIGITS


def aggregate_type(function: str, types: list[str | None]) -> str | None:
    """Spark's result type of a known aggregate over arguments of these types."""
    first = types[0] if types else None
    if function in ("count", "count_if", "approx_count_distinct"):
        return "bigint"
    if function == "sum":
        return sum_type(first)
    if function == "avg":
        return avg_type(first)
    if function in ("min", "max"):
        return first
    if function in ("bool_and", "bool_or"):
        return "boolean"
    return "double" if function in ("stddev", "stddev_pop", "var_samp", "var_pop") else None
