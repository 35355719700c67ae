"""A file of the log as rows: nothing of it is trusted.

Bounds of what a file may hold stand before anything of it is expanded: its bytes, what its footer
says of rows and sizes, and texts are read as dictionaries, so that no text is there twice before
its length is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from accelerator.errors import UNFIT
from accelerator.store.journals.query_log.encoding.encode import (
    COUNT_MAX,
    LOST_KEY,
    PARTS_KEY,
    VERSION,
    VERSION_KEY,
)
from accelerator.store.journals.query_log.encoding.page_sizes import PageSizes, sizes_of
from accelerator.store.journals.query_log.record import (
    COLUMNS,
    LIST_MAX,
    ROWS_MAX,
    TIME_MAX,
    LogColumn,
    arrow_type,
)
from accelerator.store.journals.query_log.writing.merged_parts import WrittenLogFile, parts_of

FILE_BYTES_MAX = 64 * 1024**2
EXPANDED_BYTES_MAX = 256 * 1024**2
_ROW_GROUPS_MAX = 16
_COLUMNS_MAX = 256
# What the footer may take; a sound one has some ten thousand bytes.
_TEXT_MAX, _LISTS_MAX = 4 * 1024**2, 100_000

_TEXTS = frozenset(
    one.name if one.kind == "text" else f"{one.name}.list.element"
    for one in COLUMNS
    if one.kind in ("text", "texts")
)


class DamagedError(Exception):
    """The bytes are no file of the log, or one that was changed."""


class NewerError(Exception):
    """A later release has written the file."""


class Decoded(Struct, frozen=True):
    """A file's rows, how many its writers had lost, and of which files it was merged, if it was.

    The rows of the first part come first, and so on; `parts` is empty where it wasn't merged.
    """

    rows: pa.Table
    lost: int
    parts: tuple[WrittenLogFile, ...] = ()

    def parts_of(self, id: str) -> tuple[WrittenLogFile, ...]:
        """Its parts; the file itself, of that `id`, where it wasn't merged."""
        return self.parts or (WrittenLogFile(id, self.rows.num_rows, self.lost),)


def decoded(data: bytes, names: Collection[str] | None = None) -> Decoded:
    """The rows of a file's bytes, of the columns with these `names` or of all, in their order.

    DamagedError or NewerError where it gives none.
    """
    try:
        return _decoded(data, [one for one in COLUMNS if names is None or one.name in names])
    except (pa.ArrowException, OSError, MemoryError, *UNFIT) as error:
        raise DamagedError(f"{type(error).__name__}: {error}".splitlines()[0][:200]) from error


def _decoded(data: bytes, asked: list[LogColumn]) -> Decoded:
    sizes = sizes_of(data)
    _check(sizes)
    file = pq.ParquetFile(
        pa.BufferReader(data),
        read_dictionary=sorted(_TEXTS & sizes.leaves),
        thrift_string_size_limit=_TEXT_MAX,
        thrift_container_size_limit=_LISTS_MAX,
        page_checksum_verification=True,
    )
    schema = file.schema_arrow
    wanted = [one for one in asked if _has(schema, one)]
    table = file.read(columns=[one.name for one in wanted], use_threads=False)
    if table.num_rows != sizes.rows:
        raise DamagedError("it has another number of rows than it says")
    table.validate(full=True)
    columns = {one.name: _checked(table[one.name], one) for one in wanted}
    for one in asked:
        if one.name not in columns:  # an older release knew no such column
            columns[one.name] = pa.nulls(table.num_rows, arrow_type(one.kind))
    schema = pa.schema([pa.field(one.name, arrow_type(one.kind)) for one in asked])
    parts = parts_of(sizes.metadata.get(PARTS_KEY, b""))
    if parts and sum(one.rows for one in parts) != sizes.rows:
        raise DamagedError("its parts have other rows than it has")
    return Decoded(pa.table(columns).select(schema.names).cast(schema), _lost(sizes), parts)


def _check(sizes: PageSizes) -> None:
    """Raises before anything of a file is expanded that is larger than the log's are."""
    _check_version(sizes.metadata)
    if sizes.row_groups > _ROW_GROUPS_MAX or len(sizes.leaves) > _COLUMNS_MAX:
        raise DamagedError("it says that it has more parts than the log's files have")
    if sizes.rows > ROWS_MAX:
        raise DamagedError(f"it says that it has {sizes.rows} rows")
    if sizes.values > ROWS_MAX * LIST_MAX:
        raise DamagedError(f"it says that a column has {sizes.values} values")
    if sizes.expanded > EXPANDED_BYTES_MAX:
        raise DamagedError(f"it says that it expands to {sizes.expanded} bytes")


def _lost(sizes: PageSizes) -> int:
    told = sizes.metadata.get(LOST_KEY, b"")
    return min(int(told), COUNT_MAX) if told.isdigit() and len(told) < 20 else 0


def _check_version(metadata: Mapping[bytes, bytes]) -> None:
    told = metadata.get(VERSION_KEY, b"")
    if not told.isdigit() or len(told) > 9:
        raise DamagedError("it has no version of the log")
    if int(told) > VERSION:
        raise NewerError(f"it has version {int(told)}")


def _has(schema: pa.Schema, column: LogColumn) -> bool:
    """Whether the file has the column; DamagedError for another type, or where it must have it."""
    places = schema.get_all_field_indices(column.name)
    if not places and not column.required:
        return False
    if len(places) != 1:
        raise DamagedError(f"it has {len(places)} columns {column.name}")
    type_ = schema.field(places[0]).type
    texts = pa.dictionary(pa.int32(), pa.string())
    read = {"text": texts, "texts": pa.list_(texts)}.get(column.kind, arrow_type(column.kind))
    if type_ not in (read, arrow_type(column.kind)):
        raise DamagedError(f"its column {column.name} is {str(type_)[:80]}")
    return True


def _checked(column: pa.ChunkedArray, wanted: LogColumn) -> pa.ChunkedArray:
    """The column with its texts in full, once none of them is longer than it may be."""
    if wanted.required and column.null_count:
        raise DamagedError(f"{wanted.name} has no value")
    if wanted.kind in ("texts", "counts"):
        for chunk in column.chunks:
            longest = pc.max(pc.list_value_length(chunk)).as_py() or 0
            if longest > LIST_MAX:
                raise DamagedError(f"{wanted.name} has {longest} elements")
    if wanted.kind in ("text", "texts"):
        for chunk in column.chunks:
            _check_texts(chunk if wanted.kind == "text" else chunk.values, wanted)
    if wanted.kind == "time" and column.length():
        ends = pc.min_max(column.cast(pa.int64())).as_py()
        if not 0 <= ends["min"] <= ends["max"] <= TIME_MAX:
            raise DamagedError(f"{wanted.name} isn't in the years 1970 to 9999")
    return column.cast(arrow_type(wanted.kind))


def _check_texts(values: pa.Array, wanted: LogColumn) -> None:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest > wanted.most:
        raise DamagedError(f"{wanted.name} has a text of {longest} bytes")
