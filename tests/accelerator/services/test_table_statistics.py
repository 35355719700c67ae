"""Figures of a table from its metadata: sketches by ancestry, SHOW STATISTICS, merged cells."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.statistics import StatisticsFile

import accelerator
from accelerator.builds.segments.size_estimate import merged_cells
from accelerator.errors import StatementError, UnknownTableError
from accelerator.iceberg import Sketched
from rewrite.facts import At
from rewrite.ir.expr import Call, Column

THETA = "apache-datasketches-theta-v1"
PARTS = ("lake", "d", "t")
COLUMNS = {
    "a": pa.array([3, None, 9], pa.int64()),
    "s": pa.array(["x", "y" * 40, None], pa.string()),
    "f": pa.array([1.5, float("nan"), 2.0], pa.float64()),
    "p": pa.array([Decimal("-1.50"), Decimal("2.25"), None], pa.decimal128(9, 2)),
    "day": pa.array([date(2026, 1, 2), date(2026, 3, 4), None]),
    "l": pa.array([[1], [], None], pa.list_(pa.int32())),
}


@pytest.fixture
def table(tmp_path):
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    return catalog.create_table("d.t", pa.table(COLUMNS).schema)


@pytest.fixture
def acc(table, tmp_path):
    with accelerator.open(tmp_path) as session:
        yield session
        assert not session.spark_started


def rows(acc):
    return {row["column"]: row for row in acc.query("SHOW STATISTICS ON d.t").arrow().to_pylist()}


def blob(snapshot, fields, ndv, kind=THETA):
    properties = {} if ndv is None else {"ndv": ndv}
    return {
        "type": kind,
        "snapshot-id": snapshot,
        "sequence-number": 1,
        "fields": fields,
        "properties": properties,
    }


def sketch(table, snapshot, *blobs):
    """Says in the table's metadata that there is a file of sketches, which nobody needs to open."""
    file = StatisticsFile.model_validate(
        {
            "snapshot-id": snapshot,
            "statistics-path": "file:///nowhere/stats.puffin",
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": blobs,
        }
    )
    with table.update_statistics() as update:
        update.set_statistics(file)


def append(table, columns=COLUMNS):
    table.append(pa.table(columns))
    return table.current_snapshot().snapshot_id


def test_columns_and_table_in_figures(acc, table):
    append(table)
    found = rows(acc)
    assert list(found) == list(COLUMNS)
    a = found["a"]
    assert (a["type"], a["nulls"], a["nulls_exact"]) == ("bigint", 1, True)
    assert (a["min"], a["min_exact"], a["max"], a["max_exact"]) == ("3", True, "9", True)
    assert (a["rows"], a["rows_exact"], a["files"]) == (3, True, 1) and a["bytes"] > 0
    assert (a["distinct_values"], a["distinct_snapshot_id"], a["distinct_current"]) == (None,) * 3
    text = found["s"]  # bounds of texts are cut
    assert (text["min"], text["min_exact"], text["max_exact"]) == ("x", False, False)
    assert text["max"] > "y" * 16 and text["nulls"] == 1
    for name in ("min", "max", "min_exact", "max_exact"):
        assert found["f"][name] is None  # a NaN is in no bound
        assert found["l"][name] is None
    assert found["l"]["nulls"] is None and found["l"]["type"] == "array<int>"
    assert (found["p"]["min"], found["p"]["max"], found["p"]["max_exact"]) == (
        "-1.50",
        "2.25",
        True,
    )
    assert (found["day"]["min"], found["day"]["max"]) == ("2026-01-02", "2026-03-04")


def test_files_without_values_and_tables_without_files(acc, table):
    found = rows(acc)
    assert (found["a"]["rows"], found["a"]["rows_exact"], found["a"]["files"]) == (0, True, 0)
    assert (found["a"]["nulls"], found["a"]["min"], found["a"]["min_exact"]) == (0, None, None)
    append(table)
    append(table, COLUMNS | {"a": pa.array([None, None, None], pa.int64())})
    found = rows(acc)
    assert (found["a"]["nulls"], found["a"]["min"], found["a"]["max"]) == (4, "3", "9")
    append(table, COLUMNS | {"a": pa.array([1, 10, 2], pa.int64())})
    found = rows(acc)
    assert (found["a"]["min"], found["a"]["min_exact"], found["a"]["rows"]) == ("1", True, 9)


def test_a_column_that_files_do_not_have_is_not_guessed(acc, table):
    append(table)
    with table.update_schema() as update:
        from pyiceberg.types import IntegerType

        update.add_column("late", IntegerType())
    late = rows(acc)["late"]
    assert (late["nulls"], late["nulls_exact"], late["min"], late["rows"]) == (None, None, None, 3)


def test_a_sketch_is_of_the_snapshot_or_of_its_nearest_ancestor(acc, table):
    first = append(table)
    sketch(table, first, blob(first, [1], "7"), blob(first, [2], "5"))
    found = rows(acc)
    assert (found["a"]["distinct_values"], found["a"]["distinct_current"]) == (7, True)
    second = append(table)
    third = append(table)
    sketch(table, second, blob(second, [1], "8"))
    found = rows(acc)
    a, s = found["a"], found["s"]
    assert (a["distinct_values"], a["distinct_snapshot_id"], a["distinct_current"]) == (
        8,
        second,
        False,
    )
    assert (s["distinct_values"], s["distinct_snapshot_id"]) == (5, first)
    pin = acc.services.lake.pin()
    early = pin.pinned(PARTS, At(snapshot_id=first)).sketched()
    assert early[1] == Sketched(7, first, True)  # a later one says nothing of it
    table.maintenance.expire_snapshots().by_id(second).commit()
    assert acc.services.lake.pin().pinned(PARTS, At(snapshot_id=third)).sketched().get(1) is None


@pytest.mark.parametrize(
    ("fields", "ndv"),
    [([1], None), ([1], "-3"), ([1], "many"), ([1], "٣"), ([1, 2], "6"), ([], "6")],
)
def test_what_is_no_figure_of_one_column_is_left_out(acc, table, fields, ndv):
    snapshot = append(table)
    sketch(table, snapshot, blob(snapshot, fields, ndv), blob(snapshot, [2], "4"))
    found = rows(acc)
    assert found["a"]["distinct_values"] is None and found["s"]["distinct_values"] == 4


def test_other_blobs_and_tables_that_are_not_there(acc, table):
    snapshot = append(table)
    sketch(table, snapshot, blob(snapshot, [1], "6", "deletion-vector-v1"))
    assert rows(acc)["a"]["distinct_values"] is None
    with pytest.raises(UnknownTableError):
        acc.query("SHOW STATISTICS ON d.nothing")
    with pytest.raises(StatementError):
        acc.query("SHOW STATISTICS")


def cube(*exprs):
    return SimpleNamespace(dimensions=[SimpleNamespace(expr=expr) for expr in exprs])


def test_merged_cells_are_a_product_over_columns():
    a, b = Column(0, 1, "a", "int"), Column(1, 1, "b", "int")
    told = [{1: Sketched(4, 70, True)}, {1: Sketched(9, 60, False)}]
    assert merged_cells(cube(), told).cells_max == 1
    found = merged_cells(cube(a, Call("+", (a, b), "int"), b), told)
    assert (found.cells_max, found.basis) == (5 * 10, "a 4, b 9 (as of snapshot 60)")
    missing = merged_cells(cube(a, b), [told[0], {}])
    assert (missing.cells_max, missing.basis) == (None, "no sketch of b")
