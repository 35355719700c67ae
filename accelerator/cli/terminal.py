"""Text for people on a terminal, and what becomes of output that can't be written.

Names, values and messages come from warehouses and stores. Promises: none of them moves the cursor,
names the window or turns the text round; a reader who goes ends the process quietly, and a full
disk with one line.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, NoReturn

import click

from rewrite.text.printable import printable

EXIT_PIPE = 141
"""As a shell tells of a process that SIGPIPE has ended."""
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FIRST_S, _FRAME_S = 0.2, 0.12
_FRAMES_A_LOOK = 4
_CLEAR = "\r\x1b[K"


def keep_standard_streams() -> None:
    """Files that are opened later don't get the numbers of standard streams that are closed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number, which is this


def say(text: str, *, err: bool = False) -> None:
    """Prints a line, or some, to standard output or standard error; controls are escaped."""
    told = printable(text)
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        if not err:
            _leave(OSError("it is closed"))
        return
    with _spinner.hidden():
        try:
            try:
                click.echo(told, err=err)
            except UnicodeEncodeError:  # a terminal of few letters
                click.echo(told.encode("ascii", "backslashreplace").decode(), err=err)
        except OSError as error:
            _nowhere(stream)
            if not err:
                _leave(error)


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Inside, Ctrl-C raises nothing in this process; what it starts has its own handler."""
    # One that does nothing isn't inherited, as being ignored would be.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def printing() -> Iterator[None]:
    """Inside, others than `say` print, and do nothing else with files."""
    try:
        yield
    except OSError as error:
        _nowhere(sys.stdout)
        _leave(error)


class ByteOutput:
    """Standard output for bytes, as a file that knows how many were written.

    Nothing is written after a failure, which ends the process as one of `say` does.
    """

    def __init__(self) -> None:
        if sys.stdout is None:
            _leave(OSError("it is closed"))
        self._stream = sys.stdout
        self._given, self._failed = 0, False
        self.closed = False

    def write(self, data: bytes) -> int:
        """Appends bytes."""
        size = memoryview(data).nbytes
        if not self._failed:
            self._done(lambda: self._stream.buffer.write(data))
        self._given += size
        return size

    def flush(self) -> None:
        """Hands on what was written."""
        if not self._failed:
            self._done(self._stream.flush)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._given

    def close(self) -> None:
        """Nothing more is written here; the stream itself stays open."""
        self.flush()
        self.closed = True

    def _done(self, act: Callable[[], object]) -> None:
        try:
            with _spinner.hidden():
                act()
        except OSError as error:
            self._failed = True
            _nowhere(self._stream)
            _leave(error)


def _nowhere(stream: IO[Any]) -> None:
    """What is still to be written goes nowhere, so that the interpreter's end tries in vain."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _leave(error: OSError) -> NoReturn:
    if isinstance(error, BrokenPipeError):
        raise SystemExit(EXIT_PIPE) from error
    why = error.strerror or error
    say(f"error [output_failed]: standard output can't be written: {why}", err=True)
    raise SystemExit(1) from error


class _Spinner:
    """A line on a terminal's standard error that says what is waited for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._drawn = False

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Inside, others may write."""
        with self._lock:
            self._write("")
            yield

    def turn(self, activity: Callable[[], str], ended: threading.Event) -> None:
        """Until it has ended, draws what `activity` says while it says something."""
        frame, said = 0, ""
        wait = _FIRST_S
        while not ended.wait(wait):
            wait = _FRAME_S
            if frame % _FRAMES_A_LOOK == 0:
                said = activity()
            with self._lock:
                if ended.is_set():
                    break
                self._write(f"{_FRAMES[frame % len(_FRAMES)]} {printable(said)} …" if said else "")
            frame += 1

    def _write(self, text: str) -> None:
        if not text and not self._drawn:
            return
        self._drawn = bool(text)
        with suppress(OSError, UnicodeEncodeError):
            sys.stderr.write(f"{_CLEAR}{text}")
            sys.stderr.flush()


_spinner = _Spinner()


@contextmanager
def spinning(activity: Callable[[], str]) -> Iterator[None]:
    """While the block runs a terminal shows what `activity` says, where it says something."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(
        target=_spinner.turn, args=(activity, ended), name="spinner", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        with _spinner.hidden():
            pass
