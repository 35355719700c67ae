"""The audit log: one line of JSON for each decision, in a file of the owner's alone.

Promises: who writes one never waits; a line is one line of ASCII of bounded length, whatever a name
or an address holds; a full disk or queue loses lines, counts them, and tells the number in the next
line that gets through. Nothing of a statement's text or rows is written.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from accelerator.errors import ConfigError
from rewrite.text.printable import shortened

_log = logging.getLogger("accelerator.gateway")
_TEXT_MAX = 512
_WAITING_MAX = 10_000
_RETRY_S = 5.0


class Decision(Struct, frozen=True):
    """A decision of the policy. `object` of a denied one is the name in the statement's text.

    `login` is the user who logged in, if `user` is the one in whose name they ask.
    """

    user: str
    address: str
    action: str
    object: str
    allowed: bool
    statement: str = ""
    login: str = ""

    def line(self, seconds: float, dropped: int) -> bytes:
        """The line, with its time in UTC and how many lines were lost before it."""
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        told: dict[str, Any] = {
            "time": f"{whole}.{int(seconds % 1 * 1000):03d}Z",
            "user": shortened(self.user, _TEXT_MAX),
            "address": shortened(self.address, _TEXT_MAX),
            "action": shortened(self.action, _TEXT_MAX),
            "object": shortened(self.object, _TEXT_MAX),
            "allowed": self.allowed,
            "statement": shortened(self.statement, _TEXT_MAX),
        }
        if self.login and self.login != self.user:
            told["login"] = shortened(self.login, _TEXT_MAX)
        if dropped:
            told["dropped"] = dropped
        text = json.dumps(told, ensure_ascii=True, separators=(",", ":"))
        return text.replace("\x7f", "\\u007f").encode("ascii") + b"\n"


class Audit:
    """A log in a file, written by a thread of its own. Any thread may record."""

    def __init__(
        self,
        path: str | Path,
        *,
        bytes_max: int = 64 * 1024 * 1024,
        files: int = 10,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """ConfigError where the file can't be written now.

        Args:
            path: the newest file; older ones have `.1`, `.2` and so on behind.
            bytes_max: of one file; with the line that passes it a new one begins.
            files: how many there are at most, the newest among them.
            clock: seconds since 1970.
        """
        self._file = _File(Path(path), max(1, bytes_max), max(1, files))
        self._clock = clock
        self._queue: queue.Queue[tuple[float, Decision] | None] = queue.Queue(_WAITING_MAX)
        self._lock = threading.Lock()
        self._untold = 0
        self._lost = 0
        try:
            self._file.open()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ConfigError(
                f"the audit log {path} can't be written: {why}", hint="check path and rights"
            ) from error
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many lines were lost so far."""
        return self._lost

    def record(self, decision: Decision) -> None:
        """Hands it over; it's written soon, or counted as lost."""
        try:
            self._queue.put_nowait((self._clock(), decision))
        except queue.Full:
            self._lose()

    def flush(self) -> None:
        """Waits until all that was recorded before is written or lost."""
        self._queue.join()

    def close(self) -> None:
        """Writes what is left and ends the thread; nothing may be recorded from here on."""
        self._queue.put(None)
        self._thread.join()
        self._file.close()

    def _write_all(self) -> None:
        while (one := self._queue.get()) is not None:
            self._write(*one)
            self._queue.task_done()
        self._queue.task_done()

    def _write(self, seconds: float, decision: Decision) -> None:
        with self._lock:
            untold = self._untold
        try:
            self._file.write(decision.line(seconds, untold))
        except (OSError, ValueError) as error:  # ValueError: of a time that no calendar has
            self._lose(error)
            return
        with self._lock:
            self._untold -= untold

    def _lose(self, error: Exception | None = None) -> None:
        with self._lock:
            first = not self._untold
            self._untold += 1
            self._lost += 1
        if first:
            _log.warning("lines of the audit log are lost: %s", error or "too many wait")


class _File:
    """The newest file, and its successors in the past; of one thread."""

    def __init__(self, path: Path, bytes_max: int, files: int) -> None:
        self._path, self._bytes_max, self._files = path, bytes_max, files
        self._descriptor: int | None = None
        self._size = 0
        self._next_try = 0.0

    def open(self) -> None:
        """OSError where that fails; a link isn't followed, a line that was cut is ended."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            self._size = os.fstat(descriptor).st_size
            if self._size and os.pread(descriptor, 1, self._size - 1) != b"\n":
                self._size += os.write(descriptor, b"\n")
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def write(self, line: bytes) -> None:
        """The whole line or nothing of it; OSError where that fails."""
        if self._descriptor is None:
            self._reopen()
        if self._size and self._size + len(line) > self._bytes_max:
            self._rotate()
        descriptor = self._descriptor
        if descriptor is None:
            raise OSError("the file isn't open")
        try:
            written = os.write(descriptor, line)
        except OSError:
            self.close()
            raise
        if written != len(line):
            with suppress(OSError):
                os.ftruncate(descriptor, self._size)
            self.close()
            raise OSError("the disk is full")
        self._size += written

    def close(self) -> None:
        """Closes the file, if it's open."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = None

    def _reopen(self) -> None:
        """Tried now and then, since each try costs while the disk is full."""
        now = time.monotonic()
        if now < self._next_try:
            raise OSError("the file couldn't be opened a moment ago")
        self._next_try = now + _RETRY_S
        self.open()
        self._next_try = 0.0

    def _rotate(self) -> None:
        self.close()
        if self._files == 1:
            with suppress(FileNotFoundError):
                self._path.unlink()
        for number in range(self._files - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path
            if number > 1:
                newer = self._path.with_name(f"{self._path.name}.{number - 1}")
            with suppress(FileNotFoundError):
                newer.replace(older)
        self.open()
