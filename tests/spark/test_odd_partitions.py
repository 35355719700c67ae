"""Partitions of floats and booleans: values that Iceberg and Spark order otherwise, or files deny.

Strategy: one row that is covered by a cube, one that isn't, and a file that was added under a
partition whatever its rows say. Invariant: whatever a statement is answered by, it's plain Spark's.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelerator.services.verification.compare import differ

pytestmark = pytest.mark.spark

_ASKED = (
    "SELECT count(*) AS n FROM {t} WHERE {test}",
    "SELECT v, p FROM {t} WHERE {test} ORDER BY v LIMIT 5",
    "SELECT g, count(*) AS n FROM {t} f JOIN {d} d ON f.v = d.k WHERE {test} GROUP BY g",
    "SELECT sum(v) AS s FROM {t} WHERE {test}",
)
_ZERO = (
    *("p = 0", "p <> 0", "p < 0", "p > 0", "p <= 0", "p >= 0", "p IN (0.0, 2.0)"),
    *("NOT p = 0", "NOT p < 0", "p > double('-0.0')", "p <= double('-0.0')"),
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "said", "held", "tests"),
    [
        ("DOUBLE", "7.5", [1.0, 2.0], ("p > 5", "p < 5", "p = 7.5", "p = 1.0", "p IN (1.0, 7.5)")),
        ("DOUBLE", None, [1.0, 2.0], ("p > 5", "p < 5", "p IS NULL", "p IS NOT NULL")),
        ("DOUBLE", "NaN", [1.0, 2.0], ("p > 5", "p < 5", "p <> 3.0", "p IN (1.0, 2.0)")),
        ("DOUBLE", "-0.0", [-1.0, 2.0], _ZERO),
        ("DOUBLE", "0.0", [-1.0, 2.0], _ZERO),
        ("FLOAT", "1.5", [1.0, 2.0], ("p > 1.7", "p < 1.2", "p = 1.5", "p IN (1.0, 2.0)")),
        ("BOOLEAN", "true", [False, False], ("p", "NOT p", "p = true", "p > false")),
        ("BOOLEAN", "true", [False, True], ("p", "NOT p", "p = false", "p IS NULL")),
    ],
)
def test_a_file_under_a_partition_that_it_denies(
    spark_warehouse, acc, tmp_path: Path, kind: str, said: str | None, held: list, tests: tuple
) -> None:
    wh = spark_warehouse
    name, dimension = (
        wh.table(f"p {kind}, v INT", clauses="PARTITIONED BY (p)"),
        wh.table("k INT, g STRING"),
    )
    table, value = f"lake.d.{name}", "false" if kind == "BOOLEAN" else "3.0"
    wh.sql(f"INSERT INTO lake.d.{dimension} VALUES (0, 'a'), (1, 'b')")
    wh.sql(f"INSERT INTO {table} VALUES ({value}, 1)")
    acc.execute(f"CREATE CUBE odd_{name} AS SELECT p, sum(v) AS s FROM {table} GROUP BY p")
    wh.sql(f"INSERT INTO {table} VALUES ({value}, 9)")
    folder = tmp_path / "more" / f"p={'__HIVE_DEFAULT_PARTITION__' if said is None else said}"
    folder.mkdir(parents=True)
    types = {"DOUBLE": pa.float64(), "FLOAT": pa.float32(), "BOOLEAN": pa.bool_()}
    rows = {"p": pa.array(held, types[kind]), "v": pa.array([0, 1], pa.int32())}
    pq.write_table(pa.table(rows), folder / "a.parquet")
    wh.sql(
        f"CALL lake.system.add_files(table => 'd.{name}',"
        f" source_table => '`parquet`.`file:{tmp_path}/more`')"
    )
    for test in tests:
        for asked in _ASKED:
            sql = asked.format(t=table, d=f"lake.d.{dimension}", test=test)
            assert differ(acc.query(sql).arrow(), wh.spark.sql(sql).toArrow()) == [], sql


def test_a_zero_that_was_written_there(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('p DOUBLE, v INT', clauses='PARTITIONED BY (p)')}"
    wh.sql(f"INSERT INTO {table} VALUES (double('-0.0'), 1)")
    wh.sql(f"INSERT INTO {table} VALUES (3.0, 2)")
    for test in _ZERO:
        sql = f"SELECT count(*) AS n FROM {table} WHERE {test}"
        assert differ(acc.query(sql).arrow(), wh.spark.sql(sql).toArrow()) == [], sql
