"""A warehouse in HDFS: Spark answers, and says why; nothing is built or left behind.

Strategy: `hdfs_tables.py` works in a process of its own over Hadoop's mini cluster. Hadoop's
libhdfs isn't there, so nothing is read in process; where it is, the answers must be the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long]
LIVE = True


def _run(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.hdfs_tables", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_tables_in_hdfs_are_answered_by_spark(tmp_path: Path) -> None:
    jars = _run()
    assert len(jars) >= 2, jars
    seen = _run(":".join(jars), str(tmp_path))
    assert seen["differences"] == [] and seen["cubes"] == 0
    assert len(seen["reasons"]) == 4
    for reason in seen["reasons"]:
        assert "metadata_unavailable" in reason and "hdfs://" in reason
    name, hint = seen["cube"]
    assert name == "CatalogError" and "libhdfs" in hint
