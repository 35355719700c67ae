"""The house rules that no tool checks: file length, head docstrings, broad excepts, leftovers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
ROOTS = ("accelerator", "cubes", "indexes", "rewrite", "tests", "bench", "fuzz")
SOURCES = sorted(path for root in ROOTS for path in (HOME / root).rglob("*.py"))
LINES_MAX = 700
# Each broad except must say beside it why nothing narrower does; there may be hardly any.
BROAD_EXCEPTS_MAX = 4


def _name(path):
    return str(path.relative_to(HOME))


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_a_file_is_short_and_says_what_it_is(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES_MAX, f"{_name(path)} is longer than {LINES_MAX} lines"
    if not text.strip():
        assert path.name == "__init__.py", f"{_name(path)} is empty"
        return
    assert ast.get_docstring(ast.parse(text)), f"{_name(path)} opens without a docstring"


def test_broad_excepts_are_rare():
    found = [
        f"{_name(path)}:{handler.lineno}"
        for path in SOURCES
        for handler in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
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
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if mark.search(line) and path != Path(__file__)
    ]
    assert not found


def test_pyspark_and_pyiceberg_stay_in_their_files():
    strays = []
    for path in SOURCES:
        if path.relative_to(HOME).parts[0] in ("tests", "bench", "fuzz"):
            continue
        for module in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            if module == "pyspark" and path.name != "spark.py":
                strays.append(f"{_name(path)} imports pyspark")
            if module == "pyiceberg" and "iceberg" not in path.parts:
                strays.append(f"{_name(path)} imports pyiceberg")
    assert not strays


def _imports(tree):
    """Packages imported at run time; what is only for the type checker doesn't count."""
    for node in ast.walk(_RunTime().visit(tree)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


class _RunTime(ast.NodeTransformer):
    def visit_If(self, node):
        self.generic_visit(node)
        return node.orelse if getattr(node.test, "id", "") == "TYPE_CHECKING" else node
