"""Bound expressions as SQL text, for Spark and for DuckDB.

Spark's text keeps the statement's own meaning. DuckDB's is written only for what the differential
suite has proven equal to Spark; anything else raises `DeclinedError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal as Choice

from rewrite import types
from rewrite.identifiers.quoting import backticked, text_constant
from rewrite.ir.expr import Aggregate, Call, Column, Expr, Literal, Parameter, exact_digits
from rewrite.ir.time_truncation import UNITS
from rewrite.reason import DeclinedError

Dialect = Choice["spark", "duckdb"]
ColumnText = Callable[[Column], str]
AggregateText = Callable[[Aggregate], str]

_PLAIN_TYPES = frozenset({"string", "date", "timestamp", "timestamp_ntz", "boolean", "binary"})
_NUL, _NUL_JOINED = "\0", "' || chr(0) || '"
"""What marks a parameter in a text stands in no text otherwise."""
_WORD = re.compile("[a-z_]+", re.ASCII)
_INFINITE, _BY_ZERO = RAISED = ("infinite", "division by zero")
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
_WIDER: dict[str | None, str] = {"int": "BIGINT", "bigint": "HUGEINT"}
_IN_64_BITS = 18  # digits
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
}
"""What DuckDB writes otherwise. Tests of texts are by bytes, as Spark's; its Sunday is 0, not 1."""
_OF_VALUES = frozenset(
    {"case", "coalesce", "cast", "substring", "neg", "date_trunc", "trunc", *types.TIME_PARTS}
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
        return self._call(expr)

    def _call(self, call: Call) -> str:
        op = call.op
        if op == "case":
            return self._case(call, self.text)
        if op in ("date_trunc", "trunc"):
            return self._truncated(call)
        if op in types.TIME_PARTS:
            inner = self._finite(call.args[0])
            return f"{op}({inner if self.dialect == 'spark' else _clock(inner)})"
        if op == "cast" and call.type == "date" and self.dialect == "duckdb":
            return f"CAST({_clock(self._finite(call.args[0]))} AS DATE)"
        if op == "cast" and call.type == "timestamp_ntz" and self.dialect == "duckdb":
            return f"CAST({self._finite(call.args[0])} AS TIMESTAMP)"
        if op == "cast":
            target = call.args[1].value if isinstance(call.args[1], Literal) else ""
            shown = spark_type(target) if self.dialect == "spark" else duckdb_type(target)
            return f"CAST({self.text(call.args[0])} AS {shown})"
        args = [self._finite(a) if op in types.DATE_PARTS else self.text(a) for a in call.args]
        if self.dialect == "duckdb" and op in _EXACT and types.decimal_parts(call.type):
            return self._decimal(call, args)
        if self.dialect == "duckdb" and call.type in _WIDER and op in (*_EXACT, "neg"):
            return _whole(op, args, call.type or "")
        return self._operator(op, args)

    def _decimal(self, call: Call, args: list[str]) -> str:
        """In types that hold every result: alone, DuckDB may take 18 digits and raise beyond."""
        result = duckdb_type(call.type or "")
        if call.op != "*":
            left, right = (f"CAST({one} AS {result})" for one in args)
            return f"CAST(({left} {call.op} {right}) AS {result})"
        own = [exact_digits(one) or (0, 0) for one in call.args]
        if own[0][0] <= _IN_64_BITS and own[1][0] <= _IN_64_BITS:
            own[0] = (_IN_64_BITS + 1, own[0][1])
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
        clock = f"CAST({inner} AS TIMESTAMP)" if of_date else _clock(inner)
        return f"make_timestamptz(epoch_us(date_trunc({unit}, {clock})))"

    def _operator(self, op: str, args: list[str]) -> str:
        if op in ("and", "or"):
            return "(" + f" {op.upper()} ".join(args) + ")"
        if self.dialect == "duckdb" and op in _DUCKDB_FORMS:
            return _DUCKDB_FORMS[op].format(*args)
        if op == "/" and self.dialect == "duckdb":
            # Spark divides integers as doubles and refuses x/0, but NULL/0 is NULL.
            # An error here makes the plain statement run, which raises Spark's own.
            zero = f"{args[1]} = 0 AND {args[0]} IS NOT NULL"
            checked = f"CASE WHEN {zero} THEN error('{_BY_ZERO}') ELSE {args[1]} END"
            return f"(CAST({args[0]} AS DOUBLE) / CAST({checked} AS DOUBLE))"
        if op == "concat" and self.dialect == "duckdb":  # its own concat passes over NULLs
            return f"({' || '.join(args)})"
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
    return f"CAST({shown} AS {duckdb_type(expr.type)})" if expr.type != "int" else shown


def _clock(timestamp: str) -> str:
    """What a clock in UTC shows then, in DuckDB, whatever its own time zone is."""
    return f"make_timestamp(epoch_us({timestamp}))"


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
    elif op in ("+", "-", "*"):
        exact = all(types.as_decimal(k) for k in kinds) and types.decimal_parts(call.type)
        proven = bool(exact) or all(k in types.EXACT for k in kinds)
        proven = proven or all(k == "double" for k in kinds)
    elif op in ("/", "div"):
        doubles = ("double",) if op == "/" else ()
        proven = all(k in (*types.EXACT, *doubles) for k in kinds)
    elif op in types.DATE_PARTS:
        proven = kinds == ["date"]
    elif op == "concat":
        proven = bool(kinds) and all(k == "string" for k in kinds)
    elif op in _OF_VALUES:  # parts and truncations have a type in UTC only
        proven = call.type is not None and _proven_value(call)
    else:
        proven = op in ("grouping", "grouping_id")
    if not proven:
        shown = ", ".join(str(k) for k in kinds)
        raise DeclinedError("expression_not_proven", f"The operator {op} over {shown}.")


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
    if call.op == "cast":
        if call.type == "date":
            return call.args[0].type in types.TIMESTAMPS
        if call.type == "timestamp_ntz":
            return call.args[0].type == "date"
        return types.widens(call.args[0].type, call.type)
    if call.op == "neg":
        parts = types.decimal_parts(call.type)
        return call.type in (*types.EXACT, "double") or (
            parts is not None and parts[0] <= _NEGATED_DIGITS
        )
    return True
