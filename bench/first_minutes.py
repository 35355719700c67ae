"""What a newcomer meets: the wheel in an empty environment, its size, its imports, its errors.

Builds the wheel of this checkout and installs it as a user would: alone, and beside another PySpark
and another pandas, which it has to leave as they are. Where other Pythons are on the path, there
too, or into those of `--python`. Then it makes the mistakes that `mistakes.toml` lists.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import base_statements, shows, snippets, typos
from bench.command_line import waited
from bench.environments import Environment
from bench.report import Report
from tests.support.mistakes import judged, mistakes, outcomes, places, said

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
    parser.add_argument("--json", type=Path, default=Path("build/first-minutes.json"))
    parser.add_argument(
        "--python", action="append", default=[], help="one more to install into; those of the path"
    )


def run(options: argparse.Namespace) -> int:
    """Measures; 1 where a step fails or a mistake isn't told clearly."""
    pythons = options.python or _on_path()
    report = Report("firstminutes", options.json, {"pythons": pythons, "beside": list(_OTHERS)})
    with tempfile.TemporaryDirectory(prefix="first-minutes-") as place:
        _measure(Path(place), pythons, report)
    report.complete = True
    report.save()
    print(json.dumps({**report.figures, **report.details}, indent=1))
    return 1 if report.details["failed"] else 0


def _on_path() -> list[str]:
    """Those that run: a version manager may have names that lead nowhere."""
    found = filter(None, map(shutil.which, _PYTHONS))
    return [
        one
        for one in found
        if not subprocess.run([one, "-c", ""], capture_output=True, check=False).returncode
    ]


def _measure(root: Path, pythons: list[str], report: Report) -> None:
    wheel, figures = _wheel(root), report.figures
    failed: list[str] = []
    report.details["failed"] = failed
    figures["wheel_kb"] = wheel.stat().st_size >> 10
    alone = _Empty(root / "alone")
    before = alone.megabytes()
    since = time.perf_counter()
    alone.install(str(wheel))
    figures["install_s"] = time.perf_counter() - since
    figures["base_install_mb"] = alone.megabytes() - before
    failed += [f"{one} is installed" for one in _WITHOUT if one in alone.versions()]
    figures |= alone.import_ms()
    failed += alone.first_steps(root / "lake")
    figures |= waited(Path(alone.python).with_name("accelerator"), root / "lake", root)
    report.save()
    failed += _types(alone, root)
    report.details["pythons"] = _pythons(pythons, wheel, root, failed)
    report.save()
    beside = _Empty(root / "beside")
    beside.install(*_OTHERS)
    had = beside.versions()
    beside.install(str(wheel))
    has = beside.versions()
    changed = [name for name, version in had.items() if has.get(name) != version]
    figures["changed_beside"] = len(changed)
    failed += [f"{name} {had[name]} became {has.get(name, 'none')}" for name in changed]
    report.save()
    figures |= _mistakes(root, failed)
    report.save()
    figures |= typos.measure(root, failed)
    report.save()
    figures |= base_statements.measure(root / "reference", failed)
    report.save()
    figures |= shows.measure(root, failed)
    report.save()
    figures |= snippets.measure(root / "docs", wheel, failed)


class _Empty(Environment):
    """Where the wheel is installed and tried."""

    def versions(self) -> dict[str, str]:
        words = ("-m", "pip", "list", "--format", "json", "--disable-pip-version-check")
        listed = json.loads(self.run(*words))
        return {one["name"].lower(): one["version"] for one in listed}

    def megabytes(self) -> int:
        sizes = (p.stat().st_size for p in self.folder.rglob("*") if p.is_file())
        return sum(sizes) >> 20

    def import_ms(self) -> dict[str, float]:
        """Of a new process: ours above an empty one's, in turns."""
        took: dict[str, list[float]] = {"pass": [], "import accelerator": []}
        for _ in range(_IMPORTS):
            for text, times in took.items():
                since = time.perf_counter()
                self.run("-c", text)
                times.append((time.perf_counter() - since) * 1000)
        empty, ours = (statistics.median(times) for times in took.values())
        return {"import_ms": ours - empty, "empty_python_ms": empty}

    def first_steps(self, folder: Path) -> list[str]:
        """A warehouse, a table, a cube and its answer, without a JVM: what failed of it."""
        try:
            self.run("-c", _FIRST_STEPS, str(folder))
            self.run("-m", "accelerator", "show", "cubes", "--warehouse", str(folder))
        except subprocess.CalledProcessError as error:
            return [f"first steps with {self.python}: exit code {error.returncode}"]
        return []


def _wheel(root: Path) -> Path:
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(root), str(HERE)]
    subprocess.run([sys.executable, *words, "--disable-pip-version-check"], check=True)
    return next(root.glob("*.whl"))


def _types(environment: _Empty, root: Path) -> list[str]:
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
        try:
            done = subprocess.run([python, "-c", say], capture_output=True, text=True, check=True)
        except (subprocess.CalledProcessError, OSError) as error:
            failed.append(f"{python} can't start: {error}")
            continue
        version = done.stdout.strip()
        if version in tried:
            continue
        try:
            one = _Empty(root / version, python)
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
        answers = outcomes(at)
        for number, one in enumerate(every):
            own = root / "mistakes" / str(number)
            own.mkdir()
            found = judged(one, answers[one.sql]) if one.sql else said(one, at, own)
            clear += not found
            failed += [f"{one.name}: {found}"] if found else []
    return {"mistakes_clear_of": len(every), "mistakes_clear": clear}
