"""Joins, relate columns and OPTIMIZE as they were attacked: each test was wrong or rude once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.relate_world import SMALL_GROUPS

pytestmark = pytest.mark.spark

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


def test_a_dimension_made_anew_with_another_type(spark_warehouse, acc, fact) -> None:
    """The column keeps its id; the values that Arrow casts to the same aren't the same."""
    d = f"lake.d.{spark_warehouse.table('k INT, x INT')}"
    spark_warehouse.sql(
        f"INSERT INTO {d} SELECT CAST(id AS INT), CAST(id + 1 AS INT) FROM range(40)"
    )
    acc.execute(f"ALTER TABLE {fact} ADD RELATE COLUMN x FROM {d}.x ON {fact}.k = {d}.k")
    acc.execute(f"CREATE INDEX anew ON {fact} USING BITMAP (x)")
    spark_warehouse.sql(
        f"CREATE OR REPLACE TABLE {d} USING iceberg AS"
        " SELECT CAST(id AS INT) k, true x FROM range(40)"
    )
    query = f"SELECT count(*) FROM {fact} f JOIN {d} d ON f.k = d.k WHERE x"
    try:
        Differential(acc).check([query], rewritten=None, spark=[query])
    finally:
        acc.execute(f"ALTER TABLE {fact} DROP RELATE COLUMN x")


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


def test_rows_that_duckdb_isnt_proven_for(spark_warehouse, acc, fact) -> None:
    """Spark reads the files that are left; nothing fails inside."""
    d = f"lake.d.{spark_warehouse.table('k INT, a ARRAY<INT>, y INT')}"
    spark_warehouse.sql(f"INSERT INTO {d} VALUES (3, array(1), 1), (33, array(2, NULL), 2)")
    acc.execute(f"CREATE INDEX unproven_k ON {fact} USING BITMAP (k)")
    queries = [
        f"SELECT id, a FROM {fact} f JOIN {d} d ON f.k = d.k WHERE y = 2",
        f"SELECT a, count(*) FROM {fact} f JOIN {d} d ON f.k = d.k WHERE y = 2 GROUP BY a",
        f"SELECT upper(name) FROM {fact} f JOIN {d} d ON f.k = d.k WHERE y = 2 ORDER BY id",
    ]
    Differential(acc).check(queries, spark=queries)
    acc.execute("DROP INDEX unproven_k")


def test_nan_in_a_dimension_beside_smaller_numbers(spark_warehouse, acc, fact) -> None:
    """Plain Spark leaves such a file out by its bounds, NaN with it, in WHERE and in a left ON."""
    wh = spark_warehouse
    dimension = f"lake.d.{wh.table('k INT, x DOUBLE')}"
    for rows in ("(1, 1e0), (2, DOUBLE('NaN'))", "(3, 9e0), (4, 2e0)"):
        wh.sql(
            f"INSERT INTO {dimension} SELECT /*+ COALESCE(1) */ CAST(a AS INT), CAST(b AS DOUBLE)"
            f" FROM VALUES {rows} t(a, b)"
        )
    acc.query(f"CREATE INDEX by_key ON {fact} USING BITMAP (k)")
    Differential(acc).check(
        [
            f"SELECT f.k, x FROM {fact} f JOIN {dimension} d ON f.k = d.k WHERE x > 5e0",
            f"SELECT count(*), sum(x) FROM {fact} f JOIN {dimension} d ON f.k = d.k WHERE x > 5e0",
            f"SELECT f.k, x FROM {fact} f LEFT JOIN {dimension} d ON f.k = d.k AND x > 5e0"
            " WHERE f.k < 5",
        ],
        rewritten=False,
    )
    Differential(acc).check(
        [f"SELECT f.k, x FROM {fact} f JOIN {dimension} d ON f.k = d.k WHERE x < 5e0"]
    )
    acc.query("DROP INDEX by_key")


def _related(acc: Accelerator, fact: str, dimension: str) -> None:
    """The dimension's `region` as a relate column, whose bitmap knows the rows."""
    key = f"ON {fact}.k = {dimension}.k"
    acc.execute(f"ALTER TABLE {fact} ADD RELATE COLUMN region FROM {dimension}.region {key}")
    name = f"region_{fact.rpartition('.')[2]}"
    acc.execute(f"CREATE INDEX {name} ON {fact} USING BITMAP (region) WITH (rows = true)")


def test_a_dimension_in_two_states_of_which_one_may_be_padded(spark_warehouse, acc) -> None:
    """What selects rows is one state's, what leaves files out was the other's."""
    wh = spark_warehouse
    f = f"lake.d.{wh.table('id BIGINT, k INT, v INT')}"
    d = f"lake.d.{wh.table('k INT, region STRING')}"
    wh.sql(f"INSERT INTO {d} SELECT CAST(id AS INT), concat('r', id % 4) FROM range(20)")
    older = wh.sql(f"SELECT snapshot_id FROM {d}.refs")[0][0]
    wh.sql(f"UPDATE {d} SET region = concat('r', (k + 1) % 4)")
    wh.sql(f"INSERT INTO {f} SELECT id, CAST(id % 22 AS INT), CAST(id AS INT) FROM range(100)")
    _related(acc, f, d)
    query = (
        f"SELECT sum(v), count(*) FROM {f} f LEFT JOIN {d} a ON f.k = a.k AND f.v > 5"
        f" JOIN {d} VERSION AS OF {older} b ON f.k = b.k"
        " WHERE a.region >= 'r1' AND b.region = 'r1'"
    )
    Differential(acc).check([query], rewritten=None, spark=[query])


def test_columns_that_arent_read_row_by_row(spark_warehouse, acc) -> None:
    """Their joins stay, and nothing fails inside."""
    wh = spark_warehouse
    f = f"lake.d.{wh.table('a ARRAY<INT>, k INT')}"
    d = f"lake.d.{wh.table('k INT, region STRING')}"
    wh.sql(f"INSERT INTO {d} SELECT CAST(id AS INT), concat('r', id % 4) FROM range(20)")
    wh.sql(f"INSERT INTO {f} SELECT array(CAST(id AS INT)), CAST(id % 22 AS INT) FROM range(100)")
    _related(acc, f, d)
    query = f"SELECT count(a) FROM {f} f JOIN {d} d ON f.k = d.k WHERE d.region = 'r1'"
    Differential(acc).check([query, query.replace("a)", "*)")], rewritten=None, spark=[query])


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
