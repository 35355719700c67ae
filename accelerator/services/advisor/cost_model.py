"""What a cube would take, and what it would spare: bytes, build seconds, milliseconds. Pure.

A block's time with a cube is its time now, for each byte that it reads now, for the bytes that the
match reads of the cube. So the log has measured what machine, engine and statement have in them;
what it can't have is measured here, on the Star Schema Benchmark at scales 0.1 and 1, two cores.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2

from msgspec import Struct

from accelerator.common.arrow.spark_types import row_width
from accelerator.iceberg import PinnedTable
from accelerator.services.advisor.workload.queries import WorkloadQuery
from accelerator.services.advisor.workload.workload import Workload, median
from accelerator.store import SegmentRecord
from cubes.definition import CubeDefinition
from rewrite.ir.expr import columns

STATEMENT_MS = 1.0
"""What DuckDB takes for an answer from a cube however small."""
RAW_MS_PER_BYTE = 2.5e-6
"""Of files that are read raw, where the log has no run without a cube."""
SPARK_MS = 150.0
"""What stays of a statement that Spark finishes over others' answers."""
_BUILD_S, _READ_PER_S, _CELLS_PER_S = 0.3, 30e6, 400_000
"""Of a build: to begin with, bytes of the columns that are read, cells that are sorted, written."""
_STATE, _ROWS, _DIMENSION = 5.0, 0.5, 1.0
"""Bytes of a cell: of a state, of its count of rows, of a dimension where nothing more is known."""
_TEXT = 0.7
"""What compression leaves of a dictionary's texts."""
_RUN_BITS = 8.0
"""Of a run of equal values, beside the value itself."""
_NUMBER, _ITEMS = 8, 3
"""Bytes of a value that a sketch or a set keeps; how many of its size a sketch holds."""
_SETS = frozenset({"set", "bitmap"})
INDEX_MS = 3.0
"""What a statement takes that an index leaves nothing to read: planning and asking sidecars."""
_VALUES_PER_S = {
    "BLOOM": 30e6,
    "BITMAP": 5e6,
    "BOUNDS": 100e6,
    "RANGE": 5e6,
    "NGRAM_BLOOM": 2e6,
    "NGRAM_BITMAP": 1e6,
    "TOKEN_BLOOM": 1e6,
    "TOKEN_BITMAP": 2e5,
}
"""Values that a build takes in, by the index's kind."""
_SPARK_S, _REWRITTEN_PER_S = 10.0, 8e6
"""Of a rewrite in an order: to begin with, and bytes of data files."""


def cube_bytes(
    cube: CubeDefinition,
    cells: int,
    rows: int,
    values: Sequence[int],
    runs: Sequence[int],
    lengths: Sequence[float],
) -> int:
    """Of its segments once they're merged.

    `values` has how many each dimension has, `lengths` how many bytes each of these is where it's a
    text, which its dictionary holds once; `runs` how many combinations it has with those before
    it: cells are sorted by the dimensions in turn, so the first ones are runs.
    """
    many = max(cells, 1)
    each = 0.0
    for count, run in zip(values, runs, strict=True):
        bits = log2(max(count, 2))
        each += min(bits, min(run / many, 1.0) * (bits + _RUN_BITS)) / 8
    per_cell = rows / many
    for state in cube.states:
        each += _ROWS if state.kind == "rows" else _STATE
        if state.size:
            each += _NUMBER * min(per_cell, _ITEMS * state.size)
        elif state.kind in _SETS:
            each += _NUMBER * per_cell
    texts = sum(min(n, many) * long for n, long in zip(values, lengths, strict=True))
    return round(cells * each + _TEXT * texts)


def merged_bytes(segments: Sequence[SegmentRecord]) -> int:
    """Of a cube's segments, without those that were merged into others and are kept beside them."""
    merged = {number for one in segments for number in one.inputs}
    return sum(one.bytes for one in segments if one.id not in merged)


def read_share(cube: CubeDefinition, stored: Collection[str]) -> float:
    """Which part of the cube's bytes the columns of these names are."""
    states = {f"s{number}" for number in range(len(cube.states))}
    every = _STATE * len(cube.states) + _DIMENSION * len(cube.dimensions)
    read = sum(_STATE if name in states else _DIMENSION for name in stored)
    return min(1.0, read / every) if every else 1.0


def build_seconds(cube: CubeDefinition, cells: int, pinned: Sequence[PinnedTable]) -> float:
    """By the bytes of the columns that it's made of, of all of its tables, and its cells."""
    exprs = [*cube.conjuncts, *(d.expr for d in cube.dimensions)]
    exprs += [c for edge in cube.left_edges for c in edge.on]
    exprs += [e for s in cube.states for e in (s.argument, s.where) if e is not None]
    used = {c for expr in exprs for c in columns(expr)}
    read = 0.0
    for number, table in enumerate(pinned):
        own = row_width(c.type or "" for c in used if c.occurrence == number)
        every = row_width(column.type for column in table.facts.columns)
        read += table.size_bytes * min(1.0, own / max(every, 1))
    return _BUILD_S + read / _READ_PER_S + cells / _CELLS_PER_S


def index_seconds(kind: str, rows: float, column_bytes: float) -> float:
    """Of a build over so many rows, of which a column of so many bytes is read."""
    return _BUILD_S + column_bytes / _READ_PER_S + rows / _VALUES_PER_S[kind]


def order_seconds(table_bytes: float, *, is_used: bool) -> float:
    """Of a rewrite; `is_used`: cubes or indexes tell of its files, and are built anew."""
    again = table_bytes / _READ_PER_S if is_used else 0.0
    return _SPARK_S + table_bytes / _REWRITTEN_PER_S + again


class ReadRates(Struct, frozen=True):
    """What a byte takes that is read raw, as this workload has measured it."""

    raw_ms_per_byte: float

    @classmethod
    def of(cls, workload: Workload) -> ReadRates:
        """The median of the shapes that ran without a cube."""
        told = [
            (shape.raw_ms / shape.raw_bytes, shape.weight)
            for shape in workload.shapes
            if shape.raw_ms and shape.raw_bytes
        ]
        return cls(median(told) or RAW_MS_PER_BYTE)

    def now_ms(self, asked: WorkloadQuery) -> float:
        """What one run of the block takes without a cube."""
        told = asked.raw_ms
        return self.raw_ms_per_byte * asked.raw_bytes if told is None else told

    def spared_ms(self, asked: WorkloadQuery, read: float) -> float:
        """What a cube of which so many bytes are read spares one run; never less than nothing."""
        now = self.now_ms(asked) - (0.0 if asked.whole else SPARK_MS)
        then = STATEMENT_MS + now * read / max(asked.raw_bytes, 1)
        return max(0.0, now - then)

    def left_ms(self, asked: WorkloadQuery, share: float) -> float:
        """What one run is spared where this share of what it reads now is read."""
        now = self.now_ms(asked) - (0.0 if asked.whole else SPARK_MS)
        return max(0.0, now - INDEX_MS - now * share)


def per_day(ms: float, weight: float, days: float) -> float:
    """Of runs that weigh so much, which came in so many days."""
    return ms * weight / days
