"""Keys of a small filtered dimension, as a predicate on the fact's own key.

Where no relate column has a dimension's attribute, its predicates still say which of its keys can
meet a row of the fact: these are found here, and bounds and indexes of the fact's key are asked for
them. A dimension's key need not be unique for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from accelerator.common.arrow.spark_types import is_known
from accelerator.errors import AcceleratorError
from rewrite.ir.block import Block
from rewrite.ir.expr import Call, Column, Expr, Literal, columns, occurrences
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, quote

if TYPE_CHECKING:
    from collections.abc import Collection

    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.iceberg import PinnedTable

KEYS_MAX = 1_000
"""Keys that indexes are asked for one by one; of more nothing is said."""
DIMENSION_BYTES_MAX = 64 * 1024 * 1024
"""Data files of a dimension that is read while a statement is planned."""
_TYPES = frozenset({"int", "bigint", "string", "date"})


def key_predicates(
    block: Block,
    fact: int,
    pinned: Sequence[PinnedTable],
    indexed: Collection[int],
    through: Collection[int],
    engine: Callable[[], DuckDBEngine],
) -> Iterator[Expr]:
    """What inner dimensions' own predicates leave of the fact's keys that are indexed.

    `through` are occurrences whose predicates relate columns have already.
    """
    for other in block.occurrences:
        number = other.index
        if number == fact or number in block.null_supplied or number in through:
            continue
        own = [c for c in block.conjuncts if occurrences(c) == {number}]
        if not own or pinned[number].size_bytes > DIMENSION_BYTES_MAX:
            continue
        for mine, theirs in _pairs(block, fact, number):
            if mine.field_id in indexed and mine.type in _TYPES:
                found = _predicate(mine, theirs, own, pinned[number], engine)
                if found is not None:
                    yield found


def _pairs(block: Block, fact: int, other: int) -> Iterator[tuple[Column, Column]]:
    """Columns of both that are equal in every row that passes."""
    for members in block.equals.values():
        mine = [c for c in members if c.occurrence == fact]
        theirs = [c for c in members if c.occurrence == other]
        if mine and theirs:
            yield mine[0], theirs[0]


def _predicate(
    mine: Column,
    theirs: Column,
    own: Sequence[Expr],
    dimension: PinnedTable,
    engine: Callable[[], DuckDBEngine],
) -> Expr | None:
    """The fact's key among those that pass; None where they're too many, or can't be found here."""
    used = sorted({c for e in (*own, theirs) for c in columns(e)}, key=lambda c: c.name)
    if not all(is_known(c.type) for c in used):
        return None
    if dimension.has_doubtful((c.field_id, c.type or "unknown") for c in used):
        return None
    render = Renderer("duckdb", lambda c: quote(c.name, "duckdb"))
    try:
        where = " AND ".join(render.text(c) for c in own)
        key = render.text(theirs)
        rows, _ = engine().kept.of(dimension, [c.name for c in used])
        text = (
            f"SELECT DISTINCT {key} AS k FROM acc_dimension WHERE {where} AND {key} IS NOT NULL"
            f" LIMIT {KEYS_MAX + 1}"
        )
        found = engine().run(text, {"acc_dimension": rows}).column("k").to_pylist()
    except (DeclinedError, AcceleratorError, OSError, ValueError):
        return None
    if len(found) > KEYS_MAX:
        return None
    if not found:
        return Literal("false", "boolean")
    values = [Literal(_text(value), mine.type or "") for value in sorted(found)]
    if len(values) == 1:
        return Call("=", (mine, values[0]), "boolean")
    return Call("in", (mine, *values), "boolean")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
