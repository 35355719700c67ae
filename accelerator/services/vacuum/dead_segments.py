"""Segments that nothing can use any more: their data files are in no snapshot of the table.

Promises: a segment that a statement could use, at whatever snapshot, branch or tag the table still
has, isn't among them; where the table's metadata can't be read, or isn't there, none is. Nothing
here starts a JVM for a catalog that doesn't need one.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence

from accelerator.errors import AcceleratorError, CancelledError
from accelerator.iceberg import Lake, PinnedTable
from accelerator.store import SegmentRecord
from rewrite.identifiers.qualified_name import joined

_log = logging.getLogger("accelerator")
_CHECKED = 4096  # so many files from one look at whether to go on to the next


class LakeGarbage:
    """Finds them for one table; snapshots whose ids are `gone` count as expired.

    `check` is called now and then, and raises CancelledError where nobody wants to know any more.

    The table's metadata is read at the first question, so it's newer than the segments that are
    asked about: a segment is made of the files of a snapshot that was there before it.
    """

    def __init__(
        self,
        lake: Lake,
        parts: tuple[str, ...],
        table_uuid: str,
        gone: Collection[int] = (),
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._check = check
        self._lake, self._parts, self._uuid, self._gone = lake, parts, table_uuid, gone
        self._pinned: PinnedTable | None = None
        self._doubt = False

    def unusable(self, segments: Iterable[SegmentRecord]) -> Sequence[int] | None:
        """Ids of the segments that have a data file which no snapshot holds; None: can't be told.

        A bundle is of use until no snapshot holds any of its files.

        Of each data file a few numbers are kept, since there may be millions. Two files of one hash
        count as one: at worst a segment stays.
        """
        ids, numbers, hashes, bundles = array("q"), array("q"), array("q"), set[int]()
        for segment in segments:
            if segment.is_bundle:
                bundles.add(segment.id)
            for file in segment.files:
                ids.append(segment.id)
                numbers.append(file.sequence_number)
                hashes.append(hash((file.path, file.sequence_number)))
        if not ids:
            return ()
        if self._doubt:
            return None
        try:
            unheld = self._unheld(hashes, numbers)
        except CancelledError:
            raise
        except AcceleratorError as error:
            self._doubt = True
            name = joined(self._parts)
            _log.warning("what %s has in no snapshot isn't known, so it stays: %s", name, error)
            return None
        held = {i for i, h in zip(ids, hashes, strict=True) if h not in unheld} & bundles
        found = (i for i, h in zip(ids, hashes, strict=True) if h in unheld and i not in held)
        return list(dict.fromkeys(found))

    def _unheld(self, hashes: Iterable[int], numbers: Iterable[int]) -> set[int]:
        if self._pinned is None:
            self._pinned = self._lake.pin(fresh=True).described(self._parts)
        if self._pinned is None or self._pinned.facts.uuid != self._uuid:
            return set()
        newest = self._pinned.newest_sequence_number
        left = {h for h, number in zip(hashes, numbers, strict=True) if number <= newest}
        for number, key in enumerate(self._pinned.held(without=self._gone)):
            if not number % _CHECKED:
                self._check()
            left.discard(hash(key))
            if not left:
                break
        return left
