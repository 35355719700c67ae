"""Answers from a table's own manifests: which data files need not be read, and what they add.

Theory: `docs/rewriting.md`, 1, the source *manifest*. A file serves where the predicate is TRUE on
all of its rows, where nothing was deleted from it (or only by deletion vectors, and only rows are
counted), and where its manifest tells each state exactly; a file that no row of passes is left out;
the others are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.arrow_types import arrow_type
from accelerator.cover_plan import Candidate
from accelerator.iceberg.statistics import ColumnStatistics, FileStatistics
from accelerator.plan import MANIFESTS, Manifests, Tried
from accelerator.pruning import judge
from cubes.definition import CubeDefinition, State
from cubes.freshness import Coverage
from cubes.manifest import Manifested
from indexes.bounds import UNKNOWN, Flags, Numbers
from rewrite.block import Block
from rewrite.expr import Column, Expr, columns
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg import LiveFile
    from accelerator.iceberg.position_deletes import Positions
    from accelerator.indexing.probing import Skipped, TableIndexes

_BOUND = {"min": "lower", "max": "upper"}
_ADDED = frozenset({"rows", "count"})


_ASKED_MAX = 4_096
"""Files whose sidecars are asked while a statement is planned."""


def manifest_candidate(
    block: Block,
    told: Manifested,
    statistics: FileStatistics,
    indexes: TableIndexes | None,
    deleted: Callable[[], Callable[[LiveFile], Positions]],
) -> Tried | Candidate:
    """The candidate; `Tried` with a reason where neither manifests nor indexes spare a file.

    `deleted` gives what tells the positions that are deleted of a file.
    """
    count, cube, alive = len(statistics), told.cube, statistics.alive
    skipped: tuple[Skipped, ...] = ()
    if indexes is None:
        verdict = judge(block.conjuncts, statistics)
    else:
        verdict, skipped = indexes.judged(block.conjuncts, statistics)
    left_out = verdict.none_true | (alive == 0)
    keys = [_statistics(d.expr, statistics) for d in cube.dimensions]
    states = [(s, _statistics(s.argument, statistics)) for s in cube.states]
    searched = [_statistics(c, statistics) for e in block.conjuncts for c in columns(e)]
    used = (*searched, *keys, *(found for _, found in states))
    if any(found is not None and found.contradicts for found in used):
        return Tried(MANIFESTS, Declined("metadata_contradicts"), 0, 0, count)
    # A path that stands twice is left to the rows. A deletion vector leaves only their count known.
    serves = verdict.all_true & ~left_out & (alive != UNKNOWN) & statistics.source.single
    if any(state.kind != "rows" for state in cube.states):
        serves &= alive == statistics.rows
    for key in keys:
        serves &= np.zeros(count, dtype=bool) if key is None else key.fixed
    for state, found in states:
        serves &= told.tells and _tells(state, found, count)
    selection = None if indexes is None else indexes.selection(block.conjuncts)
    if selection is not None and 0 < (asked := ~(serves | left_out)).sum() <= _ASKED_MAX:
        bare = told.tells and not keys and all(state.kind == "rows" for state, _ in states)
        found_rows = selection.counted(statistics.source, asked, deleted() if bare else None)
        left_out |= asked & (found_rows == 0)
        exact = asked & (found_rows > 0) & statistics.source.single
        serves |= exact
        alive = np.where(exact, found_rows, alive)
        skipped += (selection.said(int((asked & (found_rows >= 0)).sum())),)
    read = ~(serves | left_out)
    # What reads the file here takes such a column from it, Spark from the partition.
    if any(found is not None and (found.unproven & read).any() for found in used):
        return Tried(MANIFESTS, Declined("metadata_contradicts"), 0, 0, count)
    if count and not statistics.left_out and read.all():
        return Tried(MANIFESTS, Declined("metadata_no_file"), 0, 0, count)
    size = int(statistics.sizes[read].sum())
    tried = Tried(MANIFESTS, None, size, 0, int(read.sum()))
    manifests = Manifests(
        _cells(cube, serves, statistics, alive) if told.tells else None,
        int(serves.sum()),
        _left_out(statistics, left_out),
        skipped,
    )
    coverage = Coverage((), statistics.source.live(read))
    return Candidate(MANIFESTS, None, cube, told.match, coverage, 0, size, tried, manifests)


def _left_out(statistics: FileStatistics, here: Flags) -> int:
    """Files without a row that passes, those that aren't among the statistics too."""
    return int(here.sum()) + statistics.left_out


def _statistics(expr: Expr | None, statistics: FileStatistics) -> ColumnStatistics | None:
    if not isinstance(expr, Column) or expr.type is None:
        return None
    return statistics.column(expr.field_id, expr.type)


def _tells(state: State, found: ColumnStatistics | None, files: int) -> Flags:
    """Files whose manifest entry gives the state exactly."""
    if state.kind == "rows":
        return np.ones(files, dtype=bool)
    if found is None:
        return np.zeros(files, dtype=bool)
    counted: Flags = found.bounds.nulls >= 0
    if state.kind == "count":
        return counted
    return (counted & found.bounds.bounded & found.tight) | found.bounds.always_null


def _cells(
    cube: CubeDefinition, serves: Flags, statistics: FileStatistics, alive: Numbers
) -> pa.Table:
    """One row for each combination of dimension values, with the states of the files that serve.

    `alive` are the rows of each file that pass.
    """
    mask = pa.array(serves)
    made: dict[str, pa.Array] = {}
    for index, dimension in enumerate(cube.dimensions):
        found = _statistics(dimension.expr, statistics)
        values = None if found is None else found.bounds.lower
        made[f"d{index}"] = typed(values, dimension.expr.type, mask)
    merges = {}
    for index, state in enumerate(cube.states):
        merges[f"s{index}"] = "sum" if state.kind in _ADDED else state.kind
        values = pa.array(alive) if state.kind == "rows" else _values(state, statistics)
        made[f"s{index}"] = typed(values, state.type, mask)
    table = pa.table(made)
    keys = [name for name in made if name not in merges]
    if not table.num_rows:
        return table
    merged = table.group_by(keys).aggregate(list(merges.items()))
    titles = [*keys, *(f"{name}_{how}" for name, how in merges.items())]
    return merged.select(titles).rename_columns(list(made)).cast(table.schema)


def _values(state: State, statistics: FileStatistics) -> pa.Array | None:
    """The state of every file, as the statistics keep it."""
    found = _statistics(state.argument, statistics)
    if found is None:
        return None
    if state.kind == "count":
        return pa.array(statistics.rows - found.bounds.nulls)
    values: pa.Array = getattr(found.bounds, _BOUND[state.kind])
    return values


def typed(values: pa.Array | None, type_: str | None, mask: pa.Array) -> pa.Array:
    """The chosen values as the engine has them, out of how bounds are kept."""
    target = arrow_type(type_ or "")
    if values is None:
        return pa.nulls(mask.true_count, target)
    chosen = values if mask.true_count == len(mask) else values.filter(mask)
    if chosen.null_count == len(chosen):
        return pa.nulls(len(chosen), target)
    if pa.types.is_decimal(target):
        return _rescaled(chosen, target)
    narrow = pa.types.is_date32(target) or pa.types.is_int32(target)
    return (chosen.cast(pa.int32()) if narrow else chosen).cast(target)


def _rescaled(unscaled: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    """Whole numbers as decimals: the same bits under another scale."""
    whole = unscaled.cast(pa.decimal128(38, 0))
    scaled = pa.Array.from_buffers(
        pa.decimal128(38, target.scale), len(whole), whole.buffers(), offset=whole.offset
    )
    return scaled.cast(target)
