"""Joins and relate columns over tables that no statement makes: each was wrong or rude once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.relate_world import SMALL_GROUPS

pytestmark = pytest.mark.spark

LIVE = True

_FILES = 4


@pytest.fixture
def acc(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[Accelerator]:
    store = str(tmp_path / "store")
    with spark_warehouse.attach(store=store) as acc:
        yield acc


@pytest.fixture(scope="module")
def fact(spark_warehouse: SparkWarehouse) -> str:
    """File i has the keys 10 i to 10 i + 9."""
    wh = spark_warehouse
    name = f"lake.d.{wh.table('id BIGINT, k INT, name STRING')}"
    for number in range(_FILES):
        wh.sql(
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id,"
            f" CAST({number} * 10 + id % 10 AS INT), concat('n', id) FROM range(100)"
        )
    return name


def _added(wh: SparkWarehouse, table: str, partition: str, rows: str) -> None:
    """Adds a file to that partition, whatever its rows say."""
    folder = wh.root / table.rpartition(".")[2] / partition
    wh.spark.sql(rows).coalesce(1).write.parquet(str(folder))
    wh.sql(
        f"CALL lake.system.add_files(table => '{table.removeprefix('lake.')}',"
        f" source_table => '`parquet`.`{folder.parent}`')"
    )


def test_a_dimension_whose_partitions_say_something_else(spark_warehouse, acc, fact) -> None:
    """What files hold isn't what Spark takes, neither as a key nor as an attribute."""
    wh = spark_warehouse
    d = f"lake.d.{wh.table('k INT, p INT', clauses='PARTITIONED BY (p)')}"
    _added(wh, d, "p=7", "SELECT 31 AS k, 25 AS p")
    query = "SELECT count(*), sum(id) FROM {f} f JOIN {d} d ON f.k = d.{k} WHERE d.{a} = {v}"
    queries = [
        query.format(f=fact, d=d, k=k, a=a, v=v)
        for k, a, v in (("p", "k", 31), ("k", "p", 7), ("k", "p", 25))
    ]
    acc.execute(f"CREATE INDEX said_k ON {fact} USING BITMAP (k)")
    Differential(acc).check(queries, rewritten=None, spark=queries)
    acc.execute("DROP INDEX said_k")
    acc.execute(f"ALTER TABLE {fact} ADD RELATE COLUMN p FROM {d}.p ON {fact}.k = {d}.k")
    acc.execute(f"ALTER TABLE {fact} ADD RELATE COLUMN k FROM {d}.k ON {fact}.k = {d}.p AS q")
    try:
        for column in ("p", "q"):
            acc.execute(f"CREATE INDEX said_{column} ON {fact} USING BITMAP ({column})")
        Differential(acc).check(queries, rewritten=None, spark=queries)
    finally:
        for column in ("p", "q"):
            acc.execute(f"ALTER TABLE {fact} DROP RELATE COLUMN {column}")


def _related(acc: Accelerator, fact: str, dimension: str) -> None:
    """The dimension's `region` as a relate column, whose bitmap knows the rows."""
    key = f"ON {fact}.k = {dimension}.k"
    acc.execute(f"ALTER TABLE {fact} ADD RELATE COLUMN region FROM {dimension}.region {key}")
    name = f"region_{fact.rpartition('.')[2]}"
    acc.execute(f"CREATE INDEX {name} ON {fact} USING BITMAP (region) WITH (rows = true)")


def test_a_column_that_older_files_have_by_default(spark_warehouse, acc) -> None:
    """Such a file is read whole, so that none of its rows are told apart."""
    wh = spark_warehouse
    name = wh.table("id BIGINT, k INT", version=3, properties=SMALL_GROUPS)
    f, d = f"lake.d.{name}", f"lake.d.{wh.table('k INT, region STRING')}"
    wh.sql(f"INSERT INTO {d} SELECT CAST(id AS INT), concat('r', id % 4) FROM range(20)")
    wh.sql(f"INSERT INTO {f} SELECT id, CAST(id % 22 AS INT) FROM range(100)")
    _related(acc, f, d)
    iceberg = wh.spark.sparkContext._jvm.org.apache.iceberg
    five = iceberg.expressions.Expressions.lit(5)
    update = wh.engine.load(wh.pinned(name).parts).updateSchema()
    update.addColumn("more", iceberg.types.Types.IntegerType.get(), five).commit()
    query = f"SELECT sum(more) FROM {f} f JOIN {d} d ON f.k = d.k WHERE d.region = 'r1'"
    Differential(acc).check([query, query.replace("more", "id")], rewritten=None, spark=[query])
