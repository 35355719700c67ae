"""Segments that nothing can use any more: their data files are in no snapshot of the table.

Promises: a segment that a statement could use, at whatever snapshot, branch or tag the table still
has, isn't among them; where the table's metadata can't be read, or isn't there, none is. Nothing
here starts a JVM for a catalog that doesn't need one.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from itertools import chain

from accelerator.errors import AcceleratorError
from accelerator.iceberg import Lake, PinnedTable
from accelerator.store import SegmentRecord

_log = logging.getLogger("accelerator")


class LakeGarbage:
    """Finds them for one table; snapshots whose ids are `gone` count as expired.

    The table's metadata is read at the first question, so it's newer than the segments that are
    asked about: a segment is made of the files of a snapshot that was there before it.
    """

    def __init__(
        self, lake: Lake, parts: tuple[str, ...], table_uuid: str, gone: Collection[int] = ()
    ) -> None:
        self._lake, self._parts, self._uuid, self._gone = lake, parts, table_uuid, gone
        self._pinned: PinnedTable | None = None

    def unusable(self, segments: Sequence[SegmentRecord]) -> list[int]:
        """Ids of the segments that have a data file which no snapshot holds."""
        keys = {s.id: {(f.path, f.sequence_number) for f in s.files} for s in segments}
        every = set(chain.from_iterable(keys.values()))
        unheld = self._unheld(every) if every else set()
        return [one for one, own in keys.items() if not own.isdisjoint(unheld)]

    def _unheld(self, keys: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        try:
            if self._pinned is None:
                self._pinned = self._lake.pin(fresh=True).pinned(self._parts)
            if self._pinned is None or self._pinned.facts.uuid != self._uuid:
                return set()
            return self._pinned.unheld(keys, without=self._gone)
        except (AcceleratorError, OSError, ValueError) as error:
            name = ".".join(self._parts)
            _log.warning("what %s has in no snapshot isn't known, so it stays: %s", name, error)
            return set()
