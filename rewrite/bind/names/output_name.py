"""The column name that Spark gives to an expression without an alias.

It's the expression written once more: in parentheses around each operator, texts and numbers bare,
functions by the word that was written, casts of a column at the top by the column alone. None where
that isn't known; then Spark itself is asked. Held to Spark's own names by a test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from rewrite.bind.calls.known_words import AGGREGATE_WORDS, OURS
from rewrite.bind.calls.table_functions import arguments, function_of
from rewrite.bind.expressions import BINARY, CONTAINS, DATE_PARTS, TIME_PARTS, of_date
from rewrite.functions.row import SparkFunction
from rewrite.ir.literals import date_literal
from rewrite.parse.original_spelling import spelling_of
from rewrite.parse.parse import written_name
from rewrite.reason import DeclinedError

_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_OF_ONE = (*DATE_PARTS, *TIME_PARTS, exp.TsOrDsToDate)
_AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
    exp.Count: "count",
}
_WRITTEN = (
    exp.Anonymous,
    exp.Any,
    exp.AnyValue,
    exp.ApproxDistinct,
    exp.ArrayUniqueAgg,
    exp.CountIf,
    exp.First,
    exp.Last,
    exp.LogicalAnd,
    exp.LogicalOr,
    exp.Median,
    exp.Stddev,
    exp.StddevPop,
    exp.StddevSamp,
    exp.Variance,
    exp.VariancePop,
)
"""Aggregates that Spark names by the word that was written."""
_TYPES = {
    exp.DataType.Type.INT: "INT",
    exp.DataType.Type.BIGINT: "BIGINT",
    exp.DataType.Type.DOUBLE: "DOUBLE",
    exp.DataType.Type.FLOAT: "FLOAT",
    exp.DataType.Type.TEXT: "STRING",
    exp.DataType.Type.DATE: "DATE",
}
_CAST_WORDS = frozenset({"boolean", "date", "double", "float", "int", "string", "timestamp"})
"""Functions that are casts."""
_ALL_OF_IT, _ACCURACY = 2**31 - 1, 10_000
"""What Spark puts where a substring has no length, and an approximate percentile no accuracy."""
_TRIMMED = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}
_LONGEST = 100_000
"""Characters of the copies of a CASE's operand in its name."""
_PLACES_MAX = 6
"""Of a number that begins further behind its point Spark writes an exponent."""


def output_name(node: exp.Expression) -> str | None:
    """Spark's name of `node`, None where it isn't known here.

    >>> from rewrite.parse.parse import parse
    >>> output_name(parse("sum(a * B)"))
    'sum((a * B))'
    >>> output_name(parse("sum(CASE WHEN k <> 1 THEN v END)"))
    'sum(CASE WHEN (NOT (k = 1)) THEN v END)'
    >>> output_name(parse("CAST(k AS BIGINT)")), output_name(parse("max(CAST(k AS BIGINT))"))
    ('k', 'max(CAST(k AS BIGINT))')
    """
    top = _unnested(node)
    if isinstance(top, (exp.Cast, exp.TryCast)) and isinstance(_unnested(top.this), exp.Column):
        return _name(top.this) if (written_name(top) or "date") in _CAST_WORDS else None
    return _name(top)


def _unnested(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _name(node: exp.Expression | None) -> str | None:
    if node is None:
        return None
    kind = type(node)
    if kind is exp.Paren:
        return _name(node.this)
    if kind is exp.Column:
        return str(node.name) if isinstance(node.this, exp.Identifier) else None
    if kind is exp.Null:
        return "NULL"
    if kind is exp.Boolean:
        return "true" if node.this else "false"
    if kind is exp.And or kind is exp.Or:
        return _chain(node)
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(node)
    if kind in BINARY:
        return _operator(node)
    function = function_of(node)
    if function is not None:
        return _of_table(function, node)
    if kind in _AGGREGATES or kind in _WRITTEN:
        return _aggregate(written_name(node) or _AGGREGATES.get(kind), node)
    if kind in _OF_ONE:
        if not {name for name, value in node.args.items() if value} <= {"this", "safe"}:
            return None  # to_date of a format
        return _call(written_name(node), of_date(node.this))
    return None


def _shaped(shape: str, *nodes: exp.Expression | None) -> str | None:
    names = [_name(n) for n in nodes]
    known = [n for n in names if n is not None]
    return shape.format(*known) if len(known) == len(names) else None


def _call(name: str | None, *nodes: exp.Expression | None, then: str = "") -> str | None:
    """A function's name over those of its arguments, and what Spark puts behind these."""
    if name is None:
        return None
    return _shaped(f"{name}({', '.join(['{}'] * len(nodes))}{then})", *nodes)


def _of_table(function: SparkFunction, node: exp.Expression) -> str | None:
    """A call of the table's function, with what Spark puts in the place of what isn't written."""
    try:
        args = [of_date(arg) for arg in arguments(function, node)]
    except DeclinedError:
        return None
    word = written_name(node) or function.op
    if word in _TRIMMED and len(args) == 2:
        return _shaped(f"TRIM({_TRIMMED[word]} {{}} FROM {{}})", *args)
    behind = function.behind if len(args) < len(function.slots) else ""
    return _call(dict(function.named).get(word, word), *args, then=behind)


def _chain(node: exp.Expression) -> str | None:
    """AND and OR: Spark's parser makes a balanced tree of a chain, which may be very long."""
    kind, terms = type(node), list[exp.Expression]()
    while type(node) is kind:
        terms.append(node.expression)
        node = node.this
    names = [_name(one) for one in (node, *reversed(terms))]
    known = [one for one in names if one is not None]
    word = "AND" if kind is exp.And else "OR"
    return _balanced(known, word) if len(known) == len(names) else None


def _balanced(names: Sequence[str], word: str) -> str:
    if len(names) == 1:
        return names[0]
    half = (len(names) + 1) // 2
    return f"({_balanced(names[:half], word)} {word} {_balanced(names[half:], word)})"


def _operator(node: exp.Expression) -> str | None:
    if isinstance(node, exp.Mod) and node.meta_get("start") is not None:
        return _call("mod", node.this, node.expression)
    if isinstance(node, _ORDERED) and any(map(_is_decimal, (node.this, node.expression))):
        return None  # beside a whole number Spark makes a whole one of it
    return _shaped("({} " + BINARY[type(node)] + " {})", node.this, node.expression)


def _is_decimal(node: exp.Expression) -> bool:
    inner = _unnested(node)
    inner = inner.this if isinstance(inner, exp.Neg) else inner
    return isinstance(inner, exp.Literal) and not inner.args.get("is_string") and "." in inner.name


def _literal(node: exp.Expression) -> str | None:
    """Numbers as numbers; a text bare, as Spark shows it."""
    text = str(node.this)
    if node.args.get("is_string"):
        return text if text.isprintable() and "\\" not in text else None
    return _number(text)


def _number(text: str, sign: str = "") -> str | None:
    """A whole number or a decimal without an exponent; there's no negative zero."""
    if not re.fullmatch(r"\d+|\d+\.\d*|\.\d+", text, re.ASCII):
        return None
    whole, _, places = text.partition(".")
    digits = str(int(whole + places))
    if len(places) - len(digits) >= _PLACES_MAX:
        return None
    sign = sign if digits.strip("0") else ""
    return f"{sign}{int(whole or '0')}" + (f".{places}" if places else "")


def _negated(node: exp.Expression) -> str | None:
    inner = node.this
    if isinstance(inner, exp.TryCast) and spelling_of(inner) == "suffix":
        return _suffixed(inner, "-")
    if isinstance(inner, exp.Literal) and not inner.args.get("is_string"):
        return _number(str(inner.this), "-")
    return _shaped("(- {})", inner)


def _suffixed(node: exp.Expression, sign: str = "") -> str | None:
    """`5L`; of a double Spark writes other digits."""
    is_whole = node.args["to"].this is exp.DataType.Type.BIGINT
    text = str(node.this.this) if isinstance(node.this, exp.Literal) else ""
    return _number(text, sign) if is_whole and text.isdigit() else None


def _cast(node: exp.Expression) -> str | None:
    if written_name(node) is not None:  # date(x), which Spark takes for no cast of the user's
        return _name(node.this) if written_name(node) in _CAST_WORDS else None
    word, target = spelling_of(node), node.args["to"]
    if word == "suffix":
        return _suffixed(node)
    if word is not None:
        type_ = _TYPES.get(target.this) if not target.expressions else _decimal(target)
        return None if type_ is None else _shaped(f"{word.upper()}({{}} AS {type_})", node.this)
    is_date = target.this is exp.DataType.Type.DATE
    if type(node) is exp.Cast and is_date and isinstance(node.this, exp.Literal):
        found = date_literal(str(node.this.this))
        return None if found is None else f"DATE '{found.value}'"
    return None


def _decimal(target: exp.Expression) -> str | None:
    sizes = [str(one.name) for one in target.expressions]
    known = target.this is exp.DataType.Type.DECIMAL and len(sizes) == 2
    return f"DECIMAL({sizes[0]},{sizes[1]})" if known and "".join(sizes).isdigit() else None


def _not(node: exp.Expression) -> str | None:
    inner = node.this
    if isinstance(inner, exp.Is) and spelling_of(inner.expression) == "is not null":
        return _shaped("({} IS NOT NULL)", inner.this)
    return _shaped("(NOT {})", inner)


def _is(node: exp.Expression) -> str | None:
    if isinstance(node.expression, exp.Boolean):
        return _shaped("({} <=> {})", node.this, node.expression)
    return _shaped("({} IS NULL)", node.this) if isinstance(node.expression, exp.Null) else None


def _in(node: exp.Expression) -> str | None:
    if node.args.get("query") or node.args.get("unnest") or not node.expressions:
        return None
    listed = ", ".join(["{}"] * len(node.expressions))
    return _shaped(f"({{}} IN ({listed}))", node.this, *node.expressions)


def _between(node: exp.Expression) -> str | None:
    if node.args.get("symmetric"):
        return None
    return _call("between", node.this, node.args["low"], node.args["high"])


def _like(node: exp.Expression) -> str | None:
    ours, pattern = node.this, node.expression
    named = isinstance(node, exp.ILike)
    found = _call("ilike", ours, pattern) if named else _shaped("{} LIKE {}", ours, pattern)
    return f"(NOT {found})" if found is not None and node.args.get("negate") else found


def _rlike(node: exp.Expression) -> str | None:
    return _call((written_name(node) or "rlike").upper(), node.this, node.expression)


def _case(node: exp.Expression) -> str | None:
    branches, tested, ifs = list[exp.Expression](), "{}", node.args["ifs"]
    if node.this is not None:
        operand = _name(node.this)  # once: CASE within CASE repeats it at each level
        if operand is None or len(operand) * len(ifs) > _LONGEST:
            return None
        tested = f"({operand.replace('{', '{{').replace('}', '}}')} = {{}})"
    for each in ifs:
        branches += (each.this, each.args["true"])
    shape = "CASE" + f" WHEN {tested} THEN {{}}" * len(ifs)
    default = node.args.get("default")
    if default is None:
        return _shaped(f"{shape} END", *branches)
    return _shaped(f"{shape} ELSE {{}} END", *branches, default)


def _if(node: exp.Expression) -> str | None:
    return _shaped("(IF({}, {}, {}))", node.this, node.args["true"], node.args.get("false"))


def _substring(node: exp.Expression) -> str | None:
    name, start, length = spelling_of(node), node.args.get("start"), node.args.get("length")
    if length is None:
        return _call(name, node.this, start, then=f", {_ALL_OF_IT}")
    return _call(name, node.this, start, length)


def _truncation(node: exp.Expression) -> str | None:
    unit, inner = spelling_of(node), of_date(node.this)
    if unit is None or unit.upper() != node.args["unit"].name.upper() or not unit.isalpha():
        return None
    if isinstance(node, exp.DateTrunc):
        return _call("trunc", inner, then=f", {unit}")
    return _shaped(f"date_trunc({unit}, {{}})", inner)


def _extract(node: exp.Expression) -> str | None:
    unit = spelling_of(node.this)
    if unit is None or unit.upper() != node.name.upper() or not unit.isalpha():
        return None
    return _shaped(f"extract({unit} FROM {{}})", node.expression)


def _percentile(node: exp.Expression) -> str | None:
    share, accuracy = node.args.get("quantile"), node.args.get("accuracy")
    name = spelling_of(node)
    if accuracy is None:
        return _call(name, node.this, share, then=f", {_ACCURACY}")
    return _call(name, node.this, share, accuracy)


def _exact_percentile(node: exp.Expression) -> str | None:
    """Spark adds how often each value counts."""
    return _call(spelling_of(node), node.this, node.args.get("quantile"), then=", 1")


def _within_group(node: exp.Expression) -> str | None:
    call, order = node.this, node.expression
    keys = order.expressions if isinstance(order, exp.Order) else []
    if not isinstance(call, exp.Anonymous) or len(keys) != 1 or len(call.expressions) != 1:
        return None
    if keys[0].args.get("desc") or not keys[0].args.get("nulls_first"):
        return None
    shape = f"{written_name(call)}({{}}) WITHIN GROUP (ORDER BY {{}})"
    return _shaped(shape, call.expressions[0], keys[0].this)


def _sorted_array(node: exp.Expression) -> str | None:
    """Spark adds that it ascends."""
    if written_name(node) != "sort_array" or node.args.get("asc") is not None:
        return None
    return _call("sort_array", node.this, then=", true")


def _of_two(node: exp.Expression) -> str | None:
    return _call(written_name(node) or spelling_of(node), node.this, node.expression)


def _aggregate(name: str | None, node: exp.Expression) -> str | None:
    if name is None:
        return None
    if isinstance(node.this, exp.Star):
        return f"{name}(1)"
    if isinstance(node, exp.Anonymous) and name not in (*AGGREGATE_WORDS, *OURS):
        return None
    first = [] if isinstance(node, exp.Anonymous) else [node.this]
    arguments = [*first, *node.expressions]
    if arguments and isinstance(arguments[0], exp.Distinct):
        inner = _call("", *arguments[0].expressions)
        return None if inner is None else f"{name}(DISTINCT {inner[1:]}"
    return _call(name, *arguments)


_SPECIAL: dict[type[exp.Expression], Callable[[exp.Expression], str | None]] = {
    exp.Literal: _literal,
    exp.Neg: _negated,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.NEQ: lambda node: _shaped("(NOT ({} = {}))", node.this, node.expression),
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _rlike,
    **dict.fromkeys(CONTAINS, lambda node: _call(written_name(node), node.this, node.expression)),
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: lambda node: _call(written_name(node), node.this, *node.expressions),
    exp.Concat: lambda node: _call(written_name(node), *node.expressions),
    exp.Substring: _substring,
    exp.DateTrunc: _truncation,
    exp.TimestampTrunc: _truncation,
    exp.Extract: _extract,
    exp.Filter: lambda node: _shaped("{} FILTER (WHERE {})", node.this, node.expression.this),
    exp.ApproxQuantile: _percentile,
    exp.Quantile: _exact_percentile,
    exp.WithinGroup: _within_group,
    exp.ArraySort: _sorted_array,
    exp.ArraySize: lambda node: _call(written_name(node), node.this),
    **dict.fromkeys((exp.ArgMax, exp.ArgMin, exp.ArrayToString, exp.Corr), _of_two),
    exp.Grouping: lambda node: _call(written_name(node), *node.expressions),
    exp.GroupingId: lambda node: _call(written_name(node), *node.expressions),
}
