"""The plan of a statement that is answered from states: of segments, of manifests, of raw rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelerator.common.records.as_dict import as_dict
from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.planning.plans.candidate import ALL_ROWS, MANIFESTS, Attempt, DuckDBRun
from accelerator.planning.plans.cover_value import (
    INDEX,
    MANIFEST,
    NOTHING,
    ROWS,
    SEGMENT,
    Cover,
    Passed,
)
from accelerator.planning.plans.explain_tree import ExplainStep, counted, short, size
from accelerator.planning.plans.plan import Leaf, outputs_of, used_indexes
from accelerator.store.records import SegmentRecord
from cubes.definition import CubeDefinition
from cubes.match_result import Match
from rewrite.ir.block import Block
from rewrite.ir.expr import CUBE, ZONE, Column, Expr, Literal, columns, walk
from rewrite.reason import Declined
from rewrite.render.readable import bare, dotted, words

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.planning.survey import Funnel


@dataclass(frozen=True, repr=False)
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
    tried: tuple[Attempt, ...]
    names: tuple[str | None, ...]
    reason: Declined | None = None

    def outputs(self) -> tuple[tuple[str, str], ...] | None:
        """See `Plan.outputs`."""
        return outputs_of(self.block, self.names)

    @property
    def cube(self) -> str | None:
        """The cube's name."""
        return None if self.cube_id is None else self.title

    @property
    def surveyed(self) -> PinnedTable:
        """See `Leaf.surveyed`."""
        return self.pinned[self.match.fact]

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

    def figures(self, counted: ReadCounter | None = None, /) -> Metrics:
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

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        cover, total = self.cover, self.files_total
        serve, out = cover.files(MANIFEST), cover.files(NOTHING)
        indexed, funnel = cover.files(INDEX), self.funnel()
        found = []
        if self.cube is not None:
            segments = counted(len(self.segments), "segment")
            note = (
                f"{self._files_covered():,} of {counted(total, 'file')} by {segments},"
                f" {size(cover.bytes(SEGMENT))}"
            )
            cells = () if not self.match.where else tuple(map(ExplainStep, self._of_cells()))
            joined = tuple(ExplainStep(f"joined to {name}") for name in self._delta())
            found.append(ExplainStep(f"cube {self.cube}", note, (*cells, *joined)))
        if serve or not (found or indexed or self.uncovered or out):
            found.append(
                ExplainStep(MANIFESTS, f"{serve:,} of {counted(total, 'file')} answered by it")
            )
        if indexed:
            found.append(ExplainStep("indexes alone", f"{indexed:,} of {counted(total, 'file')}"))
        found += self._rows(() if funnel is None else funnel.steps())
        if out and (funnel is None or not self.uncovered):
            note = f"{out:,} of {counted(total, 'file')}: no row of them passes"
            found.append(ExplainStep("left out", note))
        found += [one.step() for one in cover.relates]
        found += [
            ExplainStep(f"{one.name} isn't read", "relate columns say it") for one in cover.gone
        ]
        return tuple(found)

    def _rows(self, funnel: tuple[ExplainStep, ...]) -> list[ExplainStep]:
        """What is read of data files, of the fact and of the tables that are joined to it."""
        fact, occurrences = self.match.fact, self.block.occurrences
        found = []
        if self.uncovered or self.cube is None:
            others = [o for o in range(len(occurrences)) if o != fact]
        else:
            others = sorted(self.match.joined)
        if self.uncovered:
            number, total = len(self.uncovered), self.files_total
            every = "all rows" if self.title == ALL_ROWS else "rows"
            note = f"{number:,} of {counted(total, 'file')}, {size(self.cover.bytes(ROWS))}"
            below = (*self._asked_of(fact), *funnel)
            found.append(ExplainStep(f"{every} of {dotted(occurrences[fact].parts)}", note, below))
        gone = {one.uuid for one in self.cover.gone}
        for number in others:
            one, table = occurrences[number], self.pinned[number]
            if table.facts.uuid in gone:
                continue
            name, note = dotted(one.parts), size(table.size_bytes)
            found.append(ExplainStep(f"rows of {name}", note, self._asked_of(number)))
        return found

    def _asked_of(self, occurrence: int) -> tuple[ExplainStep, ...]:
        """The predicates on that table alone."""
        conjuncts = self.block.conjuncts
        own = (c for c in conjuncts if {k.occurrence for k in columns(c)} == {occurrence})
        return tuple(ExplainStep(short(words(c))) for c in own)

    def rests_on(self) -> list[str]:
        """See `Plan.rests_on`."""
        measures = dict.fromkeys(self.match.estimates.values())
        return self._conditions() + [
            f"{m.function} is an estimate ({m.estimate})" for m in measures
        ]

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        needs, found = self.match.needs, self.funnel()
        return {
            "rewritten": True,
            "cube": self.cube,
            "manifests": self.cover.to_dict() if self.title == MANIFESTS else None,
            "funnel": None if found is None else as_dict(found),
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

    def _delta(self) -> list[str]:
        """The tables whose rows are joined to cells."""
        return [self.block.occurrences[n].table.name for n in sorted(self.match.joined)]

    def _conditions(self) -> list[str]:
        """What was proven beside the match itself."""
        needs, tables, pinned = self.match.needs, self.definition.tables, self.pinned
        names = [o.table.name for o in self.block.occurrences]
        held = [_state(names[q], pinned[q].facts.snapshot_id) for _, q in needs.named]
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
        return list(dict.fromkeys(held))

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
                return dotted((aliases[column.occurrence], column.name))
            return bare(dimensions[column.field_id].name)

        return [short(words(one, name)) for one in self.match.where]


def _state(name: str, snapshot: int | None) -> str:
    return f"{name} without a snapshot" if snapshot is None else f"{name} at snapshot {snapshot}"
