"""Casts: what DuckDB computes as Spark's `CAST` under ANSI.

DuckDB reads more texts than Spark, and rounds where Spark truncates. A text is cast only in the
form that both read alike; Spark casts any other. A DOUBLE becomes a text or a DECIMAL by its
shortest digits. Java writes the same ones if they are few.
"""

from __future__ import annotations

from msgspec import Struct

from rewrite import types
from rewrite.functions.row import checked

_NAMES = {"int": "INTEGER", "bigint": "BIGINT"}
_DIGITS = {"int": 9, "bigint": 18}
_DATE = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = "([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?"
_FLOATING = "[+-]?[0-9]{1,15}([.][0-9]{1,15})?([eE][+-]?[0-9]{1,2})?"
_EXACT = "[+-]?[0-9]{1,18}([.][0-9]{1,18})?"
_OF_TEN = " AND strlen({}) = 10"
"""What a date has that isn't beyond the year 9999."""
_YEARS = "BETWEEN {0} '0001-01-01' AND {0} '9999-12-31'"
_SHORT = 16
"""Characters of a DOUBLE whose shortest digits any Java writes."""
_TRUE, _FALSE = "('true', 't', 'yes', 'y', '1')", "('false', 'f', 'no', 'n', '0')"


class Cast(Struct, frozen=True):
    """`duckdb` has `{}` in the value's place. A `zoned` one is right only in sessions in UTC.

    One that `tests_years` leaves dates and times to Spark that DuckDB takes for infinite.
    """

    duckdb: str
    raises: bool = False
    zoned: bool = False
    tests_years: bool = False

    def text(self, value: str) -> str:
        """DuckDB's text of the cast of a value's text."""
        return self.duckdb.replace("{}", value)


def cast_of(source: str | None, target: str) -> Cast | None:
    """The cast between two of Spark's types; None if it isn't proven.

    >>> cast_of("boolean", "int"), cast_of("date", "int")
    (Cast(duckdb='CAST({} AS INTEGER)', raises=False, zoned=False, tests_years=False), None)
    """
    if types.widens(source, target):
        return None
    made = _MADE.get("decimal" if types.decimal_parts(source) else source or "")
    return None if made is None else made(source or "", target)


def _of_whole(_source: str, target: str) -> Cast | None:
    if target in _NAMES:
        return Cast(f"CAST({{}} AS {_NAMES[target]})", raises=True)
    if target == "boolean":
        return Cast("({} <> 0)")
    if target == "float":
        return Cast("CAST({} AS FLOAT)")
    return _plain(target)


def _of_boolean(_source: str, target: str) -> Cast | None:
    if target in _NAMES:
        return Cast(f"CAST({{}} AS {_NAMES[target]})")
    return Cast("CAST({} AS VARCHAR)") if target == "string" else None


def _of_double(_source: str, target: str) -> Cast | None:
    if target in _NAMES:
        return Cast(f"CAST(trunc({{}}) AS {_NAMES[target]})", raises=True)
    if types.decimal_parts(target):
        return Cast(f"CAST(CAST({{}} AS VARCHAR) AS {target.upper()})", raises=True)
    if target == "string":
        few = f"length(CAST({{}} AS VARCHAR)) <= {_SHORT}"
        sized = "({} = 0 OR abs({}) >= 1e-3::DOUBLE AND abs({}) < 1e7::DOUBLE)"
        return Cast(checked(f"{few} AND {sized}", "CAST({} AS VARCHAR)"))
    return None


def _of_decimal(_source: str, target: str) -> Cast | None:
    if target in _NAMES:
        return Cast(f"CAST(trunc({{}}) AS {_NAMES[target]})", raises=True)
    return _plain(target)


def _plain(target: str) -> Cast | None:
    """An exact number as a text or a decimal."""
    if types.decimal_parts(target):
        return Cast(f"CAST({{}} AS {target.upper()})", raises=True)
    return Cast("CAST({} AS VARCHAR)") if target == "string" else None


def _of_text(_source: str, target: str) -> Cast | None:
    if target in _NAMES:
        return _read(f"[+-]?[0-9]{{1,{_DIGITS[target]}}}", _NAMES[target])
    if target == "double":
        return Cast(_like(_FLOATING, "CAST({} AS DOUBLE)"), raises=True)
    if types.decimal_parts(target):
        return _read(_EXACT, target.upper())
    if target == "date":
        day = f"CAST(regexp_extract({{}}, '^{_DATE}') AS DATE)"
        return _read_or("DATE", _OF_TEN, _like(_DATE + "([ T].*)?", day))
    if target == "timestamp":
        text = "make_timestamptz(epoch_us(CAST({} AS TIMESTAMP)))"
        return Cast(_like(_DATE + _TIME, text), raises=True, zoned=True)
    if target == "boolean":
        text = f"(lower({{}}) IN {_TRUE})"
        return Cast(
            checked(f"lower({{}}) IN {_TRUE} OR lower({{}}) IN {_FALSE}", text), raises=True
        )
    return None


def date_of_text(pattern: str) -> Cast:
    """Years, months and days with `-` between; a text that isn't like the pattern is Spark's."""
    return _read(pattern, "DATE", _OF_TEN)


def _read(pattern: str, name: str, more: str = "") -> Cast:
    """Casts a text that is like the pattern to DuckDB's type of that name."""
    return _read_or(name, more, _like(pattern, f"CAST({{}} AS {name})"))


def _read_or(name: str, more: str, other: str) -> Cast:
    """Casts a text to DuckDB's type of that name if it's what DuckDB writes of the value.

    Most texts are. That is tested sooner than a pattern, and once for each entry of a dictionary.
    """
    value = f"TRY_CAST({{}} AS {name})"
    plain = f"CAST({value} AS VARCHAR) = {{}}{more}"
    return Cast(f"CASE WHEN {plain} THEN {value} ELSE {other} END", raises=True)


def _like(pattern: str, text: str) -> str:
    return checked(f"regexp_full_match({{}}, '{pattern}')", text)


def _of_date(_source: str, target: str) -> Cast | None:
    if target == "string":
        text = checked("{} " + _YEARS.format("DATE"), "CAST({} AS VARCHAR)")
        return Cast(text, tests_years=True)
    if target == "timestamp":
        return Cast("make_timestamptz(epoch_us(CAST({} AS TIMESTAMP)))", zoned=True)
    return None


def _of_timestamp(source: str, target: str) -> Cast | None:
    zoned = source == "timestamp"
    clock = "make_timestamp(epoch_us({}))"
    if target == "string":
        years = "{} " + _YEARS.format("TIMESTAMP")
        text = checked(years, "CAST({} AS VARCHAR)").replace("{}", clock)
        return Cast(text, zoned=zoned, tests_years=True)
    if target in types.TIMESTAMPS:
        made = "make_timestamptz(epoch_us({}))" if target == "timestamp" else clock
        return Cast(made, zoned=True)
    return None


_MADE = {
    **dict.fromkeys(types.EXACT, _of_whole),
    **dict.fromkeys(types.TIMESTAMPS, _of_timestamp),
    "boolean": _of_boolean,
    "date": _of_date,
    "decimal": _of_decimal,
    "double": _of_double,
    "string": _of_text,
}
