"""A block's aggregates in several groups, each a block of its own, and the block that joins them.

Blocks over the same rows, filtered and grouped alike, have the same groups. So what one source
gives of each group and what another one gives stand side by side once they're joined by the keys,
NULL with NULL; of no keys there is one group. HAVING, ORDER BY, LIMIT and what is computed of
aggregates stand above the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewrite.bind import loose_columns
from rewrite.block import Block, Occurrence, Output
from rewrite.expr import Aggregate, Call, Column, Expr, transform
from rewrite.facts import At, Facts
from rewrite.nested import Answer, Answers
from rewrite.reason import DeclinedError
from rewrite.types import FLOATING


def is_split(block: Block) -> bool:
    """Whether the block is one that can be split.

    Groups by a floating key aren't told apart by its equality; grouping sets have NULLs that aren't
    of a key.
    """
    if block.rows or block.sets or len(block.aggregates) < 2:
        return False
    if any(key.type is None or key.type in FLOATING for key in block.keys):
        return False
    return not any(loose_columns(one, block.keys) for one in block.results)


def with_only(block: Block, calls: Sequence[Aggregate]) -> Block:
    """The groups of the block with these aggregates alone: its keys, then they."""
    keys = [Output(f"k{i}", None, key) for i, key in enumerate(block.keys)]
    found = [Output(f"a{i}", None, call) for i, call in enumerate(calls)]
    return replace(block, outputs=(*keys, *found), having=None, order=(), limit=None)


def joined(block: Block, groups: Sequence[Sequence[Aggregate]], answers: Sequence[Answer]) -> Block:
    """The block over the `answers` of `with_only`, one for each group of aggregates.

    DeclinedError where an answer isn't a table.
    """
    facts: Facts = Answers({_name(number): one for number, one in enumerate(answers)})
    width = len(block.keys)
    places = {
        call: (number, width + place)
        for number, calls in enumerate(groups)
        for place, call in enumerate(calls)
    }
    occurrences = []
    for number in range(len(groups)):
        table = facts.table((_name(number),), At())
        if table is None:
            raise DeclinedError("table_unknown")
        occurrences.append(Occurrence(number, (table.name,), (table.name,), table, At()))

    def column(number: int, place: int) -> Column:
        known = occurrences[number].table.columns[place]
        return Column(number, known.field_id, known.name, known.type)

    def change(node: Expr) -> Expr | None:
        if node in block.keys:
            return column(0, block.keys.index(node))
        return column(*places[node]) if isinstance(node, Aggregate) else None

    equal = [
        Call("<=>", (column(0, place), column(number, place)), "boolean")
        for number in range(1, len(groups))
        for place in range(width)
    ]
    having = () if block.having is None else (transform(block.having, change),)
    return Block(
        occurrences=tuple(occurrences),
        left_edges=(),
        conjuncts=(*equal, *having),
        keys=(),
        outputs=tuple(replace(o, expr=transform(o.expr, change)) for o in block.outputs),
        having=None,
        order=tuple(replace(k, expr=transform(k.expr, change)) for k in block.order),
        limit=block.limit,
        grouped=False,
        rows=True,
    )


def _name(number: int) -> str:
    return f"acc_part_{number}"
