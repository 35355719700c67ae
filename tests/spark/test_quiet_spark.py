"""The command by real Spark: few lines, nothing in the working directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import accelerator

pytestmark = pytest.mark.spark

HOUSE = Path(__file__).parents[2]
CONF = {"spark.sql.shuffle.partitions": "2"}


def ran(words, warehouse, cwd):
    environ = {
        **os.environ,
        "PYTHONPATH": str(HOUSE),
        "ACCELERATOR_SPARK_CONF": json.dumps(CONF),
        "ACCELERATOR_SPARK_DRIVER_MEMORY": "1g",
        "ACCELERATOR_SPARK_MASTER": "local[2]",
    }
    return subprocess.run(
        [sys.executable, "-m", "accelerator", *words, "--warehouse", str(warehouse)],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_statements_by_spark_say_little_and_leave_nothing(tmp_path):
    warehouse, work = tmp_path / "warehouse", tmp_path / "work"
    work.mkdir()
    with accelerator.open(warehouse, create=True):
        pass
    script = """
        CREATE NAMESPACE d;
        CREATE TABLE d.t (a INT) USING iceberg;
        CREATE TABLE spark_catalog.default.plain (a INT) USING parquet;
        INSERT INTO d.t SELECT /*+ REPARTITION(3) */ id FROM range(100);
        SELECT sum(b) AS s FROM (SELECT transform(array(a), x -> x + 1)[0] AS b FROM d.t)
    """
    done = ran(["sql", script, "--format", "csv"], warehouse, work)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '"s"\n5050\n'
    one = ran(["sql", "SELECT transform(array(a), x -> x) AS b FROM d.t LIMIT 1"], warehouse, work)
    assert one.returncode == 0 and " · spark · " in one.stderr
    assert len(one.stderr.splitlines()) <= 3
    wrong = ran(["sql", "SELECT raise_error('no') FROM d.t", "--json"], warehouse, work)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert json.loads(wrong.stdout)["error"]["code"] == "spark"
    assert not list(work.iterdir())


@pytest.mark.long
def test_all_that_spark_says_is_shown_where_it_is_wanted(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    done = ran(["sql", "SELECT 1 AS x LIMIT 1", "--create", "-v"], tmp_path / "warehouse", work)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) > 3
    assert not list(work.iterdir())
