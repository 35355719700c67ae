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
PRECISION_MAX = 38
_PRECISIONS = (1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 18, 19, 27, 28, 29, 34, 37, 38)
"""Those at the bounds of Spark's rules: `avg` through DOUBLE up to 11, `sum` through BIGINT up to
8, 18 digits in a BIGINT, sums of 28 digits, whose type has 38."""
_SPREAD_DIGITS = 9
_SURE_DIGITS = 27
"""A sum of values of so many digits can't overflow, whatever their signs and order."""
TEXTS = (
    *("", " ", "a", "A", "b", "ab", "a b", "a%", "a_b", "zz", "0"),
    *("é", "e\u0301", "ß", "žluť", "日本", "😀"),
)
_DAY = date(2020, 1, 1)
_NOON = datetime(2020, 2, 28, 12, 30)


def is_decimal(type_: str) -> bool:
    """Whether it's a decimal of any precision."""
    return type_.startswith("DECIMAL")


def random_decimal(r: Random) -> str:
    """A decimal type of any precision and scale."""
    precision = r.choice(_PRECISIONS) if r.random() < 0.7 else r.randint(1, PRECISION_MAX)
    scales = (0, min(2, precision), precision, r.randint(0, precision), r.randint(0, precision))
    return f"DECIMAL({precision},{r.choice(scales)})"


def digits_of(type_: str) -> tuple[int, int]:
    """Precision and scale of a decimal type."""
    precision, _, scale = type_[len("DECIMAL(") : -1].partition(",")
    return int(precision), int(scale)


def has_spread(type_: str) -> bool:
    """Whether variances of the type's values can be compared.

    The spread of one large value, repeated, is 0 or the square of a last digit.
    """
    return not is_decimal(type_) or digits_of(type_)[0] <= _SPREAD_DIGITS


def wider(type_: str) -> str:
    """The decimal type with three more digits, as far as there are such."""
    precision, scale = digits_of(type_)
    return f"DECIMAL({min(precision + 3, PRECISION_MAX)},{scale})"


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
        return _decimals(r, type_, size)
    return _some(r, _whole(r, type_), size)


def _some(r: Random, values: Sequence[Any], size: int) -> list[Any]:
    return r.sample(values, min(size, len(values)))


def _whole(r: Random, type_: str) -> list[int]:
    wide = 2**31 - 1 if type_ == "INT" else 2**62
    near = [*range(-4, 30), 100, -100, 999]
    # Of one sign: whether sums of these overflow doesn't depend on their order.
    return [abs(n) for n in near] + [wide] * 4 if r.random() < 0.06 else near


def _decimals(r: Random, type_: str, size: int) -> list[Decimal]:
    """Small ones, some of all digits, at times the largest; of one sign if sums may overflow."""
    precision, scale = digits_of(type_)
    largest = 10**precision - 1
    whole = [n for n in (*range(-4, 30), 100, -100, 999) if abs(n) <= largest]
    whole += [r.randint(-largest, largest) for _ in range(r.choice((0, 4, 20)))]
    if r.random() < 0.06:
        whole += [largest] * 4
    if any(abs(n) >= 10**_SURE_DIGITS for n in whole):
        whole = [abs(n) for n in whole]
    return [_decimal(n, scale) for n in _some(r, whole, size)]


def _decimal(whole: int, scale: int) -> Decimal:
    """The number with so many places; Python's arithmetic would round it to 28 digits."""
    return Decimal((int(whole < 0), tuple(map(int, str(abs(whole)))), -scale))


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
