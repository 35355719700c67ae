"""JDBC's codes and sizes of Trino's types."""

from __future__ import annotations

import re

from msgspec import Struct

from rewrite.types import decimal_parts


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
    digits = decimal_parts(trino)
    if digits is not None:
        return JdbcType(3, *digits, radix=10)
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
