"""What the bounds and counts of data files prove of a predicate, for all files at once.

Three-valued, as SQL is: a verdict says of each file whether every row makes the predicate TRUE,
whether every row makes it FALSE, whether no row makes it TRUE, whether none makes it FALSE. Each
claim is a proof; what isn't known claims nothing. Bounds need not be tight here, so that truncated
ones serve.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from indexes import arrow_compute as pc

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
UNKNOWN = -1
"""A count that isn't known."""


class ColumnBounds(Struct, frozen=True, dict=True):
    """One column in n files. Arrays have n items.

    `lower` and `upper` enclose every value that is neither NULL nor NaN, in the order of the engine
    (binary for texts); null where there is no bound. `rows`, `nulls`, `nans`: counts, `UNKNOWN`
    where they aren't known. `floating`: whether the column's type has NaN at all.
    """

    lower: pa.Array
    upper: pa.Array
    rows: Numbers
    nulls: Numbers
    nans: Numbers
    floating: bool = False

    @property
    def nbytes_cached(self) -> int:
        """Bytes of memory of what has been made of the bounds so far."""
        made = vars(self)
        flags = len(self.rows) * sum(n in made for n in ("never_null", "always_null", "bounded"))
        if made.get("numbers") is not None:
            flags += sum(bound.nbytes for bound in (self.lower, self.upper) if bound.null_count)
        return flags

    @cached_property
    def never_null(self) -> Flags:
        """Whether no row is NULL."""
        never: Flags = self.nulls == 0
        return never

    @cached_property
    def always_null(self) -> Flags:
        """Whether every row is NULL."""
        always: Flags = (self.rows != UNKNOWN) & (self.nulls == self.rows)
        return always

    @property
    def only_nan(self) -> Flags:
        """Whether every row is NaN or NULL; not told of files that have no rows."""
        counted = (self.nulls >= 0) & (self.nans > 0)
        only: Flags = counted & (self.nulls + self.nans == self.rows)
        return only

    @cached_property
    def numbers(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        """Both bounds as numbers, of any value where there is none; None for texts."""
        if pa.types.is_binary(self.lower.type):
            return None
        zero = pa.scalar(0, self.lower.type)
        lower, upper = (
            pc.fill_null(bound, zero) if bound.null_count else bound
            for bound in (self.lower, self.upper)
        )
        return lower.to_numpy(), upper.to_numpy()

    @cached_property
    def bounded(self) -> Flags:
        """Whether the bounds enclose every value: no NaN may stand outside."""
        both = flags(pc.and_(pc.is_valid(self.lower), pc.is_valid(self.upper)))
        return both & (self.nans == 0) if self.floating else both


class Verdict(Struct, frozen=True):
    """Proofs about a predicate, one flag for each file."""

    all_true: Flags
    all_false: Flags
    none_true: Flags
    none_false: Flags

    @classmethod
    def unknown(cls, files: int) -> Verdict:
        """Nothing is proven."""
        no = np.zeros(files, dtype=bool)
        return cls(no, no, no, no)

    @classmethod
    def constant(cls, files: int, value: bool | None) -> Verdict:
        """TRUE, FALSE or NULL on every row."""
        yes, no = np.ones(files, dtype=bool), np.zeros(files, dtype=bool)
        true, false = value is True, value is False
        return cls(
            yes if true else no,
            yes if false else no,
            no if true else yes,
            no if false else yes,
        )

    def __and__(self, other: Verdict) -> Verdict:
        return Verdict(
            self.all_true & other.all_true,
            self.all_false | other.all_false,
            self.none_true | other.none_true,
            self.none_false & other.none_false,
        )

    def __or__(self, other: Verdict) -> Verdict:
        return ~(~self & ~other)

    def __invert__(self) -> Verdict:
        return Verdict(self.all_false, self.all_true, self.none_false, self.none_true)

    def also(self, other: Verdict) -> Verdict:
        """What both prove of the same predicate."""
        return Verdict(
            self.all_true | other.all_true,
            self.all_false | other.all_false,
            self.none_true | other.none_true,
            self.none_false | other.none_false,
        )


def is_null(column: ColumnBounds) -> Verdict:
    """`column IS NULL`, which is never unknown itself."""
    always, never = column.always_null, column.never_null
    return Verdict(always, never, never, always)


def compare(column: ColumnBounds, op: str, value: Any) -> Verdict:
    """`column op value` for op among = < <= > >=; the value is of the bounds' type, and no NaN."""
    holds, fails = _decided(column, op, value)
    if column.floating:
        # NaN is above every number.
        above, none, only = op in (">", ">="), column.nans == 0, column.only_nan
        holds = holds | only if above else holds & none
        fails = fails & none if above else fails | only
    never, always = column.never_null, column.always_null
    return Verdict(never & holds, never & fails, always | fails, always | holds)


def among(column: ColumnBounds, values: Sequence[Any]) -> Verdict:
    """`column IN values`; these are of the bounds' type, and no NaN."""
    sought = sorted(set(values))
    if column.numbers is not None:
        lower, upper = column.numbers
        first = np.searchsorted(sought, lower, "left")
        last = np.searchsorted(sought, upper, "right")
        same = lower == upper
    else:
        # numpy's own texts end at their last byte that isn't zero.
        first, last = (
            np.array([-1 if one is None else find(sought, one) for one in bound.to_pylist()])
            for find, bound in ((bisect_left, column.lower), (bisect_right, column.upper))
        )
        same = flags(pc.equal(column.lower, column.upper))
    both = flags(column.lower.is_valid()) & flags(column.upper.is_valid())
    fails, holds = both & (first >= last), both & same & (first < last)
    if column.floating:
        holds, fails = holds & (column.nans == 0), fails | column.only_nan
    never, always = column.never_null, column.always_null
    return Verdict(never & holds, never & fails, always | fails, always | holds)


def _decided(column: ColumnBounds, op: str, value: Any) -> tuple[Flags, Flags]:
    """Whether the bounds say that every value but NaN compares so, and that none does."""

    def lower(how: str) -> Flags:
        return _tested(column.numbers and column.numbers[0], column.lower, how, value)

    def upper(how: str) -> Flags:
        return _tested(column.numbers and column.numbers[1], column.upper, how, value)

    if op == "<":
        return upper("less"), lower("greater_equal")
    if op == "<=":
        return upper("less_equal"), lower("greater")
    if op == ">":
        return lower("greater"), upper("less_equal")
    if op == ">=":
        return lower("greater_equal"), upper("less")
    if op == "=":
        return lower("equal") & upper("equal"), lower("greater") | upper("less")
    raise ValueError(f"no comparison: {op}")


def _tested(numbers: npt.NDArray[Any] | None, bound: pa.Array, how: str, value: Any) -> Flags:
    """The bound compared, by the function that numpy and Arrow have under one name."""
    if numbers is not None:
        found: Flags = getattr(np, how)(numbers, value)
        return found & flags(bound.is_valid()) if bound.null_count else found
    return flags(getattr(pc, how)(bound, pa.scalar(value, bound.type)))


def flags(found: pa.Array) -> Flags:
    """Arrow's booleans, null as False."""
    plain: Flags = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return plain
