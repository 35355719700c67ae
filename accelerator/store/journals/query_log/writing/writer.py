"""Writes the log: records wait in memory, and a thread makes files of them.

Promises: `add` waits for nothing and raises nothing; a file is whole or not there; a process that
is killed loses what it hadn't written yet, at most the records of one interval; no record is
written twice. A store that fails is tried again ever more seldom, meanwhile the newest records are
kept, and how many were lost stands in the next file.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.config.config import Config
from accelerator.errors import UNFIT, AcceleratorError
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.paths import path_of
from accelerator.store.journals.query_log.record import READ_MAX, ROWS_MAX, LogRecord
from accelerator.store.journals.query_log.writing.backlog import Backlog
from accelerator.store.journals.query_log.writing.retention import trim

if TYPE_CHECKING:
    from accelerator.store.journals.query_log.encoding.encode import Encoded

_log = logging.getLogger("accelerator")
_AHEAD_US = 3_600_000_000
"""Names go on from a time that is ahead of the clock by no more."""
_RETRY_MAX_S = 600.0
_TRIM_S = 3600.0
_INTERVAL_MIN_S = 0.1
_EXIT_S = 2.0
_MERGED_MAX = 200
"""Files that a writer merges at once: it has others to answer."""
_MIB = 1024**2


class Limits(Struct, frozen=True, kw_only=True):
    """How often files are written, what may wait in memory, and how much of the log stays.

    `interval_s` in seconds; `file_records` are written at once, without waiting for it. `log_days`
    and `log_bytes_max` bound what is kept in the store, by all processes; 0: no bound.
    """

    interval_s: float = 30.0
    file_records: int = 1000
    file_chars: int = 8 * _MIB
    backlog_records: int = 10_000
    backlog_chars: int = 32 * _MIB
    log_days: float = 14.0
    log_bytes_max: int = 1024 * _MIB

    @classmethod
    def of(cls, config: Config) -> Limits:
        """As a session's settings say."""
        return cls(
            interval_s=max(config.query_log_interval_s, _INTERVAL_MIN_S),
            log_days=config.query_log_days,
            log_bytes_max=config.query_log_bytes_max,
        )


class WriterFigures(Struct, frozen=True):
    """Figures of one process's log: records and files written, records lost, the last failure."""

    records: int
    files: int
    lost: int
    waiting: int
    failure: str | None


def tidy(
    files: StoreFiles,
    limits: Limits,
    *,
    now_us: int,
    files_max: int = 5000,
    age_us: int | None = None,
) -> None:
    """Deletes what is beyond the bounds and merges at most so many small files.

    They are left alone until the storage has had them for `age_us` microseconds, by default an
    hour. StoreError where the store can't be used.
    """
    from accelerator.store.journals.query_log.writing.merging import (  # imports parts of Arrow
        AGE_US,
        merge,
    )

    trim(files, days=limits.log_days, bytes_max=limits.log_bytes_max, now_us=now_us)
    age_us = AGE_US if age_us is None else age_us
    merge(files, now_us=now_us, files_max=files_max, age_us=age_us)


class QueryLog:
    """The log of one process in one store; threads share it. Its own thread starts with `add`.

    A fork's child begins with an empty log under another name; what waited is the parent's.
    `clock` is monotonic, in seconds; `now_us` is Unix time in microseconds.
    """

    def __init__(
        self,
        files: StoreFiles,
        limits: Limits | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._files, self._limits = files, limits or Limits()
        self._clock, self._now_us = clock, now_us
        self._file_records = max(1, min(self._limits.file_records, ROWS_MAX // 10))
        self._closed = False
        self._begin()
        _logs.add(self)

    def _begin(self) -> None:
        """Everything that a process has of its own."""
        self._process, self._number, self._last_us = uuid.uuid4().hex, 0, 0
        self._backlog = Backlog(self._limits.backlog_records, self._limits.backlog_chars)
        self._pending: tuple[str, Encoded] | None = None
        self._writing: list[LogRecord] = []
        self._records = self._files_written = self._failures = 0
        self._failure: str | None = None
        self._retry_s, self._trim_s = -float("inf"), self._clock() + _TRIM_S
        self._wake, self._starting = threading.Event(), threading.Lock()
        self._answered = threading.Condition()
        self._asked = self._done = 0
        self._is_through = True
        self._thread: threading.Thread | None = None

    # Hot path

    def add(self, record: LogRecord) -> None:
        """Takes a record; it's written later. Of long statements the beginning is kept."""
        if self._closed:
            self._backlog.lose(1)
            return
        try:
            if len(record.sql) > READ_MAX:
                record = replace(record, sql=record.sql[:READ_MAX], sql_length=len(record.sql))
            waiting = self._backlog.add(record)
        except UNFIT:  # a field of another type
            self._backlog.lose(1)
            return
        if waiting % self._file_records == 0:
            self._wake.set()
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                thread = threading.Thread(target=self._run, name="query-log", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # the machine has no more, or Python is ending
                    _log.warning("the query log has no thread: %s", error)
                    return
                self._thread = thread

    # Asked by others

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Writes what waits; whether all that was added before is in the store."""
        if not self._is_behind:
            return True
        self._start()
        with self._answered:
            self._asked += 1
            asked = self._asked
            self._wake.set()
            self._answered.wait_for(lambda: self._done >= asked, timeout_s)
            ended = self._thread is None or not self._thread.is_alive()
            return self._done >= asked and (not self._is_behind if ended else self._is_through)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Writes what waits and ends the thread; False where that took longer, or failed.

        What is added later is lost.
        """
        ends = time.monotonic() + timeout_s
        self.flush(timeout_s)
        self.leave()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, ends - time.monotonic()))
        return not self._is_behind

    def leave(self) -> None:
        """As `close`, but nobody waits."""
        self._closed = True
        self._wake.set()

    def waiting(self) -> list[LogRecord]:
        """What isn't in the store yet."""
        writing = self._writing
        return [*writing, *self._backlog.all()]

    def written(self) -> WriterFigures:
        """What it has done so far."""
        waiting = len(self._backlog) + (self._pending[1].rows if self._pending else 0)
        lost = self._backlog.lost
        return WriterFigures(self._records, self._files_written, lost, waiting, self._failure)

    @property
    def _is_behind(self) -> bool:
        return len(self._backlog) > 0 or self._pending is not None

    # The thread

    def _run(self) -> None:
        try:
            while self._round():
                pass
        finally:
            if not self._closed:  # by a fault that nobody foresaw: the next record starts another
                self._thread = None
            with self._answered:
                self._done = self._asked
                self._answered.notify_all()

    def _round(self) -> bool:
        """One interval, or less where somebody waits; whether there's another one."""
        self._wake.wait(self._limits.interval_s)
        self._wake.clear()
        closed, asked = self._closed, self._asked
        try:
            self._is_through = self._write(forced=closed or asked > self._done)
        finally:
            with self._answered:
                self._done = asked
                self._answered.notify_all()
        if closed:
            self._tidy_behind()
        else:
            self._trim()
        return not closed

    def _write(self, *, forced: bool) -> bool:
        """Writes all that waits now, file after file, until one fails; whether none did.

        What comes meanwhile waits for the next round, or each file would be smaller than the last.
        """
        if not forced and self._clock() < self._retry_s:
            return False
        left = len(self._backlog)
        while self._pending is not None or left > 0:
            if self._pending is None:
                left -= self._take()
            if self._pending is not None and not self._put():
                return False
        return True

    def _take(self) -> int:
        """Makes the next file's bytes, of so many records.

        They and their name stay the same until they're written.
        """
        from accelerator.store.journals.query_log.encoding.encode import (
            encoded,  # imports parts of Arrow
        )

        limits = self._limits
        records, lost = self._backlog.take(self._file_records, limits.file_chars)
        try:
            made = encoded(records, lost)
        except (AcceleratorError, OSError, MemoryError, *UNFIT) as error:
            self._backlog.lose(len(records), untold=len(records) + lost)
            self._fail(error)
            return max(1, len(records))
        if made.refused:
            _log.warning("the query log: %d records have values of other types", made.refused)
            self._backlog.lose(made.refused, untold=0 if made.rows else made.refused + lost)
        if made.rows:
            self._pending, self._writing = (self._named(made), made), records
        return max(1, len(records))

    def _named(self, made: Encoded) -> str:
        """The file's name, not before the last one's, unless that was far ahead of the clock."""
        now_us = self._now_us()
        last = self._last_us if self._last_us <= now_us + _AHEAD_US else 0
        self._last_us = max(now_us, made.newest_us, last)
        self._number += 1
        return path_of(self._last_us, made.oldest_us, self._process, self._number)

    def _put(self) -> bool:
        """Writes the file; whether that worked.

        A name that is taken is this very file's: no other process has the name, and a try before
        may have failed when the file stood.
        """
        assert self._pending is not None
        path, made = self._pending
        try:
            self._files.create(path, made.data)
        except (AcceleratorError, OSError, MemoryError, *UNFIT) as error:
            self._fail(error)
            return False
        self._pending, self._writing = None, []
        self._records += made.rows
        self._files_written += 1
        if self._failures:
            _log.warning("the query log is written again; %d records lost", self._backlog.lost)
        self._failures, self._failure, self._retry_s = 0, None, -float("inf")
        return True

    def _fail(self, error: BaseException) -> None:
        """Told once, until it works again; tried again after ever longer times."""
        self._failure = f"{type(error).__name__}: {error}".splitlines()[0]
        self._failures += 1
        wait_s = min(self._limits.interval_s * 2 ** min(self._failures, 10), _RETRY_MAX_S)
        self._retry_s = self._clock() + wait_s
        if self._failures == 1:
            _log.warning("the query log can't be written, and is tried again: %s", self._failure)

    def _trim(self) -> None:
        if self._clock() < self._trim_s or not self._files_written:
            return
        self._trim_s = self._clock() + _TRIM_S
        try:
            tidy(self._files, self._limits, now_us=self._now_us(), files_max=_MERGED_MAX)
        except (AcceleratorError, OSError, MemoryError, *UNFIT) as error:
            _log.info("old files of the query log are left: %s", error)

    def _tidy_behind(self) -> None:
        """What processes have left that lived for no hour, once all of this one's is written."""
        if not self._files_written or self._is_behind:
            return
        from accelerator.store.journals.query_log.writing.close import looks, tidy_crowd

        if looks(self._process):
            now_us = self._now_us()
            tidied = partial(tidy, self._files, self._limits, now_us=now_us)
            tidy_crowd(self._files, tidied, now_us=now_us)

    def _forked(self) -> None:
        self._begin()


_logs: weakref.WeakSet[QueryLog] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_logs):
        one._forked()


def _at_exit() -> None:
    """What sessions that nobody has closed were asked is written, if that takes no long time."""
    open_logs = [one for one in list(_logs) if not one._closed]
    for one in open_logs:
        one.leave()
    ends = time.monotonic() + _EXIT_S
    for thread in [one._thread for one in open_logs]:
        if thread is not None:
            thread.join(max(0.0, ends - time.monotonic()))


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
