"""The first plan over a large table: its manifests decoded in the driver, or by a Spark job.

Each way runs in a process of its own, over a local cluster of two workers that runs already, with
an empty folder to keep manifests in: `python -m bench.remote FOLDER always|never` prints JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import accelerator
from bench.big_table import ROWS, SPAN
from bench.report import Report

_MASTER = "local-cluster[2,1,1024]"
_SPARK_CONF = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
_FIRST = "SELECT count(*), max(c1) FROM b.t WHERE c0 >= {} AND c0 < {}"


def measure(folder: Path, report: Report) -> None:
    """Both ways, the job's first."""
    there, here = _apart(folder, "always"), _apart(folder, "never")
    report.figures["remote_over_local"] = there["first_s"] / here["first_s"]
    report.figures["remote_driver_peak_mb"] = there["peak_mb"]
    report.figures["local_driver_peak_mb"] = here["peak_mb"]
    report.details["remote"], report.details["local"] = there, here


def _apart(folder: Path, way: str) -> dict[str, Any]:
    home = Path(__file__).parents[1]
    path = os.pathsep.join(p for p in (str(home), os.environ.get("PYTHONPATH", "")) if p)
    ran = subprocess.run(
        [sys.executable, "-m", "bench.remote", str(folder), way],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=home,
        env={**os.environ, "PYTHONPATH": path},
    )
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _ask(folder: str, way: str, kept: str) -> dict[str, Any]:
    acc = accelerator.open(
        folder,
        spark_master=_MASTER,
        spark_conf=_SPARK_CONF,
        spark_driver_memory="2g",
        manifest_jobs=way,
        manifest_cache_folder=kept,
    )
    with acc:
        context = acc.spark.sparkContext
        context.parallelize(range(4), 4).map(lambda _: time.sleep(1)).collect()
        before = _peak_mb()
        began, spent = time.perf_counter(), time.process_time()
        result = acc.query(_FIRST.format(100 * SPAN, 110 * SPAN))
        seconds, processor = time.perf_counter() - began, time.process_time() - spent
        if result.fetchall()[0][0] != 10 * ROWS or acc.fallbacks:
            raise SystemExit(f"not ten files: {result.metrics} {acc.fallbacks}")
        return {
            "first_s": seconds,
            "driver_processor_s": processor,
            "by_spark": result.metrics.manifests_by_spark,
            "here": result.metrics.manifests_here,
            "peak_before_mb": before,
            "peak_mb": _peak_mb(),
        }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as kept:
        print(json.dumps(_ask(sys.argv[1], sys.argv[2], kept)))
