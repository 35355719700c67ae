"""BUILD STATISTICS: a table's columns sketched, written as one Puffin file, named by its metadata.

Of each column the sketches of an ancestor snapshot are gone on with, where every data file of that
is still live with the same deletes: then only the files since are read. Promises: the file tells of
the pinned snapshot, whatever is committed meanwhile; what another writer's file of that snapshot
says of other columns is copied; a file that no metadata came to name is deleted, and one that a
crash leaves is an orphan to Iceberg.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from accelerator.common.files.safe_files import sync_directory, write_synced
from accelerator.common.progress import Progress
from accelerator.errors import AcceleratorError, CancelledError, StatisticsError, no_column
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.catalogs.readers import COMMIT_TRIES
from accelerator.iceberg.errors import CommitUnknownError, failures
from accelerator.iceberg.io import file_io, local_path
from accelerator.iceberg.statistics.sketches import FORMAT, SketchFile, sketch_files
from accelerator.iceberg.writes.statistics_files import (
    NewFile,
    StatisticsChange,
    StatisticsMovedError,
)
from accelerator.services.statistics.read import (
    LAYOUT,
    NULLS,
    TYPE,
    VERSION,
    TableSketches,
    opened,
    stored,
    stored_sketches,
)
from accelerator.services.statistics.scan import columns_of, sketch
from accelerator.services.statistics.sketches.column import ColumnSketches, SketchedColumn
from accelerator.services.statistics.sketches.theta import THETA
from accelerator.version import VERSION as RELEASE
from indexes.puffin import PuffinBlob, footer_of, written
from rewrite.facts import At

if TYPE_CHECKING:
    from accelerator.iceberg import Pin
    from accelerator.query.runtime.services import Services

_log = logging.getLogger("accelerator")
_CREATED_BY = {"created-by": f"lakehouse-accelerator {RELEASE}"}
_COPIED_MAX, _TOLD_MAX = 64 << 20, 4 << 20
"""Bytes of another file's blobs that are copied, and of what its footer says of them, as JSON."""
_KEY = "encryption.key-id"
_GONE_OR_DAMAGED = (FileNotFoundError, ValueError)
"""What won't be better when it's tried again."""


class BuiltStatistics(Struct):
    """What was done. `mode`: `whole`, `incremental`, or `current` where nothing had to be done.

    `files` are those of the snapshot; `bytes` those of the file that was written, at `path`.
    """

    table: str
    snapshot_id: int
    mode: str = "current"
    columns: list[str] = field(default_factory=list)
    files: int = 0
    files_read: int = 0
    rows_read: int = 0
    bytes_read: int = 0
    bytes: int = 0
    path: str | None = None
    notes: list[str] = field(default_factory=list)


class _ColumnsToRead(Struct, frozen=True):
    """Columns that are read over the same files, and what is known of them before."""

    columns: Sequence[SketchedColumn]
    files: Sequence[LiveFile]
    before: Mapping[int, ColumnSketches]


def build(
    services: Services,
    pin: Pin,
    pinned: PinnedTable,
    names: Sequence[str],
    progress: Progress,
    check: Callable[[], None],
) -> BuiltStatistics:
    """Brings the statistics of these columns, of all without names, up to the pinned snapshot.

    Raises:
        UnknownColumnError, StatisticsError: a column isn't there, or can't be sketched.
        StatisticsError: no snapshot; files can't be read; the snapshot or table has gone meanwhile.
        CatalogError: the catalog doesn't take the change.
        CancelledError: it was stopped; nothing is left.
    """
    if pinned.snapshot is None:
        raise StatisticsError(
            f"{pinned.facts.name} has no snapshot yet", hint="build once it has rows"
        )
    if _KEY in pinned.properties:
        raise StatisticsError(
            f"{pinned.facts.name} is encrypted, and its values would stand in a file that isn't",
            hint="only tables that aren't encrypted are sketched",
        )
    columns, notes = _chosen(pinned, names)
    live = pinned.live_files()
    done = BuiltStatistics(pinned.facts.name, pinned.snapshot.snapshot_id, files=len(live))
    done.columns, done.notes = [one.name for one in columns], notes
    known = stored_sketches(pinned, columns)
    done.notes += known.passed_over
    parts = _parts(pin, pinned, columns, known, done.notes)
    if not parts:
        return done
    catalog, *identifier = pinned.parts
    services.lake.catalogs[catalog].check_changes(tuple(identifier))  # before rows are read
    progress.start(sum(len(part.files) for part in parts), "statistics")
    made: dict[int, ColumnSketches] = {}
    for part in parts:
        found = sketch(pinned, part.columns, part.files, check, progress)
        for number, sketches in found.columns.items():
            if number in part.before:
                sketches.merge(part.before[number])
            made[number] = sketches
        done.files_read += found.files
        done.rows_read += found.rows
        done.bytes_read += found.bytes
    whole = any(not part.before for part in parts)
    done.mode = "whole" if whole else "incremental"
    check()
    fresh = [(one, made[one.field_id]) for one in columns if one.field_id in made]
    _commit(services, pinned, fresh, done)
    return done


def _chosen(pinned: PinnedTable, names: Sequence[str]) -> tuple[list[SketchedColumn], list[str]]:
    """The columns of these names in the table's order, or all that can be; what is left out."""
    able, unable = columns_of(pinned)
    if not names:
        told = [f"{one.name}: {_why_not(pinned, one)}" for one in unable]
        if not able:
            raise StatisticsError(
                f"no column of {pinned.facts.name} can be sketched", hint="; ".join(told)
            )
        return able, told
    every = {one.field_id: one for one in (*able, *unable)}
    chosen: set[int] = set()
    for name in names:
        known = pinned.facts.column(name)
        if known is None:
            there = [one.name for one in pinned.facts.columns]
            raise no_column(pinned.facts.name, name, there, f"its columns are {', '.join(there)}")
        one = every[known.field_id]
        if one in unable:
            raise StatisticsError(
                f"{pinned.facts.name}.{one.name} is of type {one.type}, which isn't sketched",
                hint="columns that aren't nested can be, but for times of day and nanoseconds",
            )
        chosen.add(one.field_id)
    return [one for one in able if one.field_id in chosen], []


def _why_not(pinned: PinnedTable, one: SketchedColumn) -> str:
    known = pinned.facts.column(one.name)
    if known is not None and known.field_id != one.field_id:
        return f"{known.name} is read by that name, which differs in case alone"
    return f"{one.type} isn't sketched"


def _parts(
    pin: Pin,
    pinned: PinnedTable,
    columns: Sequence[SketchedColumn],
    known: TableSketches,
    notes: list[str],
) -> list[_ColumnsToRead]:
    """What is to be read: the files since for some columns, all of them for the others.

    Where these had sketches, the notes say why they're of no use.
    """
    live = pinned.live_files()
    since: dict[int, list[LiveFile] | None] = {}
    parts: list[_ColumnsToRead] = []
    by_snapshot: dict[int, list[SketchedColumn]] = {}
    whole: list[SketchedColumn] = []
    for one in columns:
        found = known.columns.get(one.field_id)
        if found is not None and found.pinned:
            continue
        base = None if found is None else found.snapshot_id
        if base is not None and base not in since:
            since[base] = _since(pin, pinned, base)
            if since[base] is None:
                notes.append(f"all files are read: those of snapshot {base} have changed since")
        if base is None or since[base] is None:
            whole.append(one)
        else:
            by_snapshot.setdefault(base, []).append(one)
    for base, some in by_snapshot.items():
        before = {one.field_id: known.columns[one.field_id].sketches for one in some}
        parts.append(_ColumnsToRead(some, since[base] or (), before))
    if whole:
        parts.append(_ColumnsToRead(whole, live, {}))
    return parts


def _since(pin: Pin, pinned: PinnedTable, base: int) -> list[LiveFile] | None:
    """The live files that the snapshot of that id hasn't; None where one of its own has changed."""
    try:
        before = pin.pinned(pinned.parts, At(snapshot_id=base))
        held = {} if before is None else {f.key: f.deletes_key for f in before.live_files()}
    except CancelledError:
        raise
    except AcceleratorError as error:  # its manifests can't be read any more
        _log.info("statistics of %s are made anew: %s", pinned.facts.name, error)
        return None
    now = {file.key: file.deletes_key for file in pinned.live_files()}
    if before is None or any(now.get(key) != deletes for key, deletes in held.items()):
        return None
    return [file for file in pinned.live_files() if file.key not in held]


def _commit(
    services: Services,
    pinned: PinnedTable,
    made: Sequence[tuple[SketchedColumn, ColumnSketches]],
    done: BuiltStatistics,
) -> None:
    """Writes the file and has the metadata name it."""
    snapshot = pinned.snapshot
    assert snapshot is not None  # else nothing was built
    number = snapshot.sequence_number or 0
    blobs: list[tuple[PuffinBlob, bytes]] = []
    for column, sketches in made:
        told = {FORMAT: VERSION, TYPE: column.type, LAYOUT: column.layout}
        told[NULLS] = str(sketches.nulls)
        for type_, data in sketches.blobs().items():
            properties = dict(told)
            if type_ == THETA:
                properties = {"ndv": str(int(sketches.theta.estimate)), **told}
            fields = (column.field_id,)
            blob = PuffinBlob(type_, fields, snapshot.snapshot_id, number, properties)
            blobs.append((blob, data))
    for tries_left in reversed(range(COMMIT_TRIES)):
        try:
            _name_file(services, pinned, snapshot.snapshot_id, blobs, done)
            break
        except StatisticsMovedError:  # then their other columns are copied, too
            if not tries_left:
                raise


def _name_file(
    services: Services,
    pinned: PinnedTable,
    snapshot_id: int,
    blobs: Sequence[tuple[PuffinBlob, bytes]],
    done: BuiltStatistics,
) -> None:
    """Writes a file of the blobs and those of the snapshot's present one, and has it named."""
    newest = services.lake.pin(fresh=True).pinned(pinned.parts) or pinned
    files = sketch_files(newest.metadata, pinned.snapshot)
    present = next((one for one in files if one.pinned), None)
    made = {(blob.type, blob.fields) for blob, _ in blobs}
    all_blobs = [*blobs, *_others(pinned, present, made, done)]
    data, footer_size = written(all_blobs, _CREATED_BY)
    folder = pinned.properties.get("write.metadata.path") or f"{pinned.location}/metadata"
    path = f"{folder.rstrip('/')}/{snapshot_id}-{uuid.uuid4()}.stats"
    described = [blob.metadata() for blob, _ in all_blobs]
    file = NewFile(snapshot_id, path, len(data), footer_size, described)
    _write(path, data, pinned)
    replaces = None if present is None else present.path
    try:
        change(services, pinned, StatisticsChange(pinned.facts.uuid, file, replaces))
    except CommitUnknownError:
        raise  # it may be named by now
    except AcceleratorError:
        _remove(path, pinned)
        raise
    done.path, done.bytes = path, len(data)


def change(services: Services, pinned: PinnedTable, wanted: StatisticsChange) -> None:
    """Has the table's catalog change which statistics its metadata names."""
    services.lake.change(pinned.parts, lambda reader, name: reader.change_statistics(name, wanted))


def _others(
    pinned: PinnedTable,
    file: SketchFile | None,
    made: set[tuple[str, tuple[int, ...]]],
    done: BuiltStatistics,
) -> list[tuple[PuffinBlob, bytes]]:
    """Blobs of the snapshot's present file that aren't made anew, as they are."""
    if file is None:
        return []
    copied: list[tuple[PuffinBlob, bytes]] = []
    try:
        with opened(pinned, file) as (read, size):
            wanted = [b for b in footer_of(read, size) if (b.type, b.fields) not in made]
            if sum(blob.length for blob in wanted) > _COPIED_MAX:
                raise ValueError(f"it holds more than {_COPIED_MAX:,} bytes of other statistics")
            if sum(len(json.dumps(blob.metadata())) for blob in wanted) > _TOLD_MAX:
                raise ValueError(f"its footer says more than {_TOLD_MAX:,} bytes of them")
            copied = [(blob, stored(read, blob)) for blob in wanted]
    except AcceleratorError as error:
        if not isinstance(error.__cause__, _GONE_OR_DAMAGED):
            raise StatisticsError(
                f"others' statistics of the same snapshot can't be read now: {error.message}",
                hint="they'd be lost; try again, or DROP STATISTICS first",
            ) from error
        done.notes.append(f"replaced without what it said of other columns: {error.message}")
        return []
    return copied


def _write(path: str, data: bytes, pinned: PinnedTable) -> None:
    local = local_path(path)
    try:
        if local is None:
            output = file_io(path, pinned.io_properties).new_output(path)
            with output.create() as stream:
                stream.write(data)
            return
        Path(local).parent.mkdir(parents=True, exist_ok=True)
        write_synced(Path(local), data)
        sync_directory(Path(local).parent)
    except failures() as error:
        _remove(path, pinned)
        raise StatisticsError(
            f"the statistics of {pinned.facts.name} can't be written to {path}: {error}",
            hint="the table's metadata folder must be writable from here",
        ) from error


def _remove(path: str, pinned: PinnedTable) -> None:
    """Deletes a file that no metadata names; one that can't be is an orphan, which is logged."""
    local = local_path(path)
    try:
        if local is None:
            file_io(path, pinned.io_properties).delete(path)
        else:
            Path(local).unlink(missing_ok=True)
    except failures() as error:
        _log.warning("a file of statistics stays at %s: %s", path, error)
