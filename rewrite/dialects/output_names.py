"""Which outputs of a query have a name, by Trino's rules, before anything of it is translated.

Trino calls an output without a name `_col` and its place, counted from 0; a column keeps its name,
an expression has none. `*` gives the outputs of what it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrite.client import Names
from rewrite.dialects.value_kinds import Columns

_Visible = Mapping[str, Names | None]


def output_names(tree: exp.Expression, columns: Columns) -> Names | None:
    """The names of its outputs; None where `*` stands for what isn't known.

    `columns` tells those of a table by its parts.
    """
    return _names(tree, columns, {})


def shown_names(names: Names) -> tuple[str, ...]:
    """The same as Trino shows them.

    >>> shown_names(("a", None, None))
    ('a', '_col1', '_col2')
    """
    return tuple(f"_col{at}" if one is None else one for at, one in enumerate(names))


def _names(node: exp.Expr | None, columns: Columns, visible: _Visible) -> Names | None:
    while isinstance(node, (exp.Subquery, exp.SetOperation)):
        visible = _with(node, columns, visible)
        node = node.this
    if isinstance(node, exp.Values):
        rows = node.expressions
        first = rows[0] if rows else None
        return (None,) * (len(first.expressions) if isinstance(first, exp.Tuple) else 1)
    if not isinstance(node, exp.Select):
        return None
    visible = _with(node, columns, visible)
    found: list[str | None] = []
    for one in node.expressions:
        if not one.is_star:
            found.append(_name(one))
            continue
        some = _starred(node, one, columns, visible)
        if some is None:
            return None
        found += some
    return tuple(found)


def _with(node: exp.Expr, columns: Columns, visible: _Visible) -> _Visible:
    with_ = node.args.get("with_")
    if not isinstance(with_, exp.With):
        return visible
    known = dict(visible)
    for one in with_.expressions:
        known[one.alias.lower()] = _renamed(one, _names(one.this, columns, known))
    return known


def _renamed(node: exp.Expr, names: Names | None) -> Names | None:
    """Under an alias that names columns these are the names."""
    alias = node.args.get("alias")
    own = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return tuple(one.name for one in own) if own else names


def _name(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Alias):
        return node.alias
    node = node.unnest()
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Dot):
        return node.name if _is_path(node) else None
    return None


def _is_path(node: exp.Expr) -> bool:
    """Whether it's names and dots alone."""
    while isinstance(node, exp.Dot):
        if not isinstance(node.expression, exp.Identifier):
            return False
        node = node.this
    return isinstance(node, (exp.Column, exp.Identifier))


def _starred(
    select: exp.Select, star: exp.Expr, columns: Columns, visible: _Visible
) -> Names | None:
    from_ = select.args.get("from_")
    joins: list[exp.Join] = select.args.get("joins") or []
    sources = [] if from_ is None else [from_.this]
    sources += [one.this for one in joins]
    if isinstance(star, exp.Column):
        wanted = star.parts[-2].name.lower()
        sources = [one for one in sources if one.alias_or_name.lower() == wanted]
        if len(sources) != 1:
            return None
    elif any(one.args.get("using") or one.args.get("method") for one in joins):
        return None
    found: list[str | None] = []
    for one in sources:
        some = _renamed(one, _of_source(one, columns, visible))
        if some is None:
            return None
        found += some
    return tuple(found)


def _of_source(node: exp.Expr, columns: Columns, visible: _Visible) -> Names | None:
    if not isinstance(node, exp.Table):
        return _names(node, columns, visible)
    parts = tuple(one.name for one in node.parts)
    if len(parts) == 1 and parts[0].lower() in visible:
        return visible[parts[0].lower()]
    known = columns(parts)
    return None if known is None else tuple(known)
