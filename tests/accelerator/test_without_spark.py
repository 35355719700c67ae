"""An environment without the extras: what needs none of them is answered and built."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.errors import SparkMissingError
from tests.support.pristine import Pristine

pytestmark = pytest.mark.served

_PROGRAM = """
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas", "rjieba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import accelerator
found = []
with accelerator.open(sys.argv[1]) as acc:
    for sql in json.loads(sys.argv[2]):
        try:
            answer = acc.query(sql)
            found.append([answer.metrics.engine, answer.arrow().num_rows])
        except accelerator.AcceleratorError as error:
            found.append([error.message, error.hint])
print(json.dumps(found))
"""


def _fill(catalog: SqlCatalog) -> None:
    rows = pa.table({"a": pa.array([1, 2, 2], pa.int32()), "b": ["x", "y z", None]})
    catalog.create_namespace("d")
    catalog.create_table("d.t", rows.schema).append(rows)


def test_what_needs_no_spark(tmp_path: Path) -> None:
    grouped = "SELECT a, count(*) AS n FROM d.t GROUP BY a"
    statements = [
        grouped,
        f"CREATE CUBE c AS {grouped}",
        grouped,
        "CREATE INDEX i ON d.t USING BLOOM (a)",
        "CREATE INDEX k ON d.t USING TOKEN_BITMAP (b)",
        "SELECT * FROM d.t WHERE has_token(b, 'y')",
        "SELECT count(DISTINCT a) AS n FROM d.t",
        "SELECT * FROM d.t ORDER BY a LIMIT 1",
        "SHOW CUBES",
        "SHOW TABLES IN d",
        "CREATE TABLE d.more (a INT) USING iceberg",
        "SELECT foo(a) FROM d.t",
        "SELECT * FROM d.t WHERE has_token(b, '中国')",
    ]
    folder = Pristine(tmp_path).lake(_fill)
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), json.dumps(statements)],
        capture_output=True,
        text=True,
        check=True,
    )
    *answered, refused, mistyped, chinese = json.loads(ran.stdout.splitlines()[-1])
    assert [engine for engine, _ in answered] == [
        *("duckdb", "none", "duckdb", "none", "none", "duckdb", "duckdb", "duckdb", "none"),
        "none",
    ]
    assert [rows for _, rows in answered] == [2, 1, 2, 1, 1, 1, 1, 1, 1, 1]
    assert refused[0].startswith("the statement needs Spark: PySpark isn't installed")
    assert "lakehouse-accelerator[spark]" in refused[1]
    assert mistyped[0] == "there is no function foo"
    assert "lakehouse-accelerator[text]" in chinese[0]


def test_a_cube_that_spark_reads_is_named_with_its_reason(
    pristine: Pristine, no_java: None
) -> None:
    """The error has the plan's reason, and no failure is counted."""
    with accelerator.open(pristine.lake(_fill)) as acc:
        acc.query("CREATE CUBE c AS SELECT b, count(*) AS n FROM d.t GROUP BY b")
        failed = dict(acc.services.failures.counts)
        for _ in range(2):
            with pytest.raises(SparkMissingError) as raised:
                acc.query("SELECT b ILIKE 'x' AS u, count(*) AS n FROM d.t GROUP BY b ILIKE 'x'")
            assert "engine_failed" not in str(raised.value)
            assert "expression_not_proven" in (raised.value.hint or "")
        assert acc.services.failures.counts == failed


def test_a_spoiled_file_is_named_where_spark_is_missing(pristine: Pristine, no_java: None) -> None:
    folder = pristine.lake(_fill)
    (file,) = folder.rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9])
    with accelerator.open(folder) as acc:
        for _ in range(2):
            with pytest.raises(SparkMissingError) as raised:
                acc.query("SELECT a, b FROM d.t WHERE a > 0 ORDER BY a LIMIT 2")
            assert "rows_need_spark" in (raised.value.hint or ""), raised.value.hint
            assert file.name in (raised.value.hint or "")
