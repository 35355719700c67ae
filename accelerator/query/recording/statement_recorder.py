"""What one session is asked, for the query log: a statement from its text to its last row.

While a statement runs nothing is done for the log but to look at clocks and to keep what is at
hand; its text is looked at later, by the thread that writes. Nothing here makes a statement fail.
"""

from __future__ import annotations

import logging
import os
import re
import time
import uuid
from contextvars import Token
from itertools import count
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any

from accelerator.common.statement_metrics import Metrics
from accelerator.errors import UNFIT, AcceleratorError, CancelledError, StatementTimeoutError
from accelerator.query.recording.plan_observers import add_observer, remove_observer
from accelerator.query.recording.redacted_values import without_values
from accelerator.store.journals.query_log.record import LIST_MAX, LogRecord, State, figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    import pyarrow as pa

    from accelerator.planning.plans import Plan
    from accelerator.query.parameters import Parameters
    from accelerator.query.results.batch_readers import BatchReader
    from accelerator.query.results.result import Result

_log = logging.getLogger("accelerator")
_MESSAGE_MAX = 8192
_IDS = count()
_FAULTS = (AcceleratorError, AssertionError, OSError, MemoryError, RuntimeError, *UNFIT)
_OF_SPARK = re.compile(r"\s*\[[A-Z][A-Z0-9_.]*\]")


class StatementRecorder:
    """One statement; what happens within its `with` is its doing.

    It's told once: when the `with` is left, or, where a reader was given out, when that ends.
    """

    __slots__ = (
        "_began",
        "_dialect",
        "_figures",
        "_framed",
        "_given",
        "_params",
        "_started_us",
        "_streams",
        "_tell",
        "_token",
        "_working_s",
        "plan",
        "source",
        "sql",
        "user",
    )

    def __init__(
        self,
        tell: Callable[[LogRecord], None],
        sql: str,
        dialect: str,
        user: str | None,
        source: str | None,
        params: Parameters | None = None,
    ) -> None:
        self._tell, self._dialect, self._params = tell, dialect, params
        self.sql, self.user, self.source = sql, user, source
        self.plan: Plan | None = None
        self._figures: Metrics | None = None
        self._given: tuple[int, int] | None = None
        self._streams, self._framed, self._working_s = False, False, 0.0
        self._token: Token[Any] | None = None

    def __enter__(self) -> StatementRecorder:
        self._started_us, self._began = time.time_ns() // 1000, time.perf_counter()
        self._token = add_observer(self._planned)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        if self._token is not None:
            remove_observer(self._token)
        if error is not None or not self._streams:
            self._end(error)

    def _planned(self, _sql: str, plan: Plan) -> None:
        self.plan = plan

    def answered(self, answer: Result) -> Result:
        """It's answered whole."""
        self._figures = answer.metrics
        table = answer.arrow()
        # What its buffers take: `nbytes` looks at slices too, for a hundred times as long.
        self._given = table.num_rows, table.get_total_buffer_size()
        return answer

    def framed(self) -> None:
        """Spark has its plan, and will give the rows when somebody asks for them."""
        self._framed = True

    def streamed(self, reader: BatchReader) -> BatchReader:
        """Its rows come piece by piece; it ends when the reader does."""
        self._figures, self._given, self._streams = reader.metrics, (0, 0), True
        reader.watched_by(self)
        return reader

    # As `batch_readers.ReaderWatch`

    def gave(self, batch: pa.RecordBatch, seconds: float) -> None:
        """A piece."""
        rows, size = self._given or (0, 0)
        self._given = rows + batch.num_rows, size + batch.nbytes
        self._working_s += seconds

    def ended(self, error: BaseException | None, *, whole: bool) -> None:
        """The reader's end: `whole`, by an error, or since nobody reads on."""
        self._end(error, left=error is None and not whole)

    def _end(self, error: BaseException | None, *, left: bool = False) -> None:
        try:
            self._tell(self._record(error, left=left))
        except _FAULTS as fault:  # law 4: the log costs no answer, and no error
            _log.warning("a statement isn't in the query log: %s", type(fault).__name__)

    def _record(self, error: BaseException | None, *, left: bool) -> LogRecord:
        state, code, message = ("CANCELLED", None, None) if left else _outcome(error)
        rows, size = self._given or (None, None)
        return LogRecord(
            id=_new_id(),
            started_us=self._started_us,
            state=state,
            sql=self.sql,
            process="session",
            user=self.user,
            source=self.source,
            elapsed_ms=(time.perf_counter() - self._began) * 1000,
            error_code=code,
            error_message=without_values(message, self._params),
            dialect=self._dialect,
            rows=rows if state != "FAILED" or rows else None,
            bytes_given=size if state != "FAILED" or size else None,
            **self._plan_figures(),
        )

    def _plan_figures(self) -> dict[str, Any]:
        """What plan and metrics tell."""
        plan, metrics = self.plan, self._figures
        if self._framed and plan is not None:
            refused = plan.refused()
            metrics = plan.figures() if refused is None else Metrics(fallback=refused.line)
        found: dict[str, Any] = {} if metrics is None else figures(metrics)
        if self._params is not None and "reason_text" in found:
            found["reason_text"] = without_values(found["reason_text"], self._params)
        if self._streams and metrics is not None:
            found["execution_ms"] = self._working_s * 1000
        if plan is None:
            return found
        tables = plan.tables()[:LIST_MAX]
        if tables:
            snapshots = tuple(one.facts.snapshot_id for one in tables)
            found["tables"] = tuple(one.facts.name for one in tables)
            found["snapshots"] = snapshots if None not in snapshots else ()
        if metrics is None:
            found["engine"] = plan.engine
        elif metrics.rewritten:
            planned = plan.figures() if metrics.row_groups_read else metrics
            found["files_planned"] = planned.files_read
        return found


_prefix = uuid.uuid4().hex


def _new_id() -> str:
    """One that no other statement has, of any process; random numbers are the system's to give."""
    return f"{_prefix}-{next(_IDS)}"


def _after_fork() -> None:
    global _prefix  # noqa: PLW0603 - a process has one, and its child another
    _prefix = uuid.uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _outcome(error: BaseException | None) -> tuple[State, str | None, str | None]:
    """State, code and message of how a statement ended."""
    if error is None:
        return "FINISHED", None, None
    if isinstance(error, AcceleratorError):
        stopped = isinstance(error, CancelledError) and not isinstance(error, StatementTimeoutError)
        return "CANCELLED" if stopped else "FAILED", error.code, error.message
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return "CANCELLED", "cancelled", None
    # An error of a JVM that is gone raises where it's asked for its text; this doesn't.
    message = format_exception_only(error)[0].rstrip("\n").partition(": ")[2][:_MESSAGE_MAX]
    if _OF_SPARK.match(message):
        return "FAILED", "spark", message
    return "FAILED", "internal", f"{type(error).__name__}: {message}"


class Unlogged:
    """The same where no log is written: everything passes through."""

    __slots__ = ()

    def __enter__(self) -> Unlogged:
        return self

    def __exit__(self, *_error: object) -> None:
        return

    def answered(self, answer: Result) -> Result:
        """See `StatementRecorder.answered`."""
        return answer

    def framed(self) -> None:
        """See `StatementRecorder.framed`."""

    def streamed(self, reader: BatchReader) -> BatchReader:
        """See `StatementRecorder.streamed`."""
        return reader


UNLOGGED = Unlogged()
