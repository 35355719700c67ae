"""How long one waits for the command: its help, and the first answer in its shell.

Each is a process of its own from its start, as it's installed; the shell runs in a pseudo-terminal,
and what is asked of it has been typed before it can read.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path

from tests.support.terminal import Terminal

_HELPS, _SHELLS = 21, 7
_CALM, _CALM_S = 0.3, 90.0
"""The load below which the machine is calm, and how long that is waited for."""
_ASKED = {
    "shell_first_answer_s": (
        "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store;",
        " 16 │",
    ),
    "shell_first_count_s": ("SELECT count(*) AS n FROM shop.sales;", " 3 │"),
}
"""Of a warehouse with the table shop.sales of three rows and the cube of its totals: by that cube,
and by the manifests; and what is drawn of the answer."""


def waited(command: Path, warehouse: Path, root: Path) -> dict[str, float]:
    """Medians, and the machine's load before. The first run of each isn't counted: the disk's."""
    load = _calm()
    words = [str(command), "--help"]
    helps = [_help_ms(words) for _ in range(_HELPS + 1)]
    found = {"load_before": load, "help_ms": statistics.median(helps[1:])}
    for name, (statement, drawn) in _ASKED.items():
        took = [_shell_s(command, warehouse, root, statement, drawn) for _ in range(_SHELLS + 1)]
        found[name] = statistics.median(took[1:])
    return found


def _calm() -> float:
    """Waits until the machine is calm, or gives up; the load of the last minute by then."""
    until = time.monotonic() + _CALM_S
    while (load := os.getloadavg()[0]) >= _CALM and time.monotonic() < until:
        time.sleep(1)
    return load


def _help_ms(words: list[str]) -> float:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    since = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=env)
    return (time.perf_counter() - since) * 1000


def _shell_s(command: Path, warehouse: Path, root: Path, statement: str, drawn: str) -> float:
    since = time.perf_counter()
    words = ["--warehouse", str(warehouse)]
    with Terminal(words, cwd=root, command=[str(command)]) as terminal:
        terminal.type(f"{statement}\r")
        terminal.expect(drawn)
        return time.perf_counter() - since
