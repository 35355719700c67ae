"""Quotients of decimals in DuckDB beside Java's, rounded to 38 digits and then to the type's."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from rewrite import types
from rewrite.functions.row import BY_ZERO, LEFT
from rewrite.ir.expr import Call, Column
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, column_sql

_WIDE = Context(prec=200, rounding=ROUND_HALF_UP)


@st.composite
def _numbers(draw: st.DrawFn) -> tuple[str, Decimal]:
    """A decimal's type and a value of it."""
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    digits = draw(st.integers(1, precision))
    unscaled = draw(st.integers(-(10**digits) + 1, 10**digits - 1))
    return f"decimal({precision},{scale})", Decimal(unscaled).scaleb(-scale, _WIDE)


def _model(left: Decimal, right: Decimal, type_: str) -> Decimal | None:
    """None if it has too many digits before the point, for which Spark raises."""
    precision, scale = types.decimal_parts(type_) or (0, 0)
    first = _WIDE.divide(left, right).quantize(Decimal(1).scaleb(-38, _WIDE), context=_WIDE)
    found = first.quantize(Decimal(1).scaleb(-scale, _WIDE), context=_WIDE)
    return found if abs(found) < Decimal(10) ** (precision - scale) else None


@given(_numbers(), _numbers())
def test_quotients_are_rounded_as_java_does(
    left: tuple[str, Decimal], right: tuple[str, Decimal]
) -> None:
    """A value that isn't told is left to Spark; none is another one."""
    type_ = types.arithmetic("/", left[0], right[0])
    call = Call("/", (Column(0, 1, "a", left[0]), Column(0, 2, "b", right[0])), type_)
    try:
        text = Renderer("duckdb", lambda c: column_sql(c, "duckdb")).text(call)
    except DeclinedError:
        return
    a, b = (f"CAST('{value:f}' AS {kind.upper()})" for kind, value in (left, right))
    with duckdb.connect() as connection:
        try:
            rows = connection.execute(f"SELECT {text} FROM (SELECT {a} AS a, {b} AS b)").fetchall()
        except (duckdb.ConversionException, duckdb.OutOfRangeException):
            return
        except duckdb.InvalidInputException as error:
            assert str(error).endswith((LEFT, BY_ZERO)), error
            assert right[1] or str(error).endswith(BY_ZERO)
            return
    assert rows == [(_model(left[1], right[1], type_ or ""),)]


@given(st.integers(-(10**12) + 1, 10**12 - 1), st.integers(1, 10**6 - 1), st.booleans())
def test_short_numbers_are_never_left_to_spark(cents: int, rate: int, negative: bool) -> None:
    a, b = Decimal(cents).scaleb(-2), Decimal(-rate if negative else rate).scaleb(-3)
    type_ = types.arithmetic("/", "decimal(12,2)", "decimal(6,3)") or ""
    call = Call("/", (Column(0, 1, "a", "decimal(12,2)"), Column(0, 2, "b", "decimal(6,3)")), type_)
    text = Renderer("duckdb", lambda c: column_sql(c, "duckdb")).text(call)
    values = f"CAST('{a}' AS DECIMAL(12,2)) AS a, CAST('{b}' AS DECIMAL(6,3)) AS b"
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT {text} FROM (SELECT {values})").fetchall()
    assert rows == [(_model(a, b, type_),)]
