"""Ctrl-C while an engine works: stops that work, then raises KeyboardInterrupt, and nothing else.

DuckDB doesn't look at signals while it runs. PySpark's own handler talks to the JVM over the very
connection that waits for the answer, which fails, leaves the jobs running and hides the interrupt
behind another error. So for the time of a statement in the main thread the handler is ours, and
the one who stops the work is a thread, woken through the signal module's wakeup descriptor.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_INSIST_S = 0.2


class _MainThreadWatch:
    """The running work of the main thread, innermost last, and whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.stops: list[Callable[[], None]] = []
        self.pressed = threading.Event()
        self.forward = -1
        self._ears: tuple[socket.socket, socket.socket] | None = None
        self._pid = 0

    def wakeup(self) -> int:
        """The descriptor to write signals to; its listener is started once per process."""
        if self._ears is None or self._pid != os.getpid():  # a fork has no threads
            self._ears, self._pid = socket.socketpair(), os.getpid()
            self._ears[1].setblocking(False)
            threading.Thread(target=self._listen, name="interrupts", daemon=True).start()
        return self._ears[1].fileno()

    def _listen(self) -> None:
        assert self._ears is not None
        ear = self._ears[0]
        while signals := ear.recv(64):
            if self.forward >= 0:  # asyncio, say, listens too
                with suppress(OSError):
                    os.write(self.forward, signals)
            if signal.SIGINT in signals:
                self.pressed.set()
                self._insist()

    def _insist(self) -> None:
        """Stops until the work has ended: a job may be about to start, which no stop reaches."""
        while self.stops and self.pressed.is_set():
            for stop in self.stops[-1:]:
                with suppress(Exception):  # the engine may just be closing; the next round tells
                    stop()
            threading.Event().wait(_INSIST_S)


_watch = _MainThreadWatch()
_here = threading.local()


@contextmanager
def looking(check: Callable[[], None]) -> Iterator[None]:
    """What this thread waits for inside is told by `look_up` when nobody wants it any more."""
    before: Callable[[], None] | None = getattr(_here, "check", None)
    _here.check = check
    try:
        yield
    finally:
        _here.check = before


def look_up() -> None:
    """For waiting that no engine ends: raises what the work is to end with, if it is to."""
    check: Callable[[], None] | None = getattr(_here, "check", None)
    if check is not None:
        check()


@contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C inside calls `stop` from another thread; once the work has ended it's raised.

    A second Ctrl-C is raised at once. In other threads than the main one this does nothing.
    """
    if not _listens():
        yield
        return
    outermost = not _watch.stops
    _watch.stops.append(stop)
    try:
        if outermost:
            with _handled():
                yield
        else:
            yield
    finally:
        _watch.stops.remove(stop)


def _listens() -> bool:
    """Whether this is the main thread, and Ctrl-C isn't ignored or handled outside of Python."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return callable(signal.getsignal(signal.SIGINT))


@contextmanager
def _handled() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    _watch.pressed.clear()
    seen: list[int] = []

    def handler(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt

    _watch.forward = signal.set_wakeup_fd(_watch.wakeup(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    except BaseException as error:
        if seen or _watch.pressed.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(_watch.forward, warn_on_full_buffer=False)
        if seen:  # the thread may hear of it late, and would stop what comes next
            _watch.pressed.wait(_INSIST_S)
        _watch.pressed.clear()
    if seen:
        raise KeyboardInterrupt
