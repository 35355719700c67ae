"""BOUNDS where Iceberg keeps none: files are left out, minima answered, rows ordered."""

from __future__ import annotations

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

COLUMNS = "id BIGINT, name STRING, x DOUBLE, n DECIMAL(12, 2), d DATE, ts TIMESTAMP, yes BOOLEAN"
_ROWS = (
    "SELECT id, IF(id % 11 = 0, NULL, concat('a longer text than is kept of it, ', id)),"
    " IF(id = 350, DOUBLE('NaN'), -id / 3), id / 10, date_add(DATE '2020-01-01', CAST(id AS INT)),"
    " TIMESTAMP '2020-01-01 00:00:00Z' + make_dt_interval(CAST(id AS INT)), id < 400"
    " FROM range({first}, {last}, 1, 1)"
)


def test_answers_stay_and_files_are_left_out(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    none = "'write.metadata.metrics.default'='none'"
    table = f"lake.d.{wh.table(COLUMNS, properties=none)}"
    for number in range(4):
        first = 200 * number
        wh.sql(f"INSERT INTO {table} {_ROWS.format(first=first, last=first + 200)}")
    queries = [
        f"SELECT * FROM {table} WHERE id BETWEEN 230 AND 233",
        f"SELECT count(*) FROM {table} WHERE x <= -20",
        f"SELECT id FROM {table} WHERE x < -200.5 AND n > 70",
        f"SELECT id FROM {table} WHERE x IN (-9, -10.0) OR -266 = x",
        f"SELECT id FROM {table} WHERE d = DATE '2020-06-01' OR ts > TIMESTAMP '2022-03-01 09:00'",
        f"SELECT id FROM {table} WHERE name = 'a longer text than is kept of it, 777'",
        f"SELECT count(*) FROM {table} WHERE name IS NULL AND id < 300 AND NOT yes",
        f"SELECT min(id), max(id), count(id), min(d), max(ts), max(n) FROM {table}",
        f"SELECT min(name), max(name), count(name) FROM {table}",
        f"SELECT min(x), max(x) FROM {table} WHERE id < 300",
        f"SELECT id, ts FROM {table} ORDER BY ts DESC LIMIT 5",
        f"SELECT id FROM {table} WHERE yes ORDER BY id LIMIT 3",
    ]
    same = Differential(acc)
    same.check(queries, rewritten=None)
    for column in ("id", "name", "x", "n", "d", "ts", "yes"):
        acc.execute(f"CREATE INDEX b_{column} ON {table} USING BOUNDS ({column})")
    same.check(queries, spark=queries[:2])
    assert acc.query(queries[0]).metrics.files_read == 1
    assert acc.query(queries[5]).metrics.files_read == 2  # one has texts of fewer digits
    assert acc.query(queries[7]).metrics.files_read == 0
    assert acc.query(queries[8]).metrics.files_read == 0
    assert acc.query(queries[10]).metrics.files_read == 1
    (shown,) = (row for row in acc.execute("SHOW INDEXES").to_pylist() if row["index"] == "b_id")
    assert shown["status"] == "complete" and shown["false_positive_rate"] is None
    wh.sql(f"DELETE FROM {table} WHERE id >= 795 OR id = 0")
    wh.sql(f"ALTER TABLE {table} RENAME COLUMN d TO day")
    wh.sql(f"INSERT INTO {table} {_ROWS.format(first=-9, last=0)}")
    same.changed()
    same.check([q.replace("(d)", "(day)").replace(" d ", " day ") for q in queries], rewritten=None)
