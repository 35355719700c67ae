"""VERIFY: a query both ways, compared. Exact but for floating results, which law 1 lets differ.

Rows are compared as bags, since an ORDER BY rarely orders every row; those in an order of their own
plan under their sort keys, since rows that tie may stand for each other under a limit. Columns that
rest on a sketch are left out and named: two estimates of one value may differ, and both be right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import parse_one

from accelerator.plan import CoverPlan, NestedPlan, PartialPlan, Plan, RowsPlan
from rewrite.dialects import SPARK
from rewrite.expr import Expr, columns, walk
from rewrite.parse import parse
from rewrite.row_block import RowBlock
from rewrite.rows_sql import renderer

if TYPE_CHECKING:
    from accelerator.session import Accelerator

_RELATIVE = 1e-9
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether both answers are equal; `differences` are sentences.

    `estimates` are the columns that weren't compared: estimates, made of other sketches than
    Spark's.
    """

    equal: bool
    rewritten: bool
    rows: int
    differences: tuple[str, ...]
    accelerated_ms: float
    plain_ms: float
    fallback: str | None
    estimates: tuple[str, ...] = ()

    def arrow(self) -> pa.Table:
        """One row."""
        return pa.table(
            {
                "equal": [self.equal],
                "rewritten": [self.rewritten],
                "rows": [self.rows],
                "differences": pa.array(["; ".join(self.differences) or None], pa.string()),
                "accelerated_ms": [self.accelerated_ms],
                "plain_ms": [self.plain_ms],
                "fallback": pa.array([self.fallback], pa.string()),
                "estimates": pa.array([", ".join(self.estimates) or None], pa.string()),
            }
        )


def verify(session: Accelerator, sql: str) -> Verification:
    """Both answers to a query in Spark SQL, under one state of the tables.

    Taken again while a commit came between.
    """
    for _attempt in range(5):
        before = session.plan(sql, dialect=SPARK)[0]
        rows = before if isinstance(before, RowsPlan) and before.block.order else None
        asked = sql if rows is None else _with_sort_keys(sql, rows.block)
        accelerated = session.query(asked, dialect=SPARK)
        started = perf_counter()
        plain = session.plain_table(asked)
        plain_ms = (perf_counter() - started) * 1000
        if _pins(session.plan(sql, dialect=SPARK)[0]) == _pins(before):
            break
    metrics = accelerated.metrics
    estimates: tuple[int, ...] = ()
    if metrics.rewritten and isinstance(before, PartialPlan):
        if any(map(_estimates, before.parts)):  # which of Spark's outputs rest on them isn't known
            estimates = tuple(range(plain.num_columns))
    elif metrics.rewritten:
        estimates = _estimates(before)
    exact = [i for i in range(plain.num_columns) if i not in estimates]
    if rows is None:
        differences = differ(accelerated.arrow(), plain, compared=exact)
    else:
        differences = differ_sorted(accelerated.arrow(), plain, len(rows.block.order))
    return Verification(
        equal=not differences,
        rewritten=metrics.rewritten,
        rows=plain.num_rows,
        differences=tuple(differences),
        accelerated_ms=metrics.planning_ms + metrics.execution_ms,
        plain_ms=plain_ms,
        fallback=metrics.fallback,
        estimates=tuple(plain.column_names[i] for i in estimates),
    )


def _estimates(plan: Plan, known: dict[int, tuple[int, ...]] | None = None) -> tuple[int, ...]:
    """The places of the outputs that a sketch has a part in; `known` are those of inner plans."""
    known = {} if known is None else known
    if isinstance(plan, NestedPlan):
        return _nested_estimates(plan, known)
    if not isinstance(plan, CoverPlan):
        return ()
    estimated, outputs = plan.match.estimates, enumerate(plan.block.outputs)
    return tuple(i for i, o in outputs if not estimated.keys().isdisjoint(walk(o.expr)))


def _nested_estimates(plan: NestedPlan, known: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Those over an inner SELECT's; all where one of these groups or filters."""
    for one in plan.inputs:
        if id(one) not in known:
            known[id(one)] = _estimates(one, known)
    if plan.branches:  # rows that are compared go by all of their columns
        return tuple(range(len(plan.names))) if any(known[id(one)] for one in plan.inputs) else ()
    inner = {(o, place) for o, one in enumerate(plan.inputs) for place in known[id(one)]}

    def rests(expr: Expr) -> bool:
        return any((c.occurrence, c.field_id) in inner for c in columns(expr))

    block = plan.block
    above = (*block.conditions, *block.keys, *(() if block.having is None else (block.having,)))
    whole = any(map(rests, above))
    return tuple(i for i, o in enumerate(block.outputs) if whole or rests(o.expr))


def _pins(plan: Any) -> Any:
    return [(p.facts.uuid, p.facts.snapshot_id) for p in getattr(plan, "pinned", ())]


def differ(
    accelerated: pa.Table, plain: pa.Table, *, compared: Sequence[int] | None = None
) -> list[str]:
    """What differs between two answers; empty if they are equal under law 1.

    Names and types are those of all columns; the rows' values only those `compared`, by place.
    """
    found = []
    if accelerated.column_names != plain.column_names:
        found.append(f"column names {accelerated.column_names} for {plain.column_names}")
    mine, theirs = ([f.type for f in t.schema] for t in (accelerated, plain))
    if mine != theirs:
        found.append(f"types {[str(t) for t in mine]} for {[str(t) for t in theirs]}")
    if accelerated.num_rows != plain.num_rows:
        found.append(f"{accelerated.num_rows} rows for {plain.num_rows}")
    if found:
        return found
    places = range(plain.num_columns) if compared is None else compared
    return _rows_differ(_rows(accelerated, places), _rows(plain, places))


def differ_sorted(accelerated: pa.Table, plain: pa.Table, keys: int) -> list[str]:
    """What differs between the first rows of an order, whose last columns are the sort keys.

    Keys are compared row by row. Of rows that tie with the first or the last one either answer may
    have others, so these are left out of the comparison of rows.
    """
    places = range(plain.num_columns)
    found = differ(accelerated, plain, compared=())
    if found or not plain.num_rows:
        return found
    mine, theirs = ([_exact(r) for r in _rows(t, places)] for t in (accelerated, plain))
    for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if a[-keys:] != b[-keys:]:
            return [f"row {number} has the sort keys {a[-keys:]} for {b[-keys:]}"]
    ends = (theirs[0][-keys:], theirs[-1][-keys:])
    return _rows_differ(*([r for r in rows if r[-keys:] not in ends] for rows in (mine, theirs)))


def _exact(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """With NaNs that equal themselves."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row)


def _with_sort_keys(sql: str, block: RowBlock) -> str:
    """The statement with its sort keys as further columns."""
    tree = parse(sql)
    for number, key in enumerate(block.order):
        item = f"{renderer('spark').text(key.expr)} AS acc_key_{number}"
        tree.append("expressions", parse_one(item, read="spark"))
    return tree.sql(dialect=SPARK)


def _rows(table: pa.Table, places: Sequence[int]) -> list[tuple[Any, ...]]:
    columns = [_values(table.column(i)) for i in places]
    return list(zip(*columns, strict=True)) if columns else []


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values; times past Python's years as numbers."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
        values = column.cast(whole).to_pylist()
    return values


def _rows_differ(mine: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> list[str]:
    exact = [Counter(map(repr, rows)) for rows in (mine, theirs)]
    if exact[0] == exact[1]:
        return []
    pairs = zip(sorted(mine, key=_order), sorted(theirs, key=_order), strict=True)
    wrong = [(a, b) for a, b in pairs if not all(map(_close, a, b))]
    return [f"row {a} for {b}" for a, b in wrong[:_SHOWN]]


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Exact values first, floats rounded: two rows that are equal up to a last digit sort alike."""
    exact = tuple((v is not None, str(v)) for v in row if not isinstance(v, float))
    floats = tuple(
        (not math.isnan(v), float(f"{v:.6g}") if math.isfinite(v) else v)
        for v in row
        if isinstance(v, float)
    )
    return exact, floats


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=1e-12) or (
            math.isnan(a) and math.isnan(b)
        )
    return bool(a == b)
