"""Appends what a client has sent to a table: one file of Arrow's stream format, one snapshot.

Memory is bounded by a portion of rows, however long the file is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from accelerator.iceberg.writes.append import AppendOutcome, appending, portions
from accelerator.services.ingest.arrow_stream import ArrowBatches
from accelerator.services.ingest.conform import Conform

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.iceberg import Lake

_PIECE_ROWS, _PIECE_BYTES = 131_072, 16 * 1024**2
"""No more is cast at a time: casts, and columns that weren't sent, need memory of their own."""
PORTION_BYTES = 128 * 1024**2
"""Rows of about so many bytes, in memory, are written at a time."""


def append(
    lake: Lake,
    parts: tuple[str, ...],
    file: Path,
    key: str,
    digest: str,
    *,
    user: str = "",
    check: Callable[[], None] = lambda: None,
    portion_bytes: int = PORTION_BYTES,
) -> AppendOutcome:
    """Appends the rows of the file to the table of that full name, once for the user's key.

    `digest` stands for the file's bytes. `check` raises where it's to stop, and is asked between
    portions and before the commit.

    Raises:
        UnknownTableError: there is no such table.
        IngestError: the file isn't a whole stream that is read here.
        IngestSchemaError: a column doesn't fit the table's.
        AppendKeyError, AppendConflictError, AppendUnsupportedError, AppendUnknownError
        CatalogError: the catalog, or the warehouse, can't be read or written.
    """
    with ArrowBatches(file) as stream:
        begun = appending(lake, parts, key, digest, user)
        known = begun.done()
        if known is not None:
            return known
        conform = Conform(stream.schema, begun.schema())

        def conformed() -> Iterator[pa.RecordBatch]:
            for batch in stream.batches():
                for piece in _cut(batch):
                    check()
                    yield conform.batch(piece)

        try:
            for portion in portions(conformed(), portion_bytes):
                begun.write(portion)
            check()
            return begun.commit()
        except BaseException:
            begun.discard()
            raise


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces, in order; a client's own batches may be of any length."""
    rows = batch.num_rows
    step = max(1, min(_PIECE_ROWS, rows * _PIECE_BYTES // max(1, batch.nbytes)))
    for begin in range(0, rows, step):
        yield batch.slice(begin, step)
