"""RANGE on real tables: files in which nothing lies between two bounds aren't opened.

Strategy: the values of every file are spread over the whole range, so that bounds tell nothing, and
are known here too: where a filter has bits enough to be exact, just the files that hold a match are
read, whatever the table goes through. Every answer is compared with plain Spark's.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

RENAMED = 2  # the change from which on the column has another name
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


def _holding(low: int, high: int) -> int:
    """How many of the first files have an `id` between these."""
    files = (range(n * ROWS, (n + 1) * ROWS) for n in range(FILES))
    return sum(any(low <= i * STEP % ALL <= high for i in file) for file in files)


def _empty() -> tuple[int, int]:
    """Between two neighbours among the values of all files: nothing lies there."""
    values = sorted(i * STEP % ALL for i in range(FILES * ROWS))
    return next((a + 1, b - 1) for a, b in pairwise(values[100:]) if b - a > 900)


RANGES = [(low, low + width) for low in (77_777, 912_345) for width in (0, 5_000)]


def _queries(table: str, id_: str = "id") -> list[str]:
    wheres = [f"{id_} BETWEEN {low} AND {high}" for low, high in RANGES]
    wheres += [
        f"{id_} > 5000 AND {id_} <= 5900",
        f"{id_} IN (5000, {STEP}, 6000) OR {id_} = 3",
        f"NOT ({id_} < 990000)",
        "x BETWEEN -100.0D AND -1.0D",
        "x > 124000.0D",
        "x = DOUBLE('NaN') AND n < 1",
        "s LIKE 'né-5000%'",
        "s LIKE 'né-5_1%'",
        "s >= 'né-7' AND s < 'né-70001'",
        "s = 'né-104729'",
        "s > 'zz'",
        "d BETWEEN DATE '1900-01-01' AND DATE '1900-01-04'",
        "n > 12.34 AND n < 20",
        "ts >= TIMESTAMP '1950-02-01 00:00:00Z' AND ts < TIMESTAMP '1950-02-02 00:00:00Z'",
    ]
    return [f"SELECT * FROM {table} WHERE {where}" for where in wheres] + [
        f"SELECT count(*), max(d) FROM {table} WHERE {where}" for where in wheres[::4]
    ]


def test_files_are_left_out_through_changes_of_the_table(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = _filled(wh)
    for column in ("id", "x", "s", "d", "n", "ts"):
        options = "WITH (bits_per_value = 30)" if column in ("id", "n", "s") else ""
        acc.execute(
            f"CREATE INDEX range_{column} ON {table} USING RANGE ({column}) {options} DEFERRED"
        )
    acc.execute(f"BUILD ALL ON {table}")
    shown = {row["index"]: row for row in acc.execute(f"SHOW INDEXES ON {table}").to_pylist()}
    assert shown["range_id"]["modes"] == f"bucket {FILES}"
    assert shown["range_id"]["false_positive_rate"] == 0
    assert all(row["files_covered"] == FILES and row["modes"] for row in shown.values())
    same = Differential(acc)
    queries = _queries(table)
    same.check(queries, rewritten=None, spark=queries[:2], where="built")
    found = [_holding(low, high) for low, high in RANGES]
    assert min(found) == 0 and max(found) > 0
    for (low, high), files in zip(RANGES, found, strict=True):
        answer = acc.query(f"SELECT * FROM {table} WHERE id BETWEEN {low} AND {high}")
        assert (answer.metrics.files_read, answer.metrics.indexes) == (files, ("range_id",))
    low, high = _empty()
    query = f"SELECT count(*) FROM {table} WHERE id >= {low} AND id <= {high}"
    assert f"index range_id (RANGE, coordinator): {FILES} more left out" in acc.explain(query)
    for where in ("s LIKE 'né-5000_1%'", "s BETWEEN 'né-55' AND 'né-55100'", "n = 0.01"):
        assert acc.query(f"SELECT * FROM {table} WHERE {where}").metrics.files_read < FILES, where
    low_read = acc.query(f"SELECT * FROM {table} WHERE id BETWEEN {low} AND {high}").metrics
    assert low_read.files_read == 0
    changes = (
        f"INSERT INTO {table} {_VALUES.format(first=5_000, last=5_050)}",
        f"DELETE FROM {table} WHERE id % 5 = 1",
        f"ALTER TABLE {table} RENAME COLUMN id TO number",
        f"ALTER TABLE {table} ALTER COLUMN number TYPE BIGINT",
        f"ALTER TABLE {table} ALTER COLUMN n TYPE DECIMAL(20, 2)",
    )
    for number, change in enumerate(changes):
        wh.sql(change)
        same.changed()
        id_ = "number" if number >= RENAMED else "id"
        same.check(_queries(table, id_)[number::6], rewritten=None, where=change)
        read = acc.query(f"SELECT * FROM {table} WHERE {id_} BETWEEN {low} AND {high}").metrics
        assert read.files_read <= 1 and read.indexes == ("range_id",)
    acc.execute(f"BUILD ALL ON {table}")
    same.check(_queries(table, "number")[::2], rewritten=None, where="built again")
    beyond = f"SELECT * FROM {table} WHERE number BETWEEN 3000000000 AND 4000000000"
    same.check([beyond])


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
