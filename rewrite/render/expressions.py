"""Bound expressions as SQL text, for Spark and for DuckDB.

Spark's text keeps the statement's own meaning. DuckDB's is written only for what the differential
suite has proven equal to Spark; anything else raises `DeclinedError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal as Choice

from rewrite import types
from rewrite.functions.casts import cast_of
from rewrite.functions.row import BY_ZERO, LEFT, RAISE, RAISE_BY_ZERO
from rewrite.functions.table import BY_OP, form_of
from rewrite.identifiers.quoting import backticked, text_constant
from rewrite.ir.expr import (
    NAMING,
    TYPE,
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    Parameter,
    exact_digits,
    is_struct,
)
from rewrite.ir.time_truncation import UNITS
from rewrite.reason import DeclinedError

Dialect = Choice["spark", "duckdb"]
ColumnText = Callable[[Column], str]
AggregateText = Callable[[Aggregate], str]

_PLAIN_TYPES = frozenset({"string", "date", "timestamp", "timestamp_ntz", "boolean", "binary"})
_NUL, _NUL_JOINED = "\0", "' || chr(0) || '"
"""What marks a parameter in a text stands in no text otherwise."""
_WORD = re.compile("[a-z_]+", re.ASCII)
_LEAST_INT = "-2147483648"
"""To DuckDB the negative of a BIGINT."""
_INFINITE = "infinite"
RAISED = (_INFINITE, BY_ZERO, LEFT)
"""What texts for DuckDB raise themselves for a row, so that the plain statement decides."""
_DUCKDB_TYPES = {
    "string": "VARCHAR",
    "tinyint": "TINYINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "date": "DATE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
}


def quote(name: str, dialect: Dialect) -> str:
    """The name as a quoted identifier; DeclinedError for one with a NUL."""
    if _NUL in name:
        raise DeclinedError("expression_not_proven", "A name with a NUL.")
    return backticked(name) if dialect == "spark" else '"' + name.replace('"', '""') + '"'


def column_sql(column: Column, dialect: Dialect) -> str:
    """The column's name in SQL. To DuckDB a struct's field is a column under its full name."""
    if dialect == "spark" and column.path:
        return ".".join(quote(name, dialect) for name in column.path)
    return quote(column.name, dialect)


def duckdb_type(type_: str) -> str:
    """DuckDB's name of a Spark type; DeclinedError for one that has no equal."""
    if types.decimal_parts(type_):
        return type_.upper()
    if type_ not in _DUCKDB_TYPES:
        raise DeclinedError("expression_not_proven", f"The type {type_}.")
    return _DUCKDB_TYPES[type_]


def spark_type(type_: str | None) -> str:
    """A Spark type as it stands in a cast; DeclinedError for what isn't one of a single word."""
    if type_ is None or not (types.decimal_parts(type_) or _WORD.fullmatch(type_)):
        raise DeclinedError("expression_not_proven", f"The type {type_}.")
    return type_


_EXACT = frozenset({"+", "-", "*"})
_ARITHMETIC = _EXACT | {"%"}
_TIMES = ("date", *types.TIMESTAMPS)
_LONGEST = 100_000
"""Characters of DuckDB's text of a call; some name an argument several times."""
_WIDER: dict[str | None, str] = {"int": "BIGINT", "bigint": "HUGEINT"}
_IN_64_BITS = 18  # digits
_ROUNDED_ONCE = 38
"""Digits of a divisor and of a quotient behind the point, at most; with more Spark rounds twice."""
_NEGATED_DIGITS = 34  # of more Spark's unary minus keeps so many, and rounds the rest
_TESTS = frozenset({"contains", "startswith", "endswith"})
_DUCKDB_FORMS = {
    "<=>": "({} IS NOT DISTINCT FROM {})",
    "contains": "contains({}, {})",
    "startswith": "starts_with({}, {})",
    "endswith": "ends_with({}, {})",
    "has_token": "acc_has_token({}, {})",
    "match": "acc_match({}, {})",
    "div": "(CAST({} AS BIGINT) // CAST({} AS BIGINT))",
    "grouping": "CAST(grouping({}) AS TINYINT)",
    "dayofweek": "(CAST(dayofweek({}) AS INTEGER) + 1)",
    "only_value": "(CASE WHEN {2} = 0 THEN NULL WHEN {2} = {3} AND {0} = {1} THEN {0}"
    f" ELSE {RAISE} END)",
}
"""What DuckDB writes otherwise. Tests of texts are by bytes, as Spark's; its Sunday is 0, not 1."""
_OF_VALUES = frozenset(
    {"case", "coalesce", "cast", "neg", "date_trunc", "trunc", *types.TIME_PARTS, *BY_OP}
)


class Renderer:
    """Writes expressions for one dialect; `column` says how a column is named there."""

    def __init__(
        self, dialect: Dialect, column: ColumnText, aggregate: AggregateText | None = None
    ) -> None:
        self.dialect = dialect
        self._column = column
        self._aggregate = aggregate

    def text(self, expr: Expr) -> str:
        """The SQL text, in parentheses where it is an operator."""
        if isinstance(expr, Column):
            if self.dialect == "duckdb" and is_struct(expr):
                raise DeclinedError("expression_not_proven", f"The struct {expr.name}.")
            return self._column(expr)
        if isinstance(expr, Literal):
            return literal(expr, self.dialect)
        if isinstance(expr, Parameter):
            return parameter_mark(expr)
        if isinstance(expr, Aggregate):
            if self._aggregate is None:
                raise DeclinedError("block_unsupported", "An aggregate where none can stand.")
            return self._aggregate(expr)
        if self.dialect == "duckdb":
            check_duckdb(expr)
        if expr.op == "is_null":
            return self._operator(expr.op, [self.presence(expr.args[0])])
        return self._call(expr)

    def presence(self, expr: Expr) -> str:
        """The text of a value that is only tested for NULL: a struct may be one."""
        return self._column(expr) if isinstance(expr, Column) else self.text(expr)

    def _call(self, call: Call) -> str:
        op = call.op
        if op == "case":
            return self._case(call, self.text)
        if op in ("date_trunc", "trunc"):
            return self._truncated(call)
        if op in types.TIME_PARTS:
            inner = self._finite(call.args[0])
            return f"{op}({inner if self.dialect == 'spark' else _clock(inner, call.args[0])})"
        if op in BY_OP and self.dialect == "duckdb":
            return self._of_table(call)
        if op in BY_OP and BY_OP[op].spark:
            return BY_OP[op].spark.format(*map(self._argument, call.args))
        if op == "cast":
            return self._cast(call)
        args = [self._finite(a) if op in types.DATE_PARTS else self.text(a) for a in call.args]
        if self.dialect == "duckdb" and op in _ARITHMETIC and call.type == "double":
            kinds = [arg.type for arg in call.args]
            args = [_as_double(t, k) for t, k in zip(args, kinds, strict=True)]
            args = [args[0], bounded(_nonzero(*args))] if op == "%" else args
        if self.dialect == "duckdb" and op in _EXACT and types.decimal_parts(call.type):
            return self._decimal(call, args)
        if self.dialect == "duckdb" and op == "/" and types.decimal_parts(call.type):
            return bounded(_quotient(call, args))
        if self.dialect == "duckdb" and call.type in _WIDER and op in (*_EXACT, "neg"):
            return _whole(op, args, call.type or "")
        return self._operator(op, args)

    def _cast(self, call: Call) -> str:
        source = call.args[0]
        target = call.args[1].value if isinstance(call.args[1], Literal) else ""
        if self.dialect == "spark":
            return f"CAST({self.text(source)} AS {spark_type(target)})"
        cast = cast_of(source.type, call.type or "")
        if cast is not None:
            text = self.text(source) if cast.tests_years else self._argument(source)
            return bounded(cast.text(text))
        if call.type == "date":
            return f"CAST({_clock(self._finite(source), source)} AS DATE)"
        if call.type == "timestamp_ntz":
            return f"CAST({self._finite(source)} AS TIMESTAMP)"
        return f"CAST({self.text(source)} AS {duckdb_type(target)})"

    def _of_table(self, call: Call) -> str:
        """A function of the table, over its arguments cast as Spark casts them unseen."""
        form = form_of(call.op, call.args)
        kinds = None if form is None else form.kinds(len(call.args))
        if form is None or kinds is None:  # `check_duckdb` has looked
            raise DeclinedError("expression_not_proven", f"The function {call.op}.")
        texts = [self._argument(arg, kind) for arg, kind in zip(call.args, kinds, strict=True)]
        return bounded(form.text(call.args, texts))

    def _argument(self, arg: Expr, kind: str = "") -> str:
        if isinstance(arg, Literal) and arg.type in NAMING:
            return arg.value
        if kind == "as text" and arg.type != "string":
            return self.text(Call("cast", (arg, Literal("string", TYPE)), "string"))
        return self._finite(arg) if arg.type in _TIMES else self.text(arg)

    def _decimal(self, call: Call, args: list[str]) -> str:
        """In types that hold every result: alone, DuckDB may take 18 digits and raise beyond."""
        result = duckdb_type(call.type or "")
        if call.op != "*":
            left, right = (f"CAST({one} AS {result})" for one in args)
            return f"CAST(({left} {call.op} {right}) AS {result})"
        own = [exact_digits(one) or (0, 0) for one in call.args]
        (first, scale), (second, _) = own
        if max(first, second) <= _IN_64_BITS < first + second:
            own[0] = (_IN_64_BITS + 1, scale)
        left, right = (
            f"CAST({t} AS DECIMAL({p},{s}))" for t, (p, s) in zip(args, own, strict=True)
        )
        return f"CAST(({left} * {right}) AS {result})"

    def _finite(self, expr: Expr) -> str:
        """A date or time of which something is made.

        The first and last ones are infinite to DuckDB. An error makes the plain statement run.
        """
        if self.dialect == "duckdb" and isinstance(expr, Call):
            check_duckdb(expr)
            if expr.op == "case":
                return self._case(expr, self._finite)
            if expr.op == "coalesce":
                return self._operator(expr.op, [self._finite(a) for a in expr.args])
        text = self.text(expr)
        if self.dialect == "spark" or not isinstance(expr, Column):
            return text
        return f"CASE WHEN isinf({text}) THEN error('{_INFINITE}') ELSE {text} END"

    def _truncated(self, call: Call) -> str:
        unit = f"'{UNITS[getattr(call.args[0], 'value', '')]}'"
        inner = self._finite(call.args[1])
        if self.dialect == "spark":
            return (
                f"trunc({inner}, {unit})" if call.op == "trunc" else f"date_trunc({unit}, {inner})"
            )
        if call.op == "trunc":
            return f"CAST(date_trunc({unit}, {inner}) AS DATE)"
        of_date = call.args[1].type == "date"
        clock = f"CAST({inner} AS TIMESTAMP)" if of_date else _clock(inner, call.args[1])
        return f"make_timestamptz(epoch_us(date_trunc({unit}, {clock})))"

    def _operator(self, op: str, args: list[str]) -> str:
        if op in ("and", "or"):
            return "(" + f" {op.upper()} ".join(args) + ")"
        if op == "only_value" and self.dialect == "spark":
            raise DeclinedError("expression_not_proven", "A group's only value, in Spark.")
        if self.dialect == "duckdb" and op in _DUCKDB_FORMS:
            return _DUCKDB_FORMS[op].format(*args)
        if op == "/" and self.dialect == "duckdb":
            # Spark divides integers as doubles and refuses x/0, but NULL/0 is NULL.
            # An error here makes the plain statement run, which raises Spark's own.
            divided = f"(CAST({args[0]} AS DOUBLE) / CAST({_nonzero(*args)} AS DOUBLE))"
            return bounded(divided)
        if op in types.COMPARISONS or op in ("+", "-", "*", "/", "div", "%"):
            return f"({args[0]} {op} {args[1]})"
        if op == "not":
            return f"(NOT {args[0]})"
        if op == "neg":
            return f"(- {args[0]})"
        if op == "is_null":
            return f"({args[0]} IS NULL)"
        if op == "in":
            return f"({args[0]} IN ({', '.join(args[1:])}))"
        if op in ("like", "ilike", "rlike"):
            return f"({args[0]} {op.upper()} {args[1]})"
        return f"{op}({', '.join(args)})"

    def _case(self, call: Call, given: Callable[[Expr], str]) -> str:
        """`given` writes what the branches give."""
        pairs = zip(call.args[:-1:2], call.args[1:-1:2], strict=True)
        branches = " ".join(f"WHEN {self.text(c)} THEN {given(v)}" for c, v in pairs)
        return f"(CASE {branches} ELSE {given(call.args[-1])} END)"


def _nonzero(dividend: str, divisor: str) -> str:
    """The divisor; an error beside a dividend if it's zero."""
    zero = f"{divisor} = 0 AND {dividend} IS NOT NULL"
    return f"CASE WHEN {zero} THEN {RAISE_BY_ZERO} ELSE {divisor} END"


def _moved(call: Call) -> int:
    """Places by which an unscaled dividend is moved, so that the unscaled quotient is whole."""
    (_, first), (_, second) = (exact_digits(arg) or (0, 0) for arg in call.args)
    return (types.decimal_parts(call.type) or (0, 0))[1] + second - first


def _quotient(call: Call, args: list[str]) -> str:
    """A quotient of decimals, rounded half up, by whole numbers of 64 bits if they fit, or of 128.

    Spark rounds it to 38 digits behind the point first. If the divisor is so long that this may
    matter, the plain statement decides, and so it does if a number has more bits.
    """
    precision, scale = types.decimal_parts(call.type) or (0, 0)
    (before, _), (after, _) = (exact_digits(arg) or (0, 0) for arg in call.args)
    moved = _moved(call)
    kind = "BIGINT" if max(before + moved, after) <= _IN_64_BITS else "HUGEINT"
    dividend, divisor = (
        _unscaled(text, arg, kind) for text, arg in zip(args, call.args, strict=True)
    )
    # DuckDB's // cuts off towards zero, so half a divisor is added with the dividend's sign.
    half, twice = f"sign({dividend}) * abs({divisor})", f"CAST('{2 * 10**moved}' AS {kind})"
    digits = f"(({dividend} * {twice} + {half}) // (2 * ({_nonzero(args[0], divisor)})))"
    step = f"CAST('{smallest(scale)}' AS DECIMAL({scale},{scale}))"
    unit, result = f"CAST('{10**scale}' AS HUGEINT)", duckdb_type(call.type or "")
    if precision + scale <= types.DECIMAL_DIGITS:
        whole = f"CAST({digits} AS DECIMAL({precision},0)) * {step}"
    elif 2 * scale <= types.DECIMAL_DIGITS:  # its digits don't fit before the point
        behind = f"CAST({digits} % {unit} AS DECIMAL({scale},0)) * {step}"
        whole = f"CAST({digits} // {unit} AS {result}) + {behind}"
    else:  # nor do those behind the point
        behind = f"lpad(CAST(abs({digits}) % {unit} AS VARCHAR), {scale}, '0')"
        sign = f"CASE WHEN {digits} < 0 THEN '-' ELSE '' END"
        whole = f"({sign} || CAST(abs({digits}) // {unit} AS VARCHAR) || '.' || {behind})"
    found = f"CAST({whole} AS {result})"
    most = max(_ROUNDED_ONCE - scale, 0)
    if after <= most:
        return found
    return (
        f"(CASE WHEN abs({divisor}) >= CAST('{10**most}' AS HUGEINT) THEN {RAISE} ELSE {found} END)"
    )


def smallest(scale: int) -> str:
    """The smallest step at that scale, in plain digits."""
    return f"0.{'1':0>{scale}}"


def _unscaled(text: str, arg: Expr, kind: str) -> str:
    """The digits of an exact number as a whole number of that type."""
    precision, scale = exact_digits(arg) or (0, 0)
    if not scale:
        return f"CAST({text} AS {kind})"
    wide = precision if precision + scale <= _IN_64_BITS else max(precision, _IN_64_BITS + 1)
    if wide + scale < types.DECIMAL_DIGITS:
        unit = f"CAST({10**scale} AS DECIMAL({scale + 1},0))"
        return f"CAST(CAST({text} AS DECIMAL({wide},{scale})) * {unit} AS {kind})"
    digits = f"CAST(CAST({text} AS DECIMAL({precision},{scale})) AS VARCHAR)"
    return f"CAST(replace({digits}, '.', '') AS {kind})"


def _as_double(text: str, type_: str | None) -> str:
    return text if type_ == "double" else f"CAST({text} AS DOUBLE)"


def bounded(text: str, otherwise: str = "Calls within calls: their text is too long.") -> str:
    """The text; DeclinedError with that detail if it's too long, since calls may double it."""
    if len(text) > _LONGEST:
        raise DeclinedError("expression_not_proven", otherwise)
    return text


def _whole(op: str, args: list[str], type_: str) -> str:
    """Whole numbers in DuckDB: computed in a wider type, whose way back raises where Spark does.

    Of `i + 1 > 5` DuckDB makes `i > 4`, and of `sum(i + 1)` a sum of i, neither of which raises for
    the largest i. Nothing is moved through the cast.
    """
    wide = [f"CAST({one} AS {_WIDER[type_]})" for one in args]
    text = f"(- {wide[0]})" if op == "neg" else f"({wide[0]} {op} {wide[1]})"
    return f"CAST({text} AS {duckdb_type(type_)})"


def literal(expr: Literal, dialect: Dialect) -> str:
    """A constant that has its own type in either dialect; DeclinedError for what isn't one."""
    if not types.is_constant(expr.value, expr.type):
        raise DeclinedError("expression_not_proven", f"A constant of type {expr.type}.")
    if expr.type == "string":
        if dialect == "spark":
            return text_constant(expr.value)
        plain = "'" + expr.value.replace("'", "''") + "'"
        return f"({plain.replace(_NUL, _NUL_JOINED)})" if _NUL in plain else plain
    if expr.type == "date":
        return f"DATE '{expr.value}'"
    if expr.type in types.TIMESTAMPS:
        return _timestamp(expr, dialect)
    if expr.type in ("boolean", "void"):
        return expr.value.upper()
    shown = expr.value
    if dialect == "spark":
        return {"bigint": f"{shown}L", "double": f"{shown}D"}.get(expr.type, shown)
    if expr.type == "double":  # read from its text it's the nearest one, as in Spark
        return f"CAST('{shown}' AS DOUBLE)"
    if expr.type == "int" and shown != _LEAST_INT:
        return shown
    return f"CAST({shown} AS {duckdb_type(expr.type)})"


def _clock(text: str, timestamp: Expr) -> str:
    """Returns the time of a clock in UTC, in DuckDB, independent of the session's zone."""
    return text if timestamp.type == "timestamp_ntz" else f"make_timestamp(epoch_us({text}))"


def _timestamp(expr: Literal, dialect: Dialect) -> str:
    """With its offset where it's an instant: no session's zone matters."""
    if expr.type == "timestamp_ntz":
        return f"{'TIMESTAMP_NTZ' if dialect == 'spark' else 'TIMESTAMP'} '{expr.value}'"
    return f"TIMESTAMP '{expr.value}Z'" if dialect == "spark" else f"TIMESTAMPTZ '{expr.value}+00'"


def parameter_mark(parameter: Parameter) -> str:
    """What stands in a text until the constant is known (`filled`)."""
    return f"{_NUL}{parameter.index}:{parameter.type}{_NUL}"


def split_marks(text: str) -> tuple[tuple[str, ...], tuple[Parameter, ...]]:
    """The text cut at its parameters, and these: one fewer than there are pieces."""
    pieces = text.split(_NUL)
    pairs = (mark.split(":", 1) for mark in pieces[1::2])
    return tuple(pieces[::2]), tuple(Parameter(int(index), type_) for index, type_ in pairs)


def check_duckdb(call: Call) -> None:
    """DeclinedError unless the operator over arguments of these types is proven alike in DuckDB."""
    op, kinds = call.op, [a.type for a in call.args]
    if op in ("and", "or", "not"):
        proven = all(k in ("boolean", "void") for k in kinds)
    elif op in types.COMPARISONS or op == "in":
        proven = all(_comparable(kinds[0], k) for k in kinds[1:]) and not _rounds(kinds)
    elif op == "is_null":
        proven = kinds[0] is not None
    elif op == "like":
        # Spark sees this character in place of bytes that aren't UTF-8, and DuckDB sees the bytes.
        pattern = call.args[1]
        proven = kinds[0] == "string" and "\ufffd" not in getattr(pattern, "value", "")
    elif op in _TESTS or op in types.TOKEN_TESTS:
        proven = kinds == ["string", "string"]
    elif op in _ARITHMETIC or op in ("/", "div"):
        proven = _proven_arithmetic(call, kinds)
    elif op in types.DATE_PARTS:
        proven = kinds == ["date"]
    elif op in _OF_VALUES:  # parts and truncations have a type in UTC only
        proven = call.type is not None and _proven_value(call)
    else:
        proven = op in ("grouping", "grouping_id", "only_value")
    if not proven:
        shown = ", ".join(str(k) for k in kinds)
        raise DeclinedError("expression_not_proven", f"The operator {op} over {shown}.")


def _proven_arithmetic(call: Call, kinds: list[str | None]) -> bool:
    if all(k in types.EXACT for k in kinds) or (call.op != "div" and _in_doubles(call)):
        return True
    exact = all(types.as_decimal(k) for k in kinds) and types.decimal_parts(call.type)
    return bool(exact) and (call.op in _EXACT or (call.op == "/" and _moved(call) >= 0))


def _in_doubles(call: Call) -> bool:
    """Decides whether Spark computes it in DOUBLE, to which both sides are cast alike."""
    kinds = [arg.type for arg in call.args]
    return call.type == "double" and all(k == "double" or types.widens(k, "double") for k in kinds)


def _comparable(left: str | None, right: str | None) -> bool:
    if left is None or right is None:
        return False
    if "void" in (left, right):
        return True
    exact = [
        t in (*types.EXACT, "tinyint") or types.decimal_parts(t) is not None for t in (left, right)
    ]
    return all(exact) or (left == right and (left in _PLAIN_TYPES or left in ("float", "double")))


def _rounds(kinds: list[str | None]) -> bool:
    """Whether Spark's one type for all of them has too few digits for some: it rounds these."""
    return any(types.decimal_parts(k) for k in kinds) and types.common(kinds) is None


def _proven_value(call: Call) -> bool:
    if call.op in BY_OP:
        return form_of(call.op, call.args) is not None
    if call.op == "cast":
        source, target = call.args[0].type, call.type
        if target == "date" and source in types.TIMESTAMPS:
            return True
        if target == "timestamp_ntz" and source == "date":
            return True
        return types.widens(source, target) or cast_of(source, target or "") is not None
    if call.op == "neg":
        parts = types.decimal_parts(call.type)
        return call.type in (*types.EXACT, "double") or (
            parts is not None and parts[0] <= _NEGATED_DIGITS
        )
    return True
