"""Traps of msgspec's structs that neither Python nor the type checker reports."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from accelerator.engines import sketch_functions

_ROOTS = ("accelerator", "rewrite", "indexes", "cubes")


def _records() -> Iterator[type[Struct]]:
    for root in _ROOTS:
        package = importlib.import_module(root)
        for module in pkgutil.walk_packages(package.__path__, f"{root}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    left = [Struct]
    while left:
        for one in left.pop().__subclasses__():
            left.append(one)
            if one.__module__.split(".")[0] in _ROOTS:
                yield one


def test_no_default_is_a_field_of_dataclasses() -> None:
    """A struct takes `dataclasses.field(…)` for the default value itself."""
    records = list(_records())
    assert len(records) > 500
    wrong = [
        f"{one.__module__}.{one.__name__}"
        for one in records
        if any(isinstance(default, dataclasses.Field) for default in one.__struct_defaults__)
    ]
    assert not wrong


def test_whoever_compares_by_itself_says_when_it_differs() -> None:
    """`Struct.__ne__` compares by its own rule, not by the class's `__eq__`."""
    compared = [one for one in _records() if one.__eq__ is not Struct.__eq__]
    assert compared
    assert not [one.__name__ for one in compared if one.__ne__ is Struct.__ne__]


def test_a_cached_property_has_its_dict() -> None:
    """It keeps its value in the instance's dict, which a struct has only if told so."""
    cached = [
        one
        for one in _records()
        if any(isinstance(value, cached_property) for value in vars(one).values())
    ]
    assert cached
    assert not [one.__name__ for one in cached if not one.__dictoffset__]


def test_functions_of_dataclasses_are_called_where_dataclasses_are() -> None:
    """The type checker takes a struct for a dataclass, which `dataclasses.replace` refuses."""
    house = Path(__file__).parents[2]
    called = re.compile(
        r"\bdataclasses\.(?:asdict|fields|is_dataclass|replace)\("
        r"|^from dataclasses import .*\b(?:asdict|fields|is_dataclass|replace)\b",
        re.MULTILINE,
    )
    found = {
        str(file.relative_to(house))
        for root in _ROOTS
        for file in (house / root).rglob("*.py")
        if called.search(file.read_text())
    }
    plans = {
        f"accelerator/planning/{one}.py"
        for one in ("plan_template", "plans/plan", "candidates/search", "candidates/ordered_rows")
    }
    seen = {f"accelerator/gateway/monitoring/{one}.py" for one in ("history", "query_log")}
    files = {"accelerator/iceberg/rows/float_edges.py", "accelerator/query/execution/executor.py"}
    assert found == plans | seen | files


def test_what_is_sent_to_workers_by_value_has_no_struct() -> None:
    """Cloudpickle makes such a class anew without its fields."""
    held = [one for one in vars(sketch_functions).values() if isinstance(one, type)]
    assert sketch_functions.Function in held
    assert not [one.__name__ for one in held if issubclass(one, Struct)]


def test_help_imports_no_msgspec() -> None:
    """Its import takes a tenth of the time of `accelerator --help`."""
    asked = "import accelerator.cli.main, sys; print('msgspec' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False"]
