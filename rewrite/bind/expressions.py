"""sqlglot expressions to bound ones: names to field ids, literals to typed constants.

Only operators and functions known to be deterministic are taken; anything else raises
`DeclinedError`, so that the statement goes to Spark as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from rewrite import types
from rewrite.bind.allow_list import check_operands, check_read
from rewrite.bind.calls.known_words import AGGREGATE_WORDS, OURS, check_word
from rewrite.bind.calls.row_aggregates import ROW_CALLS, bind_row_call, filtered
from rewrite.bind.calls.table_functions import (
    DAYS_LATER,
    added,
    arguments,
    bind_call,
    bind_sum,
    function_of,
    on_clock,
    truncated_on_clock,
)
from rewrite.bind.names.nested_fields import field_parts
from rewrite.bind.repeated_operands import check_repeated
from rewrite.functions.casts import cast_of
from rewrite.functions.row import SparkFunction
from rewrite.functions.table import BY_OP
from rewrite.ir.expr import (
    NULL,
    TYPE,
    UNIT,
    Aggregate,
    Call,
    Expr,
    Literal,
    Parameter,
    columns,
    has_aggregate,
)
from rewrite.ir.literals import (
    cast_literal,
    compared,
    date_literal,
    date_parameter,
    is_number_within,
    is_written,
    literal_of,
    number_types,
    time_parameter,
    widened,
)
from rewrite.ir.regex_literals import reading_of
from rewrite.ir.time_truncation import OF_DATES, UNITS, UTC, as_date, truncated, truncated_date
from rewrite.ir.timestamps import is_utc
from rewrite.parse.parse import written_name
from rewrite.reason import DeclinedError

BINARY: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
}
DATE_PARTS: dict[type[exp.Expression], str] = {
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Quarter: "quarter",
    exp.WeekOfYear: "weekofyear",
    exp.DayOfWeek: "dayofweek",
    exp.DayOfYear: "dayofyear",
}
TIME_PARTS: dict[type[exp.Expression], str] = {
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}
_EXTRACTED = {
    **{part: part for part in ("year", "quarter", "month", "day", "hour", "minute")},
    "week": "weekofyear",
}
"""EXTRACT's fields by the function of the same value; of a second it keeps the fraction."""
_AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
    exp.CountIf: "count_if",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.ApproxDistinct: "approx_count_distinct",
}
_SPARKS_WORDS = frozenset(
    {
        *("approx_count_distinct", "approx_percentile", "avg", "bool_and", "bool_or", "count"),
        *("count_if", "max", "min", "percentile_approx", "stddev", "stddev_pop", "stddev_samp"),
        *("sum", "var_pop", "var_samp", "variance"),
    }
)
"""The parser knows more words than Spark, which raises for those."""
_ACCURACY = Literal("10000", "int")
"""Of approx_percentile, where the statement names none."""
_TIMESTAMPS = {
    exp.DataType.Type.TIMESTAMPTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPLTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPNTZ: "timestamp_ntz",
}
"""The parser writes others as TIMESTAMP too: DATETIME, which Spark hasn't, and functions."""
_SAFE_CASTS = {
    ("int", "bigint"),
    ("int", "double"),
    ("bigint", "double"),
    ("float", "double"),
    ("int", "string"),
    ("bigint", "string"),
    ("date", "string"),
    ("date", "timestamp_ntz"),
}


class NameScope(Protocol):
    """Where names are looked up; `zone` is the session's time zone."""

    zone: str | None

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """What the name stands for; DeclinedError where the name is unknown or ambiguous."""
        ...


def bind(node: exp.Expression, scope: NameScope) -> Expr:
    """The bound form of a scalar or aggregate expression."""
    kind = type(node)
    if kind in _BOUND:
        check_read(node)
        check_operands(node)
        check_word(node)
    if kind is exp.Column:
        return _column(node, scope)
    if kind is exp.Paren:
        return bind(node.this, scope)
    if kind is exp.Literal:
        return literal_of(node)
    if kind is exp.Placeholder and isinstance(node.this, Parameter):
        return node.this
    if kind in BINARY:
        return _of_two(BINARY[kind], node, scope)
    if kind is exp.And or kind is exp.Or:
        return _logical(kind, node, scope)
    if kind in _AGGREGATES or kind is exp.Count:
        _check_word(node)
        return _aggregate(node, scope)
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(node, scope)
    if kind in DATE_PARTS:
        inner = of_date(node.this)
        return _part(DATE_PARTS[kind], bind(inner, scope), scope)
    if kind in TIME_PARTS:
        return _part(TIME_PARTS[kind], bind(node.this, scope), scope)
    function = function_of(node)
    if function is not None:
        return _of_table(function, node, scope)
    raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")


def bind_condition(node: exp.Expression, scope: NameScope, *, void: bool = False) -> Expr:
    """As `bind`, where Spark wants a boolean; it refuses anything else, so that is left to it.

    A bare NULL is one only in some places (`void`): under AND, OR and NOT, in `if` and HAVING.
    """
    return _condition(bind(node, scope), node, void=void)


def _condition(expr: Expr, node: exp.Expression, *, void: bool) -> Expr:
    if expr.type != "boolean" and not (void and expr.type == "void"):
        raise DeclinedError("expression_unsupported", f"As a condition: {_text(node)}.")
    return expr


def boolean(op: str, *args: Expr) -> Call:
    """A call whose result is true, false or unknown."""
    return Call(op, args, "boolean")


def _text(node: exp.Expression | None) -> str:
    """The text, also of an argument that isn't there."""
    return "nothing" if node is None else node.sql(dialect="spark")[:80]


def _column(node: exp.Expression, scope: NameScope) -> Expr:
    if isinstance(node.this, exp.Star):
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    parts: tuple[str, ...] = (node.text("catalog"), node.text("db"), node.text("table"))
    return scope.column(tuple(part for part in parts if part), node.name)


def _field(node: exp.Expression, scope: NameScope) -> Expr:
    parts = field_parts(node)
    if parts is None:
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    return scope.column(parts[:-1], parts[-1])


def _logical(kind: type[exp.Expression], node: exp.Expression, scope: NameScope) -> Expr:
    """AND and OR chains are flattened without recursion: they can be thousands of terms long."""
    terms, stack = [], [node]
    while stack:
        current = stack.pop()
        if type(current) is exp.Paren and type(current.this) is kind:
            stack.append(current.this)
        elif type(current) is kind:
            stack += (current.expression, current.this)
        else:
            terms.append(bind_condition(current, scope, void=True))
    return boolean("and" if kind is exp.And else "or", *terms)


def _of_table(function: SparkFunction, node: exp.Expression, scope: NameScope) -> Expr:
    """A function of the table."""
    check_word(node)
    unit = node.args.get("unit")
    if unit is not None and unit.name != "DAY":
        raise DeclinedError("expression_unsupported", f"The unit of {_text(node)}.")
    args = [bind(of_date(arg), scope) for arg in arguments(function, node)]
    return bind_call(function, args, scope.zone)


def _of_two(op: str, node: exp.Expression, scope: NameScope) -> Expr:
    found = bind_sum(op, node, lambda one: bind(one, scope), scope.zone)
    if found is not None:
        return found
    left, right = bind(node.this, scope), bind(node.expression, scope)
    if op in types.COMPARISONS:
        return _comparison(op, left, right, scope)
    if op in DAYS_LATER and left.type == "date" and right.type == "int":
        return bind_call(BY_OP[DAYS_LATER[op]], [left, right], scope.zone)
    left = left if is_written(node.this) else widened(left, right)
    right = right if is_written(node.expression) else widened(right, left)
    return Call(op, (left, right), types.arithmetic(op, *number_types(left, right)))


def _comparison(op: str, left: Expr, right: Expr, scope: NameScope) -> Call:
    return boolean(op, compared(left, right, scope.zone), compared(right, left, scope.zone))


def _typed(call: Call, *wanted: str) -> Call:
    """The call without its type where an argument isn't of the type that the function takes."""
    if all(arg.type == want for arg, want in zip(call.args, wanted, strict=False)):
        return call
    return Call(call.op, call.args, None)


def of_date(node: exp.Expression) -> exp.Expression:
    """Without the cast that the parser puts around a date part's argument."""
    if isinstance(node, exp.TsOrDsToDate) and written_name(node) is None:
        check_read(node)
        return node.this  # type: ignore[no-any-return]
    return node


def _part(op: str, argument: Expr, scope: NameScope) -> Call:
    """A part of a date, or of a timestamp where the session's time zone is UTC."""
    utc, argument = is_utc(scope.zone), on_clock(argument, scope.zone)
    if op in types.DATE_PARTS:
        return _typed(Call(op, (as_date(argument, utc=utc),), "int"), "date")
    known = argument.type == "timestamp_ntz" or (utc and argument.type == "timestamp")
    return Call(op, (argument, UTC), "int") if known else Call(op, (argument,), None)


def _extract(node: exp.Expression, scope: NameScope) -> Expr:
    op = _EXTRACTED.get(node.name.lower())
    if op is None or not isinstance(node.this, exp.Var):
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    argument = bind(node.expression, scope)
    if argument.type not in ("date", *types.TIMESTAMPS):
        raise DeclinedError("expression_unsupported", f"Of other than a time: {_text(node)}.")
    return _part(op, argument, scope)


def _grouping(node: exp.Expression, scope: NameScope) -> Expr:
    """Which keys a row's grouping set lacks: of one key, or of all as bits."""
    if isinstance(node, exp.Grouping) and len(node.expressions) != 1:
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    op, type_ = (
        ("grouping", "tinyint") if isinstance(node, exp.Grouping) else ("grouping_id", "bigint")
    )
    return Call(op, tuple(bind(item, scope) for item in node.expressions), type_)


def _to_date(node: exp.Expression, scope: NameScope) -> Expr:
    """Casts a date, a timestamp or a text; only the last may raise."""
    argument = on_clock(bind(node.this, scope), scope.zone)
    argument = as_date(argument, utc=is_utc(scope.zone))
    if isinstance(argument, Literal) and argument.type == "string":
        argument = date_literal(argument.value) or argument
    elif argument.type == "string":
        return Call("cast", (argument, Literal("date", TYPE)), "date")
    if argument.type != "date":
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    return argument


def _cast(node: exp.Expression, scope: NameScope) -> Expr:
    kind = node.args["to"]
    target = kind.sql(dialect="spark").lower().replace(", ", ",")
    if isinstance(node.this, exp.HexString) and target == "string":
        return _text_of_bytes(node)
    inner = bind(node.this, scope)
    if target.startswith("timestamp"):
        target = _TIMESTAMPS.get(kind.this, "")
    folded: Expr | None = None
    if isinstance(inner, Literal):
        folded = cast_literal(inner, target, scope.zone)
    elif isinstance(inner, Parameter) and target == "date":
        folded = date_parameter(inner)
    elif isinstance(inner, Parameter) and inner.type == "string" and target in types.TIMESTAMPS:
        folded = time_parameter(inner, target)
    if folded is not None:
        return folded
    if inner.type == target:
        return inner
    if (inner.type, target) in _SAFE_CASTS:
        return Call("cast", (inner, Literal(target, "type")), target)
    utc = is_utc(scope.zone)
    if target in ("date", "string"):
        inner = on_clock(inner, scope.zone)
    if target == "date" and as_date(inner, utc=utc).type == "date":
        return as_date(inner, utc=True)
    cast = None if isinstance(inner, (Literal, Parameter)) else cast_of(inner.type, target)
    if types.widens(inner.type, target):
        return Call("cast", (inner, Literal(target, TYPE)), target)
    if cast is not None and (utc or not cast.zoned) and not (node.args.get("safe") and cast.raises):
        place = (UTC,) if cast.zoned else ()
        return Call("cast", (inner, Literal(target, TYPE), *place), target)
    raise DeclinedError("expression_unsupported", f"The cast {_text(node)}.")


def _text_of_bytes(node: exp.Expression) -> Literal:
    """`CAST(X'4f27' AS STRING)`, as parameters are written that have quotes in them."""
    try:
        return Literal(bytes.fromhex(node.this.this).decode(), "string")
    except ValueError as error:
        raise DeclinedError("expression_unsupported", f"The cast {_text(node)}.") from error


def _neg(node: exp.Expression, scope: NameScope) -> Expr:
    inner = bind(node.this, scope)
    if isinstance(inner, Literal) and types.is_numeric(inner.type) and inner.value[0] != "-":
        type_: str | None = inner.type
        if isinstance(node.this, exp.Literal):
            # -2147483648 is an int, -(2147483648) no longer; -5L is a bigint as 5L is.
            type_ = types.literal_number_type("-" + inner.value)
        return Literal("-" + inner.value, inner.type if type_ is None else type_)
    return Call("neg", (inner,), inner.type if types.is_numeric(inner.type) else None)


def _between(node: exp.Expression, scope: NameScope) -> Expr:
    if node.args.get("symmetric"):
        raise DeclinedError("expression_unsupported", "BETWEEN SYMMETRIC.")
    value = bind(node.this, scope)
    check_repeated(value)
    low, high = bind(node.args["low"], scope), bind(node.args["high"], scope)
    bounds = (_comparison(">=", value, low, scope), _comparison("<=", value, high, scope))
    return boolean("and", *bounds)


def _in(node: exp.Expression, scope: NameScope) -> Expr:
    if node.args.get("query") or node.args.get("unnest") or not node.expressions:
        raise DeclinedError("expression_unsupported", "A subquery in IN.")
    value = bind(node.this, scope)
    items = [compared(bind(item, scope), value, scope.zone) for item in node.expressions]
    return boolean("in", value, *items)


def _is(node: exp.Expression, scope: NameScope) -> Expr:
    value = bind(node.this, scope)
    if isinstance(node.expression, exp.Null):
        return boolean("is_null", value)
    if isinstance(node.expression, exp.Boolean) and value.type == "boolean":
        return boolean("<=>", value, bind(node.expression, scope))
    raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")


def _case(node: exp.Expression, scope: NameScope) -> Expr:
    args: list[Expr] = []
    operand = None if node.this is None else bind(node.this, scope)
    if operand is not None:
        check_repeated(operand, len(node.args["ifs"]))
    for branch in node.args["ifs"]:
        if operand is None:
            condition = bind_condition(branch.this, scope)
        else:
            condition = _comparison("=", operand, bind(branch.this, scope), scope)
        args += (condition, bind(branch.args["true"], scope))
    default = node.args.get("default")
    return _case_call(args, bind(default, scope) if default is not None else None)


def _if(node: exp.Expression, scope: NameScope) -> Expr:
    if node.args.get("false") is None:
        raise DeclinedError("expression_unsupported", f"Of two arguments: {_text(node)}.")
    args = [bind_condition(node.this, scope, void=True), bind(node.args["true"], scope)]
    other = bind(node.args["false"], scope)
    if {args[1].type, other.type} == {"boolean", "void"} and _is_constant(args[1], other):
        raise DeclinedError("folded_null")  # Spark makes an AND or OR of it, as of no CASE
    return _case_call(args, other)


def _is_constant(*exprs: Expr) -> bool:
    """Whether no column stands in any of them."""
    return not any(columns(expr) for expr in exprs)


def _case_call(args: list[Expr], default: Expr | None) -> Call:
    args.append(default if default is not None else Literal("NULL", "void"))
    type_ = types.common([r.type for r in (*args[1:-1:2], args[-1])])
    last = len(args) - 1
    widened = [_widened(a, type_) if i % 2 or i == last else a for i, a in enumerate(args)]
    return Call("case", tuple(widened), type_)


def _widened(expr: Expr, type_: str | None) -> Expr:
    """The branch with the cast that Spark adds unseen: engines widen by rules of their own."""
    if type_ is None or expr.type in (type_, "void"):
        return expr
    return Call("cast", (expr, Literal(type_, "type")), type_)


def _coalesce(node: exp.Expression, scope: NameScope) -> Expr:
    args = [bind(a, scope) for a in (node.this, *node.expressions)]
    type_ = types.common([a.type for a in args])
    return Call("coalesce", tuple(_widened(a, type_) for a in args), type_)


def _date_trunc(node: exp.Expression, scope: NameScope) -> Expr:
    unit, written = UNITS.get(node.args["unit"].name.upper()), node.meta.get("unit") or ""
    of_date = isinstance(node, exp.DateTrunc)
    if unit is None or UNITS.get(written) != unit or (of_date and unit not in OF_DATES):
        raise DeclinedError("expression_unsupported", f"The unit of {_text(node)}.")
    inner, utc = bind(node.this, scope), is_utc(scope.zone)
    if of_date:
        return truncated_date(unit, as_date(on_clock(inner, scope.zone), utc=utc))
    if utc and inner.type in ("date", *types.TIMESTAMPS):
        return truncated(unit, inner)
    found = truncated_on_clock(unit, inner, scope.zone)
    return found or Call("date_trunc", (Literal(unit, UNIT), inner), None)


def _concat(node: exp.Expression, scope: NameScope) -> Expr:
    if not node.args.get("safe"):
        # Literals side by side: 'it''s' is one quote to Spark and none to the parser.
        raise DeclinedError("expression_unsupported", f"Adjacent literals: {_text(node)}.")
    return bind_call(BY_OP["concat"], [bind(a, scope) for a in node.expressions], scope.zone)


def _piped(node: exp.Expression, scope: NameScope) -> Expr:
    """`a || b || c`, which Spark takes as calls within calls."""
    terms: list[exp.Expression] = []
    while isinstance(node, exp.DPipe):
        terms.append(node.expression)
        node = node.this
    args = [bind(term, scope) for term in (node, *reversed(terms))]
    return bind_call(BY_OP["concat"], args, scope.zone)


def _nullif(node: exp.Expression, scope: NameScope) -> Expr:
    """CASE WHEN a = b THEN NULL ELSE a END, as which Spark computes it."""
    value, other = bind(node.this, scope), bind(node.expression, scope)
    check_repeated(value)
    return Call("case", (_comparison("=", value, other, scope), NULL, value), value.type)


def _trim(node: exp.Expression, scope: NameScope) -> Expr:
    """`TRIM(BOTH a FROM b)`."""
    op = _TRIMMED.get(node.text("position").upper())
    if op is None:
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    given = [one for one in (node.expression, node.this) if one is not None]
    return bind_call(BY_OP[op], [bind(one, scope) for one in given], scope.zone)


def _timestamp_add(node: exp.Expression, scope: NameScope) -> Expr:
    at, count = bind(node.this, scope), bind(node.expression, scope)
    return added(at, node.text("unit").upper(), count, scope.zone)


def _like(node: exp.Expression, scope: NameScope) -> Expr:
    pattern = bind(node.expression, scope)
    if not isinstance(pattern, Literal) or pattern.type != "string" or "\\" in pattern.value:
        raise DeclinedError("expression_unsupported", "LIKE with an escape or a computed pattern.")
    op = "ilike" if isinstance(node, exp.ILike) else "like"
    found = boolean(op, bind(node.this, scope), pattern)
    return boolean("not", found) if node.args.get("negate") else found


def _rlike(node: exp.Expression, scope: NameScope) -> Expr:
    """Only by a pattern that surely raises nothing; a raw text is one as well."""
    raw = isinstance(node.expression, exp.RawString)
    pattern = Literal(node.expression.name, "string") if raw else bind(node.expression, scope)
    value = bind(node.this, scope)
    if not isinstance(pattern, Literal) or pattern.type != "string" or value.type != "string":
        raise DeclinedError("expression_unsupported", "RLIKE by a computed pattern.")
    if reading_of(pattern.value) is None:
        raise DeclinedError("expression_unsupported", f"The pattern {pattern.value[:80]}.")
    return boolean("rlike", value, pattern)


def _contains(node: exp.Expression, scope: NameScope) -> Expr:
    args = bind(node.this, scope), bind(node.expression, scope)
    if any(a.type != "string" for a in args):
        raise DeclinedError("expression_unsupported", f"{_text(node)} over other than texts.")
    return boolean(CONTAINS[type(node)], *args)


_TRIMMED = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
CONTAINS: dict[type[exp.Expression], str] = {
    exp.Contains: "contains",
    exp.StartsWith: "startswith",
    exp.EndsWith: "endswith",
}


def _not(node: exp.Expression, scope: NameScope) -> Expr:
    return boolean("not", bind_condition(node.this, scope, void=True))


def _filter(node: exp.Expression, scope: NameScope) -> Expr:
    found = filtered(bind(node.this, scope), bind_condition(node.expression.this, scope))
    if found is None:
        raise DeclinedError("aggregate_unsupported", f"Here: {_text(node)}.")
    return found


def _row_call(node: exp.Expression, scope: NameScope) -> Expr:
    return bind_row_call(node, lambda inner: bind(inner, scope))


def _aggregate(node: exp.Expression, scope: NameScope) -> Expr:
    function = _AGGREGATES.get(type(node), "count")
    distinct = isinstance(node.this, exp.Distinct)
    starred = type(node.this) is exp.Star
    if starred and (function != "count" or node.expressions or any(node.this.args.values())):
        # Only count(*) alone counts rows; any other star stands for its columns.
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    if distinct:
        arguments = node.this.expressions
    elif starred:
        arguments = []
    else:
        arguments = [node.this, *node.expressions]
    unknown = {"accuracy", "weight", "error_tolerance", "order"}
    if function == "approx_count_distinct" and _is_coarse(node.args.get("accuracy")):
        unknown.remove("accuracy")
    if any(node.args.get(name) for name in unknown):
        raise DeclinedError("aggregate_unsupported", f"Here: {_text(node)}.")
    if not starred and (not arguments or None in arguments):
        raise DeclinedError("expression_unsupported", f"Without an argument: {_text(node)}.")
    args = tuple(bind(a, scope) for a in arguments)
    if function in ("count_if", "bool_and", "bool_or") and args:
        _condition(args[0], node, void=True)
    if any(isinstance(inner, Aggregate) for inner in args):
        raise DeclinedError("aggregate_unsupported", "An aggregate inside an aggregate.")
    if function == "count" and not distinct and all(_never_null(a) for a in args):
        args = ()
    type_ = types.aggregate_type(function, [a.type for a in args])
    return Aggregate(function, args, distinct, None, type_)


def _is_coarse(error: exp.Expression | None) -> bool:
    """Whether a sketch of any cube is as fine as the standard error asks, which Spark allows."""
    if not isinstance(error, exp.Literal) or error.is_string:
        return False
    return _SKETCH_ERROR <= float(error.name) <= _ERROR_MAX


def _by_word(node: exp.Expression, scope: NameScope) -> Expr:
    """What the parser doesn't know: ours, or an aggregate under another of Spark's words."""
    if written_name(node) in OURS:
        return _token_test(node, scope)
    function = function_of(node)
    if function is not None:
        return _of_table(function, node, scope)
    kind = AGGREGATE_WORDS.get(written_name(node) or "")
    arguments = [node.this] if isinstance(node, exp.Any) else node.expressions
    if kind is None or len(arguments) != 1:
        raise DeclinedError("expression_unsupported", f"Here: {_text(node)}.")
    return _aggregate(kind(this=arguments[0]), scope)


def _token_test(node: exp.Expression, scope: NameScope) -> Expr:
    args = [bind(argument, scope) for argument in node.expressions]
    if [a.type for a in args] != ["string", "string"]:
        raise DeclinedError("expression_unsupported", f"{_text(node)} over other than two texts.")
    if not isinstance(args[1], Literal) or "\\" in args[1].value:
        raise DeclinedError(
            "expression_unsupported", f"Words with an escape, or computed: {_text(node)}."
        )
    return boolean(str(written_name(node)), *args)


def _check_word(node: exp.Expression) -> None:
    """Declines words that only the parser knows: Spark raises for them."""
    if (written_name(node) or "count") not in _SPARKS_WORDS:
        raise DeclinedError("expression_unsupported", f"The function {written_name(node)}.")


def _approx_percentile(node: exp.Expression, scope: NameScope) -> Expr:
    """Always of three arguments: the value, the percentage as a double, the accuracy as an int."""
    _check_word(node)
    accuracy = node.args.get("accuracy")
    unknown = any(node.args.get(name) for name in ("weight", "error_tolerance"))
    quantile = node.args.get("quantile")
    several = isinstance(quantile, exp.Array)
    if quantile is None or unknown or several or isinstance(node.this, exp.Distinct):
        raise DeclinedError("aggregate_unsupported", f"Here: {_text(node)}.")
    argument, share = bind(node.this, scope), bind(quantile, scope)
    fine = _ACCURACY if accuracy is None else bind(accuracy, scope)
    if has_aggregate(argument):
        raise DeclinedError("aggregate_unsupported", "An aggregate inside an aggregate.")
    if not is_number_within(share, 0, 1):
        raise DeclinedError("aggregate_unsupported", f"Not one number of 0 to 1: {_text(node)}.")
    if not is_number_within(fine, 1, 2**31 - 1) or fine.type not in types.EXACT:
        raise DeclinedError("aggregate_unsupported", f"The accuracy of {_text(node)}.")
    args = (
        argument,
        Literal(repr(float(share.value)), "double"),
        Literal(str(int(fine.value)), "int"),
    )
    type_ = argument.type if types.is_numeric(argument.type) else None
    return Aggregate("approx_percentile", args, False, None, type_)


def _never_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.type != "void"


_Binder = Callable[[exp.Expression, NameScope], Expr]
_SPECIAL: dict[type[exp.Expression], _Binder] = {
    exp.Anonymous: _by_word,
    exp.Dot: _field,
    exp.Any: _by_word,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Neg: _neg,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.DPipe: _piped,
    exp.Nullif: _nullif,
    exp.TimestampAdd: _timestamp_add,
    exp.Trim: _trim,
    exp.TimestampTrunc: _date_trunc,
    exp.DateTrunc: _date_trunc,
    exp.Extract: _extract,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
    exp.TsOrDsToDate: _to_date,
    exp.Concat: _concat,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _rlike,
    **dict.fromkeys(CONTAINS, _contains),
    **dict.fromkeys(ROW_CALLS, _row_call),
    exp.Not: _not,
    exp.Filter: _filter,
    exp.ApproxQuantile: _approx_percentile,
    exp.Boolean: lambda node, _: Literal("true" if node.this else "false", "boolean"),
    exp.Null: lambda _node, _scope: Literal("NULL", "void"),
}
_BOUND = frozenset({*BINARY, *DATE_PARTS, *TIME_PARTS, *_AGGREGATES, *_SPECIAL}) | {
    *(exp.Column, exp.Paren, exp.Literal, exp.And, exp.Or, exp.Count)
}
_SKETCH_ERROR = 0.0082
"""The standard error of an HLL sketch of 2^14 registers is 0.8125 %."""
_ERROR_MAX = 0.26
