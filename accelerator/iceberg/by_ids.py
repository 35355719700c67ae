"""Which data files DuckDB's own Parquet reader may read: by field ids alone, less deleted rows.

Promises: of a file that is named here each wanted column stands under its field id, once, in a type
that Iceberg's specification names for it, or is NULL in all of its rows; the file has as many rows
as its manifest says, and its deleted positions are all that is deleted. Any other file is left to
`rows.py`, which reads the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.io import inputs_for, local_path
from accelerator.iceberg.position_deletes import PositionDeletes, Positions
from accelerator.iceberg.readable import check_readable
from accelerator.iceberg.rows import Pinned, projection
from accelerator.iceberg.stored_types import Footer, footers, lacked, unread

_THREADS_MAX = 8


class PinnedById(Pinned, Protocol):
    """What this needs of a pinned table."""

    @property
    def defaulted_fields(self) -> frozenset[int]:
        """Ids of fields that have a value in files that lack them."""
        ...


@dataclass(frozen=True, slots=True)
class ByIds:
    """Files of one table: local paths of those without deletes, and of those with some.

    `others` aren't read by field ids alone.
    """

    whole: tuple[str, ...]
    deleted: tuple[tuple[str, Positions], ...]
    others: tuple[LiveFile, ...]


def by_ids(
    pinned: PinnedById,
    columns: Sequence[str],
    files: Sequence[LiveFile],
    allowed: Callable[[str], bool],
) -> ByIds:
    """How those files' columns may be read; `allowed` says whether a local path may be opened.

    NeedsSparkError where only Spark reads a file, or nobody in process may read the column.
    """
    check_readable(files)
    schema = projection(pinned, columns)
    wanted, ids = schema_to_pyarrow(schema), frozenset(f.field_id for f in schema.fields)
    inputs = inputs_for(pinned.metadata_location, pinned.io_properties)
    paths = {f.path: local_path(f.path) for f in files if f.file_format == "parquet"}
    local = {path: found for path, found in paths.items() if found and allowed(found)}
    told = footers(inputs, [f for f in files if f.path in local])
    whole: list[str] = []
    deleted: list[LiveFile] = []
    others: list[LiveFile] = []
    for file in files:
        footer = told.get(file.path)
        if footer is None or not _is_by_ids(footer, wanted, ids, file, pinned.defaulted_fields):
            others.append(file)
        elif file.deletes:
            deleted.append(file)
        else:
            whole.append(local[file.path])
    positions = _positions(PositionDeletes(inputs), deleted)
    pairs = zip(deleted, positions, strict=True)
    found = tuple((local[file.path], places) for file, places in pairs)
    return ByIds(tuple(whole), found, tuple(others))


def _is_by_ids(
    footer: Footer,
    wanted: pa.Schema,
    ids: frozenset[int],
    file: LiveFile,
    defaulted: frozenset[int],
) -> bool:
    """Whether ids alone say which of its columns are wanted; NeedsSparkError of another file."""
    if footer.rows != file.record_count:
        raise NeedsSparkError(
            f"{file.path} has {footer.rows} rows, its manifest says {file.record_count}",
            hint="Spark reads it; the statement takes that way by itself",
        )
    missing = lacked(footer.schema, wanted)
    if missing is None or unread(footer.schema, wanted) is not None:
        return False
    # What the file lacks is NULL in it, unless its partition or the column's default say more.
    return not any(one in defaulted or file.fixed.get(one) is not None for one in missing & ids)


def _positions(deletes: PositionDeletes, files: Sequence[LiveFile]) -> Iterable[Positions]:
    """Each file's deleted positions, side by side."""
    if len(files) < 2:
        return map(deletes.of, files)
    with ThreadPoolExecutor(_THREADS_MAX) as pool:
        return list(pool.map(deletes.of, files))
