"""Names that people write: aggregates' synonyms, columns by path, branches and tags, times.

Every statement's names, types and rows are plain Spark's; what Spark refuses is refused alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[str]:
    """A cube over two files."""
    name = spark_warehouse.table("g STRING, k INT, v INT, b BOOLEAN")
    for number in range(2):
        spark_warehouse.sql(
            f"INSERT INTO lake.d.{name} SELECT element_at(array('a', 'b', NULL), 1 + CAST(id % 3 AS"
            f" INT)), id % 4, id, id % 5 = 0 FROM range({number * 20}, {number * 20 + 20})"
        )
    acc.query(
        "CREATE CUBE names AS SELECT g, k, count(*) n, sum(v) s, count(v) c, max(v) h, stddev(v) d,"
        f" bool_and(b) e, bool_or(b) o FROM lake.d.{name} GROUP BY g, k"
    )
    yield name
    acc.query("DROP CUBE names")


def test_synonyms(acc: Accelerator, table: str) -> None:
    words = ["std(v)", "stddev_samp(v)", "Variance(v)", "var_samp(v)", "mean(v)", "every(b)"]
    words += ["some(b)", "any(b)", "bool_or(b)", "sum(v) FILTER (WHERE k = 1)", "count_if(k <> 2)"]
    words += ["sum(CASE WHEN k = 1 THEN v ELSE 0 END)", "count(if(g IS NULL, 1, NULL))"]
    query = f"SELECT g, {', '.join(words)} FROM lake.d.{table} GROUP BY g"
    Differential(acc).check([query], spark=[query])
    assert acc.planner.plan(query)[0].engine == "duckdb"


def test_columns_by_their_tables_path(acc: Accelerator, table: str) -> None:
    spark, t = acc.spark, table
    queries = [
        f"SELECT d.{t}.g, sum(lake.d.{t}.v) FROM lake.d.{t} WHERE {t}.k > 0 GROUP BY {t}.g",
        f"SELECT LAKE.D.{t}.g, count(*) FROM lake.d.{t} GROUP BY 1 ORDER BY d.{t}.g",
    ]
    Differential(acc).check(queries, spark=queries)
    catalog, namespace = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql("USE lake.d")
    try:
        short = [f"SELECT lake.d.{t}.g, sum(d.{t}.v) FROM {t} GROUP BY {t}.g"]
        Differential(acc).check(short, spark=short)
    finally:
        spark.catalog.setCurrentCatalog(catalog)
        if namespace:
            spark.sql(f"USE {catalog}.{namespace}")


@pytest.mark.parametrize("name", ["lake.{}.v", "d.x.v", "x.d.{}.v", "lake.lake.d.{}.v"])
def test_paths_that_name_nothing(acc: Accelerator, table: str, name: str) -> None:
    _refused(acc, f"SELECT sum({name.format(table)}) FROM lake.d.{table}")
    _refused(acc, f"SELECT sum(d.{table}.v) FROM lake.d.{table} AS {table}")


def _refused(acc: Accelerator, query: str) -> None:
    with pytest.raises(Exception, match=r"UNRESOLVED|PARSE|NOT_FOUND|ROUTINE"):
        acc.plain_table(query)
    with pytest.raises(Exception, match=r"UNRESOLVED|PARSE|NOT_FOUND|ROUTINE"):
        acc.query(query).arrow()
