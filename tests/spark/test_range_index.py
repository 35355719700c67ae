"""A RANGE index whose bundle was altered."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

FILES, ROWS, STEP, ALL = 4, 150, 104_729, 1_000_003
COLUMNS = "id INT, x DOUBLE, s STRING, d DATE, n DECIMAL(12, 2), ts TIMESTAMP"
_VALUES = (
    f"SELECT CAST(id * {STEP} % {ALL} AS INT), IF(id % 17 = 0, DOUBLE('NaN'),"
    f" (id * {STEP} % {ALL} - 500000) / 4),"
    f" IF(id % 19 = 0, NULL, concat('né-', id * {STEP} % {ALL})),"
    f" date_add(DATE '1800-01-01', CAST(id * {STEP} % 90001 AS INT)), id * {STEP} % {ALL} / 100,"
    f" TIMESTAMP '1950-01-01 00:00:00Z' + make_dt_interval(0, 0, 0, id * {STEP} % {ALL} * 60)"
    " FROM range({first}, {last}, 1, 1)"
)


def _append(wh, table: str, first: int, rows: int = ROWS) -> None:
    wh.sql(f"INSERT INTO {table} {_VALUES.format(first=first, last=first + rows)}")


def _filled(wh, columns: str = COLUMNS) -> str:
    table = f"lake.d.{wh.table(columns)}"
    for number in range(FILES):
        _append(wh, table, number * ROWS)
    return table


def _empty() -> tuple[int, int]:
    """Between two neighbours among the values of all files: nothing lies there."""
    values = sorted(i * STEP % ALL for i in range(FILES * ROWS))
    return next((a + 1, b - 1) for a, b in pairwise(values[100:]) if b - a > 900)


def test_a_bundle_that_was_altered_leaves_nothing_out(spark_warehouse, tmp_path: Path) -> None:
    wh = spark_warehouse
    table = _filled(wh)
    low, high = _empty()
    query = f"SELECT * FROM {table} WHERE id BETWEEN {low} AND {high}"
    with wh.attach(store=str(tmp_path)) as acc:
        acc.execute(f"CREATE INDEX harmed ON {table} USING RANGE (id) WITH (bits_per_value = 30)")
        assert acc.query(query).metrics.files_read == 0
    (bundle,) = Path(tmp_path).rglob("bundle.puffin")
    data = bytearray(bundle.read_bytes())
    data[40] ^= 8  # of the directory
    bundle.write_bytes(data)
    with wh.attach(store=str(tmp_path)) as acc:
        answer = acc.query(query)
        assert answer.metrics.files_read == FILES and answer.arrow().num_rows == 0
        assert acc.fallbacks == {"index_unreadable": 1}
