"""The source that bitmaps are: which rows have which value, and so the cells of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.artifacts.sidecars.index_cells import Fixed, IndexAnswers
from accelerator.artifacts.sidecars.probe import SELECTED_MAX
from accelerator.planning.plans.cover_value import INDEX, NOTHING, Passed, Share
from accelerator.planning.sources.source import CoverResult, Unserved
from cubes.definition import CubeDefinition
from rewrite.ir.expr import Expr

if TYPE_CHECKING:
    from accelerator.iceberg import LiveFile
    from accelerator.iceberg.rows.position_deletes import Positions
    from accelerator.planning.survey import Believed
    from indexes.bounds import Flags

Deleted = Callable[[], "Callable[[LiveFile], Positions]"]
"""Gives what tells the positions that are deleted of a file."""


class IndexCells:
    """Cells of files whose sidecars tell them, and files of which these say that no row passes.

    Without `cube` there are no cells.
    """

    def __init__(
        self,
        conjuncts: Sequence[Expr],
        cube: CubeDefinition | None,
        known: Believed,
        deleted: Deleted,
    ) -> None:
        self._conjuncts, self._cube, self._known = conjuncts, cube, known
        self._deleted = deleted

    def serve(self, left: Unserved) -> CoverResult:
        """See `Source`."""
        known, cube, indexes = self._known, self._cube, self._known.survey.indexes
        wanted = left.within(known)
        none = CoverResult((), left, _passed(wanted))
        if indexes is None:
            return none
        open_ = wanted & known.stands_once
        places = np.flatnonzero(open_)
        if not 0 < len(places) <= SELECTED_MAX:
            return none
        keys = [known.of(d.expr) for d in (() if cube is None else cube.dimensions)]
        fixed = [None if key is None else Fixed(key.fixed, key.bounds.lower) for key in keys]
        answers = IndexAnswers(indexes, self._conjuncts, cube, fixed, self._deleted)
        if not answers.able:
            return none
        whole = known.all_pass[places].tolist()
        told = answers.of(known.live(open_), places.tolist(), whole)
        cells = [one.cells for one in told if one.cells is not None]
        empty = [one.empty for one in told]
        served = np.zeros(len(known), dtype=bool)
        served[places] = [one.empty or one.cells is not None for one in told]
        shares = [Share(NOTHING, sum(empty), skipped=(answers.said(told),))]
        if cells:
            shares.append(Share(INDEX, len(cells), cells=pa.concat_tables(cells)))
        rest = _passed(wanted & ~served)
        return CoverResult(tuple(shares), left.without(known, served), rest)


def _passed(left: Flags) -> tuple[Passed, ...]:
    files = int(left.sum())
    return (Passed(INDEX, "index_lacks", files),) if files else ()
