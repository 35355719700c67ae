"""Values of each Spark type that go wrong easily, and their literals.

A pool is the values that a column has, so that predicates, keys and duplicates meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

INTEGERS = ("INT", "BIGINT")
FLOATS = ("FLOAT", "DOUBLE")
TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")
DECIMALS = ("DECIMAL(9,2)", "DECIMAL(18,4)", "DECIMAL(30,6)")
_DIGITS_MAX = 28
"""Digits of a decimal's values at most: a sum of them stays below 38 digits."""
TEXTS = (
    *("", " ", "a", "A", "b", "ab", "a b", "a%", "a_b", "zz", "0"),
    *("é", "e\u0301", "ß", "žluť", "日本", "😀"),
)
_DAY = date(2020, 1, 1)
_NOON = datetime(2020, 2, 28, 12, 30)


def is_decimal(type_: str) -> bool:
    """Whether it's a decimal of any precision."""
    return type_.startswith("DECIMAL")


def decimal_type(r: Random) -> str:
    """A decimal of any precision and scale; every second one Spark averages in DOUBLE."""
    digits = r.choice((r.randint(1, 11), r.randint(12, 38)))
    return f"DECIMAL({digits},{r.randint(0, digits)})"


def is_number(type_: str) -> bool:
    """Whether `sum` takes it."""
    return type_ in INTEGERS or type_ in FLOATS or is_decimal(type_)


def pool(r: Random, type_: str, size: int) -> list[Any]:
    """So many values, or fewer, in no order."""
    if type_ == "BOOLEAN":
        return [True, False]
    if type_ == "STRING":
        return r.sample(TEXTS, min(size, len(TEXTS)))
    if type_ == "DATE":
        days = [0, 1, 30, 31, 59, 60, 90, 365, 366, -1, -18262, 730, *range(100, 160)]
        found = [_DAY + timedelta(d) for d in _some(r, days, size)]
        return [*found, date.min, date.max] if r.random() < 0.06 else found
    if type_ in TIMES:
        minutes = [0, 1, 690, 691, 1440, 2130, 44640, -90000, 525600, *range(2000, 2100, 3)]
        return [_NOON + timedelta(minutes=m, microseconds=m % 7) for m in _some(r, minutes, size)]
    if type_ in FLOATS:
        return _floats(r, size)
    if is_decimal(type_):
        scale = int(type_[:-1].split(",")[1])
        return [Decimal(n).scaleb(-scale) for n in _some(r, _whole(r, type_), size)]
    return _some(r, _whole(r, type_), size)


def _some(r: Random, values: Sequence[Any], size: int) -> list[Any]:
    return r.sample(values, min(size, len(values)))


def _whole(r: Random, type_: str) -> list[int]:
    wide = {"INT": 2**31 - 1, "BIGINT": 2**62}.get(type_, 9_999_999)
    near = [*range(-4, 30), 100, -100, 999]
    if is_decimal(type_) and type_ not in DECIMALS:
        digits = int(type_[len("DECIMAL(") :].split(",", maxsplit=1)[0])
        most: int = 10 ** min(digits, _DIGITS_MAX) - 1
        near += [r.randint(-most, most) for _ in range(12)]
        near, wide = [n for n in near if abs(n) <= most], min(wide, most)
    # Of one sign: whether sums of these overflow doesn't depend on their order.
    return [abs(n) for n in near] + [wide] * 4 if r.random() < 0.06 else near


def _floats(r: Random, size: int) -> list[float]:
    """Eighths, so that sums are exact in any order; at times what compares in odd ways."""
    values = [n / 8 for n in range(-8, 40)]
    odd = [math.nan, -0.0, 0.0, math.inf]
    mixed = _some(r, values, size)
    return mixed + r.sample(odd, r.choice((1, 2, 4))) if r.random() < 0.5 else mixed


def literal(value: Any, type_: str = "") -> str:
    """The value as Spark's SQL writes it, in a type of its own or in the one given."""
    match value:
        case None | bool():
            return "NULL" if value is None else str(value).upper()
        case datetime():
            word = "TIMESTAMP_NTZ" if type_ == "TIMESTAMP_NTZ" else "TIMESTAMP"
            return f"{word}'{value.isoformat(' ')}'"
        case date():
            return f"DATE'{value}'"
        case str():
            return f"'{value}'"
        case float():
            # As a decimal -0.0 would lose its sign.
            text = str(value) if math.isfinite(value) and value else f"'{value}'"
            return f"CAST({text} AS {type_ or 'DOUBLE'})"
        case Decimal():
            return f"{value:f}"
    return str(value)
