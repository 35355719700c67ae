"""Values of files that anybody may have written, checked: texts, counts, numbers, lists."""

from __future__ import annotations

import math
from typing import Any

from accelerator.store.records import text_of, whole_of

TEXT_MAX = 16 * 1024
MANY_MAX = 1_000


def text(value: object, most: int = TEXT_MAX) -> str:
    """The value, a text of at most so many characters; TypeError, ValueError for any other."""
    found = text_of(value)
    if len(found) > most:
        raise ValueError(f"a text of {len(found)} characters")
    return found


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


def some(value: Any, kind: type[list[Any]] | type[dict[str, Any]], most: int = MANY_MAX) -> Any:
    """The value, of that kind and with at most so many items; ValueError for any other."""
    if not isinstance(value, kind) or not 0 <= len(value) <= most:
        raise ValueError("a list that can't be")
    return value
