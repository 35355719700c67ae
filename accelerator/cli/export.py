"""`accelerator export`: a query's rows into a file, batch by batch, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accelerator.cli.formats import ROWS, sink_of
from accelerator.errors import OutputError

if TYPE_CHECKING:
    from accelerator.query.results.batch_readers import BatchReader


def format_of(path: Path, named: str | None) -> str:
    """The format that is named, else the file's suffix; UsageError for a suffix that none has."""
    suffix = path.suffix.removeprefix(".").lower()
    if named is None and suffix not in ROWS:
        raise click.UsageError(
            f"the file's name must end in {', '.join(f'.{one}' for one in sorted(ROWS))},"
            " or --format name it"
        )
    return named or suffix


def export(reader: BatchReader, path: Path, name: str, tell: Callable[[int], None]) -> int:
    """The number of rows written in that format; `tell` is called with it as it grows.

    The file appears under its name when it's whole; what was there stays until then.
    """
    rows = 0
    path = path.resolve()  # a link stays one
    if path.exists() and not path.is_file():
        raise OutputError(
            f"{path} isn't a file that can be replaced",
            hint="accelerator sql --format writes to standard output",
        )
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        sink = sink_of(name, str(draft), reader.schema)
        try:
            for batch in reader:
                sink.write_batch(batch)
                rows += batch.num_rows
                tell(rows)
        finally:
            sink.close()
        draft.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path} can't be written: {error.strerror or error}",
            hint="name a folder that is there and may be written, with room enough",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return rows
