"""The exact Trino types of expressions, such as `varchar(3)` and `timestamp(6)`.

`mark` writes a node's type into its `meta`, from the types of its operands, which are marked
before. `typeof` and the texts of times need digits and lengths, which kinds don't have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from sqlglot import exp

TYPE = "trino_type"
"""The key in a node's `meta` of its type."""
OPERAND = "trino_type_of_operand"
"""The key in the `meta` of a cast, or of `typeof`, of the type that its operand was written in."""

_Type = exp.DataType.Type
_TIMESTAMP = re.compile(r"timestamp\((\d+)\)( with time zone)?")
_VARCHAR = re.compile(r"varchar\((\d+)\)")
_SESSION = re.compile(r"(DATE|TIMESTAMP_NTZ|TIMESTAMP) '")
_MILLISECONDS = 3
_INTEGER_END, _BIGINT_END = 1 << 31, 1 << 63
_DECIMAL_MOST = 38
_WIDER = ("tinyint", "smallint", "integer", "bigint", "real", "double")
"""Numbers that become each other, the wider ones behind."""
_CASTS: Mapping[object, str] = {
    _Type.BOOLEAN: "boolean",
    _Type.TINYINT: "tinyint",
    _Type.SMALLINT: "smallint",
    _Type.INT: "integer",
    _Type.BIGINT: "bigint",
    _Type.FLOAT: "real",
    _Type.DOUBLE: "double",
    _Type.VARBINARY: "varbinary",
    _Type.DATE: "date",
}
_OF_SESSION = {
    "DATE": "date",
    "TIMESTAMP_NTZ": "timestamp(3)",
    "TIMESTAMP": "timestamp(3) with time zone",
}
"""Constants that stand for `current_date`, `localtimestamp` and `now()`."""


def mark(node: exp.Expr) -> None:
    """Writes the node's type into its `meta`, if it's known."""
    rule = _RULES.get(type(node))
    found = None if rule is None else rule(node)
    if found is not None:
        node.meta[TYPE] = found
    if isinstance(node, (exp.Cast, exp.TryCast, exp.Typeof)):
        node.meta[OPERAND] = _of(node.this)


def digits_of(type_: str | None) -> int | None:
    """Returns the digits of a timestamp type below a second; None of another type.

    >>> digits_of("timestamp(3) with time zone")
    3
    """
    found = _TIMESTAMP.fullmatch(type_ or "")
    return None if found is None else int(found[1])


def output_type(node: exp.Expr) -> str | None:
    """The type of a query's output; None if reading it may raise, unless it's a time."""
    found = _of(node)
    return found if found is None or digits_of(found) is not None or is_of_rows(node) else None


def is_of_rows(node: exp.Expr) -> bool:
    """Returns whether it's one value for each row, and computing it never raises in Trino."""
    return all(isinstance(one, _RAISING_NOTHING) or _is_sure_cast(one) for one in node.walk())


def _is_sure_cast(node: exp.Expr) -> bool:
    """Returns whether a cast, or a part of one, or a sum of doubles, never raises."""
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _of(node) in ("double", "real")
    if not isinstance(node, exp.Cast) or isinstance(node, exp.TryCast):
        return isinstance(node, (exp.TryCast, exp.DataType, exp.DataTypeParam))
    of, to, text = _of(node.this), _of(node), node.this.name
    if of == "unknown" or (to == "varchar" and isinstance(node.this, exp.Column)):
        return True
    if to == "double":
        return of in _WIDER or bool(of and of.startswith("decimal"))
    if not isinstance(node.this, exp.Literal) or (to != "date" and digits_of(to) is None):
        return False
    try:
        datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        return False
    return True


def common_type(types: Iterable[str | None]) -> str | None:
    """The type that values of these are brought to; None if it isn't known.

    >>> common_type(["varchar(1)", "unknown", "varchar(3)"])
    'varchar(3)'
    """
    given = set(types)
    found = given - {"unknown"} or given
    if len(found) <= 1 or None in found:
        return found.pop() if len(found) == 1 else None
    known = [one for one in found if one is not None]
    if set(known) <= set(_WIDER):
        return max(known, key=_WIDER.index)
    if all(one == "varchar" or _VARCHAR.fullmatch(one) for one in known):
        return "varchar" if "varchar" in found else max(known, key=_length)
    times = [_TIMESTAMP.fullmatch(one) for one in known if one != "date"]
    zoned = {one and one[2] for one in times}
    if None in times or len(zoned) > 1 or (len(times) < len(known) and zoned != {None}):
        return None
    return max((one[0] for one in times if one is not None), key=lambda one: digits_of(one) or 0)


def _length(type_: str) -> int:
    return int(type_.removeprefix("varchar(").removesuffix(")"))


def _of(node: object) -> str | None:
    return node.meta_get(TYPE) if isinstance(node, exp.Expr) else None


def _literal(node: exp.Expr) -> str | None:
    text = node.name
    if node.args.get("is_string"):
        return f"varchar({len(text)})"
    if "e" in text.lower():
        return "double"
    whole, point, fraction = text.partition(".")
    if not point:
        number = int(text) if text.isdecimal() else _BIGINT_END
        negated = isinstance(node.parent, exp.Neg)
        if number < _INTEGER_END + negated:
            return "integer"
        return "bigint" if number < _BIGINT_END + negated else None
    digits = max(1, len(whole.lstrip("0")) + len(fraction))
    known = f"{whole}{fraction}".isdecimal() and digits <= _DECIMAL_MOST
    return f"decimal({digits},{len(fraction)})" if known else None


def _var(node: exp.Expr) -> str | None:
    found = _SESSION.match(node.name)
    return None if found is None else _OF_SESSION[found[1]]


def _cast(node: exp.Expr) -> str | None:
    """A constant `DECIMAL '1.5'` is the same node as a cast, so that it isn't known."""
    to, digits = node.args["to"], [one.name for one in node.args["to"].expressions]
    if to.this in _CASTS:
        return _CASTS[to.this]
    if not all(one.isdecimal() for one in digits):
        return None
    if to.this in (_Type.VARCHAR, _Type.TEXT):
        return f"varchar({digits[0]})" if digits else "varchar"
    if to.this is _Type.DECIMAL and digits:
        return f"decimal({digits[0]},{digits[1] if len(digits) > 1 else 0})"
    if to.this not in (_Type.TIMESTAMP, _Type.TIMESTAMPNTZ, _Type.TIMESTAMPTZ):
        return None
    zone = " with time zone" if to.this is _Type.TIMESTAMPTZ else ""
    return f"timestamp({digits[0] if digits else _MILLISECONDS}){zone}"


def _first(node: exp.Expr) -> str | None:
    return _of(node.args.get("this"))


def _several(node: exp.Expr) -> str | None:
    return common_type(map(_of, [node.args.get("this"), *node.expressions]))


def _if(node: exp.Expr) -> str | None:
    given = [node.args.get("true"), node.args.get("false")]
    return common_type(_of(one) for one in given if one is not None)


def _case(node: exp.Expr) -> str | None:
    given = [one.args.get("true") for one in node.args.get("ifs") or ()]
    given += [node.args.get("default")]
    return common_type(_of(one) for one in given if one is not None)


def _computed(node: exp.Expr) -> str | None:
    """Numbers that aren't decimals, and times moved by an interval, which has milliseconds."""
    sides = node.args["this"], node.args["expression"]
    types = [_of(one) for one in sides]
    if set(types) <= set(_WIDER):
        return common_type(types)
    for side, type_ in zip(sides, reversed(types), strict=True):
        if type_ != "date" and digits_of(type_) is None:
            continue
        interval = side.find(exp.Interval)
        if interval is not None:
            return _moved(str(type_), str(interval.args.get("unit") or ""))
    return None


def _moved(type_: str, unit: str) -> str | None:
    digits = digits_of(type_)
    if digits is None:
        return type_ if type_ == "date" else None
    if unit.upper().removesuffix("S") in ("YEAR", "MONTH"):
        return type_
    return type_.replace(f"({digits})", f"({max(digits, _MILLISECONDS)})")


def _zoned(type_: str | None) -> str | None:
    """A time with a zone beside it; a date is one without digits."""
    digits = 0 if type_ == "date" else digits_of(type_)
    return None if digits is None else f"timestamp({digits}) with time zone"


def _call(node: exp.Expr) -> str | None:
    name, operands = str(node.this).lower(), node.expressions
    if name in ("at_timezone", "with_timezone") and operands:
        return _zoned(_of(operands[0]))
    return "bigint" if name in _COUNTED else None


def _always(type_: str) -> Callable[[exp.Expr], str]:
    return lambda _: type_


_RAISING_NOTHING = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.HexString, exp.Paren),
    *(exp.Typeof, exp.Lower, exp.Upper, exp.DPipe, exp.Coalesce, exp.If, exp.Case, exp.Var),
)
_COUNTED = frozenset({"timezone_hour", "timezone_minute", "day_of_week", "yow", "dow"})
_SAME = (
    *(exp.Paren, exp.Alias, exp.Neg, exp.Min, exp.Max, exp.Filter, exp.Window, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Nullif),
    *(exp.TimestampTrunc, exp.DateTrunc, exp.DateAdd, exp.Lower, exp.Upper, exp.Substring),
)
"""Those of the type of their first operand."""
_COMPARED = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.Is),
    *(exp.Boolean, exp.Between, exp.In, exp.Like),
)
_PARTS = (
    *(exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear, exp.Hour),
    *(exp.Minute, exp.Second, exp.WeekOfYear, exp.DayOfWeekIso, exp.YearOfWeek, exp.Extract),
    *(exp.Length, exp.DateDiff, exp.Count, exp.CountIf),
)
_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr], str | None]] = {
    exp.Literal: _literal,
    exp.Null: _always("unknown"),
    exp.HexString: _always("varbinary"),
    exp.Var: _var,
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys(_SAME, _first),
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _several),
    exp.If: _if,
    exp.Case: _case,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _computed),
    exp.AtTimeZone: lambda node: _zoned(_first(node)),
    exp.Anonymous: _call,
    **dict.fromkeys((exp.UnixToTime, exp.FromISO8601Timestamp), _always(_OF_SESSION["TIMESTAMP"])),
    exp.StrToTime: _always("timestamp(3)"),
    **dict.fromkeys((exp.LastDay, exp.Date), _always("date")),
    **dict.fromkeys(_COMPARED, _always("boolean")),
    **dict.fromkeys(_PARTS, _always("bigint")),
    **dict.fromkeys((exp.Typeof, exp.DPipe, exp.Concat, exp.TimeToStr), _always("varchar")),
}
