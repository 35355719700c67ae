"""How long the tests take from a fresh clone, what they ask, and whether they find faults.

Clones the commit that is checked out into an empty folder with empty caches, then runs what a
newcomer and CI run: `make test` (cold), `make test` again (warm), `make check`, and `.ci/run` in a
clone of its own. `--mutants` plants each fault of `tests/mutants/` instead.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.counting import counted

HERE = Path(__file__).parents[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--mutants", action="store_true", help="plant faults, and nothing else")
    parser.add_argument("--no-ci", action="store_true", help="leave .ci/run out")


def run(options: argparse.Namespace) -> int:
    """Measures; 1 where tests fail or a fault isn't found."""
    figures = _mutants() if options.mutants else _suite(ci=not options.no_ci)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n")
    return 1 if figures.get("failed") or figures.get("mutants_lost") else 0


def _suite(*, ci: bool) -> dict[str, Any]:
    figures: dict[str, Any] = {"commit": _git("rev-parse", "HEAD"), "cores": os.cpu_count()}
    figures |= lines(HERE / "tests")
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="suite-") as place:
        root = Path(place)
        clone = _clone(root / "clone")
        told = {"TESTS_COUNTED": str(root / "counted")}
        for name, command in (
            ("test_cold_s", ["make", "test"]),
            ("test_warm_s", ["make", "test"]),
            ("check_s", ["make", "check"]),
        ):
            figures[name], status = _timed(command, clone, told if name == "test_cold_s" else {})
            failed += [name] if status else []
        figures["statements"] = counted(root / "counted")
        if ci:
            seconds, status = _timed(["bash", ".ci/run"], _clone(root / "ci"), {"CI": "true"})
            figures["ci_minutes"] = round(seconds / 60, 1)
            failed += ["ci"] if status else []
    return figures | {"failed": failed}


def _mutants() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        report = Path(place) / "mutants.json"
        command = [sys.executable, "-m", "tests.mutants.run", "--json", str(report)]
        subprocess.run(command, cwd=HERE, check=False)
        found = json.loads(report.read_text())
    assert isinstance(found, dict)
    return found


def lines(folder: Path) -> dict[str, int]:
    """Lines of Python, mutants apart, and of suites."""
    python = [p for p in folder.rglob("*.py") if p.parent.name != "mutants"]
    return {
        "python_lines": sum(len(p.read_text().splitlines()) for p in python),
        "slt_lines": sum(len(p.read_text().splitlines()) for p in folder.rglob("*.slt")),
    }


def _clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", str(HERE), str(folder)], check=True)
    return folder


def _timed(command: list[str], folder: Path, more: Mapping[str, str]) -> tuple[float, int]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("ACCELERATOR_")}
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env={**own, **more}, check=False)
    return round(time.monotonic() - began, 1), done.returncode


def _git(*arguments: str) -> str:
    found = subprocess.run(
        ["git", *arguments], cwd=HERE, capture_output=True, text=True, check=True
    )
    return found.stdout.strip()
