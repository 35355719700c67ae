"""ORC files by their stripes, under the interface of PyArrow's Parquet files.

PyArrow decodes the stripes; their rows and statistics are read by `orc_footer.py`. A stripe is to
an ORC file what a row group is to a Parquet file, so readers and index builds take both. Field ids
come from the attribute `iceberg.id` (Iceberg's specification, appendix A).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
from msgspec import Struct
from pyarrow import orc

from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import Inputs, local_path, object_stream
from accelerator.iceberg.rows.orc.orc_footer import (
    OrcStatistics,
    read_footer,
    statistics_of,
    stripe_statistics,
    writer_zones,
)
from accelerator.iceberg.rows.stored_types import FIELD_ID, lacked, unread
from accelerator.iceberg.tables.data_file import LiveFile

Open = Callable[[], BinaryIO]
_ICEBERG_ID = b"iceberg.id"
_UTC = frozenset({"UTC", "GMT", "Etc/UTC"})


class OrcField(Struct, frozen=True):
    """A column of the file; `path` is its name."""

    path: str


class OrcColumn(Struct, frozen=True):
    """A column of one stripe, whose statistics are read when they're asked for."""

    stripe: OrcStripe
    path: str

    @property
    def total_compressed_size(self) -> int:
        """Estimated bytes: each column of the stripe counts the same."""
        return self.stripe.size_bytes // max(1, len(self.stripe.metadata.schema))

    @property
    def statistics(self) -> OrcStatistics | None:
        """Bounds and the number of NULLs; None if the file has none."""
        return self.stripe.metadata.statistics(self.path)[self.stripe.number]


class OrcStripe(Struct, frozen=True):
    """One stripe: its rows, its size in bytes, and its columns by place."""

    metadata: OrcMetadata
    number: int
    num_rows: int
    size_bytes: int

    def column(self, place: int) -> OrcColumn:
        """The column at that place of the file's schema."""
        return OrcColumn(self, self.metadata.schema[place].path)


class OrcSchema(list[OrcField]):
    """The file's columns in order."""

    def column(self, place: int) -> OrcField:
        """The column at that place."""
        return self[place]


class OrcMetadata:
    """The footer of an ORC file: rows, stripes, and on demand the stripes' statistics."""

    def __init__(self, source: Open, stream: BinaryIO) -> None:
        """Reads the footer from `stream`; `source` opens another one for the statistics."""
        self._source = source
        self._statistics: dict[str, list[OrcStatistics | None]] = {}
        self._footer = footer = read_footer(stream)
        self.num_rows, self._types = footer.rows, footer.types
        self.schema = OrcSchema(map(OrcField, self._types))
        self._stripes = [
            OrcStripe(self, number, one.rows, one.index + one.data + one.footer)
            for number, one in enumerate(footer.stripes)
        ]

    @property
    def num_row_groups(self) -> int:
        """The number of stripes."""
        return len(self._stripes)

    def row_group(self, number: int) -> OrcStripe:
        """The stripe of that number."""
        return self._stripes[number]

    def has_exact_times(self, name: str) -> bool:
        """Reports if the column's times don't depend on the zone of the process that wrote them."""
        return self._types[name].kind == "TIMESTAMP_INSTANT" or self._in_utc

    def statistics(self, name: str) -> Sequence[OrcStatistics | None]:
        """The column's statistics, one for each stripe; read once."""
        if name not in self._statistics:
            type_, read = self._types[name], self._encoded
            if len(read) != len(self._stripes) or any(type_.number >= len(one) for one in read):
                self._statistics[name] = [None] * len(self._stripes)
            else:
                self._statistics[name] = [
                    statistics_of(one[type_.number], type_.kind, type_.scale, stripe.num_rows)
                    for one, stripe in zip(read, self._stripes, strict=True)
                ]
        return self._statistics[name]

    @cached_property
    def _in_utc(self) -> bool:
        with closing(self._source()) as stream:
            return writer_zones(stream, self._footer) <= _UTC

    @cached_property
    def _encoded(self) -> list[list[bytes]]:
        with closing(self._source()) as stream:
            return stripe_statistics(stream)


class OrcFile:
    """An open ORC file. `known` is its metadata if it was read before.

    ValueError for bytes that aren't ORC; OrcCompressionError if the footer can't be read here.
    """

    def __init__(self, source: Open, known: OrcMetadata | None = None) -> None:
        self._stream = source()
        try:
            self.metadata = OrcMetadata(source, self._stream) if known is None else known
            self._orc = orc.ORCFile(self._stream)
        except BaseException:
            self._stream.close()
            raise

    @cached_property
    def schema_arrow(self) -> pa.Schema:
        """The columns with their field ids, in the types that `read_row_groups` returns."""
        return pa.schema([self._field(one) for one in self._orc.schema])

    def read_row_groups(
        self, groups: Sequence[int], columns: Sequence[str], *, use_threads: bool = False
    ) -> pa.Table:
        """Reads columns of stripes; NeedsSparkError for times that fit no nanoseconds."""
        del use_threads  # PyArrow decodes a stripe in one thread
        schema = self.schema_arrow
        fields = [field for field in schema if field.name in set(columns)]
        target = pa.schema([field.remove_metadata() for field in fields])
        tables = [target.empty_table()]
        for group in groups:
            try:
                batch = self._orc.read_stripe(group, columns=list(columns))
                tables.append(pa.Table.from_batches([batch]).select(target.names).cast(target))
            except pa.ArrowException as error:
                raise NeedsSparkError(
                    f"a stripe can't be read in process: {error}",
                    hint="Spark reads it; the statement takes that way by itself",
                ) from error
        return pa.concat_tables(tables)

    def iter_batches(
        self,
        batch_size: int,
        *,
        row_groups: Sequence[int],
        columns: Sequence[str],
        use_threads: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Reads columns of stripes in batches of at most so many rows."""
        for group in row_groups:
            table = self.read_row_groups([group], columns, use_threads=use_threads)
            yield from table.combine_chunks().to_batches(max_chunksize=batch_size)

    def close(self, force: bool = True) -> None:
        """Closes the file; nothing can be read afterwards."""
        del force  # a stream that this object opened is always closed
        self._stream.close()

    def __enter__(self) -> OrcFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _field(self, field: pa.Field) -> pa.Field:
        number = (field.metadata or {}).get(_ICEBERG_ID)
        if number is not None and not number.isdigit():
            raise ValueError(f"{field.name} has the field id {number[:40]!r}")
        type_ = field.type
        if pa.types.is_timestamp(type_) and self.metadata.has_exact_times(field.name):
            type_ = pa.timestamp("us", type_.tz)
        return pa.field(field.name, type_, metadata=None if number is None else {FIELD_ID: number})


def opener(inputs: Inputs, path: str, size: int | None = None) -> Open:
    """Opens that file, of that size if it's stated, anew each time it's called."""
    local = local_path(path)
    if local is not None:
        return lambda: Path(local).open("rb")

    def opened() -> BinaryIO:
        sized = None if size is None else object_stream(inputs, path, size)
        stream: object = inputs.new_input(path).open() if sized is None else sized
        return cast(BinaryIO, stream)

    return opened


def whole_file(inputs: Inputs, file: LiveFile, wanted: pa.Schema) -> pa.Table | None:
    """All rows of an ORC file, with the columns of `wanted`, which have field ids.

    The partition's values replace the file's own. None if a column isn't in the file under its id,
    or is nested: PyIceberg reads such files. ValueError for another number of rows than stated.
    """
    with OrcFile(opener(inputs, file.path, file.size_bytes)) as opened:
        if opened.metadata.num_rows != file.record_count:
            raise ValueError(
                f"{file.path} has {opened.metadata.num_rows} rows, not the"
                f" {file.record_count} of its manifest"
            )
        stored = pa.schema([one for one in wanted if _id(one) not in file.fixed])
        if lacked(opened.schema_arrow, stored) != frozenset() or any(
            pa.types.is_nested(one.type) for one in stored
        ):
            return None
        name = unread(opened.schema_arrow, stored)
        if name is not None:
            raise ValueError(f"{file.path} has {name} as {opened.schema_arrow.field(name).type}")
        by_id = {_id(one): one.name for one in opened.schema_arrow if one.metadata}
        names = [by_id[_id(one)] for one in stored]
        read = opened.read_row_groups(range(opened.metadata.num_row_groups), names)
    columns = [
        pa.repeat(pa.scalar(file.fixed[_id(one)], one.type), file.record_count)
        if _id(one) in file.fixed
        else read.column(by_id[_id(one)]).cast(one.type)
        for one in wanted
    ]
    return pa.Table.from_arrays(columns, names=wanted.names)


def _id(field: pa.Field) -> int:
    return int(field.metadata[FIELD_ID])
