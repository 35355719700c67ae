"""Records as the bytes of a Parquet file, and such bytes as rows: of those nothing is trusted.

Bounds of what a file may hold stand before anything of it is expanded: its bytes, what its footer
says of rows and sizes, and texts are read as dictionaries, so that no text is there twice before
its length is known.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accelerator.errors import UNFIT
from accelerator.query_log.page_sizes import Sizes, sizes_of
from accelerator.query_log.record import (
    COLUMNS,
    LIST_MAX,
    TIME_MAX,
    Column,
    Record,
    arrow_schema,
    arrow_type,
    bounded,
)
from accelerator.query_log.statement_text import told

VERSION = 1
"""Of the columns and their meaning; a reader passes newer ones over."""
FILE_BYTES_MAX = 64 * 1024**2
EXPANDED_BYTES_MAX = 256 * 1024**2
ROWS_MAX = 2000
"""Rows of a file: the writer makes none with more."""
_ROW_GROUPS_MAX = 16
_COLUMNS_MAX = 256
_VERSION_KEY, _LOST_KEY = b"accelerator.query_log.version", b"accelerator.query_log.lost"
_COUNT_MAX = 2**63 - 1
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


@dataclass(frozen=True, slots=True)
class Encoded:
    """A file's bytes. Times are those of its records; `refused` of them had values of other types.

    `data` is empty where there are no rows.
    """

    data: bytes
    rows: int
    oldest_us: int
    newest_us: int
    refused: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's rows, and how many its writer had lost since the file before."""

    rows: pa.Table
    lost: int


def encoded(records: Iterable[Record], lost: int) -> Encoded:
    """The records as a file, with how many before them were lost; those refused count as well."""
    rows, refused = [], 0
    for record in records:
        try:
            rows.append(_row(record))
        except UNFIT:
            refused += 1
    if not rows:
        return Encoded(b"", 0, 0, 0, refused)
    metadata = {_VERSION_KEY: str(VERSION).encode(), _LOST_KEY: str(lost + refused).encode()}
    table = pa.Table.from_pylist(rows, schema=arrow_schema())
    out = io.BytesIO()
    # A file of few records is mostly footer: names tell times, so bounds of columns serve nobody.
    with pq.ParquetWriter(
        out,
        table.schema,
        compression="zstd",
        write_page_checksum=True,
        write_statistics=False,
        store_schema=False,
    ) as file:
        file.write_table(table)
        file.add_key_value_metadata(metadata)
    times = [row["started"] for row in rows]
    return Encoded(out.getvalue(), len(rows), min(times), max(times), refused)


def _row(record: Record) -> dict[str, Any]:
    """TypeError or ValueError for a value of another type than its column's."""
    text = told(record.sql, record.dialect)
    whole = len(record.sql) if record.sql_length is None else record.sql_length
    derived = {
        "started": record.started_us,
        "sql": text.text,
        "sql_length": whole,
        "shape": text.shape if whole == len(record.sql) else None,
        "shape_text": text.shape_text if whole == len(record.sql) else None,
        "error_message": text.hidden_in(record.error_message),
        "reason_text": text.hidden_in(record.reason_text),
    }
    row = {}
    for column in COLUMNS:
        name = column.name
        value = derived[name] if name in derived else getattr(record, name)
        if value is None and column.required:
            raise ValueError(f"{name} is None")
        row[name] = None if value is None else _value(column, value)
    return row


def _value(column: Column, value: Any) -> Any:
    kind = column.kind
    if kind == "texts":
        return [bounded(one, column.most) for one in _texts(value)]
    if kind == "counts":
        return [_whole(one) for one in value[:LIST_MAX]]
    if kind == "text":
        (text,) = _texts([value])
        return bounded(text, column.most)
    if kind == "flag":
        if not isinstance(value, bool):
            raise TypeError("neither true nor false")
        return value
    if kind == "number":
        if not isinstance(value, int | float):
            raise TypeError("no number")
        number = float(value)
        return number if abs(number) < float("inf") else None
    whole = _whole(value)
    if kind == "time" and not 0 <= whole <= TIME_MAX:
        raise ValueError("no time of the years 1970 to 9999")
    return whole


def _texts(values: Sequence[Any]) -> list[str]:
    found = [one for one in values[:LIST_MAX] if isinstance(one, str)]
    if len(found) < min(len(values), LIST_MAX) or isinstance(values, str):
        raise TypeError("not a text")
    return found


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not -_COUNT_MAX <= value <= _COUNT_MAX:
        raise ValueError("no whole number of 64 bits")
    return int(value)


def decoded(data: bytes) -> Decoded:
    """The rows of a file's bytes; DamagedError or NewerError where it gives none."""
    try:
        return _decoded(data)
    except (pa.ArrowException, OSError, MemoryError, *UNFIT) as error:
        raise DamagedError(f"{type(error).__name__}: {error}".splitlines()[0][:200]) from error


def _decoded(data: bytes) -> Decoded:
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
    wanted = [one for one in COLUMNS if _has(schema, one)]
    table = file.read(columns=[one.name for one in wanted], use_threads=False)
    if table.num_rows != sizes.rows:
        raise DamagedError("it has another number of rows than it says")
    table.validate(full=True)
    columns = {one.name: _checked(table[one.name], one) for one in wanted}
    for one in COLUMNS:
        if one.name not in columns:  # an older release knew no such column
            columns[one.name] = pa.nulls(table.num_rows, arrow_type(one.kind))
    return Decoded(
        pa.table(columns).select(arrow_schema().names).cast(arrow_schema()), _lost(sizes)
    )


def _check(sizes: Sizes) -> None:
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


def _lost(sizes: Sizes) -> int:
    told = sizes.metadata.get(_LOST_KEY, b"")
    return min(int(told), _COUNT_MAX) if told.isdigit() and len(told) < 20 else 0


def _check_version(metadata: Mapping[bytes, bytes]) -> None:
    told = metadata.get(_VERSION_KEY, b"")
    if not told.isdigit() or len(told) > 9:
        raise DamagedError("it has no version of the log")
    if int(told) > VERSION:
        raise NewerError(f"it has version {int(told)}")


def _has(schema: pa.Schema, column: Column) -> bool:
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


def _checked(column: pa.ChunkedArray, wanted: Column) -> pa.ChunkedArray:
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


def _check_texts(values: pa.Array, wanted: Column) -> None:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest > wanted.most:
        raise DamagedError(f"{wanted.name} has a text of {longest} bytes")
