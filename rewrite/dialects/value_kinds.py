"""The kind of an expression's values, as far as a translation depends on it.

`Kinds` infers a kind from the kinds of operands. Columns get theirs from `dialect_scopes`, which
resolves names by scope and leaves each column's meaning in the node's `meta`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from rewrite.dialects.trino.exact_types import TYPE, output_type
from rewrite.dialects.trino.type_names import known_type
from rewrite.parse.bounds import type_of

Kind = Literal[
    "whole",
    "decimal",
    "double",
    "real",
    "string",
    "date",
    "local",
    "moment",
    "boolean",
    "bytes",
    "array",
    "map",
    "row",
    "other",
    "nothing",
]
"""`local` is a time without a zone, `nothing` the kind of NULL, which becomes any other."""
Columns = Callable[[tuple[str, ...]], Mapping[str, str] | None]
"""The columns of a table with their Spark types; None if there is no such table."""
ANY_STATE = "\0"
"""Behind a table's name: its columns in all of its states, with no type if kinds differ."""

KIND = "kind"
"""The key in a node's `meta` of its kind."""
ZONE = "zone"
"""The key in a node's `meta` of the time zone that its moments are shown in."""
ELEMENT = "element"
"""The key in the `meta` of an array of its elements' meaning."""
FIELDS = "fields"
"""The key in the `meta` of a row of its fields' meanings by name."""
SHORT = "short"
"""The key in the `meta` of a column of integers with at most 32 bits."""


class Meaning(Struct, frozen=True):
    """What a column's values are: their kind, and what depends on the kind.

    `zone` is the time zone of moments, `element` the meaning of an array's elements, `fields` the
    meanings of a row's fields. `short`: integers of at most 32 bits. `type` is Trino's exact type.
    """

    kind: Kind | None = None
    zone: str | None = None
    element: Meaning | None = None
    fields: tuple[tuple[str, Meaning], ...] = ()
    short: bool = False
    type: str | None = None

    def mark(self, node: exp.Expr) -> None:
        """Writes the meaning into the node's `meta`."""
        node.meta[KIND] = self.kind
        given = (self.zone, self.element, self.fields, self.type)
        for key, value in zip((ZONE, ELEMENT, FIELDS, TYPE), given, strict=True):
            if value:
                node.meta[key] = value
        if self.short:
            node.meta[SHORT] = True


_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_SHORT = frozenset({"tinyint", "smallint", "int"})
_SHORT_END = 1 << 31
_SHORT_TYPES = frozenset(
    {exp.DataType.Type.TINYINT, exp.DataType.Type.SMALLINT, exp.DataType.Type.INT}
)
_SHORT_PARTS = (
    *(exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear, exp.Quarter, exp.Hour),
    *(exp.Minute, exp.Second, exp.Extract, exp.DayOfWeekIso, exp.WeekOfYear, exp.YearOfWeek),
)
_OF_TYPES: dict[str, Kind] = {
    **dict.fromkeys(_WHOLE, "whole"),
    "float": "real",
    "double": "double",
    "string": "string",
    "boolean": "boolean",
    "binary": "bytes",
    "date": "date",
    "timestamp_ntz": "local",
    "timestamp": "moment",
}
_COUNTS = (
    *(exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RowNumber, exp.Rank, exp.DenseRank),
    *(exp.Ntile, exp.Length, exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear),
    *(exp.Quarter, exp.Hour, exp.Minute, exp.Extract, exp.Grouping, exp.IntDiv),
    *(exp.DateDiff, exp.DayOfWeekIso, exp.WeekOfYear, exp.Second, exp.YearOfWeek),
    *(exp.StrPosition, exp.ArraySize),
)
_SPREADS = (
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop),
    *(exp.PercentRank, exp.CumeDist, exp.Corr, exp.CovarSamp, exp.CovarPop),
    *(exp.Log, exp.Ln, exp.Pow, exp.Sqrt, exp.Cbrt, exp.Exp, exp.Pi, exp.TimeToUnix),
    *(exp.Sin, exp.Cos, exp.Tan, exp.Asin, exp.Acos, exp.Atan, exp.Atan2),
    *(exp.Degrees, exp.Radians),
)
_TEXTS = (
    *(exp.DPipe, exp.Concat, exp.Lower, exp.Upper, exp.Substring, exp.TimeToStr, exp.Trim),
    *(exp.RegexpExtract, exp.RegexpReplace, exp.Replace, exp.Reverse, exp.SplitPart, exp.Pad),
    *(
        exp.Format,
        exp.Hex,
        exp.LowerHex,
        exp.Decode,
        exp.GroupConcat,
        exp.ArrayToString,
        exp.ConcatWs,
        exp.Typeof,
    ),
)
_TRUTHS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.And, exp.Or, exp.Not, exp.Boolean, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(
        exp.Escape,
        exp.Exists,
        exp.RegexpLike,
        exp.StartsWith,
        exp.IsNan,
        exp.LogicalAnd,
        exp.LogicalOr,
    ),
)
_BYTES = (exp.Encode, exp.Unhex, exp.MD5Digest, exp.SHA2Digest, exp.HexString)
_KINDS: tuple[tuple[tuple[type[exp.Expr], ...], Kind], ...] = (
    (_COUNTS, "whole"),
    (_SPREADS, "double"),
    (_TEXTS, "string"),
    ((exp.StrToTime,), "local"),
    ((exp.UnixToTime, exp.AtTimeZone, exp.FromISO8601Timestamp), "moment"),
    ((exp.LastDay, exp.Date), "date"),
    (_TRUTHS, "boolean"),
    (_BYTES, "bytes"),
    ((exp.ArrayAgg, exp.ArraySort, exp.Split), "array"),
)
_OF_CALLS: dict[str, Kind] = {
    **dict.fromkeys(("nan", "infinity", "e"), "double"),
    **dict.fromkeys(("at_timezone", "with_timezone"), "moment"),
    **dict.fromkeys(("day_of_week", "yow", "to_milliseconds"), "whole"),
    **dict.fromkeys(("timezone_hour", "timezone_minute"), "whole"),
    "format_datetime": "string",
    **dict.fromkeys(("is_finite", "is_infinite"), "boolean"),
}
"""Of functions that the parser doesn't know."""
_SAME = (
    *(exp.Sum, exp.Min, exp.Max, exp.Abs, exp.Neg, exp.Paren, exp.Filter, exp.Window, exp.Distinct),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.Nullif, exp.Alias),
    *(exp.Round, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Ceil, exp.Floor),
)
"""Those of the kind of their first operand."""
_OF_SEVERAL = (exp.Coalesce, exp.Greatest, exp.Least)
"""Those of the kind that all of their operands are brought to."""
_OF_CASTS: Mapping[object, Kind] = {
    exp.DataType.Type.DATE: "date",
    exp.DataType.Type.BOOLEAN: "boolean",
    exp.DataType.Type.VARBINARY: "bytes",
    exp.DataType.Type.BINARY: "bytes",
}
_WHOLE_DAYS = frozenset({"DAY", "WEEK", "MONTH", "YEAR"})
_OF_CONSTANTS: dict[str, Kind] = {
    "DATE": "date",
    "TIMESTAMP_NTZ": "local",
    "TIMESTAMP": "moment",
}
"""By the type in front of a constant."""


@lru_cache(256)
def meaning_of_type(type_: str, *, has_reals: bool = True) -> Meaning:
    """The meaning of a column with a Spark type; moments of tables are in UTC.

    Without `has_reals` a FLOAT is a double.

    >>> meaning_of_type("struct<a:array<date>>").fields[0][1].element.kind
    'date'
    """
    simple = _OF_TYPES.get(type_)
    if simple is not None or "<" not in type_:
        kind: Kind = simple or ("decimal" if type_.startswith("decimal") else "other")
        if kind == "real" and not has_reals:
            kind = "double"
        zone, exact = "UTC" if kind == "moment" else None, known_type(type_)
        return Meaning(kind, zone, short=type_ in _SHORT, type=exact)
    return replace(_nested(type_of(type_, "spark"), has_reals), type=known_type(type_))


def _nested(type_: exp.DataType, has_reals: bool) -> Meaning:
    def inner(one: exp.Expr) -> Meaning:
        found = one.args["kind"] if isinstance(one, exp.ColumnDef) else one
        if isinstance(found, exp.DataType) and found.expressions and found.args.get("nested"):
            return _nested(found, has_reals)
        simple = meaning_of_type(found.sql("spark").lower(), has_reals=has_reals)
        return replace(simple, type=None)

    if type_.is_type(exp.DataType.Type.ARRAY) and type_.expressions:
        return Meaning("array", element=inner(type_.expressions[0]))
    if type_.is_type(exp.DataType.Type.STRUCT):
        fields = [(one.name.lower(), inner(one)) for one in type_.expressions]
        return Meaning("row", fields=tuple(fields))
    return Meaning("map" if type_.is_type(exp.DataType.Type.MAP) else "other")


class Kinds:
    """Infers the kinds of a statement's expressions; None if a kind isn't known."""

    def __init__(
        self, *, exact: bool = True, numeric: bool = False, is_trino: bool = False
    ) -> None:
        """The dialect's types.

        `exact`: a constant with a point is a decimal, not a double. `numeric`: sums of integers of
        64 bits and the parts of times are decimals. `is_trino`: a TIMESTAMP has no zone, and a REAL
        isn't a double.
        """
        self._exact, self._numeric, self._is_trino = exact, numeric, is_trino

    def of(self, node: exp.Expr | None) -> Kind | None:
        """The kind of that expression."""
        if node is None:
            return None
        marked: Kind | None = node.meta_get(KIND)
        if marked is not None:
            return marked
        if isinstance(node, exp.Column):
            return None
        if isinstance(node, exp.Literal):
            return "string" if node.is_string else self._number(node.name)
        if isinstance(node, exp.Null):
            return "nothing"
        if isinstance(node, exp.Var):  # a constant that is translated already
            return _OF_CONSTANTS.get(node.name.partition(" ")[0])
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            shown = node.this.expressions
            return self.of(shown[0]) if len(shown) == 1 else None
        if self._numeric and isinstance(node, exp.Extract):
            return "decimal"
        for types, kind in _KINDS:
            if isinstance(node, types):
                return kind
        return self._of_operands(node)

    def element(self, node: exp.Expr | None) -> Meaning | None:
        """The meaning of an array's elements; None if it isn't known."""
        if node is None:
            return None
        marked: Meaning | None = node.meta_get(ELEMENT)
        if marked is not None:
            return marked
        if isinstance(node, exp.Split):
            return Meaning("string")
        if isinstance(node, exp.ArrayAgg):
            operand = node.this.this if isinstance(node.this, exp.Order) else node.this
            if isinstance(operand, exp.Distinct):
                operand = operand.expressions[0]
            return replace(self.meaning(operand), type=None)
        if isinstance(node, exp.ApproxQuantile):
            return Meaning(self.of(node.this))
        if isinstance(node, (exp.Paren, exp.Filter, exp.Alias, exp.ArraySort)):
            return self.element(node.this)
        return None

    def meaning(self, node: exp.Expr) -> Meaning:
        """The meaning of an expression that is marked, or made of such; without its zone."""
        kind = self.of(node)
        element = self.element(node) if kind == "array" else None
        fields = node.meta_get(FIELDS) or () if kind == "row" else ()
        zone = node.meta_get(ZONE) if kind == "moment" else None
        return Meaning(kind, zone, element, fields, self.is_short(node), output_type(node))

    def is_short(self, node: exp.Expr | None) -> bool:
        """Returns whether these surely are integers of up to 32 bits."""
        if isinstance(node, _SHORT_PARTS):
            return True
        if isinstance(node, exp.Mod):  # smaller than what it's divided by, and of a whole number
            return self.of(node.this) == "whole" and self.is_short(node.expression)
        if isinstance(node, exp.Cast):
            return node.to.this in _SHORT_TYPES
        if isinstance(node, exp.Literal):
            return node.name.isdigit() and not node.is_string and int(node.name) < _SHORT_END
        if isinstance(node, exp.Column):
            return bool(node.meta_get(SHORT))
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            return self.is_short(node.this) and self.is_short(node.expression)
        operands = None if isinstance(node, exp.Sum) else self._operands(node)
        given = [one for one in operands or () if one is not None and not isinstance(one, exp.Null)]
        return bool(given) and all(map(self.is_short, given))

    def _of_operands(self, node: exp.Expr) -> Kind | None:
        if self._numeric and isinstance(node, exp.Sum) and self.of(node.this) == "whole":
            return "whole" if self.is_short(node.this) else None
        operands = self._operands(node)
        if operands is not None:
            return self.common(self.of(one) for one in operands if one is not None)
        if isinstance(node, exp.Cast):
            return self._of_type(node.to)
        if isinstance(node, exp.Avg):
            return _mean(self.of(node.this))
        if isinstance(node, exp.ApproxQuantile):
            kind = self.of(node.this)
            return "array" if isinstance(node.args.get("quantile"), exp.Array) else kind
        if isinstance(node, exp.Anonymous):
            return _OF_CALLS.get(str(node.this).lower()) if self._is_trino else None
        if isinstance(node, exp.Bracket):
            element = self.element(node.this)
            return None if element is None else element.kind
        if isinstance(node, (exp.DateAdd, exp.TimestampTrunc)):
            kind = self.of(node.this)
            return kind if self._is_trino and kind in ("date", "local", "moment") else None
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
            return self._computed(node)
        if isinstance(node, exp.Div):
            sides = self.of(node.this), self.of(node.expression)
            return _quotient(*sides, typed=bool(node.args.get("typed")))
        return None

    def _operands(self, node: exp.Expr | None) -> Sequence[exp.Expression | None] | None:
        """Those that the node's values are brought to the kind of; None if they aren't."""
        if isinstance(node, _SAME):
            return [node.this]
        if isinstance(node, exp.Distinct):
            return node.expressions[:1]
        if isinstance(node, _OF_SEVERAL):
            return [node.this, *node.expressions]
        if isinstance(node, exp.If):
            return [node.args.get("true"), node.args.get("false")]
        if isinstance(node, exp.Case):
            branches = [one.args.get("true") for one in node.args.get("ifs") or ()]
            return [*branches, node.args.get("default")]
        return None

    def _number(self, text: str) -> Kind:
        if text.isdigit():
            return "whole"
        return "double" if "e" in text.lower() or not self._exact else "decimal"

    def _of_type(self, type_: exp.DataType) -> Kind:
        if type_.this in exp.DataType.INTEGER_TYPES:
            return "whole"
        if type_.this in exp.DataType.TEXT_TYPES:
            return "string"
        if type_.is_type(exp.DataType.Type.DECIMAL):
            return "decimal"
        if type_.this in exp.DataType.FLOAT_TYPES:
            is_real = self._is_trino and type_.is_type(exp.DataType.Type.FLOAT)
            return "real" if is_real else "double"
        if type_.this is exp.DataType.Type.TIMESTAMPNTZ:
            return "local"
        if type_.this is exp.DataType.Type.TIMESTAMPTZ:
            return "moment"
        if self._is_trino and type_.this is exp.DataType.Type.TIMESTAMP:
            return "local"
        return _OF_CASTS.get(type_.this, "other")

    def common(self, kinds: Iterable[Kind | None]) -> Kind | None:
        """The kind that values of these are brought to; None if there is none."""
        found = set(kinds)
        found = found - {"nothing"} or found
        if len(found) <= 1:
            return next(iter(found), None)
        if found == {"date", "local"} and self._is_trino:
            return "local"
        if not found <= {"whole", "decimal", "double", "real"}:
            return None
        return _widest(found)

    def _computed(self, node: exp.Binary) -> Kind | None:
        """The kind of a sum, difference, product or remainder."""
        interval = interval_of(node.expression)
        if interval is not None:
            return self._moved(node.this, interval.unit)
        interval = interval_of(node.this)
        if interval is not None and isinstance(node, exp.Add):
            return self._moved(node.expression, interval.unit)
        sides = {self.of(one) for one in (node.this, node.expression)} - {"nothing"}
        if None in sides and not self._is_trino:  # it matters beside an integer alone
            sides -= {None} if sides & {"double", "decimal"} else set()
        return self.common(sides)

    def _moved(self, time: exp.Expr, unit: str) -> Kind | None:
        """A date, or a local time, before or behind an interval: hours make a time of a date."""
        kind, timely = self.of(time), unit in _WHOLE_DAYS
        return kind if kind in ("local", "moment") or (kind == "date" and timely) else None


class IntervalFactors(NamedTuple):
    """An interval's node, its unit, and the number that it is multiplied by, if there is one."""

    node: exp.Interval
    unit: str
    number: exp.Expr | None


def interval_of(node: exp.Expr | None) -> IntervalFactors | None:
    """The interval that an expression is, alone or multiplied once; None if it's none."""
    if node is not None:
        node = node.unnest()
    if isinstance(node, exp.Mul):
        sides = node.this, node.expression
        for one, number in (sides, sides[::-1]):
            found = interval_of(one) if not isinstance(one, exp.Mul) else None
            if found is not None and found.number is None:
                return found._replace(number=number)
        return None
    if not isinstance(node, exp.Interval):
        return None
    unit = node.args.get("unit")
    return IntervalFactors(node, "" if unit is None else unit.name.upper().removesuffix("S"), None)


def _widest(found: set[Kind | None]) -> Kind:
    if "double" in found:
        return "double"
    if "real" in found:
        return "real"
    return "decimal" if "decimal" in found else "whole"


def _mean(kind: Kind | None) -> Kind | None:
    if kind == "whole":
        return "double"
    return kind if kind in ("double", "real", "decimal", "nothing") else None


def _quotient(left: Kind | None, right: Kind | None, *, typed: bool) -> Kind | None:
    if "double" in (left, right):
        return "double"
    if "nothing" in (left, right):
        return "nothing"
    if left == right == "whole":
        return "whole" if typed else "double"
    if "real" in (left, right):
        return "real" if {left, right} <= {"whole", "decimal", "real"} else None
    return "decimal" if {left, right} <= {"whole", "decimal"} else None
