"""Rows of Arrow as the protocol's `data`: JSON arrays of rows, in the forms that clients read.

Whole columns become texts, and texts are joined to rows, all by Arrow's own functions; few rows go
through Python, which is faster for them. Promise: both ways give the same bytes; numbers are those
of Arrow to the last digit, and what has no form is an `UnrepresentableError`, never another value.
Doubles always have a dot or an exponent, since Java's client takes no whole number for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from accelerator.errors import UnrepresentableError
from accelerator.gateway.trino.json import bulk, columns
from accelerator.gateway.trino.json.columns import Texts

_FEW = 48
"""Cells of so few rows are faster through Python."""
_BYTES_MAX = 2**27
"""Of values in memory that become one text: JSON of it stays below Arrow's two gibibytes."""
_CELL_BYTES = 12
"""Of JSON around and in a value whose width isn't its own."""


def encode(rows: pa.RecordBatch | pa.Table, *, parametric_datetime: bool = True) -> bytes:
    """The rows as a JSON array of arrays, in UTF-8.

    UnrepresentableError names the column with a value that the protocol has no form of.
    """
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    found: list[bytes | memoryview] = [b"["]
    for batch in batches:
        for piece in _bounded(batch, _BYTES_MAX):
            if piece.num_rows:
                found.extend((_encoded(piece, parametric_datetime), b","))
    return b"".join((*(found[:-1] if len(found) > 1 else found), b"]"))


def pages(batches: Iterable[pa.RecordBatch], target_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slices of the batches, in order, whose JSON has about `target_bytes` bytes at most.

    A row is never cut, so that a longer one is a page of its own. Batches without rows are left
    out. Nothing is copied.
    """
    for batch in batches:
        if batch.num_rows:
            yield from _bounded(batch, target_bytes)


def estimate(batch: pa.RecordBatch) -> int:
    """About how many bytes of JSON the rows come to."""
    cells = batch.num_rows * batch.num_columns
    return int(batch.nbytes) + int(cells) * _CELL_BYTES


def _bounded(batch: pa.RecordBatch, bytes_max: int) -> Iterator[pa.RecordBatch]:
    """Slices of about so many bytes; rows of much different widths are halved until they fit."""
    size = estimate(batch)
    if size <= bytes_max or batch.num_rows <= 1:
        yield batch
        return
    pieces = -(-size // max(1, bytes_max))
    rows = max(1, batch.num_rows // pieces)
    for start in range(0, batch.num_rows, rows):
        piece = batch.slice(start, rows)
        if piece.num_rows > 1 and estimate(piece) > bytes_max * 3 // 2:
            half = piece.num_rows // 2
            yield from _bounded(piece.slice(0, half), bytes_max)
            yield from _bounded(piece.slice(half), bytes_max)
        else:
            yield piece


def _encoded(batch: pa.RecordBatch, parametric: bool) -> bytes | memoryview:
    """The rows with commas between them; there is at least one."""
    if not batch.num_columns:
        return b",".join([b"[]"] * batch.num_rows)
    if batch.num_rows <= _FEW:
        return _by_python(batch, parametric)
    return _by_arrow(batch, parametric)


def _by_arrow(batch: pa.RecordBatch, parametric: bool) -> memoryview:
    with _naming_column(", ".join(batch.schema.names)[:80]):
        found_in_bulk = bulk.rows(batch, parametric)
    if found_in_bulk is not None:
        return found_in_bulk
    pieces: list[pa.Array | str] = []
    between = "["
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        with _naming_column(name):
            found = columns.json(column, parametric)
            pieces.extend((between + found.quote, found.array))
        between = found.quote + ","
    pieces.append(between[:-1] + "],")
    with _naming_column(", ".join(batch.schema.names)[:80]):
        rows = pc.binary_join_element_wise(*pieces, "")
    # The texts one behind the other, without the last comma: the array is new, thus no slice.
    return memoryview(rows.buffers()[2])[:-1]


def _by_python(batch: pa.RecordBatch, parametric: bool) -> bytes:
    cells = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        with _naming_column(name):
            cells.append(_cells(column, parametric))
    rows = zip(*cells, strict=True)
    return ",".join(["[" + ",".join(row) + "]" for row in rows]).encode()


def _cells(column: pa.Array, parametric: bool) -> list[str]:
    """The column's values as JSON."""
    kind = column.type
    if t.is_boolean(kind):
        return ["null" if v is None else "true" if v else "false" for v in column.to_pylist()]
    if t.is_signed_integer(kind):
        return ["null" if v is None else str(v) for v in column.to_pylist()]
    if t.is_string(kind) or t.is_large_string(kind):
        return [orjson.dumps(v).decode() for v in column.to_pylist()]
    if t.is_decimal128(kind):
        return ["null" if v is None else f'"{v:f}"' for v in column.to_pylist()]
    found: Texts = columns.json(column, parametric)
    return [f"{found.quote}{v}{found.quote}" for v in found.array.to_pylist()]


@contextmanager
def _naming_column(name: str) -> Iterator[None]:
    """UnrepresentableError with the column's name for what Arrow raises."""
    try:
        yield
    except UnrepresentableError as error:
        raise UnrepresentableError(
            f"the column {name}: {error.message}", hint=error.hint
        ) from error
    except UnicodeDecodeError as error:
        raise _unreadable(name) from error
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        if "UTF8" in str(error) or "UTF-8" in str(error):
            raise _unreadable(name) from error
        raise UnrepresentableError(
            f"the column {name} has a value that is too long, or has no form: {error}"
        ) from error


def _unreadable(name: str) -> UnrepresentableError:
    return UnrepresentableError(
        f"the column {name} has a text that isn't UTF-8", hint="CAST it AS BINARY"
    )
