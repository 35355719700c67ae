"""The function table beside plain Spark's recorded answers over edge values: values, types, names.

Of a row that only Spark can tell DuckDB's text raises; it may do so for few rows. Where Spark
raises, the text has to.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from rewrite.bind.expressions import bind
from rewrite.bind.select import name_of
from rewrite.functions.table import FUNCTIONS
from rewrite.ir.expr import Call, Column, walk
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import duckdb_type
from rewrite.types import DATE_PARTS, TIME_PARTS
from tests.rewrite.functions import grid
from tests.rewrite.functions.in_process import GridColumns, bound, computed, database, rendered

_LEFT_MAX = 0.6
"""Of the rows that Spark answers at most so many may be left to it: most are edge values."""


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the grid's table."""
    with database() as found:
        yield found


@pytest.mark.parametrize("expression", grid.expressions())
def test_answers_are_sparks(connection: duckdb.DuckDBPyConnection, expression: str) -> None:
    """Each row's value is Spark's, or left to it."""
    expr, sparks = bound(expression), grid.recorded()[expression]["values"]
    ours = computed(connection, rendered(expr))
    rows = zip(grid.table().to_pylist(), ours, sparks, strict=True)
    names = [node.name for node in walk(expr) if isinstance(node, Column)]
    differ = [
        ({name: row[name] for name in names}, own, other)
        for row, own, other in rows
        if own not in (other, [grid.RAISES])
    ]
    assert differ[:5] == []
    told = [i for i in range(grid.ROWS) if sparks[i] != [grid.RAISES]]
    left = sum(ours[i] == [grid.RAISES] for i in told)
    assert left <= _LEFT_MAX * len(told)


@pytest.mark.parametrize("expression", ["round(x, -1)", "round(x, 2)", "CAST(x AS STRING)"])
def test_no_null_is_left_to_spark(connection: duckdb.DuckDBPyConnection, expression: str) -> None:
    """A column with NULLs doesn't make a guarded form raise."""
    ours = computed(connection, rendered(bound(expression)))
    of_null = [own for own, x in zip(ours, grid.table()["x"].to_pylist(), strict=True) if x is None]
    assert of_null and set(of_null) == {None}


@pytest.mark.parametrize("expression", grid.expressions())
def test_types_are_sparks(connection: duckdb.DuckDBPyConnection, expression: str) -> None:
    """DuckDB's own type of the text is the equal of Spark's."""
    expr = bound(expression)
    assert expr.type == grid.recorded()[expression]["type"]
    found = connection.execute(f"DESCRIBE SELECT {rendered(expr)} AS q FROM grid").fetchall()
    plain = found[0][1].replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
    if isinstance(expr, Call) and expr.op in DATE_PARTS | TIME_PARTS:
        assert plain in ("BIGINT", "INTEGER")  # as what is computed of it is held to Spark's type
    else:
        assert plain == duckdb_type(grid.recorded()[expression]["type"])


@pytest.mark.parametrize("expression", grid.expressions())
def test_names_are_sparks(expression: str) -> None:
    """A name that is told is Spark's."""
    _, written = grid.zone_of(expression)
    node = parse(f"SELECT {written} FROM grid").expressions[0]
    name = name_of(node, bound(expression))
    assert name is None or name == grid.recorded()[expression]["name"]


def test_each_form_is_in_the_grid() -> None:
    """No form of the table is without an expression."""
    calls = [
        node
        for expression in grid.expressions()
        for node in walk(bound(expression))
        if isinstance(node, Call)
    ]
    for function in FUNCTIONS:
        for form in function.forms:
            asked = any(
                call.op == function.op and function.form(call.args) is form for call in calls
            )
            assert asked, f"{function.op}{form.takes}"


@pytest.mark.parametrize(
    "expression",
    [
        *("round(f, 1)", "round(x, k)", "ceil(x, 1)", "power(x, 3)", "greatest(s, i)", "abs(s)"),
        *("split_part(s, '.', 0)", "split_part(s, t, 1)", "d + INTERVAL 3 QUARTERS", "length(at)"),
        *("TRY_CAST(numeral AS INT)", "CAST(s AS TIMESTAMP_NTZ)", "CAST(at AS BIGINT)", "d - d2"),
        *("months_between(d, d2, false)", "to_date(day_text, 'yyyy')", "datediff(DAY, d, d2)"),
        *("upper(i)", "date_add(d, l)", "dateadd(MINUTE, l, at)", "i % c", "concat(s, at)"),
    ],
)
def test_other_calls_decline(expression: str) -> None:
    """What isn't proven is told so."""
    with pytest.raises(DeclinedError):
        rendered(bound(expression))


def test_calls_within_calls_are_bounded() -> None:
    """A text that names its arguments several times doesn't grow without end."""
    expression = "x"
    for _ in range(30):
        expression = f"round({expression}, 2)"
    with pytest.raises(DeclinedError, match="too long"):
        rendered(bound(expression))


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "Australia/Lord_Howe", "+05:30", "CET"])
@pytest.mark.parametrize("expression", ["hour(at)", "date_trunc('day', at)", "CAST(at AS DATE)"])
def test_clocks_of_other_zones_decline(zone: str, expression: str) -> None:
    """A midnight is skipped there, an hour is shorter, or editions of the data may differ."""
    node = parse(f"SELECT {expression} FROM grid").expressions[0]
    with pytest.raises(DeclinedError):
        rendered(bind(node, GridColumns(zone)))


def test_days_in_other_zones_decline() -> None:
    """A day is as long as the zone says."""
    node = parse("SELECT at + INTERVAL 1 DAY FROM grid").expressions[0]
    with pytest.raises(DeclinedError):
        rendered(bind(node, GridColumns("Europe/Berlin")))
