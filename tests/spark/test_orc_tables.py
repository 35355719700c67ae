"""Tables of ORC files: read in process by stripes, indexed, and answered as Spark answers."""

from __future__ import annotations

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_COLUMNS = (
    "id BIGINT, i INT, f FLOAT, x DOUBLE, name STRING, d DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ,"
    " n DECIMAL(12, 2), yes BOOLEAN"
)
_ORC = "'write.format.default'='orc', 'write.orc.stripe-size-bytes'='65536'"
_ROWS = (
    "SELECT /*+ coalesce(1) */ id, CAST(id % 100 AS INT), CAST(id / 7 AS FLOAT),"
    " CASE WHEN id % 5000 = 77 THEN DOUBLE('NaN') WHEN id % 100 = 6 THEN -0.0D ELSE id / 3 END,"
    " IF(id % 11 = 0, NULL, concat('name', id % 50)), date_add(DATE '1500-01-01', CAST(id AS INT)),"
    " timestamp_micros(1000001L * id + 123),"
    " CAST(timestamp_micros(-1000001L * id) AS TIMESTAMP_NTZ),"
    " id / 100, id % 3 = 0 FROM range({first}, {last}, 1, 1) ORDER BY id"
)


@pytest.fixture(scope="module")
def table(spark_warehouse) -> str:
    """Three files of several stripes each."""
    name = f"lake.d.{spark_warehouse.table(_COLUMNS, properties=_ORC)}"
    for first in (0, 20_000, 40_000):
        spark_warehouse.sql(f"INSERT INTO {name} {_ROWS.format(first=first, last=first + 20_000)}")
    return name


def _statements(table: str) -> list[str]:
    return [
        f"SELECT count(*), sum(i), min(id), max(id), count(name) FROM {table}",
        f"SELECT i, count(*), sum(n), min(d), max(name) FROM {table} WHERE id < 30000 GROUP BY i",
        f"SELECT * FROM {table} WHERE id IN (5, 777, 30001, 59999)",
        f"SELECT id, ts, tn FROM {table} WHERE ts BETWEEN TIMESTAMP '1970-01-01 03:00:00Z'"
        " AND TIMESTAMP '1970-01-01 03:00:09Z'",
        f"SELECT id, tn FROM {table} WHERE tn < TIMESTAMP_NTZ '1969-12-31 07:30:00'"
        " ORDER BY id LIMIT 20",
        f"SELECT id, d FROM {table} WHERE d = DATE '1582-10-10' OR d = DATE '1600-02-29'",
        f"SELECT id FROM {table} WHERE ts IN (timestamp_micros(5120005242L), "
        "timestamp_micros(19999019998L + 123), timestamp_micros(20000020123L))",
        f"SELECT id, d FROM {table} WHERE d >= DATE '1600-02-27' AND id < 40000 LIMIT 3",
        f"SELECT count(*) FROM {table} WHERE x = 0 OR x > 19000",
        f"SELECT min(ts), max(ts), min(tn), max(tn) FROM {table} WHERE i >= 0",
        f"SELECT id, x FROM {table} WHERE x <= 1 AND id < 200",
        f"SELECT count(*) FROM {table} WHERE name = 'name7' AND NOT yes",
        f"SELECT id, name FROM {table} ORDER BY id DESC LIMIT 7",
        f"SELECT id, ts FROM {table} ORDER BY ts DESC LIMIT 7",
        f"SELECT id, tn FROM {table} ORDER BY tn LIMIT 7",
        f"SELECT id, n FROM {table} WHERE yes ORDER BY n DESC, id LIMIT 9",
    ]


def test_answers_are_sparks(spark_warehouse, acc, table) -> None:
    Differential(acc).check(_statements(table), rewritten=None)
    by_id = acc.query(f"SELECT id, name FROM {table} ORDER BY id DESC LIMIT 7")
    assert by_id.metrics.files_read == 1
    assert by_id.metrics.row_groups_read == 1


def test_bounds_of_times_and_times_before_1970(spark_warehouse, acc) -> None:
    """Manifests of ORC files have times in milliseconds, rounded up and down."""
    name = f"lake.d.{spark_warehouse.table('id BIGINT, t TIMESTAMP', properties=_ORC)}"
    spark_warehouse.sql(
        f"INSERT INTO {name} SELECT /*+ coalesce(1) */ id, timestamp_micros(id) FROM VALUES"
        " (-2500001L), (-1999L), (-1L), (0L), (1L), (1500L), (1234567L) AS v(id)"
    )
    statements = [
        f"SELECT min(t), max(t) FROM {name}",
        f"SELECT min(t), max(t) FROM {name} WHERE id > -9",
        f"SELECT id, t FROM {name} ORDER BY t LIMIT 2",
        f"SELECT id, t FROM {name} ORDER BY t DESC LIMIT 2",
        f"SELECT id, t FROM {name} WHERE t < TIMESTAMP '1970-01-01 00:00:00Z'",
        f"SELECT id, t FROM {name} WHERE t >= TIMESTAMP '1970-01-01 00:00:01.2345Z'",
    ]
    Differential(acc).check(statements, rewritten=None)


def test_indexes_and_deletes(spark_warehouse, acc, table) -> None:
    for number, text in enumerate(
        ("BITMAP (name)", "BLOOM (id)", "RANGE (n)", "BOUNDS (ts)", "TOKEN_BLOOM (name)")
    ):
        acc.execute(f"CREATE INDEX x{number} ON {table} USING {text}")
    shown = {row["index"]: row["status"] for row in acc.execute("SHOW INDEXES").to_pylist()}
    assert {shown[f"x{number}"] for number in range(5)} == {"complete"}
    same = Differential(acc)
    same.check(_statements(table), rewritten=None)
    assert acc.query(_statements(table)[2]).metrics.files_read <= 3
    spark_warehouse.sql(f"DELETE FROM {table} WHERE id IN (777, 59999) OR i = 13")
    spark_warehouse.sql(f"ALTER TABLE {table} ADD COLUMN later STRING")
    same.changed()
    same.check(_statements(table), rewritten=None)
