"""What a newcomer meets: the wheel in an empty environment, its size, its imports, its errors.

Builds the wheel of this checkout and installs it as a user would: alone, and beside another PySpark
and another pandas, which it has to leave as they are. Where other Pythons are on the path, there
too, or into those of `--python`. Then it makes the mistakes that `mistakes.toml` lists.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.mistakes import mistakes, places, said

HERE = Path(__file__).parents[1]
_PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
_WITHOUT = ("pyspark", "pandas", "rjieba")
_OTHERS = ("pandas==2.2.2", "pyspark==3.5.5")
"""What a user may have: older than what is tested here."""
_IMPORTS = 21
_FIRST_STEPS = """
import sys
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
import accelerator

folder = sys.argv[1]
with accelerator.open(folder, create=True):
    pass
catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
catalog.create_namespace("shop")
rows = pa.table({"store": [1, 2, 2], "amount": [5, 7, 9]})
catalog.create_table("shop.sales", rows.schema).append(rows)
totals = "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store"
with accelerator.open(folder) as acc:
    raw = sorted(acc.query(totals).fetchall())
    acc.query(f"CREATE CUBE totals AS {totals}")
    answer = acc.query(totals)
    assert sorted(answer.fetchall()) == raw == [(1, 5), (2, 16)], raw
    assert answer.metrics.cubes == ("totals",), answer.metrics
    assert not acc.spark_started
"""
_CONSUMER = """
import accelerator
from accelerator.errors import AcceleratorError


def totals(folder: str) -> list[tuple[object, ...]]:
    with accelerator.open(folder, duckdb_threads=2) as acc:
        try:
            answer = acc.query("SELECT 1 AS n", timeout_s=5)
        except AcceleratorError as error:
            raise SystemExit(error.hint) from error
        engine: str = answer.metrics.engine
        print(engine, acc.explain("SELECT 1 AS n"))
        for batch in acc.stream("SELECT 1 AS n"):
            print(batch.num_rows)
        return answer.fetchall()
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument(
        "--python", action="append", default=[], help="one more to install into; those of the path"
    )


def run(options: argparse.Namespace) -> int:
    """Measures; 1 where a step fails or a mistake isn't told clearly."""
    with tempfile.TemporaryDirectory(prefix="first-minutes-") as place:
        figures = _measured(Path(place), options.python or _on_path())
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n")
    return 1 if figures["failed"] else 0


def _on_path() -> list[str]:
    """Those that run: a version manager may have names that lead nowhere."""
    found = filter(None, map(shutil.which, _PYTHONS))
    return [one for one in found if not subprocess.run([one, "-c", ""], check=False).returncode]


def _measured(root: Path, pythons: list[str]) -> dict[str, Any]:
    wheel = _wheel(root)
    figures: dict[str, Any] = {"wheel_kb": wheel.stat().st_size >> 10, "failed": []}
    failed: list[str] = figures["failed"]
    alone = _Environment(root / "alone", sys.executable)
    before = alone.megabytes()
    since = time.perf_counter()
    alone.install(str(wheel))
    figures["install_s"] = round(time.perf_counter() - since, 1)
    figures["base_install_mb"] = alone.megabytes() - before
    figures["base_install_has"] = [one for one in _WITHOUT if one in alone.versions()]
    figures |= alone.import_ms()
    failed += alone.first_steps(root / "lake")
    failed += _types(alone, root)
    figures["pythons"] = _pythons(pythons, wheel, root, failed)
    beside = _Environment(root / "beside", sys.executable)
    beside.install(*_OTHERS)
    had = beside.versions()
    beside.install(str(wheel))
    has = beside.versions()
    figures["beside"] = list(_OTHERS)
    figures["changed_beside"] = {
        name: [version, has.get(name, "")]
        for name, version in had.items()
        if has.get(name) != version
    }
    failed += [f"{name} was changed" for name in figures["changed_beside"]]
    failed += [f"{name} is installed" for name in figures["base_install_has"]]
    figures |= _mistakes(root, failed)
    return figures


class _Environment:
    """An empty one of that Python."""

    def __init__(self, folder: Path, python: str) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.python = str(folder / "bin" / "python")
        self._folder = folder

    def install(self, *what: str) -> None:
        self.runs("-m", "pip", "install", "-q", "--disable-pip-version-check", *what)

    def runs(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The finished process; CalledProcessError with what it said where it fails."""
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "JAVA_HOME")}
        done = subprocess.run(
            [self.python, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
            env=env,
        )
        if done.returncode:
            sys.stderr.write(done.stderr[-2000:])
            done.check_returncode()
        return done

    def versions(self) -> dict[str, str]:
        listed = json.loads(
            self.runs("-m", "pip", "list", "--format", "json", "--disable-pip-version-check").stdout
        )
        return {one["name"].lower(): one["version"] for one in listed}

    def megabytes(self) -> int:
        sizes = (p.stat().st_size for p in self._folder.rglob("*") if p.is_file())
        return sum(sizes) >> 20

    def import_ms(self) -> dict[str, float]:
        """Of a new process: ours above an empty one's, in turns."""
        took: dict[str, list[float]] = {"pass": [], "import accelerator": []}
        for _ in range(_IMPORTS):
            for text, times in took.items():
                since = time.perf_counter()
                self.runs("-c", text)
                times.append((time.perf_counter() - since) * 1000)
        empty, ours = (statistics.median(times) for times in took.values())
        return {"import_ms": round(ours - empty, 1), "empty_python_ms": round(empty, 1)}

    def first_steps(self, folder: Path) -> list[str]:
        """A warehouse, a table, a cube and its answer, without a JVM: what failed of it."""
        try:
            self.runs("-c", _FIRST_STEPS, str(folder))
            self.runs("-m", "accelerator", "show", "cubes", "--warehouse", str(folder))
        except subprocess.CalledProcessError as error:
            return [f"first steps with {self.python}: exit code {error.returncode}"]
        return []


def _wheel(root: Path) -> Path:
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(root), str(HERE)]
    subprocess.run([sys.executable, *words, "--disable-pip-version-check"], check=True)
    return next(root.glob("*.whl"))


def _types(environment: _Environment, root: Path) -> list[str]:
    """Whether a consumer's types are checked against the installed package."""
    consumer = root / "consumer.py"
    consumer.write_text(_CONSUMER)
    words = ["--strict", "--python-executable", environment.python, str(consumer)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(root / "mypy"), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    return [f"mypy: {done.stdout}"] if done.returncode else []


def _pythons(others: list[str], wheel: Path, root: Path, failed: list[str]) -> list[str]:
    """The versions in which the first steps were made, and which others failed."""
    tried = [".".join(map(str, sys.version_info[:2]))]
    say = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    for python in others:
        done = subprocess.run([python, "-c", say], capture_output=True, text=True, check=True)
        version = done.stdout.strip()
        if version in tried:
            continue
        try:
            one = _Environment(root / version, python)
            one.install(str(wheel))
        except (subprocess.CalledProcessError, OSError) as error:
            failed.append(f"Python {version}: {error}")
            continue
        failed += one.first_steps(root / f"lake-{version}")
        tried.append(version)
    return tried


def _mistakes(root: Path, failed: list[str]) -> dict[str, int]:
    clear = 0
    every = mistakes()
    (root / "mistakes").mkdir()
    with places(root / "mistakes") as at:
        for number, one in enumerate(every):
            own = root / "mistakes" / str(number)
            own.mkdir()
            found = said(one, at, own)
            clear += not found
            failed += [f"{one.name}: {found}"] if found else []
    return {"mistakes": len(every), "mistakes_clear": clear}
