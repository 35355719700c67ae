"""`SELECT * FROM (SELECT …) LIMIT n` as the SELECT inside with that limit.

Tools put a limit around a statement so. The rows are those of the SELECT inside, in its order where
it has one, which Spark keeps under a limit.
"""

from __future__ import annotations

from sqlglot import exp

from rewrite.rules.derived_tables import copied, defined, meant, relations, repeated, with_visible

_OUTER = frozenset({"expressions", "from_", "limit", "offset", "with_"})
_INNER = frozenset(
    {
        *("expressions", "from_", "joins", "where", "group", "having", "order", "distinct"),
        *("limit", "with_", "hint"),
    }
)


def limited(tree: exp.Expression) -> exp.Expression:
    """The SELECT inside, with the limit; the statement itself where it's no such one.

    >>> import sqlglot
    >>> def shown(sql): return limited(sqlglot.parse_one(sql, read="spark")).sql("spark")
    >>> shown("SELECT * FROM (SELECT a FROM t ORDER BY a) LIMIT 3")
    'SELECT a FROM t ORDER BY a LIMIT 3'
    >>> shown("SELECT x.* FROM (SELECT * FROM (SELECT a FROM t LIMIT 9) LIMIT 10) AS x LIMIT 8")
    'SELECT a FROM t LIMIT 8'
    """
    return repeated(_once, tree)


def _once(tree: exp.Expression) -> exp.Expression | None:
    if not isinstance(tree, exp.Select) or _has_more(tree, _OUTER):
        return None
    limit: exp.Expression | None = tree.args.get("limit")
    offset: exp.Expression | None = tree.args.get("offset")
    if limit is None or tree.args.get("from_") is None:
        return None
    (relation,) = relations(tree)
    if not _is_all(tree, relation.alias_or_name):
        return None
    found = meant(relation, defined(tree))
    if found is None or not isinstance(found[0], exp.Select) or _has_more(found[0], _INNER):
        return None
    inner = found[0]
    own: exp.Expression | None = inner.args.get("limit")
    if own is not None:
        least = min(_rows(own), _rows(limit))
        if least < 0 or offset is not None:
            return None
        limit = own if least == _rows(own) else limit
    made = copied(with_visible(inner, found[1]), {})
    made.set("limit", copied(limit, {}))
    if offset is not None:
        made.set("offset", copied(offset, {}))
    return made


def _has_more(tree: exp.Select, known: frozenset[str]) -> bool:
    return any(value and key not in known for key, value in tree.args.items())


def _is_all(tree: exp.Select, alias: str) -> bool:
    """Whether it selects `*`, or `x.*` of its one relation."""
    if len(tree.expressions) != 1:
        return False
    (item,) = tree.expressions
    if isinstance(item, exp.Column):
        if item.args.get("db") or item.table.lower() != alias.lower():
            return False
        item = item.this
    return isinstance(item, exp.Star) and not any(item.args.values())


def _rows(limit: exp.Expression) -> int:
    """The number of a limit; -1 of one that is computed."""
    number = limit.args.get("expression")
    if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdigit():
        return -1
    return int(number.this)
