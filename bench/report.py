"""What a bench leaves behind: a JSON file of flat figures, details, and where they were measured.

The file is written anew at every `save`, whole or not at all, so that a bench can be looked at
while it runs and what it had measured stays when it is stopped.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PACKAGES = ("duckdb", "numpy", "pyarrow", "pyiceberg", "pyspark", "sqlglot")


def now() -> str:
    """The time of day, with its zone."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


@dataclass(slots=True)
class Report:
    """The figures of one bench run. `details` may hold anything that JSON can."""

    bench: str
    path: Path
    settings: dict[str, Any]
    figures: dict[str, float | int] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    complete: bool = False
    started: str = field(default_factory=now)

    def save(self) -> None:
        """Writes the file as it stands."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "bench": self.bench,
            "settings": self.settings,
            "complete": self.complete,
            "started": self.started,
            "figures": {name: _rounded(value) for name, value in self.figures.items()},
            "machine": machine(),
            "versions": versions(),
            "commit": commit(),
            "details": self.details,
        }
        half = self.path.with_suffix(".part")
        half.write_text(json.dumps(content, indent=1, default=str) + "\n")
        half.replace(self.path)


def machine() -> dict[str, Any]:
    """What the figures depend on: cores, memory, processor."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Of Python and the packages whose speed shows in the figures."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit measured, with `+` where files had changed since; None outside of git."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def _git(*arguments: str) -> str:
    root = Path(__file__).parent
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _rounded(value: float) -> float | int:
    """Five significant digits: more are noise."""
    return value if isinstance(value, int) else float(f"{value:.5g}")
