"""How the product's own code stands: its size, its rooms, what imports what, how far one walks.

Reads the sources; nothing is imported for that. The walks are three statements over a small table,
in a real session: which files of ours have a function that runs for each.

A *room* is a folder of `accelerator/`, its root, or one of the other packages. An import counts
under `TYPE_CHECKING` and inside of functions as well.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

from bench.report import Report

HERE = Path(__file__).parents[1]
PACKAGES = ("accelerator", "cubes", "indexes", "rewrite")
_PLANNING = re.compile(
    r"accelerator\.((planning|plans|covers)(\..*)?|planner|scene|template|recent|(\w+_)?search)"
)
"""What plans statements, and so may ask what kind of plan it has made."""

Imports = Mapping[str, frozenset[str]]
"""By module, which other modules of ours it imports."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--json", type=Path, default=HERE / "build" / "house.json")
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
    """What the sources tell."""
    sources = dict(_sources())
    trees = {name: ast.parse(path.read_text()) for name, path in sources.items()}
    imports = {name: frozenset(_imported(name, tree, trees)) for name, tree in trees.items()}
    circles = _circles(imports)
    order, back = _rooms_in_order(imports)
    asked = {name: found for name, tree in trees.items() if (found := _asks_for_plans(tree))}
    outside = {name: found for name, found in asked.items() if not _PLANNING.fullmatch(name)}
    named = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    ambiguous = sorted(name for name, times in named.items() if times > 1)
    loose = [name for name in trees if re.fullmatch(r"accelerator\.\w+", name)]
    loose = [name for name in loose if sources[name].name != "__init__.py"]
    report.figures |= {
        "product_lines": sum(len(p.read_text().splitlines()) for p in sources.values()),
        "product_files": len(sources),
        "loose_modules": len(loose),
        "plan_isinstance_outside": sum(outside.values()),
        "circles": len(circles),
        "back_arrows": len(back),
        "ambiguous_class_names": len(ambiguous),
    }
    report.details |= {
        "circles": circles,
        "rooms": order,
        "back_arrows": back,
        "plan_isinstance_outside": outside,
        "ambiguous_class_names": ambiguous,
        "loose_modules": sorted(loose),
    }


def _sources() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((HERE / package).rglob("*.py")):
            parts = path.relative_to(HERE).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _imported(name: str, tree: ast.Module, modules: Mapping[str, object]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            whole = [one if one in modules else node.module for one in inner]
            found = list(dict.fromkeys(whole))
        else:
            continue
        yield from (one for one in found if one in modules and one != name)


def _circles(imports: Imports) -> list[list[str]]:
    """The sets of modules that import one another, by Tarjan's algorithm, largest first."""
    found: list[list[str]] = []
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        waiting.append(name)
        for other in sorted(imports[name]):
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in waiting:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            at = waiting.index(name)
            found.append(sorted(waiting[at:]))
            del waiting[at:]

    for name in imports:
        if name not in numbers:
            visit(name)
    return sorted((one for one in found if len(one) > 1), key=len, reverse=True)


def _room(module: str) -> str:
    parts = module.split(".")
    if parts[0] != "accelerator":
        return parts[0]
    is_folder = (HERE / "accelerator" / parts[1]).is_dir() if len(parts) > 1 else False
    return ".".join(parts[:2]) if is_folder else "accelerator"


def _rooms_in_order(imports: Imports) -> tuple[list[str], list[str]]:
    """The rooms, top first, in an order in which few imports run up, and these imports.

    No room moved to another place leaves fewer: one after the other each is put where it does best.
    """
    pairs = Counter((_room(a), _room(b)) for a, used in imports.items() for b in used)
    rooms = sorted({room for pair in pairs for room in pair})
    # The root is the door, and the other packages stand below it by contract.
    fixed = [room for room in rooms if "." not in room and room != "accelerator"]
    above = [room for room in rooms if room not in fixed]
    least, moved = _upwards(above, pairs), True
    while moved:
        moved = False
        for room in sorted(above):
            rest = [one for one in above if one != room]
            places = ([*rest[:at], room, *rest[at:]] for at in range(len(above)))
            cost, order = min((_upwards(one, pairs), one) for one in places)
            if cost < least:
                least, above, moved = cost, order, True
    order = [*above, *fixed]
    rank = {room: number for number, room in enumerate(order)}
    back = sorted(
        f"{a} -> {b}"
        for a, used in imports.items()
        for b in used
        if rank[_room(b)] < rank[_room(a)]
    )
    return order, back


def _upwards(order: Sequence[str], pairs: Mapping[tuple[str, str], int]) -> int:
    """How many imports run from a room to one above it."""
    return sum(pairs.get(pair, 0) for pair in combinations(order[::-1], 2))


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
    roots = tuple(f"{HERE / package}/" for package in PACKAGES)
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
    return {str(Path(one).relative_to(HERE)) for one in seen if one.startswith(roots)}
