"""FROM: tables to pins, joins to left edges and conjuncts, in Spark's scoping of names.

Whatever isn't a list of tables under inner, left and semi joins raises `DeclinedError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from sqlglot import exp

from rewrite.bind.allow_list import check_alias
from rewrite.bind.expressions import bind, bind_condition, boolean
from rewrite.bind.names.scopes import ColumnScope, Visible
from rewrite.bind.semi_joins import check_met_once
from rewrite.facts import At, Facts, TableFacts
from rewrite.identifiers.qualified_name import joined
from rewrite.ir.block import LeftEdge, Occurrence, Selection
from rewrite.ir.expr import Call, Column, Expr, conjuncts, has_aggregate, walk
from rewrite.ir.timestamps import instant_ms
from rewrite.reason import DeclinedError
from rewrite.render.expressions import check_duckdb

_TABLE_ALLOWED = frozenset({"this", "db", "catalog", "alias", "version"})
_JOIN_ALLOWED = frozenset({"this", "on", "using", "side", "kind"})
_SELECTED = frozenset({"expressions", "from_", "joins", "where"})
_SEMI = "SEMI"
UNREAD = "acc_unread"
"""The key of a tree's `meta` for what `unread` returns."""
_SELECTOR = re.compile(r"(branch|tag|snapshot_id|at_timestamp)_(.+)")


class From(Struct, frozen=True):
    """The tables of FROM, its left joins, the conjuncts of its inner ones, and the look-up.

    Semi joins are among the inner ones; what they have joined isn't `visible` to names. Of a SELECT
    the tables are among the others, and its columns alone are visible.
    """

    tables: tuple[Occurrence, ...]
    left: tuple[LeftEdge, ...]
    inner: tuple[Expr, ...]
    names: ColumnScope
    visible: tuple[Visible, ...]


def unread(tree: exp.Expression) -> Sequence[exp.Expression]:
    """Expressions over its FROM that derived tables had, and that nothing of it names."""
    found: Sequence[exp.Expression] = tree.meta.get(UNREAD, ())
    return found


def bind_from(tree: exp.Select, facts: Facts, zone: str | None, first: int = 0) -> From:
    """FROM as one list: Spark joins commas and JOINs alike from left to right.

    So in `a, b JOIN c ON …` the ON sees a, unless `spark.sql.ansi.relationPrecedence` is set, under
    which the planner takes no statement. Tables are numbered from `first`.
    """
    joins = tree.args.get("joins") or []
    sides = [_side(join, len(joins)) for join in joins]
    nodes = [tree.args["from_"].this, *(join.this for join in joins)]
    if "RIGHT" in sides:
        nodes.reverse()
    found = _relation(nodes[0], facts, zone, first)
    tables, visible = [*found.tables], [found.visible]
    left, inner = [*found.left], [*found.inner]
    hidden: set[Column] = set()
    for node, join, side in zip(nodes[1:], joins, sides, strict=True):
        found = _relation(node, facts, zone, first + len(tables))
        own = found.visible
        if own.alias.lower() in {t.alias.lower() for t in visible}:
            raise DeclinedError("name_ambiguous", "Two tables have one alias.")
        parts = (*_condition(join, [*visible, own], hidden, zone), *found.inner)
        if side and len(found.tables) > 1:
            raise DeclinedError("join_unsupported", "A join in a derived table that is joined so.")
        tables += found.tables
        if side == _SEMI:
            check_met_once(found.tables[0], parts, facts)
        else:
            visible.append(own)
        if side in ("", _SEMI):
            inner += parts
            left += found.left
        else:
            left.append(LeftEdge(found.tables[0].index, parts))
    names = ColumnScope(visible, hidden, zone)
    for one in unread(tree):
        _check_unread(bind(one, names))
    return From(tuple(tables), tuple(left), tuple(inner), names, tuple(visible))


class _Relation(Struct, frozen=True):
    """A relation of FROM: its tables, left joins and conjuncts, and what names find of it."""

    tables: tuple[Occurrence, ...]
    visible: Visible
    left: tuple[LeftEdge, ...] = ()
    inner: tuple[Expr, ...] = ()


def _relation(node: exp.Expression, facts: Facts, zone: str | None, first: int) -> _Relation:
    """A table, or a SELECT of columns and rows of tables (`rules.merge_subqueries.over_rows`)."""
    select = node.this if isinstance(node, exp.Subquery) else None
    if not isinstance(select, exp.Select):
        own = occurrence_of(first, node, facts, zone)
        return _Relation((own,), own)
    if any(v and k not in _SELECTED for k, v in select.args.items()) or not node.alias:
        raise _no_rows()
    source, where = bind_from(select, facts, zone, first), select.args.get("where")
    passes = source.inner
    if where is not None:
        check_alias(where.this)
        passes += conjuncts(bind_condition(where.this, source.names))
    if any(map(has_aggregate, passes)):
        raise DeclinedError("block_unsupported", "An aggregate in WHERE.")
    columns = tuple([one for item in select.expressions for one in _selected_columns(item, source)])
    visible = Selection(node.alias, source.tables, columns)
    return _Relation(source.tables, visible, source.left, passes)


def _selected_columns(item: exp.Expression, source: From) -> Iterator[tuple[str, Column]]:
    """The columns that an item of a SELECT in FROM shows, by their names."""
    inner = item.this if isinstance(item, exp.Column) else item
    if isinstance(inner, exp.Star):
        if inner is not item or any(inner.args.values()) or len(source.visible) > 1:
            raise DeclinedError("block_unsupported", "SELECT * EXCEPT, or over a join.")
        yield from source.visible[0].named_columns
        return
    column = bind(item.this if isinstance(item, exp.Alias) else item, source.names)
    if not isinstance(column, Column) or column.path:
        raise _no_rows()
    yield item.alias_or_name, column


def _no_rows() -> DeclinedError:
    return DeclinedError("block_unsupported", "A derived table of rows that aren't grouped.")


def _check_unread(expr: Expr) -> None:
    """DeclinedError unless Spark surely takes it: what has a type has operands that fit.

    Of a condition the type says nothing of them.
    """
    if has_aggregate(expr) or (expr.type is None and not isinstance(expr, Column)):
        raise DeclinedError("expression_not_proven", "What Spark says of an unread column.")
    for node in walk(expr):
        if isinstance(node, Call) and node.type == "boolean":
            check_duckdb(node)


def _side(join: exp.Expression, joins: int) -> str:
    """LEFT, RIGHT, which is LEFT with the two tables turned round, or SEMI; empty where inner."""
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    if kind == _SEMI and side in ("", "LEFT"):
        side, kind = _SEMI, ""
    known = side in ("", "LEFT", _SEMI) or (side == "RIGHT" and joins == 1)
    kinds = ("", "OUTER") if side else ("", "INNER", "CROSS")
    more = [k for k, v in join.args.items() if v and k not in _JOIN_ALLOWED]
    if more or not known or kind not in kinds:
        raise DeclinedError("join_unsupported", f"Here: {join.sql(dialect='spark')[:60]}.")
    return side


def _condition(
    join: exp.Expression, tables: list[Visible], hidden: set[Column], zone: str | None
) -> tuple[Expr, ...]:
    """The conjuncts of ON or USING; what USING hides is added to `hidden`."""
    using, condition = join.args.get("using"), join.args.get("on")
    if not using:
        names = ColumnScope(tables, hidden, zone)
        return conjuncts(bind_condition(condition, names) if condition is not None else None)
    pairs = [_pair(column.name, tables, hidden) for column in using]
    hidden.update(own for _, own in pairs)
    return tuple(boolean("=", earlier, own) for earlier, own in pairs)


def _pair(name: str, tables: list[Visible], hidden: set[Column]) -> tuple[Expr, Column]:
    """The two columns of a name in USING. The joined table's own is then seen only by its path.

    The bare name is the other one, which an inner or left join never pads.
    """
    earlier = ColumnScope(tables[:-1], hidden).column((), name)
    own = ColumnScope(tables[-1:]).column((), name)
    if sum(column == own for _, column in tables[-1].named_columns) > 1:
        raise DeclinedError("join_unsupported", f"USING ({name}) of a column with two names.")
    return earlier, own


def occurrence_of(index: int, node: exp.Expression, facts: Facts, zone: str | None) -> Occurrence:
    """The table that a node of FROM names, in the state that it names."""
    written = _table_name(node)
    at = _at(node.args.get("version"), zone)
    parts, table = written, facts.table(written, at)
    if table is None and at == At():
        parts, at = _selected(written)
        table = facts.table(parts, at) if at != At() else None
    if table is None:
        raise DeclinedError("table_unknown", f"The table {joined(written)}.")
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
        return parts[:-1], At(
            branch=value if kind == "branch" else None,
            ref=value if kind == "tag" else None,
            selected=True,
        )
    if not value.isdigit():
        return parts, At()
    number = int(value)
    if kind == "snapshot_id":
        return parts[:-1], At(snapshot_id=number, selected=True)
    return parts[:-1], At(timestamp_ms=number, selected=True)


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
