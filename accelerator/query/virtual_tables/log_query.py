"""Queries of the log: in process where every part is proven for DuckDB, else over views in Spark.

Either way only the columns that a query uses are read, of the files that may have its times.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from msgspec import Struct
from sqlglot import exp

from accelerator.common.arrow.spark_types import arrow_type as arrow_type_of
from accelerator.common.arrow.spark_types import is_known
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.session_settings import refusal
from accelerator.errors import StatementError
from accelerator.planning.candidates.derived_tables import check_unsorted
from accelerator.planning.plans import LogPlan
from accelerator.planning.plans.log import ROWS_MAX, LogSelect, Mention
from accelerator.query.virtual_tables.files_views import needs_everything, replaced, start_of
from accelerator.query.virtual_tables.log_table import NAME, TYPES, is_log, mentions, written
from accelerator.query.virtual_tables.log_times import span_of, with_now
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.reader import LogRows, look_at
from accelerator.store.journals.query_log.record import COLUMNS
from accelerator.store.journals.query_log.time_span import ALL, Span
from accelerator.store.journals.query_log.visibility import whose
from cubes.degenerate.block_cube import itself
from cubes.may_raise import may_raise, unsafe
from cubes.sql.answer import RawSource, answer_sql
from rewrite.bind.join_rows import bind_above
from rewrite.bind.null_folding import check_folded
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.ir.block import Block, Occurrence
from rewrite.ir.expr import Call, Column, Expr, Literal, columns
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.reason import Declined, DeclinedError
from rewrite.render.expressions import quote
from rewrite.rules.derived_tables import DerivedTable, nested
from rewrite.types import is_numeric

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine

_STARTED = "started"
_HINT = "docs/reference/query-log.md says what is answered"


def plan_log(sql: str, settings: Mapping[str, str]) -> LogPlan:
    """The plan; DeclinedError where Spark is to answer, SqlglotError where it can't be parsed."""
    refused, zone = refusal(settings, sql), settings.get("time_zone")
    if refused is not None:
        raise DeclinedError(refused.code, refused.detail)
    tree = with_now(parse(sql), datetime.now(UTC), zone)
    return LogPlan(_Planning(zone, whose()).piece(tree))


class _Planning:
    """Of one query, whose SELECTs are pieces: each over the log, or over others."""

    def __init__(self, zone: str | None, user: str | None) -> None:
        self._zone, self._user = zone, user

    def piece(self, tree: exp.Expression) -> LogSelect:
        """The SELECT's; DeclinedError."""
        split = nested(tree)
        inner: dict[str, LogSelect] = {}
        outer, beside = tree, frozenset[str]()
        if split is not None:
            inner = {name: self.piece(one) for name, one in split.inner.items()}
            outer = split.outer
            for one in split.beside.values():
                if not is_log(one.parts, ()):
                    raise DeclinedError("log_alone")
            beside = frozenset(split.beside)
        block = bind_above(outer, _Tables(inner, beside), self._zone)
        _check_lists(block, inner)
        if split is not None and block.rows and block.limit is not None and not block.order:
            check_unsorted(split.inner.values())
        return self._over(block, outer, inner)

    def _over(
        self, block: Block, tree: exp.Expression, inner: Mapping[str, LogSelect]
    ) -> LogSelect:
        refused = unsafe(block.conditions)
        if refused is None and block.rows and may_raise(block.results, _divides_well):
            refused = Declined("may_raise")
        if refused is not None:
            raise DeclinedError(refused.code, refused.detail)
        check_folded(block.tested, ())
        for output in block.outputs:
            if output.name is None:
                raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
            if not is_known(output.expr.type):
                raise DeclinedError("expression_not_proven", f"The type {output.expr.type}.")
        fact = next(o.index for o in block.occurrences if o.index not in block.null_supplied)
        found = itself(block, fact)
        if isinstance(found, Declined):
            raise DeclinedError(found.code, found.detail)
        raw = RawSource(tuple(f"raw_{o.index}" for o in block.occurrences))
        text = answer_sql(block, found[1], "duckdb", (), raw)
        spans = self._spans(tree)
        every = block.occurrences
        inputs = (inner.get(o.table.name) or self._mention(block, o, spans) for o in every)
        outputs = tuple((o.name or "", _type_of(o.expr, block, inner)) for o in block.outputs)
        lists = tuple(
            (o.expr.occurrence, o.expr.name)
            if isinstance(o.expr, Column) and type_ in _LISTS
            else None
            for o, (_, type_) in zip(block.outputs, outputs, strict=True)
        )
        return LogSelect(text, tuple(inputs), outputs, lists)

    def _spans(self, tree: exp.Expression) -> Mapping[str, Span]:
        """The times that count of the tables in the SELECT's FROM, by their aliases."""
        nodes = [tree.args["from_"], *(tree.args.get("joins") or ())]
        tables = [one.this for one in nodes if isinstance(one.this, exp.Table)]
        return {one.alias_or_name.lower(): span_of(one, _STARTED, self._zone) for one in tables}

    def _mention(self, block: Block, of: Occurrence, spans: Mapping[str, Span]) -> Mention:
        every = (*block.conditions, *block.tested, *block.keys, *block.results)
        every += tuple(one for edge in block.left_edges for one in edge.on)
        used = {c for e in every for c in columns(e) if c.occurrence == of.index}
        names = [c.name for c in sorted(used, key=lambda one: one.field_id)]
        span = spans.get(of.alias.lower(), ALL)
        return Mention(tuple(names) or ("id",), span, self._user)


def run_log(plan: LogPlan, files: StoreFiles, engine: DuckDBEngine, tag: str) -> pa.Table:
    """The answer, with Spark's names and types; `plan` then tells what was read."""
    known: dict[int, pa.Table] = {}
    log = _rows(plan.piece.read(), files)
    plan.seen.append(log)

    def rows(one: LogSelect | Mention) -> pa.Table:
        if isinstance(one, Mention):
            return log.rows
        if id(one) not in known:
            known[id(one)] = answer(one)
        return known[id(one)]

    def answer(piece: LogSelect) -> pa.Table:
        read = [rows(one) for one in piece.inputs]
        tables = {f"raw_{at}": _with_places(one) for at, one in enumerate(read)}
        found = engine.run(piece.sql, tables, tag=tag)
        return _conformed(found, piece, read)

    return answer(plan.piece)


def _type_of(expr: Expr, block: Block, inner: Mapping[str, LogSelect]) -> str:
    """Spark's type: to the block an array is its place."""
    place = _list_of(expr, block, inner)
    return (expr.type or "") if place is None else place


def _list_of(expr: Expr, block: Block, inner: Mapping[str, LogSelect]) -> str | None:
    """The type of the array that the expression is; None of anything else."""
    if not isinstance(expr, Column):
        return None
    piece = inner.get(block.occurrences[expr.occurrence].table.name)
    type_ = TYPES[_NAMES[expr.field_id - 1]] if piece is None else piece.outputs[expr.field_id][1]
    return type_ if type_ in _LISTS else None


def _divides_well(call: Call) -> bool:
    """Whether it's a double divided by a constant other than 0, which raises for no value."""
    if call.op != "/" or call.type != "double":
        return False
    by = call.args[1]
    return isinstance(by, Literal) and is_numeric(by.type) and float(by.value) != 0


def _check_lists(block: Block, inner: Mapping[str, LogSelect]) -> None:
    """DeclinedError where an array is anything else than an output of rows."""
    shown = [one.expr for one in block.outputs]
    bare = [one for one in shown if not (block.rows and _list_of(one, block, inner))]
    others = (*block.conditions, *block.keys, *block.results[len(shown) :], *bare)
    for one in (column for expr in others for column in columns(expr)):
        if _list_of(one, block, inner) is not None:
            raise DeclinedError("expression_unsupported", f"The array {one.name}.")


def _with_places(rows: pa.Table) -> pa.Table:
    """The rows with their own places for arrays, of which DuckDB is told no more."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_list(field.type):
            places = pa.array(np.arange(rows.num_rows, dtype=np.int64))
            rows = rows.set_column(at, field.name, places)
    return rows


def _conformed(found: pa.Table, piece: LogSelect, read: Sequence[pa.Table]) -> pa.Table:
    """The answer in its own types, with arrays again where their places stand."""
    made: list[pa.ChunkedArray] = []
    for column, (_, type_), source in zip(found.columns, piece.outputs, piece.lists, strict=True):
        if source is None:
            made.append(column.cast(arrow_type_of(type_)))
        else:
            of, name = source
            made.append(read[of][name].take(column.cast(pa.int64())))
    return pa.table(made, names=[name for name, _ in piece.outputs])


class Viewed(Struct, frozen=True):
    """A query's text with a view in place of the log; `is_cut`: it has not all rows."""

    sql: str
    is_cut: bool


@contextmanager
def with_views(
    sql: str, engine: SparkEngine, files: StoreFiles, settings: Mapping[str, str]
) -> Iterator[Viewed]:
    """The query with a view in place of the log; it's gone when the context is left.

    StatementError where a state of the log is asked for, or the name isn't found; StoreError where
    the log can't be read.
    """
    name = f"acc_{uuid.uuid4().hex}"
    read, text = _viewed(sql, name, settings)
    found = _rows(read, files)
    frame = engine.session.createDataFrame(found.rows)
    frame.selectExpr(*_items(read.columns)).createOrReplaceTempView(name)
    try:
        yield Viewed(text, found.is_cut)
    finally:
        engine.session.catalog.dropTempView(name)


def _viewed(sql: str, view: str, settings: Mapping[str, str]) -> tuple[Mention, str]:
    """What of the log the query may use, and its text over the view.

    Where only Spark knows what the text means, by its grammar or by the session's settings, it may
    use all.
    """
    try:
        tree = parse(sql)
    except PARSER_FAILS:
        return Mention(tuple(TYPES), ALL, whose()), _with_view(sql, view)
    text, zone = sql, settings.get("time_zone")
    for table in sorted(mentions(tree), key=start_of, reverse=True):
        if table.args.get("version") is not None or table.args.get("when") is not None:
            raise StatementError("the query log has no earlier states", hint=_HINT)
        text = replaced(text, table, view)
    if refusal(settings, sql) is not None:
        return Mention(tuple(TYPES), ALL, whose()), text
    timed = with_now(tree, datetime.now(UTC), zone)
    span = reduce(Span.or_, (span_of(one, _STARTED, zone) for one in mentions(timed)))
    return Mention(_named(tree), span, whose()), text


def _with_view(sql: str, view: str) -> str:
    places = written(sql)
    if not places:
        raise StatementError("the query can't be read", hint=_HINT)
    for one in reversed(places):
        alias = f" AS {quote(NAME[-1], 'spark')}" if one.bare else ""
        sql = f"{sql[: one.start]}{view}{alias}{sql[one.end :]}"
    return sql


class _Tables(Facts):
    """The log under its own name and those `beside`, and the answers of `inner` SELECTs."""

    def __init__(self, inner: Mapping[str, LogSelect], beside: frozenset[str]) -> None:
        self._tables = dict.fromkeys(beside, _FACTS)
        for name, piece in inner.items():
            self._tables[name] = DerivedTable([(n, _seen(t)) for n, t in piece.outputs]).facts(name)

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        """See `Facts.table`; nothing here has states."""
        if at != At():
            return None
        return _FACTS if is_log(parts, ()) else self._tables.get(".".join(parts))


def _rows(read: Mention, files: StoreFiles) -> LogRows:
    return look_at(files, read.span, ROWS_MAX, read.columns, read.user)


def _named(tree: exp.Expression) -> tuple[str, ...]:
    """The columns that the query may use, one at least."""
    if needs_everything(tree):
        return tuple(TYPES)
    used = {one.name.lower() for one in tree.find_all(exp.Identifier)}
    # What the parser takes for something else than a name, as `user`, is in the tree by its word.
    used |= {str(one.this).lower() for one in tree.find_all(exp.Var)}
    return tuple(one for one in TYPES if one in used or one in _KEPT)


def _items(wanted: tuple[str, ...]) -> Iterator[str]:
    for name, type_ in TYPES.items():
        item = quote(name, "spark") if name in wanted else f"CAST(NULL AS {type_})"
        yield f"{item} AS {quote(name, 'spark')}"


_KEPT = frozenset({"id", "user", "catalog", "schema"})
"""Some of which are functions' names as well."""
_LISTS = frozenset(TYPES[one.name] for one in COLUMNS if one.kind in ("texts", "counts"))
_NAMES = tuple(TYPES)


def _seen(type_: str) -> str:
    """The type of which a column is to what binds queries: an array is its row's place."""
    return "bigint" if type_ in _LISTS else type_


_FACTS = TableFacts(
    NAME[-1],  # Spark sees a view of the bare name
    "",
    None,
    0,
    tuple(ColumnFacts(at, n, _seen(t), False) for at, (n, t) in enumerate(TYPES.items(), 1)),
)
