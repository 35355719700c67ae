"""Functions compiled by numba, and kept on disk where there's a place for that.

Importing this module imports numba, which takes a good part of a second: only modules that build
or decode in bulk do so, and they are imported when there is something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """By numba, without the interpreter's lock; cached on disk if that can be."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither beside the function's file nor in the user's cache folder
        return numba.njit(nogil=True)(function)


def compiled_module(module: ModuleType, **other: Any) -> Any:
    """Every function of a module compiled, as attributes; the module's own stay as they are.

    They call each other compiled too. `other` are names that mean something else to them.
    """
    found: Mapping[str, Any] = {
        name: one
        for name, one in vars(module).items()
        if isinstance(one, FunctionType) and one.__module__ == module.__name__
    }
    names: dict[str, Any] = {**vars(module), **other}
    for name, one in found.items():
        copy = FunctionType(one.__code__, names, name, one.__defaults__, one.__closure__)
        copy.__module__, copy.__qualname__ = one.__module__, one.__qualname__
        names[name] = compiled(copy)
    return SimpleNamespace(**{name: names[name] for name in found})
