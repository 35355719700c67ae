"""The first rows of an order against plain Spark, over orders, types, deletes and layouts.

Strategy: tables whose files overlap in several ways go through changes; after each of them random
statements with ORDER BY and LIMIT are answered both ways, with their sort keys as columns, so that
ties are judged rightly. How often they were answered in process is counted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelerator.common.statement_metrics import Metrics
from accelerator.services.verification.compare import differ, differ_sorted
from accelerator.session.session import Accelerator
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark

COLUMNS = "a INT, b BIGINT, d DATE, c DECIMAL(10,2), t TIMESTAMP, s STRING, f DOUBLE, o BOOLEAN"
_ROWS = (
    "SELECT CAST(id * {step} + {first} AS INT),"
    " CASE WHEN id % 7 < {nulls} THEN NULL ELSE (id * 37) % 101 - 20 END,"
    " date_add(DATE '2024-02-27', CAST(id % 4 AS INT)), CAST(id % 30 / 8 - 3 AS DECIMAL(10,2)),"
    " timestamp_micros(id * 5000000000 + {first}), CASE WHEN id % 5 = 0 THEN NULL"
    " WHEN id % 3 = 0 THEN repeat(concat('ü', id % 9), 12) ELSE concat('x', id % 9) END,"
    " CASE id % 6 WHEN {nan} THEN double('NaN') WHEN 1 THEN NULL WHEN 2 THEN -0.0D WHEN 3 THEN 0.0D"
    " ELSE (id - 100) / 4 END, id % 3 = 0 FROM range({rows})"
)
_KEYS = ("a", "b", "d", "c", "t", "s", "f", "o")
_PREDICATES = (
    *("a >= 40", "a < 0", "a BETWEEN 10 AND 90", "a IN (1, 2, 500)", "b IS NULL", "b > 50"),
    *("d = '2024-02-28'", "c > 0", "s = 'x4'", "s LIKE 'x%'", "f > 2.5D", "f IS NOT NULL", "NOT o"),
    *("o", "a = b", "d IN ('2024-02-27', '2024-02-29')", "s >= 'x8'", "TRUE"),
)


class Asked:
    """A table, statements about it, and how often they were answered in process."""

    def __init__(self, wh, acc: Accelerator, table: str, seed: int) -> None:
        self.wh, self.acc, self.table = wh, acc, table
        self.random = random.Random(seed)
        self.asked = self.answered = 0

    def ask(
        self, keys: list[str], where: str = "", limit: str = "LIMIT 5", outputs: str = "*"
    ) -> Metrics:
        named = [key.split()[0] for key in keys]
        hidden = ", ".join(f"{name} AS key_{i}" for i, name in enumerate(named))
        sql = f"SELECT {outputs}, {hidden} FROM {self.table}{where and ' WHERE ' + where}"
        sql += f" ORDER BY {', '.join(keys)} {limit}"
        mine = self.acc.query(sql)
        plain = self.wh.spark.sql(sql).toArrow()
        assert differ_sorted(mine.arrow(), plain, len(keys)) == [], sql
        self.asked += 1
        self.answered += mine.metrics.engine == "duckdb"
        return mine.metrics

    def some(self, number: int) -> None:
        r = self.random
        for _ in range(number):
            keys = [
                key
                + r.choice(["", " ASC", " DESC"])
                + r.choice(["", " NULLS FIRST", " NULLS LAST"])
                for key in r.sample(_KEYS, r.choice([1, 1, 2, 3]))
            ]
            where = " AND ".join(r.sample(_PREDICATES, r.choice([0, 1, 1, 2])))
            limit = r.choice(["", *(f"LIMIT {n}" for n in (0, 1, 3, 10, 1000))])
            limit += r.choice(["", "", " OFFSET 4", " OFFSET 2000"])
            self.ask(keys, where, limit, r.choice(["*", "s, a", "f, concat(s, 'y') AS y", "b"]))


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield acc
    acc.close()


def _append(asked: Asked, first: int, rows: int = 60, *, step: int = 1, nan: int = 0) -> None:
    nulls = first % 3
    text = _ROWS.format(first=first, rows=rows, nulls=nulls, step=step, nan=nan)
    asked.wh.sql(f"INSERT INTO {asked.table} {text}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "clauses"),
    [(2, ""), (3, "PARTITIONED BY (d)"), (2, "PARTITIONED BY (bucket(3, a), truncate(1, s))")],
)
def test_orders_through_changes(spark_warehouse, acc, version: int, clauses: str) -> None:
    wh = spark_warehouse
    name = wh.table(COLUMNS, version=version, clauses=clauses)
    asked = Asked(wh, acc, f"lake.d.{name}", version * 10 + len(clauses))
    asked.some(2)  # of no file at all
    for first, step, nan in ((0, 1, 0), (40, 3, 9), (200, 1, 9), (7, 2, 0)):
        _append(asked, first, step=step, nan=nan)
    asked.some(14)
    changes = [
        f"DELETE FROM {asked.table} WHERE a = 5 OR b IS NULL AND a > 50",
        f"ALTER TABLE {asked.table} ADD COLUMN z INT",
        f"UPDATE {asked.table} SET b = NULL, z = 4 WHERE a IN (50, 51)",
        f"ALTER TABLE {asked.table} RENAME COLUMN c TO w; ALTER TABLE {asked.table} RENAME COLUMN f"
        f" TO c; ALTER TABLE {asked.table} RENAME COLUMN w TO f",
        f"ALTER TABLE {asked.table} WRITE ORDERED BY t DESC NULLS FIRST",
        f"INSERT INTO {asked.table} SELECT a + 1000, b, d, f, t, s, c, o, z FROM {asked.table}",
    ]
    for change in changes:
        for statement in change.split(";"):
            wh.sql(statement)
        asked.some(3)
        asked.ask(["t DESC", "a"])
    asked.ask(["z DESC NULLS LAST", "a"])
    assert asked.answered >= asked.asked * 0.6


def test_row_groups_are_read_from_either_end(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    name = wh.table(COLUMNS, version=2)
    table = f"lake.d.{name}"
    wh.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.parquet.row-group-size-bytes'='8000')")
    asked = Asked(wh, acc, table, 1)
    for first in range(4):
        _append(asked, first, 6000)
    groups = _row_groups(wh, name)
    assert groups > 12
    for key in ("t", "t DESC", "a DESC NULLS LAST"):
        metrics = asked.ask([key], limit="LIMIT 20", outputs="s, f")
        assert metrics.engine == "duckdb" and metrics.files_read <= 4
        assert metrics.row_groups_read <= 5
    metrics = asked.ask(["t"], where="s = 'none'", limit="LIMIT 20")
    assert metrics.row_groups_read == 0
    wh.sql(f"DELETE FROM {table} WHERE a % 2 = 0")
    assert asked.ask(["t DESC"], limit="LIMIT 20").row_groups_read <= 6


def _row_groups(wh, name: str) -> int:
    files = [f.path.removeprefix("file:") for f in wh.pinned(name).live_files()]
    return sum(pq.ParquetFile(path).metadata.num_row_groups for path in files)


def test_rows_of_most_files_are_never_looked_at(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS, version=2)}", 1)
    for first in range(0, 1000, 100):
        _append(asked, first)
    for key, where in (("a", ""), ("a DESC", ""), ("a", "a > 250"), ("a DESC", "a < 555")):
        # Under a predicate the files that bounds leave are read at once.
        assert asked.ask([key], where).files_read == (2 if where else 1)
    assert asked.ask(["a"], "s = 'x4'").files_read <= 4
    assert "1 of 20 files" in acc.explain(f"SELECT a FROM {asked.table} ORDER BY a LIMIT 1")
    verified = acc.verify(f"SELECT s, f FROM {asked.table} ORDER BY d, 1 DESC LIMIT 7")
    assert verified.equal and verified.rewritten


def test_all_rows_stream_in_order(spark_warehouse, acc, monkeypatch) -> None:
    monkeypatch.setattr("accelerator.query.execution.row_readers.scan._ROWS", 100)
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS, version=2)}", 1)
    for first in (300, 0, 100, 350):
        _append(asked, first, 100)
    wh.sql(f"DELETE FROM {asked.table} WHERE a = 320")
    for keys, where in ((["a"], ""), (["a DESC", "t"], "a > 10"), (["b NULLS LAST", "a"], "")):
        order = ", ".join(keys)
        hidden = ", ".join(k.split()[0] for k in keys)
        where = where and f" WHERE {where}"
        sql = f"SELECT s, f, {hidden} FROM {asked.table}{where} ORDER BY {order}"
        reader = acc.stream(sql)
        batches = list(reader)
        plain = wh.spark.sql(sql).toArrow()
        mine = pa.Table.from_batches(batches, reader.schema)
        assert reader.schema == plain.schema
        assert differ_sorted(mine, plain, len(keys)) == []
        if keys[0][0] == "a":
            assert len(batches) > 3
    with acc.stream(f"SELECT a FROM {asked.table} ORDER BY a OFFSET 395") as reader:
        assert reader.read_all().num_rows == 400 - 395 - 1
    first = next(acc.stream(f"SELECT a FROM {asked.table} ORDER BY a"))
    assert first.column("a")[0].as_py() == 0
    assert acc.stream(f"SELECT count(*) AS n FROM {asked.table}").read_all().num_rows == 1


def test_what_spark_must_read_is_read_by_spark(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    for format_, engine in (("avro", "spark"), ("parquet", "duckdb")):
        name = wh.table("k INT, s STRING", properties=f"'write.format.default'='{format_}'")
        table = f"lake.d.{name}"
        for first in (0, 100, 200):
            wh.sql(f"INSERT INTO {table} SELECT CAST(id + {first} AS INT), 'x' FROM range(50)")
        write_equality_delete(wh, name, [249, 248])
        sql = f"SELECT k FROM {table} ORDER BY k DESC LIMIT 3"
        answer = acc.query(sql)
        assert answer.arrow().column("k").to_pylist() == [247, 246, 245]
        assert answer.metrics.engine == engine and answer.metrics.rewritten
        assert acc.sql(sql).toArrow()["k"].to_pylist() == [247, 246, 245]
    few = wh.attach(store=str(acc.config.store) + "2", duckdb_bytes_max=1)
    answer = few.query(f"SELECT k, s FROM {table} WHERE s = 'x' ORDER BY k LIMIT 70 OFFSET 2")
    assert answer.metrics.engine == "spark" and answer.metrics.rewritten
    assert answer.arrow().column("k").to_pylist() == [*range(2, 50), *range(100, 122)]
    few.close()


def test_statements_that_are_left_to_spark(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table(COLUMNS, version=2)}"
    wh.sql(f"INSERT INTO {table} {_ROWS.format(first=0, rows=30, nulls=1, step=1, nan=0)}")
    for rest, code in (
        ("WHERE 1 / b > 0 ORDER BY a LIMIT 0", "may_raise"),
        ("ORDER BY a LIMIT 1 + 1", "block_unsupported"),
        ("ORDER BY rand() LIMIT 1", "expression_unsupported"),
    ):
        answer = acc.query(f"SELECT a FROM {table} {rest}")
        assert not answer.metrics.rewritten
        assert (answer.metrics.fallback or "").split(":")[0] == code, rest


def test_files_without_ids_or_with_other_types(spark_warehouse, acc, tmp_path) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, s STRING, v FLOAT", version=2)
    table = f"lake.d.{name}"
    for first in (0, 100):
        wh.sql(f"INSERT INTO {table} SELECT CAST(id + {first} AS INT), 'x', 0.5 FROM range(50)")
    wh.sql(f"ALTER TABLE {table} ALTER COLUMN k TYPE BIGINT")
    wh.sql(f"ALTER TABLE {table} ALTER COLUMN v TYPE DOUBLE")
    rows = {"k": pa.array(range(300, 350), pa.int64()), "s": ["y"] * 50, "v": [1.5] * 50}
    (tmp_path / "more").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "more" / "a.parquet")
    wh.sql(
        f"CALL lake.system.add_files(table => 'd.{name}',"
        f" source_table => '`parquet`.`file:{tmp_path}/more`')"
    )
    sql = f"SELECT * FROM {table} ORDER BY k {{}} LIMIT 60"
    for direction in ("ASC", "DESC"):
        mine = acc.query(sql.format(direction))
        assert mine.metrics.rewritten
        plain = wh.spark.sql(sql.format(direction)).toArrow()
        assert differ(mine.arrow(), plain) == []


def test_states_of_the_table(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT', version=2)}"
    wh.sql(f"INSERT INTO {table} VALUES (1), (2)")
    wh.sql(f"ALTER TABLE {table} CREATE TAG one")
    sql = f"SELECT k FROM {table} {{}} ORDER BY k DESC LIMIT 1"
    assert acc.query(sql.format("")).arrow().column("k").to_pylist() == [2]
    wh.sql(f"INSERT INTO {table} VALUES (3)")
    newest = acc.query(sql.format(""))
    assert newest.arrow().column("k").to_pylist() == [3] and not newest.metrics.plan_cached
    assert acc.query(sql.format("")).metrics.plan_cached
    assert acc.query(sql.format("VERSION AS OF 'one'")).arrow().column("k").to_pylist() == [2]
