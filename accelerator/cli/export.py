"""`accelerator export`: a query's rows into a file, batch by batch, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accelerator.cli.formats import ROWS, sink_of

if TYPE_CHECKING:
    from accelerator.cli.session import Batches


def format_of(path: Path, named: str | None) -> str:
    """The format that is named, else the file's suffix; UsageError for a suffix that none has."""
    suffix = path.suffix.removeprefix(".")
    if named is None and suffix not in ROWS:
        raise click.UsageError(
            f"the file's name must end in {', '.join(f'.{one}' for one in sorted(ROWS))},"
            " or --format name it"
        )
    return named or suffix


def export(reader: Batches, path: Path, name: str, tell: Callable[[int], None]) -> int:
    """The number of rows written in that format; `tell` is called with it as it grows.

    The file appears under its name when it's whole; what was there stays until then.
    """
    rows = 0
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
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    return rows
