"""Answers from a table's manifests and indexes: which files need not be read, and what they add.

Theory: `docs/rewriting.md`, 1, the sources *manifest* and *index*. By its manifest a file serves
where the predicate is TRUE on all of its rows, where nothing was deleted from it (or only by
deletion vectors, and only rows are counted), and where its manifest tells each state exactly; a
file that no row of passes is left out; indexes may serve others (`indexing/answers.py`); the rest
is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.arrow_types import arrow_type, typed
from accelerator.cover_plan import Candidate
from accelerator.iceberg.statistics import ColumnStatistics, FileStatistics
from accelerator.indexing.answers import Fixed, IndexAnswers
from accelerator.indexing.probing import SELECTED_MAX
from accelerator.plain_pruning import pruning_doubt
from accelerator.plans import MANIFESTS, Manifests, Tried
from accelerator.pruning import judge
from cubes.definition import CubeDefinition, State
from cubes.freshness import Coverage
from cubes.manifest import Manifested
from indexes.bounds import UNKNOWN, Flags
from rewrite.block import Block
from rewrite.expr import Column, Expr, columns
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg import LiveFile
    from accelerator.iceberg.position_deletes import Positions
    from accelerator.indexing.probing import Skipped, TableIndexes

_BOUND = {"min": "lower", "max": "upper"}
_ADDED = frozenset({"rows", "count"})


def manifest_candidate(
    block: Block,
    told: Manifested,
    statistics: FileStatistics,
    indexes: TableIndexes | None,
    deleted: Callable[[], Callable[[LiveFile], Positions]],
    *,
    sidecars: bool = True,
) -> Tried | Candidate:
    """The candidate; `Tried` with a reason where neither manifests nor indexes spare a file.

    `deleted` gives what tells the positions that are deleted of a file. `sidecars`: whether they
    are asked, which takes time.
    """
    if indexes is not None:
        statistics = indexes.filled(statistics)
    count, cube, alive = len(statistics), told.cube, statistics.alive
    skipped: tuple[Skipped, ...] = ()
    if indexes is None:
        verdict = judge(block.conjuncts, statistics)
    else:
        verdict, skipped = indexes.judged(block.conjuncts, statistics)
    doubt = pruning_doubt(block.tested, statistics)
    if doubt is not None:
        return Tried(MANIFESTS, doubt, 0, 0, count)
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
    told_cells: list[pa.Table] = []
    known = np.zeros(count, dtype=bool)
    if indexes is not None and sidecars:
        own = cube if told.tells else None
        fixed = [None if key is None else Fixed(key.fixed, key.bounds.lower) for key in keys]
        answers = IndexAnswers(indexes, block.conjuncts, own, fixed, deleted)
        asked = np.flatnonzero(~(serves | left_out) & statistics.source.single)
        if answers.able and 0 < len(asked) <= SELECTED_MAX:
            files = statistics.source.live(np.isin(np.arange(count), asked))
            whole = verdict.all_true[asked]
            found_told = answers.of(files, asked.tolist(), whole.tolist())
            told_cells = [one.cells for one in found_told if one.cells is not None]
            left_out[asked] |= [one.empty for one in found_told]
            known[asked] = [one.cells is not None for one in found_told]
            skipped += (answers.said(found_told),)
    read = ~(serves | left_out | known)
    # What reads the file here takes such a column from it, Spark from the partition.
    if any(found is not None and (found.unproven & read).any() for found in used):
        return Tried(MANIFESTS, Declined("metadata_contradicts"), 0, 0, count)
    if count and not statistics.left_out and read.all():
        return Tried(MANIFESTS, Declined("metadata_no_file"), 0, 0, count)
    size = int(statistics.sizes[read].sum())
    tried = Tried(MANIFESTS, None, size, 0, int(read.sum()))
    manifests = Manifests(
        _cells(cube, serves, statistics, told_cells) if told.tells else None,
        int(serves.sum()),
        _left_out(statistics, left_out),
        skipped,
        len(told_cells),
        statistics,
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
    cube: CubeDefinition,
    serves: Flags,
    statistics: FileStatistics,
    told: Sequence[pa.Table],
) -> pa.Table:
    """Rows for each combination of dimension values, with the states of the files that serve.

    `told` are the cells of other files. One row for each, but where values are floats.
    """
    mask = pa.array(serves)
    made: dict[str, pa.Array] = {}
    for index, dimension in enumerate(cube.dimensions):
        found = _statistics(dimension.expr, statistics)
        values = None if found is None else found.bounds.lower
        made[f"d{index}"] = _chosen(values, dimension.expr.type, mask)
    merges = {}
    for index, state in enumerate(cube.states):
        merges[f"s{index}"] = "sum" if state.kind in _ADDED else state.kind
        made[f"s{index}"] = _chosen(_values(state, statistics), state.type, mask)
    table = pa.concat_tables([pa.table(made), *told])
    keys = [name for name in made if name not in merges]
    if not table.num_rows or any(map(pa.types.is_floating, table.schema.types)):
        return table  # Arrow passes over NaN, which is above all numbers
    merged = table.group_by(keys).aggregate(list(merges.items()))
    titles = [*keys, *(f"{name}_{how}" for name, how in merges.items())]
    return merged.select(titles).rename_columns(list(made)).cast(table.schema)


def _chosen(values: pa.Array | None, type_: str | None, mask: pa.Array) -> pa.Array:
    if values is None:
        return pa.nulls(mask.true_count, arrow_type(type_ or ""))
    return typed(values if mask.true_count == len(mask) else values.filter(mask), type_)


def _values(state: State, statistics: FileStatistics) -> pa.Array | None:
    """The state of every file, as the statistics keep it."""
    if state.kind == "rows":
        return pa.array(statistics.alive)
    found = _statistics(state.argument, statistics)
    if found is None:
        return None
    if state.kind == "count":
        return pa.array(statistics.rows - found.bounds.nulls)
    values: pa.Array = getattr(found.bounds, _BOUND[state.kind])
    return values
