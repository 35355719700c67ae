"""A query of one table of files, in process: one SELECT whose every part is proven for DuckDB.

Fields of structs become columns of their own before the query is bound. What doesn't bind, or isn't
proven to mean the same, is left to Spark with the reason (`spark_views.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from accelerator.engines.session_settings import refusal
from accelerator.iceberg import Pin, PinnedTable
from accelerator.iceberg.tables.files_table import PLAIN, STRUCTS, FileTable, Path
from accelerator.planning.plans import VirtualPlan
from accelerator.planning.plans.virtual import Mention, VirtualSelect
from accelerator.query.virtual_tables.answer import check_types, duckdb_text
from accelerator.query.virtual_tables.spark_views import SUFFIX, files_of, is_table
from accelerator.store.journals.query_log.time_span import ALL
from rewrite.bind.from_clause import occurrence_of
from rewrite.bind.select import bind_block
from rewrite.bind.table_rows import bind_rows
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.ir.block import Block, Output
from rewrite.ir.expr import Column, Expr, columns
from rewrite.ir.row_block import RowBlock
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def plan_files(sql: str, pin: Pin, settings: Mapping[str, str]) -> VirtualPlan:
    """The plan; DeclinedError where Spark is to answer, SqlglotError where it can't be parsed."""
    refused, tree = refusal(settings, sql), parse(sql)
    if refused is not None:
        raise DeclinedError(refused.code, refused.detail)
    source = tree.args.get("from_")
    if not isinstance(tree, exp.Select) or source is None or not is_table(source.this):
        raise DeclinedError("block_unsupported")
    if tree.args.get("joins"):
        raise DeclinedError("metadata_one_table")
    zone, facts = settings.get("time_zone"), _FilesTables(pin)
    occurrence = occurrence_of(0, source.this, facts, zone)
    pinned = facts.pinned[occurrence.at]
    table = pinned.file_table()
    flat = _flattened(tree, occurrence.alias, table)
    inner = {".".join(path): path for path in flat.values()}
    facts.columns = _columns(table, inner)
    block = _bound(tree, facts, zone)
    used = sorted({c for e in _expressions(block) for c in columns(e)}, key=lambda c: c.field_id)
    check_types(used)
    text = duckdb_text(block)
    outputs = tuple((_name(one, flat), one.expr.type or "") for one in block.outputs)
    names = tuple(dict.fromkeys(c.name for c in used)) or ("content",)
    types = {one.name: one.type for one in facts.columns}
    files = files_of(pinned, types, {name: inner.get(name, (name,)) for name in names})
    lists = (None,) * len(outputs)
    return VirtualPlan(VirtualSelect(text, (Mention(files, names, ALL),), outputs, lists))


class _FilesTables(Facts):
    """Tables of files by their names; `pinned` are the tables whose files they are."""

    def __init__(self, pin: Pin) -> None:
        self._pin = pin
        self.pinned: dict[At, PinnedTable] = {}
        self.columns: tuple[ColumnFacts, ...] = ()

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        """See `Facts.table`."""
        bare = tuple(p[: -len(SUFFIX)] if p.lower().endswith(SUFFIX) else p for p in parts)
        pinned = self._pin.pinned(bare, at) if bare != parts else None
        if pinned is None:
            return None
        self.pinned[at] = pinned
        facts = pinned.facts
        # Spark sees a view: nothing but its bare name qualifies columns.
        return TableFacts(parts[-1], facts.uuid, facts.snapshot_id, facts.schema_id, self.columns)


def _columns(table: FileTable, inner: Mapping[str, Path]) -> tuple[ColumnFacts, ...]:
    """The table's own columns, and behind them those that were made of fields."""
    types = {n: "struct" if n in STRUCTS else type_ for n, type_ in PLAIN.items()}
    types |= {name: table.type_of(path) for name, path in inner.items()}
    return tuple(ColumnFacts(i, n, t, False) for i, (n, t) in enumerate(types.items(), start=1))


def _flattened(tree: exp.Expression, alias: str, table: FileTable) -> dict[str, Path]:
    """Puts columns in place of fields in the tree; their names, as they were written, and paths."""
    found: dict[str, Path] = {}
    if alias.lower() in STRUCTS:
        raise DeclinedError("name_ambiguous", f"The alias {alias} is a column as well.")
    for column in list(tree.find_all(exp.Column)):
        if isinstance(column.this, exp.Star):
            continue
        parts = [part.name for part in column.parts]
        if len(parts) > 1 and parts[0].lower() == alias.lower():
            parts = parts[1:]
        name = ".".join(parts)
        if parts[0].lower() in STRUCTS:
            path = table.find(parts)
            if path is None:
                raise DeclinedError("expression_unsupported", f"The field {name}.")
            found[name] = path
            column.replace(exp.Column(this=exp.to_identifier(name, quoted=True)))
        elif any("." in part for part in parts):
            raise DeclinedError("expression_unsupported", f"The column name {name}.")
    return found


def _bound(tree: exp.Expression, facts: _FilesTables, zone: str | None) -> Block | RowBlock:
    try:
        return bind_block(tree, facts, zone)
    except DeclinedError as error:
        if error.declined.code != "no_aggregate" and tree.args.get("offset") is None:
            raise
    return bind_rows(tree, facts, zone)


def _expressions(block: Block | RowBlock) -> tuple[Expr, ...]:
    if isinstance(block, RowBlock):
        return block.expressions
    return (*block.conjuncts, *block.keys, *block.results)


def _name(output: Output, flat: Mapping[str, Path]) -> str:
    """Spark's name of an output: a field's own where it stands alone."""
    if output.alias is not None:
        return output.alias
    name = output.name or ""
    if isinstance(output.expr, Column) and name in flat:
        return name[-len(flat[name][-1]) :]
    inner = {c.name for c in columns(output.expr)}
    odd = any(".".join(p) in inner and not all(map(_WORD.fullmatch, p)) for p in flat.values())
    if not name or odd:
        raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
    return name
