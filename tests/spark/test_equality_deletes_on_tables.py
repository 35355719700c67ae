"""Equality deletes as a streaming writer commits them: applied here as Spark applies them.

Values of every type that is compared, NULL, NaN and both zeros among them; rows that come again
after their delete; deletes of partitions and of the whole table; beside positions; after columns
were renamed, widened, added and dropped; over cubes, indexes, first rows and joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.support.equality_deletes import write_equality_deletes
from tests.support.warehouse import live_warehouse

pytestmark = pytest.mark.spark

_COLUMNS = (
    "i INT, l BIGINT, s STRING, x DOUBLE, f FLOAT, p DECIMAL(9, 2), d DATE, t TIMESTAMP,"
    " n TIMESTAMP_NTZ, b BINARY, o BOOLEAN"
)
_ROWS = (
    "SELECT if(id % 7 = 0, NULL, CAST(id % 5 AS INT)), id % 3,"
    " element_at(array('a', 'é', NULL, ''), 1 + CAST(id % 4 AS INT)),"
    " element_at(array(double('NaN'), -0.0D, 0.0D, NULL, 1.5D),"
    " 1 + CAST(id % 5 AS INT)), element_at(array(float('NaN'), float(-0.0), float(0.0), NULL),"
    " 1 + CAST(id % 4 AS INT)), if(id % 6 = 0, NULL, CAST(id % 4 AS DECIMAL(9, 2)) / 4),"
    " date_add(DATE '2024-02-28', CAST(id % 3 AS INT)), timestamp_micros(id % 4 * 1000001),"
    " TIMESTAMP_NTZ '1969-12-31 23:59:59' + make_dt_interval(0, 0, 0, id % 2),"
    " element_at(array(X'', X'FF', NULL), 1 + CAST(id % 3 AS INT)), id % 2 = 0 FROM range({low},"
    " {low} + 60, 1, 1)"
)
_DELETES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [3, None]),
    "l": (pa.int64(), [2]),
    "s": (pa.string(), ["é", None]),
    "p": (pa.decimal128(9, 2), [Decimal("0.25")]),
    "d": (pa.date32(), [date(2024, 2, 29)]),
    "t": (pa.timestamp("us", "UTC"), [datetime(1970, 1, 1, 0, 0, 2, 2, tzinfo=UTC)]),
    "n": (pa.timestamp("us"), [datetime(1969, 12, 31, 23, 59, 59)]),
    "b": (pa.binary(), [b"\xff", None]),
    "o": (pa.bool_(), [False]),
}


@pytest.fixture
def acc(spark_warehouse: Any, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield acc
    acc.close()


def _agree(wh: Any, acc: Accelerator, *statements: str, engine: str = "duckdb") -> None:
    for sql in statements:
        answer, plain = acc.query(sql), wh.spark.sql(sql).toArrow()
        assert differ(answer.arrow(), plain) == [], sql
        assert differ(acc.stream(sql).read_all(), plain) == [], sql
        assert (answer.metrics.rewritten, answer.metrics.engine) == (True, engine), sql
    assert not acc.fallbacks


def _rows(*columns: str, **values: list[Any]) -> pa.Table:
    found = {name: pa.array(_DELETES[name][1], _DELETES[name][0]) for name in columns}
    return pa.table(found | {n: pa.array(v, _DELETES[n][0]) for n, v in values.items()})


@pytest.mark.parametrize("column", _DELETES)
def test_values_of_each_type(spark_warehouse: Any, acc: Accelerator, column: str) -> None:
    wh = spark_warehouse
    name = wh.table(_COLUMNS)
    table = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {table} {_ROWS.format(low=0)}")
    write_equality_deletes(wh, name, _rows(column))
    wh.sql(f"INSERT INTO {table} {_ROWS.format(low=50)}")
    _agree(
        wh,
        acc,
        f"SELECT {column} AS k, count(*) AS n, sum(l) AS l FROM {table} GROUP BY {column}",
        f"SELECT {column}, l FROM {table} WHERE l < 2 ORDER BY l",
        f"SELECT count(*) AS n, count(i) AS c FROM {table} WHERE i IS NULL OR l > 0",
    )
    left = wh.sql(f"SELECT count(*) FROM {table}")[0][0]
    assert 60 < left < 120  # some were hit, and none of those that came again


@pytest.mark.long
@pytest.mark.parametrize("version", [2, 3])
def test_through_changes_of_the_table(spark_warehouse: Any, acc: Accelerator, version: int) -> None:
    wh = spark_warehouse
    name = wh.table("i INT, s STRING, l BIGINT, g STRING", version=version)
    table = f"lake.d.{name}"
    other = f"lake.d.{wh.table('key INT, name STRING')}"
    wh.sql(f"INSERT INTO {other} SELECT CAST(id AS INT), concat('n', id) FROM range(20)")
    write_equality_deletes(
        wh, other.rpartition(".")[2], pa.table({"key": pa.array([3], pa.int32())})
    )

    def append(low: int, columns: str = "CAST(id AS INT), concat('s', id % 4), id, 'g'") -> None:
        wh.sql(f"INSERT INTO {table} SELECT {columns} FROM range({low}, {low + 20}, 1, 1)")

    def check(key: str = "i") -> None:
        _agree(
            wh,
            acc,
            f"SELECT s, count(*) AS n, sum(l) AS l FROM {table} GROUP BY s",
            f"SELECT name, count(*) AS n FROM {table} JOIN {other} ON {key} = key GROUP BY name",
            f"SELECT {key}, s FROM {table} ORDER BY {key} DESC NULLS LAST, s LIMIT 7",
            f"SELECT {key}, l FROM {table} WHERE s = 's1' ORDER BY l",
        )

    append(0)
    append(10)
    write_equality_deletes(wh, name, pa.table({"i": pa.array([1, 12, 99], pa.int32())}))
    check()
    append(5)
    wh.sql(f"DELETE FROM {table} WHERE i = 7")  # positions beside, vectors in version 3
    check()
    two = {"s": pa.array(["s1", None]), "i": pa.array([5, 6], pa.int32())}
    write_equality_deletes(wh, name, pa.table(two))
    check()
    acc.query(
        f"CREATE CUBE c{name} AS SELECT s, count(*) AS n, sum(l) AS l FROM {table} GROUP BY s"
    )
    acc.query(f"CREATE INDEX i{name} ON {table} USING BITMAP (s) WITH (rows = true)")
    write_equality_deletes(wh, name, pa.table({"i": pa.array([15], pa.int32())}))
    check()
    wh.sql(f"ALTER TABLE {table} RENAME COLUMN i TO wide")
    wh.sql(f"ALTER TABLE {table} ADD COLUMN more STRING")
    append(3, "CAST(id AS INT), 's2', id, 'g', 'm'")
    write_equality_deletes(wh, name, pa.table({"wide": pa.array([4, 2**30], pa.int32())}))
    check("wide")
    more = {"more": pa.array([None], pa.string()), "wide": pa.array([16], pa.int32())}
    write_equality_deletes(wh, name, pa.table(more))
    check("wide")


def test_a_column_that_was_widened(spark_warehouse: Any, acc: Accelerator) -> None:
    """Spark wasn't asked before: it would keep the deletes as of the old type, and show rows."""
    wh = spark_warehouse
    name = wh.table("i INT, l BIGINT")
    table = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), id FROM range(9)")
    write_equality_deletes(wh, name, pa.table({"i": pa.array([1, 3], pa.int32())}))
    wh.sql(f"ALTER TABLE {table} ALTER COLUMN i TYPE BIGINT")
    wh.sql(f"INSERT INTO {table} SELECT id * 1000000000, id FROM range(9)")
    write_equality_deletes(wh, name, pa.table({"i": pa.array([5, 4 * 10**9])}))
    _agree(wh, acc, f"SELECT i, count(*) AS n, sum(l) AS l FROM {table} GROUP BY i")


def test_a_column_that_was_widened_after_spark_was_asked() -> None:
    """Iceberg would cache the delete on executors, under the old type: it's off in our sessions."""
    wh = live_warehouse()
    name = wh.table("i INT, l BIGINT")
    table = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), id FROM range(9)")
    write_equality_deletes(wh, name, pa.table({"i": pa.array([1, 3], pa.int32())}))
    left = [0, 2, 4, 5, 6, 7, 8]
    assert [row.i for row in wh.sql(f"SELECT i FROM {table} ORDER BY i")] == left
    wh.sql(f"ALTER TABLE {table} ALTER COLUMN i TYPE BIGINT")
    assert [row.i for row in wh.sql(f"SELECT i FROM {table} ORDER BY i")] == left


def test_a_column_that_was_dropped(spark_warehouse: Any, acc: Accelerator) -> None:
    """What Spark makes of it is Spark's business."""
    wh = spark_warehouse
    name = wh.table("i INT, s STRING")
    wh.sql(f"INSERT INTO lake.d.{name} VALUES (1, 'a'), (2, 'b')")
    write_equality_deletes(wh, name, pa.table({"i": pa.array([1], pa.int32())}))
    wh.sql(f"ALTER TABLE lake.d.{name} DROP COLUMN i")
    sql = f"SELECT s, count(*) AS n FROM lake.d.{name} GROUP BY s"
    assert "compare fields that aren't compared here" in acc.explain(sql)
    assert differ(acc.query(sql).arrow(), wh.spark.sql(sql).toArrow()) == []


def test_floats_and_partitions_by_them(spark_warehouse: Any, acc: Accelerator) -> None:
    """Specified deletes compare none; and in which of two zeros' partitions is Spark's to say."""
    wh = spark_warehouse
    name = wh.table("i INT, x DOUBLE", clauses="PARTITIONED BY (x)")
    wh.sql(f"INSERT INTO lake.d.{name} VALUES (1, 0.0D), (1, -0.0D), (1, 1.5D), (2, 0.0D)")
    write_equality_deletes(wh, name, pa.table({"i": pa.array([1], pa.int32())}), "x=0.0")
    other = wh.table("i INT, x DOUBLE")
    wh.sql(f"INSERT INTO lake.d.{other} VALUES (1, 0.0D), (2, double('NaN')), (3, 1.5D)")
    write_equality_deletes(wh, other, pa.table({"x": [0.0, 1.5]}))
    for table in (name, other):
        sql = f"SELECT i, count(*) AS n FROM lake.d.{table} GROUP BY i"
        answer = acc.query(sql)
        assert differ(answer.arrow(), wh.spark.sql(sql).toArrow()) == []
        assert answer.metrics.engine == "spark"


def test_a_column_of_another_type_under_the_old_ones_id(
    spark_warehouse: Any, acc: Accelerator
) -> None:
    """REPLACE TABLE: then what Spark makes of the state before is Spark's business."""
    wh = spark_warehouse
    name = wh.table("i DECIMAL(9, 2), l BIGINT")
    table = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {table} SELECT id, id FROM range(5)")
    rows = pa.table({"i": pa.array([Decimal("3.00")], pa.decimal128(9, 2))})
    write_equality_deletes(wh, name, rows)
    before = wh.pinned(name).snapshot.snapshot_id
    wh.sql(f"CREATE OR REPLACE TABLE {table} (i DECIMAL(9, 4), l BIGINT) USING iceberg")
    sql = f"SELECT count(*) AS n, sum(l) AS s FROM {table} VERSION AS OF {before}"
    answer = acc.query(sql)
    assert differ(answer.arrow(), wh.spark.sql(sql).toArrow()) == []


def test_partitions(spark_warehouse: Any, acc: Accelerator) -> None:
    """One of a partition hits no other, one of an unpartitioned spec the whole table."""
    wh = spark_warehouse
    name = wh.table("i INT, g STRING, l BIGINT")
    table = f"lake.d.{name}"
    statements = (
        f"SELECT g, count(*) AS n, sum(l) AS l FROM {table} GROUP BY g",
        f"SELECT i, g FROM {table} ORDER BY i, g, l LIMIT 9",
    )
    keys = pa.table({"i": pa.array([1, 2], pa.int32())})
    values = "SELECT CAST(id % 5 AS INT), element_at(array('a', 'b'), 1 + CAST(id % 2 AS INT)), id"
    wh.sql(f"INSERT INTO {table} {values} FROM range(20)")
    write_equality_deletes(wh, name, keys.slice(0, 1))
    _agree(wh, acc, *statements)
    wh.sql(f"ALTER TABLE {table} ADD PARTITION FIELD g")
    wh.sql(f"INSERT INTO {table} {values} FROM range(20)")
    write_equality_deletes(wh, name, keys, "g=a")
    _agree(wh, acc, *statements)
    both = pa.table({"g": ["b", "b"], "i": pa.array([3, 1], pa.int32())})
    write_equality_deletes(wh, name, both, "g=b")
    _agree(wh, acc, *statements)
    write_equality_deletes(wh, name, pa.table({"g": ["a"]}), "g=a")
    _agree(wh, acc, *statements)
