"""Cubes on S3 by Spark: executors write and read segments by Iceberg's FileIO.

Strategy: `cubes_on_s3.py` works in a process of its own, beside an S3 server in another, and
reports what it saw; this compares that with what must hold.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.s3_server import s3_server

pytestmark = [pytest.mark.spark, pytest.mark.long]
LIVE = True


def test_spark_builds_and_reads_cubes_on_s3(tmp_path: Path) -> None:
    with s3_server() as server:
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.cubes_on_s3", server.endpoint, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3_000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    by_spark = re.compile(r"\d{5}-.+\.parquet")
    assert seen["built_by_spark"] and all(map(by_spark.fullmatch, seen["built_by_spark"]))
    assert "merged.parquet" in seen["merged_and_built"]
    assert len(seen["merged_and_built"]) > len(seen["built_by_spark"])
    for name, engine in (
        ("in_process", "duckdb"),
        ("after_a_merge", "duckdb"),
        ("by_spark", "spark"),
    ):
        assert seen[name] == [engine, ["c"], None, []], name
    assert seen["dataframe"] == seen["published"] == []
    assert seen["vacuumed"][0] == seen["vacuumed"][1]
    assert seen["fallbacks"] == {}
