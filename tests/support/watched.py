"""A folder that the kernel watches: who opens, makes or deletes a file there is noticed.

Whoever does it, in whatever language: Python, DuckDB, Arrow or a process that was started.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_OPEN, _CREATE, _DELETE, _MOVED = 0x20, 0x100, 0x200, 0xC0
_NAME_AT = 16


class Watched:
    """Watches a folder until `close`; OSError where the kernel can't (it isn't Linux)."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "inotify_init1"):
            raise OSError("no inotify here")
        self._handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        mask = _OPEN | _CREATE | _DELETE | _MOVED
        if self._handle < 0 or libc.inotify_add_watch(self._handle, bytes(folder), mask) < 0:
            raise OSError(ctypes.get_errno(), "inotify refuses")

    def seen(self) -> list[str]:
        """The files that were touched since it was asked last; the folder itself is ''."""
        found = []
        while True:
            try:
                data = os.read(self._handle, 1 << 16)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                length = int.from_bytes(data[at + 12 : at + 16], "little")
                name = data[at + _NAME_AT : at + _NAME_AT + length]
                found.append(name.rstrip(b"\x00").decode())
                at += _NAME_AT + length

    def close(self) -> None:
        """Watches no longer."""
        os.close(self._handle)
