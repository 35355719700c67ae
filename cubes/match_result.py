"""What matching a block with a cube gives: which cube columns feed which part of the answer.

`StateSlot`s are the columns of the cells that cube rows and raw rows are both brought to; `Final`s
say how each aggregate of the statement comes out of them. Plain values; `cubes.cover_sql` writes
them.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct, field

from cubes.measures import Measure
from rewrite.ir.expr import CUBE, Aggregate, Expr, columns

WHOLE_SLOT = "whole"
"""The kind of a slot whose argument is an aggregate, computed from all rows of its group."""


class StateSlot(Struct, frozen=True):
    """One column of the cells: `cube` over the cube's rows, or `kind` of `argument` over raw rows.

    `kind` is a name of STATES, `key` for a column that raw rows are grouped by as well, or
    `WHOLE_SLOT`. `size` is that of the stored sketch, which raw rows are brought to.
    """

    kind: str
    argument: Expr | None
    where: Expr | None
    cube: Expr
    type: str
    size: int = 0


class Final(Struct, frozen=True):
    """How one aggregate is finished; `measure` None is a distinct count of its slot."""

    aggregate: Aggregate
    measure: Measure | None
    slots: tuple[int, ...]


class Needs(Struct, frozen=True):
    """What a segment must have counted for the match to hold (`docs/rewriting.md`, 3.4 and 5.2).

    `complete`: edges without a missing partner; `unique`: edges whose key was unique; `named`:
    dimension occurrences of the cube that the statement uses, so their snapshot must be the pinned
    one. `pins` pairs each with the statement's occurrence. `bounded`: (a, b, sign) pairs of fact
    columns whose sum or difference must be proven by the segment's bounds not to overflow.
    """

    complete: frozenset[int] = frozenset()
    unique: frozenset[int] = frozenset()
    named: tuple[tuple[int, int], ...] = ()
    bounded: tuple[tuple[int, int, str], ...] = ()


class Delta(Struct, frozen=True):
    """An occurrence of the statement that the cube lacks, whose rows are joined to its cells.

    `on` is a left join's; None of a table that is joined by the match's predicates alone.
    """

    occurrence: int
    on: tuple[Expr, ...] | None = None


class Match(Struct, frozen=True, dict=True):
    """A proof that the cube answers the block, on every segment that meets `needs`.

    Keys, predicates and slots are over the cube's columns and those of the `delta`'s tables.
    """

    fact: int
    keys: tuple[Expr, ...]
    where: tuple[Expr, ...]
    slots: tuple[StateSlot, ...]
    finals: tuple[Final, ...]
    needs: Needs = field(default_factory=Needs)
    delta: tuple[Delta, ...] = ()

    @cached_property
    def stored(self) -> frozenset[str]:
        """The stored columns that the cube's rows are read by."""
        exprs = [*self.keys, *self.where, *(slot.cube for slot in self.slots)]
        exprs += [c for one in self.delta for c in one.on or ()]
        return frozenset(c.name for e in exprs for c in columns(e) if c.occurrence == CUBE)

    @cached_property
    def joined(self) -> frozenset[int]:
        """The delta's occurrences."""
        return frozenset(one.occurrence for one in self.delta)

    @property
    def estimates(self) -> dict[Aggregate, Measure]:
        """The aggregates that rest on a sketch, with the measure that says how good it is."""
        return {f.aggregate: f.measure for f in self.finals if f.measure and f.measure.estimate}
