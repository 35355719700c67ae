"""What an index covers: files whose blob a bundle has, or a sidecar.

A build would open just the files that have a reason other than `not_indexable`, `index_unreadable`
or `index_disabled`. What is left of an artifact that is gone isn't built anew by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from accelerator.artifacts.relate.index_validity import snapshots_of
from accelerator.artifacts.sidecars import records
from accelerator.errors import (
    UNFIT,
    IndexDefinitionError,
    RelateColumnError,
    UnknownTableError,
)
from accelerator.iceberg import UnreadableTableError
from accelerator.services.coverage.artifact import (
    NOT_BUILT,
    ArtifactCoverage,
    FileKey,
    moved,
    nothing_of,
    sentence,
    unusable,
)
from accelerator.store import IndexRecord, SegmentRecord
from accelerator.store.records import BUNDLE
from indexes.domains import NotIndexableError, keeps_meaning
from indexes.kinds import KINDS
from rewrite.reason import Declined
from rewrite.text.printable import one_line

if TYPE_CHECKING:
    from accelerator.builds.sidecars.builder import IndexTarget, MissingFiles
    from accelerator.query.runtime.services import Services
    from accelerator.store import Store

_WHY_MAX = 200
_LOST = Declined("index_unreadable", "Its artifact is missing, or isn't as long as it was.")
_RECORD = Declined("index_unreadable", "The store's record of it can't be read here.")
_TYPE = Declined("schema_changed", "The index's column.")


def of_index(services: Services, record: IndexRecord) -> ArtifactCoverage:
    """What the index covers of its table's newest state.

    Raises:
        UnknownTableError: the table is gone, or was made anew.
        CatalogError: a table's metadata can't be read.
        StoreError: the store can't.
    """
    try:
        target = services.index_builder.target(record)
        due = services.index_builder.missing(target)
    except UnknownTableError as error:
        return unusable(services, record, error.code, error)
    except UnreadableTableError as error:  # of a dimension; of its own table it's raised again
        return unusable(services, record, "table_needs_spark", error)
    except (IndexDefinitionError, RelateColumnError) as error:
        return unusable(services, record, _code(record, error), error)
    if record.disabled is not None:
        return nothing_of(record, target.pinned, NOT_BUILT)
    built = services.store.table(record.table_uuid).of(record.id)
    reasons = dict(_lacking(target, due, built))
    told = _HeldRecords(target, due, _lost(services.store, record, built))
    for one in built:
        told.add(one)
    return ArtifactCoverage(
        record.name, record.kind, target.pinned, told.segments(), told.reasons() | reasons
    )


def _code(record: IndexRecord, error: IndexDefinitionError | RelateColumnError) -> str:
    """Whether the column isn't what it was, or the record isn't of this release."""
    cause = error.__cause__
    of_column = cause is None or isinstance(cause, NotIndexableError)
    return "schema_changed" if of_column and record.kind in KINDS else "index_unreadable"


def _lacking(
    target: IndexTarget, due: MissingFiles, built: Iterable[SegmentRecord]
) -> Iterable[tuple[FileKey, Declined]]:
    """Of the files that a build would open those that some bundle tells of, with what is wrong."""
    if not due.files:
        return
    for one in built:
        if not one.is_bundle:
            continue
        keys = [
            key for file in one.files if (key := (file.path, file.sequence_number)) in due.files
        ]
        if keys:
            why = _why(target, one)
            yield from ((key, why) for key in keys)


def _why(target: IndexTarget, record: SegmentRecord) -> Declined:
    """Why a bundle doesn't hold for files of the target."""
    if target.path is not None and records.answers_for(record, target.type):
        tables = dict(enumerate(target.path.dimensions))
        names = moved(tables, dict(enumerate(snapshots_of(record))))
        return Declined(
            "dimension_changed", f"It's {names}, and keys of the file may have changed."
        )
    try:
        same = keeps_meaning(record.fields[0][2], target.type)
    except UNFIT:
        return _RECORD
    return _RECORD if same else _TYPE


class _HeldRecords:
    """What records that hold tell of files that no build would open."""

    def __init__(self, target: IndexTarget, due: MissingFiles, lost: frozenset[str]) -> None:
        """`lost` are the paths of artifacts that are gone or cut."""
        self._type, self._due, self._lost = target.type, due, lost
        self._live = {file.key for file in target.pinned.live_files()} - due.files
        self._now = None if target.path is None else target.path.snapshots
        self._bundles: dict[FileKey, str] = {}
        self._sidecars: dict[FileKey, str] = {}
        self._reasons: dict[FileKey, Declined] = {}

    def add(self, record: SegmentRecord) -> None:
        """One more record; what it doesn't hold for is passed over."""
        if not records.answers_for(record, self._type):
            return
        state = None if self._now is None else snapshots_of(record)
        places, empty = _blobs(record)
        for file, place in zip(record.files, places, strict=True):
            key = (file.path, file.sequence_number)
            if key not in self._live or state not in (None, self._due.kept.get(key, self._now)):
                continue
            if place is None:
                self._reasons.setdefault(key, empty)
            elif record.path in self._lost:
                self._reasons[key] = _LOST
            elif record.is_bundle:
                self._bundles[key] = record.path
            else:
                self._sidecars[key] = record.path

    def segments(self) -> Mapping[FileKey, str]:
        """By file its sidecar, or else its bundle."""
        return self._bundles | self._sidecars

    def reasons(self) -> dict[FileKey, Declined]:
        """By file why it has neither."""
        return self._reasons


def _blobs(record: SegmentRecord) -> tuple[Sequence[object], Declined]:
    """Where the record's files have a blob, None where none has; and why one has none."""
    if not record.is_bundle:
        return [record.path] * len(record.files), NOT_BUILT
    try:
        places = records.places_of(record)
        # Which file a reason is of isn't kept, so that it's told where there is one alone.
        words = list(dict(record.facts[BUNDLE]["why"]))
    except UNFIT:
        return [None] * len(record.files), _RECORD
    why = one_line(str(words[0]))[:_WHY_MAX] if len(words) == 1 else ""
    return places, Declined("not_indexable", sentence(why) if why else "")


def _lost(store: Store, record: IndexRecord, built: Iterable[SegmentRecord]) -> frozenset[str]:
    """Paths of artifacts in the index's folder that are gone, or shorter than was recorded.

    One listing tells. Of what is elsewhere nobody says so.
    """
    folder = f"tables/{record.table_uuid}/cubes/{record.id}"
    start = f"{store.files.uri(folder)}/"
    named = [one for one in built if one.path.startswith(start)]
    if not named:
        return frozenset()
    sizes = {store.files.uri(entry.path): entry.bytes for entry in store.files.entries(folder)}
    return frozenset(one.path for one in named if sizes.get(one.path, -1) < one.bytes)
