"""The column name that Spark gives to an expression without an alias, for common shapes.

None for every other shape: then Spark itself is asked. Held to `spark.sql(…).columns` by a test.
"""

from __future__ import annotations

from sqlglot import exp

_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
    exp.Count: "count",
}
_BINARY: dict[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


def output_name(node: exp.Expression) -> str | None:
    """Spark's name of `node`, None where it isn't known here.

    >>> import sqlglot
    >>> output_name(sqlglot.parse_one("sum(a * B)", read="spark"))
    'sum((a * B))'
    >>> output_name(sqlglot.parse_one("count(*)", read="spark"))
    'count(1)'
    """
    kind = type(node)
    if kind is exp.Paren:
        return output_name(node.this)
    if kind is exp.Column and not node.args.get("db"):
        return str(node.name)
    if kind is exp.Literal and not node.args.get("is_string") and str(node.this).isdigit():
        return str(int(node.this))
    if kind in _BINARY:
        left, right = output_name(node.this), output_name(node.expression)
        return None if left is None or right is None else f"({left} {_BINARY[kind]} {right})"
    if kind in _FUNCTIONS:
        return _function(_FUNCTIONS[kind], node)
    return None


def _function(name: str, node: exp.Expression) -> str | None:
    if isinstance(node.this, exp.Star):
        return f"{name}(1)"
    distinct = isinstance(node.this, exp.Distinct)
    arguments = node.this.expressions if distinct else [node.this, *node.expressions]
    names = [output_name(a) for a in arguments]
    if any(n is None for n in names):
        return None
    return f"{name}({'DISTINCT ' if distinct else ''}{', '.join(n for n in names if n)})"
