"""`import accelerator` is light: no pyspark, no JVM, no thread, no child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[2]
PROBE = """
import sys, threading
import accelerator, cubes, indexes, rewrite
heavy = sorted({"pyspark", "py4j"} & {name.partition(".")[0] for name in sys.modules})
assert not heavy, f"imported: {heavy}"
assert threading.active_count() == 1, threading.enumerate()
from pathlib import Path
children = Path("/proc/self/task").glob("*/children")
assert not any(path.read_text().strip() for path in children)
"""


def test_importing_starts_nothing_and_leaves_spark_alone():
    run = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=HOME, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
