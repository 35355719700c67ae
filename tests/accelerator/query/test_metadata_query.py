"""Queries of the table of files without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.errors import UnknownTableError
from accelerator.query.virtual_tables.spark_views import named_stats
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.support.pristine import Pristine

FILES = "d.`t$logical_iceberg_metadata`"


def test_statistics_that_a_text_names() -> None:
    leaves = ["a1", "b", "w`x"]
    named = {
        "column_stats.A1.lower_bound": ["a1"],
        "column_stats.a1b": leaves,
        "`column_stats`.`w``x`": ["w`x"],
        "column_stats . a1": ["a1"],
        "column_stats": leaves,
        "column_stats.a1 column_stats": leaves,
        "column_stats.*": leaves,
        "column_stats['a1']": leaves,
    }
    for text, wanted in named.items():
        assert named_stats(text.lower().replace("``", "`"), leaves) == wanted, text
    assert named_stats("column_stats.b", ["a", "é", "b"]) == ["é", "b"]


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"a": [3, None, 9], "day": [date(2026, 1, 2), None, date(2026, 3, 4)]})
    table = catalog.create_table("d.t", rows.schema)
    for _ in range(2):
        table.append(rows)
    catalog.create_table("d.empty", rows.schema)


@pytest.fixture
def root(pristine: Pristine) -> Path:
    return pristine.lake(_fill)


@pytest.fixture
def acc(root: Path) -> Iterator[Accelerator]:
    with accelerator.open(root) as session:
        yield session
        assert not session.spark_started


def test_no_jvm_starts(acc: Accelerator) -> None:
    found = acc.query(
        "SELECT count(*) AS n, sum(record_count) AS r, max(column_stats.a.upper_bound) AS a,"
        " min(column_stats.a.lower_bound) AS l, sum(column_stats.a.value_count) AS v,"
        f" sum(m.column_stats.a.null_value_count) AS z FROM {FILES} m WHERE m.content = 0"
    )
    assert found.arrow().to_pylist() == [{"n": 2, "r": 6, "a": 9, "l": 3, "v": 6, "z": 2}]
    metrics = found.metrics
    assert (metrics.engine, metrics.rewritten, metrics.fallback) == ("duckdb", True, None)
    assert "column_stats.a.upper_bound" in found.explain()
    assert "column_stats.day" not in found.explain()


def test_states_and_no_files(acc: Accelerator) -> None:
    first = acc.services.lake.pin().pinned(("d", "t")).metadata.snapshots[0].snapshot_id
    for state, rows in (("", 2), (f" VERSION AS OF {first}", 1), (".branch_main", 2)):
        [row] = acc.query(f"SELECT count(*) AS n FROM {FILES}{state}").arrow().to_pylist()
        assert row == {"n": rows}
    rows = acc.query(f"SELECT record_count AS n FROM {FILES} ORDER BY n LIMIT 3 OFFSET 1").arrow()
    assert rows.to_pylist() == [{"n": 3}]
    empty = acc.query("SELECT file_path, sort_id FROM d.`empty$logical_iceberg_metadata`").arrow()
    assert (
        differ(
            empty,
            pa.table([[], []], pa.schema([("file_path", pa.string()), ("sort_id", pa.int32())])),
        )
        == []
    )


def test_errors_without_spark(acc: Accelerator) -> None:
    for table in ("d.`none$logical_iceberg_metadata`", f"{FILES} VERSION AS OF 'no_branch'"):
        with pytest.raises(UnknownTableError):
            acc.query(f"SELECT count(*) FROM {table}")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT /*+ PLAIN */ count(*) FROM {}", "disabled"),
        ("SELECT count(*) FROM {} m JOIN {} n ON m.content = n.content", "metadata_one_table"),
        ("SELECT count(*) FROM {} AS m(a)", "block_unsupported"),
        (
            "SELECT max(`column_stats.a.upper_bound`), max(column_stats.a.upper_bound) FROM {}",
            "expression_unsupported",
        ),
        ("SELECT d.`t$logical_iceberg_metadata`.content FROM {}", "column_unknown"),
        (
            "SELECT column_stats.a.upper_bound FROM {} ORDER BY upper_bound",
            "column_unknown",
        ),
        ("SELECT column_stats.b.upper_bound FROM {}", "expression_unsupported"),
        ("SELECT record_count FROM {} AS column_stats", "name_ambiguous"),
        ("SELECT count(*) FROM {} OFFSET 1", "block_unsupported"),
        ("SELECT m.content FROM {}", "column_unknown"),
        ("SELECT d.m.content FROM {} m", "column_unknown"),
        ("SELECT split_offsets FROM {}", "expression_not_proven"),
        ("SELECT count(*) FROM {} TABLESAMPLE (10 ROWS)", "block_unsupported"),
    ],
)
def test_left_to_spark(acc: Accelerator, sql: str, code: str) -> None:
    plan, _ = acc.plan(sql.replace("{}", FILES))
    assert getattr(plan, "declined", None) is not None, plan
    assert plan.declined.code == code


def test_settings_leave_it_to_spark(root: Path, acc: Accelerator) -> None:
    del acc
    conf = {"spark.sql.ansi.enabled": "false"}
    for more, code in (
        ({"engine": "spark"}, "engine_unavailable"),
        ({"spark_conf": conf}, "settings_unsupported"),
    ):
        with accelerator.open(root, **more) as other:
            plan, _ = other.plan(f"SELECT count(*) FROM {FILES}")
            assert plan.declined.code == code
