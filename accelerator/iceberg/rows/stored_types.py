"""What types data files have for a table's columns, and which of them are read in process.

Promises: a column is read only where its file has it as Iceberg's specification (appendix A) says
for its type, or in a narrower type of the same kind that it was promoted from. Files that others
wrote and a table took over may have more: INT96, whose days Arrow wraps outside 1677 to 2262, times
in milli- or nanoseconds, whole numbers without a sign. These are Spark's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from accelerator.common.lru_cache import Recent
from accelerator.iceberg.io import Inputs, local_path, object_stream
from accelerator.iceberg.tables.data_file import LiveFile

FIELD_ID = b"PARQUET:field_id"
_THREADS_MAX = 8
_CHUNKS_MAX = 20_000
"""Column chunks of a file whose sizes are added up: in Python, half a microsecond each."""


class ParquetFooter(Struct, frozen=True):
    """The footer of a Parquet file: its columns, and how many rows and row groups it has.

    `sizes`: int64 bytes of each column's chunks as they're stored, by the column's place; None of a
    file of many columns and row groups.
    """

    schema: pa.Schema
    rows: int
    sizes: npt.NDArray[np.int64] | None = None
    row_groups: int = 0


_FOOTERS: Recent[ParquetFooter] = Recent(1 << 16)
"""By path and size: data files never change."""
_SCHEMAS: Recent[pa.Schema] = Recent(1024)
"""By their own bytes: files of one writer share theirs."""


def check_types(inputs: Inputs, files: Sequence[LiveFile], wanted: pa.Schema) -> None:
    """ValueError for a file that has a column in a type that isn't read in process.

    `wanted` is the table's schema in Arrow's types, with field ids. Footers are read once.
    """
    if any(file.file_format == "orc" for file in files) and any(
        pa.types.is_timestamp(leaf) for field in wanted for leaf in _leaves(field.type)
    ):
        raise ValueError("an ORC file's times are read in nanoseconds")
    for path, footer in footers(inputs, files).items():
        name = unread(footer.schema, wanted)
        if name is not None:
            raise ValueError(f"{path} has {name} as {footer.schema.field(name).type}")


def footers(inputs: Inputs, files: Sequence[LiveFile]) -> Mapping[str, ParquetFooter]:
    """The footers of those that are Parquet, by path, side by side; each is read once."""
    parquet = {file.path: file for file in files if file.file_format == "parquet"}
    found: dict[str, ParquetFooter] = {}
    fresh: list[LiveFile] = []
    for path, file in parquet.items():
        known = known_footer(file)
        if known is None:
            fresh.append(file)
        else:
            found[path] = known
    if len(fresh) == 1:
        found[fresh[0].path] = _footer(inputs, fresh[0])
    elif fresh:
        with ThreadPoolExecutor(min(_THREADS_MAX, len(fresh))) as pool:
            read = pool.map(lambda file: _footer(inputs, file), fresh)
            found |= {file.path: one for file, one in zip(fresh, read, strict=True)}
    return found


def known_footer(file: LiveFile) -> ParquetFooter | None:
    """The file's footer if it was read before."""
    return _FOOTERS.get((file.path, file.size_bytes))


def lacked(stored: pa.Schema, wanted: pa.Schema) -> frozenset[int] | None:
    """Ids of wanted fields that a file lacks; None where ids alone don't say which column is which.

    So it is where a wanted field has none, no column of the file has one, or two have the same.
    """
    ids = Counter(field.metadata[FIELD_ID] for field in stored if _has_id(field))
    sought = [field.metadata[FIELD_ID] for field in wanted if _has_id(field)]
    if not ids or len(sought) < len(wanted) or any(ids[one] > 1 for one in sought):
        return None
    return frozenset(int(one) for one in sought if not ids[one])


def places_of(stored: pa.Schema, ids: Set[int]) -> list[int]:
    """Returns the places of the columns that a file has under these field ids."""
    fields = enumerate(stored)
    return [n for n, one in fields if _has_id(one) and int(one.metadata[FIELD_ID]) in ids]


def unread(stored: pa.Schema, wanted: pa.Schema) -> str | None:
    """The first column of a file that isn't read in process; a missing one is none.

    >>> old = pa.schema([pa.field("t", pa.timestamp("ns"))])
    >>> unread(old, pa.schema([pa.field("t", pa.timestamp("us"))]))
    't'
    """
    by_id = {field.metadata[FIELD_ID]: field for field in stored if _has_id(field)}
    by_name = {field.name.lower(): field for field in stored}
    for field in wanted:
        if by_id:
            found = by_id.get(field.metadata[FIELD_ID]) if _has_id(field) else None
        else:
            found = by_name.get(field.name.lower())
        if found is not None and not _fits(found.type, field.type):
            return str(found.name)
    if not by_id:  # names are mapped: any column may be one of those that are wanted
        return next(
            (str(f.name) for f in stored if not all(map(_is_iceberg_type, _leaves(f.type)))), None
        )
    return None


def _has_id(field: pa.Field) -> bool:
    return FIELD_ID in (field.metadata or {})


def _footer(inputs: Inputs, file: LiveFile) -> ParquetFooter:
    path = local_path(file.path)
    stream = None if path else object_stream(inputs, file.path, file.size_bytes)
    if path is not None:
        read = pq.read_metadata(path)
    elif stream is not None:
        read = stream.footer()
    else:
        with inputs.new_input(file.path).open() as opened:
            read = pq.read_metadata(cast(BinaryIO, opened))
    schema = read.schema.to_arrow_schema()
    schema = _SCHEMAS.get_or(schema.serialize().to_pybytes(), lambda: schema)
    found = ParquetFooter(
        schema, read.num_rows, _sizes(read, schema, file.size_bytes), read.num_row_groups
    )
    return _FOOTERS.get_or((file.path, file.size_bytes), lambda: found)


def _sizes(
    read: pq.FileMetaData, schema: pa.Schema, bytes_max: int
) -> npt.NDArray[np.int64] | None:
    """See `ParquetFooter.sizes`; a chunk is at most as large as its file."""
    if read.num_columns * read.num_row_groups > _CHUNKS_MAX:
        return None
    leaves = [sum(1 for _ in _leaves(column.type)) for column in schema]
    if sum(leaves) != read.num_columns or 0 in leaves:
        return None
    found = np.zeros(read.num_columns, dtype=np.int64)
    for group in map(read.row_group, range(read.num_row_groups)):
        for place in range(read.num_columns):
            found[place] += min(max(0, group.column(place).total_compressed_size), bytes_max)
    begins = np.cumsum([0, *leaves[:-1]])
    return np.add.reduceat(found, begins) if leaves else found


def _leaves(type_: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_nested(type_):
        for place in range(type_.num_fields):
            yield from _leaves(type_.field(place).type)
    else:
        yield type_


def _is_iceberg_type(leaf: pa.DataType) -> bool:
    """Whether some type of Iceberg's is written so."""
    if pa.types.is_timestamp(leaf):
        return bool(leaf.unit == "us")
    return not pa.types.is_unsigned_integer(leaf)


def _fits(stored: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if stored == wanted:
        return all(map(_is_iceberg_type, _leaves(stored)))
    if pa.types.is_nested(wanted):
        return pa.types.is_nested(stored) and all(map(_is_iceberg_type, _leaves(stored)))
    if pa.types.is_timestamp(wanted):
        timed = pa.types.is_timestamp(stored) and stored.unit == wanted.unit == "us"
        return bool(timed and (stored.tz is None) == (wanted.tz is None))
    if pa.types.is_decimal(wanted):
        narrow = pa.types.is_decimal(stored) and stored.scale == wanted.scale
        return bool(narrow and stored.precision <= wanted.precision)
    if pa.types.is_signed_integer(wanted):
        narrow = pa.types.is_signed_integer(stored)
        return bool(narrow and stored.bit_width <= wanted.bit_width)
    if pa.types.is_float64(wanted):
        return bool(pa.types.is_float32(stored))
    text = (pa.types.is_string, pa.types.is_large_string)
    data = (pa.types.is_binary, pa.types.is_large_binary)
    return any(
        any(one(stored) for one in kinds) and any(one(wanted) for one in kinds)
        for kinds in (text, data)
    )
