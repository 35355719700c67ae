"""The product's modules, their imports, and the layers that pyproject.toml declares for rooms.

A *room* is a folder directly under one of the four packages. An import counts under
`TYPE_CHECKING` and inside functions as well.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HOUSE = Path(__file__).parents[1]
PACKAGES = ("accelerator", "cubes", "indexes", "rewrite")

Imports = Mapping[str, frozenset[str]]
"""The product's modules that each module imports."""


@dataclass(frozen=True)
class Sources:
    """The product's files by module name."""

    files: Mapping[str, Path]

    @classmethod
    def read(cls) -> Sources:
        """Reads the four packages of this checkout."""
        return cls(dict(_modules()))

    @cached_property
    def trees(self) -> Mapping[str, ast.Module]:
        """The parsed modules."""
        return {name: ast.parse(file.read_text()) for name, file in self.files.items()}

    @cached_property
    def imports(self) -> Imports:
        """The imports between the product's modules."""
        return {
            name: frozenset(_imported(name, tree, self.files)) for name, tree in self.trees.items()
        }

    def classes(self) -> Iterator[tuple[str, str]]:
        """Yields the module and the name of each class."""
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    yield module, node.name

    def room(self, module: str) -> str:
        """Returns the folder under the package that has the module, or the package itself."""
        package, _, rest = module.partition(".")
        name = f"{package}.{rest.partition('.')[0]}" if rest else package
        file = self.files.get(name)
        return name if file is not None and file.name == "__init__.py" else package


@dataclass(frozen=True, slots=True)
class Layers:
    """A package whose rooms may import only rooms of lower layers, top first."""

    package: str
    rooms: tuple[tuple[str, ...], ...]

    def back_arrows(self, imports: Imports) -> Iterator[tuple[str, str]]:
        """Yields the imports that run up, or between rooms of one layer."""
        rank = {room: number for number, layer in enumerate(self.rooms) for room in layer}
        for module, used in imports.items():
            here = self._room(module)
            for other in sorted(used):
                there = self._room(other)
                if here != there and here in rank and there in rank and rank[there] <= rank[here]:
                    yield module, other

    def _room(self, module: str) -> str:
        package, _, rest = module.partition(".")
        return rest.partition(".")[0] if package == self.package else ""


def declared_layers() -> list[Layers]:
    """Reads the contracts of layers that pyproject.toml has for import-linter."""
    settings = tomllib.loads((HOUSE / "pyproject.toml").read_text())
    return [
        Layers(package, tuple(tuple(_siblings(layer)) for layer in contract["layers"]))
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
        for package in contract.get("containers", ())
    ]


def circles(imports: Imports) -> list[list[str]]:
    """Returns the sets of modules that import one another (Tarjan's algorithm), largest first."""
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
    return sorted((circle for circle in found if len(circle) > 1), key=len, reverse=True)


def first_sentence(tree: ast.Module) -> str:
    """Returns the first sentence of a module's docstring, on one line; "" if it has none."""
    paragraph = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return re.split(r"(?<=[.!?])\s", " ".join(paragraph.split()), maxsplit=1)[0]


def _siblings(layer: str) -> list[str]:
    return [name.strip() for name in layer.split("|")]


def _modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for file in sorted((HOUSE / package).rglob("*.py")):
            parts = file.relative_to(HOUSE).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def _imported(name: str, tree: ast.Module, modules: Mapping[str, object]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            named = [module if module in modules else node.module for module in inner]
        else:
            continue
        yield from (module for module in named if module in modules and module != name)
