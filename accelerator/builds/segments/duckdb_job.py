"""Small builds without a Spark session: a cube's cells from raw rows, by DuckDB.

Promises the segments that Spark would make: equal cells, in the same order, types and counters.
What isn't proven to be the same raises DeclinedError, and Spark makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from accelerator.engines.duckdb.engine import DuckDBEngine, text_literal
from accelerator.engines.duckdb.table_scan import FileNumberColumn, table_scan, with_scans
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.planning.sources.duckdb_text import check_columns, some_column
from cubes.definition import CubeDefinition, Edge
from cubes.may_raise import unsafe
from cubes.sql.build import OWN_SEGMENT, missing_select, sorted_cells, unique_select
from rewrite.ir.expr import Column, Expr, columns
from rewrite.reason import DeclinedError

_NAME = "raw_"


class InProcess:
    """Of one cube and its pinned tables. DeclinedError, on making it, where Spark builds it.

    What reads raises EngineError, CatalogError or OSError.
    """

    def __init__(
        self,
        cube: CubeDefinition,
        pinned: Sequence[PinnedTable],
        duckdb: DuckDBEngine,
        write_options: str,
    ) -> None:
        self._cube, self._pinned, self._duckdb = cube, pinned, duckdb
        self._options = write_options
        conditions = (*cube.conjuncts, *(c for edge in cube.left_edges for c in edge.on))
        refused = unsafe(conditions)
        if refused is not None:
            raise DeclinedError(refused.code, refused.detail)
        self._names = [f"{_NAME}{number}" for number in range(len(pinned))]
        self._cells = sorted_cells(cube, self._names)
        self._used = [sorted(_used(cube, o), key=lambda c: c.name) for o in range(len(pinned))]
        for table, used in zip(pinned, self._used, strict=True):
            check_columns(table, used)

    @property
    def size_bytes(self) -> int:
        """Of the joined tables, which are read for each job."""
        return sum(table.size_bytes for table in self._pinned[1:])

    def write(
        self, files: Sequence[LiveFile], segments: Mapping[str, int], path: str, tag: str
    ) -> None:
        """Writes the cells of these files, each as its own segment, into one local file."""
        scans, tables = self._sources(files, segments, tag)
        select = with_scans(scans, self._cells)
        copy = f"COPY ({select}) TO {text_literal(path)} {self._options}"
        self._duckdb.execute(copy, tables, tag=tag)

    def is_unique(self, edge: Edge, tag: str) -> bool:
        """Whether no two rows of the dimension have one key."""
        number = edge.occurrence
        names = [own.name for own, _ in edge.keys]
        scans, tables = self._source(number, names, self._pinned[number].live_files(), None, tag)
        text = unique_select(edge, self._names[number], "duckdb")
        (row,) = self._duckdb.run(with_scans(scans, text), tables, tag=tag).to_pylist()
        return bool(row["n"] == row["k"])

    def missing(
        self,
        edges: Sequence[Edge],
        files: Sequence[LiveFile],
        segments: Mapping[str, int],
        tag: str,
    ) -> dict[str, dict[int, int]]:
        """Per data file and edge: the rows without a partner."""
        scans, tables = self._sources(files, segments, tag)
        text = missing_select(self._cube, edges, self._names, "duckdb")
        rows = self._duckdb.run(with_scans(scans, text), tables, tag=tag).to_pylist()
        paths = {number: path for path, number in segments.items()}
        return {
            paths[row["file"]]: {e.occurrence: int(row[f"m{e.occurrence}"]) for e in edges}
            for row in rows
        }

    def _sources(
        self, files: Sequence[LiveFile], segments: Mapping[str, int], tag: str
    ) -> tuple[dict[str, str], dict[str, pa.Table]]:
        """Scans and Arrow tables by name: of the fact's files, and all of the other tables."""
        scans: dict[str, str] = {}
        tables: dict[str, pa.Table] = {}
        for number, pinned in enumerate(self._pinned):
            names = [column.name for column in self._used[number]]
            read = pinned.live_files() if number else files
            numbered = None if number else FileNumberColumn(OWN_SEGMENT, segments)
            found = self._source(number, names, read, numbered, tag)
            scans.update(found[0])
            tables.update(found[1])
        return scans, tables

    def _source(
        self,
        number: int,
        names: Sequence[str],
        files: Sequence[LiveFile],
        numbered: FileNumberColumn | None,
        tag: str,
    ) -> tuple[dict[str, str], dict[str, pa.Table]]:
        pinned, name = self._pinned[number], self._names[number]
        read = names or [some_column(pinned).name]
        scan = table_scan(pinned, read, files, name, self._duckdb, tag, numbered)
        return ({name: scan.text} if scan.text else {}), scan.tables


def _used(cube: CubeDefinition, occurrence: int) -> set[Column]:
    """The columns of a table that the cube is made of."""
    exprs: list[Expr] = [*cube.conjuncts, *(d.expr for d in cube.dimensions)]
    exprs += [c for edge in cube.left_edges for c in edge.on]
    exprs += [e for s in cube.states for e in (s.argument, s.where) if e is not None]
    return {c for expr in exprs for c in columns(expr) if c.occurrence == occurrence}
