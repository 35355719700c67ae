"""A query of the log, in process: SELECTs over it, and over others, proven for DuckDB.

Only the columns that a query uses are read, of the files that may have its times. What isn't proven
to mean the same is left to Spark with the reason (`spark_views.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlglot import exp

from accelerator.engines.session_settings import refusal
from accelerator.planning.candidates.derived_tables import check_unsorted
from accelerator.planning.plans import VirtualPlan
from accelerator.planning.plans.virtual import Mention, VirtualSelect, VirtualTable
from accelerator.query.virtual_tables.answer import duckdb_text
from accelerator.query.virtual_tables.log_table import NAME, STARTED, TYPES, is_log
from accelerator.query.virtual_tables.log_times import span_of, with_now
from accelerator.store.journals.query_log.record import COLUMNS
from accelerator.store.journals.query_log.time_span import ALL, Span
from rewrite.bind.join_rows import bind_above
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.ir.block import Block, Occurrence
from rewrite.ir.expr import Column, Expr, columns
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import DerivedTable, nested


def plan_log(sql: str, log: VirtualTable, settings: Mapping[str, str]) -> VirtualPlan:
    """The plan; DeclinedError where Spark is to answer, SqlglotError where it can't be parsed."""
    refused, zone = refusal(settings, sql), settings.get("time_zone")
    if refused is not None:
        raise DeclinedError(refused.code, refused.detail)
    tree = with_now(parse(sql), datetime.now(UTC), zone)
    return VirtualPlan(_Planning(zone, log).piece(tree))


class _Planning:
    """Of one query, whose SELECTs are pieces: each over the log, or over others."""

    def __init__(self, zone: str | None, log: VirtualTable) -> None:
        self._zone, self._log = zone, log

    def piece(self, tree: exp.Expression) -> VirtualSelect:
        """The SELECT's; DeclinedError."""
        split = nested(tree)
        inner: dict[str, VirtualSelect] = {}
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
        self, block: Block, tree: exp.Expression, inner: Mapping[str, VirtualSelect]
    ) -> VirtualSelect:
        if any(output.name is None for output in block.outputs):
            raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
        text, spans = duckdb_text(block), self._spans(tree)
        every = block.occurrences
        inputs = (inner.get(o.table.name) or self._mention(block, o, spans) for o in every)
        outputs = tuple((o.name or "", _type_of(o.expr, block, inner)) for o in block.outputs)
        lists = tuple(
            (o.expr.occurrence, o.expr.name)
            if isinstance(o.expr, Column) and type_ in _LISTS
            else None
            for o, (_, type_) in zip(block.outputs, outputs, strict=True)
        )
        return VirtualSelect(text, tuple(inputs), outputs, lists)

    def _spans(self, tree: exp.Expression) -> Mapping[str, Span]:
        """The times that count of the tables in the SELECT's FROM, by their aliases."""
        nodes = [tree.args["from_"], *(tree.args.get("joins") or ())]
        tables = [one.this for one in nodes if isinstance(one.this, exp.Table)]
        return {one.alias_or_name.lower(): span_of(one, STARTED, self._zone) for one in tables}

    def _mention(self, block: Block, of: Occurrence, spans: Mapping[str, Span]) -> Mention:
        every = (*block.conditions, *block.tested, *block.keys, *block.results)
        every += tuple(one for edge in block.left_edges for one in edge.on)
        used = {c for e in every for c in columns(e) if c.occurrence == of.index}
        names = [c.name for c in sorted(used, key=lambda one: one.field_id)]
        return Mention(self._log, tuple(names) or ("id",), spans.get(of.alias.lower(), ALL))


def _type_of(expr: Expr, block: Block, inner: Mapping[str, VirtualSelect]) -> str:
    """Spark's type: to the block an array is its place."""
    place = _list_of(expr, block, inner)
    return (expr.type or "") if place is None else place


def _list_of(expr: Expr, block: Block, inner: Mapping[str, VirtualSelect]) -> str | None:
    """The type of the array that the expression is; None of anything else."""
    if not isinstance(expr, Column):
        return None
    piece = inner.get(block.occurrences[expr.occurrence].table.name)
    type_ = TYPES[_NAMES[expr.field_id - 1]] if piece is None else piece.outputs[expr.field_id][1]
    return type_ if type_ in _LISTS else None


def _check_lists(block: Block, inner: Mapping[str, VirtualSelect]) -> None:
    """DeclinedError where an array is anything else than an output of rows."""
    shown = [one.expr for one in block.outputs]
    bare = [one for one in shown if not (block.rows and _list_of(one, block, inner))]
    others = (*block.conditions, *block.keys, *block.results[len(shown) :], *bare)
    for one in (column for expr in others for column in columns(expr)):
        if _list_of(one, block, inner) is not None:
            raise DeclinedError("expression_unsupported", f"The array {one.name}.")


class _Tables(Facts):
    """The log under its own name and those `beside`, and the answers of `inner` SELECTs."""

    def __init__(self, inner: Mapping[str, VirtualSelect], beside: frozenset[str]) -> None:
        self._tables = dict.fromkeys(beside, _FACTS)
        for name, piece in inner.items():
            self._tables[name] = DerivedTable(
                [(n, _bound_type(t)) for n, t in piece.outputs]
            ).facts(name)

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        """See `Facts.table`; nothing here has states."""
        if at != At():
            return None
        return _FACTS if is_log(parts, ()) else self._tables.get(".".join(parts))


_LISTS = frozenset(TYPES[one.name] for one in COLUMNS if one.kind in ("texts", "counts"))
_NAMES = tuple(TYPES)


def _bound_type(type_: str) -> str:
    """The type of which a column is to what binds queries: an array is its row's place."""
    return "bigint" if type_ in _LISTS else type_


_FACTS = TableFacts(
    NAME[-1],  # Spark sees a view of the bare name
    "",
    None,
    0,
    tuple(ColumnFacts(at, n, _bound_type(t), False) for at, (n, t) in enumerate(TYPES.items(), 1)),
)
