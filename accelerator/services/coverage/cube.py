"""What a cube covers: its valid segments, and of other files what is wrong with theirs.

A build would make segments of just the files that aren't covered here, but for those whose path
stands twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from accelerator.errors import BuildError, UnknownTableError
from accelerator.iceberg import UnreadableTableError
from accelerator.services.coverage.artifact import (
    CUBE,
    NOT_BUILT,
    ArtifactCoverage,
    FileKey,
    moved,
    nothing_of,
    unusable,
)
from accelerator.store import CubeRecord, SegmentRecord
from accelerator.store.records import CoveredFile
from cubes.coverage import read_as
from cubes.definition import from_dict
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.builds.segments.builder import CubeTarget
    from accelerator.iceberg import LiveFile, UnreadableTableError
    from accelerator.query.runtime.services import Services

_LOST = "Its artifact is missing, or isn't as long as it was."
_FORMAT = "It's of another format."
_SIZE = "The file isn't as long as it was."
_DELETES = "Its deleted rows have changed since."
_MERGED = "It's merged with another file, which has changed."
_SETTINGS = "The session's settings, such as its time zone, aren't those of the build."
_TWICE = Declined("not_built", "Its path stands twice in the table, so it never is.")
_OVERLAPS = Declined("not_built", "Its segment has files of another one as well.")
_NEARNESS = {"segment_unreadable": 0, "files_changed": 1, "dimension_changed": 2}
"""How many conditions a segment met, by the reason of the next one; more by any other."""


def of_cube(services: Services, record: CubeRecord) -> ArtifactCoverage:
    """What the cube covers of its table's newest state, or of its branch's.

    Raises:
        UnknownTableError: the table is gone, or was made anew.
        CatalogError: a table's metadata can't be read.
        StoreError: the store can't.
    """
    try:
        target = services.builder.target(record)
    except UnknownTableError as error:
        return unusable(services, record, error.code, error)
    except UnreadableTableError as error:  # of a dimension; of its own table it's raised again
        return unusable(services, record, "table_needs_spark", error)
    except (BuildError, ValueError) as error:
        code = "schema_changed" if _is_readable(record) else "segment_unreadable"
        return unusable(services, record, code, error)
    fact = target.pinned[0]
    if record.disabled is not None:
        return nothing_of(record, fact, NOT_BUILT)
    coverage, lost = services.builder.sound_coverage(target)
    covered = {
        (one.path, one.sequence_number): segment.path
        for segment in coverage.segments
        for one in segment.files
    }
    built = services.store.table(record.table_uuid).of(record.id) if coverage.uncovered else ()
    why = _Why(target, coverage.reasons, lost)
    return ArtifactCoverage(
        record.name, CUBE, fact, covered, why.of(coverage.uncovered, built, fact.live_files())
    )


def _is_readable(record: CubeRecord) -> bool:
    """Whether its definition is."""
    try:
        from_dict(dict(record.definition))
    except ValueError:
        return False
    return True


class _Why:
    """Why files of one cube's table have no segment."""

    def __init__(
        self, target: CubeTarget, reasons: Mapping[int, str], lost: Collection[int]
    ) -> None:
        """`reasons` are the refused segments', `lost` those without an artifact, both by ids."""
        self._target, self._reasons, self._lost = target, reasons, lost
        self._columns = {
            (one.facts.uuid, column.field_id): (read_as(column), column.required, column.name)
            for one in target.pinned
            for column in one.facts.columns
        }
        self._dimensions = dict(enumerate(target.pinned[1:], start=1))
        self._known: dict[object, Declined] = {}

    def of(
        self, files: Iterable[LiveFile], built: Iterable[SegmentRecord], live: Iterable[LiveFile]
    ) -> dict[FileKey, Declined]:
        """By file the reason; of a file that no segment ever had there is none."""
        times = Counter(file.path for file in live)
        wanted = {file.key: file for file in files}
        nearest = dict[FileKey, tuple[int, CoveredFile, SegmentRecord]]()
        for segment in built:
            rank = self._rank(segment)
            for one in segment.files:
                key = (one.path, one.sequence_number)
                if key in wanted and (key not in nearest or rank > nearest[key][0]):
                    nearest[key] = rank, one, segment
        found = {key: self._reason(wanted[key], *told[1:]) for key, told in nearest.items()}
        return found | {key: _TWICE for key in wanted if times[key[0]] > 1}

    def _rank(self, segment: SegmentRecord) -> int:
        code = "segment_unreadable" if segment.id in self._lost else self._reasons.get(segment.id)
        return -1 if code is None else _NEARNESS.get(code, len(_NEARNESS))

    def _reason(self, file: LiveFile, then: CoveredFile, segment: SegmentRecord) -> Declined:
        """Why that segment doesn't cover the file, of which it had so much."""
        if segment.id in self._lost:
            return Declined("segment_unreadable", _LOST)
        code = self._reasons.get(segment.id)
        if code is None:
            return _OVERLAPS
        if code == "segment_unreadable":
            return Declined(code, _FORMAT)
        if code == "files_changed":
            if then.size_bytes != file.size_bytes:
                return Declined(code, _SIZE)
            return Declined(code, _MERGED if then.deletes_key == file.deletes_key else _DELETES)
        name = code, segment.dimensions if code == "dimension_changed" else segment.fields
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = Declined(code, self._detail(code, segment))
        return known

    def _detail(self, code: str, segment: SegmentRecord) -> str:
        if code == "dimension_changed":
            then = {number: (uuid, snapshot) for number, uuid, snapshot in segment.dimensions}
            return f"It's {moved(self._dimensions, then)}."
        changed = [
            self._columns[uuid, field_id][2]
            for uuid, field_id, type_, required in segment.fields
            if (uuid, field_id) in self._columns
            and self._columns[uuid, field_id][:2] != (type_, required)
        ]
        return f"It's {', '.join(changed)}." if changed else _SETTINGS
