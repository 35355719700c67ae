"""How much of a long test runs: a chosen part in `make check`, the whole in `make test-full`.

The part has a case of each class and each boundary; the whole adds what is more of the same.
"""

from __future__ import annotations

import os
from typing import TypeVar

_T = TypeVar("_T")

FULL = bool(os.environ.get("TESTS_FULL"))
"""As `make test-full` sets it."""


def sized(part: _T, *, full: _T) -> _T:
    """The part, or the whole where everything is asked for."""
    return full if FULL else part
