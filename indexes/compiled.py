"""Functions compiled by numba, and kept on disk where there's a place for that.

Importing this module imports numba, which takes a good part of a second: only modules that build
or decode in bulk do so, and they are imported when there is something to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """By numba, without the interpreter's lock; cached on disk if that can be."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither beside the function's file nor in the user's cache folder
        return numba.njit(nogil=True)(function)
