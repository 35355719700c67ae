"""Which files a statement of rows reads, in which order, and what sidecars leave of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.sidecars.probe import SELECTED_MAX, RowSelection, Skipped
from accelerator.iceberg import LiveFile
from accelerator.planning.survey import Believed
from indexes.bounds import Numbers
from indexes.order import FileOrderKey, Place

_SAMPLED = 16
"""Files whose sidecars are asked first, of at least twice as many."""
_NEARLY_ALL = 0.9
_FEW = 50
"""Of so many rows at most one may be left, so that Spark's own reader isn't the faster one."""


class Left(Struct, frozen=True):
    """What sidecars leave of files: row groups and rows as (left, of so many), and bytes.

    None where no sidecar was asked. The bytes go by the rows of the row groups that are left.
    """

    row_groups: tuple[int, int] | None
    rows: tuple[int, int] | None
    bytes: int


class ReadOrder(Struct, frozen=True, dict=True):
    """The files that may hold rows of the answer, those first whose rows can come first.

    `keys` are the sort keys that bounds tell of, a prefix of the order, over these files alone;
    `files` are numbers of the survey's files. `skipped` says what indexes have left out,
    `selection` which rows of a file may pass.
    """

    known: Believed
    keys: tuple[FileOrderKey, ...]
    files: Numbers
    skipped: tuple[Skipped, ...] = ()
    selection: RowSelection | None = None

    def __len__(self) -> int:
        return len(self.files)

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return int(self.known.sizes[self.files].sum())

    def by_workers(self, way: str) -> bool:
        """Whether Spark's workers had better read the rows that sidecars leave.

        With the `way` of the setting `sidecar_jobs`; with `auto` where few are left, or of more
        files than are asked here, whatever they leave.
        """
        if self.selection is None or way == "never" or not len(self):
            return False
        if way == "always" or len(self) > SELECTED_MAX:
            return True
        left, rows = self.left.rows or (1, 1)
        return left * _FEW <= rows

    @cached_property
    def left(self) -> Left:
        """What sidecars leave of the files; of more than are asked here they aren't asked."""
        selection = self.selection
        if selection is None or len(self) > SELECTED_MAX:
            return Left(None, None, self.bytes)
        groups, rows, size = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64), 0
        files = self.live(0, len(self))
        for file, chosen in zip(files, selection.of_all(files), strict=True):
            cut = selection.row_groups(file)
            if chosen is None or cut is None:
                groups += 1 if cut is None else len(cut)
                rows += file.record_count
                size += file.size_bytes
                continue
            groups += (len(selection.groups(file) or ()), len(cut))
            rows += (len(chosen), file.record_count)
            size += round(file.size_bytes * selection.share(file))
        return Left((int(groups[0]), int(groups[1])), (int(rows[0]), int(rows[1])), size)

    def first(self, place: int) -> tuple[Place, ...]:
        """Where no row of the file at that place of the reading comes before."""
        return tuple(key.first(place) for key in self.keys)

    def selected(self) -> ReadOrder:
        """Leaves out the files that have no row that may pass, by their sidecars.

        If these leave nearly all row groups of some files, the other files' aren't asked.
        """
        if self.selection is None:
            return self
        if len(self) > 2 * _SAMPLED and self._leaves_nearly_all(self.selection):
            return replace(self, selection=None)
        told = self.selection.of_all(self.live(0, len(self)))
        left = np.array([rows is None or bool(rows) for rows in told], dtype=bool)
        kept = np.flatnonzero(left)
        keys = tuple(key.of(kept) for key in self.keys)
        heavy = self.selection.said(int((~left).sum()))
        return replace(self, keys=keys, files=self.files[kept], skipped=(*self.skipped, heavy))

    def _leaves_nearly_all(self, selection: RowSelection) -> bool:
        """Decides by files that are spread evenly over the reading."""
        places = np.linspace(0, len(self) - 1, _SAMPLED).astype(np.int64)
        sample = self._live(self.files[places])
        selection.of_all(sample)
        return sum(map(selection.share, sample)) >= _NEARLY_ALL * len(sample)

    def live(self, begin: int, end: int) -> list[LiveFile]:
        """The files from one place to another."""
        return self._live(self.files[begin:end])

    def _live(self, wanted: Numbers) -> list[LiveFile]:
        chosen = np.zeros(len(self.known), dtype=bool)
        chosen[wanted] = True
        found = dict(zip(np.sort(wanted).tolist(), self.known.live(chosen), strict=True))
        return [found[number] for number in wanted.tolist()]
