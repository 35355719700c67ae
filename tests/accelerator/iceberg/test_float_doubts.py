"""What is read of doubles so that plain Spark surely misses no row, and what isn't settled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.iceberg.rows import float_edges
from accelerator.iceberg.tables.data_file import LiveFile
from accelerator.planning.plans import PlainPlan
from accelerator.session.session import Accelerator

_SCHEMA = pa.schema([("k", pa.int64()), ("d", pa.float64()), ("e", pa.float64())])
_NAN = math.nan


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    return catalog


@pytest.fixture
def acc(catalog: SqlCatalog, tmp_path: Path) -> Iterator[Accelerator]:
    del catalog
    with accelerator.open(tmp_path) as session:
        yield session
        assert not session.spark_started


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each look at rows: the column, and the number of files."""
    looks: list[tuple[str, int]] = []
    own = float_edges._read

    def counted(pinned, column, files: list[LiveFile]) -> list[float_edges.FloatEdges]:
        looks.append((column.name, len(files)))
        return own(pinned, column, files)

    monkeypatch.setattr(float_edges, "_read", counted)
    return looks


def _table(catalog: SqlCatalog, *files: list[float | None], rows: int = 0) -> None:
    limit = {"write.parquet.row-group-limit": str(rows)} if rows else {}
    table = catalog.create_table_if_not_exists("d.t", _SCHEMA, properties=limit)
    for number, values in enumerate(files):
        keys = list(range(100 * number, 100 * number + len(values)))
        table.append(pa.table({"k": keys, "d": values, "e": values}, schema=_SCHEMA))


def _count(where: str) -> str:
    return f"SELECT count(*) AS n FROM lake.d.t WHERE {where}"


def _refused(acc: Accelerator, where: str) -> str:
    """The detail of `float_order`; empty if the statement is answered."""
    plan, _ = acc.plan(_count(where))
    if not isinstance(plan, PlainPlan):
        return ""
    (found,) = {one.declined for one in plan.tried if one.declined is not None}
    assert found.code == "float_order"
    return found.detail


def test_a_file_is_read_once_for_a_column(acc, catalog, read) -> None:
    _table(catalog, [1.0, 9.0], [2.0, 30.0])
    assert acc.query(_count("d > 5")).fetchall() == [(2,)]
    assert acc.query(_count("d >= 9.5")).fetchall() == [(1,)]
    assert read == [("d", 2)]
    assert "d has no NaN in 2 files" in str(acc.explain(_count("d > 8")))
    _table(catalog, [7.0])
    assert acc.query(_count("NOT (d <= 5)")).fetchall() == [(3,)]
    assert acc.query(_count("e > 5")).fetchall() == [(3,)]
    assert read == [("d", 2), ("d", 1), ("e", 3)]


@pytest.mark.parametrize(
    "where",
    [
        "d < 5", "d <= 5", "d = 5", "5 >= d", "d IN (1, 5)", "d BETWEEN 1 AND 5",
        "d > 1 AND d < 1e9", "d >= 2 AND (d = 5 OR d < 4)", "d > 1 AND NOT (d > 5 OR d <> 2)",
        "d > 1 AND k = 200", "d IS NOT NULL",
    ],
)  # fmt: skip
def test_nothing_is_read_if_no_nan_passes(acc, catalog, read, where) -> None:
    _table(catalog, [1.0, 2.0, _NAN], [5.0, _NAN])
    assert _refused(acc, where) == ""
    assert read == []


def test_files_without_a_row_that_passes_are_not_read(acc, catalog, read) -> None:
    _table(catalog, [1.0, _NAN], [2.0, 30.0], [7.0])
    assert acc.query(_count("d > 5 AND k BETWEEN 100 AND 150")).fetchall() == [(1,)]
    assert read == [("d", 1)]


def test_bounds_prune_files_that_were_read(acc, catalog) -> None:
    _table(catalog, [1.0, 2.0], [50.0, 60.0], [3.0, _NAN, 70.0])
    for where, rows in (("d > 10", 4), ("d > 55", 3)):
        found = acc.query(f"SELECT count(*) AS n, sum(k) AS s FROM lake.d.t WHERE {where}")
        assert found.fetchall()[0][0] == rows
        assert found.metrics.files_read == 2


def test_a_constant_below_each_bound_hides_no_nan(acc, catalog) -> None:
    _table(catalog, [1.0, 40.0, _NAN], [2.0, 3.0])
    assert acc.query(_count("d > 20")).fetchall() == [(2,)]
    shown = str(acc.explain(_count("d > 20")))
    assert "d has no NaN in 1 file " in shown
    assert "d has NaN in 1 file, which plain Spark reads" in shown
    for where in ("d > 40", "d >= 40", "d > 50 OR k = 1", "d > e AND e = 40", "NOT (d < 1e300)"):
        assert _refused(acc, where) in (
            "The column d has NaN. Constants below 40.0 are answered here.",
            "The column e has NaN. Constants below 40.0 are answered here.",
        ), where
    assert not any("BOUNDS" in (row["ddl"] or "") for row in acc.why_not(_count("d > 40")))


@pytest.mark.parametrize(
    "where",
    [
        "(d <= 5) = false", "(d <= 5) <> true", "false <=> (d < 5)", "(d <= 5) IN (false)",
        "(d <= 5 AND k < 3) = false", "IF(d <= 5, false, true)", "coalesce(d <= 5, false) = false",
        "(CASE WHEN d <= 5 THEN 1 ELSE 2 END) = 2", "d <= 5 IS FALSE", "IF(d < 5, 1, NULL) IS NULL",
    ],
)  # fmt: skip
def test_other_operators_deny_a_test_as_not_does(acc, catalog, where) -> None:
    """Spark 4.1 simplifies each to `d > 5` or `d >= 5`, the last five if d is never NULL."""
    _table(catalog, [1.0, _NAN], [30.0])
    assert "The column d has NaN" in _refused(acc, where)


def test_a_constant_in_its_own_list_excludes_no_nan(acc, catalog) -> None:
    _table(catalog, [1.0, _NAN], [3.0])
    assert "The column d has NaN" in _refused(acc, "d > 2 AND 5D IN (5D, d)")


def test_bounds_of_row_groups_count(acc, catalog) -> None:
    _table(catalog, [1.0, 6.0, _NAN, 100.0, 200.0, 300.0], rows=3)
    assert _refused(acc, "d > 5") == ""
    assert "below 6.0" in _refused(acc, "d > 6")


@pytest.mark.parametrize(
    ("values", "where", "refused"),
    [
        ([-1.0, 0.0, 2.0], "d >= 0", False),
        ([-1.0, 0.0, 2.0], "d = 0", False),
        ([-1.0, 0.0, 2.0], "d >= -0D", True),
        ([-1.0, -0.0, 2.0], "d >= 0", True),
        ([-1.0, -0.0, 2.0], "d = 0D", True),
        ([-1.0, -0.0, 2.0], "d IN (0, 5)", True),
        ([-1.0, -0.0, 2.0], "NOT (d < 0)", True),
        ([-1.0, -0.0, 2.0], "d > 0", False),
    ],
)
def test_the_sign_of_a_zero_decides(acc, catalog, values, where, refused) -> None:
    _table(catalog, values)
    assert _refused(acc, where) == ("The column d beside zero." if refused else "")


def test_a_greatest_value_by_bounds_looks_past_nan(acc, catalog, read) -> None:
    _table(catalog, [1.0, _NAN], [2.0])
    plan, _ = acc.plan("SELECT max(d) AS m FROM lake.d.t")
    assert isinstance(plan, PlainPlan)
    for sql in (
        "SELECT max(d) AS m, sum(k) AS s FROM lake.d.t",
        "SELECT min(d) AS m FROM lake.d.t",
    ):
        assert acc.query(sql).metrics.engine == "duckdb"
    _table(catalog, [_NAN])  # it has no bounds, so that Iceberg answers by none
    assert math.isnan(acc.query("SELECT max(d) AS m FROM lake.d.t").fetchall()[0][0])
    assert read == [("d", 2)]


@pytest.mark.parametrize(
    ("aggregate", "where"),
    [
        ("max(d)", "k <=> k"), ("max(d)", "k > 3 OR true"), ("max(d)", "k IS NOT NULL"),
        ("max(d) FILTER (WHERE true)", "true"), ("max(CASE WHEN true THEN d END)", "true"),
    ],
)  # fmt: skip
def test_what_spark_simplifies_leaves_a_value_by_bounds(acc, catalog, aggregate, where) -> None:
    """Without a test of rows Spark asks Iceberg; `k IS NOT NULL` is none if k never is NULL."""
    _table(catalog, [1.0, _NAN], [2.0])
    plan, _ = acc.plan(f"SELECT {aggregate} AS m FROM lake.d.t WHERE {where}")
    assert isinstance(plan, PlainPlan)
    tested = acc.query("SELECT max(d) AS m FROM lake.d.t WHERE k > -1").fetchall()
    assert math.isnan(tested[0][0])


def test_too_many_rows_are_not_read(acc, catalog, read, monkeypatch) -> None:
    _table(catalog, [1.0, 9.0], [2.0])
    monkeypatch.setattr(float_edges, "ROWS_MAX", 2)
    assert "USING BOUNDS" in _refused(acc, "d > 5")
    monkeypatch.setattr(float_edges, "ROWS_MAX", 3)
    monkeypatch.setattr(float_edges, "FILES_MAX", 1)
    assert "USING BOUNDS" in _refused(acc, "d > 6")
    assert read == []


def test_a_file_that_is_gone_settles_nothing(acc, catalog, tmp_path) -> None:
    _table(catalog, [1.0, 9.0])
    (path,) = tmp_path.rglob("*.parquet")
    path.rename(path.with_suffix(".away"))
    assert "may have NaN" in _refused(acc, "d > 5")
    path.with_suffix(".away").rename(path)
    assert acc.query(_count("d > 6")).fetchall() == [(1,)]
