"""Of what kind an expression's values are, as far as a translation has to know.

A decimal may be a double where the other side of an operator isn't known: neither is an integer.

Names are resolved loosely: a column is of a kind where all columns and outputs of that name in the
statement are. That's enough for what must not be guessed, whether both sides of `/` are integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from sqlglot import exp

Kind = Literal[
    "whole", "decimal", "double", "string", "date", "local", "moment", "other", "nothing"
]
"""`local` is a time without a zone, `nothing` what isn't told yet: an output made of itself."""
Columns = Callable[[tuple[str, ...]], Mapping[str, str] | None]
"""The columns of a table with their Spark types; None where there is no such table."""

KIND = "kind"
"""Under this name a node that was translated may tell its kind, in `meta`."""
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_SHORT = frozenset({"tinyint", "smallint", "int"})
_SHORT_END = 1 << 31
_OF_TYPES: dict[str, Kind] = {
    **dict.fromkeys(_WHOLE, "whole"),
    **dict.fromkeys(("float", "double"), "double"),
    "string": "string",
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
    *(exp.Hex, exp.LowerHex, exp.GroupConcat, exp.ArrayToString, exp.ConcatWs),
)
_KINDS: tuple[tuple[tuple[type[exp.Expr], ...], Kind], ...] = (
    (_COUNTS, "whole"),
    (_SPREADS, "double"),
    (_TEXTS, "string"),
    ((exp.StrToTime,), "local"),
    ((exp.UnixToTime, exp.AtTimeZone), "moment"),
    ((exp.LastDay, exp.Date), "date"),
)
_OF_CALLS: dict[str, Kind] = {
    **dict.fromkeys(("nan", "infinity", "e"), "double"),
    **dict.fromkeys(("at_timezone", "with_timezone"), "moment"),
    **dict.fromkeys(("day_of_week", "yow"), "whole"),
    "format_datetime": "string",
}
"""Of functions that the parser doesn't know."""
_SAME = (
    *(exp.Sum, exp.Min, exp.Max, exp.Abs, exp.Neg, exp.Paren, exp.Filter, exp.Window, exp.Distinct),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.Nullif, exp.Alias),
    *(exp.Round, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Greatest, exp.Least),
)
"""Those of the kind of their first operand."""
_WHOLE_DAYS = frozenset({"DAY", "WEEK", "MONTH", "YEAR"})
_OF_CONSTANTS: dict[str, Kind] = {
    "DATE": "date",
    "TIMESTAMP_NTZ": "local",
    "TIMESTAMP": "moment",
}
"""By the type in front of a constant."""


def kind_of_type(type_: str) -> Kind:
    """The kind of a Spark type."""
    return "decimal" if type_.startswith("decimal") else _OF_TYPES.get(type_, "other")


class Kinds:
    """Tells the kind of a statement's expressions; None where it isn't known."""

    def __init__(
        self,
        tree: exp.Expression,
        columns: Columns,
        *,
        exact: bool,
        numeric: bool = False,
        local: bool = False,
    ) -> None:
        """What the dialect's types are.

        `exact`: a constant with a point is a decimal, not a double. `numeric`: so are sums of
        integers of 64 bits, and the parts of times. `local`: a TIMESTAMP has no zone.
        """
        self._tree, self._tables, self._exact = tree, columns, exact
        self._numeric, self._local = numeric, local
        self._names: dict[str, Kind | None] | None = None
        self._short: set[str] = set()
        self._columns: set[str] | None = None
        self._real = False
        self._inputs: Mapping[str, Kind | None] = {}
        self._outputs: list[tuple[str, exp.Expression, exp.Expr | None]] = []
        self._asked: set[str] = set()

    def of(self, node: exp.Expression | None) -> Kind | None:
        """The kind of that expression."""
        if node is None:
            return None
        told: Kind | None = node.meta_get(KIND)
        if told is not None:
            return told
        if isinstance(node, exp.Literal):
            return "string" if node.is_string else self._number(node.name)
        if isinstance(node, exp.Column):
            return self._of_column(node)
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

    def may_be_column(self, name: str) -> bool:
        """Whether a column of FROM, not an output alone, may have that name in lower case."""
        self._named()
        outputs = [one for one in self._tree.find_all(exp.Alias) if one.alias.lower() == name]
        return len(outputs) > 1 or self._columns is None or name in self._columns

    def is_nobodys(self, name: str) -> bool:
        """Whether surely no column and no output of the statement has that name in lower case."""
        self._named()
        aliases = self._tree.find_all(exp.Alias)
        known = self._columns is not None and name not in self._columns
        return known and all(one.alias.lower() != name for one in aliases)

    def is_table_column(self, name: str) -> bool:
        """Whether a table of the statement has a column of that name in lower case."""
        self._named()
        return name in (self._columns or ())

    def visible_outputs(self, node: exp.Column) -> list[exp.Expression]:
        """What the column is made of, where it's an output of a SELECT that it can be one of."""
        self._named()
        name, hidden = node.name.lower(), _hiding(node)
        return [
            output
            for own, output, select in self._outputs
            if own == name and id(select) not in hidden
        ]

    def may_be_real(self) -> bool:
        """Whether the statement may have a number of 32 bits with a point."""
        self._named()
        casts = self._tree.find_all(exp.Cast)
        return self._real or any(one.to.is_type(exp.DataType.Type.FLOAT) for one in casts)

    def _of_column(self, node: exp.Column) -> Kind | None:
        """None for a field of a struct, which may have the name of a column."""
        names = self._named()
        *above, name = (part.name.lower() for part in node.parts)
        if any(names.get(part, "nothing") in ("other", None) for part in above):
            return None
        kind = names.get(name)
        if kind is None and name in names:
            kind = self._of_inputs(node, name)
        return None if kind == "other" else kind

    def _of_inputs(self, node: exp.Column, name: str) -> Kind | None:
        """Of a name of several kinds: it's none of the outputs of the SELECTs that it stands in."""
        if name in self._asked:  # outputs of that name are made of each other
            return None
        hidden = _hiding(node)
        found = self._inputs.get(name, "nothing")
        self._asked.add(name)
        for own, output, select in self._outputs:
            if own == name and id(select) not in hidden:
                found = _united(found, self.of(output))
        self._asked.remove(name)
        return None if found == "nothing" else found

    def _is_short(self, node: exp.Expr | None) -> bool:
        """Whether these surely are integers of up to 32 bits."""
        if isinstance(node, exp.Literal):
            return node.name.isdigit() and not node.is_string and int(node.name) < _SHORT_END
        if isinstance(node, exp.Column):
            return self._of_column(node) == "whole" and node.name.lower() in self._short
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            return self._is_short(node.this) and self._is_short(node.expression)
        operands = None if isinstance(node, exp.Sum) else self._operands(node)
        given = [one for one in operands or () if one is not None and not isinstance(one, exp.Null)]
        return bool(given) and all(map(self._is_short, given))

    def _of_operands(self, node: exp.Expression) -> Kind | None:
        if self._numeric and isinstance(node, exp.Sum) and self.of(node.this) == "whole":
            return "whole" if self._is_short(node.this) else None
        operands = self._operands(node)
        if operands is not None:
            return self._common(operands)
        if isinstance(node, exp.Cast):
            return self._of_type(node.to)
        if isinstance(node, exp.Avg):
            return _mean(self.of(node.this))
        if isinstance(node, exp.ApproxQuantile):
            kind = self.of(node.this)
            return "other" if isinstance(node.args.get("quantile"), exp.Array) else kind
        if isinstance(node, exp.Anonymous):
            return _OF_CALLS.get(str(node.this).lower()) if self._local else None
        if isinstance(node, (exp.DateAdd, exp.TimestampTrunc)):
            kind = self.of(node.this)
            return kind if self._local and kind in ("date", "local", "moment") else None
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
            return self._computed(node)
        if isinstance(node, exp.Div):
            sides = self.of(node.this), self.of(node.expression)
            return _quotient(*sides, typed=bool(node.args.get("typed")))
        return None

    def _operands(self, node: exp.Expr | None) -> Sequence[exp.Expression | None] | None:
        """Those that the node's values are brought to the kind of; None where they aren't."""
        if isinstance(node, _SAME):
            return [node.this]
        if isinstance(node, exp.Distinct):
            return node.expressions[:1]
        if isinstance(node, exp.Coalesce):
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
            return "double"
        if type_.this is exp.DataType.Type.TIMESTAMPNTZ:
            return "local"
        if type_.this is exp.DataType.Type.TIMESTAMPTZ:
            return "moment"
        if self._local and type_.this is exp.DataType.Type.TIMESTAMP:
            return "local"
        return "date" if type_.is_type(exp.DataType.Type.DATE) else "other"

    def _common(self, nodes: Iterable[exp.Expression | None]) -> Kind | None:
        """What the values are brought to; NULL is of any kind."""
        found = {self.of(n) for n in nodes if n is not None and not isinstance(n, exp.Null)}
        return self._brought(found)

    @staticmethod
    def _brought(found: set[Kind | None]) -> Kind | None:
        found = found - {"nothing"} or found
        if len(found) <= 1:
            return next(iter(found), None)
        if not found <= {"whole", "decimal", "double"}:
            return None
        return "double" if "double" in found else "decimal"

    def _computed(self, node: exp.Binary) -> Kind | None:
        """What isn't known of one side matters only where the other one is an integer."""
        both = (node.this, node.expression)
        if isinstance(node.expression, exp.Interval):
            return self._moved(node)
        sides = {self.of(one) for one in both if not isinstance(one, exp.Null)}
        for kind in ("double", "decimal"):
            if kind in sides:
                return kind
        return self._brought(sides)

    def _moved(self, node: exp.Binary) -> Kind | None:
        """A date, or a local time, before or behind an interval: hours make a time of a date."""
        kind = self.of(node.this)
        unit = node.expression.args.get("unit")
        timely = unit is not None and unit.name.upper().removesuffix("S") in _WHOLE_DAYS
        return kind if kind in ("local", "moment") or (kind == "date" and timely) else None

    def _named(self) -> Mapping[str, Kind | None]:
        """The one kind of all that has a name; a least fixed point, since outputs name others."""
        if self._names is not None:
            return self._names
        self._names = names = self._of_tables()
        self._inputs = dict(names)
        self._outputs = outputs = [
            (one.alias.lower(), one.this, one.parent) for one in self._tree.find_all(exp.Alias)
        ]
        self._short -= {name for name, *_ in outputs}
        for united in self._tree.find_all(exp.SetOperation):
            found = _columns_of(united)
            if found is None:
                names.clear()
                break
            self._short -= {name for name, _ in found}
            outputs += [(name, one, one.find_ancestor(exp.Select)) for name, one in found]
        for name, *_ in outputs if names else ():
            names.setdefault(name, "nothing")
        changed = bool(names)
        while changed:
            changed = False
            for name, output, _ in outputs:
                kind = _united(names[name], self.of(output))
                changed = changed or kind != names[name]
                names[name] = kind
        return names

    def _of_tables(self) -> dict[str, Kind | None]:
        """Columns of the statement's tables; none where one of them, or of their names, is new."""
        found: dict[str, Kind | None] = {}
        short, long = set[str](), set[str]()
        defined = {cte.alias.lower() for cte in self._tree.find_all(exp.CTE)}
        if any(alias.args.get("columns") for alias in self._tree.find_all(exp.TableAlias)):
            return {}
        for table in self._tree.find_all(exp.Table):
            parts = tuple(part.name for part in table.parts)
            if len(parts) == 1 and parts[0].lower() in defined:
                if self._tables(parts) is not None:  # which of both it is isn't looked into
                    return {}
                continue
            columns = self._tables(parts)
            if columns is None:
                return {}
            for name, type_ in columns.items():
                kind = kind_of_type(type_)
                found[name.lower()] = _united(found.get(name.lower(), "nothing"), kind)
                (short if type_ in _SHORT else long).add(name.lower())
                self._real = self._real or type_ == "float"
        self._columns, self._short = {*found}, short - long
        return found


def _hiding(node: exp.Column) -> set[int]:
    """The SELECTs above it whose outputs it can't be: those of which it stands behind FROM.

    ORDER BY and HAVING see outputs, but not under a table's name.
    """
    found: set[int] = set()
    below: exp.Expr = node
    above = node.parent
    while above is not None:
        behind = below.arg_key in ("order", "having") and not node.table
        if isinstance(above, exp.Select) and not behind:
            found.add(id(above))
        below, above = above, above.parent
    return found


def _columns_of(united: exp.SetOperation) -> list[tuple[str, exp.Expression]] | None:
    """What stands in the columns of a set operation, by their names; None where it isn't told."""
    branches: list[list[exp.Expression]] = []
    waiting: list[exp.Expr | None] = [united]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.SetOperation):
            waiting += [node.expression, node.this]
        elif isinstance(node, exp.Subquery):
            waiting.append(node.this)
        elif isinstance(node, exp.Select) and not node.is_star:
            branches.append(node.expressions)
        else:
            return None
    first = branches[0]
    if any(len(one) != len(first) for one in branches):
        return None
    return [
        (named.alias_or_name.lower(), own)
        for one in branches
        for named, own in zip(first, one, strict=True)
        if named.alias_or_name
    ]


def _united(one: Kind | None, other: Kind | None) -> Kind | None:
    if "nothing" in (one, other):
        return other if one == "nothing" else one
    return one if one == other else None


def _mean(kind: Kind | None) -> Kind | None:
    if kind == "whole":
        return "double"
    return kind if kind in ("double", "decimal", "nothing") else None


def _quotient(left: Kind | None, right: Kind | None, *, typed: bool) -> Kind | None:
    if "double" in (left, right):
        return "double"
    if "nothing" in (left, right):
        return "nothing"
    if left == right == "whole":
        return "whole" if typed else "double"
    return "decimal" if {left, right} <= {"whole", "decimal"} else None
