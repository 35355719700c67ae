"""Readers of statements' rows, and what of a session's statements is still being read.

A reader that nobody has any more is closed by the next statement, not where Python finds it: what
frees it takes locks, and a collection of garbage may run in a thread that holds them.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Generator, Iterator
from typing import Any, Protocol

import pyarrow as pa

from accelerator.common.statement_metrics import Metrics
from accelerator.errors import CancelledError, EngineError
from rewrite.text.printable import some_of

Batches = Generator[pa.RecordBatch, None, None]


class ReaderWatch(Protocol):
    """Who is told what becomes of a reader; it raises nothing, and is told of one end."""

    def gave(self, batch: pa.RecordBatch, seconds: float) -> None:
        """The next batch, and how long it was worked on."""

    def ended(self, error: BaseException | None, *, whole: bool) -> None:
        """Why no batch comes any more; `whole`: the last one was given."""


class BatchReader:
    """A statement's rows, batch by batch, with the calls of `pyarrow.RecordBatchReader`.

    Closing it, or leaving its `with`, frees what the statement pins; so does reading to the end.
    An error is raised again by each later call, so that no part is taken for the whole. `metrics`
    are those of its plan: nobody has clocked what isn't read yet. Threads may share it. Whatever
    reads Arrow's C streams reads it: `pa.RecordBatchReader.from_stream(reader)`.
    """

    def __init__(self, schema: pa.Schema, metrics: Metrics, running: _Running) -> None:
        self._schema, self._running = schema, running
        self.metrics = metrics

    @property
    def schema(self) -> pa.Schema:
        """Of every batch: Spark's names and types."""
        return self._schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = self._running.next()
        if batch is None:
            raise StopIteration
        return batch

    def read_next_batch(self) -> pa.RecordBatch:
        """The next one; StopIteration after the last."""
        return next(self)

    def read_all(self) -> pa.Table:
        """All that haven't been read yet."""
        return pa.Table.from_batches(list(self), schema=self._schema)

    def watched_by(self, watch: ReaderWatch) -> None:
        """Tells it from now on; once, before a batch is asked for."""
        self._running.watch = watch

    def close(self) -> None:
        """Ends the statement, once a batch that another thread waits for has come."""
        self._running.close("the reader was closed")

    def __enter__(self) -> BatchReader:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "read or closed" if self._running.ended else "open"
        return f"<BatchReader of ({some_of(self._schema.names)}), {state}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self._schema, self)
        return reader.__arrow_c_stream__(requested_schema)


class _Running:
    """The batches of one statement, one thread at a time."""

    def __init__(self, batches: Batches) -> None:
        self._batches, self._lock = batches, threading.Lock()
        self._error: Exception | None = None
        self.ended = False
        self.watch: ReaderWatch | None = None

    def next(self) -> pa.RecordBatch | None:
        with self._lock:
            if self._error is not None:
                raise self._error
            began = time.perf_counter()
            try:
                batch = next(self._batches)
            except StopIteration:
                self._end(None, whole=True)
                return None
            except BaseException as error:
                if isinstance(error, Exception):
                    self._error = error
                else:
                    self._error = CancelledError("the reading was interrupted")
                self._end(error)
                raise
            if self.watch is not None:
                self.watch.gave(batch, time.perf_counter() - began)
            return batch

    def _end(self, error: BaseException | None, *, whole: bool = False) -> None:
        """Nothing more comes; the end is told once."""
        watch, self.watch, self.ended = self.watch, None, True
        if watch is not None:
            watch.ended(error, whole=whole)

    def close(self, why: str) -> None:
        with self._lock:
            self._batches.close()
            if not self.ended:
                self._error = EngineError(why, hint="open another stream")
                self._end(None)


class OpenStreams:
    """Those of one session; threads share it."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}
        self._left: deque[int] = deque()  # whose readers are gone
        self._numbers = itertools.count()

    def reader(self, schema: pa.Schema, metrics: Metrics, batches: Batches) -> BatchReader:
        """A reader of the batches."""
        number = next(self._numbers)
        running = self._running[number] = _Running(batches)
        made = BatchReader(schema, metrics, running)
        weakref.finalize(made, self._left.append, number).atexit = False
        return made

    def sweep(self) -> None:
        """Closes those whose readers are gone."""
        while self._left:
            try:
                running = self._running.pop(self._left.popleft(), None)
            except IndexError:  # another thread sweeps
                return
            if running is not None:
                running.close("the reader is gone")

    @property
    def is_any_read(self) -> bool:
        """Whether one hasn't come to its end."""
        return any(not one.ended for one in list(self._running.values()))

    def close(self) -> None:
        """Closes all: who reads on is told that the session was closed."""
        for number in list(self._running):
            running = self._running.pop(number, None)
            if running is not None:
                running.close("the session was closed")
