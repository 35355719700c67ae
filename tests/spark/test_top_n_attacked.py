"""Statements and tables that ORDER BY over one table was once answered wrongly or rudely for.

Strategy: each test makes the table that did it, asks in both ways, and says whether falling back to
plain Spark is allowed there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelerator.common.statement_metrics import Metrics
from accelerator.engines.duckdb.table_scan import TableScan, table_scan
from accelerator.errors import CancelledError
from accelerator.iceberg import LiveFile
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile
from accelerator.planning.plans import PlainPlan
from accelerator.query.execution.row_readers import at_once
from accelerator.query.execution.row_readers.scan import SortedRows
from accelerator.services.verification.compare import differ_sorted
from accelerator.session.session import Accelerator
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield acc
    acc.close()


def _agreed(wh, acc: Accelerator, sql: str, keys: int = 1, *, failures: int = 0) -> Metrics:
    """Asks both ways; the last outputs are the sort keys. Failures of the layer are counted."""
    before = sum(acc.fallbacks.values())
    mine = acc.query(sql)
    plain = wh.spark.sql(sql).toArrow()
    assert differ_sorted(mine.arrow(), plain, keys) == [], sql
    assert sum(acc.fallbacks.values()) - before == failures, (sql, mine.metrics.fallback)
    return mine.metrics


def _many_files(wh) -> str:
    """A table of twenty files whose rows overlap in `s`."""
    table = f"lake.d.{wh.table('s STRING, k INT', clauses='PARTITIONED BY (k)')}"
    wh.sql(
        f"INSERT INTO {table} SELECT concat('x', lpad(id, 4, '0')), CAST(id % 20 AS INT)"
        " FROM range(200)"
    )
    return table


def test_texts_that_fall_over_many_files(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = _many_files(wh)
    for rest in ("LIMIT 50", "OFFSET 3", "NULLS FIRST LIMIT 30"):
        metrics = _agreed(wh, acc, f"SELECT k, s FROM {table} ORDER BY s DESC {rest}")
        assert metrics.engine == "duckdb"


def test_a_partition_says_what_the_column_is(spark_warehouse, acc, tmp_path) -> None:
    """The file has other values within its bounds, or lacks the column."""
    wh = spark_warehouse
    for type_, given, values in (
        ("INT", "5", pa.array(range(1, 11), pa.int32())),
        ("STRING", "b", pa.array(list("abcabcabca"))),
        ("DATE", "2024-02-03", None),
        ("BOOLEAN", "true", None),
        ("DOUBLE", "2.5", None),
    ):
        name = wh.table(f"k {type_}, v INT", clauses="PARTITIONED BY (k)")
        table = f"lake.d.{name}"
        folder = tmp_path / type_ / f"k={given}"
        folder.mkdir(parents=True)
        columns = {"v": pa.array(range(10), pa.int32())} | ({} if values is None else {"k": values})
        pq.write_table(pa.table(columns), folder / "a.parquet")
        wh.sql(
            f"CALL lake.system.add_files(table => 'd.{name}',"
            f" source_table => '`parquet`.`file:{folder.parent}`')"
        )
        wh.sql(f"INSERT INTO {table} VALUES (NULL, 100), (CAST('{given}' AS {type_}), 101)")
        for sql in (
            f"SELECT k, v FROM {table} ORDER BY v",
            f"SELECT k, v FROM {table} WHERE k = '{given}' OR v = 3 ORDER BY v LIMIT 20",
            f"SELECT k, v FROM {table} ORDER BY v DESC LIMIT 5",
            f"SELECT count(*) AS n, k FROM {table} WHERE v > 3 AND v < 101 GROUP BY k ORDER BY k",
        ):
            _agreed(wh, acc, sql)
        if type_ != "BOOLEAN":
            _agreed(wh, acc, f"SELECT v, k FROM {table} ORDER BY k LIMIT 8")
        assert acc.query(f"SELECT k, v FROM {table} ORDER BY v").metrics.engine == "duckdb"


def test_texts_that_are_no_utf8(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, s STRING')}"
    for number, text in enumerate(("CAST(X'FF' AS STRING)", "'\U0001f600'", "'a'")):
        wh.sql(f"INSERT INTO {table} VALUES ({number}, {text})")
    for rest in ("s", "s DESC", "s DESC LIMIT 1", "s LIMIT 3"):
        sql = f"SELECT k FROM {table} ORDER BY {rest}"
        plain = wh.spark.sql(sql).toArrow()
        assert acc.query(sql).arrow() == plain, rest
    assert acc.query(f"SELECT k FROM {table} ORDER BY s LIMIT 1").metrics.files_read == 1


def test_columns_that_are_called_like_ours(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    columns = ("#group", "#NUMBER", "#number#", "k0", "c0", "o0", "acc_rows")
    named = [f"`{name}`" for name in columns]
    listed = ", ".join(f"{name} INT" for name in named)
    table = f"lake.d.{wh.table(f'{listed}, k INT')}"
    values = ", ".join(f"CAST((id * {i + 3}) % 11 AS INT)" for i in range(len(named)))
    for first in (0, 50):
        wh.sql(f"INSERT INTO {table} SELECT {values}, CAST(id AS INT) FROM range({first}, 99)")
    for name in named:
        for rest in ("LIMIT 9", ""):
            where = " WHERE k0 > 2 AND c0 > 1 AND o0 < 9"
            sql = f"SELECT k0, c0, {name} AS x, k AS y FROM {table}{where} ORDER BY {name}, k"
            assert _agreed(wh, acc, f"{sql} {rest}", 2).engine == "duckdb"


def test_a_stream_goes_to_spark_with_the_same_schema(spark_warehouse, acc, monkeypatch) -> None:
    wh = spark_warehouse
    name = wh.table("k INT NOT NULL, s STRING")
    table = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), 'x' FROM range(50)")
    sql = f"SELECT s, k FROM {table} ORDER BY k"
    write_equality_delete(wh, name, [3])
    assert acc.stream(sql).read_all().num_rows == 49
    assert not acc.fallbacks  # nothing has failed: Spark reads what it must read

    def fails(*_args: object) -> pa.Table:
        raise ValueError("planted")

    required = f"lake.d.{wh.table('k INT NOT NULL')}"
    wh.sql(f"INSERT INTO {required} VALUES (1), (2)")
    monkeypatch.setattr(SortedRows, "_sorted", fails)
    answer = acc.stream(f"SELECT k FROM {required} ORDER BY k").read_all()
    assert answer.column("k").to_pylist() == [1, 2]
    assert acc.fallbacks == {"engine_failed": 1}


def test_nested_columns_by_spark(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    many = ", ".join(f"f{i}: INT" for i in range(30))
    table = f"lake.d.{wh.table(f'k INT, a STRUCT<`x y`: INT, `z.w`: STRING>, b STRUCT<{many}>')}"
    some = ", ".join(f"'f{i}', {i}" for i in range(30))
    for first in (0, 100):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id + {first} AS INT),"
            f" named_struct('x y', 1, 'z.w', 'v'), named_struct({some}) FROM range(20)"
        )
    sql = f"SELECT a, b, k AS `k.``2` FROM {table} WHERE k > 105 ORDER BY k"
    metrics = _agreed(wh, acc, sql)
    assert metrics.rewritten and metrics.engine == "spark"
    assert metrics.files_read < metrics.files_total
    assert acc.sql(f"{sql} LIMIT 2").toArrow().num_rows == 2


def test_statements_that_spark_refuses(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('a INT, b INT')}"
    wh.sql(f"INSERT INTO {table} VALUES (1, 2)")
    for sql in (
        f"SELECT a FROM {table} ORDER BY a LIMIT 2147483647 OFFSET 1",
        f"SELECT a AS x, a AS X FROM {table} ORDER BY x LIMIT 3",
        f"SELECT a AS x, a AS x, count(*) AS n FROM {table} GROUP BY a ORDER BY x",
    ):
        with pytest.raises(Exception, match=r"(?i)limit|resolve|ambiguous"):
            wh.spark.sql(sql).toArrow()
        assert isinstance(acc.plan(sql)[0], PlainPlan), sql
    for sql in (
        f"SELECT a, b, a FROM {table} ORDER BY a LIMIT 2147483646 OFFSET 1",
        f"SELECT a AS x, a AS y, b, b FROM {table} ORDER BY x",
        f"SELECT a AS a, a FROM {table} ORDER BY a",
    ):
        _agreed(wh, acc, sql)


def test_cancel_while_files_are_read(spark_warehouse, acc, monkeypatch) -> None:
    """DuckDB has nothing to interrupt then."""
    table = _many_files(spark_warehouse)
    opened: list[int] = []
    real = GroupReader.open

    def cancels(self: GroupReader, files: list[LiveFile]) -> list[OpenFile]:
        opened.append(len(files))
        acc.cancel()
        return real(self, files)

    def cancels_scan(*args: Any) -> TableScan:
        opened.append(0)
        acc.cancel()
        return table_scan(*args)

    monkeypatch.setattr(GroupReader, "open", cancels)
    monkeypatch.setattr(at_once, "table_scan", cancels_scan)
    for rest in ("LIMIT 150", ""):
        with pytest.raises(CancelledError):
            acc.query(f"SELECT s FROM {table} ORDER BY s {rest}")
    with pytest.raises(CancelledError):
        acc.stream(f"SELECT s FROM {table} ORDER BY s").read_all()
    assert len(opened) == 3 and not acc.fallbacks
    monkeypatch.undo()
    assert acc.query(f"SELECT s FROM {table} ORDER BY s LIMIT 3").metrics.engine == "duckdb"


def test_few_files_stay_open(spark_warehouse, acc, monkeypatch) -> None:
    monkeypatch.setattr("accelerator.iceberg.rows.row_groups._OPEN_MAX", 2)
    wh = spark_warehouse
    table = _many_files(wh)
    wh.sql(f"DELETE FROM {table} WHERE s = 'x0007'")
    made: list[pq.ParquetFile] = []
    most = 0
    real = GroupReader.parquet

    def counts(self: GroupReader, *args: Any) -> pq.ParquetFile:
        nonlocal most
        opened = real(self, *args)
        made.append(opened)
        most = max(most, sum(not one.closed for one in made))
        return opened

    monkeypatch.setattr(GroupReader, "parquet", counts)
    for rest in ("LIMIT 150", "", "DESC LIMIT 30"):
        made.clear()
        most = 0
        assert _agreed(wh, acc, f"SELECT k, s FROM {table} ORDER BY s {rest}").engine == "duckdb"
        assert len(made) > 20 and most <= 2 + 8 + 1
