"""Any n rows where LIMIT has no ORDER BY: so many rows of the whole answer, and little is read.

Strategy: tables in several layouts, and what is drawn of them: outputs, predicates, limits and
offsets. The answer without a limit is the truth; the limited one is a part of it, as a bag.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import RowRaisedError
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.rows.row_groups import GroupReader
from accelerator.planning.plans import CoverPlan, NestedPlan, PlainPlan, Plan, RowsPlan
from accelerator.query.execution.row_readers.row_group_queue import Group
from tests.support.pristine import Pristine

_TABLES = ("tiny", "groups", "parts", "nothing", "fewer")
_SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.int32()), ("s", pa.string()), ("f", pa.float64())])
_OUTPUTS = ("*", "s, k", "f", "s, s", "p", "1 AS one", "concat(s, 'y') AS y, k", "k IS NULL AS n")
_PREDICATES = (
    *("k < 30", "k >= 200", "k IS NULL", "k > 1000000", "p = 2", "p IN (1, 3)", "s = 'x3'"),
    *("s LIKE 'x%'", "f > 2", "f IS NOT NULL", "s IS NULL OR k > 50", "1 = 1", "1 = 0"),
)


def _rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    columns: list[list[Any]] = [
        [None if n % 11 == 5 else n for n in numbers],
        [n // 40 % 4 for n in numbers],
        [None if n % 7 == 3 else f"x{n % 9}" for n in numbers],
        [math.nan if n % 6 == 1 else n / 8 - 5 for n in numbers],
    ]
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    tiny = catalog.create_table("d.tiny", _SCHEMA)
    for first, count in ((0, 1), (1, 5), (6, 2), (8, 1), (9, 3)):
        tiny.append(_rows(first, count))
    small = {"write.parquet.row-group-limit": "25"}
    groups = catalog.create_table("d.groups", _SCHEMA, properties=small)
    for first in (0, 150, 300):
        groups.append(_rows(first, 150))
    parts = catalog.create_table("d.parts", _SCHEMA)
    with parts.update_spec() as update:
        update.add_identity("p")
    parts.append(_rows(0, 160))
    parts.append(_rows(100, 20))
    catalog.create_table("d.nothing", _SCHEMA)
    fewer = catalog.create_table("d.fewer", _SCHEMA)
    fewer.append(_rows(0, 60))
    fewer.append(_rows(60, 60))
    fewer.delete("k < 25")


@pytest.fixture(scope="module")
def root(pristine: Pristine) -> Path:
    return pristine.lake(_fill, key="any rows")


@pytest.fixture(scope="module")
def acc(root: Path) -> Iterator[Accelerator]:
    with accelerator.open(root) as session:
        yield session
        assert not session.spark_started


def _bag(rows: pa.Table) -> Counter[str]:
    return Counter(repr(list(row)) for row in zip(*(c.to_pylist() for c in rows), strict=True))


def _of(plan: Plan) -> RowsPlan:
    assert isinstance(plan, RowsPlan) and plan.block.is_any and plan.engine == "duckdb"
    return plan


@given(
    st.sampled_from(_TABLES),
    st.sampled_from(_OUTPUTS),
    st.lists(st.sampled_from(_PREDICATES), max_size=2),
    st.one_of(st.integers(0, 12), st.integers(0, 500), st.just(2**31 - 1)),
    st.one_of(st.just(0), st.integers(0, 200)),
)
def test_so_many_rows_of_the_whole_answer(
    acc: Accelerator, table: str, outputs: str, where: list[str], limit: int, offset: int
) -> None:
    whole = f"SELECT {outputs} FROM d.{table}"
    if where:
        whole += f" WHERE {' AND '.join(where)}"
    limit = min(limit, 2**31 - 1 - offset)
    sql = f"{whole} LIMIT {limit}{f' OFFSET {offset}' if offset else ''}"
    plan, undone = acc.plan(sql)[0], acc.plan(whole)[0].refused()
    assert plan.refused() == undone
    if undone is not None:
        return
    _of(plan)
    every, found = acc.query(whole).arrow(), acc.query(sql)
    assert found.metrics.rewritten and found.metrics.fallback is None
    rows = found.arrow()
    assert rows.schema == every.schema
    assert rows.num_rows == min(limit, max(0, every.num_rows - offset))
    assert _bag(rows) <= _bag(every)
    streamed = acc.stream(sql).read_all()
    assert (streamed.schema, streamed.num_rows) == (rows.schema, rows.num_rows)
    assert _bag(streamed) <= _bag(every)


@given(st.sampled_from(_TABLES), st.integers(0, 300))
def test_rows_behind_an_offset_alone(acc: Accelerator, table: str, offset: int) -> None:
    every = acc.query(f"SELECT s, k FROM d.{table}").arrow()
    found = acc.query(f"SELECT s, k FROM d.{table} OFFSET {offset}")
    assert found.metrics.rewritten
    assert found.arrow().num_rows == max(0, every.num_rows - offset)
    assert _bag(found.arrow()) <= _bag(every)


def test_as_little_is_read_as_it_takes(acc: Accelerator) -> None:
    one = acc.query("SELECT * FROM d.groups LIMIT 20").metrics
    assert (one.files_read, one.row_groups_read) == (1, 1)
    over = acc.query("SELECT * FROM d.groups LIMIT 20 OFFSET 140").metrics
    assert (over.files_read, over.row_groups_read) == (2, 7)
    assert over.bytes_read < acc.query("SELECT * FROM d.groups LIMIT 160").metrics.bytes_read
    soon = acc.query("SELECT * FROM d.groups WHERE s LIKE 'x%' LIMIT 5").metrics
    assert (soon.files_read, soon.row_groups_read) == (1, 1)
    assert len(_of(acc.plan("SELECT k FROM d.tiny LIMIT 1")[0]).reading) == 1
    assert len(_of(acc.plan("SELECT k FROM d.tiny LIMIT 12")[0]).reading) == 5


@settings(max_examples=8)
@given(st.sampled_from(("tiny", "groups", "parts", "fewer")), st.integers(15, 90))
def test_one_page_goes_on_where_the_last_one_ended(acc: Accelerator, table: str, size: int) -> None:
    for where in ("", " WHERE k > 20", " WHERE s LIKE 'x%'"):
        sql = f"SELECT k, s, f FROM d.{table}{where}"
        every = acc.query(sql).arrow()
        starts = range(0, every.num_rows, size)
        pages = [acc.query(f"{sql} LIMIT {size} OFFSET {start}").arrow() for start in starts]
        assert sum(map(_bag, pages), Counter()) == _bag(every)


def test_files_that_surely_pass_come_before_others(acc: Accelerator) -> None:
    plan = _of(acc.plan("SELECT k FROM d.groups WHERE f IS NOT NULL LIMIT 140")[0])
    assert len(plan.reading) == 1
    found = acc.query("SELECT p FROM d.parts WHERE p >= 1 LIMIT 50").metrics
    assert found.files_read == 2


def test_a_limit_of_0_reads_nothing(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(GroupReader, "open", fails)
    for sql in ("SELECT * FROM d.groups LIMIT 0", "SELECT * FROM d.parts WHERE k > 3 LIMIT 0"):
        found = acc.query(f"{sql} OFFSET 7")
        assert found.arrow().schema.names == ["k", "p", "s", "f"]
        assert (found.arrow().num_rows, found.metrics.files_read) == (0, 0)


def test_a_stream_that_is_closed_reads_no_further(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    those = Group.those

    def counting(group: Group, *rest: Any) -> pa.Table:
        read.append(group.number)
        return those(group, *rest)

    monkeypatch.setattr(Group, "those", counting)
    monkeypatch.setattr("accelerator.query.execution.row_readers.limit._ROWS", 25)
    with acc.stream("SELECT s FROM d.groups LIMIT 400") as reader:
        next(reader)
    assert len(read) < 6


_FORMS: tuple[tuple[str, type[Plan], int], ...] = (
    ("SELECT * FROM (SELECT * FROM d.groups) x LIMIT 7", RowsPlan, 7),
    ("SELECT x.* FROM (SELECT s, k FROM d.groups WHERE k > 3) x LIMIT 7", RowsPlan, 7),
    ("SELECT x.s FROM (SELECT * FROM d.groups WHERE groups.k > 3) x LIMIT 7", RowsPlan, 7),
    ("WITH w AS (SELECT * FROM d.groups LIMIT 9) SELECT * FROM w LIMIT 30", RowsPlan, 9),
    ("SELECT s, count(*) AS n FROM d.groups GROUP BY s LIMIT 4", CoverPlan, 4),
    ("SELECT DISTINCT s FROM d.groups LIMIT 3", CoverPlan, 3),
    ("SELECT * FROM (SELECT DISTINCT s FROM d.groups) LIMIT 3", CoverPlan, 3),
    ("SELECT a.k, b.s FROM d.groups a JOIN d.tiny b ON a.k = b.k LIMIT 4", CoverPlan, 4),
    ("SELECT a.k FROM d.groups a LEFT JOIN d.tiny b ON a.k = b.k LIMIT 4", CoverPlan, 4),
    ("SELECT s FROM (SELECT s, count(*) AS n FROM d.groups GROUP BY s) LIMIT 4", NestedPlan, 4),
    ("SELECT count(*) AS n FROM (SELECT k FROM d.groups LIMIT 7) HAVING n = 7", NestedPlan, 1),
    ("SELECT s FROM d.groups GROUP BY s UNION ALL SELECT 'y' LIMIT 5", PlainPlan, 5),
    ("SELECT s FROM d.tiny GROUP BY s UNION ALL SELECT max(s) FROM d.parts LIMIT 5", NestedPlan, 5),
)


@pytest.mark.parametrize(("sql", "kind", "rows"), _FORMS)
def test_other_forms(acc: Accelerator, sql: str, kind: type[Plan], rows: int) -> None:
    plan, _ = acc.plan(sql)
    assert type(plan) is kind
    if kind is not PlainPlan:
        found = acc.query(sql)
        assert found.metrics.fallback is None
        assert found.arrow().num_rows == rows


def test_the_order_of_a_select_inside_is_kept(acc: Accelerator) -> None:
    sql = "SELECT * FROM (SELECT k FROM d.groups ORDER BY k DESC NULLS LAST) LIMIT 3 OFFSET 1"
    assert acc.query(sql).arrow()["k"].to_pylist() == [448, 447, 446]
    grouped = "SELECT s, max(k) AS m FROM d.groups GROUP BY s ORDER BY m DESC, s"
    first = acc.query(grouped).arrow().slice(0, 2)
    assert acc.query(f"SELECT * FROM ({grouped}) LIMIT 2").arrow() == first
    plan, _ = acc.plan(f"SELECT s FROM ({grouped}) LIMIT 2")
    assert isinstance(plan, PlainPlan) and plan.declined.code == "limit_unordered"


@pytest.mark.parametrize(
    "limit", ["ALL", "NULL", "-1", "1 + 1", "2147483648", "1 OFFSET 2147483647"]
)
def test_limits_that_are_left_to_spark(acc: Accelerator, limit: str) -> None:
    plan, _ = acc.plan(f"SELECT k FROM d.groups LIMIT {limit}")
    assert isinstance(plan, PlainPlan) and plan.declined.code == "block_unsupported"


def test_conditions_that_may_raise_are_left_to_spark(acc: Accelerator) -> None:
    plan, _ = acc.plan("SELECT k FROM d.groups WHERE 1 / k > 0 LIMIT 3")
    assert isinstance(plan, PlainPlan) and plan.declined.code == "may_raise"


@pytest.mark.parametrize(
    "sql",
    [
        *(
            "SELECT count(p) AS n FROM o",
            "SELECT p FROM o",
            "SELECT max(p) FROM o UNION SELECT min(p) FROM o",
        ),
        *("SELECT * FROM (SELECT p FROM o) LIMIT 3", "SELECT n FROM (SELECT count(*) AS n FROM o)"),
        "SELECT count(*) AS n FROM o JOIN d.tiny USING (p)",
    ],
)
def test_a_query_of_with_that_nothing_reads(acc: Accelerator, sql: str) -> None:
    """Spark refuses the statement for it."""
    items = "o AS (SELECT p FROM d.groups), unread AS (SELECT {} FROM d.{})"
    for column, table, engine in (
        *(("k", "tiny", "duckdb"), ("z", "tiny", "spark"), ("k", "nowhere", "spark")),
    ):
        plan, _ = acc.plan(f"WITH {items.format(column, table)} {sql}")
        assert plan.engine == engine


_GROUPED = "(SELECT p, count(*) FROM d.groups GROUP BY p)"


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("90 DIV k AS q FROM d.groups WHERE k > 5 ORDER BY k LIMIT 2 OFFSET 1", [12, 11]),
        ("k AS q FROM d.groups WHERE k > 5 ORDER BY 90 DIV k, k LIMIT 2", [91, 92]),
        ("90 DIV k AS q FROM d.groups WHERE k = 9 LIMIT 2", [10]),
        (f"90 DIV (p + 1) AS q FROM {_GROUPED} ORDER BY p DESC LIMIT 2", [22, 30]),
        (f"90 DIV (p + 1) AS q FROM {_GROUPED} WHERE p = 2 LIMIT 2", [30]),
    ],
)
def test_what_may_raise_is_computed_before_the_limit(
    acc: Accelerator, sql: str, rows: list[int]
) -> None:
    plan, _ = acc.plan(f"SELECT {sql}")
    assert isinstance(plan, NestedPlan) or (isinstance(plan, RowsPlan) and plan.computes_all)
    found = acc.query(f"SELECT {sql}")
    assert found.metrics.fallback is None and not acc.spark_started
    assert found.arrow()["q"].to_pylist() == rows


@pytest.mark.parametrize(
    "sql",
    [
        "1 DIV (k - 440) AS q FROM d.groups WHERE k > 5 ORDER BY k LIMIT 2",
        "k FROM d.groups WHERE k > 5 ORDER BY 1 DIV (k - 440), k LIMIT 1",
        "1 DIV (k - 440) AS q FROM d.groups LIMIT 1",
        f"1 DIV (p - 3) AS q FROM {_GROUPED} ORDER BY p LIMIT 1",
        f"1 DIV (p - 3) AS q FROM {_GROUPED} LIMIT 1",
        f"p FROM {_GROUPED} ORDER BY 1 DIV (p - 3) LIMIT 1",
        f"1 DIV (p - 3) AS q FROM {_GROUPED}",
    ],
)
def test_a_limit_hides_no_error(acc: Accelerator, sql: str) -> None:
    plan, _ = acc.plan(f"SELECT {sql}")
    assert plan.engine == "duckdb"
    assert isinstance(plan, NestedPlan) or acc.queries.execution.streamed(plan, "") is None
    with pytest.raises(RowRaisedError):
        acc.queries.execution.run(plan, sql)


def test_spark_takes_over_where_too_few_rows_pass(root: Path) -> None:
    with accelerator.open(root, duckdb_bytes_max=300) as acc:
        plan = _of(acc.plan("SELECT k FROM d.groups WHERE s = 'x3' LIMIT 400")[0])
        assert plan.bytes_max == 300
        assert acc.services.config.duckdb_bytes_max == 300
        soon = acc.query("SELECT k FROM d.groups WHERE s = 'x3' LIMIT 1")
        assert (soon.metrics.engine, soon.arrow().num_rows) == ("duckdb", 1)
        run = acc.queries.execution._pieces(plan, "")
        assert run is not None
        with pytest.raises(NeedsSparkError, match="too few rows have passed"):
            run.run()
        assert acc.queries.execution.streamed(plan, "") is None
        assert isinstance(acc.plan("SELECT * FROM d.groups LIMIT 400")[0], PlainPlan)
        assert not acc.spark_started
    with accelerator.open(root, engine="spark") as acc:
        assert isinstance(acc.plan("SELECT * FROM d.groups LIMIT 4")[0], PlainPlan)
    with accelerator.open(root, engine="duckdb") as acc:
        assert _of(acc.plan("SELECT k FROM d.groups WHERE s = 'x3' LIMIT 4")[0]).bytes_max is None


def test_an_index_tells_which_rows_to_read(root: Path) -> None:
    with accelerator.open(root) as acc:
        acc.query("CREATE INDEX by_s ON d.groups USING BITMAP (s) WITH (rows = true)")
        acc.query("BUILD INDEX by_s")
        found = acc.query("SELECT k, s FROM d.groups WHERE s = 'x3' LIMIT 12")
        assert found.arrow()["s"].to_pylist() == ["x3"] * 12
        none = acc.query("SELECT k FROM d.groups WHERE s = 'x33' LIMIT 12")
        assert (none.arrow().num_rows, none.metrics.bytes_read) == (0, 0)


def test_what_explain_says(acc: Accelerator) -> None:
    told = str(acc.explain("SELECT k FROM d.groups LIMIT 20"))
    assert "any 20 rows of " in told and "1 of 3 files" in told
    assert "read until so many rows have passed" in told
    assert "read until" not in str(acc.explain("SELECT k FROM d.groups LIMIT 0"))
