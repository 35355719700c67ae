"""Joins answered from the fact's files that may pass: what predicates leave of them.

No state is stored; the block is its own cube, and its rows are read, aggregated and joined as a
cube's raw rows are. What is proven of a file, or of rows in it, is proven by the fact's own columns
and by relate columns, which have a dimension's attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accelerator.cover_plan import Candidate
from accelerator.indexing.probing import SELECTED_MAX
from accelerator.plain_pruning import joined_pruning_doubt, pruning_doubt
from accelerator.plans import MANIFESTS, Manifests, Tried, UsedRelate
from accelerator.pruning import judge
from accelerator.relate.expressions import shown
from cubes.freshness import Coverage
from cubes.itself import itself
from rewrite.block import Block
from rewrite.expr import Expr, columns
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg import LiveFile, PinnedTable
    from accelerator.iceberg.statistics import FileStatistics
    from accelerator.indexing.probing import RowSelection, Skipped, TableIndexes
    from accelerator.relate.stale import PinnedRelate

_SAMPLED = 16
"""So many files' sidecars are asked first; where these leave whole files, the others aren't."""


def joined_candidate(
    block: Block,
    fact: int,
    own: Sequence[Expr],
    pinned: Sequence[PinnedTable],
    statistics: FileStatistics,
    indexes: TableIndexes | None,
    *,
    always: bool = False,
    selected: Sequence[Expr] = (),
) -> Tried | Candidate:
    """The candidate that reads what is left of the fact occurrence; `own` is what holds of it.

    `selected` are such of these as the block doesn't have: of the rows that are read they're TRUE.
    `Tried` with a reason where no file is left out, unless `always`, or where the rows that are
    selected aren't known.
    """
    doubt = joined_pruning_doubt(block.tested, pinned)
    found = itself(block, fact) if doubt is None else doubt
    if isinstance(found, Declined):
        return Tried(MANIFESTS, found)
    cube, match = found
    if indexes is not None:
        statistics = indexes.filled(statistics)
    skipped: tuple[Skipped, ...] = ()
    if indexes is None:
        verdict = judge(own, statistics)
    else:
        verdict, skipped = indexes.judged(own, statistics)
    doubt = pruning_doubt(own, statistics)
    used = [
        statistics.column(c.field_id, c.type or "unknown")
        for c in sorted({c for e in own for c in columns(e)}, key=lambda c: c.field_id)
    ]
    if doubt is None and any(one.contradicts or one.unproven.any() for one in used):
        doubt = Declined("metadata_contradicts")
    count = len(statistics)
    if doubt is not None:
        return Tried(MANIFESTS, doubt, 0, 0, count)
    read = ~(verdict.none_true | (statistics.alive == 0))
    selection = None if indexes is None else indexes.selection(own, selected)
    size: float = float(statistics.sizes[read].sum())
    if selection is not None and 0 < int(read.sum()) <= SELECTED_MAX:
        left = _left(selection, statistics, np.flatnonzero(read))
        out = read.copy()
        out[read] = left == 0
        read &= ~out
        skipped = (*skipped, selection.said(int(out.sum())))
        size = float((statistics.sizes[read] * left[left > 0]).sum())
        if not selected and left.all() and (left == 1).all():
            selection = None
    else:
        selection = None
    files = statistics.source.live(read) if selected else ()
    if files and (selection is None or not _is_exact(selection, files)):
        lacking = Declined("metadata_lacks", "The rows of which a relate column is so.")
        return Tried(MANIFESTS, lacking, 0, 0, count)
    if not always and read.all() and selection is None and not statistics.left_out:
        return Tried(MANIFESTS, Declined("metadata_no_file"), 0, 0, count)
    others = sum(table.size_bytes for i, table in enumerate(pinned) if i != fact)
    tried = Tried(MANIFESTS, None, round(size) + others, 0, int(read.sum()))
    gone = int((~read).sum()) + statistics.left_out
    manifests = Manifests(
        None,
        0,
        gone,
        skipped,
        0,
        statistics,
        tuple(own),
        selection,
        () if indexes is None else used_relates(indexes.relates),
        exact=bool(selected),
    )
    coverage = Coverage((), statistics.source.live(read))
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


def _left(selection: RowSelection, statistics: FileStatistics, numbers: np.ndarray) -> np.ndarray:
    """The share of each file in row groups that may hold a row that passes."""
    chosen = np.zeros(len(statistics), dtype=bool)
    chosen[numbers] = True
    files = statistics.source.live(chosen)
    few = files[:: max(1, len(files) // _SAMPLED)]
    selection.of_all(few)  # side by side
    if len(few) < len(files) and all(selection.share(f) == 1 for f in few):
        return np.ones(len(files))
    selection.of_all(files)
    return np.array([selection.share(f) for f in files], dtype=float)
