"""How long a new process takes from `import accelerator` to its first row, without any JVM.

That no JVM takes part is made certain: the process can't find a Java, and it checks that PySpark's
gateway was never started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.ssb.cubes import CUBES
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


_BUILD = """
import sys, time
import accelerator
with accelerator.open(sys.argv[1], store=sys.argv[2]) as acc:
    start = time.perf_counter()
    acc.query(sys.argv[3])
    result = acc.query(sys.argv[4])
    rows = result.fetchall()
    seconds = time.perf_counter() - start
    spark = sys.modules.get("pyspark")
    assert spark is None or spark.SparkContext._gateway is None, "a JVM was started"
    assert result.metrics.cubes, "no cube answered"
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


def small_build(warehouse: Path, processes: int = 5) -> list[float]:
    """Seconds from CREATE CUBE to the first answer, in new processes and each in a new store."""
    (cube,) = (one for one in CUBES if one.name == "ssb_discounts")
    sql = f"SELECT {cube.dimensions[0]}, {cube.measure} FROM {NAMESPACE}.lineorder"
    sql += f" JOIN {NAMESPACE}.dates ON lo_orderdate = d_datekey GROUP BY {cube.dimensions[0]}"
    found = []
    for _ in range(processes):
        with tempfile.TemporaryDirectory() as store:
            found.append(_seconds(_BUILD, str(warehouse), store, cube.create(), sql))
    return found


def _one(warehouse: Path, sql: str, source: str) -> float:
    return _seconds(_PROGRAM, str(warehouse), sql, source)


def _seconds(program: str, *arguments: str) -> float:
    environment = {**os.environ, "JAVA_HOME": "/nonexistent", "SPARK_HOME": ""}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a new process could not answer: {done.stderr.strip()[-2000:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS"))
    return float(line.split()[1])
