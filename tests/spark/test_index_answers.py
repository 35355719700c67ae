"""Workers of Spark read just the rows that bitmaps leave."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from accelerator.query.execution.row_readers import spark_workers
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

COLUMNS = "id BIGINT, name STRING, x DOUBLE, n DECIMAL(12, 2), d DATE, small INT, yes BOOLEAN"
_ROWS = (
    "SELECT id, IF(id % 11 = 0, NULL, concat('né', id * 31 % 50)),"
    " CASE WHEN id % 13 = 0 THEN DOUBLE('NaN') WHEN id % 7 = 0 THEN NULL ELSE id % 30 / 3 + 1 END,"
    " id % 77 / 10, date_add(DATE '1960-01-01', CAST(id % 90 AS INT)), CAST(id % 40 AS INT),"
    " IF(id % 9 = 0, NULL, id % 2 = 0)"
    " FROM range({first}, {last}, 1, 1)"
)
_SMALL_GROUPS = (
    "'write.parquet.row-group-size-bytes'='1',"
    "'write.parquet.row-group-check-min-record-count'='10',"
    "'write.parquet.row-group-check-max-record-count'='10'"
)


def _filled(wh, files=3, rows=300, **how):
    name = f"lake.d.{wh.table(COLUMNS, **how)}"
    for number in range(files):
        _append(wh, name, number * rows, rows)
    return name


def _append(wh, name, first, rows):
    wh.sql(f"INSERT INTO {name} {_ROWS.format(first=first, last=first + rows)}")


def _index(acc, table, *columns):
    for column in columns:
        acc.execute(
            f"CREATE INDEX {table.rsplit('.', 1)[1]}_{column} ON {table} USING BITMAP ({column})"
        )


def test_workers_read_the_rows_that_sidecars_leave(spark_warehouse, acc, monkeypatch) -> None:
    wh = spark_warehouse
    table = _filled(wh, files=4, clauses="PARTITIONED BY (yes)", properties=_SMALL_GROUPS)
    path = wh.sql(f"SELECT file_path FROM {table}.files")[0][0].removeprefix("file:")
    assert pq.ParquetFile(path).num_row_groups > 2
    _index(acc, table, "name", "small")
    wh.sql(f"DELETE FROM {table} WHERE id % 50 = 31")
    wh.sql(f"ALTER TABLE {table} RENAME COLUMN d TO `a d``y`")
    queries = [
        f"SELECT * FROM {table} WHERE name = 'né31'",
        f"SELECT id, yes, x FROM {table} WHERE small = 7 AND name > 'né2' ORDER BY id DESC LIMIT 3",
        f"SELECT `a d``y`, n FROM {table} WHERE small BETWEEN 3 AND 4 ORDER BY n, id",
        f"SELECT 1 FROM {table} WHERE name IS NULL AND small = 0",
        f"SELECT id FROM {table} WHERE name = 'none' AND small = 7",
    ]
    given = []

    parts_of = spark_workers.parts_of

    def watched(*args):
        given.append(parts_of(*args))
        return given[-1]

    monkeypatch.setattr(spark_workers, "parts_of", watched)
    store = acc.config.store_root
    how = {"store": store, "engine": "spark", "sidecar_jobs": "always"}
    Differential(acc).check(queries, rewritten=None)
    with wh.attach(**how) as other:
        Differential(other).check(queries[:4])
        assert len(given) == 4 and all(given)
        assert other.query(queries[4]).arrow().num_rows == 0
