"""The recorded coverage map: which tests run which lines of the product, and how long they take.

Made of a run for each part of the tests (unit, served, Spark, long) under coverage with a context
for each test; kept under `build/mutants/map`. Promises: a part is kept whole or not at all;
lines of a file that has changed since are found again by their function, else by their file.
Processes that tests start are measured too, unless they are killed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coverage import CoverageData
from coverage.exceptions import CoverageException

from tests.mutants.told import SETUP
from tests.mutants.tree import BUILD, PRODUCT, Tree

FOLDER = BUILD / "map"
PARTS: Mapping[str, tuple[str, ...]] = {
    "unit": ("-m", "not spark and not slow and not served and not long"),
    "served": ("-m", "served and not spark and not slow and not long", "--dist", "loadfile"),
    "spark": ("-m", "spark and not slow and not long", "--dist", "loadfile"),
    "long": ("-m", "long and not slow", "--dist", "loadfile"),
}
"""Cheap ones first, by pytest's arguments, as the Makefile has them."""
_CONFIG = """[run]
branch = False
core = ctrace
parallel = True
data_file = {data}/.coverage
source =
{source}
context = ${{MUTANTS_TEST-}}
patch = _exit
disable_warnings = no-data-collected, module-not-imported, module-not-measured, couldnt-parse
"""


class MapError(RuntimeError):
    """A map that can't be made or read; the message says why."""


@dataclass(frozen=True, slots=True)
class Case:
    """A test: its place among those of its part, its seconds, and whether it needs real Spark."""

    name: str
    place: int
    seconds: float
    spark: bool
    live: bool

    @property
    def file(self) -> str:
        """The file that it's in."""
        return self.name.partition("::")[0]


@dataclass(frozen=True, slots=True)
class Ran:
    """Tests that run some lines: themselves, and by what was set up for them or others."""

    exact: frozenset[str]
    setup: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.exact or self.setup)


class CoverageMap:
    """The map of some parts, read."""

    def __init__(self, folder: Path = FOLDER, parts: Iterable[str] = PARTS) -> None:
        self.tests: dict[str, Case] = {}
        self.made: dict[str, str] = {}
        self.sums: set[str] = set()
        self.failed: set[str] = set()
        self._files: dict[str, dict[str, Any]] = {}
        self._data: list[tuple[CoverageData, dict[str, Any], str]] = []
        for part in parts:
            told = json.loads((folder / f"{part}.json").read_text())
            data = CoverageData(basename=str(folder / f"{part}.coverage"))
            data.read()
            self._data.append((data, told["files"], told["root"]))
            self.made[part] = told["made"]
            self.tests |= {name: Case(name, *rest) for name, *rest in told["tests"]}
            self.sums.add(told["sum"])
            self.failed |= set(told["failed"])
        self._lines: dict[str, dict[int, list[str]]] = {}

    def ran(self, name: str, lines: Iterable[int], text: str) -> tuple[Ran, str]:
        """The tests that run any of those lines of a file, which has that text now; and how found.

        By the lines; where none is recorded, or the file has changed, by the function that they are
        in, of a constant by those that name it; else by the file; where that is compiled as a
        whole, by the files that import it.
        """
        wanted = set(lines)
        here = functions(text)
        inside = [q for q, (first, last) in here.items() if any(first <= i <= last for i in wanted)]
        constant = not inside
        inside = inside or users(text, wanted)
        found = Ran(frozenset(), frozenset())
        how = "lines"
        for place, (_, files, _) in enumerate(self._data):
            recorded = files.get(name)
            if recorded is None:
                continue
            if recorded["sum"] == checksum(text) and not constant:
                found = _both(found, self._contexts(place, name, wanted))
        if found:
            return found, how
        how = "function"
        for place, (_, files, _) in enumerate(self._data):
            for one in inside:
                span = files.get(name, {}).get("functions", {}).get(one)
                if span:
                    body = range(span[0] + 1, span[1] + 1)
                    found = _both(found, self._contexts(place, name, body))
        if found:
            return found, how
        how = "file"
        for place in range(len(self._data)):
            found = _both(found, self._contexts(place, name, None))
        if found:
            return found, how
        how = "importers"
        for place, (_, files, _) in enumerate(self._data):
            module = name.removesuffix(".py").replace("/", ".")
            for other, recorded in files.items():
                if module in recorded["imports"]:
                    found = _both(found, self._contexts(place, other, None))
        return found, how

    def _contexts(self, place: int, name: str, lines: Iterable[int] | None) -> Ran:
        data, _, root = self._data[place]
        key = f"{place}:{name}"
        if key not in self._lines:
            self._lines[key] = data.contexts_by_lineno(f"{root}/{name}")
        by_line = self._lines[key]
        wanted = by_line if lines is None else lines
        names = {context for line in wanted for context in by_line.get(line, ()) if context}
        setups = {one.removesuffix(SETUP) for one in names if one.endswith(SETUP)}
        return Ran(frozenset(n for n in names if not n.endswith(SETUP)), frozenset(setups))


def _both(one: Ran, other: Ran) -> Ran:
    return Ran(one.exact | other.exact, one.setup | other.setup)


def is_recorded(part: str, folder: Path = FOLDER) -> bool:
    """Returns whether the map has the part."""
    return (folder / f"{part}.json").exists()


def record(
    part: str, tree: Tree, workers: int, folder: Path = FOLDER, paths: Sequence[str] = ("tests",)
) -> None:
    """Runs a part's tests in the tree under coverage, and keeps what they ran.

    Raises `MapError` where a tenth of them fail: such a map would name too few.
    """
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"map-{part}-", dir=folder))
    root = str(tree.folder)
    try:
        (work / "data").mkdir()
        config = work / "coveragerc"
        source = "\n".join(f"    {root}/{one}" for one in PRODUCT)
        config.write_text(_CONFIG.format(data=work / "data", source=source))
        more = {"COVERAGE_PROCESS_START": str(config), "MUTANTS_TOLD": str(work / "told")}
        more["TESTS_RECORDS_MODE"] = "keep"  # no fault is planted: Spark's answers are anybody's
        with tempfile.TemporaryDirectory(prefix="acc-map-") as scratch:
            command = [sys.executable, "-m", "tests.mutants.told", "-q"]
            command += ["-p", "no:cacheprovider", "-n", str(workers), *PARTS[part], *paths]
            with (folder / f"{part}.log").open("w") as log:
                environment = tree.environment(Path(scratch), more)
                began = time.monotonic()
                done = subprocess.run(
                    command,
                    cwd=tree.folder,
                    env=environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
        told = list(lines_told(work / "told"))
        tests = _tests(told)
        failed = {one["test"] for one in told if one.get("outcome") == "failed"}
        if done.returncode not in (0, 1):  # ended before all tests had run
            raise MapError(f"pytest ends with {done.returncode}: {folder / part}.log says why")
        if not tests or len(failed) > len(tests) / 10:
            raise MapError(
                f"{len(failed)} of {len(tests)} tests fail without any fault, so there is no map"
                f" of the {part} part: {folder / part}.log says why"
            )
        merged = CoverageData(basename=str(work / "merged"))
        for path in sorted((work / "data").glob(".coverage*")):
            one = CoverageData(basename=str(path))
            try:
                one.read()
            except CoverageException:  # a process that was killed as it wrote
                continue
            merged.update(one)
        merged.write()
        merged.close()
        (work / "merged").replace(folder / f"{part}.coverage")
        minutes = round((time.monotonic() - began) / 60, 1)
        kept = {
            "made": f"{time.strftime('%Y-%m-%d %H:%M')}, {minutes} min, {len(failed)} failed",
            "root": root,
            "tests": [[t.name, t.place, t.seconds, t.spark, t.live] for t in tests],
            "sum": checksum_of(tree.folder),
            "failed": sorted(failed),
            "files": {name: _recorded(tree.folder / name) for name in _product(tree.folder)},
        }
        draft = work / "map.json"
        draft.write_text(json.dumps(kept))
        draft.replace(folder / f"{part}.json")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def collected(tree: Tree, mapped: CoverageMap, part: str) -> dict[str, int]:
    """Returns the tests of that part that the tree has now, with their places."""
    if mapped.sums == {checksum_of(tree.folder)}:
        return {name: test.place for name, test in mapped.tests.items()}
    with tempfile.TemporaryDirectory(prefix="acc-map-") as scratch:
        told = Path(scratch) / "told"
        command = [sys.executable, "-m", "tests.mutants.told", "-q", "--co"]
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", *PARTS[part][:2], "tests"],
            cwd=tree.folder,
            env=tree.environment(Path(scratch), {"MUTANTS_TOLD": str(told)}),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise MapError(
                f"the tests can't be collected: {done.stdout[-1000:]}{done.stderr[-500:]}"
            )
        return {one["found"]: one["place"] for one in lines_told(told) if "found" in one}


def checksum_of(root: Path) -> str:
    """Tells one state of the product and its tests from another."""
    tops = (*PRODUCT, "tests")
    paths = sorted(p for top in tops for p in (root / top).rglob("*") if p.is_file())
    kept = [p for p in paths if "__pycache__" not in p.parts and p.parent.name != "mutants"]
    told = hashlib.sha256()
    for path in kept:
        told.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return told.hexdigest()[:16]


def lines_told(folder: Path) -> Iterator[dict[str, Any]]:
    """What the plugin has told, process after process."""
    for path in sorted(folder.glob("*.jsonl"), key=os.path.getmtime):
        for line in path.read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:  # the process was killed as it wrote
                continue


def _tests(told: Iterable[Mapping[str, Any]]) -> list[Case]:
    found: dict[str, Mapping[str, Any]] = {}
    seconds: dict[str, dict[str, float]] = {}
    for one in told:
        if "found" in one:
            found[one["found"]] = one
        elif "test" in one:
            seconds.setdefault(one["test"], {})[one["when"]] = one["seconds"]
    return [
        Case(
            name,
            one["place"],
            round(sum(seconds[name].values()), 3),
            "spark" in one["marks"],
            one["live"],
        )
        for name, one in found.items()
        if name in seconds
    ]


def _product(root: Path) -> list[str]:
    return [str(p.relative_to(root)) for top in PRODUCT for p in sorted((root / top).rglob("*.py"))]


def _recorded(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    return {"sum": checksum(text), "functions": functions(text), "imports": sorted(imports(text))}


def checksum(text: str) -> str:
    """Tells one text of a file from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def functions(text: str) -> dict[str, tuple[int, int]]:
    """The functions of a file by qualified name, outermost ones: first and last line."""
    found: dict[str, tuple[int, int]] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[f"{prefix}{child.name}"] = (child.lineno, child.end_lineno or child.lineno)
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(text), "")
    return found


def users(text: str, lines: Iterable[int]) -> list[str]:
    """The functions that name a constant of the file which those lines assign."""
    wanted, tree = set(lines), ast.parse(text)
    assigned = {
        name.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and wanted & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    if not assigned:
        return []
    named = re.compile(rf"\b({'|'.join(sorted(assigned))})\b")
    rows = text.splitlines()
    spans = functions(text).items()
    return [one for one, (first, last) in spans if named.search("\n".join(rows[first - 1 : last]))]


def imports(text: str) -> set[str]:
    """The modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
