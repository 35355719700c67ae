"""The house rules that no tool checks: file length, head docstrings, broad excepts, leftovers."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
PRODUCT = ("accelerator", "cubes", "indexes", "rewrite")
SPARK = HOME / "accelerator" / "engines" / "spark"
ROOTS = (*PRODUCT, "tests", "bench", "fuzz")
SOURCES = sorted(path for root in ROOTS for path in (HOME / root).rglob("*.py"))
LINES_MAX = 700
# Behind comments, a text that says something.
OPENING = re.compile(r'(?:#[^\n]*\n|\s)*r?"""\s*[^"\s]')
# Each broad except must say beside it why nothing narrower does; there may be hardly any.
BROAD_EXCEPTS_MAX = 4
MAYBE_BROAD = re.compile(r"\bexcept\b[^\n]*\bException\b|\bexcept\s*:|\bexcept\s*\(\s*\n")


def _name(path):
    return str(path.relative_to(HOME))


@lru_cache
def _text(path):
    return path.read_text(encoding="utf-8")


@lru_cache
def _trees():
    """The product's modules as trees; of tests the texts alone are looked at."""
    return {path: ast.parse(_text(path)) for path in SOURCES if _root(path) in PRODUCT}


def _root(path):
    return path.relative_to(HOME).parts[0]


@pytest.mark.parametrize("root", ROOTS)
def test_files_are_short_and_say_what_they_are(root):
    faults = []
    for path in (path for path in SOURCES if _root(path) == root):
        text = _text(path)
        if text.count("\n") > LINES_MAX:
            faults.append(f"{_name(path)} is longer than {LINES_MAX} lines")
        if not text.strip():
            faults += [f"{_name(path)} is empty"] * (path.name != "__init__.py")
        elif not OPENING.match(text):
            faults.append(f"{_name(path)} opens without a docstring")
    assert not faults


def test_broad_excepts_are_rare():
    found = [
        f"{_name(path)}:{handler.lineno}"
        for path in SOURCES
        if MAYBE_BROAD.search(_text(path))
        for handler in ast.walk(ast.parse(_text(path)))
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler)
    ]
    assert len(found) <= BROAD_EXCEPTS_MAX, found


def _is_broad(handler):
    names = [handler.type] if not isinstance(handler.type, ast.Tuple) else handler.type.elts
    return any(name is None or getattr(name, "id", "") == "Exception" for name in names)


def test_nothing_is_left_over():
    mark = re.compile(r"#.*\b(TODO|FIXME|XXX)\b")
    found = [
        f"{_name(path)}:{number}"
        for path in SOURCES
        if path != Path(__file__) and mark.search(_text(path))
        for number, line in enumerate(_text(path).splitlines(), 1)
        if mark.search(line)
    ]
    assert not found


def test_pyspark_and_pyiceberg_stay_in_their_files():
    strays = []
    for path, tree in _trees().items():
        for module in _imports(tree):
            if module == "pyspark" and path.name != "spark.py" and SPARK not in path.parents:
                strays.append(f"{_name(path)} imports pyspark")
            if module == "pyiceberg" and "iceberg" not in path.parts:
                strays.append(f"{_name(path)} imports pyiceberg")
    assert not strays


def _imports(tree):
    """Packages imported at run time; what is only for the type checker doesn't count."""
    for node in _run_time(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def _run_time(node):
    """The statements and expressions below it, but for bodies of `if TYPE_CHECKING`."""
    yield node
    typing = isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    for inner in node.orelse if typing else ast.iter_child_nodes(node):
        yield from _run_time(inner)
