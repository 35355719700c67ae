"""Answers from a table's manifests and indexes: which files need not be read, and what they add.

Theory: `docs/rewriting.md`, 1, the sources *manifest* and *index*. By its manifest a file serves
where the predicate is TRUE on all of its rows, where nothing was deleted from it (or only by
deletion vectors, and only rows are counted), and where its manifest tells each state exactly; a
file that no row of passes is left out; indexes may serve others (`indexing/answers.py`); the rest
is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.arrow_types import arrow_type, typed
from accelerator.cover_plan import Candidate
from accelerator.indexing.answers import Fixed, IndexAnswers
from accelerator.indexing.probing import SELECTED_MAX
from accelerator.plans import MANIFESTS, Manifests, Tried
from accelerator.survey import Believed, Survey
from cubes.definition import CubeDefinition, State
from cubes.freshness import Coverage
from cubes.manifest import Manifested
from indexes.bounds import Flags
from rewrite.block import Block
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg import LiveFile
    from accelerator.iceberg.position_deletes import Positions

_BOUND = {"min": "lower", "max": "upper"}
_ADDED = frozenset({"rows", "count"})


def manifest_candidate(
    block: Block,
    told: Manifested,
    asked: Survey,
    deleted: Callable[[], Callable[[LiveFile], Positions]],
    *,
    sidecars: bool = True,
    among: Flags | None = None,
) -> Tried | Candidate:
    """The candidate; `Tried` with a reason where neither manifests nor indexes spare a file.

    The survey is asked for the cube's columns, too; `deleted` gives what tells the positions that
    are deleted of a file. `sidecars`: whether they are asked, which takes time. `among` are the
    files in question, where these aren't all.
    """
    cube, count = told.cube, len(asked)
    wanted = np.ones(count, dtype=bool) if among is None else among
    tried = Tried(MANIFESTS, None, 0, 0, count, decoding=asked.decoding)
    known = asked.believed(block.tested, told.used)
    if isinstance(known, Declined):
        return replace(tried, declined=known)
    left_out, skipped = known.none_pass & wanted, known.skipped
    # A deletion vector leaves only their count known.
    serves = known.all_pass & wanted & ~left_out & known.alive_known & known.stands_once
    if any(state.kind != "rows" for state in cube.states):
        serves &= known.whole
    keys = [known.of(d.expr) for d in cube.dimensions]
    for key in keys:
        serves &= np.zeros(count, dtype=bool) if key is None else key.fixed
    for state in cube.states:
        serves &= told.tells and _tells(state, known)
    told_cells: list[pa.Table] = []
    by_index = np.zeros(count, dtype=bool)
    if asked.indexes is not None and sidecars:
        own = cube if told.tells else None
        fixed = [None if key is None else Fixed(key.fixed, key.bounds.lower) for key in keys]
        answers = IndexAnswers(asked.indexes, block.conjuncts, own, fixed, deleted)
        open_ = np.flatnonzero(wanted & ~(serves | left_out) & known.stands_once)
        if answers.able and 0 < len(open_) <= SELECTED_MAX:
            files = known.live(np.isin(np.arange(count), open_))
            whole = known.all_pass[open_]
            found_told = answers.of(files, open_.tolist(), whole.tolist())
            told_cells = [one.cells for one in found_told if one.cells is not None]
            left_out[open_] |= [one.empty for one in found_told]
            by_index[open_] = [one.cells is not None for one in found_told]
            skipped += (answers.said(found_told),)
    read = wanted & ~(serves | left_out | by_index)
    if count and not asked.left_out_afar and (read == wanted).all():
        return replace(tried, declined=Declined("metadata_no_file"))
    size = int(known.sizes[read].sum())
    manifests = Manifests(
        _cells(cube, serves, known, told_cells) if told.tells else None,
        int(serves.sum()),
        int(left_out.sum()) + asked.left_out_afar,
        skipped,
        len(told_cells),
        asked,
    )
    return Candidate(
        MANIFESTS,
        None,
        cube,
        told.match,
        Coverage((), known.live(read)),
        0,
        size,
        replace(tried, bytes=size, uncovered=int(read.sum())),
        manifests,
    )


def _tells(state: State, known: Believed) -> Flags:
    """Files whose manifest entry gives the state exactly."""
    if state.kind == "rows":
        return np.ones(len(known), dtype=bool)
    found = known.of(state.argument)
    if found is None:
        return np.zeros(len(known), dtype=bool)
    return found.counted if state.kind == "count" else found.ends


def _cells(
    cube: CubeDefinition,
    serves: Flags,
    known: Believed,
    told: Sequence[pa.Table],
) -> pa.Table:
    """Rows for each combination of dimension values, with the states of the files that serve.

    `told` are the cells of other files. One row for each, but where values are floats.
    """
    mask = pa.array(serves)
    made: dict[str, pa.Array] = {}
    for index, dimension in enumerate(cube.dimensions):
        found = known.of(dimension.expr)
        values = None if found is None else found.bounds.lower
        made[f"d{index}"] = _chosen(values, dimension.expr.type, mask)
    merges = {}
    for index, state in enumerate(cube.states):
        merges[f"s{index}"] = "sum" if state.kind in _ADDED else state.kind
        made[f"s{index}"] = _chosen(_values(state, known), state.type, mask)
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


def _values(state: State, known: Believed) -> pa.Array | None:
    """The state of every file, as the survey has it."""
    if state.kind == "rows":
        return pa.array(known.alive)
    found = known.of(state.argument)
    if found is None:
        return None
    if state.kind == "count":
        return pa.array(known.rows - found.bounds.nulls)
    values: pa.Array = getattr(found.bounds, _BOUND[state.kind])
    return values
