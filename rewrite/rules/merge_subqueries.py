"""A SELECT over a derived table of rows as one over the tables that these rows come from.

`SELECT y, sum(v) FROM (SELECT year(d) AS y, a * b AS v FROM t WHERE p) GROUP BY y` is
`SELECT year(d) AS y, sum(a * b) FROM t WHERE p GROUP BY year(d)`: rows of a SELECT without groups
are its tables' rows, and a name of it is the expression that it stands for. Outputs keep their
names. What the derived table has and nothing names is gone with it; Spark would refuse a column of
it that isn't there, so that whoever binds the statement asks for it as `unread`.

In a join a derived table of columns (`SELECT a, b AS c FROM t WHERE p`) is its table under other
names. The binder reads it so (`rewrite/bind/from_clause.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrite.bind.calls.known_words import is_aggregate, may_aggregate
from rewrite.bind.from_clause import UNREAD, unread
from rewrite.bind.names.output_name import output_name
from rewrite.ir.literals import MERGED
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import (
    FOUND,
    SELECTS_MAX,
    Query,
    copied,
    defined,
    meant,
    names_in,
    quoted,
    relations,
    repeated,
    with_visible,
)

_OUTER = frozenset(
    {"expressions", "from_", "where", "group", "having", "order", "limit", "distinct", "with_"}
)
_INNER = frozenset({"expressions", "from_", "joins", "where"})
_MERGED, _ROWS = FOUND
"""Keys of `meta` for what `_merged` and `_selected_rows` return, of a name of WITH in its item.

What is above asks for both in several ways; computed each time, every SELECT in another or link of
a chain would double the time. Copies of a tree have them too.
"""
_UNNAMED = "acc_unnamed"
_NOT_ROWS = (exp.Window, exp.UDTF, exp.Star, exp.Query)


def flattened(tree: exp.Expression) -> exp.Expression:
    """The statement over the innermost tables; itself where nothing is to be done."""
    return repeated(_once, tree)


def _once(tree: exp.Expression) -> exp.Select | None:
    if not isinstance(tree, exp.Select) or any(v and k not in _OUTER for k, v in tree.args.items()):
        return None
    if tree.args.get("from_") is None:
        return None
    if any(item.find(exp.Window) for item in tree.expressions):
        return None
    (relation,) = relations(tree)
    inner = _merged(relation, defined(tree))
    if inner is None or inner.args.get("from_") is None:
        return None
    if _is_all(inner.expressions):
        over = _over_join if inner.args.get("joins") else _over_table
        return over(tree, inner, relation)
    named = _named(inner)
    if named is None or _has_subquery(tree) or _names_others_than_keys(tree):
        return None
    alias = relation.alias_or_name.lower()
    return _Flattening(tree, inner, named, alias).select()


def _merged(node: exp.Expression, items: Sequence[exp.CTE]) -> exp.Select | None:
    """Returns the SELECT of expressions over rows that a relation means, without WITH.

    None for a table, and for a query of another kind.
    """
    kept = _item(node, items) or node
    if _MERGED not in kept.meta:
        try:
            found = meant(node, items)
            kept.meta[_MERGED] = None if found is None else _without_with(*found)
        except DeclinedError:
            kept.meta[_MERGED] = None
    merged: exp.Select | None = kept.meta[_MERGED]
    return merged


def _item(node: exp.Expression, items: Sequence[exp.CTE]) -> exp.CTE | None:
    """The item of WITH that the relation names, if it has its columns' names, too."""
    alias = node.args.get("alias")
    if not isinstance(node, exp.Table) or (alias is not None and alias.args.get("columns")):
        return None
    return _defined(node, items)


def _defined(table: exp.Table, items: Sequence[exp.CTE]) -> exp.CTE | None:
    name = "" if table.args.get("db") else table.name.lower()
    return next((item for item in items if item.alias.lower() == name), None)


def _without_with(inner: Query, visible: Sequence[exp.CTE]) -> exp.Select | None:
    """Merges what the query needs of WITH into it; None if that isn't possible."""
    if any(v and k not in (*_INNER, "with_") for k, v in inner.args.items()):
        return None
    merged: exp.Expression = inner
    if inner.args.get("with_") or names_in(inner) & {i.alias.lower() for i in visible}:
        merged = flattened(with_visible(inner, visible))
        merged = over_rows(merged) or merged
    is_plain = all(k in _INNER for k, v in merged.args.items() if v)
    return merged if isinstance(merged, exp.Select) and is_plain else None


def over_rows(tree: exp.Expression) -> exp.Select | None:
    """The SELECT over tables, and over SELECTs of columns and rows of tables; without WITH.

    None if no SELECT is in its FROM, or a SELECT of another kind.
    """
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        return None
    if _names_others_than_keys(tree):
        return None
    try:
        items = defined(tree)
        instead = {id(node): _rows(node, items) for node in relations(tree)}
    except DeclinedError:
        return None
    if None in instead.values() or all(isinstance(one, exp.Table) for one in instead.values()):
        return None
    parts = (value for key, value in tree.args.items() if key not in ("from_", "joins", "with_"))
    ons = (join.args.get("on") for join in tree.args.get("joins") or ())
    named = {name for value in (*parts, *ons) for one in _values(value) for name in names_in(one)}
    if named & {item.alias.lower() for item in items}:
        return None
    return copied(tree, {**instead, id(tree.args.get("with_")): None})


def _rows(node: exp.Expression, items: Sequence[exp.CTE]) -> exp.Expression | None:
    """Returns the table, or the SELECT of columns and rows of tables; None for other relations."""
    if _is_table(node, items):
        return copied(node, {})
    rows = _selected_rows(node, items)
    if rows is None:
        return None
    alias = exp.TableAlias(this=quoted(node.alias_or_name))
    return exp.Subquery(this=copied(rows, {}), alias=alias)


def _is_table(node: exp.Expression, items: Sequence[exp.CTE]) -> bool:
    return isinstance(node, exp.Table) and _defined(node, items) is None


def _are_rows(tree: exp.Select) -> bool:
    """Decides whether `_rows` returns something for each relation of a SELECT without WITH."""
    return all(_is_table(one, ()) or _selected_rows(one, ()) for one in relations(tree))


def _selected_rows(node: exp.Expression, items: Sequence[exp.CTE]) -> exp.Select | None:
    """Returns the SELECT of columns and rows of tables that a relation means."""
    if not node.alias_or_name:
        return None
    kept = _item(node, items) or node
    if _ROWS not in kept.meta:
        merged = _merged(node, items)
        kept.meta[_ROWS] = None if merged is None else _as_rows(flattened(merged))
    rows: exp.Select | None = kept.meta[_ROWS]
    return rows


def _as_rows(rows: exp.Expression) -> exp.Select | None:
    if not isinstance(rows, exp.Select) or any(v and k not in _INNER for k, v in rows.args.items()):
        return None
    where = rows.args.get("where")
    if not all(map(_is_column, rows.expressions)) or (where and where.find(exp.Query)):
        return None
    rows = over_rows(rows) or rows
    if rows.args.get("from_") is None or not _are_rows(rows):
        return None
    return rows if sum(1 for _ in rows.find_all(exp.Table)) <= SELECTS_MAX else None


def _is_column(item: exp.Expression) -> bool:
    """Decides whether the item is a column, under any name, or all columns."""
    if isinstance(item, exp.Alias):
        return isinstance(item.this.unnest(), exp.Column) and not item.this.unnest().is_star
    return isinstance(item, (exp.Column, exp.Star))


def _is_all(items: Sequence[exp.Expression]) -> bool:
    """Whether it's `SELECT *`."""
    return len(items) == 1 and isinstance(items[0], exp.Star) and not any(items[0].args.values())


def _over_table(tree: exp.Select, inner: exp.Select, relation: exp.Expression) -> exp.Select | None:
    """The statement over the one table of which the derived table is all columns, under its name.

    None where that isn't clear.
    """
    (table,), where = relations(inner), inner.args.get("where")
    own = table.args.get("alias")
    if not isinstance(table, exp.Table) or (own is not None and own.args.get("columns")):
        return None
    if _has_subquery(tree) or (where is not None and where.find(exp.Query) is not None):
        return None
    alias = exp.to_identifier(relation.alias_or_name or _UNNAMED, quoted=True)
    instead: dict[int, exp.Expression | None] = {}
    for column in where.find_all(exp.Column) if where is not None else ():
        if column.args.get("db") or column.table.lower() not in ("", table.alias_or_name.lower()):
            return None
        instead[id(column)] = exp.Column(this=copied(column.this, {}), table=alias.copy())
    named = copied(table, {})
    named.set("alias", exp.TableAlias(this=alias))
    made = copied(tree, {id(relation): named, id(tree.args.get("with_")): None})
    if where is not None:
        _filter(made, copied(where.this, instead))
    return made


def _over_join(tree: exp.Select, inner: exp.Select, relation: exp.Expression) -> exp.Select | None:
    """The statement over the join of which the derived table is all columns.

    Its columns have no table's name then: each is that of one of the tables, or Spark finds it
    ambiguous in both. None where that isn't clear: without its table a name may be an output's.
    """
    where, alias = inner.args.get("where"), relation.alias_or_name.lower()
    if not _are_rows(inner) or _has_subquery(tree):
        return None
    ons = (join.args.get("on") for join in inner.args["joins"])
    if any(on is not None and on.find(exp.Query) for on in ons):
        return None
    if any(join.args.get("method") for join in inner.args["joins"]):
        return None
    if where is not None and where.find(exp.Query) is not None:
        return None
    own = [
        node
        for key, value in tree.args.items()
        if key not in ("from_", "with_")
        for one in _values(value)
        for node in one.find_all(exp.Column, exp.Star)
    ]
    outputs = {item.alias.lower() for item in tree.expressions if isinstance(item, exp.Alias)}
    instead: dict[int, exp.Expression | None] = {}
    for column in own:
        if not isinstance(column, exp.Column):
            if isinstance(column.parent, exp.Count):
                continue
            return None
        if (
            isinstance(column.this, exp.Star)
            or column.args.get("db")
            or column.table.lower() not in ("", alias)
            or (column.table and column.name.lower() in outputs)
        ):
            return None
        instead[id(column)] = exp.Column(this=copied(column.this, {}))
    instead[id(relation)] = copied(inner.args["from_"].this, {})
    instead[id(tree.args.get("with_"))] = None
    made = copied(tree, instead)
    made.set("joins", [copied(one, {}) for one in inner.args["joins"]])
    if where is not None:
        _filter(made, copied(where.this, {}))
    return made


def _filter(made: exp.Select, condition: exp.Expression) -> None:
    """Adds what the derived table's rows pass before the statement's own."""
    condition = exp.Paren(this=condition)
    outer = made.args.get("where")
    if outer is not None:
        condition = exp.And(this=condition, expression=exp.Paren(this=outer.this))
    made.set("where", exp.Where(this=condition))


def _has_subquery(tree: exp.Select) -> bool:
    """Whether a SELECT stands in it that FROM and WITH don't hold."""
    return any(
        value is not None and any(True for one in _values(value) for _ in one.find_all(exp.Query))
        for key, value in tree.args.items()
        if key not in ("from_", "with_")
    )


def _values(value: object) -> list[exp.Expression]:
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, exp.Expression)]


def _named(inner: exp.Select) -> dict[str, exp.Expression] | None:
    """What each of its names stands for; None where its rows aren't just rows of its tables."""
    named: dict[str, exp.Expression] = {}
    for item in inner.expressions:
        if may_aggregate(item) or any(True for _ in item.find_all(*_NOT_ROWS)):
            return None
        name = _name(item).lower()
        if not name or name in named:
            return None
        named[name] = item.this if isinstance(item, exp.Alias) else item
    return named


def _names_others_than_keys(tree: exp.Select) -> bool:
    """Decides whether something behind GROUP BY or DISTINCT names what no key of it names.

    Spark refuses that, also if both names stand for one column in the derived table.
    """
    group, outputs = tree.args.get("group"), tree.expressions
    named = {item.alias.lower(): item.this for item in outputs if item.alias}
    behind = [tree.args[key] for key in ("having", "order") if tree.args.get(key)]
    if group is not None:
        if group.args.get("all") or any(isinstance(key, exp.Literal) for key in group.expressions):
            return False
        keys, behind = [*group.find_all(exp.Column)], [*outputs, *behind]
        for key in tuple(keys):
            if not key.table and key.name.lower() in named:
                keys += named[key.name.lower()].find_all(exp.Column)
    elif tree.args.get("distinct") and not any(item.is_star for item in outputs):
        keys = [column for item in outputs for column in item.find_all(exp.Column)]
    else:
        return False
    known = {key.name.lower() for key in keys}
    return any(
        isinstance(node, exp.Column)
        and node.name.lower() not in known
        and (node.table or node.name.lower() not in named)
        for part in behind
        for node in part.walk(prune=_is_call_of_groups)
    )


def _is_call_of_groups(node: exp.Expr) -> bool:
    return is_aggregate(node) or isinstance(node, (exp.Filter, exp.Anonymous))


def _name(item: exp.Expression) -> str:
    """The name of an output; empty if only Spark knows it."""
    if isinstance(item, (exp.Alias, exp.Column)):
        return str(item.alias_or_name)
    return output_name(item) or ""


class _Flattening:
    def __init__(
        self, tree: exp.Select, inner: exp.Select, named: dict[str, exp.Expression], alias: str
    ) -> None:
        self._tree, self._inner, self._named, self._alias = tree, inner, named, alias
        self._written = {name.lower(): name for name in map(_name, inner.expressions)}
        self._read: set[str] = set()
        self._outputs: dict[str, exp.Expression | None] = {}
        for item in tree.expressions:
            name = item.alias_or_name.lower()
            known = name in self._outputs
            self._outputs[name] = None if known or not name else item

    def select(self) -> exp.Select | None:
        tree = self._tree
        made = exp.Select()
        made.set("expressions", [one for item in tree.expressions for one in self._items(item)])
        for key in ("from_", "joins"):
            value = self._inner.args.get(key)
            if isinstance(value, list):
                made.set(key, [copied(one, {}) for one in value])
            elif value is not None:
                made.set(key, copied(value, {}))
        conditions = [copied(w.this, {}) for w in [self._inner.args.get("where")] if w is not None]
        if tree.args.get("where") is not None:
            conditions.append(self._inside(tree.args["where"].this))
        if conditions:
            terms = [exp.Paren(this=one) for one in conditions]
            condition = terms[0] if len(terms) == 1 else exp.And(this=terms[0], expression=terms[1])
            made.set("where", exp.Where(this=condition))
        for key in ("group", "having", "order"):
            if tree.args.get(key) is not None:
                made.set(key, self._inside(tree.args[key], clause=key))
        for key in ("limit", "distinct"):
            if tree.args.get(key) is not None:
                made.set(key, copied(tree.args[key], {}))
        left = [copied(one, {}) for one in unread(self._inner)]
        left += [self._inside(one) for one in unread(tree)]
        left += [copied(one, {}) for name, one in self._named.items() if name not in self._read]
        if left:
            made.meta[UNREAD] = left
        return made

    def _items(self, item: exp.Expression) -> list[exp.Expression]:
        """The output, with the name that it had; of `*` all of the derived table's columns."""
        if not isinstance(item, exp.Star):
            return [self._item(item)]
        if any(item.args.values()):
            raise _unclear()
        self._read.update(self._named)
        return [
            exp.Alias(this=self._as_operand(copied(one, {}), ""), alias=quoted(self._written[name]))
            for name, one in self._named.items()
        ]

    def _item(self, item: exp.Expression) -> exp.Expression:
        if isinstance(item, exp.Alias):
            return self._inside(item)
        name = _name(item)
        if not name:
            raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
        return exp.Alias(this=self._inside(item), alias=quoted(name))

    def _inside(self, part: exp.Expression, clause: str = "") -> exp.Expression:
        """A copy in which names are what they stand for."""
        if isinstance(part, exp.Column):
            return self._meant(part, clause) or copied(part, {})
        instead: dict[int, exp.Expression | None] = {}
        for column in part.find_all(exp.Column):
            found = self._meant(column, clause)
            if found is not None:
                instead[id(column)] = found
        return copied(part, instead)

    def _meant(self, column: exp.Column, clause: str) -> exp.Expression | None:
        """The expression in its place; None for an output's name in ORDER BY."""
        name, bare = column.name.lower(), not column.table
        if isinstance(column.this, exp.Star) or column.args.get("db"):
            raise _unclear()
        if clause == "order" and bare and name in self._outputs:
            return None
        if not bare and column.table.lower() != self._alias:
            raise _unclear()
        if name in self._named:
            if clause == "having" and bare and isinstance(self._outputs.get(name), exp.Alias):
                raise _unclear()
            self._read.add(name)
            return self._as_operand(copied(self._named[name], {}), clause)
        output = self._outputs.get(name)
        if clause in ("group", "having") and bare and isinstance(output, exp.Alias):
            return self._as_operand(self._inside(output.this), clause)
        raise _unclear()

    @staticmethod
    def _as_operand(expr: exp.Expression, clause: str) -> exp.Expression:
        """A number alone would be a position in GROUP BY and ORDER BY."""
        if clause in ("group", "order") and isinstance(expr.unnest(), (exp.Literal, exp.Neg)):
            raise _unclear()
        made = exp.Paren(this=expr)
        made.meta[MERGED] = True
        return made


def _unclear() -> DeclinedError:
    return DeclinedError("block_unsupported", "A derived table of rows that aren't grouped.")
