"""What runs in a session now, in any thread, and how it's stopped."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress

from msgspec import Struct, field

from accelerator.common.interrupts import interruptible, looking
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.spark.lazy_engine import SparkSource
from accelerator.errors import CancelledError, ConfigError, StatementTimeoutError

_INSIST_S = 0.2


class _Limit(Struct):
    """Of one statement: the tags that ran under it, whether its time is up and it has ended."""

    tags: set[str] = field(default_factory=set)
    is_up: bool = False
    ended: bool = False
    outer: _Limit | None = None

    def chain(self) -> Iterator[_Limit]:
        """It, and those around it."""
        one: _Limit | None = self
        while one is not None:
            yield one
            one = one.outer


def new_tag() -> str:
    """One that no other work has."""
    return f"acc-{uuid.uuid4().hex}"


def check_limit(seconds: float) -> None:
    """ConfigError for what is no time that a statement may take."""
    sound = isinstance(seconds, int | float) and 0 <= seconds <= threading.TIMEOUT_MAX
    if not sound:
        raise ConfigError(f"timeout_s is {seconds}", hint="it must be seconds, 0 or more")


class TimeBudget:
    """Seconds that the pieces of a statement's work may take together; 0: as long as they need."""

    def __init__(self, cancellation: Cancellation, seconds: float) -> None:
        check_limit(seconds)
        self._cancellation, self._seconds, self._left = cancellation, seconds, seconds

    @contextmanager
    def spent(self) -> Iterator[None]:
        """What this thread runs inside is a piece; StatementTimeoutError once they took longer."""
        if self._seconds and self._left <= 0:  # the piece before ended as its time did
            raise _time_is_up(self._seconds)
        since = time.monotonic()
        try:
            with self._cancellation.within(self._left, of=self._seconds):
                yield
        finally:
            if self._seconds:
                self._left -= time.monotonic() - since


class Cancellation:
    """The tags under which statements and builds run; threads share it."""

    def __init__(self, duckdb: DuckDBEngine, spark: SparkSource) -> None:
        self._duckdb, self._spark = duckdb, spark
        self._tags: set[str] = set()
        self._lock = threading.Lock()
        self._local = threading.local()

    @contextmanager
    def tracked(self, tag: str | None = None, *, ctrl_c: bool = True) -> Iterator[str]:
        """A tag under which what runs inside can be cancelled; by Ctrl-C too, unless that's False.

        Then Ctrl-C is for who called: a daemon ends in its own way. The tag of work that is done
        piece by piece is given.
        """
        tag = new_tag() if tag is None else tag
        limits = list(self._limits())
        with self._lock:
            self._tags.add(tag)
            for limit in limits:
                limit.tags.add(tag)
        try:
            if any(limit.is_up for limit in limits):
                raise CancelledError("the statement was stopped, or its time is up")
            heard = interruptible(lambda: self.interrupt(tag)) if ctrl_c else nullcontext()
            with self._duckdb.stoppable(tag), heard, looking(lambda: self.check(tag)):
                yield tag
        finally:
            with self._lock:
                self._tags.discard(tag)

    @contextmanager
    def within(self, seconds: float, *, of: float | None = None) -> Iterator[None]:
        """What this thread runs inside is stopped after so many seconds; 0: never.

        StatementTimeoutError then; it names the whole limit where these are left `of` it. Work that
        has no tag, such as planning, goes on to its end.
        """
        check_limit(seconds)
        if not seconds:
            yield
            return
        with self._limited() as limit:
            timer = threading.Timer(seconds, self._end, (limit,))
            timer.daemon = True
            timer.start()
            try:
                yield
            except CancelledError as error:
                if not limit.is_up:
                    raise
                raise _time_is_up(of or seconds) from error
            finally:
                timer.cancel()

    @contextmanager
    def stoppable(self) -> Iterator[Callable[[], None]]:
        """What this thread runs inside is stopped once the function that is given is called.

        From any thread, at any time, as often as one likes; it returns at once. CancelledError then
        in the thread that runs. Work that has no tag, such as planning, goes on to its end.
        """
        with self._limited() as limit:

            def stop() -> None:
                if not limit.is_up and not limit.ended:
                    ending = threading.Thread(target=self._end, args=(limit,), daemon=True)
                    limit.is_up = True
                    ending.start()

            yield stop

    @contextmanager
    def _limited(self) -> Iterator[_Limit]:
        outer = getattr(self._local, "limit", None)
        limit = self._local.limit = _Limit(outer=outer)
        try:
            yield limit
        finally:
            limit.ended, self._local.limit = True, outer

    def _limits(self) -> Iterator[_Limit]:
        """Those under which this thread runs."""
        limit: _Limit | None = getattr(self._local, "limit", None)
        return iter(()) if limit is None else limit.chain()

    def _end(self, limit: _Limit) -> None:
        limit.is_up = True
        while not limit.ended:
            with self._lock:
                tags = limit.tags & self._tags
            for tag in tags:
                with suppress(Exception):  # the engine may just be closing
                    self.interrupt(tag)
            threading.Event().wait(_INSIST_S)

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


def _time_is_up(seconds: float) -> StatementTimeoutError:
    return StatementTimeoutError(
        f"the statement has taken longer than {seconds:g} s, and was stopped",
        hint="timeout_s says how long one may take; 0: as long as it needs",
    )
