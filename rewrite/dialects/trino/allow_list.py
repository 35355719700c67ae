"""The allow-list of Trino's functions and operators, each with the kinds of operands it allows.

A node whose type isn't listed, or whose operands have other kinds, is refused. A kind that isn't
known is another kind. Rules (`rules.RULES`) may refuse more: a format, a constant, a zone.
`tests/rewrite/test_trino_walk.py` walks the whole list beside the answers of a real Trino.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from rewrite.dialects.refusal import unlisted
from rewrite.dialects.rule import Context, UnsureMeaningError
from rewrite.dialects.scopes import ALIAS, BOTH, RESOLVED, UNLIKE
from rewrite.dialects.trino.exact_types import OPERAND, is_of_rows
from rewrite.dialects.value_kinds import Kind, interval_of
from rewrite.errors import UnknownColumnError

Group = frozenset[Kind | None]
"""Kinds that operands of one call may have together."""


def _groups(*texts: str) -> tuple[Group, ...]:
    return tuple(frozenset(text.split()) for text in texts)  # type: ignore[arg-type]


_EXACT = "whole decimal"
_INEXACT_BESIDE = frozenset({"whole", "decimal"})
"""Beside a REAL these are REALs in Trino, doubles in Spark."""
_NUMBERS = _groups("whole decimal double", "real double")
_EACH_NUMBER = _groups("whole", "decimal", "double", "real")
_SIMPLE = _groups("string", "date local", "moment", "boolean", "bytes")
COMPARED = (*_NUMBERS, *_groups("real whole decimal", "moment local date"), *_SIMPLE)
COMPUTED = (*_NUMBERS, *_groups("real whole decimal"))
VALUES = (*_NUMBERS, *_SIMPLE)
ORDERED = (*_EACH_NUMBER, *_groups("string", "date", "local", "moment", "boolean", "bytes"))
TEXT = _groups("string")
TRUTH = _groups("boolean")
TIMES = _groups("date", "local", "moment")
CLOCKS = _groups("local", "moment")
_WHOLE = _groups("whole")
_DATED = frozenset({"YEAR", "MONTH", "DAY"})
_INTERVALS = _DATED | {"HOUR", "MINUTE", "SECOND"}


class Alike(Struct, frozen=True):
    """The kinds that a node's operands may have: all of `parts` together are of one group."""

    groups: tuple[Group, ...]
    parts: tuple[str, ...] = ("this",)


_BOTH = ("this", "expression")
_SIDES = ("this", "expression", "low", "high", "expressions")
ALIKE: Mapping[type[exp.Expr], Alike] = {
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), Alike(COMPARED, _BOTH)),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), Alike(COMPARED, _BOTH)),
    **dict.fromkeys((exp.Between, exp.In), Alike(COMPARED, _SIDES)),
    exp.Nullif: Alike((*_NUMBERS, *_groups("string", "date", "local", "boolean", "moment")), _BOTH),
    **dict.fromkeys((exp.And, exp.Or), Alike(TRUTH, _BOTH)),
    **dict.fromkeys((exp.Not, exp.CountIf, exp.LogicalAnd, exp.LogicalOr), Alike(TRUTH)),
    **dict.fromkeys((exp.Where, exp.Having), Alike(TRUTH)),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod), Alike(COMPUTED, _BOTH)),
    **dict.fromkeys((exp.Neg, exp.Abs, exp.Ceil, exp.Floor, exp.Sum, exp.Avg), Alike(_EACH_NUMBER)),
    **dict.fromkeys((exp.Stddev, exp.StddevPop, exp.StddevSamp), Alike(_EACH_NUMBER)),
    **dict.fromkeys((exp.Variance, exp.VariancePop), Alike(_EACH_NUMBER)),
    exp.Round: Alike(_groups("whole", "decimal", "double")),
    **dict.fromkeys((exp.Min, exp.Max, exp.ApproxDistinct), Alike(ORDERED)),
    exp.AnyValue: Alike(ORDERED),
    exp.ApproxQuantile: Alike(_groups("whole", "double")),
    **dict.fromkeys((exp.CovarSamp, exp.CovarPop), Alike(_groups("double"), _BOTH)),
    **dict.fromkeys((exp.Greatest, exp.Least), Alike(VALUES, ("this", "expressions"))),
    exp.Coalesce: Alike(VALUES, ("this", "expressions")),
    **dict.fromkeys((exp.Lower, exp.Upper, exp.Substring), Alike(TEXT)),
    exp.Length: Alike(_groups("string", "bytes")),
    exp.Format: Alike(_groups("string whole"), ("this", "expressions")),
    **dict.fromkeys((exp.Like, exp.RegexpLike, exp.StartsWith), Alike(TEXT, _BOTH)),
    exp.DPipe: Alike(_groups("string", "bytes"), _BOTH),
    exp.Concat: Alike(_groups("string", "bytes"), ("expressions",)),
    exp.ConcatWs: Alike(TEXT, ("expressions",)),
    **dict.fromkeys((exp.RegexpExtract, exp.SplitPart, exp.Split, exp.Trim), Alike(TEXT)),
    **dict.fromkeys((exp.Reverse, exp.Pad, exp.StrToTime, exp.Encode), Alike(TEXT)),
    **dict.fromkeys((exp.RegexpReplace, exp.Replace), Alike(TEXT, ("this", "replacement"))),
    exp.StrPosition: Alike(TEXT, ("this", "substr")),
    exp.Unhex: Alike(TEXT),
    **dict.fromkeys((exp.Decode, exp.Hex, exp.LowerHex), Alike(_groups("bytes"))),
    **dict.fromkeys((exp.MD5Digest, exp.SHA2Digest), Alike(_groups("bytes"))),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear), Alike(TIMES)),
    **dict.fromkeys((exp.Quarter, exp.DayOfWeekIso, exp.WeekOfYear, exp.YearOfWeek), Alike(TIMES)),
    **dict.fromkeys((exp.LastDay, exp.Date, exp.TimeToStr), Alike(TIMES)),
    **dict.fromkeys((exp.Hour, exp.Minute, exp.Second), Alike(TIMES)),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc, exp.DateAdd), Alike(TIMES)),
    exp.DateDiff: Alike(TIMES, _BOTH),
    exp.AtTimeZone: Alike(CLOCKS),
    exp.TimeToUnix: Alike(_groups("moment", "local")),
    exp.UnixToTime: Alike(_groups("whole", "double")),
    exp.FromISO8601Timestamp: Alike(TEXT),
    exp.Log: Alike(_NUMBERS, _BOTH),
    **dict.fromkeys((exp.Pow, exp.Atan2), Alike((*_NUMBERS, *_groups(_EXACT + " real")), _BOTH)),
    **dict.fromkeys((exp.Ln, exp.Sqrt, exp.Cbrt, exp.Exp, exp.IsNan), Alike(_EACH_NUMBER)),
    **dict.fromkeys((exp.Sin, exp.Cos, exp.Tan, exp.Asin, exp.Acos, exp.Atan), Alike(_EACH_NUMBER)),
    **dict.fromkeys((exp.Degrees, exp.Radians), Alike(_EACH_NUMBER)),
}
"""Functions and operators, and the kinds of operands for which they mean the same in Spark.

They do so as they are, or as the rule of the same node writes them.
"""
CASTS: Mapping[str, Group] = {
    "double": frozenset({"whole", "decimal", "double", "real", "string", "boolean"}),
    "decimal": frozenset({"whole", "decimal", "double", "string"}),
    "whole": frozenset({"whole", "string"}),
    "string": frozenset({"whole", "string", "date", "local", "moment", "decimal", "boolean"}),
    "date": frozenset({"date", "local", "moment", "string"}),
    "local": frozenset({"date", "local", "moment", "string"}),
    "moment": frozenset({"date", "local", "moment", "string"}),
    "real": frozenset({"string"}),
}
"""The kinds that a cast to a kind may be of; `_cast` of the rules refuses more."""
_FREE = (
    *(exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.Values, exp.Tuple),
    *(exp.From, exp.Table, exp.TableAlias, exp.Version, exp.With, exp.CTE, exp.Group),
    *(exp.GroupingSets, exp.Rollup, exp.Cube, exp.Order, exp.Ordered, exp.Limit, exp.Offset),
    *(exp.Fetch, exp.LimitOptions, exp.Column, exp.Identifier, exp.Dot, exp.Star, exp.Alias),
    *(exp.Paren, exp.Null, exp.Boolean, exp.Literal, exp.Var, exp.HexString, exp.Exists),
    *(exp.Window, exp.WindowSpec, exp.DataType, exp.DataTypeParam, exp.Distinct, exp.Pi),
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Grouping),
    *(exp.FirstValue, exp.LastValue, exp.Case, exp.If, exp.Is, exp.Count, exp.Interval),
    *(exp.Cast, exp.TryCast, exp.Add, exp.Sub, exp.Extract),
    *(exp.ArrayAgg, exp.ArgMax, exp.ArgMin, exp.ArraySize, exp.ArrayToString, exp.GroupConcat),
    *(
        exp.Escape,
        exp.Array,
        exp.Bracket,
        exp.Anonymous,
        exp.Lag,
        exp.Lead,
        exp.Filter,
        exp.Join,
        exp.Ntile,
        exp.Typeof,
        exp.ArraySort,
        exp.Unnest,
        exp.GenerateSeries,
    ),
)
"""Structure, and nodes that a check of their own, or their rule, judges."""


def check(node: exp.Expr, context: Context) -> None:
    """UnsureMeaningError unless the node is known to be alike for the kinds of its operands."""
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        _check_in(node, context)
        return
    if isinstance(node, exp.Mul) and interval_of(node) is not None:
        _check_multiple(node, context)
        return
    alike = ALIKE.get(type(node))
    if alike is not None:
        _check_group(_operands(node, alike.parts), alike.groups, context)
        return
    if not isinstance(node, _FREE):
        raise UnsureMeaningError(unlisted(node))
    own = _CHECKS.get(type(node))
    if own is not None:
        own(node, context)


def _operands(node: exp.Expr, parts: Iterable[str]) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for part in parts:
        value = node.args.get(part)
        found += value if isinstance(value, list) else [] if value is None else [value]
    return [_undistinct(one) for one in found]


def _undistinct(node: exp.Expr) -> exp.Expr:
    alone = isinstance(node, exp.Distinct) and len(node.expressions) == 1
    return node.expressions[0] if alone else node


def _check_group(operands: Iterable[exp.Expr], groups: Iterable[Group], context: Context) -> None:
    kinds = {context.of(one) for one in operands} - {"nothing"}
    if kinds and not any(kinds <= group for group in groups):
        raise UnsureMeaningError(_why(kinds), _HINT)


def _why(kinds: Iterable[Kind | None]) -> str:
    if None in kinds:
        return "the type of an operand isn't known"
    shown = " and ".join(sorted(_SHOWN[kind] for kind in kinds if kind is not None))
    return f"it isn't known to be the same of {shown}"


def _check_in(node: exp.In, context: Context) -> None:
    """The columns of the query that values are looked for in are alike the values."""
    query = node.args["query"]
    left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    inner = query.this if isinstance(query, exp.Subquery) else query
    if len(left) == 1:
        _check_group([left[0], query], COMPARED, context)
        return
    shown = inner.expressions if isinstance(inner, exp.Select) and not inner.is_star else []
    if len(shown) != len(left):
        raise UnsureMeaningError("the columns of the query aren't known", _HINT)
    for one, other in zip(left, shown, strict=True):
        if "real" in (kinds := {context.of(one), context.of(other)}) and kinds & _INEXACT_BESIDE:
            raise UnsureMeaningError(_why(kinds), _HINT)
        _check_group([one, other], COMPARED, context)


def _check_case(node: exp.Expr, context: Context) -> None:
    ifs, operand = node.args.get("ifs") or [], node.args.get("this")
    values = [one.args.get("true") for one in ifs]
    values += [node.args["default"]] if node.args.get("default") is not None else []
    _check_values(values, context)
    if operand is not None:
        _check_group([operand, *(one.this for one in ifs)], COMPARED, context)


def _check_if(node: exp.Expr, context: Context) -> None:
    if isinstance(node.parent, exp.Case):
        if node.parent.args.get("this") is None:
            _check_group([node.this], TRUTH, context)
        return
    _check_group([node.this], TRUTH, context)
    values = [node.args.get(part) for part in ("true", "false")]
    _check_values([one for one in values if one is not None], context)


def _check_values(values: Iterable[exp.Expr | None], context: Context) -> None:
    """Values of one column: of one kind, or brought to one alike; one alone may be anything."""
    given = [one for one in values if one is not None and not isinstance(one, exp.Null)]
    if len(given) > 1:
        _check_group(given, VALUES, context)


def _check_is(node: exp.Expr, _: Context) -> None:
    if not isinstance(node.args["expression"], exp.Null):
        raise UnsureMeaningError("Trino has IS for NULL alone", "compare it by =")


def _check_count(node: exp.Expr, _: Context) -> None:
    operand = node.args.get("this")
    several = isinstance(operand, exp.Distinct) and len(operand.expressions) > 1
    if several or node.args.get("expressions"):
        raise UnsureMeaningError("Trino counts one expression", "count rows of a subquery")


def _check_sum(node: exp.Expr, context: Context) -> None:
    left, right = node.args["this"], node.args["expression"]
    first = interval_of(left)
    interval, time = (interval_of(right), left) if first is None else (first, right)
    if interval is None and _is_of_milliseconds(node):
        _check_group([left, right], _groups("date"), context)
        return
    if interval is None:
        _check_group([left, right], COMPUTED, context)
        return
    if time is right and isinstance(node, exp.Sub):
        raise UnsureMeaningError("an interval has no time taken away")
    _check_group([time], TIMES, context)
    if context.of(time) == "date" and interval.unit not in _DATED:
        raise UnsureMeaningError(
            "Trino adds days and longer units to a date", "CAST it AS TIMESTAMP"
        )


def _check_interval(node: exp.Expr, _: Context) -> None:
    unit = node.args.get("unit")
    if unit is not None and unit.name.upper().removesuffix("S") not in _INTERVALS:
        raise UnsureMeaningError("Trino has no intervals of that unit", "write it in days")
    above = node.parent
    while isinstance(above, exp.Paren) or (isinstance(above, exp.Mul) and interval_of(above)):
        above = above.parent
    if not isinstance(above, (exp.Add, exp.Sub, exp.WindowSpec, exp.GenerateSeries)):
        raise UnsureMeaningError("an interval is translated beside + and - alone")


def _is_of_milliseconds(node: exp.Expr) -> bool:
    """Returns whether `to_milliseconds` reads the difference, which is an interval there."""
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    is_call = isinstance(above, exp.Anonymous) and str(above.this).lower() == "to_milliseconds"
    return is_call and isinstance(node, exp.Sub)


def _check_milliseconds(node: exp.Expr, _: Context) -> None:
    operand = node.expressions[0] if str(node.this).lower() == "to_milliseconds" else None
    if operand is not None and not isinstance(operand.unnest(), exp.Sub):
        raise UnsureMeaningError("only milliseconds between two dates are")


def _check_multiple(node: exp.Expr, context: Context) -> None:
    """Products of longer numbers overflow in Trino without an error."""
    interval = interval_of(node)
    number = None if interval is None else interval.number
    if context.of(number) != "whole" or not context.kinds.is_short(number):
        raise UnsureMeaningError(
            "only numbers of units of up to 32 bits are", "CAST the number AS INTEGER"
        )


def _check_ntile(node: exp.Expr, _: Context) -> None:
    number = node.args.get("this")
    if not (isinstance(number, exp.Literal) and number.name.strip("0").isdigit()):
        raise UnsureMeaningError("only a constant number of buckets is")


def _check_filter(node: exp.Expr, context: Context) -> None:
    condition = node.args["expression"]
    if not isinstance(condition, exp.Where):
        _check_group([condition], TRUTH, context)


def _check_lag(node: exp.Expr, context: Context) -> None:
    """Spark counts backwards by a number below 0, Trino raises."""
    _check_values([node.this, node.args.get("default")], context)
    offset = node.args.get("offset")
    if offset is not None and not (isinstance(offset, exp.Literal) and offset.name.isdigit()):
        raise UnsureMeaningError("only constant numbers of rows from 0 on are")


def _check_extract(node: exp.Expr, context: Context) -> None:
    dated = node.name.upper() not in ("HOUR", "MINUTE", "SECOND")
    _check_group([node.args["expression"]], TIMES if dated else CLOCKS, context)


def _check_cast(node: exp.Expr, context: Context) -> None:
    operand = node.args["this"]
    kind, to = context.of(operand), context.of(node)
    if kind == "nothing" or (kind == "decimal" and to == "whole" and _is_whole(operand, context)):
        return
    if kind not in CASTS.get(to or "", frozenset()):
        why = "what is cast to that type may be rounded or written otherwise"
        raise UnsureMeaningError(_why({kind}) if kind is None else why)


def _is_whole(node: exp.Expr, context: Context) -> bool:
    """Returns whether a decimal is cut to a whole number, the same one in both."""
    if not isinstance(node.unnest(), (exp.Ceil, exp.Floor)):
        return False
    quotients = [one for one in node.find_all(exp.Div) if context.of(one) == "decimal"]
    return all(_is_exact(one, context) for one in quotients)


def _is_exact(node: exp.Div, context: Context) -> bool:
    """Returns whether the quotient has no more digits than its divisor, to which Trino rounds."""
    divisor = node.expression
    if context.of(node.this) != "whole" or not isinstance(divisor, exp.Literal):
        return False
    if context.of(divisor) not in ("whole", "decimal") or not divisor.name.strip("0."):
        return False
    digits = len(divisor.name.partition(".")[2])
    return (Fraction(10) ** digits / Fraction(divisor.name)).denominator == 1


def _check_typeof(node: exp.Expr, _: Context) -> None:
    """Checks that the operand neither raises nor groups, since a constant replaces the call."""
    if not is_of_rows(node.this):
        raise UnsureMeaningError(
            "only that of columns, of constants, and of what never raises over them, is"
        )
    if node.meta_get(OPERAND) is None:
        raise UnsureMeaningError("the exact type of its operand isn't known")


def _check_unnest(node: exp.Expr, _: Context) -> None:
    is_source = node.arg_key == "this" and isinstance(node.parent, (exp.From, exp.Join))
    if not is_source or not all(isinstance(one, exp.GenerateSeries) for one in node.expressions):
        raise UnsureMeaningError("only sequences in FROM are")


def _check_escape(node: exp.Expr, _: Context) -> None:
    escape = node.args["expression"]
    if not isinstance(escape, exp.Literal) or not escape.is_string or len(escape.name) != 1:
        raise UnsureMeaningError("only an escape of one constant letter is")
    if not isinstance(node.this, exp.Like) or isinstance(node.parent, exp.Predicate):
        raise UnsureMeaningError("what is first isn't known", "put parentheses")


def _check_set(node: exp.Expr, _: Context) -> None:
    """The columns of both branches by their places."""
    if node.meta_get(UNLIKE):
        raise UnsureMeaningError("columns of both sides aren't known to be of types alike", _HINT)


def _check_join(node: exp.Expr, context: Context) -> None:
    condition = node.args.get("on")
    if condition is not None:
        _check_group([condition], TRUTH, context)
    if node.meta_get(UNLIKE):
        raise UnsureMeaningError("columns of USING aren't known to be of types alike", _HINT)


def _check_rows(node: exp.Expr, context: Context) -> None:
    rows = [one.expressions if isinstance(one, exp.Tuple) else [one] for one in node.expressions]
    if len({len(row) for row in rows}) == 1:
        for column in zip(*rows, strict=True):
            _check_values(column, context)


def _check_frame(node: exp.Expr, context: Context) -> None:
    """Frames by values are of the keys' own arithmetic."""
    ends = (node.args.get("start"), node.args.get("end"))
    by_values = str(node.args.get("kind") or "ROWS").upper() == "RANGE"
    if by_values and any(isinstance(one, exp.Interval) for one in ends):
        _check_timed_frame(node, ends, context)
        return
    if by_values and any(isinstance(one, exp.Expr) for one in ends):
        order = node.parent.args.get("order") if node.parent is not None else None
        _check_group([one.this for one in order.expressions] if order else [], _WHOLE, context)
    for one in ends:
        if isinstance(one, exp.Expr) and not (isinstance(one, exp.Literal) and one.name.isdigit()):
            raise UnsureMeaningError("only constant numbers of rows are")


def _check_timed_frame(node: exp.Expr, ends: Iterable[object], context: Context) -> None:
    """Days of dates, and days to seconds of times without a zone, have one length in both."""
    order = node.parent.args.get("order") if node.parent is not None else None
    kinds = {context.of(one.this) for one in order.expressions} if order else {None}
    for one in ends:
        if not isinstance(one, exp.Expr):
            continue
        unit = one.args.get("unit") if isinstance(one, exp.Interval) else None
        name = "" if unit is None else str(unit.name).upper()
        units = {"DAY"} if kinds == {"date"} else {"DAY", "HOUR", "MINUTE", "SECOND"}
        number = one.this if unit is not None else None
        is_plain = isinstance(number, exp.Literal) and number.name.isdigit()
        if not kinds <= {"date", "local"} or not is_plain or name not in units:
            raise UnsureMeaningError(
                "only frames of constant days beside a date, or of days to seconds beside a"
                " TIMESTAMP, are"
            )


def _check_name(node: exp.Expr, context: Context) -> None:
    """Trino takes a name for an output's in ORDER BY alone, Spark in other clauses too."""
    found = node.meta_get(RESOLVED)
    if found not in (ALIAS, BOTH):
        return
    clause = _clause(node, context)
    if found == ALIAS and clause != "order":
        raise UnknownColumnError(
            f"Column `{node.name}` can't be resolved: it is the alias of an output, which only"
            " ORDER BY may name.",
            hint="repeat the expression, or give its place: GROUP BY 1",
            unknown=node.name,
        )
    if found == BOTH and clause == "having":
        if isinstance(node.find_ancestor(exp.AggFunc, exp.Query), exp.AggFunc):
            return
        raise UnsureMeaningError(
            "it's a column's name and an output's alias, and Spark takes the output",
            "qualify it by its table",
        )


def _clause(node: exp.Expr, context: Context) -> str:
    """Returns the part of the nearest SELECT in which the node is, such as `having`.

    Each operator is passed once: thousands of ANDs nest as deeply.
    """
    below, passed = node, list[int]()
    while below.parent is not None and not isinstance(below.parent, exp.Query):
        below = below.parent
        if isinstance(below, exp.Binary):
            if id(below) in context.clauses:
                break
            passed.append(id(below))
    found = context.clauses.get(id(below), str(below.arg_key or ""))
    context.clauses.update(dict.fromkeys(passed, found))
    return found


_CHECKS: Mapping[type[exp.Expr], Callable[[exp.Expr, Context], None]] = {
    exp.Column: _check_name,
    exp.Case: _check_case,
    exp.If: _check_if,
    exp.Is: _check_is,
    exp.Count: _check_count,
    **dict.fromkeys((exp.Add, exp.Sub), _check_sum),
    exp.Interval: _check_interval,
    exp.Filter: _check_filter,
    exp.Join: _check_join,
    exp.Ntile: _check_ntile,
    **dict.fromkeys((exp.Lag, exp.Lead), _check_lag),
    exp.Extract: _check_extract,
    exp.Escape: _check_escape,
    exp.Typeof: _check_typeof,
    exp.Unnest: _check_unnest,
    exp.Anonymous: _check_milliseconds,
    **dict.fromkeys((exp.Cast, exp.TryCast), _check_cast),
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _check_set),
    exp.Values: _check_rows,
    exp.WindowSpec: _check_frame,
}
_SHOWN: Mapping[str, str] = {
    "whole": "integers",
    "decimal": "DECIMAL",
    "double": "DOUBLE",
    "real": "REAL",
    "string": "VARCHAR",
    "date": "DATE",
    "local": "TIMESTAMP",
    "moment": "TIMESTAMP WITH TIME ZONE",
    "boolean": "BOOLEAN",
    "bytes": "VARBINARY",
    "array": "ARRAY",
    "map": "MAP",
    "row": "ROW",
    "other": "that type",
}
_HINT = "CAST the operands to one type, for example AS VARCHAR, DOUBLE, DATE or TIMESTAMP"
