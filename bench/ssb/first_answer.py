"""How long a new process takes from `import accelerator` to its first row, without any JVM.

That no JVM takes part is made certain: the process can't find a Java, and it checks that PySpark's
gateway was never started.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.ssb.queries import NAMESPACE, QUERIES

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
assert result.metrics.engine == "duckdb", "it wasn't answered in process"
assert bool(result.metrics.cubes) == (sys.argv[3] == "cube"), "another source answered"
print("SECONDS", seconds)
"""


def open_to_first_answer(warehouse: Path, seed: int, processes: int = 5) -> list[float]:
    """Seconds of each of several new processes, each with another query and other literals."""
    queries = (QUERIES[3 * n % 13].sql(n + 1, seed) for n in range(processes))
    return [_one(warehouse, sql, "cube") for sql in queries]


def open_to_first_uncovered_answer(warehouse: Path, processes: int = 5) -> list[float]:
    """The same of a statement that no cube answers, over all rows of lineorder."""
    return [_one(warehouse, _UNCOVERED[n % len(_UNCOVERED)], "rows") for n in range(processes)]


_UNCOVERED = tuple(
    f"SELECT {key}, count(*) AS n, sum({value}) AS total FROM {NAMESPACE}.lineorder"
    f" WHERE lo_quantity < {most} GROUP BY {key}"
    for key, value, most in (
        ("lo_shipmode", "lo_extendedprice", 25),
        ("lo_orderpriority", "lo_supplycost", 40),
        ("lo_tax", "lo_revenue", 10),
    )
)


def _one(warehouse: Path, sql: str, source: str) -> float:
    environment = {**os.environ, "JAVA_HOME": "/nonexistent", "SPARK_HOME": ""}
    command = [sys.executable, "-c", _PROGRAM, str(warehouse), sql, source]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a new process could not answer: {done.stderr.strip()[-2000:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS"))
    return float(line.split()[1])
