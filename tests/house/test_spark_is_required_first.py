"""A module that names PySpark is imported inside a function, behind the call that requires Spark.

Without PySpark such a call raises a typed error; an import alone raises ModuleNotFoundError.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

HOME = Path(__file__).parents[2]
ROOMS = ("accelerator", "cubes", "indexes", "rewrite")
REQUIRES = frozenset(
    {"require_spark", "engine", "rewrite_due", "_engine_for", "_publishing_engine"}
    | {"_dropping_engine", "_spark"}
)
"""Calls that raise SparkMissingError, SparkElsewhereError, or give an engine."""
EXEMPT = frozenset(
    {
        "accelerator.session.opening.open_loaded",  # SparkSource raises its error
        "accelerator.session.opening.attach",  # given a session of PySpark's
        "accelerator.engines.spark.context._runs_tasks",  # given a context of PySpark's
        "accelerator.engines.spark.jvm.errors.java_errors",  # around calls of a session's Java
    }
)


def _texts() -> dict[str, str]:
    found = {}
    for room in ROOMS:
        for path in (HOME / room).rglob("*.py"):
            name = ".".join(path.relative_to(HOME).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def _importing(texts: dict[str, str], modules: Iterable[str]) -> dict[str, ast.Module]:
    """Parses the texts that import one of the modules, by the last part of its name."""
    leaves = "|".join(sorted({re.escape(one.rpartition(".")[2]) for one in modules}))
    line = re.compile(
        rf"^ *(?:from|import) .*\b(?:{leaves})\b|^ *from .* import \([^)]*\b(?:{leaves})\b", re.M
    )
    return {name: ast.parse(text) for name, text in texts.items() if line.search(text)}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    return []


def _at_import(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            yield from _imported(node)


def _names_spark(name: str) -> bool:
    return name.partition(".")[0] in ("pyspark", "py4j")


def _spark_modules(texts: dict[str, str]) -> set[str]:
    """Returns the modules that import PySpark when they are imported, through others too."""
    found: set[str] = set()
    new = {"pyspark", "py4j"}
    while new:
        more = {
            name
            for name, tree in _importing(texts, new).items()
            if any(_names_spark(one) or one in new for one in _at_import(tree))
        }
        new = more - found
        found |= more
    return found


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yields functions and methods; one inside another is part of it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node)


def _unrequired(name: str, tree: ast.Module, spark: set[str]) -> Iterator[str]:
    for function in _functions(tree):
        if f"{name}.{function.name}" in EXEMPT:
            continue
        nodes = list(ast.walk(function))
        called = [
            node.lineno
            for node in nodes
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) in REQUIRES
        ]
        for node in nodes:
            if any(_names_spark(one) or one in spark for one in _imported(node)):
                line = node.lineno
                if not any(place < line for place in called):
                    yield f"{name}:{line} in {function.name}"


def test_no_import_of_spark_comes_before_it_is_required() -> None:
    texts = _texts()
    spark = _spark_modules(texts)
    assert {
        "cubes.spark",
        "accelerator.engines.spark.jvm.classes",
        "accelerator.services.clustering.data_files",
    } <= spark
    assert not spark & {
        "accelerator.builds.segments.builder",
        "accelerator.services.clustering.optimize",
    }
    found = [
        one
        for name, tree in _importing(texts, [*spark, "pyspark", "py4j"]).items()
        if name not in spark
        for one in _unrequired(name, tree, spark)
    ]
    assert found == []


def test_an_import_before_is_found() -> None:
    text = "def f(self):\n    from cubes.spark import run\n    run(self._spark())\n"
    assert list(_unrequired("m", ast.parse(text), {"cubes.spark"})) == ["m:2 in f"]
    text = "def f(self):\n    one = self._spark()\n    from cubes.spark import run\n    run(one)\n"
    assert not list(_unrequired("m", ast.parse(text), {"cubes.spark"}))
