"""Which segments of a cube are worth merging: many small ones, the larger ones in their turn.

A refresh leaves a segment for each data file, and a statement opens each of them. Merging all each
time would write the whole cube again for a few new cells. So segments are merged with others of
their size, and a cell is written again as often as the cube has grown by a factor. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

MANY = 16
"""So many segments of about one size are made one."""
_SHARE = 2
"""One is of the size of those that are smaller while it has at most so many times their rows."""


class Sized(Protocol):
    """A segment, by its cells."""

    @property
    def rows(self) -> int: ...


S = TypeVar("S", bound=Sized)


def worth_merging(segments: Sequence[S]) -> list[S]:
    """Those of the largest size of which there are many, and all smaller ones; or none.

    >>> class One:
    ...     def __init__(self, rows): self.rows = rows
    >>> len(worth_merging([One(10) for _ in range(16)] + [One(1000)]))
    16
    >>> worth_merging([One(10) for _ in range(15)])
    []
    """
    found, smaller, rows, alike = 0, list[S](), 0, 0
    for one in sorted(segments, key=lambda segment: segment.rows):
        alike = alike + 1 if one.rows <= _SHARE * rows else 1
        smaller.append(one)
        rows += one.rows
        if alike >= MANY:
            found = len(smaller)
    return smaller[:found]
