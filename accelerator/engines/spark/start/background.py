"""Something slow that is started once, while those who need it can stop waiting for it.

Promises: what was begun goes on to its end though nobody waits any more, so that who asks again
finds it further; a failure is told to those who wait, and the next who asks begins anew; once it's
left nobody gets it, and it's undone when it comes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from accelerator.common.interrupts import look_up
from accelerator.errors import EngineError

_LOOK_S = 0.05
T = TypeVar("T")


class Background(Generic[T]):
    """One start. Its thread doesn't keep the process from ending."""

    def __init__(self, make: Callable[[], T], undo: Callable[[T], None]) -> None:
        self._make, self._undo = make, undo
        self._made: T | None = None
        self._error: BaseException | None = None
        self._left, self._lock = False, threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="spark-start", daemon=True).start()

    @property
    def failed(self) -> bool:
        """Whether it has ended without a value."""
        return self._error is not None

    def wait(self) -> T:
        """What was made. Ctrl-C, a time limit or a cancelled statement end the waiting alone."""
        while not self._ended.wait(_LOOK_S) and not self._left:
            look_up()
        if self._error is not None:
            raise self._error
        if self._made is None:
            raise EngineError("the session was closed", hint="open or attach a session once more")
        return self._made

    def leave(self) -> None:
        """Nobody needs it any more."""
        with self._lock:
            self._left = True
            made, self._made = self._made, None
        if made is not None:
            self._undo(made)

    def _run(self) -> None:
        try:
            made = self._make()
        except BaseException as error:  # raised again where it's waited for
            self._error = error
        else:
            with self._lock:
                left = self._left
                if not left:
                    self._made = made
            if left:
                self._undo(made)
        self._ended.set()
