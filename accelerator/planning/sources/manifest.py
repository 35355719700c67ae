"""The source that manifests are: counts and bounds of files that pass as a whole.

Theory: `docs/rewriting.md`, 1. A file serves where the predicate is TRUE on all of its rows, where
nothing was deleted from it (or only by deletion vectors, and only rows are counted), and where its
manifest tells each state exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.common.arrow.spark_types import arrow_type, typed
from accelerator.planning.plans.cover_value import MANIFEST, Passed, Share
from accelerator.planning.sources.source import CoverResult, Unserved
from cubes.definition import CubeDefinition, StoredState
from indexes.bounds import Flags

if TYPE_CHECKING:
    from accelerator.planning.survey import Believed

_BOUND = {"min": "lower", "max": "upper"}
_WHY = ("file_mixed", "file_deletes", "metadata_lacks")


class ManifestCells:
    """Cells of the cube that a table's manifests are for a block."""

    def __init__(self, cube: CubeDefinition, known: Believed) -> None:
        self._cube, self._known = cube, known

    def serve(self, left: Unserved) -> CoverResult:
        """See `Source`."""
        known, cube, wanted = self._known, self._cube, left.within(self._known)
        # A deletion vector leaves only their count known.
        whole = known.alive_known & known.stands_once
        if any(state.kind != "rows" for state in cube.states):
            whole &= known.whole
        told = np.ones(len(known), dtype=bool)
        for dimension in cube.dimensions:
            key = known.of(dimension.expr)
            told &= np.zeros(len(known), dtype=bool) if key is None else key.fixed
        for state in cube.states:
            told &= _tells(state, known)
        serves, passed = wanted, []
        for code, flags in zip(_WHY, (known.all_pass, whole, told), strict=True):
            lost = int((serves & ~flags).sum())
            passed += [Passed(MANIFEST, code, lost)] if lost else []
            serves = serves & flags
        share = Share(MANIFEST, int(serves.sum()), cells=_cells(cube, serves, known))
        return CoverResult((share,), left.without(known, serves), tuple(passed))


def _tells(state: StoredState, known: Believed) -> Flags:
    """Files whose manifest entry gives the state exactly."""
    if state.kind == "rows":
        return np.ones(len(known), dtype=bool)
    found = known.of(state.argument)
    if found is None:
        return np.zeros(len(known), dtype=bool)
    return found.counted if state.kind == "count" else found.ends


def _cells(cube: CubeDefinition, serves: Flags, known: Believed) -> pa.Table:
    """A row for each file that serves: its dimension values, and its states."""
    mask = pa.array(serves)
    made: dict[str, pa.Array] = {}
    for index, dimension in enumerate(cube.dimensions):
        found = known.of(dimension.expr)
        values = None if found is None else found.bounds.lower
        made[f"d{index}"] = _chosen(values, dimension.expr.type, mask)
    for index, state in enumerate(cube.states):
        made[f"s{index}"] = _chosen(_values(state, known), state.type, mask)
    return pa.table(made)


def _chosen(values: pa.Array | None, type_: str | None, mask: pa.Array) -> pa.Array:
    if values is None:
        return pa.nulls(mask.true_count, arrow_type(type_ or ""))
    return typed(values if mask.true_count == len(mask) else values.filter(mask), type_)


def _values(state: StoredState, known: Believed) -> pa.Array | None:
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
