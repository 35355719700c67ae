"""The sketches that a pinned table has: found by its metadata, read from Puffin files, checked.

A file is opened only where the metadata says that this project has written it: a theta sketch of
such a file has the property `lakehouse-accelerator-format`. Promises: of each column the nearest
snapshot's sketches are given, all of one file; what can't be read or isn't sketches is passed over,
and told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, cast

from msgspec import Struct, field

from accelerator.errors import AcceleratorError
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.errors import read_errors
from accelerator.iceberg.io import decompressed, inputs_for
from accelerator.iceberg.statistics.sketches import FORMAT, SketchFile, sketch_files
from accelerator.services.statistics.sketches.column import TYPES, ColumnSketches, SketchedColumn
from indexes.kind import Read
from indexes.puffin import PuffinBlob, exactly, footer_of

VERSION = "1"
"""Of the format."""
TYPE, LAYOUT, NULLS = "iceberg-type", "layout", "nulls"
BLOB_MAX = 16 << 20
_FILES_MAX = 32
"""Files of statistics that are opened for one table."""
_DIGITS_MAX = 18


class ReadSketches(Struct, frozen=True):
    """A column's sketches, and the snapshot that they are of; `pinned`: the pinned one."""

    sketches: ColumnSketches
    snapshot_id: int
    pinned: bool


class TableSketches(Struct):
    """Sketches by field id, and what was passed over, in words."""

    columns: dict[int, ReadSketches] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)


@contextmanager
def opened(pinned: PinnedTable, file: SketchFile) -> Iterator[tuple[Read, int]]:
    """What reads the file, and its size; ValueError where it isn't as large as is told."""
    inputs = inputs_for(pinned.metadata_location, pinned.io_properties)
    hint = "BUILD STATISTICS makes new ones"
    with read_errors(f"the statistics in {file.path}", hint, pinned.io_properties):
        source = inputs.new_input(file.path)
        size = len(source)
        if size != file.size_bytes:
            raise ValueError(f"it has {size} bytes, the table's metadata says {file.size_bytes}")
        with source.open() as stream:
            held = cast(BinaryIO, stream)

            def read(offset: int, length: int) -> bytes:
                held.seek(offset)
                return bytes(held.read(length))

            yield read, size


def stored(read: Read, blob: PuffinBlob) -> bytes:
    """The blob's bytes as the file has them; ValueError where they're too many, or fewer."""
    if blob.length > BLOB_MAX:
        raise ValueError(f"a blob of {blob.length:,} bytes")
    return exactly(read, blob.offset, blob.length)


def content(read: Read, blob: PuffinBlob) -> bytes:
    """The blob's bytes, decompressed; ValueError as for `stored`, and for other codecs."""
    if blob.codec not in (None, "zstd"):
        raise ValueError(f"a blob compressed by {blob.codec}, which isn't read here")
    return decompressed(stored(read, blob), blob.codec or "null", BLOB_MAX)


def stored_sketches(pinned: PinnedTable, columns: Collection[SketchedColumn]) -> TableSketches:
    """Returns the sketches of these columns if they are of the type and layout that it has now."""
    found, wanted = TableSketches(), {one.field_id: one for one in columns}
    opened_files = 0
    for file in sketch_files(pinned.metadata, pinned.snapshot):
        due = {
            number: one
            for number, one in wanted.items()
            if number not in found.columns and _is_ours(file.properties.get(number), one)
        }
        if not due:
            continue
        if opened_files == _FILES_MAX:
            break
        opened_files += 1
        try:
            with opened(pinned, file) as (read, size):
                for number, sketches in _of_file(read, size, due):
                    if isinstance(sketches, str):
                        found.passed_over.append(f"{due[number].name}: {sketches}")
                    else:
                        found.columns[number] = ReadSketches(
                            sketches, file.snapshot_id, file.pinned
                        )
        except AcceleratorError as error:
            found.passed_over.append(error.message)
    return found


def _is_ours(properties: Mapping[str, str] | None, column: SketchedColumn) -> bool:
    return (
        properties is not None
        and properties.get(FORMAT) == VERSION
        and properties.get(TYPE) == column.type
        and properties.get(LAYOUT) == column.layout
    )


def _of_file(
    read: Read, size: int, wanted: Mapping[int, SketchedColumn]
) -> Iterator[tuple[int, ColumnSketches | str]]:
    """Of each of the columns its sketches, or why there are none. ValueError for no Puffin file."""
    blobs: dict[int, dict[str, PuffinBlob]] = {}
    for blob in footer_of(read, size):
        ours = len(blob.fields) == 1 and blob.fields[0] in wanted and blob.type in TYPES
        if ours and _is_ours(blob.properties, wanted[blob.fields[0]]):
            blobs.setdefault(blob.fields[0], {})[blob.type] = blob
    for number, column in wanted.items():
        own = blobs.get(number, {})
        try:
            data = {type_: content(read, blob) for type_, blob in own.items()}
            nulls = max((_count(blob.properties.get(NULLS)) for blob in own.values()), default=0)
            yield number, ColumnSketches.parsed(column.type, data, nulls)
        except ValueError as error:
            yield number, str(error)


def _count(text: str | None) -> int:
    if text is None or len(text) > _DIGITS_MAX or not (text.isascii() and text.isdigit()):
        raise ValueError("how many rows are NULL isn't told")
    return int(text)
