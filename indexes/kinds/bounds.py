"""BOUNDS: the least and the greatest value of a file, and how many are NULL or NaN.

For columns of which Iceberg keeps no bounds, or only the beginnings of texts: those behind the
first hundred, and those whose metrics are switched off. The planner takes them together with
Iceberg's own, so that they leave out files, answer min and max, and order files, as those do. A
light blob is a table of one row; those of many files are one behind the other:
docs/formats/bounds.md.

Texts and binary values longer than `LONGEST` are cut: a lower bound then only encloses, an upper
one isn't kept. Building holds the two values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indexes.domains import BYTES, FLOAT64, INT64, NotIndexableError, domain_of, is_nan, scale_of
from indexes.kind import Blob, IndexedColumn, OptionError, Options

TYPE = "acc-bounds-v1"
LONGEST = 1024
"""Bytes."""
_VALUES = {INT64: pa.int64(), FLOAT64: pa.float64(), BYTES: pa.binary()}


class Bounds:
    """The kind."""

    name = "BOUNDS"

    def options(self, type_: str, given: Options) -> Options:
        """None there are."""
        if domain_of(type_) is None:
            raise NotIndexableError(f"BOUNDS takes no column of the type {type_}")
        if given:
            raise OptionError(f"BOUNDS has no option {min(given)}; it has none")
        return {}

    def builder(self, column: IndexedColumn, options: Options) -> BoundsBuilder:
        """To find one file's bounds."""
        del options
        return BoundsBuilder(column)

    def asked(self, *_: object) -> None:
        """The planner compares bounds by itself."""

    def probe(self, *_: object) -> None:
        """It has no heavy blob."""


class BoundsBuilder:
    """Finds one file's bounds."""

    def __init__(self, column: IndexedColumn) -> None:
        self._column = column
        self._domain = domain_of(column.type) or ""
        self._ends = pa.array([], _VALUES[self._domain])
        self._nulls = self._nans = 0

    def add(self, values: pa.Array) -> None:
        """The values of the next rows, in their domain."""
        self._nulls += values.null_count
        if self._domain == FLOAT64:
            nan = is_nan(values)
            self._nans += int(pc.sum(nan).as_py() or 0)
            values = values.filter(pc.invert(nan))
        ends = pc.min_max(values)
        found = [ends[name].as_py() for name in ("min", "max")]
        both = [*self._ends.to_pylist(), *(value for value in found if value is not None)]
        if both:
            self._ends = pa.array([min(both), max(both)], _VALUES[self._domain])

    def finish(self) -> Sequence[Blob]:
        """One blob."""
        ends: list[Any] = self._ends.to_pylist() or [None, None]
        lower, upper = ends
        tight = True
        if self._domain == BYTES and lower is not None:
            texts = self._column.type != "string" or (_is_text(lower) and _is_text(upper))
            tight = len(upper) <= LONGEST and len(lower) <= LONGEST and texts
            lower, upper = lower[:LONGEST], upper if len(upper) <= LONGEST else None
        kind = _VALUES[self._domain]
        table = pa.table(
            {
                "lower": pa.array([lower], kind),
                "upper": pa.array([upper], kind),
                "nulls": pa.array([self._nulls], pa.int64()),
                "nans": pa.array([self._nans], pa.int64()),
                "tight": pa.array([tight], pa.bool_()),
            }
        )
        type_ = self._column.type
        said = {"domain": self._domain, "scale": str(scale_of(type_)), "type": type_}
        return [Blob(TYPE, _bytes(table), True, said)]


def gathered(blobs: Sequence[Blob]) -> bytes:
    """The bounds of many files in the bytes of one."""
    return _bytes(pa.concat_tables([read_bounds(blob.data) for blob in blobs]).combine_chunks())


def apart(table: pa.Table, said: Mapping[str, str]) -> list[Blob]:
    """The blobs of the files whose bounds were gathered; `said`: properties of all of them."""
    rows = (table.slice(row, 1).combine_chunks() for row in range(table.num_rows))
    return [Blob(TYPE, _bytes(row), True, said) for row in rows]


def read_bounds(data: bytes) -> pa.Table:
    """A row for each file. ValueError for what isn't such a table."""
    try:
        with pa.ipc.open_stream(data) as stream:
            _check_schema(stream.schema)
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"no bounds: {error}") from None
    for name in ("nulls", "nans", "tight"):
        counts = table.column(name)
        if counts.null_count or (name != "tight" and (counts.to_numpy() < 0).any()):
            raise ValueError("no bounds: a file whose NULLs or NaNs aren't counted")
    return table


def are_of(table: pa.Table, type_: str) -> bool:
    """Whether bounds that were read are values of the domain of that Spark type."""
    return bool(table.schema.field("lower").type == _VALUES.get(domain_of(type_) or ""))


def _check_schema(schema: pa.Schema) -> None:
    """ValueError for a table of other columns."""
    kind = schema.field(0).type if len(schema) else None
    wanted = {"lower": kind, "upper": kind, "nulls": pa.int64(), "nans": pa.int64()}
    wanted["tight"] = pa.bool_()
    if kind not in _VALUES.values() or [(f.name, f.type) for f in schema] != [*wanted.items()]:
        raise ValueError(f"no bounds: a table of {', '.join(schema.names)[:200]}")


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


BOUNDS = Bounds()
