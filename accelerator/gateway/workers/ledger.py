"""A worker's ledger: memory that it shares with the gateway, and that outlives it.

The worker notes which statement each of its threads runs; behind the notes the interpreter writes
where a fatal signal met it. So the gateway can read, after any death, what ran then. Notes cost a
copy of 24 bytes, and no message.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import re
import signal
import struct
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

_NOTE = struct.Struct("=QQQ")
_REPORT_MAX = 32 * 1024
_STACK_BYTES = 64 * 1024
_CURRENT = re.compile(r"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
DUMP_SIGNAL = signal.SIGUSR1
"""Makes a worker append the places of all its threads to its ledger, whatever holds its lock."""


class Note(Struct, frozen=True):
    """The thread that runs a statement: Python's identifier, and the system's."""

    ident: int
    tid: int


class StatementLedger:
    """The gateway's end: made before the worker, closed after its death was judged."""

    def __init__(self, threads: int) -> None:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("worker-ledger")
        else:
            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())
        self._size = -(-_NOTE.size * threads // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(self.fd, self._size)
        self._notes = mmap.mmap(self.fd, self._size, prot=mmap.PROT_READ)

    def running(self) -> dict[int, Note]:
        """The statements that run, or ran when the worker died, by number."""
        if self._notes.closed:
            return {}
        found = {}
        for at in range(0, self._size - _NOTE.size + 1, _NOTE.size):
            number, ident, tid = _NOTE.unpack_from(self._notes, at)
            if number:
                found[number] = Note(ident, tid)
        return found

    def report(self) -> str:
        """Returns the interpreter's report of the death; empty if there is none."""
        if self._notes.closed:
            return ""
        return os.pread(self.fd, _REPORT_MAX, self._size).decode(errors="replace")

    def close(self) -> None:
        """Frees the memory."""
        if not self._notes.closed:
            self._notes.close()
            os.close(self.fd)


def crashed_thread(report: str) -> int | None:
    r"""The identifier of the thread that a fatal signal met; None if the report doesn't name it.

    >>> crashed_thread("Fatal Python error: Aborted\n\nCurrent thread 0x1f (most recent call")
    31
    """
    found = _CURRENT.search(report) if report.startswith("Fatal Python error") else None
    return None if found is None else int(found[1], 16)


class Notes:
    """The worker's end."""

    def __init__(self, fd: int) -> None:
        """Opens the ledger, and has fatal signals reported in it."""
        self._fd = fd
        self._size = os.fstat(fd).st_size
        self._memory = mmap.mmap(fd, self._size)
        self._places: dict[int, int] = {}
        self._lock = threading.Lock()
        os.lseek(fd, self._size, os.SEEK_SET)
        faulthandler.enable(file=fd, all_threads=True)
        faulthandler.register(DUMP_SIGNAL, file=fd, all_threads=True)

    @contextmanager
    def noted(self, number: int) -> Iterator[None]:
        """While it's inside, this thread runs the statement of that number."""
        ident = threading.get_ident()
        at = self._places.get(ident)
        if at is None:
            with self._lock:
                at = self._places[ident] = _NOTE.size * len(self._places)
        if at + _NOTE.size > self._size:  # more threads than the gateway has asked for
            yield
            return
        _NOTE.pack_into(self._memory, at, number, ident, threading.get_native_id())
        try:
            yield
        finally:
            _NOTE.pack_into(self._memory, at, 0, 0, 0)

    def end_unless_renewed(self, seconds: float) -> None:
        """Ends the process after so many seconds, unless it's called again before.

        A process whose interpreter hangs doesn't notice that its gateway is gone.
        """
        faulthandler.dump_traceback_later(seconds, file=self._fd, exit=True)


class _Stack(ctypes.Structure):
    _fields_ = (
        ("sp", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("size", ctypes.c_size_t),
    )


_stacks = threading.local()


def report_overflows() -> None:
    """Gives this thread a second stack, on which an overflow of its first one is reported."""
    if not sys.platform.startswith("linux"):
        return
    memory = ctypes.create_string_buffer(_STACK_BYTES)
    stack = _Stack(ctypes.cast(memory, ctypes.c_void_p).value, 0, _STACK_BYTES)
    if ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0:
        _stacks.memory = memory  # as long as the thread lives
