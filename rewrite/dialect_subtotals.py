"""The empty grouping set over no rows: a row in the standard's dialects, none in Spark.

`GROUP BY ROLLUP (a)` over no rows has the row of the total in Trino, PostgreSQL and DuckDB. So a
query with such a set is united with one that gives that row if there are no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrite.dialect_rule import UnsureMeaningError


def totalled(select: exp.Select) -> exp.Expression | None:
    """The query united with its total over no rows; None if Spark answers alike.

    UnsureMeaningError if its order can't be written over both.
    """
    group = select.args.get("group")
    if group is None or not _has_empty_set(group):
        return None
    keys = _keys(group)
    total = select.copy()
    for part in ("group", "order", "limit", "offset", "with_", "distinct"):
        total.set(part, None)
    _leave_out(total, keys)
    empty = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    having = total.args.get("having")
    tested = empty if having is None else exp.And(this=empty, expression=exp.paren(having.this))
    total.set("having", exp.Having(this=tested))
    first = select.copy()
    order = _placed(first)
    united = exp.Union(this=first, expression=total, distinct=False)
    for part in ("limit", "offset", "with_"):
        value = first.args.get(part)
        first.set(part, None)
        united.set(part, value)
    first.set("order", None)
    united.set("order", order)
    return united


def _has_empty_set(group: exp.Group) -> bool:
    """Decides whether a grouping set of several may be empty."""
    if group.expressions and any(not _is_empty(one) for one in group.expressions if _is_plain(one)):
        return False
    several = _sets(group)
    return bool(several) and all(_may_be_empty(one) for one in several)


def _sets(group: exp.Group) -> list[exp.Expr]:
    found = [one for one in group.expressions if not _is_plain(one)]
    for part in ("grouping_sets", "rollup", "cube"):
        found += [one for one in group.args.get(part) or [] if isinstance(one, exp.Expr)]
    return found


def _is_plain(node: exp.Expr) -> bool:
    return not isinstance(node, (exp.GroupingSets, exp.Rollup, exp.Cube))


def _is_empty(node: exp.Expr) -> bool:
    return isinstance(node, exp.Tuple) and not node.expressions


def _may_be_empty(node: exp.Expr) -> bool:
    if isinstance(node, (exp.Rollup, exp.Cube)):
        return True
    return any(_is_empty(one) or not _is_plain(one) for one in node.expressions)


def _keys(group: exp.Group) -> list[exp.Expr]:
    """The expressions of all sets."""
    found: list[exp.Expr] = []
    waiting = list(_sets(group))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple)):
            waiting += node.expressions
        elif isinstance(node, exp.Paren):
            waiting.append(node.this)
        else:
            found.append(node)
    return found


def _leave_out(total: exp.Select, keys: Sequence[exp.Expr]) -> None:
    """Keys are NULL in the total: the greatest of no rows, which has the key's type."""
    places = {int(one.name) for one in keys if isinstance(one, exp.Literal) and one.name.isdigit()}
    shown = [one.this if isinstance(one, exp.Alias) else one for one in total.expressions]
    if any(not 0 < place <= len(shown) for place in places):
        raise UnsureMeaningError("a key's place isn't one of the outputs")
    known = [*keys, *(shown[place - 1].copy() for place in places)]
    texts = {one.sql("spark") for one in known if not isinstance(one, exp.Literal)}
    names = {one.name.lower() for one in known if isinstance(one, exp.Column)}
    for root in [*total.expressions, *([total.args["having"]] if total.args.get("having") else [])]:
        waiting: list[exp.Expr] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.Grouping):
                node.replace(exp.cast(exp.Literal.number(1), "TINYINT", dialect="spark"))
            elif isinstance(node, (exp.Filter, exp.WithinGroup)) or _is_aggregate(node):
                continue
            elif node.sql("spark") in texts or _is_key(node, names):
                _put_null(node)
            else:
                waiting += node.iter_expressions()


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window)


def _is_key(node: exp.Expr, names: set[str]) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() in names


def _put_null(node: exp.Expr) -> None:
    greatest = exp.Max(this=node.copy())
    if isinstance(node.parent, exp.Select) and isinstance(node, exp.Column):
        node.replace(exp.alias_(greatest, node.name, quoted=True))
    else:
        node.replace(greatest)


def _placed(select: exp.Select) -> exp.Order | None:
    """ORDER BY over the union: each key by its place among the outputs."""
    order = select.args.get("order")
    if order is None:
        return None
    if select.is_star:
        raise UnsureMeaningError("subtotals of * can't be ordered")
    texts = [
        (one.this if isinstance(one, exp.Alias) else one).sql("spark") for one in select.expressions
    ]
    names = [one.alias_or_name.lower() for one in select.expressions]
    found = order.copy()
    for item in found.expressions:
        key = item.this
        if isinstance(key, exp.Literal):
            continue
        name = key.name.lower() if isinstance(key, exp.Column) and not key.table else ""
        at = names.index(name) if name and name in names else -1
        if at < 0 and key.sql("spark") in texts:
            at = texts.index(key.sql("spark"))
        if at < 0:
            raise UnsureMeaningError(
                "subtotals are ordered by outputs alone", "add the key to the outputs"
            )
        item.set("this", exp.Literal.number(at + 1))
    return found  # type: ignore[no-any-return]
