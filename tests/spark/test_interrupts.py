"""Ctrl-C in a process of its own: what runs stops at once, and the session can be used on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.processes import agreed

pytestmark = pytest.mark.spark

SCRIPT = """
import os, signal, sys, threading, time
import accelerator
import accelerator.session
from accelerator.errors import CancelledError

conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
acc = accelerator.open(sys.argv[1], build_files_per_job=1, spark_master="local[2]",
                       spark_driver_memory="1g", spark_conf=conf)
run = lambda text: acc.spark.sql(text).collect()
run("CREATE NAMESPACE d")
run("CREATE TABLE d.t (g STRING, v INT) USING iceberg")
for _ in range(2):
    run("INSERT INTO d.t SELECT /*+ COALESCE(1) */ concat('g', id % 5), id FROM range(100)")
acc.query("CREATE CUBE c DEFERRED AS SELECT g, count(DISTINCT v) AS n FROM d.t GROUP BY g")

def press(after_s):
    def press_now():
        time.sleep(after_s)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press_now, daemon=True).start()

def interrupted(what, work, after_s):
    press(after_s)
    began = time.monotonic()
    try:
        work()
    except KeyboardInterrupt:
        took = time.monotonic() - began
    else:
        sys.exit(f"{what} ended before it was interrupted")
    assert took < after_s + 10, (what, took)
    end = time.monotonic() + 10
    while acc.spark.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < end, f"jobs of {what} still run"
        time.sleep(0.1)

forever = "SELECT count(*) AS n FROM range(9000000) a, range(9000000) b WHERE a.id * b.id % 7 = 3"
interrupted("a build", lambda: acc.query("BUILD CUBE c"), 0.8)
assert acc.query("BUILD CUBE c").arrow().num_rows == 1
assert acc.verify("SELECT g, count(DISTINCT v) AS n FROM d.t GROUP BY g").equal
interrupted("Spark", lambda: acc.query(forever), 3)
slow = "SELECT count(*) AS n FROM range(900000000) a, range(9000000) b WHERE a.range * b.range = 3"
def cancelled(what, work):
    threading.Timer(2, acc.cancel).start()
    try:
        work()
    except CancelledError:
        return
    sys.exit(f"{what} wasn't cancelled")

cancelled("Spark", lambda: acc.query(forever))
real, accelerator.session.run_duckdb = (
    accelerator.session.run_duckdb,
    lambda plan, engine, *rest: engine.run(slow, tag=rest[-1]),
)
interrupted("DuckDB", lambda: acc.query("SELECT g, count(*) AS n FROM d.t GROUP BY g"), 2)
accelerator.session.run_duckdb = real
answer = acc.query("SELECT g, count(*) AS n FROM d.t GROUP BY g")
assert answer.metrics.engine == "duckdb" and answer.arrow().num_rows == 5
acc.close()
print("agreed")
"""


def test_ctrl_c_stops_builds_and_queries(tmp_path: Path) -> None:
    agreed(SCRIPT, tmp_path)
