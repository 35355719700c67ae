"""The plan of a statement that is answered from states: of segments, of manifests, of raw rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.metrics import Metrics
from accelerator.plans.node import Leaf, used_indexes
from accelerator.plans.share import INDEX, MANIFEST, NOTHING, SEGMENT, Cover, Passed
from accelerator.plans.tried import ALL_ROWS, MANIFESTS, DuckDBRun, Tried
from accelerator.store.records import SegmentRecord
from cubes.definition import CubeDefinition
from cubes.plan import Match
from rewrite.block import Block
from rewrite.expr import CUBE, ZONE, Column, Expr, Literal, columns, walk
from rewrite.reason import Declined
from rewrite.render import Renderer, quote

if TYPE_CHECKING:
    from accelerator.iceberg.row_groups import Counted
    from accelerator.survey import Funnel

_SHOWN = 500
"""Characters of a predicate that are shown."""


@dataclass(frozen=True)
class CoverPlan(Leaf):
    """A statement answered from states, of a cube's segments or of manifests, and raw rows.

    `title` is the cube's name, or what manifests or all rows are called; these have no `cube_id`.
    `reason` says of all rows why nothing spares some.
    """

    title: str
    cube_id: str | None
    block: Block
    cover: Cover
    pinned: tuple[PinnedTable, ...]
    duckdb: DuckDBRun | None
    duckdb_declined: Declined | None
    engine: str
    tried: tuple[Tried, ...]
    names: tuple[str | None, ...]
    reason: Declined | None = None

    @property
    def cube(self) -> str | None:
        """The cube's name."""
        return None if self.cube_id is None else self.title

    @property
    def match(self) -> Match:
        """How the cube answers the block."""
        return self.cover.match

    @property
    def definition(self) -> CubeDefinition:
        """The cube that answers; what manifests tell is one, and so is a block of raw rows."""
        return self.cover.cube

    @property
    def is_joined(self) -> bool:
        """Whether it's a join of which what files are read was chosen by its predicates."""
        return self.cover.own is not None

    @property
    def chooses_files(self) -> bool:
        """Whether which files are read may depend on the statement's constants."""
        return self.is_joined or self.cover.files(SEGMENT) < self.files_total

    @property
    def segments(self) -> tuple[SegmentRecord, ...]:
        """The chosen segments."""
        return self.cover.segments

    @property
    def uncovered(self) -> tuple[LiveFile, ...]:
        """The fact's files that are read raw."""
        return self.cover.uncovered

    @property
    def files_total(self) -> int:
        """Live data files of the fact."""
        return self.cover.files()

    def unaided(self) -> Declined | None:
        """See `Plan.unaided`."""
        return self.reason

    def used(self) -> tuple[str, ...]:
        """See `Plan.used`."""
        return (self.title,)

    def passed(self) -> tuple[tuple[str, Passed], ...]:
        """See `Plan.passed`."""
        names = {SEGMENT: self.title, MANIFEST: MANIFESTS, INDEX: "indexes"}
        return tuple((names[p.source], p) for p in self.cover.passed if self.uncovered)

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
        yield from ((tables[o].uuid, field) for o, field in self.cover.cube.fields())
        for column in (c for expr in self.cover.own or () for c in columns(expr)):
            yield self.pinned[self.match.fact].facts.uuid, column.field_id
        exprs = (*block.conditions, *block.keys, *block.results)
        for column in (c for expr in exprs for c in columns(expr)):
            yield block.occurrences[column.occurrence].table.uuid, column.field_id

    def reads_rows(self) -> bool:
        """See `Leaf.reads_rows`."""
        if self.uncovered:
            return True
        return self.cube_id is not None and not any(s.rows for s in self.segments)

    def funnel(self) -> Funnel | None:
        """See `Leaf.funnel`."""
        cover = self.cover
        if cover.survey is None:
            return None
        return cover.survey.funnel(self.pinned[cover.match.fact], cover.raw_bytes, cover.skipped)

    def figures(self, counted: Counted | None = None, /) -> Metrics:
        """See `Plan.figures`."""
        filled = {s.path for s in self.segments if s.rows}
        return Metrics(
            rewritten=True,
            cubes=() if self.cube is None else (self.cube,),
            indexes=used_indexes(self.cover.skipped),
            files_total=self.files_total,
            files_read=len(filled) + len(self.uncovered),
            row_groups_read=0 if counted is None else len(counted.groups),
            all_rows=None if self.reason is None else self.reason.line,
            bytes_read=self.cover.bytes(SEGMENT)
            + (self.cover.raw_bytes if counted is None else counted.bytes),
        )

    def lines(self) -> list[str]:
        """See `Plan.lines`."""
        title = self.title if self.cube is None else f"cube {self.cube}"
        lines = [f"{title}, by {self.engine}", *self._sources()]
        if self.uncovered:
            count, size = len(self.uncovered), self.cover.raw_bytes
            lines.append(f"  {count} data files raw ({size:,} bytes with dimensions)")
        delta = self._delta()
        if delta:
            lines.append(f"  joined to its cells: {', '.join(delta)}")
        held = self._conditions()
        if held:
            lines.append("  rests on: " + "; ".join(held))
        if self.cube is not None and self.match.where:
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
            "manifests": self.cover.to_dict() if self.title == MANIFESTS else None,
            "funnel": None if found is None else asdict(found),
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "segments": len(self.segments),
            "sources": self.cover.by_source(),
            "files_covered": self._files_covered(),
            "files_left_out": 0 if self.cube is None else self.cover.files(NOTHING),
            "files_raw": len(self.uncovered),
            "bytes": {"segments": self.cover.bytes(SEGMENT), "raw": self.cover.raw_bytes},
            "conditions": {
                "joins_complete": sorted(needs.complete),
                "keys_unique": sorted(needs.unique),
                "dimensions_pinned": [v for v, _ in needs.named],
                "bounds_proven": [list(pair) for pair in needs.bounded],
                "proven": self._conditions(),
                "cells": [] if self.cube is None else self._of_cells(),
            },
            "delta": self._delta(),
            "approximate": [aggregate.function for aggregate in self.match.estimates],
            "duckdb_declined": self.declined_code(),
            "sql": self.duckdb.sql if self.duckdb else None,
            "considered": [one.to_dict() for one in self.tried],
        }

    def snapshots(self) -> dict[str, int | None]:
        """With those of tables that aren't read, since relate columns say what is asked."""
        return super().snapshots() | {one.name: one.snapshot_id for one in self.cover.gone}

    def _files_covered(self) -> int:
        """By a cube's segments, or else by manifests and indexes, and those that need nothing."""
        if self.cube is not None:
            return self.cover.files(SEGMENT)
        return self.files_total - len(self.uncovered)

    def _sources(self) -> list[str]:
        """The lines of what answers without rows."""
        cover, total = self.cover, self.files_total
        serve, left_out = cover.files(MANIFEST), cover.files(NOTHING)
        indexed = cover.files(INDEX)
        by_indexes = [f"  {indexed} data files by their indexes alone"] if indexed else []
        if self.cube is not None:
            covered = (
                f"  {self._files_covered()} of {total} data files by"
                f" {len(self.segments)} segments ({cover.bytes(SEGMENT):,} bytes)"
            )
            by_manifests = [f"  {serve} data files by their manifests"] if serve else []
            out = [f"  {left_out} data files without a row that passes"] if left_out else []
            relates = (one.line() for one in cover.relates)
            return [covered, *by_manifests, *by_indexes, *relates, *out]
        if self.title == ALL_ROWS:
            return [one.line() for one in cover.relates]
        funnel = self.funnel()
        return [
            f"  {serve} of {total} data files by their manifests,"
            f" {left_out} without a row that passes",
            *by_indexes,
            *(one.line() for one in cover.relates),
            *(f"  {one.name} isn't read: relate columns say what's asked" for one in cover.gone),
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


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
