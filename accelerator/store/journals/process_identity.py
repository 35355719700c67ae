"""A process as another one of the same machine can recognise it: does it still live?

Promise: who is said to be gone is gone. Of another machine, another container, or a system that
doesn't tell, nothing is said.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_PROC = Path("/proc")
_IDENTITY = re.compile(r"linux ([0-9a-f-]{36}) (\d{1,20}) (\d{1,10}) (\d{1,20})")
_ENDED = frozenset("ZX")
"""States of a process that has ended, and that its parent hasn't asked for yet."""


def identity() -> str:
    """This process: the machine's start, the room that its number counts in, number, start.

    Empty where the system doesn't tell.
    """
    room, pid = _room(), os.getpid()
    found = _state(pid)
    return "" if room is None or found is None else f"linux {room[0]} {room[1]} {pid} {found[1]}"


def is_gone(told: str) -> bool:
    """Whether the process of that identity surely has ended."""
    match = _IDENTITY.fullmatch(told)
    room = None if match is None else _room()
    if match is None or room is None or room != (match[1], match[2]):
        return False
    try:
        found = _state(int(match[3]))
    except PermissionError:
        return False
    return found is None or found[1] != match[4] or found[0] in _ENDED


def _room() -> tuple[str, str] | None:
    """This start of the machine, and the namespace of its numbers of processes."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return boot, str((_PROC / "self/ns/pid").stat().st_ino)
    except (OSError, ValueError):
        return None


def _state(pid: int) -> tuple[str, str] | None:
    """The state of a process and when it began, in ticks since the machine did; None: it's gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[19]
