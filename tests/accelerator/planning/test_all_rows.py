"""All rows of a statement in process: what is declined before it's tried, bounded, remembered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, UUIDType

import accelerator
from accelerator import Accelerator
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.duckdb.table_cache import KeptRows
from accelerator.errors import CancelledError, EngineError
from accelerator.iceberg import PinnedTable
from accelerator.planning import planner
from accelerator.planning.plans import ALL_ROWS, CoverPlan, PlainPlan, Plan
from cubes.sql.answer import _all_tested
from rewrite.ir.expr import Call, Column, Literal
from rewrite.reason import Declined
from rewrite.render.expressions import Renderer
from tests.support.pristine import Pristine

_MANY = 300_000


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    ids = Schema(
        NestedField(1, "u", UUIDType()),
        NestedField(2, "s", StringType()),
        NestedField(3, "v", LongType()),
    )
    table = catalog.create_table("d.ids", ids)
    rows = {"u": [bytes(16), bytes([1] * 16)], "s": ["a", "b"], "v": [1, 2]}
    table.append(pa.table(rows, schema=table.schema().as_arrow()))
    same = pa.table({"k": pa.array([7] * _MANY, pa.int64()), "s": ["x"] * _MANY})
    catalog.create_table("d.same", same.schema).append(same)


@pytest.fixture(scope="module")
def acc(pristine: Pristine) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


def _plan(acc: Accelerator, sql: str) -> Plan:
    return acc.services.planner.plan(sql)[0]


def test_a_column_that_only_spark_reads_is_declined_before_it_is_read(acc: Accelerator) -> None:
    for sql in (
        "SELECT max(u) AS m FROM d.ids",
        "SELECT count(*) AS n FROM d.ids WHERE u <> 'x' AND v > 0",
        "SELECT i.s AS s, count(*) AS n FROM d.ids i JOIN d.ids j ON i.u = j.u GROUP BY i.s",
    ):
        plan = _plan(acc, sql)
        assert isinstance(plan, PlainPlan), sql
        (tried,) = (one for one in plan.tried if one.cube == ALL_ROWS)
        assert tried.declined is not None
        assert tried.declined.sentence.endswith("The column u: a UUID."), sql


def test_rows_are_counted_by_a_column_that_can_be_read(acc: Accelerator) -> None:
    found = acc.query("SELECT count(*) AS n, sum(i.v) AS s FROM d.ids i CROSS JOIN d.ids j")
    assert found.arrow().to_pylist() == [{"n": 4, "s": 6}]
    assert found.metrics.engine == "duckdb"


def test_what_duckdb_is_not_proven_for_is_said(acc: Accelerator) -> None:
    plan = _plan(acc, "SELECT s ILIKE 'a' AS u, count(*) AS n FROM d.ids GROUP BY s ILIKE 'a'")
    assert isinstance(plan, PlainPlan)
    reasons = [one.declined.sentence for one in plan.tried if one.cube == ALL_ROWS and one.declined]
    assert reasons[0].startswith("An expression isn't proven to mean the same outside Spark.")


def test_rows_that_need_spark_are_left_to_it_from_then_on(acc: Accelerator) -> None:
    plans, sql = acc.services.planner, "SELECT s, sum(v) AS n FROM d.ids GROUP BY s"
    plan = _plan(acc, sql)
    assert isinstance(plan, CoverPlan)
    assert plan.title == ALL_ROWS
    assert plans.leave_rows(plan, "a text").code == "rows_need_spark"
    for again in (sql, "SELECT s, sum(v) AS n FROM d.ids GROUP BY s ORDER BY s"):
        plain = _plan(acc, again)
        assert plain.refused() is not None
        assert plain.refused().line.startswith("rows_need_spark")  # type: ignore[union-attr]
    other = _plan(acc, "SELECT v, count(*) AS n FROM d.ids GROUP BY v")
    assert other.refused() is None
    nested = "SELECT max(n) AS m FROM (SELECT s, sum(v) AS n FROM d.ids GROUP BY s) x"
    assert _plan(acc, nested).refused() is not None


def test_what_was_left_is_tried_again_after_a_while(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT v, count(*) AS n FROM d.ids GROUP BY v"
    acc.services.planner.leave_rows(_plan(acc, sql), "cut")
    assert _plan(acc, sql).refused() is not None
    monkeypatch.setattr(planner, "_LEFT_S", 0.0)
    assert _plan(acc, sql).refused() is None


def test_a_statement_that_failed_is_left_to_spark_by_its_shape(acc: Accelerator) -> None:
    plans = acc.services.planner
    sql = "SELECT s, max(k) AS m FROM d.same WHERE k > {} GROUP BY s"
    plan = _plan(acc, sql.format(0))
    plans.leave_statement(sql.format(0), plan, Declined("engine_failed", "too large"))
    for constant in (0, 1):
        refused = _plan(acc, sql.format(constant)).refused()
        assert refused is not None
        assert refused.detail == "too large"
    assert _plan(acc, sql.format(0).replace("max", "min")).refused() is None


def test_few_bytes_that_are_many_rows_are_not_kept(acc: Accelerator) -> None:
    pinned = acc.services.lake.pin().pinned(("lake", "d", "same"))
    assert isinstance(pinned, PinnedTable)
    assert pinned.size_bytes < _MANY
    assert not KeptRows(_MANY * 8).takes(pinned, ["k"])
    assert KeptRows(_MANY * 8 * 4).takes(pinned, ["k"])
    assert not KeptRows(_MANY * 8 * 4).takes(pinned, ["k", "s"])


def test_a_large_answer_is_given_up_before_it_is_whole() -> None:
    engine = DuckDBEngine()
    rows = "SELECT i FROM range(100000000000) r(i)"
    with pytest.raises(EngineError, match="more than 1,000,000 bytes"):
        engine.run(rows, bytes_max=1_000_000)
    assert engine.run("SELECT 5 AS n", bytes_max=1_000).to_pylist() == [{"n": 5}]
    small = engine.run("SELECT i FROM range(300000) r(i)", bytes_max=10_000_000)
    assert small.num_rows == 300_000
    assert engine.run("SELECT 1 AS n WHERE false", bytes_max=1).schema.names == ["n"]
    engine.close()


def test_errors_while_rows_come_are_ours() -> None:
    engine = DuckDBEngine()
    raised = (
        "SELECT CASE WHEN i = 900000 THEN error('here') ELSE i END AS i FROM range(1000000) r(i)"
    )
    with pytest.raises(EngineError, match="here"):
        engine.run(raised, bytes_max=1 << 30)
    with pytest.raises(EngineError, match="nothing"):
        engine.run("SELECT * FROM nothing", bytes_max=1 << 30)
    stopped: list[BaseException] = []

    def run() -> None:
        try:
            slow = "SELECT max(hash(i)) AS m FROM range(1000000000000) r(i)"
            engine.run(slow, tag="t", bytes_max=1 << 30)
        except CancelledError as error:
            stopped.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        engine.interrupt("t")
        thread.join(0.05)
    assert len(stopped) == 1
    assert engine.run("SELECT 5 AS n").to_pylist() == [{"n": 5}]
    engine.close()


def test_conditions_that_may_raise_are_tested_of_rows_that_others_leave_out(tmp_path: Path) -> None:
    last = 2**31 - 1
    rows = pa.table({"i": pa.array([1, last, 5], pa.int32()), "s": ["a", "b", "c"]})
    ids = [f.with_metadata({"PARQUET:field_id": str(n)}) for n, f in enumerate(rows.schema)]
    path = f"{tmp_path}/rows.parquet"
    pq.write_table(rows.cast(pa.schema(ids)), path, row_group_size=1)
    fields = ", ".join(
        f"{n}: {{name: '{name}', type: '{type_}', default_value: NULL}}"
        for n, name, type_ in ((0, "i", "INTEGER"), (1, "s", "VARCHAR"))
    )
    scan = f"read_parquet(['{path}'], schema = MAP {{{fields}}}, hive_partitioning = false)"
    raises = Call("+", (Column(0, 0, "i", "int"), Literal("1", "int")), "int")
    tested = Renderer("duckdb", lambda column: column.name).text(raises) + " > 5"
    engine = DuckDBEngine(folders=[str(tmp_path)])
    for other in ("s = 'a'", "s = 'zz'", "s < 'b'", "i < 3"):
        for conditions in ([tested, other], [other, tested]):
            sql = f"SELECT count(*) AS n FROM {scan} WHERE {_all_tested(conditions)}"
            with pytest.raises(EngineError, match="Conversion"):
                engine.run(sql)
    both = ["i > 1", "s < 'c'"]
    sql = f"SELECT count(*) AS n FROM {scan} WHERE {_all_tested(both)}"
    assert engine.run(sql).to_pylist() == [{"n": 1}]
    engine.close()
