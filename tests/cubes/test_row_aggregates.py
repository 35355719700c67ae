"""Aggregates over a group's rows: what is bound, and what Spark 4.1.4 answered of the same rows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import duckdb
import pytest

from cubes.degenerate.block_cube import itself
from cubes.may_raise import may_raise
from cubes.sql.answer import RawSource, answer_sql
from rewrite.reason import Declined, DeclinedError
from rewrite.render.readable import words
from tests.cubes.star import block

_WIDE = Context(prec=40)
_ROWS = """
  (1, 1, 10, 1.5, 'a'), (1, 2, 9007199254740993, 'nan', 'b'),
  (1, NULL, 9223372036854775807, 'inf', NULL), (1, 2, -9223372036854775808, 0, 'c'),
  (2, 7, NULL, 0, 'z'), (3, NULL, NULL, NULL, NULL), (3, NULL, NULL, NULL, NULL),
  (4, 5, 3, 0.1, 'é'), (4, 5, 3, 0.1, 'Z'), (4, 9, 4, 0.3, 'Z')
"""


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute("CREATE TABLE f (k INT, i INT, w BIGINT, x DOUBLE, g VARCHAR)")
    found.execute(f"INSERT INTO f VALUES {_ROWS}")
    return found


def _text(sql: str, dialect: Any = "duckdb") -> str:
    asked = block(sql)
    found = itself(asked)
    assert not isinstance(found, Declined), found
    return answer_sql(asked, found[1], dialect, [], RawSource(("f",)))


@pytest.mark.parametrize(
    ("call", "answers"),
    [
        ("median(i)", (2.0, 7.0, None, 5.0)),
        ("percentile(i, 0.95)", (2.0, 7.0, None, 8.6)),
        ("percentile(i, 1e-1)", (1.2000000000000002, 7.0, None, 5.0)),
        ("median(w)", (4503599627370501.0, None, None, 3.0)),
        ("percentile(w, 0.3)", (-9.223372036854784e17, None, None, 3.0)),
        ("percentile(w, 0.95)", (7.841217311214767e18, None, None, 3.9)),
        ("percentile_cont(0.9) WITHIN GROUP (ORDER BY i)", (2.0, 7.0, None, 8.2)),
        ("median(x)", (float("inf"), 0.0, None, 0.1)),
        ("percentile(x, 0.95)", (float("nan"), 0.0, None, 0.27999999999999997)),
        ("median(i) FILTER (WHERE i > 5)", (None, 7.0, None, 9.0)),
        ("max_by(i, w)", (None, None, None, 9)),
        ("min_by(g, w) FILTER (WHERE i < 2)", ("a", None, None, None)),
        ("array_join(sort_array(collect_set(g)), ',')", ("a,b,c", "z", "", "Z,é")),
        ("sort_array(collect_set(g))", (["a", "b", "c"], ["z"], [], ["Z", "é"])),
        ("size(collect_set(i))", (2, 1, 0, 2)),
        ("corr(i, w)", (-0.4992677572005385, None, None, 1.0)),
        ("any_value(k)", (1, 2, 3, 4)),
    ],
)
def test_spark_answered(
    connection: duckdb.DuckDBPyConnection, call: str, answers: tuple[Any, ...]
) -> None:
    found = connection.execute(_text(f"SELECT {call} AS c FROM f GROUP BY k ORDER BY k")).fetchall()
    for (one,), answer in zip(found, answers, strict=True):
        if call.startswith("corr") and answer is not None:
            assert one == pytest.approx(answer, rel=1e-9)
        else:
            assert repr(one) == repr(answer)


def _percentile(values: list[Any], share: float) -> float:
    """Spark's `Percentile.getPercentile`."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    if low == high:
        return float(low)
    weight = math.ceil(position) - position
    return weight * float(low) + (position - math.floor(position)) * float(high)


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        ("i", "INT"),
        ("w", "BIGINT"),
        ("c", "DECIMAL(10,2)"),
        ("x", "DOUBLE"),
    ],
)
def test_every_digit_is_sparks(column: str, type_: str) -> None:
    draw = random.Random(column)
    making: dict[str, Callable[[], Any]] = {
        "i": lambda: draw.randrange(-(2**31), 2**31),
        "w": lambda: draw.choice((2**53, 2**62, 3)) + draw.randrange(9),
        "c": lambda: Decimal(draw.randrange(-(10**10), 10**10)).scaleb(-2, _WIDE),
        "x": lambda: draw.uniform(-1, 1) * 10.0 ** draw.randrange(-3, 12),
    }
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE f (k INT, {column} {type_})")
    for rows in (1, 2, 3, 10, 97, 400):
        values = [making[column]() for _ in range(rows)]
        connection.execute("DELETE FROM f")
        connection.executemany("INSERT INTO f VALUES (1, ?)", [(value,) for value in values])
        shares = (0.5, 0.25, 0.1, 0.95, 0.99, 1 / 3, draw.random(), 0.0, 1.0)
        calls = ", ".join(f"percentile({column}, {s:.17f}) AS p{n}" for n, s in enumerate(shares))
        (found,) = connection.execute(_text(f"SELECT {calls} FROM f")).fetchall()
        assert found == tuple(_percentile(values, float(f"{s:.17f}")) for s in shares)


@pytest.mark.parametrize(
    ("call", "group"),
    [
        ("max_by(g, i)", 1),  # 'b' or 'c'
        ("min_by(g, w)", 4),
        ("any_value(g)", 4),
        ("first(i)", 1),  # a NULL may come first
        ("corr(i, k)", 4),  # Spark raises: k has no spread
        ("corr(x, i)", 1),
    ],
)
def test_what_plain_spark_decides(
    connection: duckdb.DuckDBPyConnection, call: str, group: int
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"left to Spark|division by zero"):
        connection.execute(_text(f"SELECT {call} AS c FROM f WHERE k = {group}")).fetchall()


@pytest.mark.parametrize(
    "call",
    [
        "median(DISTINCT i)",
        "median(g)",
        "median(dt)",
        "median(sum(i))",
        "percentile(i, k)",
        "percentile(i, 1.5)",
        "percentile(i, NULL)",
        "percentile(i, 0.5F)",
        "percentile(i, array(0.5))",
        "quantile(i, 0.5)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY i DESC)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY i, k)",
        "percentile_disc(0.5) WITHIN GROUP (ORDER BY i)",
        "percentile_cont(0.5)",
        "arg_max(i, w)",
        "max_by(i, x)",
        "max_by(i, g)",
        "min_by(DISTINCT i, w)",
        "any_value(x)",
        "any_value(DISTINCT i)",
        "collect_set(i)",
        "array_sort(collect_set(i))",
        "sort_array(collect_set(x))",
        "sort_array(collect_list(i))",
        "size(collect_set(x))",
        "size(collect_set(DISTINCT i))",
        "size(collect_list(i))",
        "array_join(collect_set(g), ',')",
        "array_join(sort_array(collect_set(g), false), ',')",
        "array_join(sort_array(collect_set(g)), g)",
        "array_join(sort_array(collect_set(g)), ',', 'null')",
        "corr(g, i)",
        "median(i) OVER ()",
        "any_value(i) IGNORE NULLS",
    ],
)
def test_what_is_left_to_spark(call: str) -> None:
    with pytest.raises(DeclinedError):
        block(f"SELECT {call} AS c FROM f")


def test_spark_computes_them_by_its_plain_statement_alone() -> None:
    with pytest.raises(DeclinedError, match="of rows, in Spark"):
        _text("SELECT median(i) AS m FROM f", "spark")
    with pytest.raises(DeclinedError, match="only value"):
        _text("SELECT any_value(i) AS m FROM f", "spark")


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("median(i + 1)", "percentile(i + 1, 0.5)"),
        ("max_by(g, i) FILTER (WHERE k > 1)", "max_by(g, i) FILTER (WHERE k > 1)"),
        ("array_join(sort_array(collect_set(g)), ',')",) * 2,
        ("sum(1L)",) * 2,
    ],
)
def test_people_read_sparks_words(call: str, shown: str) -> None:
    assert words(block(f"SELECT {call} AS c FROM f").outputs[0].expr) == shown


def test_a_correlation_may_raise_for_a_group_that_is_dropped() -> None:
    calls = [block(f"SELECT {c} AS c FROM f").outputs[0].expr for c in ("corr(i, w)", "median(i)")]
    assert [may_raise([call]) for call in calls] == [True, False]


def test_grouping_sets_make_several_cells_of_a_group() -> None:
    found = itself(block("SELECT k, g, median(i) AS m FROM f GROUP BY ROLLUP (k, g)"))
    assert isinstance(found, Declined)
    assert found.code == "aggregate_unsupported"


def test_an_argument_whose_text_would_grow_too_long() -> None:
    long = f"CASE WHEN g = '{'a' * 5_000}' THEN x END"
    with pytest.raises(DeclinedError, match="A long argument"):
        _text(f"SELECT percentile({long}, 0.3) AS p FROM f")
