"""The column name that Spark gives to an expression without an alias, for common shapes.

None for every other shape: then Spark itself is asked. Held to `spark.sql(…).columns` by a test.
"""

from __future__ import annotations

from sqlglot import exp

from rewrite.parse import written_name

_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
    exp.Count: "count",
}
_WRITTEN = (
    exp.Anonymous,
    exp.Any,
    exp.ApproxDistinct,
    exp.CountIf,
    exp.LogicalAnd,
    exp.LogicalOr,
    exp.Stddev,
    exp.StddevPop,
    exp.StddevSamp,
    exp.Variance,
    exp.VariancePop,
)
"""Aggregates that Spark names by the word that was written."""
_BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def output_name(node: exp.Expression) -> str | None:
    """Spark's name of `node`, None where it isn't known here.

    >>> import sqlglot
    >>> output_name(sqlglot.parse_one("sum(a * B)", read="spark"))
    'sum((a * B))'
    >>> output_name(sqlglot.parse_one("sum(CASE WHEN k <> 1 THEN v END)", read="spark"))
    'sum(CASE WHEN (NOT (k = 1)) THEN v END)'
    """
    kind = type(node)
    if kind is exp.Paren:
        return output_name(node.this)
    if kind is exp.Column:
        return str(node.name)
    if kind is exp.Literal:
        return _literal(node)
    if kind is exp.Null:
        return "NULL"
    if kind in _BINARY:
        return _shaped("({} " + _BINARY[kind] + " {})", node.this, node.expression)
    if kind is exp.NEQ:
        return _shaped("(NOT ({} = {}))", node.this, node.expression)
    if kind is exp.Is and isinstance(node.expression, exp.Null):
        return _shaped("({} IS NULL)", node.this)
    if kind is exp.Filter:
        return _shaped("{} FILTER (WHERE {})", node.this, node.expression.this)
    if kind is exp.Case or kind is exp.If:
        return _case(node) if kind is exp.Case else _if(node)
    if kind in _FUNCTIONS or kind in _WRITTEN:
        return _function(written_name(node) or _FUNCTIONS.get(kind), node)
    return None


def _literal(node: exp.Expression) -> str | None:
    """Whole numbers as numbers; a text bare, as Spark shows it."""
    text = str(node.this)
    if node.args.get("is_string"):
        return text if text.isalnum() else None
    return str(int(text)) if text.isdigit() else None


def _shaped(shape: str, *nodes: exp.Expression) -> str | None:
    names = [output_name(n) for n in nodes]
    known = [n for n in names if n is not None]
    return shape.format(*known) if len(known) == len(names) else None


def _case(node: exp.Expression) -> str | None:
    if node.this is not None:
        return None
    branches = [part for each in node.args["ifs"] for part in (each.this, each.args["true"])]
    shape = "CASE" + " WHEN {} THEN {}" * len(node.args["ifs"])
    default = node.args.get("default")
    if default is None:
        return _shaped(f"{shape} END", *branches)
    return _shaped(f"{shape} ELSE {{}} END", *branches, default)


def _if(node: exp.Expression) -> str | None:
    otherwise = node.args.get("false")
    if otherwise is None:
        return None
    return _shaped("(IF({}, {}, {}))", node.this, node.args["true"], otherwise)


def _function(name: str | None, node: exp.Expression) -> str | None:
    if name is None:
        return None
    if isinstance(node.this, exp.Star):
        return f"{name}(1)"
    first = [] if isinstance(node, exp.Anonymous) else [node.this]
    arguments = [*first, *node.expressions]
    distinct = isinstance(arguments[0], exp.Distinct) if arguments else False
    if distinct:
        arguments = arguments[0].expressions
    shape = "(DISTINCT " if distinct else "("
    inner = _shaped(", ".join(["{}"] * len(arguments)), *arguments)
    return None if inner is None else f"{name}{shape}{inner})"
