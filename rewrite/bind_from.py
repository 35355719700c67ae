"""FROM: tables to pins, joins to left edges and conjuncts, in Spark's scoping of names.

Whatever isn't a list of tables under inner and left joins raises `DeclinedError`.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewrite.bind_expr import bind_condition
from rewrite.block import LeftEdge, Occurrence
from rewrite.expr import Expr, conjuncts
from rewrite.facts import At, Facts, TableFacts
from rewrite.instant import instant_ms
from rewrite.names import Names
from rewrite.reason import DeclinedError

_TABLE_ALLOWED = frozenset({"this", "db", "catalog", "alias", "version"})
_SELECTOR = re.compile(r"(branch|tag|snapshot_id|at_timestamp)_(.+)")


def bind_from(
    tree: exp.Select, facts: Facts, zone: str | None
) -> tuple[list[Occurrence], list[LeftEdge], list[Expr]]:
    """The tables of FROM, its left joins, and the conjuncts of its inner ones."""
    tables = [_occurrence(0, tree.args["from_"].this, facts, zone)]
    left: list[LeftEdge] = []
    inner: list[Expr] = []
    joins = tree.args.get("joins") or []
    comma = False
    for index, join in enumerate(joins, start=1):
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        unknown = (
            join.args.get("using") or join.method or kind not in ("", "INNER", "CROSS", "OUTER")
        )
        if unknown or side not in ("", "LEFT") or (kind == "OUTER" and not side):
            raise DeclinedError("join_unsupported", f"Here: {join.sql(dialect='spark')[:60]}.")
        tables.append(_occurrence(index, join.this, facts, zone))
        condition = join.args.get("on")
        comma = comma or (condition is None and kind == "CROSS")
        if comma and condition is not None:
            # In `a, b JOIN c ON …` the ON can't see a; a flat list of joins no longer tells.
            raise DeclinedError("join_unsupported", "Comma or cross joins mixed with JOIN … ON.")
        parts = conjuncts(
            bind_condition(condition, Names(tables)) if condition is not None else None
        )
        if side == "LEFT":
            left.append(LeftEdge(index, parts))
        else:
            inner += parts
    aliases = [t.alias.lower() for t in tables]
    if len(set(aliases)) != len(aliases):
        raise DeclinedError("name_ambiguous", "Two tables have one alias.")
    return tables, left, inner


def _occurrence(index: int, node: exp.Expression, facts: Facts, zone: str | None) -> Occurrence:
    written = _table_name(node)
    at = _at(node.args.get("version"), zone)
    parts, table = written, facts.table(written, at)
    if table is None and at == At():
        parts, at = _selected(written)
        table = facts.table(parts, at) if at != At() else None
    if table is None:
        raise DeclinedError("table_unknown", f"The table {'.'.join(written)}.")
    path = _path(written[-1], table) if parts == written else written[-1:]
    return Occurrence(index, parts, (node.alias,) if node.alias else path, table, at)


def _table_name(node: exp.Expression) -> tuple[str, ...]:
    if isinstance(node, exp.Table):
        extra = [k for k, v in node.args.items() if v and k not in _TABLE_ALLOWED]
        alias = node.args.get("alias")
        named = all(isinstance(p, exp.Identifier) for p in node.parts)
        if named and not extra and not (alias is not None and alias.args.get("columns")):
            return tuple(p.name for p in node.parts)
    raise DeclinedError("block_unsupported", f"FROM holds {node.sql(dialect='spark')[:60]}.")


def _path(name: str, table: TableFacts) -> tuple[str, ...]:
    """What columns may be qualified by: catalog, namespace and name, as far as they are plain."""
    full = tuple(table.name.split("."))
    # A name with a dot in it, or a namespace of several levels: only the bare name is taken.
    return full if len(full) == 3 and full[-1].lower() == name.lower() else (name,)


def _selected(parts: tuple[str, ...]) -> tuple[tuple[str, ...], At]:
    """Iceberg's names of a table's states, `d.t.branch_b`: for Spark `d.t` is a namespace there."""
    found = _SELECTOR.fullmatch(parts[-1]) if len(parts) > 2 else None
    if found is None:
        return parts, At()
    kind, value = found.groups()
    if kind in ("branch", "tag"):
        return parts[:-1], At(ref=value) if kind == "branch" else At(tag=value)
    if not value.isdigit():
        return parts, At()
    number = int(value)
    at = At(snapshot_id=number) if kind == "snapshot_id" else At(timestamp_ms=number)
    return parts[:-1], at


def _at(version: exp.Expression | None, zone: str | None) -> At:
    if version is None:
        return At()
    value = version.args.get("expression")
    if version.name.upper() == "VERSION" and isinstance(value, exp.Literal):
        number = str(value.this)
        if not value.is_string or number.isdigit():
            return At(snapshot_id=int(number))
        return At(ref=number)
    instant = _instant(value, zone) if version.name.upper() == "TIMESTAMP" else None
    if instant is None:
        raise DeclinedError("block_unsupported", "Time travel to a time that isn't a literal.")
    return At(timestamp_ms=instant)


def _instant(value: exp.Expression | None, zone: str | None) -> int | None:
    """The literal's milliseconds: a text in the session's zone, a TIMESTAMP, or seconds."""
    if isinstance(value, exp.Cast) and value.args["to"].this == exp.DataType.Type.TIMESTAMPTZ:
        value = value.this if isinstance(value.this, exp.Literal) and value.this.is_string else None
    if not isinstance(value, exp.Literal):
        return None
    text = str(value.this)
    if value.is_string:
        return instant_ms(text, zone)
    return int(text) * 1000 if text.isdigit() else None
