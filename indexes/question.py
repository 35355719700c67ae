"""What an index can be asked of one column: a closed set of questions, in values of its domain.

Domains are what every Spark type becomes before it's kept or asked for (`domains.py`): `int64`,
`float64`, `bytes`. A question is about the rows on which it's TRUE; NULL rows are never among them,
except for `IsNull`. Texts are UTF-8 bytes.
"""

from __future__ import annotations

from msgspec import Struct

Value = int | float | bytes
"""Of a domain: whole numbers (days, microseconds, unscaled decimals, 0 and 1), floats, bytes."""


class IsNull(Struct, frozen=True):
    """The column is NULL."""


class Among(Struct, frozen=True):
    """The column equals one of the values, as Spark compares: NaN equals NaN, −0.0 equals 0.0."""

    values: tuple[Value, ...]


class Compare(Struct, frozen=True):
    """The column `op` the value, for op among < <= > >=; NaN is above every number."""

    op: str
    value: Value


class Within(Struct, frozen=True):
    """The column lies between two values, which are among those meant unless their end is open."""

    low: Value
    high: Value
    low_open: bool = False
    high_open: bool = False


class Tokens(Struct, frozen=True):
    """The text has all of these tokens, as `text/tokens.py` cuts it; `folded`: case doesn't count.

    Tokens that are folded are given so.
    """

    tokens: tuple[str, ...]
    folded: bool = False


class Like(Struct, frozen=True):
    """The text matches a pattern: literal runs, between which anything may stand.

    `runs` in their order; `starts`: the first run begins the text; `ends`: the last one ends it. A
    pattern that also has `_` is asked by its runs alone: then `exact` is False, and rows that don't
    match may be among those found. `folded`: case doesn't count, as in ILIKE.
    """

    runs: tuple[str, ...]
    starts: bool = False
    ends: bool = False
    exact: bool = True
    folded: bool = False


Question = IsNull | Among | Compare | Within | Tokens | Like
