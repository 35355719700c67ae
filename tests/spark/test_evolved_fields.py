"""Fields that read alike and aren't the same: nested ones made anew, two tables from one file."""

from __future__ import annotations

import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_SHAPES = {
    "struct": ("STRUCT<b: INT, a: INT>", "named_struct('b', k + 1, 'a', k)", "s"),
    "array": (
        "ARRAY<STRUCT<b: INT, a: INT>>",
        "array(named_struct('b', k + 1, 'a', k))",
        "s.element",
    ),
    "deep": (
        "STRUCT<a: INT, l: STRUCT<b: INT, c: INT>>",
        "named_struct('a', k, 'l', named_struct('b', k + 1, 'c', k + 2))",
        "s.l",
    ),
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_nested_field_is_made_anew(
    spark_warehouse: SparkWarehouse, acc: Accelerator, shape: str
) -> None:
    """Spark's text of the type is the same again, but old files lack the new field."""
    wh, (kind, value, parent) = spark_warehouse, _SHAPES[shape]
    name = wh.table(f"k INT, s {kind}")
    wh.sql(f"INSERT INTO lake.d.{name} SELECT k, {value} FROM VALUES (1), (1), (2) AS v(k)")
    acc.query(f"CREATE CUBE nested_{shape} AS SELECT s, count(*) FROM lake.d.{name} GROUP BY s")
    queries = [
        f"SELECT s, count(*) AS n FROM lake.d.{name} GROUP BY s",
        f"SELECT count(*) AS n FROM lake.d.{name}",
        f"SELECT count(DISTINCT s) AS n FROM lake.d.{name}",
    ]
    before = wh.pinned(name).facts
    assert acc.query(queries[0]).metrics.cubes
    Differential(acc).check(queries, rewritten=None, spark=queries)
    wh.sql(f"ALTER TABLE lake.d.{name} DROP COLUMN {parent}.b")
    wh.sql(f"ALTER TABLE lake.d.{name} ADD COLUMN {parent}.b INT FIRST")
    after = wh.pinned(name).facts
    assert [c.type for c in after.columns] == [c.type for c in before.columns]
    assert after.columns[1].layout != before.columns[1].layout
    for _ in range(2):
        Differential(acc).check(queries, rewritten=None, spark=queries)
        acc.query(f"BUILD CUBE nested_{shape}")


def test_two_tables_from_one_metadata_file(
    spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    """They have one uuid, and may give one field id to different columns."""
    wh = spark_warehouse
    one = wh.table("k INT, v INT")
    wh.sql(f"INSERT INTO lake.d.{one} VALUES (1, 10), (1, 20), (2, 30)")
    location = wh.pinned(one).metadata_location
    two = f"{one}_again"
    wh.sql(f"CALL lake.system.register_table(table => 'd.{two}', metadata_file => '{location}')")
    acc.query(f"CREATE CUBE shared AS SELECT k, sum(v) FROM lake.d.{one} GROUP BY k")
    wh.sql(f"ALTER TABLE lake.d.{one} ADD COLUMN x INT")
    wh.sql(f"ALTER TABLE lake.d.{two} ADD COLUMN y STRING")
    wh.sql(f"INSERT INTO lake.d.{one} VALUES (3, 1, 7)")
    wh.sql(f"INSERT INTO lake.d.{two} VALUES (3, 2, 'a'), (4, 2, 'b')")
    acc.query(f"CREATE CUBE shared_x AS SELECT x, count(*) FROM lake.d.{one} GROUP BY x")
    acc.query(f"CREATE INDEX shared_x ON lake.d.{one} USING BITMAP (x)")
    queries = []
    for name, column, value in (
        (one, "x", "7"),
        (two, "y", "'a'"),
        (one, "v", "2"),
        (two, "v", "2"),
    ):
        queries += [
            f"SELECT {column}, count(*) AS n FROM lake.d.{name} GROUP BY {column}",
            f"SELECT max({column}) AS m, count({column}) AS n FROM lake.d.{name}",
            f"SELECT k FROM lake.d.{name} WHERE {column} = {value} ORDER BY k LIMIT 5",
            f"SELECT k, sum(v) AS s FROM lake.d.{name} GROUP BY k",
        ]
    joined = (
        f"SELECT a.k, a.x, b.y FROM lake.d.{one} a JOIN lake.d.{two} b ON a.k = b.k WHERE b.y = 'a'"
    )
    for _ in range(2):
        Differential(acc).check([*queries, joined], rewritten=None, spark=queries)
        acc.query(f"BUILD ALL ON lake.d.{two}")
