"""What an index says of the rows of one data file, and how AND, OR and NOT combine that.

The law. Of a predicate each row is TRUE, FALSE or NULL. A `RowVerdict` encloses the set of TRUE
rows and the set of FALSE rows, each between a lower and an upper bound:

    lower ⊆ rows ⊆ upper

EXACT: both bounds are one set. AT_MOST: rows outside `upper` surely aren't TRUE, which is what lets
rows be skipped. AT_LEAST: rows in `lower` surely are, which is what NOT makes skippable: NOT swaps
TRUE and FALSE, so what was surely TRUE surely isn't TRUE any more. AND intersects TRUE and unites
FALSE, OR the other way round, bound by bound; both keep the law because intersection and union grow
with each of their operands. A NULL row is in neither set. Nothing here knows of deletes: rows are
all rows that the file has, by their positions from 0.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from pyroaring import BitMap


class Certainty(Enum):
    """What a verdict's TRUE rows are to those that it names."""

    EXACT = "exact"
    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    BETWEEN = "between"


class Between(Struct, frozen=True):
    """A set of rows that isn't known, and two that are: `lower` ⊆ it ⊆ `upper`."""

    lower: BitMap
    upper: BitMap

    @classmethod
    def exactly(cls, rows: BitMap) -> Between:
        """It is this very set."""
        return cls(rows, rows)

    def __and__(self, other: Between) -> Between:
        return Between(self.lower & other.lower, self.upper & other.upper)

    def __or__(self, other: Between) -> Between:
        return Between(self.lower | other.lower, self.upper | other.upper)


class RowVerdict(Struct, frozen=True):
    """The TRUE and the FALSE rows of a predicate in a file of so many rows."""

    rows: int
    true: Between
    false: Between

    @classmethod
    def unknown(cls, rows: int) -> RowVerdict:
        """Nothing is proven."""
        nothing = Between(BitMap(), _all(rows))
        return cls(rows, nothing, nothing)

    @classmethod
    def constant(cls, rows: int, value: bool | None) -> RowVerdict:
        """TRUE, FALSE or NULL on every row."""
        every, none = Between.exactly(_all(rows)), Between.exactly(BitMap())
        return cls(rows, every if value is True else none, every if value is False else none)

    @classmethod
    def exactly(cls, rows: int, true: BitMap, null: BitMap) -> RowVerdict:
        """The TRUE rows are known, and the NULL ones; all others are FALSE."""
        false = _all(rows) - true - null
        return cls(rows, Between.exactly(true), Between.exactly(false))

    @property
    def certainty(self) -> Certainty:
        """How the TRUE rows stand to `true.upper`, or to `true.lower` where that says nothing."""
        lower, upper = self.true.lower, self.true.upper
        if lower == upper:
            return Certainty.EXACT
        if not lower:
            return Certainty.AT_MOST
        return Certainty.AT_LEAST if len(upper) == self.rows else Certainty.BETWEEN

    def __and__(self, other: RowVerdict) -> RowVerdict:
        return RowVerdict(self.rows, self.true & other.true, self.false | other.false)

    def __or__(self, other: RowVerdict) -> RowVerdict:
        return RowVerdict(self.rows, self.true | other.true, self.false & other.false)

    def __invert__(self) -> RowVerdict:
        return RowVerdict(self.rows, self.false, self.true)

    def also(self, other: RowVerdict) -> RowVerdict:
        """What both prove of the same predicate."""
        return RowVerdict(
            self.rows, _narrowed(self.true, other.true), _narrowed(self.false, other.false)
        )


def _narrowed(one: Between, other: Between) -> Between:
    return Between(one.lower | other.lower, one.upper & other.upper)


def _all(rows: int) -> BitMap:
    return BitMap(range(rows))
