"""`accelerator export`: a query's rows into a file, batch by batch, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.cli.session import Batches


class Sink(Protocol):
    """A file of some format that is being written."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Appends the batch's rows."""
        ...

    def close(self) -> None:
        """Ends the file."""
        ...


def _parquet(path: str, schema: pa.Schema) -> Sink:
    from pyarrow import parquet

    writer: Sink = parquet.ParquetWriter(path, schema, compression="zstd")
    return writer


def _csv(path: str, schema: pa.Schema) -> Sink:
    from pyarrow import csv

    writer: Sink = csv.CSVWriter(path, schema)
    return writer


def _arrow(path: str, schema: pa.Schema) -> Sink:
    from pyarrow import ipc

    writer: Sink = ipc.new_file(path, schema)
    return writer


_FORMATS: dict[str, Callable[[str, pa.Schema], Sink]] = {
    ".arrow": _arrow,
    ".csv": _csv,
    ".parquet": _parquet,
}


def format_of(path: Path) -> str:
    """The file's suffix; UsageError for one that no format has."""
    if path.suffix not in _FORMATS:
        raise click.UsageError(f"the file's name must end in {', '.join(sorted(_FORMATS))}")
    return path.suffix


def export(reader: Batches, path: Path, tell: Callable[[int], None]) -> int:
    """The number of rows written; `tell` is called with it as it grows.

    The file appears under its name when it's whole; what was there stays until then.
    """
    rows = 0
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        sink = _FORMATS[path.suffix](str(draft), reader.schema)
        try:
            for batch in reader:
                sink.write_batch(batch)
                rows += batch.num_rows
                tell(rows)
        finally:
            sink.close()
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    return rows
