"""Joins answered from the fact's files that may pass: what predicates leave of them.

No state is stored; the block is its own cube, and its rows are read, aggregated and joined as a
cube's raw rows are. What is proven of a file, or of rows in it, is proven by the fact's own columns
and by relate columns, which have a dimension's attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from accelerator.cover_plan import Candidate
from accelerator.indexing.probing import SELECTED_MAX
from accelerator.plain_pruning import joined_pruning_doubt
from accelerator.plans import MANIFESTS, Manifests, Tried, UsedRelate
from accelerator.relate.expressions import shown
from cubes.freshness import Coverage
from cubes.itself import itself
from rewrite.block import Block
from rewrite.expr import Expr
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg import LiveFile, PinnedTable
    from accelerator.indexing.probing import RowSelection
    from accelerator.relate.stale import PinnedRelate
    from accelerator.survey import Survey

_SAMPLED = 16
"""So many files' sidecars are asked first; where these leave whole files, the others aren't."""


def joined_candidate(
    block: Block,
    fact: int,
    asked: Survey,
    pinned: Sequence[PinnedTable],
    *,
    always: bool = False,
    selected: Sequence[Expr] = (),
) -> Tried | Candidate:
    """The candidate that reads what is left of the fact occurrence, which the survey is of.

    `selected` are such of its conjuncts as the block doesn't have: of the rows that are read
    they're TRUE. `Tried` with a reason where no file is left out, unless `always`, or where the
    rows that are selected aren't known.
    """
    count, tried = len(asked), Tried(MANIFESTS, None, decoding=asked.decoding)
    doubt = joined_pruning_doubt(block.tested, pinned)
    found = itself(block, fact) if doubt is None else doubt
    if isinstance(found, Declined):
        return replace(tried, declined=found)
    cube, match = found
    tried = replace(tried, uncovered=count)
    known = asked.believed(asked.own)
    if isinstance(known, Declined):
        return replace(tried, declined=known)
    read, skipped = ~known.none_pass, known.skipped
    selection = known.selection(selected)
    size: float = float(known.sizes[read].sum())
    if selection is not None and 0 < int(read.sum()) <= SELECTED_MAX:
        left = _left(selection, known.live(read))
        out = read.copy()
        out[read] = left == 0
        read &= ~out
        skipped = (*skipped, selection.said(int(out.sum())))
        size = float((known.sizes[read] * left[left > 0]).sum())
        if not selected and left.all() and (left == 1).all():
            selection = None
    else:
        selection = None
    files = known.live(read)
    if selected and files and (selection is None or not _is_exact(selection, files)):
        lacking = Declined("metadata_lacks", "The rows of which a relate column is so.")
        return replace(tried, declined=lacking)
    if not always and read.all() and selection is None and not asked.left_out_afar:
        return replace(tried, declined=Declined("metadata_no_file"))
    others = sum(table.size_bytes for i, table in enumerate(pinned) if i != fact)
    tried = replace(tried, bytes=round(size) + others, uncovered=int(read.sum()))
    manifests = Manifests(
        None,
        0,
        int((~read).sum()) + asked.left_out_afar,
        skipped,
        0,
        asked,
        asked.own,
        selection,
        () if asked.indexes is None else used_relates(asked.indexes.relates),
        exact=bool(selected),
    )
    coverage = Coverage((), files)
    return Candidate(MANIFESTS, None, cube, match, coverage, 0, tried.bytes, tried, manifests)


def used_relates(relates: Sequence[PinnedRelate]) -> tuple[UsedRelate, ...]:
    """As explain tells them."""
    return tuple(map(_used, relates))


def _used(relate: PinnedRelate) -> UsedRelate:
    path, expression = relate.path, relate.path.column.expression
    names = tuple(one.facts.name for one in path.dimensions)
    tables = ((), *(one.parts for one in path.dimensions))
    text = "" if expression is None else shown(expression, tables)
    return UsedRelate(path.column.name, names, relate.stale, text)


def _is_exact(selection: RowSelection, files: Sequence[LiveFile]) -> bool:
    """Whether in each file just the rows that are selected are known."""
    few = files[:: max(1, len(files) // _SAMPLED)]
    for some in (few, files):
        selection.of_all(some)  # side by side
        if not all(map(selection.is_exact, some)):
            return False
    return True


def _left(selection: RowSelection, files: Sequence[LiveFile]) -> np.ndarray:
    """The share of each file in row groups that may hold a row that passes."""
    few = files[:: max(1, len(files) // _SAMPLED)]
    selection.of_all(few)  # side by side
    if len(few) < len(files) and all(selection.share(f) == 1 for f in few):
        return np.ones(len(files))
    selection.of_all(files)
    return np.array([selection.share(f) for f in files], dtype=float)
