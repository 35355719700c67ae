"""VERIFY: a query both ways, compared. Exact but for floating results, which law 1 lets differ.

Rows are compared as bags, since an ORDER BY rarely orders every row; those in an order of their own
plan under their sort keys, since rows that tie may stand for each other under a limit. Columns that
rest on a sketch are left out and named: two estimates of one value may differ, and both be right.
Where answers differ that aren't determined, there is no verdict. What makes an answer wrong is
switched off, if that can be told.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.common.records.as_dict import as_dict
from accelerator.common.statement_metrics import Metrics
from accelerator.errors import AcceleratorError, CancelledError, RefusedError
from accelerator.planning.plans import Doubt, Plan
from accelerator.planning.plans.explain_tree import counted
from accelerator.planning.tolerance import estimated, inexact
from accelerator.query.results.result import Result
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.nodes import Query, Verify
from accelerator.services.verification.quarantine import (
    Culprits,
    Wrong,
    culprits,
    switched_off,
    titled,
)
from rewrite.analysis.determinism import Uncut, is_cut, uncut, undetermined
from rewrite.client import SPARK
from rewrite.ir.row_block import RowBlock
from rewrite.parse.bounds import tree_of
from rewrite.parse.parse import parse
from rewrite.parse.to_spark_sql import spark_text
from rewrite.reason import DeclinedError
from rewrite.render.row_block import renderer

if TYPE_CHECKING:
    from accelerator.query.pipeline import Queries

_RELATIVE = 1e-9
_SHOWN = 5
_INNER_LIMIT = "A LIMIT inside chooses among rows."
_UNCUT_MAX = 1_000_000
"""Rows without a limit that are taken into memory to be compared."""


class Verification(Struct, frozen=True):
    """Whether both answers are equal; `differences` are sentences.

    `equal` is None where the answers differ and both may be right: `undecided` says why.
    `estimates` are the columns that weren't compared: estimates, made of other sketches than
    Spark's. `disabled` are the cubes and indexes that were switched off, by kind and name; where
    the answers differ and nothing was, `unattributed` says why.
    """

    equal: bool | None
    rewritten: bool
    rows: int
    differences: tuple[str, ...]
    accelerated_ms: float
    plain_ms: float
    fallback: str | None
    estimates: tuple[str, ...] = ()
    undecided: str | None = None
    disabled: tuple[str, ...] = ()
    unattributed: str | None = None

    def arrow(self) -> pa.Table:
        """One row."""
        return FORM_OF[Verify].table(self.row())

    def row(self) -> dict[str, object]:
        """Returns the row that VERIFY answers."""
        return as_dict(self) | {
            "differences": "; ".join(self.differences) or None,
            "estimates": ", ".join(self.estimates) or None,
            "disabled": ", ".join(self.disabled) or None,
        }


class _Both(Struct, frozen=True):
    """Both answers to a query; `sorted_by` of the last columns are the keys of a plan of rows."""

    sql: str
    plan: Plan
    accelerated: Result
    plain: pa.Table
    plain_ms: float
    settled: bool
    sorted_by: int = 0

    @property
    def sources(self) -> set[str]:
        """The names of the cubes and indexes that had a part in the answer."""
        metrics = self.accelerated.metrics
        return {*metrics.cubes, *metrics.indexes}


class _Judged(Struct, frozen=True):
    """What differs, and why that's no verdict; `wrong` are the answers in which it shows."""

    differences: Sequence[str]
    undecided: str | None = None
    wrong: tuple[Wrong, ...] = ()
    unattributed: str = ""


def verify(queries: Queries, sql: str) -> Verification:
    """Both answers to a query in Spark SQL, under one state of the tables.

    Taken again while a commit came between. What makes a wrong answer is switched off. Both answers
    are of one moment.
    """
    asked = queries.read(sql, SPARK)
    if isinstance(asked, Query) and asked.untimed is not None:
        sql = asked.bare
    both = _both(queries, sql)
    metrics, plain = both.accelerated.metrics, both.plain
    estimates = _estimates(both)
    judged = _judge(queries, sql, both, estimates)
    if judged.differences and both.settled and both.plan.inner_selects():
        judged = _judge_parts(queries, both.plan, judged)
    found = Culprits()
    if judged.differences and judged.undecided is None:
        found = _switched_off(queries, judged)
    return Verification(
        equal=None if judged.undecided is not None else not judged.differences,
        rewritten=metrics.rewritten,
        rows=plain.num_rows,
        differences=tuple(judged.differences),
        accelerated_ms=metrics.planning_ms + metrics.execution_ms,
        plain_ms=both.plain_ms,
        fallback=metrics.fallback,
        estimates=tuple(plain.column_names[i] for i in sorted(estimates.places)),
        undecided=judged.undecided,
        disabled=tuple(map(titled, found.found)),
        unattributed=None if found.found else found.unknown or None,
    )


def _estimates(both: _Both) -> Doubt:
    found = estimated(both.plan) if both.accelerated.metrics.rewritten else Doubt()
    if found.rows:  # which of Spark's outputs rest on them isn't known
        return replace(found, places=frozenset(range(both.plain.num_columns)))
    return found


def _switched_off(queries: Queries, judged: _Judged) -> Culprits:
    told = [culprits(queries, wrong) for wrong in judged.wrong]
    found = {one.id: one for some in told for one in some.found}
    unknown = next((some.unknown for some in told if some.unknown), judged.unattributed)
    both = Culprits(tuple(found.values()), unknown)
    return switched_off(queries.services, both, judged.differences[0])


def _judge_parts(queries: Queries, plan: Plan, whole: _Judged) -> _Judged:
    """By the SELECTs that are answered, each on its own: what stands above them is Spark's."""
    differences: list[str] = []
    wrong: list[Wrong] = []
    for select in dict.fromkeys(plan.inner_selects()):
        both = _both(queries, select)
        judged = _judge(queries, select, both, _estimates(both))
        if judged.differences and judged.undecided is None:
            differences += [f"{one} of {select}" for one in judged.differences]
            wrong += judged.wrong
    if differences:
        return _Judged(differences, wrong=tuple(wrong))
    return replace(whole, wrong=(), unattributed="Each SELECT that is answered is right by itself.")


def _both(queries: Queries, sql: str) -> _Both:
    for _attempt in range(5):
        before = _plan(queries, sql)
        asked, keys, block = sql, 0, before.sorted_rows()
        if block is not None:
            keyed = _with_sort_keys(sql, block)
            if _plan(queries, keyed).sorted_rows() is not None:
                asked, keys = keyed, len(block.order)
        accelerated = _answer(queries, asked)
        started = perf_counter()
        plain = queries.services.plain_table(asked)
        plain_ms = (perf_counter() - started) * 1000
        settled = _pins(_plan(queries, sql)) == _pins(before)
        if settled:
            break
    return _Both(asked, before, accelerated, plain, plain_ms, settled, keys)


def _plan(queries: Queries, sql: str) -> Plan:
    return queries.plan(queries.read(sql, SPARK))[0]


def _answer(queries: Queries, sql: str) -> Result:
    statement = queries.guarded(sql, None, SPARK)
    if isinstance(statement, Query):
        return queries.answer(statement)
    return queries.plain(sql, Metrics())


def _judge(queries: Queries, sql: str, both: _Both, estimates: Doubt) -> _Judged:
    """What differs between the answers; no verdict where either may be right."""
    mine, plain = both.accelerated.arrow(), both.plain
    if both.sorted_by:
        differences = differ_sorted(mine, plain, both.sorted_by)
    else:
        differences = differ(mine, plain, compared=_others(plain, estimates.places))
    if not differences:
        return _Judged(())
    if not both.accelerated.metrics.rewritten:
        return _Judged(differences, "Plain Spark has given both answers.")
    if not both.settled:
        return _Judged(differences, "The tables have changed meanwhile.")
    if estimates.rows:
        return _Judged(differences, "Estimates have a part in which rows there are.")
    try:
        tree = parse(sql)
        why = _open(both.plan, tree)
    except (DeclinedError, SqlglotError) as error:
        return _Judged(differences, f"The statement isn't understood: {error}".splitlines()[0])
    if why is not None:
        return _Judged(differences, why)
    if both.sorted_by or not is_cut(tree):
        return _judge_floats(both, differences, estimates)
    if mine.num_rows != plain.num_rows:
        return _Judged(differences, wrong=(_wrong(both, ()),))
    return _judge_uncut(queries, uncut(tree), both, differences)


def _others(table: pa.Table, places: frozenset[int]) -> list[int]:
    return [i for i in range(table.num_columns) if i not in places]


def _open(plan: Plan, tree: exp.Expression) -> str | None:
    """The sentence of what leaves the answer open, in the statement or in views that it names."""
    text = plan.outer_text()
    if text is not None:
        why = undetermined(parse(text), estimates=True) or undetermined(tree)
        of_views = any(is_cut(parse(select)) for select in plan.inner_selects())
        return why or (_INNER_LIMIT if of_views else None)
    return _INNER_LIMIT if plan.has_inner_limit() else undetermined(tree)


def _judge_floats(both: _Both, differences: Sequence[str], estimates: Doubt) -> _Judged:
    """No verdict where only floating sums differ, or these have decided which rows there are."""
    doubt, plain = inexact(both.plan), both.plain
    if doubt.rows:
        return _Judged(differences, "Floating sums have a part in which rows there are.")
    places = doubt.places
    if both.plan.inner_selects():
        types = enumerate(field.type for field in plain.schema)
        places = frozenset(i for i, type_ in types if pa.types.is_floating(type_))
    if both.sorted_by and places:
        return _Judged(differences, "Floating values differ, or rows that tie beside them.")
    compared = _others(plain, estimates.places | places)
    wrong = (_wrong(both, compared),)
    if not places:
        return _Judged(differences, wrong=wrong)
    exact = differ(both.accelerated.arrow(), plain, compared=compared)
    if not exact:
        return _Judged(differences, "Only floating values differ.")
    return _Judged(exact, wrong=wrong)


def _wrong(both: _Both, compared: Sequence[int]) -> Wrong:
    """The accelerated one of both answers, which differs in the columns that are compared."""
    mine, plain, pins = both.accelerated.arrow(), both.plain, set(_pins(both.plan))
    uuids = {uuid for uuid, _ in pins}

    def differs(other: pa.Table) -> bool:
        if both.sorted_by:
            return bool(differ_sorted(other, plain, both.sorted_by))
        return bool(differ(other, plain, compared=compared))

    def at() -> list[int]:
        return [i for i in compared if differ(mine, plain, compared=[i])]

    def same_state(plan: Plan) -> bool:
        return all(one in pins for one in _pins(plan) if one[0] in uuids)

    return Wrong(both.sql, both.plan, differs, at, same_state)


def _judge_uncut(queries: Queries, whole: Uncut, cut: _Both, differences: Sequence[str]) -> _Judged:
    """Of limited answers the rows may be others where these tie: all rows are compared instead."""
    try:
        if queries.services.spark_source.started:
            queries.services.engine.analysed(whole.sql)
        counted = queries.services.plain_table(f"SELECT count(*) AS n FROM ({whole.sql})")
        if counted.column("n")[0].as_py() > _UNCUT_MAX:
            return _Judged(differences, f"Without its LIMIT it has more than {_UNCUT_MAX:,} rows.")
        both = _both(queries, whole.sql)
    except CancelledError:
        raise
    except (AcceleratorError, RefusedError) as error:  # a guard's, or of what was only made here
        reason = f"{error.__cause__ or error}".partition("\n")[0]
        return _Judged(differences, f"Without its LIMIT it can't be compared: {reason}")
    if both.plan.has_inner_limit():  # a view's
        return _Judged(differences, _INNER_LIMIT)
    if not both.accelerated.metrics.rewritten or not cut.sources <= both.sources:
        return _Judged(differences, "Without its LIMIT it's answered in another way.")
    if not both.settled:
        return _Judged(differences, "The tables have changed meanwhile.")
    estimates = estimated(both.plan)
    compared = _others(both.plain, estimates.places)
    found = differ(both.accelerated.arrow(), both.plain, compared=compared)
    if found:
        return _judge_floats(both, found, estimates)
    found = _wrongly_cut(whole, cut, both)
    return _Judged(found, unattributed="Without its LIMIT the answer is right." if found else "")


def _wrongly_cut(whole: Uncut, cut: _Both, both: _Both) -> list[str]:
    """What of the limited answer can't be, where all rows are equal."""
    exact = _exact_places(cut, both.plan)
    if whole.keys and all(place in exact for place in whole.keys):
        keys = [place for place in whole.keys if place is not None]
        mine, theirs = (_rows(t, keys) for t in (cut.accelerated.arrow(), cut.plain))
        for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if repr(a) != repr(b):
                return [f"row {number} has the sort keys {a} for {b}"]
    known = Counter(map(repr, _rows(both.plain, exact)))
    strange = Counter(map(repr, _rows(cut.accelerated.arrow(), exact))) - known
    return [f"row {row} isn't one without the LIMIT" for row in [*strange][:_SHOWN]]


def _exact_places(cut: _Both, plan: Plan) -> list[int]:
    """The outputs that two right answers have exactly alike."""
    estimates, floats = estimated(plan), inexact(plan)
    if estimates.rows or floats.rows:
        return []
    doubt = estimates.places | floats.places
    fields = enumerate(cut.plain.schema)
    return [i for i, f in fields if i not in doubt and not pa.types.is_floating(f.type)]


def _pins(plan: Plan) -> list[tuple[str, int | None]]:
    return [(table.facts.uuid, table.facts.snapshot_id) for table in plan.tables()]


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
        found.append(f"{counted(accelerated.num_rows, 'row')} for {plain.num_rows}")
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
        tree.append("expressions", tree_of(item, "spark"))
    return spark_text(tree)


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
