"""What runs in a session now, in any thread, and how it's stopped."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from accelerator.engines.duckdb import DuckDBEngine
from accelerator.engines.source import SparkSource
from accelerator.interrupts import interruptible

_INSIST_S = 0.2


class Cancellation:
    """The tags under which statements and builds run; threads share it."""

    def __init__(self, duckdb: DuckDBEngine, spark: SparkSource) -> None:
        self._duckdb, self._spark = duckdb, spark
        self._tags: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def tracked(self, *, ctrl_c: bool = True) -> Iterator[str]:
        """A tag under which what runs inside can be cancelled; by Ctrl-C too, unless that's False.

        Then Ctrl-C is for who called: a daemon ends in its own way.
        """
        tag = f"acc-{uuid.uuid4().hex}"
        with self._lock:
            self._tags.add(tag)
        try:
            heard = interruptible(lambda: self.interrupt(tag)) if ctrl_c else nullcontext()
            with self._duckdb.stoppable(tag), heard:
                yield tag
        finally:
            with self._lock:
                self._tags.discard(tag)

    def interrupt(self, tag: str) -> None:
        """Stops what runs under the tag, in either engine or where it asks `check`."""
        self._duckdb.interrupt(tag)
        if self._spark.started:
            self._spark.engine().interrupt(tag)

    def check(self, tag: str) -> None:
        """CancelledError once what runs under the tag was told to stop."""
        self._duckdb.check(tag)

    def cancel(self) -> None:
        """Stops all that runs now."""
        with self._lock:
            tags = list(self._tags)
        for tag in tags:
            self.interrupt(tag)
        if tags:
            insist = threading.Thread(target=self._insist, args=(tags,), name="cancel", daemon=True)
            insist.start()

    def _insist(self, tags: list[str]) -> None:
        """Interrupts until all have ended: a job may be about to start, which none stops."""
        while self._tags.intersection(tags):
            for tag in self._tags.intersection(tags):
                with suppress(Exception):  # the engine may just be closing
                    self.interrupt(tag)
            threading.Event().wait(_INSIST_S)
