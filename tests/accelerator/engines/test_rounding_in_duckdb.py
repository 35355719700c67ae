"""ROUND of doubles in DuckDB beside Java's: HALF_UP over the shortest decimal text."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewrite.functions.row import LEFT
from rewrite.ir.expr import Call, Column, Literal
from rewrite.render.expressions import Renderer, column_sql

_WIDE = Context(prec=800, rounding=ROUND_HALF_UP)


@st.composite
def _near_ties(draw: st.DrawFn) -> float:
    """A double next to a decimal that ends in 5, or up to two steps away from it."""
    digits = draw(st.integers(0, 10**15))
    found = float(Decimal(10 * digits + 5).scaleb(-draw(st.integers(0, 16))))
    for _ in range(draw(st.integers(0, 2))):
        found = math.nextafter(found, draw(st.sampled_from((-math.inf, math.inf))))
    return -found if draw(st.booleans()) else found


def _model(x: float, digits: int) -> float:
    if not math.isfinite(x):
        return x
    return float(Decimal(repr(x)).quantize(Decimal(1).scaleb(-digits), context=_WIDE)) + 0.0


@given(
    st.lists(st.one_of(_near_ties(), st.floats()), min_size=1, max_size=40), st.integers(-15, 15)
)
@example([1.005, 2.675, -2.675, 0.285, 1e15 + 0.5, -0.0, 0.49999999999999994, 5e-324], 2)
@example([0.5, 1.5, -0.5, 0.49999999999999994, 4503599627370497.5, 9007199254740993.0], 0)
@example([5.0, 15.0, 4.999999999999999, -5.0, 3999999999999995.0, math.nan, math.inf], -1)
def test_doubles_are_rounded_as_their_texts_are(values: list[float], digits: int) -> None:
    """Only numbers of sixteen digits before the point, rounded there, are left to Spark."""
    call = Call("round", (Column(0, 1, "x", "double"), Literal(str(digits), "int")), "double")
    text = Renderer("duckdb", lambda c: column_sql(c, "duckdb")).text(call)
    short = [value for value in values if digits >= 0 or not 4e15 <= abs(value) < math.inf]
    with duckdb.connect() as connection:
        asked = f"SELECT {text} FROM (SELECT unnest(CAST(? AS DOUBLE[])) AS x)"
        found = [value for (value,) in connection.execute(asked, [short]).fetchall()]
        assert list(map(repr, found)) == [repr(_model(value, digits)) for value in short]
        for value in values:
            if value not in short and not math.isnan(value):
                with pytest.raises(duckdb.InvalidInputException, match=LEFT):
                    connection.execute(asked, [[value]])
