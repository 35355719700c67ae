"""Plans as text and JSON: what is used, what it rests on, and why everything else is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.funnel import funnel
from accelerator.plan import (
    MANIFESTS,
    ComposedPlan,
    CoverPlan,
    FilesPlan,
    NestedPlan,
    PlainPlan,
    Plan,
    RowsPlan,
    Tried,
    decoding_of,
)
from rewrite.expr import CUBE, ZONE, Column, Expr, Literal, walk
from rewrite.render import Renderer, quote

if TYPE_CHECKING:
    from accelerator.iceberg.manifest_jobs import Decoding
    from rewrite.facts import TableFacts

WHY_NOT = pa.schema(
    [
        ("cube", pa.string()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("nearest", pa.bool_()),
        ("ddl", pa.string()),
    ]
)
_SHOWN = 500
"""Characters of a predicate that are shown."""
_OF_COVERAGE = frozenset(
    {"cover_unavailable", "files_changed", "schema_changed", "dimension_changed"}
)
"""What a build mends."""
_OF_DEFINITION = frozenset(
    {
        *("aggregate_not_in_cube", "column_not_in_cube", "cubes_none", "fact_not_in_query"),
        *("join_differs", "join_not_counted", "predicate_not_implied", "table_not_in_cube"),
    }
)
"""What another cube mends."""


def as_dict(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values; `rewritten` tells the two shapes apart."""
    tried = [_tried(t) for t in plan.tried]
    if isinstance(plan, PlainPlan):
        reason = {"code": plan.declined.code, "reason": plan.declined.sentence}
        return {"rewritten": False, "engine": "spark", **reason, "considered": tried}
    if isinstance(plan, FilesPlan):
        return {
            "rewritten": True,
            "engine": plan.engine,
            "snapshots": {p.facts.name: p.facts.snapshot_id for p in plan.pinned},
            "columns": _columns(plan),
            "sql": plan.sql,
            "considered": tried,
        }
    if isinstance(plan, RowsPlan):
        return {
            "rewritten": True,
            "engine": plan.engine,
            "snapshots": {p.facts.name: p.facts.snapshot_id for p in plan.pinned},
            "files_total": plan.files_total,
            "files_raw": len(plan.reading),
            "bytes": {"segments": 0, "raw": plan.reading.bytes},
            "indexes": [asdict(one) for one in plan.reading.skipped],
            "funnel": _funnel(plan),
            "duckdb_declined": _code(plan),
            "considered": tried,
        }
    if isinstance(plan, ComposedPlan):
        return {
            "rewritten": True,
            "engine": plan.engine,
            "snapshots": {p.facts.name: p.facts.snapshot_id for p in plan.pinned},
            "selects": [as_dict(one) for one in plan.parts],
            "by_groups": isinstance(plan, NestedPlan) and plan.by_groups,
            "sql": plan.duckdb.sql if isinstance(plan, NestedPlan) else "…".join(plan.pieces),
            "considered": tried,
        }
    needs = plan.match.needs
    return {
        "rewritten": True,
        "cube": plan.cube,
        "manifests": _manifests(plan),
        "funnel": _funnel(plan),
        "engine": plan.engine,
        "snapshots": {one.name: one.snapshot_id for one in _tables(plan)},
        "segments": len(plan.segments),
        "files_covered": plan.files_total - len(plan.uncovered) - plan.coverage.left_out,
        "files_left_out": plan.coverage.left_out,
        "files_raw": len(plan.uncovered),
        "bytes": {"segments": plan.segment_bytes, "raw": plan.raw_bytes},
        "conditions": {
            "joins_complete": sorted(needs.complete),
            "keys_unique": sorted(needs.unique),
            "dimensions_pinned": [v for v, _ in needs.named],
            "bounds_proven": [list(pair) for pair in needs.bounded],
            "proven": _conditions(plan),
            "cells": _of_cells(plan) if plan.manifests is None else [],
        },
        "delta": _delta(plan),
        "approximate": [aggregate.function for aggregate in plan.match.estimates],
        "duckdb_declined": _code(plan),
        "sql": plan.duckdb.sql if plan.duckdb else None,
        "considered": tried,
    }


def as_json(plan: Plan) -> str:
    """The plan as one JSON document."""
    return json.dumps(as_dict(plan), indent=2)


def as_text(plan: Plan) -> str:
    """The plan for people."""
    if isinstance(plan, PlainPlan):
        lines = [f"plain Spark, because: {plan.declined.sentence} [{plan.declined.code}]"]
    elif isinstance(plan, FilesPlan):
        made = ", ".join(_columns(plan))
        lines = [f"{MANIFESTS}, by {plan.engine}", f"  columns of the table of files: {made}"]
    elif isinstance(plan, ComposedPlan):
        return "\n".join(_composed_lines(plan))
    else:
        lines = _rows_lines(plan) if isinstance(plan, RowsPlan) else _cube_lines(plan)
    used = _used(plan)
    decoding = decoding_of(plan)
    if decoding is not None and decoding.manifests:
        lines.append(_decoding_line(decoding))
    others = [t for t in plan.tried if t.cube != used]
    if others:
        lines.append("considered:")
        lines += [f"  {_tried_line(t)}" for t in others]
    return "\n".join(lines)


def _composed_lines(plan: ComposedPlan) -> list[str]:
    parts, above = plan.parts, isinstance(plan, NestedPlan)
    rest = "what stands above them by duckdb" if above else "the rest by Spark, as it's written"
    count = "1 SELECT on its own" if len(parts) == 1 else f"{len(parts)} SELECTs, each on its own"
    if isinstance(plan, NestedPlan) and plan.by_groups:
        count = f"its aggregates in {len(parts)} parts, joined by the keys of groups"
    lines = [f"{count}; {rest}"]
    for number, part in enumerate(parts, start=1):
        first, *others = as_text(part).splitlines()
        lines += [f"{number}. {first}", *(f"   {line}" for line in others)]
    return lines


def why_not(plan: Plan, cube: Callable[[], str | None]) -> list[dict[str, Any]]:
    """A row per cube that isn't used, and per index that was switched off, one for the manifests.

    One without a cube holds for all.

    `nearest` is TRUE in the row of the one that came nearest to answering; `ddl` is what would make
    it answer: a build, or beside the nearest the CREATE CUBE that `cube` gives.
    """
    rows: list[dict[str, Any]] = []
    if isinstance(plan, PlainPlan) and not any(map(_is_cube, plan.tried)):
        rows.append({"cube": None, "code": plan.declined.code, "reason": plan.declined.sentence})
    used = [_used(part) for part in (plan.parts if isinstance(plan, ComposedPlan) else (plan,))]
    for tried in plan.tried:
        if tried.cube in used:
            continue
        if tried.declined is None:
            rows.append({"cube": tried.cube, "code": "dearer", "reason": _tried_line(tried)})
        else:
            declined = tried.declined
            rows.append({"cube": tried.cube, "code": declined.code, "reason": declined.sentence})
    for row in rows:
        own = row["cube"] not in (None, MANIFESTS)
        row["nearest"] = isinstance(plan, PlainPlan) and row["reason"] == plan.declined.sentence
        row["ddl"] = f"BUILD CUBE {row['cube']}" if own and row["code"] in _OF_COVERAGE else None
        if row["nearest"] and row["code"] in _OF_DEFINITION:
            row["ddl"] = cube()
    return rows


def _is_cube(tried: Tried) -> bool:
    switched_off = tried.declined is not None and tried.declined.code == "index_disabled"
    return tried.cube != MANIFESTS and not switched_off


def _used(plan: Plan) -> str | None:
    """The name of the candidate that answers."""
    if isinstance(plan, (RowsPlan, FilesPlan)):
        return MANIFESTS
    return plan.title if isinstance(plan, CoverPlan) else None


def _columns(plan: FilesPlan) -> list[str]:
    return [".".join(path) for path in plan.paths]


def _rows_lines(plan: RowsPlan) -> list[str]:
    found, total = len(plan.reading), plan.files_total
    lines = [
        f"{MANIFESTS}, by {plan.engine}",
        f"  {found} of {total} data files may hold one of the"
        f" {'first rows' if plan.block.limit is not None else 'rows'}"
        f" ({plan.reading.bytes:,} bytes)",
    ]
    lines += _funnel_lines(plan)
    if plan.engine == "duckdb" and plan.block.order:
        lines.append("  read in the order of their bounds, until no row left can come before")
    return lines + _not_by_duckdb(plan)


def _funnel_lines(plan: CoverPlan | RowsPlan) -> list[str]:
    found = funnel(plan)
    return [] if found is None else found.lines()


def _not_by_duckdb(plan: CoverPlan | RowsPlan) -> list[str]:
    declined = plan.duckdb_declined
    return [] if declined is None else [f"  not by DuckDB: {declined.sentence} [{declined.code}]"]


def _cube_lines(plan: CoverPlan) -> list[str]:
    covered = plan.files_total - len(plan.uncovered) - plan.coverage.left_out
    if plan.manifests is not None:
        found = plan.manifests
        lines = [
            f"{plan.title}, by {plan.engine}",
            f"  {found.serve} of {plan.files_total} data files by their manifests,"
            f" {found.left_out} without a row that passes",
            *([f"  {found.indexed} data files by their indexes alone"] if found.indexed else []),
            *(
                f"  relate column {one.name}, by {' and '.join(one.dimensions)}"
                + (f", is {one.expression}" if one.expression else "")
                + (f"; {one.stale} data files may have changed keys" if one.stale else "")
                for one in found.relates
            ),
            *(f"  {one.name} isn't read: relate columns say what's asked" for one in found.gone),
            *_funnel_lines(plan),
        ]
    else:
        lines = [
            f"cube {plan.cube}, by {plan.engine}",
            f"  {covered} of {plan.files_total} data files by {len(plan.segments)} segments"
            f" ({plan.segment_bytes:,} bytes)",
        ]
    if plan.coverage.left_out:
        lines.append(f"  {plan.coverage.left_out} data files without a row that passes")
    if plan.uncovered:
        lines.append(
            f"  {len(plan.uncovered)} data files raw ({plan.raw_bytes:,} bytes with dimensions)"
        )
    delta = _delta(plan)
    if delta:
        lines.append(f"  joined to its cells: {', '.join(delta)}")
    held = _conditions(plan)
    if held:
        lines.append("  rests on: " + "; ".join(held))
    if plan.manifests is None and plan.match.where:
        lines.append("  of its cells those where " + " AND ".join(_of_cells(plan)))
    measures = dict.fromkeys(plan.match.estimates.values())
    lines += [f"  {m.function}: an estimate ({m.estimate})" for m in measures]
    return lines + _not_by_duckdb(plan)


def _delta(plan: CoverPlan) -> list[str]:
    """The tables whose rows are joined to cells."""
    return [plan.block.occurrences[n].table.name for n in sorted(plan.match.joined)]


def _conditions(plan: CoverPlan) -> list[str]:
    """What was proven beside the match itself."""
    needs, tables = plan.match.needs, plan.definition.tables
    names = [o.table.name for o in plan.block.occurrences]
    held = [f"{names[q]} at snapshot {plan.pinned[q].facts.snapshot_id}" for _, q in needs.named]
    if needs.complete:
        found = ", ".join(tables[o].name for o in sorted(needs.complete))
        held.append(f"every row was counted to find its partner in {found}")
    if needs.unique:
        found = ", ".join(tables[o].name for o in sorted(needs.unique))
        held.append(f"keys were counted to stand once in {found}")
    if needs.bounded:
        held.append("sums derived within the files' proven bounds")
    if any(isinstance(node, Literal) and node.type == ZONE for node in _nodes(plan)):
        held.append("times truncated in UTC")
    return held


def _nodes(plan: CoverPlan) -> Iterator[Expr]:
    exprs = (*plan.match.keys, *plan.match.where, *(d.expr for d in plan.definition.dimensions))
    return (node for expr in exprs for node in walk(expr))


def _of_cells(plan: CoverPlan) -> list[str]:
    """The predicates that cells are asked for, by the names of the cube's dimensions."""
    dimensions = plan.definition.dimensions
    aliases = [o.alias for o in plan.block.occurrences]

    def name(column: Column) -> str:
        if column.occurrence != CUBE:
            return f"{quote(aliases[column.occurrence], 'spark')}.{quote(column.name, 'spark')}"
        return quote(dimensions[column.field_id].name, "spark")

    render = Renderer("spark", name)
    return [_short(render.text(one)) for one in plan.match.where]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _decoding_line(decoding: Decoding) -> str:
    """Where manifests were decoded, and why."""
    what = f"  {decoding.manifests} manifests ({decoding.bytes:,} bytes)"
    if decoding.by == "spark":
        return (
            f"{what} decoded by a Spark job of {decoding.tasks} tasks, which left"
            f" {decoding.left} of {decoding.entries} entries: {decoding.why}"
        )
    if decoding.failed is not None:
        return f"{what} decoded here, since the Spark job failed: {decoding.failed}"
    return f"{what} decoded here: {decoding.why}"


def _tried_line(tried: Tried) -> str:
    if tried.declined is None:
        return f"{tried.cube}: would read {tried.bytes:,} bytes, {tried.uncovered} files raw"
    return f"{tried.cube}: {tried.declined.sentence} [{tried.declined.code}]"


def _tried(tried: Tried) -> dict[str, Any]:
    declined = tried.declined
    return {
        "cube": tried.cube,
        "code": declined.code if declined else None,
        "reason": declined.sentence if declined else None,
        "bytes": tried.bytes,
        "segments": tried.segments,
        "files_raw": tried.uncovered,
        "segments_refused": dict(tried.refused),
        "decoding": None if tried.decoding is None else asdict(tried.decoding),
    }


def _tables(plan: CoverPlan) -> list[TableFacts]:
    """All tables on whose state the answer rests."""
    gone = () if plan.manifests is None else plan.manifests.gone
    return [*(p.facts for p in plan.pinned), *gone]


def _manifests(plan: CoverPlan) -> dict[str, Any] | None:
    """Data files that are answered by their manifests, and those that no row of passes."""
    found = plan.manifests
    if found is None:
        return None
    skipped = [asdict(one) for one in found.skipped]
    return {
        "serve": found.serve,
        "left_out": found.left_out,
        "by_indexes": found.indexed,
        "indexes": skipped,
        "relate_columns": [asdict(one) for one in found.relates],
        "joins_left_out": [one.name for one in found.gone],
    }


def _funnel(plan: CoverPlan | RowsPlan) -> dict[str, Any] | None:
    found = funnel(plan)
    return None if found is None else asdict(found)


def _code(plan: CoverPlan | RowsPlan) -> str | None:
    return plan.duckdb_declined.code if plan.duckdb_declined else None
