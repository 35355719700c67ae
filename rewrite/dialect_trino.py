"""What of Trino's SQL is written out that other dialects don't have, or mean otherwise.

Each rule gives what stands in a node's place, or None where the rules of all dialects go on; it
raises `UnsureMeaningError` for what isn't surely the same in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from sqlglot import Token, TokenType, exp

from rewrite import dialect_times as times
from rewrite.dialect_kinds import KIND, Kind, Kinds

_BINARY = ("this", "expression")
PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    **dict.fromkeys((exp.DateAdd, exp.DateDiff), (*_BINARY, "unit")),
    **dict.fromkeys((exp.DayOfWeekIso, exp.WeekOfYear, exp.Date, exp.HexString), ("this",)),
    exp.Round: ("this", "decimals"),
    exp.Anonymous: ("this", "expressions"),
}
"""What may stand in a statement beside what may in those of every dialect."""


class UnsureMeaningError(ValueError):
    """Why something isn't surely the same in Spark, and how else it can be written."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule may ask: kinds of expressions, and `decimals`, where constants of DECIMAL stand.

    The parser takes `DECIMAL '1.5'` for a cast to decimal(38, 0), which would be rounded.
    """

    kinds: Kinds
    decimals: Collection[int]

    def of(self, node: exp.Expr | None) -> Kind | None:
        """The kind of an expression."""
        return self.kinds.of(cast(exp.Expression | None, node))


def decimals(tokens: Sequence[Token]) -> frozenset[int]:
    """The places of texts behind the word DECIMAL."""
    return frozenset(
        other.start
        for one, other in pairwise(tokens)
        if one.token_type == TokenType.DECIMAL and other.token_type == TokenType.STRING
    )


def _known(found: exp.Expression | None) -> exp.Expression:
    if found is None:
        raise UnsureMeaningError(
            "it's known of dates, and of times without a zone, alone",
            "CAST it AS DATE, or AS TIMESTAMP",
        )
    return found


def _cast(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Casts of NULL, of dates and times without a zone; decimal constants."""
    to, operand = node.args["to"], node.args["this"]
    type_, digits = to.this, [one.name for one in to.expressions]
    if isinstance(operand, exp.Null) and not digits and type_ in _OF_NULL:
        return exp.cast(exp.null(), _OF_NULL[type_], dialect="spark")
    if type_ in _TYPED and isinstance(operand, exp.Literal) and operand.is_string:
        return _number(operand.name, type_)
    if type_ is exp.DataType.Type.FLOAT and isinstance(operand, exp.Literal):
        known = operand.is_string and _REAL.fullmatch(operand.name)
        return exp.cast(operand.copy(), "FLOAT", dialect="spark") if known else None
    if type_ is exp.DataType.Type.DECIMAL and not digits and isinstance(operand, exp.Literal):
        constant = operand.meta_get("start") in context.decimals
        return _decimal(operand.name) if constant else None
    if type_ not in _LOCAL:
        return None
    kind = context.of(operand)
    if kind == "date":
        return times.local(operand)
    if kind != "local" or not all(one.isdigit() for one in digits):
        return None
    return times.rounded(operand, int(digits[0]) if digits else None)


def _number(text: str, type_: object) -> exp.Expression | None:
    """`BIGINT '5'`, as JDBC's driver writes its parameters, as a number of Spark's."""
    whole = type_ is not exp.DataType.Type.DOUBLE
    if (_WHOLE if whole else _DOUBLE).fullmatch(text) is None:
        return None
    sign, digits = text[: text.startswith("-")], text.lstrip("-")
    if whole and int(digits) >= _TYPED[type_]:
        return None
    found: exp.Expression = exp.Literal.number(digits)
    if type_ is exp.DataType.Type.BIGINT:
        found = exp.var(f"{digits}L")
        found.meta[KIND] = "whole"
    elif not whole and "e" not in digits.lower():
        found = exp.Literal.number(f"{digits}e0")
    return exp.paren(exp.Neg(this=found)) if sign else found


def _decimal(text: str) -> exp.Expression | None:
    """A decimal constant by its text; None for one that isn't a plain number of 38 digits."""
    sign = text[:1] if text[:1] in ("-", "+") else ""
    number = text[len(sign) :]
    if _NUMBER.fullmatch(number) is None:
        return None
    whole, _, digits = number.partition(".")
    places = max(1, len(whole.lstrip("0")) + len(digits))
    if places > _DIGITS_MAX:
        return None
    found: exp.Expression = exp.Literal.number(f"{whole or '0'}.{digits}" if digits else whole)
    if not digits:
        found = exp.cast(found, f"DECIMAL({places}, 0)", dialect="spark")
    return exp.paren(exp.Neg(this=found)) if sign == "-" else found


def _like(node: exp.Expr, _: Context) -> None:
    """A pattern of ASCII letters whose case is changed is a constant; then the common rule."""
    pattern = node.args["expression"]
    if isinstance(pattern, (exp.Lower, exp.Upper)) and isinstance(pattern.this, exp.Literal):
        text = pattern.this.name
        if pattern.this.is_string and text.isascii():
            changed = text.lower() if isinstance(pattern, exp.Lower) else text.upper()
            node.set("expression", exp.Literal.string(changed))


def _extract(node: exp.Expr, context: Context) -> exp.Expression | None:
    rule = _WEEKS.get(node.name.upper())
    operand = node.args["expression"]
    return None if rule is None else _known(rule(operand, context.of(operand)))


def _trunc(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Of a moment, and of what isn't known, it's Spark's own."""
    kind, unit = context.of(node.args["this"]), node.args.get("unit")
    if unit is None or not times.is_timed(kind):
        return None
    return _known(times.truncated(node.args["this"], kind, unit.name.upper()))


def _date_add(node: exp.Expr, context: Context) -> exp.Expression:
    operand, number = node.args["this"], node.args["expression"]
    return _known(times.added(operand, context.of(operand), _unit(node), number))


def _date_diff(node: exp.Expr, context: Context) -> exp.Expression:
    later, earlier = node.args["this"], node.args["expression"]
    if _unit(node) != "DAY" or {context.of(later), context.of(earlier)} != {"date"}:
        raise UnsureMeaningError("only days between dates are", "CAST both AS DATE")
    return times.days_between(later, earlier)


def _unit(node: exp.Expr) -> str:
    unit = node.args.get("unit")
    return "" if unit is None else str(unit.name).upper()


def _weekday(node: exp.Expr, context: Context) -> exp.Expression:
    return _known(times.day_of_week(node.args["this"], context.of(node.args["this"])))


def _week(node: exp.Expr, context: Context) -> exp.Expression:
    return _known(times.week(node.args["this"], context.of(node.args["this"])))


def _date(node: exp.Expr, context: Context) -> exp.Expression:
    operand = node.args["this"]
    if not times.is_timed(context.of(operand)):
        raise UnsureMeaningError("whether it's of a time isn't known", "CAST it AS DATE")
    return times.as_date(operand)


def _round(node: exp.Expr, context: Context) -> None:
    """Doubles are rounded in other ways; of decimals the value is the same."""
    digits = node.args.get("decimals")
    if digits is not None and not (isinstance(digits, exp.Literal) and digits.name.isdigit()):
        raise UnsureMeaningError("only constant numbers of digits are")
    for one in node.args["this"].find_all(*_VALUED):
        if context.of(one) not in ("whole", "decimal"):
            raise UnsureMeaningError(
                "only decimals are surely rounded alike", "CAST it AS DECIMAL(p, s)"
            )


def _function(node: exp.Expr, _: Context) -> exp.Expression:
    """Functions that the parser doesn't know; of them two are constants."""
    value = _CONSTANTS.get(str(node.this).lower())
    if value is None or node.expressions:
        raise UnsureMeaningError("Anonymous isn't known to be the same in Spark")
    return exp.cast(exp.Literal.string(value), "DOUBLE", dialect="spark")


Rule = Callable[[exp.Expr, Context], exp.Expression | None]
RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Cast: _cast,
    exp.Like: _like,
    exp.Extract: _extract,
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.DateAdd: _date_add,
    exp.DateDiff: _date_diff,
    exp.DayOfWeekIso: _weekday,
    exp.WeekOfYear: _week,
    exp.Date: _date,
    exp.Round: _round,
    exp.Anonymous: _function,
}
_WEEKS: Mapping[str, Callable[[exp.Expr, Kind | None], exp.Expression | None]] = {
    **dict.fromkeys(("DOW", "DAY_OF_WEEK"), times.day_of_week),
    "WEEK": times.week,
}
_CONSTANTS = {"nan": "NaN", "infinity": "Infinity"}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_DIGITS_MAX = 38
_TYPED: Mapping[object, int] = {
    exp.DataType.Type.INT: 1 << 31,
    exp.DataType.Type.BIGINT: 1 << 63,
    exp.DataType.Type.DOUBLE: 0,
}
"""Types of numbers that are constants of Spark's; whole ones are below these."""
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DOUBLE = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,3})?")
_REAL = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|Infinity)|NaN")
_VALUED = (exp.Column, exp.Literal, exp.Func, exp.Binary, exp.Subquery)
"""What has a kind of its own, so that all of an expression is a decimal where all of these are."""
_LOCAL = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)
_OF_NULL = {
    exp.DataType.Type.BOOLEAN: "BOOLEAN",
    exp.DataType.Type.TINYINT: "TINYINT",
    exp.DataType.Type.SMALLINT: "SMALLINT",
    exp.DataType.Type.INT: "INT",
    exp.DataType.Type.BIGINT: "BIGINT",
    exp.DataType.Type.FLOAT: "FLOAT",
    exp.DataType.Type.DOUBLE: "DOUBLE",
    exp.DataType.Type.DECIMAL: "DECIMAL(38, 0)",
    exp.DataType.Type.VARCHAR: "STRING",
    exp.DataType.Type.VARBINARY: "BINARY",
    exp.DataType.Type.DATE: "DATE",
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP",
}
"""What NULL may be cast to, and Spark's name of the type."""
