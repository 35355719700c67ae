"""A block's aggregates in several groups, each a block of its own.

Blocks over the same rows, filtered and grouped alike, have the same groups. So the cells of one
source, with some of the aggregates, and those of another one, with others, are of the same groups;
HAVING, ORDER BY, LIMIT and what is computed of aggregates stand above all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rewrite.bind.select import loose_columns
from rewrite.ir.block import Block, Output
from rewrite.ir.expr import Aggregate


def is_split(block: Block) -> bool:
    """Whether the block is one that can be split."""
    if block.rows or len(block.aggregates) < 2:
        return False
    return not any(loose_columns(one, block.keys) for one in block.results)


def with_only(block: Block, calls: Sequence[Aggregate]) -> Block:
    """The groups of the block with these aggregates alone: its keys, then they."""
    keys = [Output(f"k{i}", None, key) for i, key in enumerate(block.keys)]
    found = [Output(f"a{i}", None, call) for i, call in enumerate(calls)]
    return replace(block, outputs=(*keys, *found), having=None, order=(), limit=None)
