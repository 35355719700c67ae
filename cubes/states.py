"""Measure states: the mergeable columns that a cube stores, and the same states from raw rows.

One table, `STATES`, serves the build and the query's uncovered files alike: a state is written
down by the same expression that computes it on the fly (`docs/rewriting.md`, section 1).
States are wide: a sum of bigints is kept as a decimal, so no state overflows before Spark would.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from rewrite import types
from rewrite.ir.expr import Expr
from rewrite.render.expressions import Dialect, Renderer, duckdb_type

Build = Callable[[str, str, Dialect, int], str]
SUM_LEAVES = "a sum may leave its type"
"""What a text for DuckDB raises then, so that the plain statement decides."""
_DIGITS = 38  # of a decimal, at most
_SUMMED_DIGITS = 28  # a sum has ten more, if these are there


class StateKind(Struct, frozen=True):
    """How one sort of state is computed from rows and typed.

    `build(argument text, argument type, dialect, size)` is an aggregate; `stored(argument type)` is
    the Spark type of its column, None where the argument's type can't have this state. `merge` is
    the SQL aggregate that joins states of disjoint rows, empty where a measure's finish does it.
    `sized` states are sketches as fine as their size says; the others' size is 0.
    """

    name: str
    build: Build
    stored: Callable[[str | None], str | None]
    merge: str = ""
    needs_python: bool = False
    sized: bool = False


def _always(type_: str) -> Callable[[str | None], str | None]:
    return lambda _argument: type_


def _sum_stored(type_: str | None) -> str | None:
    # A file has fewer than 2^31 rows, so a file's sum of ints fits a bigint.
    if type_ == "bigint":
        return "decimal(30,0)"
    return types.sum_type(type_)


def _sum(argument: str, type_: str, dialect: Dialect, _size: int) -> str:
    if type_ in types.FLOATING:
        return f"SUM(CAST({argument} AS DOUBLE))"
    if type_ == "bigint" and dialect == "spark":
        return f"SUM(CAST({argument} AS DECIMAL(20,0)))"
    return f"SUM({argument})"


_NEARLY = 0.99
"""A sum of doubles may be wrong by less."""


def size_of(value: str) -> str:
    """How much numbers may add up to in DuckDB, in whatever order: their sizes, as doubles."""
    return f"SUM(ABS(CAST({value} AS DOUBLE)))"


def sum_that_fits(type_: str, size: str, total: str) -> str:
    """A total in DuckDB of numbers of that type, if no order of them leaves the sum's type.

    Spark adds one by one, and raises once the sum has left the type, though others would have led
    back. Here that's an error, which makes the plain statement run. `size` is that of all numbers.
    """
    parts = types.decimal_parts(type_)
    most = 10.0 ** (_DIGITS - parts[1]) if parts is not None else 2.0**63
    limit = f"CAST('{most * _NEARLY!r}' AS DOUBLE)"
    return f"(CASE WHEN {size} > {limit} THEN error('{SUM_LEAVES}') ELSE {total} END)"


def rows_that_fit(type_: str) -> int | None:
    """So many numbers of that type never leave a sum's; None where bounds alone may tell."""
    parts = types.decimal_parts(type_)
    return None if parts is None else 10 ** (_DIGITS - parts[0])


def may_leave(type_: str | None) -> bool:
    """Whether a sum of numbers of that type may leave its own, as far as rows can be counted."""
    parts = types.decimal_parts(type_)
    return type_ == "bigint" or (parts is not None and parts[0] > _SUMMED_DIGITS)


def _ordered(type_: str | None) -> str | None:
    orderable = {"int", "bigint", "float", "double", "string", "date", "boolean"}
    orderable |= {"timestamp", "timestamp_ntz"}
    return type_ if type_ in orderable or types.decimal_parts(type_) else None


def _set_stored(type_: str | None) -> str | None:
    plain = type_ in ("string", "boolean", "timestamp", "timestamp_ntz", *types.FLOATING)
    return f"array<{type_}>" if plain or types.decimal_parts(type_) else None


def _set(argument: str, type_: str, dialect: Dialect, _size: int) -> str:
    if type_ in types.FLOATING:
        argument = as_spark_groups(argument, type_, dialect)
    if dialect == "spark":
        return f"collect_set({argument})"
    return f"list(DISTINCT {argument}) FILTER (WHERE {argument} IS NOT NULL)"


def _bitmap_stored(type_: str | None) -> str | None:
    return "binary" if type_ in ("int", "bigint", "date") else None


def _bitmap(argument: str, type_: str, dialect: Dialect, _size: int) -> str:
    if dialect == "spark":
        number = f"unix_date({argument})" if type_ == "date" else argument
        return f"acc_bitmap(collect_set(CAST({number} AS BIGINT)))"
    number = f"date_diff('day', DATE '1970-01-01', {argument})" if type_ == "date" else argument
    return f"acc_bitmap(list(DISTINCT CAST({number} AS BIGINT)))"


def _hll(argument: str, type_: str, dialect: Dialect, _size: int) -> str:
    if dialect == "spark":
        return f"hll_sketch_agg({argument}, 14)"
    if type_ == "string":
        return f"acc_hll_texts(list(DISTINCT {argument}))"
    return f"acc_hll(list(DISTINCT CAST({argument} AS BIGINT)))"


def _hll_stored(type_: str | None) -> str | None:
    return "binary" if type_ in ("int", "bigint", "string") else None


def _kll_stored(type_: str | None) -> str | None:
    # Spark's approx_percentile itself sees a bigint as a double; of decimals it keeps all digits.
    return "binary" if type_ in ("int", "bigint", "float", "double") else None


def _kll(argument: str, _type: str, dialect: Dialect, size: int) -> str:
    number = f"CAST({argument} AS DOUBLE)"
    if dialect == "spark":
        return f"kll_sketch_agg_double({number}, {size})"
    return f"acc_kll(list({number}), {size})"


def _numeric(type_: str | None) -> str | None:
    return "double" if types.is_numeric(type_) else None


def _moment(template: str) -> Build:
    return lambda argument, _type, _dialect, _size: template.format(f"CAST({argument} AS DOUBLE)")


def as_rows_have_it(column: str, type_: str | None, dialect: Dialect) -> str:
    """The column as an argument of MIN or MAX, which DuckDB mustn't take from Parquet's statistics.

    There a smallest 0.0 is written as -0.0, and a largest -0.0 as 0.0; some writers leave out NaN.
    """
    if dialect != "duckdb" or type_ not in types.FLOATING:
        return column
    nan = f"CAST('nan' AS {duckdb_type(type_)})"
    return f"CASE WHEN isnan({column}) THEN {nan} ELSE {column} END"


def argument_text(kind: str, argument: Expr | None, render: Renderer) -> str:
    """The text of a state's argument; 1 if it has none. Only NULLs matter to a count."""
    if argument is None:
        return "1"
    return render.presence(argument) if kind == "count" else render.text(argument)


def as_spark_groups(value: str, type_: str | None, dialect: Dialect) -> str:
    """The value as Spark groups by it: of a floating one -0.0 is 0.0, and there is one NaN."""
    if type_ not in types.FLOATING:
        return value
    shown = type_ if dialect == "spark" else duckdb_type(type_)
    zero, nan = f"CAST(0 AS {shown})", f"CAST('NaN' AS {shown})"
    return f"(CASE WHEN {value} = 0 THEN {zero} WHEN isnan({value}) THEN {nan} ELSE {value} END)"


_KINDS = (
    StateKind("rows", lambda *_: "COUNT(*)", _always("bigint"), "SUM"),
    StateKind("count", lambda a, *_: f"COUNT({a})", _always("bigint"), "SUM"),
    StateKind("sum", _sum, _sum_stored, "SUM"),
    StateKind("min", lambda a, *_: f"MIN({a})", _ordered, "MIN"),
    StateKind("max", lambda a, *_: f"MAX({a})", _ordered, "MAX"),
    StateKind("set", _set, _set_stored),
    StateKind("bitmap", _bitmap, _bitmap_stored, needs_python=True),
    StateKind("mean", _moment("AVG({0})"), _numeric),
    StateKind("m2", _moment("(VAR_POP({0}) * COUNT({0}))"), _numeric),
    StateKind("hll", _hll, _hll_stored, needs_python=True),
    StateKind("kll", _kll, _kll_stored, needs_python=True, sized=True),
)
STATES: dict[str, StateKind] = {kind.name: kind for kind in _KINDS}
