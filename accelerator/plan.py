"""Plans: how one statement is answered under its pins. Plain values, kept in the plan cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from accelerator.engines.hot_segments import Copy
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.store.records import SegmentRecord
from cubes.definition import CubeDefinition
from cubes.freshness import Coverage
from cubes.plan import Match
from rewrite.block import Block
from rewrite.expr import Expr
from rewrite.facts import TableFacts
from rewrite.reason import Declined
from rewrite.row_block import RowBlock

if TYPE_CHECKING:
    from accelerator.iceberg.file_metadata import FileTable
    from accelerator.iceberg.manifest_jobs import Decoding
    from accelerator.iceberg.statistics import FileStatistics
    from accelerator.indexing.probing import RowSelection, Skipped
    from accelerator.rows.reading import Reading

MANIFESTS = "table metadata"
"""What they are called where cubes have their names."""

CELLS = "manifest_cells"
"""The name under which a plan's text reads the cells of manifests."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One candidate of the search: a cube, and its cost in bytes or why it isn't used.

    `decoding` says where manifests were decoded, where these were tried.
    """

    cube: str
    declined: Declined | None
    bytes: int = 0
    segments: int = 0
    uncovered: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    decoding: Decoding | None = None


@dataclass(frozen=True, slots=True)
class DuckDBRun:
    """SQL for DuckDB; `raw` names the Arrow tables that it reads beside segment files.

    `scan` is the part of it that reads segment files; a table of `copy` may stand in its place.
    """

    sql: str
    raw: tuple[tuple[str, int], ...] = ()
    scan: str = ""
    copy: Copy | None = None


@dataclass(frozen=True, slots=True)
class UsedRelate:
    """A relate column that a statement's predicates went through, and its dimensions.

    `stale` files have keys that changed in these since an index was built, or may have.
    `expression` is what it's an expression of, as SQL.
    """

    name: str
    dimensions: tuple[str, ...]
    stale: int
    expression: str = ""


@dataclass(frozen=True)
class Manifests:
    """Data files that need not be read: `cells` are the states of those that `serve`, if any can.

    `skipped` says what of them indexes have told; `indexed` files serve by these alone, and their
    states are among the cells. `statistics` are of the table's files. Of a join `own` is what holds
    of the fact alone, `selection` which of its rows may pass, and `relates` its relate columns.
    Tables that are `gone` aren't read, since these say all that is asked of them; where `exact`,
    just the rows of the selection may be read.
    """

    cells: pa.Table | None
    serve: int
    left_out: int
    skipped: tuple[Skipped, ...] = ()
    indexed: int = 0
    statistics: FileStatistics | None = None
    own: tuple[Expr, ...] | None = None
    selection: RowSelection | None = None
    relates: tuple[UsedRelate, ...] = ()
    gone: tuple[TableFacts, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class CoverPlan:
    """A statement answered from states, of a cube's segments or of manifests, and raw rows.

    `title` is the cube's name, or what manifests are called; these have no `cube_id`.
    """

    title: str
    cube_id: str | None
    definition: CubeDefinition
    block: Block
    match: Match
    coverage: Coverage
    pinned: tuple[PinnedTable, ...]
    duckdb: DuckDBRun | None
    duckdb_declined: Declined | None
    engine: str
    segment_bytes: int
    raw_bytes: int
    tried: tuple[Tried, ...]
    names: tuple[str | None, ...]
    manifests: Manifests | None = None

    @property
    def cube(self) -> str | None:
        """The cube's name."""
        return None if self.manifests is not None else self.title

    @property
    def is_joined(self) -> bool:
        """Whether it's a join of which what files are read was chosen by its predicates."""
        return self.manifests is not None and self.manifests.own is not None

    @property
    def segments(self) -> tuple[SegmentRecord, ...]:
        """The chosen segments."""
        return self.coverage.segments

    @property
    def uncovered(self) -> tuple[LiveFile, ...]:
        """The fact's files that are read raw."""
        return self.coverage.uncovered

    @property
    def files_total(self) -> int:
        """Live data files of the fact."""
        spared = self.coverage.left_out
        if self.manifests is not None:
            told = self.manifests
            spared += told.serve + told.left_out + told.indexed
        return spared + len(self.uncovered) + sum(len(s.files) for s in self.segments)


@dataclass(frozen=True)
class RowsPlan:
    """The first rows of a table in an order, read from the files that may hold them.

    `pinned` is the one table.
    """

    block: RowBlock
    pinned: tuple[PinnedTable, ...]
    reading: Reading
    duckdb_declined: Declined | None
    engine: str
    tried: tuple[Tried, ...]
    names: tuple[str | None, ...]

    @property
    def files_total(self) -> int:
        """Live data files of the table."""
        return len(self.reading.statistics) + self.reading.statistics.left_out


@dataclass(frozen=True, slots=True)
class FilesPlan:
    """A query of the table of a table's files, which DuckDB answers by `sql` over some columns.

    `pinned` is the one table whose files they are; `paths` name the columns that are made.
    """

    pinned: tuple[PinnedTable, ...]
    table: FileTable
    paths: tuple[tuple[str, ...], ...]
    sql: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    engine: str = "duckdb"
    tried: tuple[Tried, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ComposedPlan:
    """A statement over the answers of SELECTs in it: its `inputs`, of which one may stand twice."""

    inputs: tuple[CoverPlan | RowsPlan | NestedPlan, ...]
    tried: tuple[Tried, ...] = ()

    @cached_property
    def pinned(self) -> tuple[PinnedTable, ...]:
        """The tables of all its SELECTs, each state once."""
        tables = (table for one in self.parts for table in one.pinned)
        return tuple({(t.facts.uuid, t.facts.snapshot_id): t for t in tables}.values())

    @cached_property
    def parts(self) -> tuple[CoverPlan | RowsPlan, ...]:
        """The plans that read tables, each once; kept, since a chain reads each input twice."""
        found: dict[int, CoverPlan | RowsPlan] = {}
        for one in self.inputs:
            for part in one.parts if isinstance(one, NestedPlan) else (one,):
                found[id(part)] = part
        return tuple(found.values())


@dataclass(frozen=True, kw_only=True)
class NestedPlan(ComposedPlan):
    """A SELECT over the answers of others, which are in the order of its occurrences.

    `duckdb` reads their answers; `block` is over their columns. `by_groups`: they are the groups of
    one SELECT, each with some of its aggregates. `branches`: they are those of a set operation, and
    its rows the block's one occurrence.
    """

    block: Block
    duckdb: DuckDBRun
    names: tuple[str, ...]
    engine: str = "duckdb"
    by_groups: bool = False
    branches: bool = False


@dataclass(frozen=True, kw_only=True)
class PartialPlan(ComposedPlan):
    """A statement that Spark answers over the answers of SELECTs in it.

    `pieces` of its text stand around these `selects`; the rest is as it was written.
    """

    pieces: tuple[str, ...]
    selects: tuple[str, ...]
    engine: str = "spark"


@dataclass(frozen=True, slots=True)
class PlainPlan:
    """A statement that goes to Spark as it is, and why."""

    declined: Declined
    tried: tuple[Tried, ...] = field(default=())


Input = CoverPlan | RowsPlan | NestedPlan
"""What a plan may read the answers of."""
Plan = CoverPlan | RowsPlan | FilesPlan | NestedPlan | PartialPlan | PlainPlan


def decoding_of(plan: Plan) -> Decoding | None:
    """Where the manifests were decoded for the plan; None where none were tried."""
    return next((one.decoding for one in plan.tried if one.decoding is not None), None)
