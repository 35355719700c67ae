"""Tables beside SELECTs in FROM: joined with their answers in process, and equal to plain Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator import nested_search
from accelerator.session import Accelerator
from tests.spark.conftest import MERGE_ON_READ, SparkWarehouse
from tests.spark.differential import Differential
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark

F = "lake.d.beside_f"
D, X = "lake.d.beside_d", "lake.d.beside_x"
BY_K = f"SELECT k, sum(v) AS s, count(*) AS n, max(p) AS p FROM {F} GROUP BY k"

BESIDE = [
    f"SELECT a.k, g, s FROM ({BY_K}) a JOIN {D} ON a.k = dk ORDER BY 1, 2, 3",
    f"SELECT a.k, b.G, n FROM {D} b RIGHT JOIN ({BY_K}) a ON a.k = b.dk AND b.w > 1",
    f"SELECT dk, s FROM {D} LEFT JOIN ({BY_K}) a ON a.k = dk WHERE g IS NOT NULL OR s > 5",
    f"SELECT a.k, d.* FROM ({BY_K}) a LEFT JOIN {D} d ON a.k <=> d.dk ORDER BY a.k, d.w, d.c",
    f"SELECT * FROM ({BY_K}) a, {D} d WHERE a.k = d.dk AND a.p > d.c",
    f"SELECT g, sum(s) AS s, count(*) AS m, max(w) FROM ({BY_K}) a JOIN {D} ON k = dk GROUP BY g",
    f"SELECT count(*) FROM ({BY_K}) a, {D}",
    f"SELECT n, y FROM ({BY_K}) a JOIN {X} x ON a.k = x.y",
    f"WITH a AS ({BY_K}) SELECT x.g, y.g AS h, n FROM a JOIN {D} x ON a.k = x.dk"
    f" JOIN {D} y ON x.w < y.w WHERE n > 1",
    f"WITH a AS ({BY_K}), m AS (SELECT max(n) AS n FROM a) SELECT a.k, g FROM a JOIN m ON a.n = m.n"
    f" LEFT JOIN {D} ON dk = k",
    f"SELECT dk, n FROM {D} JOIN (SELECT k AS dk, count(*) AS n FROM {F} GROUP BY k) USING (dk)",
    f"SELECT d, beside_d.g FROM (SELECT k, max(d) AS d FROM {F} GROUP BY k) JOIN {D} ON k = dk"
    " WHERE e > DATE '2024-01-02' AND d >= e ORDER BY d DESC, g LIMIT 3",
    f"SELECT g, avg(n) AS n FROM (SELECT a.k, n, g FROM ({BY_K}) a JOIN {D} ON k = dk) GROUP BY g",
]
BY_SPARK = [
    f"SELECT k, g FROM ({BY_K}) a JOIN {D} TABLESAMPLE (100 PERCENT) ON k = dk",
    f"SELECT k, g FROM ({BY_K}) a FULL JOIN {D} ON k = dk",
    f"SELECT k, x.one FROM ({BY_K}) a JOIN {X} ON k = y",
    f"SELECT * FROM ({BY_K}) a JOIN {X} ON k = y",
    f"SELECT k, s FROM ({BY_K}) a LEFT SEMI JOIN (SELECT DISTINCT dk FROM {D}) b ON a.k = b.dk",
    f"SELECT k, s FROM ({BY_K}) a LEFT SEMI JOIN {D} ON a.k = dk",
    f"SELECT * FROM ({BY_K}) a NATURAL JOIN (SELECT 1 AS n) b JOIN {D} ON k = dk",
    f"SELECT k, 1 / w AS q FROM ({BY_K}) a JOIN {D} ON k = dk WHERE w > 0",
    f"SELECT k, x.dk, g FROM ({BY_K}) a JOIN {D} x (g, dk, w, c, e) ON a.k = x.g",
    f"SELECT x.* FROM {D} AS x (e, c, w, g, dk), ({BY_K}) a WHERE a.k = x.e",
]


@pytest.fixture(scope="module")
def acc_(spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory):
    sql = spark_warehouse.sql
    sql(f"CREATE TABLE {F} (k STRING, d DATE, v INT, p DECIMAL(9, 2)) USING iceberg")
    sql(
        f"CREATE TABLE {D} (dk STRING, g STRING, w INT, c DECIMAL(5, 1), e DATE) USING iceberg"
        f" TBLPROPERTIES ({MERGE_ON_READ})"
    )
    sql(f"CREATE TABLE {X} USING iceberg AS SELECT struct(1 AS one) AS x, 'a' AS y")
    sql(
        f"INSERT INTO {F} SELECT nullif(substr('abcdefgé', CAST(id % 9 AS INT), 1), ''),"
        " date_add(DATE '2023-11-20', CAST(id * 17 % 900 AS INT)),"
        " nullif(CAST(id * 7 % 13 AS INT), 5), id * 31 % 97 / 4 FROM range(60)"
    )
    sql(
        f"INSERT INTO {D} VALUES ('a', 'x', 1, 7.5, DATE '2024-01-01'),"
        " ('a', 'y', 2, -1, DATE '2024-02-01'), ('é', NULL, 0, 3, NULL),"
        " (NULL, 'x', NULL, NULL, DATE '2023-01-01'), ('q', 'z', 7, 0, NULL)"
    )
    store = str(tmp_path_factory.mktemp("beside"))
    with spark_warehouse.attach(store=store) as session:
        session.execute(
            f"CREATE CUBE beside AS SELECT k, d, count(*), sum(v), max(p), count(v)"
            f" FROM {F} GROUP BY k, d"
        )
        yield session


@pytest.fixture
def check(acc_: Accelerator) -> Iterator[Differential]:
    yield Differential(acc_)


def test_tables_are_joined_with_answers(acc_: Accelerator, check: Differential) -> None:
    check.check(BESIDE)
    assert [sql for sql in BESIDE if acc_.query(sql).metrics.engine != "duckdb"] == []
    check.check(BY_SPARK, rewritten=None)
    assert [sql for sql in BY_SPARK if acc_.query(sql).metrics.engine == "duckdb"] == []
    sql = acc_.spark.sql
    sql(f"INSERT INTO {D} VALUES ('b', 'w', 3, 1, DATE '2025-01-01')")
    sql(f"DELETE FROM {D} WHERE g = 'y'")
    sql(f"INSERT INTO {F} VALUES ('b', DATE '2025-01-01', 100, 1), (NULL, NULL, 7, 2)")
    check.changed()
    check.check(BESIDE, where="after changes")
    sql(f"ALTER TABLE {D} RENAME COLUMN g TO h")
    sql(f"ALTER TABLE {D} ADD COLUMN g BIGINT")
    check.changed()
    check.check(BESIDE, where="under another schema")


def test_a_state_is_named_and_a_view_hides(acc_: Accelerator, check: Differential) -> None:
    first = acc_.spark.sql(f"SELECT snapshot_id FROM {D}.snapshots ORDER BY committed_at").first()
    assert first is not None
    join = f"SELECT k, w FROM ({BY_K}) a JOIN {{}} ON k = dk"
    check.check([join.format(f"{D} VERSION AS OF {first[0]}")], rewritten=None)
    acc_.spark.sql("CREATE TEMPORARY VIEW beside_d AS SELECT 'a' AS dk, 70 AS w")
    catalog, namespace = acc_.spark.catalog.currentCatalog(), acc_.spark.catalog.currentDatabase()
    acc_.spark.sql("USE lake.d")
    try:
        check.check([join.format("beside_d")], rewritten=None)
        check.check([join.format("d.beside_d")])
    finally:
        acc_.spark.catalog.setCurrentCatalog(catalog)
        if namespace:
            acc_.spark.sql(f"USE {catalog}.{namespace}")
        acc_.spark.sql("DROP VIEW beside_d")


def test_a_large_table_is_left_to_spark(
    acc_: Accelerator, check: Differential, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = f"SELECT k, w, s FROM ({BY_K}) a JOIN {D} ON k = dk"
    assert acc_.query(sql).metrics.engine == "duckdb"
    monkeypatch.setattr(nested_search, "_BESIDE_ROWS_MAX", 2)
    again = f"{sql} WHERE true"
    check.check([again])
    assert acc_.query(again).metrics.engine == "spark"
    monkeypatch.setattr(nested_search, "_BESIDE_ROWS_MAX", 2_000_000)
    monkeypatch.setattr(nested_search, "_BESIDE_FILES_MAX", 0)
    assert acc_.query(f"{sql} WHERE 1 = 1").metrics.engine == "spark"


def test_equality_deletes_are_left_to_spark(
    spark_warehouse: SparkWarehouse, acc_: Accelerator, check: Differential
) -> None:
    name = spark_warehouse.table("k INT, g STRING")
    acc_.spark.sql(f"INSERT INTO lake.d.{name} SELECT CAST(id AS INT), 'g' FROM range(6)")
    sql = f"SELECT t.k, g, s FROM ({BY_K}) a JOIN lake.d.{name} t ON n >= t.k"
    check.check([sql])
    write_equality_delete(spark_warehouse, name, [1, 2])
    check.changed()
    check.check([sql], rewritten=None)
    assert acc_.query(sql).metrics.engine == "spark"


def test_an_empty_table_and_a_view_of_such_a_join(
    spark_warehouse: SparkWarehouse, acc_: Accelerator, check: Differential
) -> None:
    empty = f"lake.d.{spark_warehouse.table('k STRING, n INT, y BINARY')}"
    asked = [
        f"SELECT a.k, e.n, y FROM ({BY_K}) a LEFT JOIN {empty} e ON a.k = e.k",
        f"SELECT count(*), max(s), min(e.n) FROM ({BY_K}) a JOIN {empty} e ON a.k = e.k",
        f"SELECT a.k, s FROM {empty} e RIGHT JOIN ({BY_K}) a USING (k) ORDER BY 1",
        f"SELECT * FROM {empty} e JOIN ({BY_K}) a ON a.n = e.n",
    ]
    check.check(asked, rewritten=None)
    check.check(asked[:1])
    acc_.spark.sql(f"INSERT INTO {empty} VALUES ('a', 7, X'00'), ('c', NULL, NULL)")
    check.changed()
    check.check(asked, rewritten=None)
    acc_.spark.sql(
        f"CREATE VIEW lake.d.beside_v (g, t) AS SELECT g, sum(s) FROM ({BY_K}) a"
        f" JOIN {D} ON k = dk GROUP BY g"
    )
    try:
        check.check(["SELECT g, t FROM lake.d.beside_v", "SELECT max(t) FROM lake.d.beside_v"])
    finally:
        acc_.spark.sql("DROP VIEW lake.d.beside_v")
