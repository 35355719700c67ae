"""Ctrl-C in a process of its own: what runs stops at once, and the session can be used on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.spark.processes import agreed

pytestmark = pytest.mark.spark

SCRIPT = """
import os, signal, sys, threading, time
import accelerator
import accelerator.query.execution.executor
from accelerator.errors import CancelledError

conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
acc = accelerator.open(sys.argv[1], create=True, build_files_per_job=1, spark_master="local[2]",
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
real, accelerator.query.execution.executor.run_duckdb = (
    accelerator.query.execution.executor.run_duckdb,
    lambda plan, engine, tag, *_: engine.run(slow, tag=tag),
)
interrupted("DuckDB", lambda: acc.query("SELECT g, count(*) AS n FROM d.t GROUP BY g"), 2)
accelerator.query.execution.executor.run_duckdb = real
answer = acc.query("SELECT g, count(*) AS n FROM d.t GROUP BY g")
assert answer.metrics.engine == "duckdb" and answer.arrow().num_rows == 5
acc.close()
print("agreed")
"""


@pytest.mark.long
def test_ctrl_c_stops_builds_and_queries(tmp_path: Path) -> None:
    agreed(SCRIPT, tmp_path)


VACUUM = """
import os, signal, sys, threading
import accelerator
from accelerator.engines.spark.procedures import Procedures
from accelerator.errors import CancelledError

conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
acc = accelerator.open(sys.argv[1], create=True, spark_master="local[2]", spark_driver_memory="1g",
                       vacuum_retain_hours=0, spark_conf=conf)
press = lambda: os.kill(os.getpid(), signal.SIGINT)

def stopped(error, work):
    try:
        work()
    except error:
        return
    sys.exit("it wasn't stopped")

def at(name, act):
    '''From now on that is done when a procedure begins; the tag is what it stops by.'''
    plain = getattr(Procedures, name)
    def begin(self, *args, **more):
        setattr(Procedures, name, plain)
        act()
        while not any(acc.services.duckdb._begun.values()):
            threading.Event().wait(0.01)
        return plain(self, *args, **more)
    setattr(Procedures, name, begin)

def snapshots():
    return len(acc.services.lake.pin(fresh=True).pinned(("lake", "d", "t")).metadata.snapshots)

vacuum = lambda **more: acc.vacuum("d.t", snapshots=True, retain_hours=0, **more)
assert not acc.spark_started
source = acc.services.spark_source
start = source.engine
def starting():
    source.engine = start
    press()
    return start()
source.engine = starting  # the handler of the statement is there, and PySpark's will be
stopped(KeyboardInterrupt, vacuum)
for name in ("expirable", "expire"):
    for act, error in ((press, KeyboardInterrupt), (acc.cancel, CancelledError)):
        at(name, act)
        stopped(error, lambda: acc.query("VACUUM d.t SNAPSHOTS RETAIN 0 HOURS"))
        assert snapshots() == 3, name
at("remove_orphans", acc.cancel)
stopped(CancelledError, lambda: vacuum(full=True))
assert snapshots() == 1
assert not acc.services.cancellation._tags and not acc.services.duckdb._begun
assert vacuum(full=True).files("deleted") == 0
assert acc.services.store.damages() == ()
rows = acc.query("SELECT a FROM d.t").arrow()
assert rows.num_rows == 3, rows
acc.close()
print("agreed")
"""


def _three_snapshots(folder: Path) -> None:
    properties = {"uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": f"file://{folder}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", pa.schema([("a", pa.int64())]))
    for number in range(3):
        table.append(pa.table({"a": [number]}))


@pytest.mark.long
def test_vacuums_of_the_lake_stop_between_procedures(tmp_path: Path) -> None:
    _three_snapshots(tmp_path)
    agreed(VACUUM, tmp_path)


def test_ctrl_c_ends_the_command_without_a_traceback(tmp_path: Path) -> None:
    """Pressed once Spark says its first word, which is in the middle of the vacuum."""
    _three_snapshots(tmp_path)
    words = [
        "vacuum",
        "d.t",
        "--snapshots",
        "--retain-hours",
        "0",
        "-v",
        "--warehouse",
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "accelerator.cli.main", *words]
    where = Path(__file__).parents[2]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=where) as running:
        assert running.stderr is not None
        said = running.stderr.readline()
        running.send_signal(signal.SIGINT)
        said += running.stderr.read()
    assert running.returncode == 130, said
    # Its JVM may have the last word, which ends once its standard input does.
    assert "cancelled" in said.splitlines() and "Traceback" not in said, said
