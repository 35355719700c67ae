"""What a statement asks of a table's manifests."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from rewrite.ir.expr import Column, Expr, columns


class Question(Struct, frozen=True):
    """Which files may hold a row that all `conjuncts` are true of, and what is said of `columns`.

    These are pairs of a field's id and its Spark type; those of the conjuncts are among them.
    """

    conjuncts: tuple[Expr, ...]
    columns: frozenset[tuple[int, str]]

    @classmethod
    def of(cls, conjuncts: Iterable[Expr], used: Iterable[Expr | None]) -> Question:
        """With the columns of the conjuncts and those of `used` that are columns themselves."""
        conjuncts = tuple(conjuncts)
        found = {c for conjunct in conjuncts for c in columns(conjunct)}
        found |= {one for one in used if isinstance(one, Column)}
        return cls(conjuncts, frozenset((c.field_id, c.type or "unknown") for c in found))

    @property
    def field_ids(self) -> frozenset[int]:
        """The columns' ids."""
        return frozenset(field_id for field_id, _ in self.columns)
