"""How long a new process takes from `import accelerator` to its first row, without any JVM.

That no JVM takes part is made certain: the process can't find a Java, and it checks that PySpark's
gateway was never started.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.ssb.queries import QUERIES

_PROGRAM = """
import sys, time
start = time.perf_counter()
import accelerator
acc = accelerator.open(sys.argv[1])
result = acc.query(sys.argv[2])
rows = result.fetchall()
seconds = time.perf_counter() - start
spark = sys.modules.get("pyspark")
assert spark is None or spark.SparkContext._gateway is None, "a JVM was started"
assert result.metrics.cubes, "no cube answered"
print("SECONDS", seconds)
"""


def open_to_first_answer(warehouse: Path, seed: int, processes: int = 5) -> list[float]:
    """Seconds of each of several new processes, each with another query and other literals."""
    return [_one(warehouse, QUERIES[3 * n % 13].sql(n + 1, seed)) for n in range(processes)]


def _one(warehouse: Path, sql: str) -> float:
    environment = {**os.environ, "JAVA_HOME": "/nonexistent", "SPARK_HOME": ""}
    command = [sys.executable, "-c", _PROGRAM, str(warehouse), sql]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a new process could not answer: {done.stderr.strip()[-2000:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS"))
    return float(line.split()[1])
