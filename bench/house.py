"""How the product's own code stands: its size, its rooms, what imports what, how far one walks.

Reads the sources; nothing is imported for that. The walks are three statements over a small table,
in a real session: which files of ours have a function that runs for each.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import mean
from types import FrameType
from typing import Any

from bench.imports import (
    HOUSE,
    PACKAGES,
    Imports,
    Sources,
    circles,
    declared_layers,
    first_sentence,
)
from bench.report import Report

_PLANNING = re.compile(r"accelerator\.planning(\..*)?")
"""What plans statements, and so may ask what kind of plan it has made."""
PRODUCT_LINES_BEFORE = 122_591
"""Lines at commit 50da3e5, before the files went into rooms."""
_FUNCTION_LINES_MAX = 70
_NONE: frozenset[str] = frozenset()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--json", type=Path, default=HOUSE / "build" / "house.json")
    parser.add_argument("--no-walks", action="store_true", help="read the sources alone: no Spark")


def run(options: argparse.Namespace) -> int:
    """Counts, walks and prints; always 0."""
    report = Report("house", options.json, {"walks": not options.no_walks})
    count(report)
    report.save()
    if not options.no_walks:
        _walk(report)
    report.complete = True
    report.save()
    for name, value in report.figures.items():
        print(f"{name:24} {value:>8,}")
    return 0


def count(report: Report) -> None:
    """Counts what the sources alone show."""
    sources = Sources.read()
    trees, imports = sources.trees, sources.imports
    asked = {name: found for name, tree in trees.items() if (found := _asks_for_plans(tree))}
    outside = {name: found for name, found in asked.items() if not _PLANNING.fullmatch(name)}
    named = Counter(name for _, name in sources.classes())
    details: dict[str, Any] = {
        "circles": circles(imports),
        "room_circles": circles(_between_rooms(sources)),
        "back_arrows": [
            f"{above} -> {below}"
            for layers in declared_layers()
            for above, below in layers.back_arrows(imports)
        ],
        "plan_isinstance_outside": outside,
        "ambiguous_class_names": sorted(name for name, times in named.items() if times > 1),
        "loose_modules": sorted(
            name
            for name, file in sources.files.items()
            if re.fullmatch(r"accelerator\.\w+", name) and file.name != "__init__.py"
        ),
        "files_without_a_line": sorted(
            name for name, tree in trees.items() if not first_sentence(tree)
        ),
        "long_functions": sorted(_long_functions(trees)),
    }
    lines = {name: len(file.read_text().splitlines()) for name, file in sources.files.items()}
    entries = _entries(sources)
    named_by = _statement_modules(trees)
    report.figures |= {
        "product_lines": sum(lines.values()),
        "product_lines_before": PRODUCT_LINES_BEFORE,
        "product_files": len(sources.files),
        "longest_file": max(lines.values()),
        "largest_room": max(entries.values()),
        "functions": sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for tree in trees.values()
            for node in ast.walk(tree)
        ),
        "plan_isinstance_outside": sum(outside.values()),
        "statement_modules": round(mean(named_by), 1),
        **{name: len(found) for name, found in details.items() if isinstance(found, list)},
    }
    report.details |= {**details, "entries": entries}


def _between_rooms(sources: Sources) -> Imports:
    found: dict[str, set[str]] = {}
    for module, used in sources.imports.items():
        room = sources.room(module)
        found.setdefault(room, set()).update(sources.room(other) for other in used)
    # What lies loose in a package is its face: it may import the rooms, and they it.
    return {
        room: frozenset(other for other in used - {room} if "." in other) if "." in room else _NONE
        for room, used in found.items()
    }


def _entries(sources: Sources) -> dict[str, int]:
    """Returns the number of files and folders in each folder of the packages, but for the root."""
    found = Counter[str]()
    for file in sources.files.values():
        entry = file.parent if file.name == "__init__.py" else file
        found[str(entry.parent.relative_to(HOUSE))] += 1
    return {name: times for name, times in found.items() if name not in (".", "accelerator")}


def _long_functions(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > _FUNCTION_LINES_MAX:
                    yield f"{name}.{node.name}"


def _statement_modules(trees: Mapping[str, ast.Module]) -> list[int]:
    """Counts for each statement of ours the modules that name it, as a new one is named in."""
    table = ast.walk(trees["accelerator.query.statements.catalog"])
    kinds = {
        node.attr
        for node in table
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "nodes"
    }
    names = [
        {
            getattr(node, "id", getattr(node, "attr", getattr(node, "name", None)))
            for node in ast.walk(tree)
        }
        for tree in trees.values()
    ]
    return [sum(kind in used for used in names) for kind in sorted(kinds)]


def _asks_for_plans(tree: ast.Module) -> int:
    """How often it asks whether a value is of some kind of plan."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and any(
            isinstance(inner, ast.Name) and re.fullmatch(r"[A-Z]\w*Plan", inner.id)
            for inner in ast.walk(node.args[1])
        )
        for node in ast.walk(tree)
    )


def _walk(report: Report) -> None:
    """A GROUP BY, a filter of rows, and a build: the files of ours that each runs through."""
    import accelerator

    with (
        tempfile.TemporaryDirectory(prefix="house-") as place,
        accelerator.open(place, create=True) as session,
    ):
        session.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.d")
        session.spark.sql(
            "CREATE TABLE lake.d.t USING iceberg AS"
            " SELECT id AS x, concat('k', id % 7) AS y, id * 2 AS v FROM range(5000)"
        )
        session.execute(
            "CREATE CUBE c DEFERRED AS SELECT y, count(*) AS n, sum(v) AS s"
            " FROM lake.d.t GROUP BY y"
        )
        asked: dict[str, Callable[[], Any]] = {
            "walk_files_build": lambda: session.execute("BUILD CUBE c"),
            "walk_files_group": lambda: session.query(
                "SELECT y, sum(v) FROM lake.d.t GROUP BY y"
            ).arrow(),
            "walk_files_rows": lambda: session.query(
                "SELECT x, y FROM lake.d.t WHERE x > 5 AND y = 'k1' ORDER BY x LIMIT 9"
            ).arrow(),
        }
        for name, ask in asked.items():
            files = _walked(ask)
            report.figures[name] = len(files)
            report.details[name] = sorted(files)


def _walked(run: Callable[[], Any]) -> set[str]:
    roots = tuple(f"{HOUSE / package}/" for package in PACKAGES)
    seen: set[str] = set()

    def tell(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(tell)
    sys.setprofile(tell)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {str(Path(one).relative_to(HOUSE)) for one in seen if one.startswith(roots)}
