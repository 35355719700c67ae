"""The plan of a statement that is answered from states: of segments, of manifests, of raw rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.metrics import Metrics
from accelerator.plans.funnel import Funnel
from accelerator.plans.node import Leaf, used_indexes
from accelerator.plans.tried import DuckDBRun, Tried
from accelerator.store.records import SegmentRecord
from cubes.definition import CubeDefinition
from cubes.freshness import Coverage
from cubes.plan import Match
from rewrite.block import Block
from rewrite.expr import CUBE, ZONE, Column, Expr, Literal, columns, walk
from rewrite.facts import TableFacts
from rewrite.reason import Declined
from rewrite.render import Renderer, quote

if TYPE_CHECKING:
    from accelerator.iceberg.row_groups import Counted
    from accelerator.indexing.probing import RowSelection, Skipped
    from accelerator.survey import Survey

_SHOWN = 500
"""Characters of a predicate that are shown."""


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

    def line(self) -> str:
        """For people."""
        return (
            f"  relate column {self.name}, by {' and '.join(self.dimensions)}"
            + (f", is {self.expression}" if self.expression else "")
            + (f"; {self.stale} data files may have changed keys" if self.stale else "")
        )


@dataclass(frozen=True)
class Manifests:
    """Data files that need not be read: `cells` are the states of those that `serve`, if any can.

    `skipped` says what of them indexes have told; `indexed` files serve by these alone, and their
    states are among the cells. `survey` is of the table's files. Of a join `own` is what holds
    of the fact alone, `selection` which of its rows may pass, and `relates` its relate columns.
    Tables that are `gone` aren't read, since these say all that is asked of them; where `exact`,
    just the rows of the selection may be read.
    """

    cells: pa.Table | None
    serve: int
    left_out: int
    skipped: tuple[Skipped, ...] = ()
    indexed: int = 0
    survey: Survey | None = None
    own: tuple[Expr, ...] | None = None
    selection: RowSelection | None = None
    relates: tuple[UsedRelate, ...] = ()
    gone: tuple[TableFacts, ...] = ()
    exact: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Data files that are answered by their manifests, and those that no row of passes."""
        return {
            "serve": self.serve,
            "left_out": self.left_out,
            "by_indexes": self.indexed,
            "indexes": [asdict(one) for one in self.skipped],
            "relate_columns": [asdict(one) for one in self.relates],
            "joins_left_out": [one.name for one in self.gone],
        }


@dataclass(frozen=True)
class Beside:
    """Files that a cube lacks, answered by manifests and indexes: their cells merge with its own.

    These are of `cube`, which answers by `match`, aligned with the statement's.
    """

    manifests: Manifests
    cube: CubeDefinition
    match: Match

    @property
    def files(self) -> int:
        """Data files of which no row is read."""
        return self.manifests.serve + self.manifests.indexed


@dataclass(frozen=True)
class CoverPlan(Leaf):
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
    beside: Beside | None = None

    @property
    def cube(self) -> str | None:
        """The cube's name."""
        return None if self.manifests is not None else self.title

    @property
    def is_joined(self) -> bool:
        """Whether it's a join of which what files are read was chosen by its predicates."""
        return self.manifests is not None and self.manifests.own is not None

    @property
    def chooses_files(self) -> bool:
        """Whether which files are read may depend on the statement's constants."""
        return bool(self.uncovered) or self.is_joined or self.beside is not None

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
        if self.beside is not None:
            spared += self.beside.files
        return spared + len(self.uncovered) + sum(len(s.files) for s in self.segments)

    @property
    def cells(self) -> tuple[pa.Table, CubeDefinition] | None:
        """Those of manifests and indexes, and the cube that they are of; None without any."""
        told = self.manifests if self.beside is None else self.beside.manifests
        if told is None or told.cells is None:
            return None
        return told.cells, self.definition if self.beside is None else self.beside.cube

    def _told(self) -> tuple[Manifests, ...]:
        """What manifests and indexes have said."""
        beside = None if self.beside is None else self.beside.manifests
        return tuple(one for one in (self.manifests, beside) if one is not None)

    def used(self) -> tuple[str, ...]:
        """See `Plan.used`."""
        return (self.title,)

    def cube_ids(self) -> tuple[str, ...]:
        """See `Leaf.cube_ids`."""
        return () if self.cube_id is None else (self.cube_id,)

    def segments_read(self) -> tuple[str, tuple[SegmentRecord, ...]]:
        """See `Leaf.segments_read`."""
        return self.definition.fact.uuid, self.segments

    def is_estimated(self, expr: Expr, /) -> bool:
        """See `Leaf.is_estimated`."""
        return not self.match.estimates.keys().isdisjoint(walk(expr))

    def asked(self) -> Iterator[tuple[str, int]]:
        """See `Leaf.asked`."""
        block, tables = self.block, self.definition.tables
        yield from ((tables[o].uuid, field) for o, field in self.definition.fields())
        own = (expr for told in self._told() for expr in told.own or ())
        for column in (c for expr in own for c in columns(expr)):
            yield self.pinned[self.match.fact].facts.uuid, column.field_id
        exprs = (*block.conditions, *block.keys, *block.results)
        for column in (c for expr in exprs for c in columns(expr)):
            yield block.occurrences[column.occurrence].table.uuid, column.field_id

    def reads_rows(self) -> bool:
        """See `Leaf.reads_rows`."""
        if self.uncovered:
            return True
        return self.manifests is None and not any(s.rows for s in self.segments)

    def funnel(self) -> Funnel | None:
        """See `Leaf.funnel`."""
        told = self.manifests
        if told is None or told.survey is None:
            return None
        steps = told.survey.left_out(self.pinned[self.match.fact])
        sizes = (self.raw_bytes, int(told.survey.sizes.sum()))
        return Funnel(self.files_total, *steps, told.skipped, None, None, sizes)

    def figures(self, counted: Counted | None = None, /) -> Metrics:
        """See `Plan.figures`."""
        filled = {s.path for s in self.segments if s.rows}
        return Metrics(
            rewritten=True,
            cubes=() if self.cube is None else (self.cube,),
            indexes=used_indexes([one for told in self._told() for one in told.skipped]),
            files_total=self.files_total,
            files_read=len(filled) + len(self.uncovered),
            row_groups_read=0 if counted is None else len(counted.groups),
            bytes_read=self.segment_bytes + (self.raw_bytes if counted is None else counted.bytes),
        )

    def lines(self) -> list[str]:
        """See `Plan.lines`."""
        lines = [f"{self.title if self.manifests else f'cube {self.cube}'}, by {self.engine}"]
        lines += self._sources()
        if self.coverage.left_out:
            lines.append(f"  {self.coverage.left_out} data files without a row that passes")
        if self.uncovered:
            count, size = len(self.uncovered), self.raw_bytes
            lines.append(f"  {count} data files raw ({size:,} bytes with dimensions)")
        delta = self._delta()
        if delta:
            lines.append(f"  joined to its cells: {', '.join(delta)}")
        held = self._conditions()
        if held:
            lines.append("  rests on: " + "; ".join(held))
        if self.manifests is None and self.match.where:
            lines.append("  of its cells those where " + " AND ".join(self._of_cells()))
        measures = dict.fromkeys(self.match.estimates.values())
        lines += [f"  {m.function}: an estimate ({m.estimate})" for m in measures]
        return lines + self.not_by_duckdb() + self.considered()

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        needs, found = self.match.needs, self.funnel()
        return {
            "rewritten": True,
            "cube": self.cube,
            "manifests": None if self.manifests is None else self.manifests.to_dict(),
            "funnel": None if found is None else asdict(found),
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "segments": len(self.segments),
            "beside": None if self.beside is None else self.beside.manifests.to_dict(),
            "files_covered": self._files_covered(),
            "files_left_out": self.coverage.left_out,
            "files_raw": len(self.uncovered),
            "bytes": {"segments": self.segment_bytes, "raw": self.raw_bytes},
            "conditions": {
                "joins_complete": sorted(needs.complete),
                "keys_unique": sorted(needs.unique),
                "dimensions_pinned": [v for v, _ in needs.named],
                "bounds_proven": [list(pair) for pair in needs.bounded],
                "proven": self._conditions(),
                "cells": self._of_cells() if self.manifests is None else [],
            },
            "delta": self._delta(),
            "approximate": [aggregate.function for aggregate in self.match.estimates],
            "duckdb_declined": self.declined_code(),
            "sql": self.duckdb.sql if self.duckdb else None,
            "considered": [one.to_dict() for one in self.tried],
        }

    def snapshots(self) -> dict[str, int | None]:
        """With those of tables that aren't read, since relate columns say what is asked."""
        gone = () if self.manifests is None else self.manifests.gone
        return super().snapshots() | {one.name: one.snapshot_id for one in gone}

    def _files_covered(self) -> int:
        beside = 0 if self.beside is None else self.beside.files
        return self.files_total - len(self.uncovered) - self.coverage.left_out - beside

    def _sources(self) -> list[str]:
        """The lines of what answers without rows."""
        found = self.manifests
        if found is None:
            covered = (
                f"  {self._files_covered()} of {self.files_total} data files by"
                f" {len(self.segments)} segments ({self.segment_bytes:,} bytes)"
            )
            return [covered] if self.beside is None else [covered, *_beside_lines(self.beside)]
        funnel = self.funnel()
        return [
            f"  {found.serve} of {self.files_total} data files by their manifests,"
            f" {found.left_out} without a row that passes",
            *([f"  {found.indexed} data files by their indexes alone"] if found.indexed else []),
            *(one.line() for one in found.relates),
            *(f"  {one.name} isn't read: relate columns say what's asked" for one in found.gone),
            *([] if funnel is None else funnel.lines()),
        ]

    def _delta(self) -> list[str]:
        """The tables whose rows are joined to cells."""
        return [self.block.occurrences[n].table.name for n in sorted(self.match.joined)]

    def _conditions(self) -> list[str]:
        """What was proven beside the match itself."""
        needs, tables, pinned = self.match.needs, self.definition.tables, self.pinned
        names = [o.table.name for o in self.block.occurrences]
        held = [f"{names[q]} at snapshot {pinned[q].facts.snapshot_id}" for _, q in needs.named]
        if needs.complete:
            found = ", ".join(tables[o].name for o in sorted(needs.complete))
            held.append(f"every row was counted to find its partner in {found}")
        if needs.unique:
            found = ", ".join(tables[o].name for o in sorted(needs.unique))
            held.append(f"keys were counted to stand once in {found}")
        if needs.bounded:
            held.append("sums derived within the files' proven bounds")
        if any(isinstance(node, Literal) and node.type == ZONE for node in self._nodes()):
            held.append("times truncated in UTC")
        return held

    def _nodes(self) -> Iterator[Expr]:
        dimensions = (d.expr for d in self.definition.dimensions)
        exprs = (*self.match.keys, *self.match.where, *dimensions)
        return (node for expr in exprs for node in walk(expr))

    def _of_cells(self) -> list[str]:
        """The predicates that cells are asked for, by the names of the cube's dimensions."""
        dimensions = self.definition.dimensions
        aliases = [o.alias for o in self.block.occurrences]

        def name(column: Column) -> str:
            if column.occurrence != CUBE:
                return f"{quote(aliases[column.occurrence], 'spark')}.{quote(column.name, 'spark')}"
            return quote(dimensions[column.field_id].name, "spark")

        render = Renderer("spark", name)
        return [_short(render.text(one)) for one in self.match.where]


def _beside_lines(beside: Beside) -> list[str]:
    told = beside.manifests
    lines = [f"  {told.serve} more by their manifests"] if told.serve else []
    lines += [f"  {told.indexed} more by their indexes alone"] if told.indexed else []
    return lines + [one.line() for one in told.relates]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
