"""A file whose content is used until a newer one can be read: a broken one changes nothing.

The owner asks `reloaded()` now and then; nothing here waits or has a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from accelerator.errors import ConfigError

V = TypeVar("V")
_Signature = tuple[tuple[int, int, int] | None, ...]


class Reloaded(Struct, frozen=True):
    """What came of a look: whether another content is used now, and why a new one isn't.

    `error` is told once for each state of the files.
    """

    changed: bool = False
    error: ConfigError | None = None


_SAME = Reloaded()


class Watched(Generic[V]):
    """The newest content of files that could be read. Threads may share it."""

    def __init__(self, paths: Sequence[Path], load: Callable[[], V]) -> None:
        """Reads the files; raises the ConfigError of `load` where that fails."""
        self._paths, self._load = tuple(paths), load
        self._lock = threading.Lock()
        self._signature = self._signed()
        self._value = load()
        self.error: ConfigError | None = None
        """Why the files as they are now aren't used; None where they are."""

    @property
    def value(self) -> V:
        """The content."""
        return self._value

    def reloaded(self) -> Reloaded:
        """Reads the files again where their times, sizes or inodes are others than before."""
        with self._lock:
            signature = self._signed()
            if signature == self._signature:
                return _SAME
            # Taken before the files are read: what changes meanwhile is read by the next look.
            self._signature = signature
            try:
                value = self._load()
            except ConfigError as error:
                self.error = error
                return Reloaded(error=error)
            self._value, self.error = value, None
            return Reloaded(changed=True)

    def _signed(self) -> _Signature:
        return tuple(map(_signature, self._paths))


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
