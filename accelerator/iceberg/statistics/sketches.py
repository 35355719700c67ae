"""How many distinct values columns have, as the table's metadata says from theta sketches.

Writers (Spark's `compute_table_stats`, say) keep a sketch of a column in a Puffin file, and its
estimate, NULL not counted, as the property `ndv` of the blob in the table's metadata; so no Puffin
file is opened. Promises: a figure is of the pinned snapshot or of an ancestor, the nearest there
is, and says of which; what isn't a whole number of 0 or more, or is of several columns at once, is
no figure. Which files there are is told for those who do open one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.iceberg.tables.metadata import IcebergSnapshot, TableMetadata

if TYPE_CHECKING:
    from accelerator.common.arrow.numpy_buffers import Numbers

THETA = "apache-datasketches-theta-v1"
FORMAT = "lakehouse-accelerator-format"
"""A property of sketches in files of this project: the version of their format."""
_NDV = "ndv"
_DIGITS_MAX = 18


class Sketched(Struct, frozen=True):
    """About how many values a column has, NULL not counted, in the snapshot of that id.

    `pinned`: whether that is the one that the table is pinned to; else rows came or went since.
    """

    distinct: int
    snapshot_id: int
    pinned: bool


class TableSizes(Struct, frozen=True):
    """A pinned table in figures. `rows` None: some file's aren't counted.

    `rows_exact`: else there are at most so many, since deletes aren't counted off.
    """

    files: int
    bytes: int
    rows: int | None
    rows_exact: bool


def table_sizes(sizes: Numbers, rows: Numbers, alive: Numbers) -> TableSizes:
    """The figures of the live files: bytes, rows written and rows alive; -1 is an unknown count."""
    untold = alive == -1
    written = rows[untold]
    counted = int(alive[~untold].sum()) + int(written.sum())
    known = None if (written == -1).any() else counted
    return TableSizes(len(sizes), int(sizes.sum()), known, not untold.any())


def sketched(metadata: TableMetadata, snapshot: IcebergSnapshot | None) -> Mapping[int, Sketched]:
    """What sketches say of the columns, by field id."""
    told: dict[int, dict[int, int]] = {}  # by snapshot and field
    for file in metadata.statistics:
        for blob in file.blob_metadata:
            distinct = _figure((blob.properties or {}).get(_NDV))
            if blob.type == THETA and len(blob.fields) == 1 and distinct is not None:
                by_field = told.setdefault(blob.snapshot_id, {})
                by_field[blob.fields[0]] = max(distinct, by_field.get(blob.fields[0], 0))
    found: dict[int, Sketched] = {}
    if not told or snapshot is None:
        return found
    for one in _ancestry(metadata, snapshot):
        for field_id, distinct in told.get(one, {}).items():
            found.setdefault(field_id, Sketched(distinct, one, one == snapshot.snapshot_id))
    return found


class SketchFile(Struct, frozen=True):
    """A Puffin file of statistics as the table's metadata names it; nothing of it is read.

    `properties` are those of its theta sketches by field id; `pinned` as in `Sketched`.
    """

    snapshot_id: int
    pinned: bool
    path: str
    size_bytes: int
    properties: Mapping[int, Mapping[str, str]]


def sketch_files(metadata: TableMetadata, snapshot: IcebergSnapshot | None) -> Iterator[SketchFile]:
    """Those of the snapshot and of its ancestors, the nearest first."""
    if snapshot is None or not metadata.statistics:
        return
    files = {file.snapshot_id: file for file in metadata.statistics}
    for one in _ancestry(metadata, snapshot):
        file = files.get(one)
        if file is not None:
            properties = {
                blob.fields[0]: blob.properties or {}
                for blob in file.blob_metadata
                if blob.type == THETA and len(blob.fields) == 1
            }
            pinned, size = one == snapshot.snapshot_id, file.file_size_in_bytes
            yield SketchFile(one, pinned, file.statistics_path, size, properties)


def _figure(text: str | None) -> int | None:
    if text is None or len(text) > _DIGITS_MAX or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


def _ancestry(metadata: TableMetadata, snapshot: IcebergSnapshot) -> Iterator[int]:
    """The ids of the snapshot and of the ancestors that the table still has, the nearest first."""
    there = {one.snapshot_id: one for one in metadata.snapshots}
    one: IcebergSnapshot | None = snapshot
    while one is not None:
        yield one.snapshot_id
        parent = one.parent_snapshot_id
        one = None if parent is None else there.pop(parent, None)  # a circle ends
