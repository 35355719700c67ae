"""SELECTs without FROM: in process where they're proven, Spark's elsewhere."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import accelerator
from accelerator.common.config.config import Config
from accelerator.engines.spark.lazy_engine import elsewhere
from accelerator.errors import SparkElsewhereError
from accelerator.planning.candidates.constants import is_constant, plan_constants
from accelerator.session.opening import open_loaded
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError


@pytest.fixture
def acc(tmp_path):
    session = accelerator.open(tmp_path / "warehouse", create=True)
    session.close()
    loaded = Config.load(None, warehouse=str(tmp_path / "warehouse"))
    with open_loaded(loaded, source=elsewhere()) as one:
        yield one


ANSWERED = [
    ("SELECT 1", [("1", pa.int32(), 1)]),
    (
        "SELECT 1 AS a, 'x', true",
        [("a", pa.int32(), 1), ("x", pa.string(), "x"), ("true", pa.bool_(), True)],
    ),
    ("SELECT 1.50 AS d", [("d", pa.decimal128(3, 2), Decimal("1.50"))]),
    ("SELECT DATE '2020-02-29' AS d", [("d", pa.date32(), datetime.date(2020, 2, 29))]),
    ("SELECT 1 / 2", [("(1 / 2)", pa.float64(), 0.5)]),
    ("SELECT 2147483648 AS big", [("big", pa.int64(), 2147483648)]),
]


@pytest.mark.parametrize(("sql", "columns"), ANSWERED)
def test_constants_are_computed_here(acc, sql, columns):
    answer = acc.query(sql)
    assert answer.metrics.engine == "duckdb"
    table = answer.arrow()
    assert [(f.name, f.type) for f in table.schema] == [(n, t) for n, t, _ in columns]
    assert table.to_pylist() == [{n: v for n, _, v in columns}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 / 0",
        "SELECT 2147483647 + 1",
        "SELECT current_date",
        "SELECT rand()",
        "SELECT 1 a, a + 1",
        "SELECT coalesce(NULL, 1 / 0)",
        "SELECT 1 LIMIT 1",
        "SELECT NULL",
    ],
)
def test_the_rest_is_sparks(acc, sql):
    with pytest.raises(SparkElsewhereError):
        acc.query(sql)
    assert acc.fallbacks == {}, "needing Spark is no failure of the layer"


def test_explain_tells_it(acc):
    told = str(acc.explain("SELECT 1"))
    assert "one row of constants" in told


def test_no_row() -> None:
    """JDBC's driver asks for keys that nobody has by casts of NULL, and WHERE false."""
    sql = "SELECT CAST(NULL AS STRING) AS a, CAST(NULL AS SMALLINT) AS b WHERE false"
    tree = parse(sql)
    assert is_constant(tree)
    plan = plan_constants(tree, "UTC")
    nulls = "CAST(NULL AS VARCHAR) AS c0, CAST(NULL AS smallint) AS c1"
    assert plan.sql == f"SELECT {nulls} WHERE false"
    assert plan.outputs() == (("a", "string"), ("b", "smallint"))
    assert plan_constants(parse("SELECT 1 AS x WHERE false"), "UTC").sql.endswith(" WHERE false")
    assert not is_constant(parse("SELECT 1 AS x WHERE true"))
    with pytest.raises(DeclinedError):
        plan_constants(parse("SELECT 2147483647 + 1 AS x WHERE false"), "UTC")
