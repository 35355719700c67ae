"""Faults that a test plants in workers: statements that hang, crash or eat memory.

`environment` makes each process that a gateway starts import this module before anything else.
A statement with one of the words of `FAULTS` then meets the fault instead of being planned.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

_ASKING = "accelerator.gateway.workers.run_statement"


def _hang() -> None:
    """Backtracks for ages inside compiled code that keeps the interpreter's lock."""
    re.match("(a+)+$", "a" * 64 + "b")


def _crash() -> None:
    ctypes.string_at(0)


def _overflow() -> None:
    """Overflows the thread's stack in compiled code."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    libc = ctypes.CDLL(None)

    def again(_one: int, _other: int) -> int:
        sys.setrecursionlimit(10**9)
        libc.qsort(ctypes.create_string_buffer(8), 2, 4, compared)
        return 0

    compared = compare(again)
    again(0, 0)


def _abort() -> None:
    os.abort()


def _eat() -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1) * 16 * 1024**2))


def _busy() -> None:
    """Computes in Python for longer than a worker may be silent, without a look at a stop."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


FAULTS: Mapping[str, Callable[[], None]] = {
    "planted_hang": _hang,
    "planted_crash": _crash,
    "planted_overflow": _overflow,
    "planted_abort": _abort,
    "planted_eat": _eat,
    "planted_busy": _busy,
    "planted_sleep": lambda: time.sleep(3.0),
}


def environment(folder: Path) -> dict[str, str]:
    """The variables of a process whose children get the faults; writes into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(
        "from tests.gateway import planted_in_workers\nplanted_in_workers.plant()\n"
    )
    root = str(Path(__file__).parents[2])
    return {"PYTHONPATH": os.pathsep.join((str(folder), root))}


class _Finder(importlib.abc.MetaPathFinder):
    """Plants the faults once the module that answers statements is imported."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != _ASKING:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.loader is not None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            _plant_in(module.Asking)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _plant_in(asking: Any) -> None:
    answer = asking.answer

    def answered(self: Any, session: Any, job: Any) -> Any:
        sql = getattr(job.request, "sql", "")
        for word, fault in FAULTS.items():
            if word in sql:
                fault()
        return answer(self, session, job)

    asking.answer = answered


def plant() -> None:
    """Makes statements of this process meet the faults."""
    sys.meta_path.insert(0, _Finder())
