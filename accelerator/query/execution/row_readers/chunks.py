"""What the runs of a plan of rows have in common that give their rows piece by piece.

Of row groups the columns of the predicate are read first, then the others of the rows that pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from accelerator.common.arrow.spark_types import arrow_type, conform
from accelerator.engines.duckdb.engine import NO_MAX, DuckDBEngine
from accelerator.engines.duckdb.result_limit import HeldRound
from accelerator.engines.duckdb.table_scan import RowSpan, span_scan
from accelerator.iceberg.rows.position_deletes import Positions
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile, ReadCounter
from accelerator.planning.plans import RowsPlan
from accelerator.query.execution.row_readers.row_group_queue import (
    Group,
    GroupPosition,
    GroupQueue,
    Places,
)
from rewrite.ir.expr import Column
from rewrite.render.expressions import quote
from rewrite.render.row_block import where_sql


class Pieces(ABC):
    """One run of a plan; under `tag` the engine's work can be interrupted."""

    def __init__(self, plan: RowsPlan, engine: DuckDBEngine, tag: str = "") -> None:
        self.plan, self._tag = plan, tag
        self._block, self._engine = plan.block, engine
        self._round = HeldRound(engine.held, tag)
        self._reader = GroupReader(
            plan.pinned[0], plan.block.used, lambda: engine.check(tag), self._round.hold
        )
        self._kept = 0
        self._queue = GroupQueue(plan, self._reader)
        self._types = [o.expr.type or "" for o in plan.block.outputs]
        self._names = [n or "" for n in plan.names]
        self._found = GroupPosition(plan.block.sought)

    @property
    def counted(self) -> ReadCounter:
        """What was read so far."""
        return self._reader.counted

    @property
    def schema(self) -> pa.Schema:
        """Of every piece: Spark's names and types."""
        types = map(arrow_type, self._types)
        return pa.schema(list(map(pa.field, self._names, types)))

    def run(self) -> pa.Table:
        """All pieces as one table; MemoryExceededError where they're too large together."""
        pieces = [self.schema.empty_table()]
        for piece in self.pieces():
            self._kept += piece.nbytes
            pieces.append(piece)
        self._round.begin(self._kept)
        return pa.concat_tables(pieces)

    @abstractmethod
    def pieces(self) -> Iterator[pa.Table]:
        """The rows; closing the iterator ends the reading."""

    def _run(self, text: str, tables: dict[str, pa.Table]) -> pa.Table:
        hold = self._round.hold
        return self._engine.run(text, tables, tag=self._tag, bytes_max=NO_MAX, hold=hold)

    def _passing(self, groups: Sequence[Group], most: int | None = None) -> pa.Table:
        """All used columns of the groups' rows that pass; with `most` of the first of these."""
        used, sought = self._block.used, self._block.sought
        if len(groups) == 1:  # a row of it mostly passes, so that its other columns are wanted too
            groups[0].file.fetch(groups[0].number, used)

        def read(place: int) -> pa.Table:
            return self._found.read(groups[place], place, sought)

        candidates = pa.concat_tables(self._reader.map(read, range(len(groups))))
        rows = f"SELECT * FROM acc_rows{where_sql(self._block, 'duckdb')}"
        if most is not None:
            rows = f"SELECT * FROM ({rows} LIMIT {most}) passing"
        text = f"{rows} ORDER BY {quote(self._found.group, 'duckdb')}"
        if most is not None:
            text += f", {quote(self._found.number, 'duckdb')}"
        passed = self._run(text, {"acc_rows": candidates})
        others = [column for column in used if column not in sought]
        if not others:
            return passed
        places = passed.column(self._found.group).to_numpy()
        numbers = passed.column(self._found.number).to_numpy()

        def rest(place: int) -> pa.Table:
            wanted: Positions = numbers[places == place]
            return groups[place].file.rows(groups[place].number, others, wanted)

        found = self._reader.map(rest, np.unique(places).tolist())
        if not found:
            return _no_rows(used)
        more = pa.concat_tables(found)
        for column in sought:
            more = more.append_column(column.name, passed.column(column.name))
        return more

    def _scan(self, groups: Sequence[Group]) -> str | None:
        """Returns DuckDB's own scan of the groups, which counts as their reading.

        None if there is no predicate, or if Arrow has to read a file. DuckDB finds the rows that
        sidecars chose by the predicate, in half of the time that Arrow takes to decode them.
        """
        if not self._block.conjuncts:
            return None
        used = self._block.used
        names, spans = [column.name for column in used], row_spans(groups)
        scan = span_scan(self.plan.pinned[0], names, spans, self._engine, self._tag)
        if scan is not None:
            for group in groups:
                group.file.count(group.number, used)
        return scan

    def _conformed(self, rows: pa.Table) -> pa.Table:
        """Outputs `c0`, `c1`, … under their names, with Spark's types."""
        outputs = rows.select([f"c{i}" for i in range(len(self._types))])
        return conform(outputs, self._names, self._types)

    def _columns_alone(self) -> list[str] | None:
        """The columns that the outputs are; None where one is computed."""
        outputs = self._block.outputs
        names = [o.expr.name for o in outputs if isinstance(o.expr, Column)]
        return names if len(names) == len(outputs) else None


def row_spans(groups: Sequence[Group]) -> list[RowSpan]:
    """Returns the spans of rows that the row groups make, side by side ones together."""
    numbers: dict[OpenFile, list[int]] = {}  # one path may be two files, with other deletes
    for group in groups:
        numbers.setdefault(group.file, []).append(group.number)
    found = []
    for file, chosen in numbers.items():
        ends = np.cumsum([0, *file.groups]).tolist()
        chosen.sort()
        cuts = [n for n in range(1, len(chosen)) if chosen[n] != chosen[n - 1] + 1]
        for begin, end in pairwise([0, *cuts, len(chosen)]):
            first, last = chosen[begin], chosen[end - 1]
            is_whole = last - first + 1 == len(file.groups)
            found.append(RowSpan(file.file, ends[first], ends[last + 1], is_whole))
    return found


def as_outputs(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Those columns as outputs; one may stand there twice."""
    found = [rows.column(name) for name in columns]
    return pa.table(found, names=[f"c{i}" for i in range(len(found))])


def every_place(_place: Places) -> bool:
    """Of a reading that wants all rows, wherever they stand."""
    return True


def _no_rows(columns: Sequence[Column]) -> pa.Table:
    return pa.table({c.name: pa.array([], arrow_type(c.type or "")) for c in columns})
