"""Staged selections read by executors in processes of their own, not in the driver's JVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = """
import sys
from accelerator.engines.spark import SparkEngine, SparkSettings
from accelerator.iceberg import CatalogSettings, Lake
from rewrite.facts import At

root = sys.argv[1]
settings = SparkSettings(master="local-cluster[2,1,1024]", driver_memory="1g")
engine = SparkEngine.embedded(f"file://{root}/", "lake", f"{root}/catalog.db", settings)
run = lambda text: engine.session.sql(text).collect()
run("CREATE NAMESPACE lake.d")
for version in (2, 3):
    name = f"lake.d.t{version}"
    run(f"CREATE TABLE {name} (k INT) USING iceberg TBLPROPERTIES ("
        f"'format-version'='{version}', 'write.delete.mode'='merge-on-read')")
    for start in (0, 100):
        run(f"INSERT INTO {name} SELECT id FROM range({start}, {start + 100}, 1, 1)")
    run(f"DELETE FROM {name} WHERE k % 10 = 3")
    properties = {"uri": f"sqlite:///{root}/catalog.db"}
    lake = Lake([CatalogSettings("lake", "sql", properties)], "lake", lambda: ("d",))
    pinned = lake.pin().pinned((f"t{version}",), At())
    chosen = [file for file in pinned.live_files() if file.sequence_number == 1]
    with engine.stage(pinned, chosen) as staged:
        found = run(f"SELECT count(*), max(k), count(DISTINCT _file) FROM {staged.sql}")
    assert tuple(found[0]) == (90, 99, 1), found
assert engine.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3
engine.stop()
print("agreed")
"""


def test_executors_read_a_staged_selection(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=300,
        check=False,
    )
    assert ran.stdout.strip().endswith("agreed"), ran.stderr[-3000:]
