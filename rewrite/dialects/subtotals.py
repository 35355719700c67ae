"""The empty grouping set over no rows: a row in the standard's dialects, none in Spark.

`GROUP BY ROLLUP (a)` over no rows has the row of the total in Trino, PostgreSQL and DuckDB. So a
query with such a set is united with one that gives that row if there are no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sqlglot import exp

from rewrite.dialects.rule import UnsureMeaningError
from rewrite.dialects.scopes import OUTER, RESOLVED


def totalled(select: exp.Select, *, is_renamable: bool = False) -> exp.Expression | None:
    """The query united with its total over no rows; None if Spark answers alike.

    If `is_renamable` the outputs' names don't matter. UnsureMeaningError if its order can't be
    written over both.
    """
    _leave_out_empty(select)
    group = select.args.get("group")
    count = 0 if group is None else _empty_sets(group)
    if group is None or not count:
        return None
    if count > 1:
        raise UnsureMeaningError(
            "each of several empty grouping sets is a row over no rows", "name it once"
        )
    first = select.copy()
    order, hidden = _placed(first, is_renamable)
    outputs = [exp.column(one.alias_or_name, quoted=True) for one in first.expressions]
    for at, key in enumerate(hidden):
        first.append("expressions", exp.alias_(key, f"{_HIDDEN}{at}", quoted=True))
    total = first.copy()
    for part in ("group", "order", "limit", "offset", "with_", "distinct"):
        total.set(part, None)
    _leave_out(total, _keys(group))
    empty = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    having = total.args.get("having")
    tested = empty if having is None else exp.And(this=empty, expression=exp.paren(having.this))
    total.set("having", exp.Having(this=tested))
    given = {part: first.args.get(part) for part in ("limit", "offset", "with_")}
    for part in (*given, "order"):
        first.set(part, None)
    united: exp.Expression = exp.Union(this=first, expression=total, distinct=False)
    if hidden:
        name = exp.TableAlias(this=exp.to_identifier("subtotals", quoted=True))
        source = exp.From(this=exp.Subquery(this=united, alias=name))
        united = exp.Select(expressions=outputs, from_=source)
    for part, value in given.items():
        united.set(part, value)
    united.set("order", order)
    return united


def _leave_out_empty(select: exp.Select) -> None:
    """Leaves `()` out of GROUP BY, which Spark can't read: it changes no other key or set.

    Alone it makes one group of all rows, as aggregates without GROUP BY do.
    """
    group = select.args.get("group")
    if group is None or not any(map(_is_empty, group.expressions)):
        return
    others = [one for one in group.expressions if not _is_empty(one)]
    if others or _sets(group):
        group.set("expressions", others)
    elif any(map(_has_aggregate, select.expressions)):
        select.set("group", None)


def _has_aggregate(output: exp.Expr) -> bool:
    found = output.find_all(exp.AggFunc)
    return any(not isinstance(one.parent, exp.Window) for one in found)


def _empty_sets(group: exp.Group) -> int:
    """How many grouping sets are empty; 0 if Spark, too, has a row for it over no rows."""
    if group.expressions and any(not _is_empty(one) for one in group.expressions if _is_plain(one)):
        return 0
    several = _sets(group)
    return prod(map(_empty_ones, several)) if several else 0


def _sets(group: exp.Group) -> list[exp.Expr]:
    found = [one for one in group.expressions if not _is_plain(one)]
    for part in ("grouping_sets", "rollup", "cube"):
        found += [one for one in group.args.get(part) or [] if isinstance(one, exp.Expr)]
    return found


def _is_plain(node: exp.Expr) -> bool:
    return not isinstance(node, (exp.GroupingSets, exp.Rollup, exp.Cube))


def _is_empty(node: exp.Expr) -> bool:
    return isinstance(node, exp.Tuple) and not node.expressions


def _empty_ones(node: exp.Expr) -> int:
    """How many of the sets of one ROLLUP, CUBE or GROUPING SETS are empty."""
    if isinstance(node, (exp.Rollup, exp.Cube)):
        return 1
    return sum(
        _empty_ones(one) if not _is_plain(one) else _is_empty(one) for one in node.expressions
    )


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
            elif isinstance(node, exp.Query):
                _check_uncorrelated(node, names)
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


def _check_uncorrelated(query: exp.Query, names: set[str]) -> None:
    for column in query.find_all(exp.Column):
        if column.name.lower() in names and column.meta_get(RESOLVED) == OUTER:
            raise UnsureMeaningError("a query inside depends on a key of subtotals")


def _placed(
    select: exp.Select, is_renamable: bool
) -> tuple[exp.Order | None, list[exp.Expression]]:
    """ORDER BY over the union, written in outputs, and the keys that no output has.

    These become outputs of both branches, which the query around the union leaves out.
    """
    order = select.args.get("order")
    if order is None:
        return None, []
    if select.is_star:
        raise UnsureMeaningError("subtotals of * can't be ordered")
    outputs = _Outputs(select)
    found = order.copy()
    hidden: list[exp.Expression] = []
    for item in found.expressions:
        key = outputs.written(item.this)
        if key is None:
            name = f"{_HIDDEN}{len(hidden)}"
            hidden.append(outputs.inlined(item.this))
            key = _marked(exp.column(name, quoted=True), item.this)
        item.set("this", key)
    if hidden:
        renamed = outputs.renamed(is_renamable)
        for item in found.expressions:
            if isinstance(item.this, exp.Literal):
                place = select.expressions[int(item.this.name) - 1]
                item.set("this", exp.column(place.alias_or_name, quoted=True))
                continue
            for column in item.find_all(exp.Column):
                other = renamed.get(column.name.lower())
                if other is not None:
                    column.set("this", exp.to_identifier(other, quoted=True))
    return found, hidden


class _Outputs:
    """The outputs of a query with subtotals, by the names and texts that its ORDER BY may use."""

    def __init__(self, select: exp.Select) -> None:
        self._select = select
        self._shown = [
            one.this if isinstance(one, exp.Alias) else one for one in select.expressions
        ]
        self._texts = [one.sql("spark") for one in self._shown]
        self._names = [_name(one).lower() for one in select.expressions]

    def written(self, key: exp.Expression) -> exp.Expression | None:
        """The key by the place of an output, or of several outputs; None if it needs more."""
        if isinstance(key, exp.Literal):
            return key
        at = self._at(key)
        if at is not None:
            return exp.Literal.number(at + 1)
        found = exp.Paren(this=key.copy())
        waiting: list[exp.Expr] = [found.this]
        while waiting:
            node = waiting.pop()
            at = self._at(node)
            name = "" if at is None else self._names[at]
            if at is not None and name and self._names.count(name) == 1:
                shown = self._select.expressions[at].alias_or_name
                node.replace(_marked(exp.column(shown, quoted=True), node))
            elif isinstance(node, (exp.Column, exp.Query, *_OF_GROUPS)):
                return None
            else:
                waiting += node.iter_expressions()
        return found.this  # type: ignore[no-any-return]

    def inlined(self, key: exp.Expression) -> exp.Expression:
        """The key with the expressions of outputs in place of their names."""
        root = exp.Paren(this=key.copy())
        for column in list(root.find_all(exp.Column)):
            at = self._at(column)
            if at is not None and not isinstance(self._shown[at], exp.Column):
                if column.find_ancestor(*_OF_GROUPS) is not None:
                    raise UnsureMeaningError(
                        "subtotals are ordered by outputs alone", "add the key to the outputs"
                    )
                column.replace(exp.paren(self._shown[at].copy()))
        return root.this  # type: ignore[no-any-return]

    def renamed(self, is_renamable: bool) -> dict[str, str]:
        """The new names of outputs, all of which must have one of their own.

        UnsureMeaningError if they must keep others.
        """
        names = [name for name in self._names if name]
        is_plain = len(names) == len(self._names) == len(set(names))
        if self._select.args.get("distinct") or not (is_plain or is_renamable):
            raise UnsureMeaningError(
                "subtotals are ordered by outputs alone", "add the key to the outputs"
            )
        if is_plain:
            return {}
        aliased = [
            exp.alias_(one.copy(), f"{_OUTPUT}{at}", quoted=True)
            for at, one in enumerate(self._shown)
        ]
        self._select.set("expressions", aliased)
        return {name: f"{_OUTPUT}{at}" for at, name in enumerate(self._names) if name}

    def _at(self, node: exp.Expr) -> int | None:
        """The place of the output that the node names or repeats."""
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._names:
            return self._names.index(node.name.lower())
        if isinstance(node, exp.Literal):
            return None
        text = node.sql("spark")
        return self._texts.index(text) if text in self._texts else None


def _name(output: exp.Expr) -> str:
    return output.alias_or_name if isinstance(output, (exp.Alias, exp.Column)) else ""


def _marked(node: exp.Column, original: exp.Expr) -> exp.Column:
    node.meta.update(original.meta)
    return node


_HIDDEN, _OUTPUT = "__key", "__output"
_OF_GROUPS = (exp.AggFunc, exp.Window, exp.Grouping)
"""What is computed of groups, which the union has no more."""
