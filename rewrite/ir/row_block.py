"""The normal form of a SELECT of rows: one table, a predicate, outputs, an order, a limit."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from rewrite.ir.block import Occurrence, Output, SortKey
from rewrite.ir.expr import Column, Expr, columns


class RowBlock(Struct, frozen=True, dict=True):
    """The rows of one table for which each conjunct is TRUE, sorted: `limit` after `offset`.

    Without an order they're any of these rows, so many. No expression holds an aggregate. `limit`
    is None where all rows are asked for.
    """

    occurrence: Occurrence
    conjuncts: tuple[Expr, ...]
    outputs: tuple[Output, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int

    @property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """The one occurrence, as a `Block` has several."""
        return (self.occurrence,)

    @property
    def is_any(self) -> bool:
        """Whether any rows that pass will do, as many as the limit says."""
        return self.limit is not None and not self.order

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        """Everything that is computed: predicate, outputs, sort keys."""
        keys = (k.expr for k in self.order)
        return (*self.conjuncts, *(o.expr for o in self.outputs), *keys)

    @cached_property
    def sought(self) -> tuple[Column, ...]:
        """The columns that tell which rows are wanted: of the predicate and the sort keys."""
        exprs = (*self.conjuncts, *(k.expr for k in self.order))
        return tuple(dict.fromkeys(c for e in exprs for c in _in_order(e)))

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """Every column that it names."""
        return tuple(dict.fromkeys(c for e in self.expressions for c in _in_order(e)))


def _in_order(expr: Expr) -> list[Column]:
    return sorted(columns(expr), key=lambda c: c.field_id)
