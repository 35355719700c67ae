"""How long an error takes that needs no Spark: each typo by a process of its own.

The figures are the slowest typos': the time of the command `accelerator sql` from its start to its
end, the best of some runs. A message that names no closest name, or speaks of what is inside, is a
failure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.support.typos import Typo, typos, warehouse

_HOUSE = Path(__file__).parents[1]
_RUNS = 3
_INSIDE = re.compile(r"java|ivy|jvm|py4j|log4j|tokentype|traceback", re.IGNORECASE)


def measure(root: Path, failed: list[str]) -> dict[str, float]:
    """`typo_s`, the slowest of those for which no session has to be opened, and of the others.

    What is wrong with a message is added to `failed`.
    """
    folder = warehouse(root / "typos")
    every = typos()
    times = {one.name: _time(one, folder, failed) for one in every}
    return {
        "typo_s": max(times[one.name] for one in every if not one.opens),
        "typo_in_session_s": max(times[one.name] for one in every if one.opens),
        "typos": len(every),
    }


def _time(typo: Typo, folder: Path, failed: list[str]) -> float:
    command = [sys.executable, "-m", "accelerator", "sql", "--warehouse", str(folder), typo.sql]
    search = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(_HOUSE)]))
    best = float("inf")
    for _ in range(_RUNS):
        since = time.perf_counter()
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": search},
        )
        best = min(best, time.perf_counter() - since)
    said = ran.stderr
    wrong = [f"exit code {ran.returncode}"] if ran.returncode != 1 else []
    wrong += [f"it lacks {one!r}" for one in (typo.kind, typo.closest, "^") if one not in said]
    wrong += [f"it says {one!r}" for one in _INSIDE.findall(said)]
    failed += [f"{typo.name}: {'; '.join(wrong)}\n{said}"] if wrong else []
    return best
