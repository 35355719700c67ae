"""Values of files that anybody may have written, checked: texts, counts, numbers."""

from __future__ import annotations

import math

TEXT_MAX = 16 * 1024
MANY_MAX = 1_000
_WHOLE_MAX = 1 << 63


def text_of(value: object) -> str:
    """The value, a text; TypeError for any other."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def whole_of(value: object) -> int:
    """The value, a number of 64 bits; TypeError or ValueError for any other."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, found {type(value).__name__}")
    if not -_WHOLE_MAX <= value < _WHOLE_MAX:
        raise ValueError("a number of more than 64 bits")
    return value


def count(value: object, most: int = 2**63 - 1) -> int:
    """The value, a whole number from 0 to that; TypeError, ValueError for any other."""
    found = whole_of(value)
    if not 0 <= found <= most:
        raise ValueError("a number that can't be")
    return found


def number(value: object) -> float:
    """The value, a number from 0 up that isn't endless; TypeError, ValueError for any other."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    if not math.isfinite(value) or value < 0:
        raise ValueError("a number that can't be")
    return float(value)
