"""Says what a bench is doing: a spinner on a terminal, plain lines when output goes to a file."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

Tell = Callable[[str], None]
_LINE_EVERY_S = 10.0


class Steps:
    """Shows one step after another, with how long each took."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Tell]:
        """Runs a step; what it yields takes a few words on how far the step is."""
        start = time.perf_counter()
        if self.console.is_terminal:
            with self.console.status(text) as status:
                yield lambda detail: status.update(f"{text} [dim]{detail}[/]")
        else:
            self.console.print(f"… {text}", highlight=False)
            yield self._slow_lines()
        seconds = time.perf_counter() - start
        self.console.print(f"[green]✓[/] {text} [dim]({seconds:.1f} s)[/]", highlight=False)

    def _slow_lines(self) -> Tell:
        last = time.perf_counter()

        def tell(detail: str) -> None:
            nonlocal last
            if time.perf_counter() - last >= _LINE_EVERY_S:
                last = time.perf_counter()
                self.console.print(f"  {detail}", highlight=False)

        return tell


@contextlib.contextmanager
def noise_into(log: Path) -> Iterator[None]:
    """Sends stderr, the JVM's too, into a file: Spark's start-up chatter hides what matters.

    It works on the file descriptor because a child process inherits that. On an error the end of
    the log is shown after all.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    failed = True
    try:
        yield
        failed = False
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        if failed:
            tail = log.read_text(errors="replace").splitlines()[-15:]
            print(f"The end of {log}:", *tail, sep="\n  ", file=sys.stderr)
