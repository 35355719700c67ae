"""Spark's type texts in Trino's words, and what JDBC is told of them.

Promise: a text that can't be read is given as it stands, never as another type.
"""

from __future__ import annotations

import re

from msgspec import Struct

from accelerator.gateway.trino.types import quoted

_PLAIN = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double",
    "string": "varchar",
    "binary": "varbinary",
    "date": "date",
    "timestamp": "timestamp(6) with time zone",
    "timestamp_ntz": "timestamp(6)",
    "time": "time(6)",
    "void": "unknown",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_WORD = re.compile(r"[a-z_]+(?:\(\d+,\s*\d+\))?")
_DEPTH_MAX = 64


def trino_type(spark: str) -> str:
    """Trino's text of the type; names of fields in quotes where they need them.

    >>> trino_type("struct<a:bigint,B c:array<timestamp_ntz>>")
    'row(a bigint, "B c" array(timestamp(6)))'
    """
    try:
        found, end = _read(spark, 0, 0)
    except ValueError:
        return spark
    return found if end == len(spark) else spark


def _read(text: str, at: int, depth: int) -> tuple[str, int]:
    """The type that begins there, and its end; ValueError where none does."""
    if depth > _DEPTH_MAX:
        raise ValueError(text)
    if text.startswith("array<", at):
        inner, at = _read(text, at + len("array<"), depth + 1)
        return f"array({inner})", _past(text, at, ">")
    if text.startswith("map<", at):
        key, at = _read(text, at + len("map<"), depth + 1)
        value, at = _read(text, _past(text, at, ","), depth + 1)
        return f"map({key}, {value})", _past(text, at, ">")
    if text.startswith("struct<", at):
        return _row(text, at + len("struct<"), depth)
    word = _WORD.match(text, at)
    if word is None:
        raise ValueError(text)
    decimal = _DECIMAL.fullmatch(word[0])
    if decimal is not None:
        return f"decimal({decimal[1]},{decimal[2]})", word.end()
    if word[0] not in _PLAIN:
        raise ValueError(text)
    return _PLAIN[word[0]], word.end()


def _row(text: str, at: int, depth: int) -> tuple[str, int]:
    fields: list[str] = []
    while True:
        colon = text.index(":", at)
        inner, end = _read(text, colon + 1, depth + 1)
        fields.append(f"{quoted(text[at:colon])} {inner}")
        if text[end : end + 1] != ",":
            return f"row({', '.join(fields)})", _past(text, end, ">")
        at = end + 1


def _past(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(text)
    return at + 1


class JdbcType(Struct, frozen=True):
    """What JDBC is told of a type: its code in `java.sql.Types`, sizes and digits; None for none.

    `size` is in digits, bits or letters, as JDBC has it of each; `octets` of texts and bytes.
    """

    code: int
    size: int | None = None
    digits: int | None = None
    radix: int | None = None
    octets: int | None = None


_MAX = 2_147_483_647
_DATE = 14  # letters of +5881580-07-11
_DATED, _CLOCK = 1 + 5 + 15, 8  # sign, year and the rest; HH:MM:SS
_ZONE, _OFFSET = 32, 6  # the longest zone's name; +HH:MM
_OBJECT = JdbcType(2000)
_JDBC = {
    "boolean": JdbcType(16),
    "tinyint": JdbcType(-6, 3, radix=10),
    "smallint": JdbcType(5, 5, radix=10),
    "integer": JdbcType(4, 10, radix=10),
    "bigint": JdbcType(-5, 19, radix=10),
    "real": JdbcType(7, 24, radix=2),
    "double": JdbcType(8, 53, radix=2),
    "varchar": JdbcType(12, _MAX, octets=_MAX),
    "varbinary": JdbcType(-3, _MAX, octets=_MAX),
    "date": JdbcType(91, _DATE),
}
_TIMED = re.compile(r"(time|timestamp)\((\d+)\)( with time zone)?")


def jdbc_type(trino: str) -> JdbcType:
    """Of a type in Trino's words.

    >>> jdbc_type("decimal(10,2)").size, jdbc_type("timestamp(3)").size
    (10, 25)
    """
    known = _JDBC.get(trino)
    if known is not None:
        return known
    decimal = _DECIMAL.fullmatch(trino)
    if decimal is not None:
        return JdbcType(3, int(decimal[1]), int(decimal[2]), 10)
    timed = _TIMED.fullmatch(trino)
    if timed is not None:
        return _of_time(timed[1] == "timestamp", int(timed[2]), bool(timed[3]))
    return JdbcType(2003) if trino.startswith("array(") else _OBJECT


def _of_time(dated: bool, digits: int, zoned: bool) -> JdbcType:
    size = (_DATED if dated else _CLOCK) + min(digits, 1) + digits
    if not zoned:
        return JdbcType(93 if dated else 92, size, digits)
    return (
        JdbcType(2014, size + 1 + 1 + _ZONE, digits) if dated else JdbcType(2013, size + 6, digits)
    )
