"""The grid: expressions over a table of edge values, and what plain Spark says of each row.

The table has columns of each type, whose rows are drawn of edge values, each beside others. Spark's
answers stand in `grid.json`: the type and the rows' values, or `RAISES` where it raises. Written by
`python -m tests.rewrite.functions.record`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

FILE = Path(__file__).with_name("grid.json")
ROWS = 160
RAISES = "raises"

_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(20,6)": pa.decimal128(20, 6),
    "decimal(15,3)": pa.decimal128(15, 3),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "boolean": pa.bool_(),
}
COLUMNS = {
    **dict.fromkeys(("i", "j", "k"), "int"),
    **dict.fromkeys(("l", "m"), "bigint"),
    **dict.fromkeys(("x", "y", "z"), "double"),
    "f": "float",
    "c": "decimal(10,2)",
    "e": "decimal(20,6)",
    "g": "decimal(15,3)",
    **dict.fromkeys(("s", "t", "u", "numeral", "day_text", "time_text", "pad"), "string"),
    **dict.fromkeys(("d", "d2"), "date"),
    "at": "timestamp",
    "clock": "timestamp_ntz",
    "b": "boolean",
}
_INT = (0, 1, -1, 2, 5, 7, 49, 50, 51, 99, 150, -150, 1_000_000, 2**31 - 1, -(2**31), None)
_SMALL = (0, 1, 2, 3, 5, 12, -1, -5, 31, 100, None)
_DOUBLES = (
    *(0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.675, 1.005, -1.005, 0.125, 1e-7, 123.456, 5e-324),
    *(0.285, 1.15, 1.25, 1.35, 8.345, 33.335, 1e15 + 0.5, 4503599627370497.5, 2.0**53, 9.007e15),
    *(1e16, 1e22, 1.7976931348623157e308, -1e300, float("nan"), float("inf"), float("-inf")),
    *(2147483647.0, 2147483648.0, -2147483649.0, 9.2e18, 0.1, 0.7, 1 / 3, 100.0, -7.0, 3.0),
    *(999999999999.5, 1e12 + 0.005, 12345678.915, 0.049999999999999996, 1e7, 9999999.5, 0.001),
    *(0.0009999, 1234567.125, None),
)
_TEXTS = (
    *(
        "",
        " ",
        "a",
        "abc",
        "ABC",
        "a.b.c",
        "a..b",
        ".",
        "/a/b/",
        "//",
        " a b ",
        "\ta\n",
        "äöü",
        "ß",
    ),
    *(
        "ÀÉ",
        "İi",
        "Σίσυφος",
        "ﬁn",
        "日本語",
        "🤦🏼‍♂️x",
        "x,y",
        "aaa",
        "ababab",
        "%_\\",
        "null",
        "1",
        "e\u0301",
    ),
    *("web-01.eu", "A" * 40, "tail ", "\u00a0x\u00a0", None),
)
_NUMERALS = (
    *("0", "5", "-5", "+5", " 5 ", "5.7", "1e2", "007", "", " ", "abc", "2147483647", "2147483648"),
    *("9223372036854775808", "1_000", "0x1F", "5d", "NaN", "Infinity", "-0", ".5", "5.", "true"),
    *("false", "T", "no", "yes ", "１", "1.005", "123456789012345678.125", "1,5", "5\u00a0", None),
)
_DAYS = (
    *("2013-01-31", "2012-02-29", "2013-02-29", "2013-1-5", "2013-01-05 ", " 2013-01-05", "2013"),
    *("2013-01", "20130105", "0001-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "now", ""),
    *(
        "2013-13-01",
        "2013-01-05T10:00:00",
        "2013-01-05 10:00:00",
        "1582-10-10",
        "today",
        "31.12.2013",
        "12/31/2013",
        "05/06/2013",
        "30.02.2013",
        None,
    ),
)
_TIMES = (
    *("2013-01-05 10:11:12", "2013-01-05T10:11:12.5", "2013-01-05 10:11:12.1234567", "2013-01-05"),
    *("2013-01-05 10:11", "2013-01-05 10:11:12Z", "2013-01-05 10:11:12+01:00", "10:11:12", "", "x"),
    *("2013-02-29 00:00:00", "2013-01-05 25:00:00", "2013-01-05 10:11:60", "0001-01-01 00:00:00"),
    *("9999-12-31 23:59:59.999999", "1900-01-01 00:00:00", " 2013-01-05 10:11:12", None),
)
_DATES = tuple(
    None if text is None else date.fromisoformat(text)
    for text in (
        *("1970-01-01", "2013-01-31", "2012-02-29", "2013-02-28", "2013-03-31", "2012-12-31"),
        *("0001-01-01", "9999-12-31", "1582-10-04", "1582-10-15", "1900-03-01", "2000-02-29", None),
    )
)
_MOMENTS = tuple(
    None if text is None else datetime.fromisoformat(text)
    for text in (
        *("1970-01-01 00:00:00", "2013-01-31 23:59:59.999999", "2012-02-29 12:30:00.5"),
        *("1969-12-31 23:59:59.000001", "2013-03-31 01:30:00", "2013-10-27 01:30:00.120000"),
        *("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1582-10-10 05:00:00", None),
        *("2013-10-27 00:30:00", "2013-10-27 23:15:59.25", "2013-03-31 00:59:59.999999"),
        *(
            "2013-03-31 01:00:00",
            "2013-11-03 05:30:00",
            "2013-11-03 06:30:00",
            "2037-12-25 00:00:00",
        ),
        *(
            "2000-01-10 00:00:00",
            "1999-06-01 12:00:00",
            "2040-01-01 00:00:00",
            "2024-02-29 23:30:00",
        ),
    )
)
_VALUES: dict[str, Sequence[Any]] = {
    "i": _INT,
    "j": _INT,
    "k": _SMALL,
    "l": (
        0,
        1,
        -1,
        7,
        1_000_050,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        -149,
        2**31,
        20130131,
        20130230,
        19991231,
        None,
    ),
    "m": (0, 1, -1, 3, 10, 2**62, -(2**63), None),
    **dict.fromkeys(("x", "y", "z"), _DOUBLES),
    "f": (0.0, -0.0, 0.5, 1.5, 0.1, 3.4e38, float("nan"), float("inf"), 16777217.0, None),
    "c": (
        "0.00",
        "-0.00",
        "0.05",
        "0.15",
        "-2.50",
        "12.34",
        "99999999.99",
        "-99999999.99",
        "0.99",
        None,
    ),
    "e": (
        "0.000000",
        "0.000001",
        "-1.500000",
        "2.499999",
        "99999999999999.999999",
        "1.005000",
        None,
    ),
    "g": ("0.000", "0.005", "0.015", "-0.005", "1.115", "999999999999.999", "-42.500", None),
    **dict.fromkeys(("s", "t", "u"), _TEXTS),
    "numeral": _NUMERALS,
    "day_text": _DAYS,
    "time_text": _TIMES,
    "pad": ("0", "ab", "", " ", "é", None),
    **dict.fromkeys(("d", "d2"), _DATES),
    "at": _MOMENTS,
    "clock": _MOMENTS,
    "b": (True, False, None),
}


@lru_cache(maxsize=1)
def table() -> pa.Table:
    """The table: each column has each of its values, beside drawn ones."""
    draw = random.Random(51)
    columns = {}
    for name, type_ in COLUMNS.items():
        values = list(_VALUES[name])
        drawn = values + [draw.choice(values) for _ in range(ROWS - len(values))]
        draw.shuffle(drawn)
        columns[name] = pa.array([_value(v, type_) for v in drawn], _TYPES[type_])
    return pa.table({"id": pa.array(range(ROWS), pa.int32()), **columns})


def _value(value: Any, type_: str) -> Any:
    if value is None:
        return None
    if type_.startswith("decimal"):
        return Decimal(value)
    return value.replace(tzinfo=UTC) if type_ == "timestamp" else value


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A column's values; days and microseconds since 1970 of dates and times, of any year."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    found: list[Any] = column.to_pylist()
    return found


def plain(value: Any) -> Any:
    """A value as JSON has it, told apart from every other."""
    if value is None or isinstance(value, bool | int | str):
        return value
    return repr(value) if isinstance(value, float) else str(value)


def answers(ask: Callable[[int, int], list[Any]], raised: type[Exception]) -> list[Any]:
    """Each row's value, or `RAISES`; `ask` gives those of a range of ids, or raises that."""
    found: list[Any] = []
    waiting = [(0, ROWS)]
    while waiting:
        first, end = waiting.pop()
        try:
            found += [plain(value) for value in ask(first, end)]
        except raised:
            if end - first == 1:
                found.append([RAISES])
            else:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
    return found


@lru_cache(maxsize=1)
def recorded() -> dict[str, dict[str, Any]]:
    """Spark's answers by expression."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def expressions() -> tuple[str, ...]:
    """Every expression of the grid."""
    lines = FILE.with_name("grid.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("--"))


def zone_of(line: str) -> tuple[str, str]:
    """A line's time zone, UTC by default, and its expression: `@Europe/Berlin hour(at)`."""
    if not line.startswith("@"):
        return "UTC", line
    zone, expression = line[1:].split(" ", 1)
    return zone, expression
