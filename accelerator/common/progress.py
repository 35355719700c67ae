"""How far a build or bench has come: a bar on a terminal, plain lines elsewhere, or nothing.

The library is silent by default (`SilentProgress`); `progress_for` picks for commands. A reporter
never fails its work: it only writes text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

SECONDS_BETWEEN_LINES = 5.0


class Progress(Protocol):
    """Told by the work what it does; `finish` is called once, also when the work fails."""

    def start(self, total: int, what: str) -> None:
        """Begins `total` steps of `what`; ends the steps before, if any."""
        ...

    def advance(self, n: int = 1) -> None:
        """That many steps more are done."""
        ...

    def finish(self) -> None:
        """Nothing more comes."""
        ...


class SilentProgress:
    """Says nothing."""

    def start(self, total: int, what: str) -> None:
        """See `Progress.start`."""

    def advance(self, n: int = 1) -> None:
        """See `Progress.advance`."""

    def finish(self) -> None:
        """See `Progress.finish`."""


class BarProgress:
    """A bar with the time left, for a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: RichProgress | None = None

    def start(self, total: int, what: str) -> None:
        """See `Progress.start`."""
        self.finish()
        self._bar = _bar(self._stream)
        self._bar.add_task(what, total=total)
        self._bar.start()

    def advance(self, n: int = 1) -> None:
        """See `Progress.advance`."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], n)

    def finish(self) -> None:
        """See `Progress.finish`."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar(stream: TextIO) -> RichProgress:
    from rich import progress as rich  # costs 40 ms, of which most sessions need none
    from rich.console import Console

    return rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
        console=Console(file=stream),
    )


class LineProgress:
    """A plain line now and then, for logs: the first, one every few seconds, and the last."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._what, self._total, self._done = "", 0, 0
        self._began = self._said = 0.0
        self._running = False

    def start(self, total: int, what: str) -> None:
        """See `Progress.start`."""
        self.finish()
        self._what, self._total, self._done = what, total, 0
        self._began, self._running = self._clock(), True
        self._say()

    def advance(self, n: int = 1) -> None:
        """See `Progress.advance`."""
        self._done += n
        if self._running and self._clock() - self._said >= SECONDS_BETWEEN_LINES:
            self._say()

    def finish(self) -> None:
        """See `Progress.finish`."""
        if self._running:
            self._running = False
            self._say(f", {self._clock() - self._began:.1f} s")

    def _say(self, ending: str = "") -> None:
        self._said = self._clock()
        self._stream.write(f"{self._what}: {self._done} of {self._total}{ending}\n")
        self._stream.flush()


def progress_for(stream: TextIO | None = None) -> Progress:
    """The reporter that suits a stream (standard error by default)."""
    target = stream or sys.stderr
    return BarProgress(target) if target.isatty() else LineProgress(target)
