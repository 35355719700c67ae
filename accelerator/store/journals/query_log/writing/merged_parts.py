"""Of which files a merged one was made, so that no row is taken twice while both are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

_PART = re.compile(rb"([0-9a-f]{32}-[0-9]{6,12}):([0-9]{1,9}):([0-9]{1,18})", re.ASCII)


class WrittenLogFile(Struct, frozen=True):
    """A file as a process wrote it: `id` is its process and number, and `rows` how many it has.

    `lost` records of that process are in none, since the file before.
    """

    id: str
    rows: int
    lost: int


def parts_text(parts: Iterable[WrittenLogFile]) -> bytes:
    """The parts as the footer of a merged file has them."""
    return ",".join(f"{one.id}:{one.rows}:{one.lost}" for one in parts).encode()


def parts_of(text: bytes) -> tuple[WrittenLogFile, ...]:
    """The parts that a footer tells of. ValueError for what is no list of them, or has one twice.

    >>> parts_of(b"0123456789abcdef0123456789abcdef-000001:7:0")
    (Part(id='0123456789abcdef0123456789abcdef-000001', rows=7, lost=0),)
    """
    if not text:
        return ()
    found = [_PART.fullmatch(one) for one in text.split(b",")]
    parts = [
        WrittenLogFile(one[1].decode(), int(one[2]), int(one[3]))
        for one in found
        if one is not None
    ]
    if len(parts) != len(found) or len({one.id for one in parts}) != len(parts):
        raise ValueError("its parts can't be read")
    return tuple(parts)


def begins(parts: Sequence[WrittenLogFile]) -> list[tuple[WrittenLogFile, int]]:
    """Each part, and the row with which it begins."""
    found, row = [], 0
    for part in parts:
        found.append((part, row))
        row += part.rows
    return found
