"""A SELECT over a derived table of rows as one over the tables that these rows come from.

`SELECT y, sum(v) FROM (SELECT year(d) AS y, a * b AS v FROM t WHERE p) GROUP BY y` is
`SELECT year(d) AS y, sum(a * b) FROM t WHERE p GROUP BY year(d)`: rows of a SELECT without groups
are its tables' rows, and a name of it is the expression that it stands for. Outputs keep their
names. What the derived table has and nothing names is gone with it; Spark would refuse a column of
it that isn't there, so that whoever binds the statement asks for it as `unread`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrite.bind.from_clause import UNREAD, unread
from rewrite.bind.functions import may_aggregate
from rewrite.bind.output_name import output_name
from rewrite.ir.literals import MERGED
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import (
    copied,
    defined,
    meant,
    names_in,
    quoted,
    relations,
    repeated,
)

_OUTER = frozenset(
    {"expressions", "from_", "where", "group", "having", "order", "limit", "distinct", "with_"}
)
_INNER = frozenset({"expressions", "from_", "joins", "where"})
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
    items = defined(tree)
    found = meant(relation, items)
    if found is None:
        return None
    inner, visible = found
    if not isinstance(inner, exp.Select) or any(
        v and k not in _INNER for k, v in inner.args.items()
    ):
        return None
    if inner.args.get("from_") is None or names_in(inner) & {i.alias.lower() for i in visible}:
        return None
    if _is_all(inner.expressions):
        over = _over_join if inner.args.get("joins") else _over_table
        return over(tree, inner, relation)
    named = _named(inner)
    if named is None or _has_subquery(tree):
        return None
    alias = relation.alias_or_name.lower()
    return _Flattening(tree, inner, named, alias).select()


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
    if not all(isinstance(one, exp.Table) for one in relations(inner)) or _has_subquery(tree):
        return None
    if any(join.args.get("method") or join.find(exp.Query) for join in inner.args["joins"]):
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
        if not isinstance(item, (exp.Alias, exp.Column)):
            return None
        name = item.alias_or_name.lower()
        if name in named:
            return None
        named[name] = item.this if isinstance(item, exp.Alias) else item
    return named


class _Flattening:
    def __init__(
        self, tree: exp.Select, inner: exp.Select, named: dict[str, exp.Expression], alias: str
    ) -> None:
        self._tree, self._inner, self._named, self._alias = tree, inner, named, alias
        self._written = {i.alias_or_name.lower(): i.alias_or_name for i in inner.expressions}
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
        left = [self._inside(one) for one in unread(tree)]
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
        name = item.name if isinstance(item, exp.Column) else output_name(item)
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
