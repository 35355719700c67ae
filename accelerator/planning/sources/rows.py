"""The source that is left: rows of data files, read when the statement runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accelerator.planning.plans.cover_value import NOTHING, ROWS, Share
from accelerator.planning.sources.source import CoverResult, Unserved
from rewrite.ir.expr import Expr
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.artifacts.sidecars.probe import RowSelection
    from accelerator.iceberg import LiveFile
    from accelerator.planning.survey import Believed

_SAMPLED = 16
"""So many files' sidecars are asked first; where these leave whole files, the others aren't."""


class RawRows:
    """All rows of the files."""

    def serve(self, left: Unserved) -> CoverResult:
        """See `Source`."""
        live = left.live
        size = sum(file.size_bytes for file in live)
        return CoverResult((Share(ROWS, len(live), size, live=live),), Unserved(()))


class SelectedRows:
    """Rows that may pass, as sidecars say, and no file of which they leave none.

    `selected` are such conjuncts as the statement doesn't test: of the rows that are read they're
    TRUE. Declined where these rows aren't known.
    """

    def __init__(self, known: Believed, selected: Sequence[Expr] = ()) -> None:
        self._known, self._selected = known, tuple(selected)

    def serve(self, left: Unserved) -> CoverResult | Declined:
        """See `Source`."""
        from accelerator.artifacts.sidecars.probe import (
            SELECTED_MAX,  # answers from cubes have no use for it
        )

        known, selected = self._known, self._selected
        read = left.within(known)
        shares: list[Share] = []
        size: float = float(known.sizes[read].sum())
        selection = known.selection(selected)
        if selection is not None and 0 < int(read.sum()) <= SELECTED_MAX:
            share = _shares(selection, known.live(read))
            out = read.copy()
            out[read] = share == 0
            read &= ~out
            files = int(out.sum())
            shares.append(Share(NOTHING, files, skipped=(selection.said(files),)))
            size = float((known.sizes[read] * share[share > 0]).sum())
            if not selected and share.all() and (share == 1).all():
                selection = None
        else:
            selection = None
        live = known.live(read)
        if selected and live and (selection is None or not _is_exact(selection, live)):
            return Declined("metadata_lacks", "The rows of which a relate column is so.")
        rows = Share(
            ROWS, len(live), round(size), live=live, selection=selection, exact=bool(selected)
        )
        return CoverResult((*shares, rows), Unserved(()))


def _is_exact(selection: RowSelection, files: Sequence[LiveFile]) -> bool:
    """Whether in each file just the rows that are selected are known."""
    few = files[:: max(1, len(files) // _SAMPLED)]
    for some in (few, files):
        selection.of_all(some)  # side by side
        if not all(map(selection.is_exact, some)):
            return False
    return True


def _shares(selection: RowSelection, files: Sequence[LiveFile]) -> np.ndarray:
    """The share of each file in row groups that may hold a row that passes."""
    few = files[:: max(1, len(files) // _SAMPLED)]
    selection.of_all(few)  # side by side
    if len(few) < len(files) and all(selection.share(f) == 1 for f in few):
        return np.ones(len(files))
    selection.of_all(files)
    return np.array([selection.share(f) for f in files], dtype=float)
