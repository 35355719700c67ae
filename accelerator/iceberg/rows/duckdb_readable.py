"""Which data files DuckDB's own Parquet reader may read: by field ids alone, less deleted rows.

Promises: of a file that is named here each wanted column stands under its field id, once, in a type
that Iceberg's specification names for it, or is NULL in all of its rows; the file has as many rows
as its manifest says, and its deleted positions are all that is deleted. Any other file is left to
`read.py`, which reads the same rows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from msgspec import Struct
from pyiceberg.io.pyarrow import schema_to_pyarrow

from accelerator.common.lru_cache import Recent
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import Inputs, inputs_for, local_path, object_file
from accelerator.iceberg.rows.deleted_rows import DeletedRows
from accelerator.iceberg.rows.nested_fields import leaves, parents
from accelerator.iceberg.rows.position_deletes import Positions
from accelerator.iceberg.rows.read import Pinned, projection
from accelerator.iceberg.rows.readable import check_readable
from accelerator.iceberg.rows.stored_types import (
    footers,
    known_footer,
    lacked,
    places_of,
    unread,
)
from accelerator.iceberg.tables.data_file import LiveFile
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.objects.object_file import ObjectFile


class PinnedById(Pinned, Protocol):
    """What this needs of a pinned table."""

    @property
    def defaulted_fields(self) -> frozenset[int]:
        """Ids of fields that have a value in files that lack them."""
        ...


class Objects(Protocol):
    """Names objects for DuckDB, for one statement."""

    def path(self, file: ObjectFile) -> str:
        """The path by which it opens the object."""
        ...

    def count(self, size: int) -> None:
        """Counts bytes that came from the store."""
        ...


class ByIds(Struct, frozen=True):
    """Files of one table: local paths of those without deletes, and of those with some.

    `others` aren't read by field ids alone. `file_bytes`: of the columns in the other files that
    are local, as they're stored.
    """

    whole: tuple[str, ...]
    deleted: tuple[tuple[str, Positions], ...]
    others: tuple[LiveFile, ...]
    files: Mapping[str, str]
    """The data file's path, as the table has it, by each of those paths."""
    file_bytes: int


class Projected(Struct, frozen=True):
    """The columns that are read: their Arrow schema, and the field ids of those at its top.

    `sought` are the ids of leaves, too. A column that `never` is NULL has a value in a file that
    lacks it, or that is an error.
    """

    schema: pa.Schema
    ids: frozenset[int]
    sought: frozenset[int]
    never: frozenset[int]


_PROJECTIONS: Recent[Projected] = Recent()
"""By the metadata file, the schema in it, the fields with a value in it and the columns' names."""


def _projection(pinned: PinnedById, columns: Sequence[str]) -> Projected:
    uuid, schema_id = pinned.facts.uuid, pinned.schema.schema_id
    defaulted = pinned.defaulted_fields
    key = (pinned.metadata_location, uuid, schema_id, defaulted, tuple(columns))
    return _PROJECTIONS.get_or(key, lambda: _new_projection(pinned, columns))


def _new_projection(pinned: PinnedById, columns: Sequence[str]) -> Projected:
    schema = projection(pinned, columns)
    wanted = schema_to_pyarrow(schema)
    required = {field.field_id for field in schema.fields if field.required}
    ids = frozenset(field.field_id for field in schema.fields)
    return Projected(wanted, ids, ids_in(wanted), pinned.defaulted_fields | required)


def by_ids(
    pinned: PinnedById,
    columns: Sequence[str],
    files: Sequence[LiveFile],
    allowed: Callable[[str], bool],
    check: Callable[[], None] = lambda: None,
    objects: Objects | None = None,
) -> ByIds:
    """How those files' columns may be read; `allowed` says whether a local path may be opened.

    `check` raises where nobody waits any more; it's asked before each file's deletes are read.
    `objects` names the paths of those in object stores.

    NeedsSparkError where only Spark reads a file, or nobody in process may read the column.
    """
    check_readable(pinned, files)
    wanted = _projection(pinned, columns)
    count = objects.count if objects is not None else lambda _size: None
    inputs = inputs_for(pinned.metadata_location, pinned.io_properties, count)
    paths = {f.path: local_path(f.path) for f in files if f.file_format == "parquet"}
    local = {path: found for path, found in paths.items() if found and allowed(found)}
    for file in files:
        if file.path in local and _is_link(file, local[file.path]):
            del local[file.path]
    on_disk = frozenset(local)
    local |= _object_paths(inputs, [f for f in files if f.path not in local], objects)
    told = footers(inputs, [f for f in files if f.path in local])
    fits: dict[int, tuple[frozenset[int] | None, list[int]]] = {}
    file_bytes = 0
    whole: list[str] = []
    deleted: list[LiveFile] = []
    others: list[LiveFile] = []
    for file in files:
        footer = told.get(file.path)
        if footer is None:
            others.append(file)
            continue
        if footer.rows != file.record_count:
            raise NeedsSparkError(
                f"{file.path} has {footer.rows} rows, its manifest says {file.record_count}",
                hint="Spark reads it; the statement takes that way by itself",
            )
        kind = id(footer.schema)  # alike in most files
        if kind not in fits:
            missing = _missing(footer.schema, wanted.schema)
            fits[kind] = missing, places_of(footer.schema, wanted.ids)
        missing, places = fits[kind]
        if missing is None or _have_values(missing & wanted.sought, file, wanted.never):
            others.append(file)
            continue
        if file.path in on_disk:
            sizes = footer.sizes
            file_bytes += file.size_bytes if sizes is None else int(sizes[places].sum())
        if file.deletes:
            deleted.append(file)
        else:
            whole.append(local[file.path])
    pairs = zip(deleted, DeletedRows(pinned).of_each(deleted, check), strict=True)
    found = tuple((local[file.path], positions) for file, positions in pairs)
    origins = {place: path for path, place in local.items()}
    return ByIds(tuple(whole), found, tuple(others), origins, file_bytes)


def _object_paths(
    inputs: Inputs, files: Sequence[LiveFile], objects: Objects | None
) -> dict[str, str]:
    """The paths by which DuckDB reads files in object stores, of those that obstore reaches."""
    found: dict[str, str] = {}
    for file in files if objects is not None else ():
        stored = object_file(inputs, file.path, file.size_bytes)
        if stored is not None and objects is not None and file.file_format == "parquet":
            found[file.path] = objects.path(stored)
    return found


def why_beside(
    pinned: PinnedById,
    columns: Sequence[str],
    files: Sequence[LiveFile],
) -> Declined | None:
    """Returns why PyIceberg reads some of these files, None if DuckDB can read them all.

    No file is opened for it: only footers that were read before count.
    """
    wanted = _projection(pinned, columns)
    for file in files:
        footer = known_footer(file)
        if footer is None:
            continue
        missing = _missing(footer.schema, wanted.schema)
        if missing is None or _have_values(missing & wanted.sought, file, wanted.never):
            return Declined("columns_not_by_id", f"It is {file.path}.")
    return None


def _is_link(file: LiveFile, path: str) -> bool:
    """Returns whether the file is a link, which DuckDB would follow only within its folders.

    NeedsSparkError if its length isn't the manifest's: it was written over. Footers are cached, so
    that reading them wouldn't show it. FileNotFoundError if it's gone.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return True
    size = found.st_size
    if size != file.size_bytes:
        raise NeedsSparkError(
            f"{file.path} has {size} bytes, its manifest says {file.size_bytes}",
            hint="Spark reads it; the statement takes that way by itself",
        )
    return False


def _missing(stored: pa.Schema, wanted: pa.Schema) -> frozenset[int] | None:
    """Ids of the fields that such a file lacks; None if it isn't read by ids alone."""
    if any(pa.types.is_struct(field.type) for field in wanted):
        own, others = parents(stored), parents(wanted)
        if any(own.get(one, around) != around for one, around in others.items()):
            return None
        stored, wanted = leaves(stored), leaves(wanted)
    return None if unread(stored, wanted) is not None else lacked(stored, wanted)


def ids_in(schema: pa.Schema) -> frozenset[int]:
    """The ids of a schema's columns, and of the fields of its structs."""
    return frozenset(map(int, parents(schema)))


def _have_values(missing: Iterable[int], file: LiveFile, never: Set[int]) -> bool:
    """Whether columns that the file lacks may not be NULL in it.

    They have a value of its partition or by default, or they `never` are NULL: then it's an error.
    """
    return any(one in never or file.fixed.get(one) is not None for one in missing)
