"""Aggregates out of bitmaps alone: equal answers, and no data file opened."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from accelerator.rows import away
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
WHERES = (
    "",
    "WHERE name = 'né31'",
    "WHERE name IN ('né1', 'né2') AND small < 20",
    "WHERE NOT (small BETWEEN 5 AND 30) OR name IS NULL",
    "WHERE name = 'none'",
    "WHERE small >= 0",
)
SELECTS = (
    "SELECT count(*) FROM {t} {w}",
    "SELECT count(name), count(x), count(*) FROM {t} {w}",
    "SELECT min(name), max(name), min(d), max(n), max(x) FROM {t} {w}",
    "SELECT DISTINCT name FROM {t} {w}",
    "SELECT DISTINCT name, small FROM {t} {w}",
    "SELECT small, count(*) FROM {t} {w} GROUP BY small",
    "SELECT name, yes, count(*), count(x) FROM {t} {w} GROUP BY name, yes",
    "SELECT d, count(*) c FROM {t} {w} GROUP BY d HAVING count(*) > 3 ORDER BY c DESC, d LIMIT 5",
    "SELECT count(DISTINCT name), count(DISTINCT d) FROM {t} {w}",
    "SELECT sum(small), sum(n), avg(small) FROM {t} {w}",
    "SELECT yes, sum(n), max(d) FROM {t} {w} GROUP BY yes",
    "SELECT count(*) FILTER (WHERE small < 3), count(*) FROM {t} {w}",
    "SELECT x, count(*) FROM {t} {w} GROUP BY x",
    "SELECT EXISTS (SELECT * FROM {t} {w})",
    "SELECT EXISTS (SELECT 1 FROM {t} {w}) AS `Is There`",
)


def _queries(table):
    return [select.format(t=table, w=where) for select in SELECTS for where in WHERES]


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


@pytest.mark.parametrize("version", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_answers_stay_equal_through_deletes(spark_warehouse, acc, version) -> None:
    wh = spark_warehouse
    table = _filled(wh, version=version)
    _index(acc, table, "name", "x", "n", "d", "small", "yes")
    same = Differential(acc)
    some = _queries(table)[version - 2 :: 2]
    same.check(some, rewritten=None, where="built")
    told = acc.query(f"SELECT name, count(*) FROM {table} WHERE small < 20 GROUP BY name")
    assert told.metrics.files_read == 0
    explained = acc.explain(f"SELECT DISTINCT name FROM {table}", format="json")
    assert json.loads(explained)["manifests"]["by_indexes"] == 3
    wh.sql(f"DELETE FROM {table} WHERE id % 5 = 1")
    wh.sql(f"DELETE FROM {table} WHERE id < 300 AND name = 'né31'")
    same.changed()
    same.check(_queries(table)[::3], rewritten=None, where="deleted")
    told = acc.query(f"SELECT name, count(*) FROM {table} WHERE small < 20 GROUP BY name")
    assert told.metrics.files_read == 0
    _append(wh, table, 900, 50)
    same.changed()
    same.check(_queries(table)[1::5], rewritten=None, where="appended")
    if version == 2:  # position deletes and deletion vectors beside each other
        wh.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
        wh.sql(f"DELETE FROM {table} WHERE id % 7 = 3")
        same.changed()
        same.check(_queries(table)[2::4], rewritten=None, where="mixed deletes")


def test_keys_may_be_partitions(spark_warehouse, acc) -> None:
    table = _filled(spark_warehouse, files=1, rows=160, clauses="PARTITIONED BY (small)")
    _index(acc, table, "name", "d")
    queries = [
        f"SELECT small, count(*) FROM {table} WHERE name = 'né31' GROUP BY small",
        f"SELECT small, d, count(*) FROM {table} WHERE name < 'né31' GROUP BY small, d",
        f"SELECT DISTINCT small, name FROM {table}",
    ]
    same = Differential(acc)
    same.check(queries, spark=queries)
    for query in queries:
        assert acc.query(query).metrics.files_read == 0, query
    told = json.loads(
        acc.explain(f"SELECT d FROM {table} WHERE small = 3 AND name = 'né43'", format="json")
    )["funnel"]
    assert (told["files"], told["by_partition"]) == (40, 39)
    assert told["row_groups"] == [1, 1]
    assert told["rows"][0] < told["rows"][1] == 4
    assert 0 < told["bytes"][0] < told["bytes"][1]
    told = json.loads(acc.explain(queries[0], format="json"))["funnel"]
    assert (told["by_partition"], told["bytes"][0]) == (0, 0)


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

    parts_of = away.parts_of

    def watched(*args):
        given.append(parts_of(*args))
        return given[-1]

    monkeypatch.setattr(away, "parts_of", watched)
    store = acc.config.store_root
    how = {"store": store, "engine": "spark", "sidecar_jobs": "always"}
    Differential(acc).check(queries, rewritten=None)
    with wh.attach(**how) as other:
        Differential(other).check(queries[:4])
        assert len(given) == 4 and all(given)
        assert other.query(queries[4]).arrow().num_rows == 0
