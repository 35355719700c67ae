"""`SELECT EXISTS (query)` as the SELECT that counts the query's rows."""

from __future__ import annotations

from sqlglot import exp

_INNER = frozenset({"expressions", "from_", "joins", "where", "hint"})
_NAME = "exists()"
"""What Spark calls the column."""


def counted(tree: exp.Select) -> exp.Select:
    """The statement with its only output, an EXISTS, as `count(*) > 0`; any other as it is.

    Only over a query whose SELECT has but stars and literals: whether others mean anything to Spark
    isn't asked any more where nothing but rows is counted.

    >>> import sqlglot
    >>> counted(sqlglot.parse_one("SELECT EXISTS (SELECT 1 FROM t WHERE a = 5) AS e")).sql("spark")
    'SELECT COUNT(*) > 0 AS `e` FROM t WHERE a = 5'
    """
    said = [name for name, value in tree.args.items() if value]
    if said != ["expressions"] or len(tree.expressions) != 1:
        return tree
    (item,) = tree.expressions
    inner = item.this if isinstance(item, exp.Alias) else item
    query = inner.this if isinstance(inner, exp.Exists) else None
    if not isinstance(query, exp.Select) or inner.args.get("expression") is not None:
        return tree
    parts = {name for name, value in query.args.items() if value}
    plain = all(isinstance(one, (exp.Star, exp.Literal)) for one in query.expressions)
    if not parts <= _INNER or "from_" not in parts or not plain:
        return tree
    name = item.alias if isinstance(item, exp.Alias) else _NAME
    rows = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    output = exp.alias_(rows, name, quoted=True)
    made = query.copy()
    made.set("expressions", [output])
    return made
