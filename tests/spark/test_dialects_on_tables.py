"""Queries of other dialects are answered as they are there, from cubes as from plain Spark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from accelerator.errors import ConfigError, GuardError, StatementError, UntranslatedError
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark

F = "lake.d.dialect_f"
_FACTS = (
    "SELECT nullif(CAST(id AS INT) % 7, 6) AS k, nullif(concat('g', id % 3), 'g2') AS g,"
    " CAST(id AS INT) % 5 AS v, CAST(id AS DECIMAL(9,2)) / 4 AS c, CAST(id % 5 AS DOUBLE) / 8 AS x,"
    " date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS d,"
    " TIMESTAMP_NTZ '2024-03-10 02:30:00' + make_interval(0, 0, 0, id % 3) AS z"
    " FROM range(0, 60, 1, 1)"
)
# Each is run by DuckDB itself, too; the table is called f there.
_BY_DUCKDB = (
    "SELECT g, count(*), sum(v), avg(v), min(d), max(c) FROM f GROUP BY g ORDER BY g",
    "SELECT g, sum(v) AS s FROM f GROUP BY g ORDER BY g DESC",
    "SELECT k, sum(v) / count(*) AS r, sum(c) / 2 FROM f GROUP BY k ORDER BY k LIMIT 3 OFFSET 1",
    'SELECT "g", sum(v) FILTER (WHERE k > 2), sum(v) FILTER (k > 2) FROM f GROUP BY 1 ORDER BY 1',
    "SELECT date_trunc('month', d) AS m, count(*) FROM f GROUP BY m ORDER BY m",
    "SELECT extract(month FROM d) AS m, year(d) AS y, count(DISTINCT k) FROM f GROUP BY 1, 2",
    "SELECT g, concat(g, '-', 'x') AS t, g || '!' AS u FROM f GROUP BY g",
    "SELECT count(*) FROM f WHERE d >= DATE '2024-02-01' - INTERVAL 3 DAY AND g LIKE 'g%'",
    "SELECT count(*) FROM f WHERE z < TIMESTAMP '2024-03-11 00:00:00' AND g IS NOT DISTINCT FROM"
    " NULL",
    "SELECT g, rank() OVER (ORDER BY g) AS r FROM (SELECT g, sum(v) AS v FROM f GROUP BY g)",
    "SELECT g, lag(s) OVER (ORDER BY s DESC, g) AS l FROM"
    " (SELECT g, sum(k) AS s FROM f GROUP BY g)",
    "SELECT g, k, sum(v), grouping(g) FROM f GROUP BY ROLLUP (g, k) ORDER BY 1, 2, 3",
    "SELECT CASE WHEN v > 2 THEN 'many' ELSE 'few' END AS w, count(*) FROM f GROUP BY 1",
    "SELECT k FROM f WHERE v = 1 UNION SELECT v FROM f WHERE k = 1 ORDER BY 1 NULLS FIRST",
    "SELECT substr(g, 2, 1) AS t, upper(g), length(g), count(*) FROM f GROUP BY 1, 2, 3",
    "SELECT stddev(v), var_samp(v), stddev_pop(v), bool_and(v < 9), sum(x::DOUBLE) FROM f",
    "WITH w AS (SELECT k, sum(v) AS s FROM f GROUP BY k) SELECT max(s) / min(s) AS r FROM w"
    " WHERE k IN (SELECT k FROM f WHERE v = 2) AND s > 0",
    "SELECT g, (SELECT max(v) FROM f) - min(v) AS r FROM f GROUP BY g HAVING count(*) > 10",
)
# Spark's answers to these words would be other ones.
_KNOWN = (
    ("trino", f"SELECT 7 / 2, -7 / 2, 7.0 / 2 FROM {F} LIMIT 1", [(3, -3, 3.5)]),
    ("trino", f"SELECT sum(v) / count(*) FROM {F}", [(2,)]),
    ("postgres", f"SELECT sum(v) / 7, sum(v) * 1.0 / 100 FROM {F}", [(17, 1.2)]),
    ("mysql", f"SELECT sum(v) / 0, sum(v) % 0, count(*) / 8 FROM {F}", [(None, None, 7.5)]),
    (
        "trino",
        f"SELECT g FROM {F} GROUP BY g ORDER BY g FETCH FIRST 2 ROWS ONLY",
        [("g0",), ("g1",)],
    ),
    ("postgres", f"SELECT g FROM {F} GROUP BY g ORDER BY g DESC LIMIT 1", [(None,)]),
    ("mysql", f"SELECT g FROM {F} GROUP BY g ORDER BY g LIMIT 1, 1", [("g0",)]),
    ("trino", f"SELECT 'a\\nb' FROM {F} LIMIT 1", [("a\\nb",)]),
    ("mysql", f"SELECT 'a\\nb' FROM {F} LIMIT 1", [("a\nb",)]),
    ("postgres", f"SELECT concat(g, 'x') FROM {F} WHERE g IS NULL LIMIT 1", [("x",)]),
    (
        "starrocks",
        f"SELECT ifnull(g, 'none'), count(*) FROM {F} WHERE g IS NULL GROUP BY g",
        [("none", 20)],
    ),
    ("clickhouse", f"SELECT count(), countIf(v > 2), sum(v) * 0.5 FROM {F}", [(60, 24, 60.0)]),
    ("trino", f"SELECT count(*) FROM {F} WHERE z >= TIMESTAMP '2024-03-12 02:30:00'", [(20,)]),
)


@pytest.fixture(scope="module")
def facts(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Accelerator]:
    spark_warehouse.sql(f"CREATE TABLE {F} USING iceberg AS {_FACTS}")
    acc.execute(
        f'CREATE CUBE "of dialects" AS SELECT k, g, v, d, z, count(*), sum(v), sum(c), avg(x)'
        f" FROM {F} GROUP BY k, g, v, d, z",
        dialect="trino",
    )
    yield acc
    acc.query("DROP CUBE `of dialects`")
    spark_warehouse.sql(f"DROP TABLE {F}")


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    number = float(value) if isinstance(value, (int, float, Decimal)) else math.nan
    return float(f"{number:.9g}")


def _rows(rows: list[tuple[Any, ...]], sql: str) -> list[tuple[Any, ...]]:
    found = [tuple(map(_plain, row)) for row in rows]
    return found if "ORDER BY" in sql.rpartition(")")[2] else sorted(found, key=repr)


def _answer(acc: Accelerator, sql: str, dialect: str) -> list[tuple[Any, ...]]:
    table = acc.query(sql, dialect=dialect).arrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_duckdb_itself_answers_the_same(facts: Accelerator) -> None:
    own = duckdb.connect()
    own.register("f", facts.services.plain_table(f"SELECT * FROM {F}"))
    rewritten = 0
    for sql in _BY_DUCKDB:
        ours = sql.replace(" f ", f" {F} ").replace(" f)", f" {F})")
        ours = f"{ours[:-2]} {F}" if ours.endswith(" f") else ours
        wanted = _rows(own.execute(sql).fetchall(), sql)
        assert _rows(_answer(facts, ours, "duckdb"), sql) == wanted, sql
        assert facts.verify(ours, dialect="duckdb").equal
        rewritten += facts.query(ours, dialect="duckdb").metrics.rewritten
        frame = facts.sql(ours, dialect="duckdb")
        assert _rows([tuple(row) for row in frame.collect()], sql) == wanted, sql
    assert rewritten >= len(_BY_DUCKDB) // 2


def test_what_is_known_of_each(facts: Accelerator) -> None:
    for dialect, sql, wanted in _KNOWN:
        assert _rows(_answer(facts, sql, dialect), "") == _rows(wanted, ""), (dialect, sql)


def test_statements_of_ours(facts: Accelerator) -> None:
    sql = f'SELECT "g", sum(v) / 7 AS r FROM {F} GROUP BY "g"'
    text = facts.execute(f"EXPLAIN ACCELERATE {sql}", dialect="trino")["plan"].to_pylist()
    assert any("of dialects" in line for line in text)
    assert facts.execute(f"VERIFY {sql}", dialect="postgres")["equal"].to_pylist() == [True]
    assert facts.why_not(sql, dialect="trino") == facts.why_not(sql.replace('"', "`"))
    assert facts.stream(sql, dialect="trino").read_all().num_rows == 3
    [row] = [r for r in facts.query("SHOW CUBES").arrow().to_pylist() if r["cube"] == "of dialects"]
    assert row["definition"].startswith("SELECT k, g, v, d, z, COUNT(*)")


def test_what_is_refused_says_so(facts: Accelerator) -> None:
    with pytest.raises(UntranslatedError, match="soundex") as caught:
        facts.query(f"SELECT soundex(g) FROM {F}", dialect="trino")
    assert caught.value.code == "dialect_untranslated"
    with pytest.raises(ConfigError, match="oracle"):
        facts.query("SELECT 1", dialect="oracle")
    with pytest.raises(StatementError, match="a parenthesis isn't closed"):
        facts.query("SELECT (1", dialect="trino")


def test_the_setting(facts: Accelerator, spark_warehouse: SparkWarehouse, tmp_path) -> None:
    with spark_warehouse.attach(store=str(tmp_path / "store"), dialect="trino") as other:
        assert other.query(f"SELECT sum(v) / count(*) FROM {F}").arrow()[0].to_pylist() == [2]
        assert other.query(f"SELECT `g` FROM {F} LIMIT 1", dialect="spark").arrow().num_rows == 1
        assert other.sql("SHOW NAMESPACES IN lake").count() > 0


def test_a_comment_exempts_from_guards(
    facts: Accelerator, spark_warehouse: SparkWarehouse, tmp_path
) -> None:
    with spark_warehouse.attach(
        store=str(tmp_path / "store"),
        dialect="trino",
        guard_rows_max=1,
        guard_exempt_comment="let me",
    ) as other:
        with pytest.raises(GuardError):
            other.query(f'SELECT max("v") AS m FROM {F}')
        assert other.query(f'SELECT /* let me */ max("v") AS m FROM {F}').arrow().num_rows == 1
