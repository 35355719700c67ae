"""Rows in the formats of files: CSV, Arrow and Parquet, into a file or standard output.

Promises: rows are written batch by batch, as they come; every type can be written as CSV, and a
NULL is told from an empty text there; no bytes that aren't text go to a terminal.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, Protocol

from accelerator.cli.terminal import ByteOutput, say
from accelerator.errors import OutputError

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.query.results.batch_readers import BatchReader

ROWS = ("csv", "arrow", "parquet")
FORMATS = ("table", "vertical", "json", *ROWS)
_BINARY = ("arrow", "parquet")


class Sink(Protocol):
    """Rows of some format that are being written."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Appends the batch's rows."""
        ...

    def close(self) -> None:
        """Ends them."""
        ...


def sink_of(name: str, where: Any, schema: pa.Schema) -> Sink:
    """What writes rows in that format into a file, by its path, or into a stream.

    A stream gets Arrow's format of streams, which is read as it comes; a file that of files.
    """
    from pyarrow import ipc

    if name == "csv":
        return _Csv(where, schema)
    if name == "parquet":
        from pyarrow import parquet

        writer: Sink = parquet.ParquetWriter(where, schema, compression="zstd")
        return writer
    new = ipc.new_file if isinstance(where, str) else ipc.new_stream
    made: Sink = new(where, schema)
    return made


def check_terminal(name: str) -> None:
    """OutputError where that format would fill a terminal with bytes."""
    if name in _BINARY and sys.stdout is not None and sys.stdout.isatty():
        raise OutputError(
            f"{name} is no text, and standard output is a terminal",
            hint=f"redirect it, e.g. > rows.{name}, or choose --format csv",
        )


def print_rows(name: str, reader: BatchReader) -> int:
    """Writes the rows to standard output; how many they were. Nothing where there is no column."""
    if not len(reader.schema):
        for _ in reader:
            pass
        return 0
    if name == "csv" and sys.stdout is not None and sys.stdout.isatty():
        return _print_csv(reader)
    output, rows = ByteOutput(), 0
    sink = sink_of(name, output, reader.schema)
    try:
        for batch in reader:
            sink.write_batch(batch)
            output.flush()
            rows += batch.num_rows
    finally:
        sink.close()
        output.flush()
    return rows


def _print_csv(reader: BatchReader) -> int:
    """CSV for a terminal, on which values have no power."""
    rows, text = 0, io.BytesIO()
    sink = sink_of("csv", text, reader.schema)
    for batch in reader:
        sink.write_batch(batch)
        rows += batch.num_rows
        if text.tell():
            say(text.getvalue().decode().rstrip("\n"))
            text.seek(0)
            text.truncate()
    sink.close()
    if text.tell():  # the names, where there was no batch
        say(text.getvalue().decode().rstrip("\n"))
    return rows


class _Csv:
    """Arrow's writer, given texts for what it has no words for."""

    def __init__(self, where: Any, schema: pa.Schema) -> None:
        import pyarrow as pa
        from pyarrow import csv

        self._as_text = [_lacks_words(one.type) for one in schema]
        fields = [
            pa.field(one.name, pa.string()) if as_text else one
            for one, as_text in zip(schema, self._as_text, strict=True)
        ]
        self._schema = pa.schema(fields)
        self._writer = csv.CSVWriter(where, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if any(self._as_text):
            columns = [
                _texts(column) if as_text else column
                for column, as_text in zip(batch.columns, self._as_text, strict=True)
            ]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


def _lacks_words(kind: pa.DataType) -> bool:
    import pyarrow.types as t

    plain = (t.is_boolean, t.is_integer, t.is_floating, t.is_string, t.is_large_string, t.is_date)
    return not (any(one(kind) for one in plain) or t.is_timestamp(kind))


def _texts(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    from accelerator.common.arrow.python_values import rows_of
    from accelerator.common.display import text_value

    values = (row[0] for row in rows_of(pa.table([column], names=["v"])))
    return pa.array([None if one is None else text_value(one) for one in values], pa.string())
