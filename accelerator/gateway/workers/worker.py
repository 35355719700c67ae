"""A worker: takes statements from a socket, runs several at once in its sessions, gives their rows.

It ends when the gateway closes the socket, whatever runs then. What a statement means, and who may
ask it, is `run_statement.py`'s.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pyarrow as pa
from msgspec import convert

from accelerator.common.config.config import Config
from accelerator.common.records.as_dict import as_dict
from accelerator.engines.spark.start import scratch
from accelerator.engines.spark.start.data_limit import limit_data
from accelerator.errors import AcceleratorError, CancelledError, SparkElsewhereError
from accelerator.gateway.access.rulings import Rulings, noting
from accelerator.gateway.trino.errors import trino_error
from accelerator.gateway.trino.lasting_text import read_text
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.workers import messages
from accelerator.gateway.workers.blame import JAVA_ENDED
from accelerator.gateway.workers.explanations import Explanations
from accelerator.gateway.workers.ledger import Notes, report_overflows
from accelerator.gateway.workers.messages import Header
from accelerator.gateway.workers.run_statement import Asking, StatementJob, StatementResult, Telling
from accelerator.gateway.workers.sessions import Sessions
from accelerator.planning.plans import Plan
from accelerator.query.recording.plan_observers import observing
from accelerator.services.advisor.report import Advised
from accelerator.services.maintenance.daemon import FinishedRound, Schedule, Vacuumed
from accelerator.services.refresh.service import Refreshed
from accelerator.session.session import Accelerator
from accelerator.store import VacuumLine
from accelerator.store.journals.query_log.visibility import shown_to

_log = logging.getLogger("accelerator.gateway")
_AHEAD = 2
"""Pieces that are sent before the gateway has asked for more."""
_CLOSE_S = 1.0
_WATCH_S = 1.0
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_KILLED = frozenset(status for one in _FROM_OUTSIDE for status in (-one, 128 + one))
"""Java ends by itself after signals that it handles, with 128 and the signal's number."""
_JAVA_ENDS_S = 0.5
"""A statement may fail so long before the system reports that Java has ended."""
_PIECE_BYTES = 4 * 1024**2
_BATCH_ROWS = 65_536


def serve(connection: socket.socket, ledger: int) -> None:
    """Runs the worker until its socket ends; `ledger` describes its `StatementLedger`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    notes = Notes(ledger)
    first = messages.received(connection)
    if first is None:
        return
    worker = _Worker(connection, notes)
    if worker.open(first[0]):
        worker.run()
        worker.close()
    scratch.forget()
    # Engines may be in the middle of something; nobody waits for them, and leases have an end.
    os._exit(0)


class _GoneError(OSError):
    """The gateway has closed the socket."""


class _Statement:
    """One that runs: how it's stopped, and how many pieces it may still send."""

    def __init__(self) -> None:
        self._credit = threading.Semaphore(_AHEAD)
        self._stop: Callable[[], None] | None = None
        self.is_stopped = False
        self._lock = threading.Lock()

    def more(self) -> None:
        """The gateway has taken a piece."""
        self._credit.release()

    def wait(self) -> None:
        """Until a piece may be sent; CancelledError where it's stopped meanwhile."""
        self._credit.acquire()
        self.check()

    def check(self) -> None:
        if self.is_stopped:
            raise CancelledError("the statement was cancelled")

    def stop(self) -> None:
        """Ends it, now or as soon as it begins."""
        with self._lock:
            self.is_stopped = True
            stop = self._stop
        self._credit.release()
        if stop is not None:
            stop()

    @contextmanager
    def stopped_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """While it's inside, that function stops its work."""
        with self._lock:
            self._stop = stop
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._stop = None


class _DaemonWatch:
    """Tells the gateway of a daemon's work."""

    def __init__(self, tell: Callable[[Header], None]) -> None:
        self._tell = tell
        self._lags: Mapping[str, float] = {}

    def vacuumed(self, done: Vacuumed, lines: tuple[VacuumLine, ...]) -> None:
        """See `daemon.RoundWatch`."""
        self._tell({"vacuumed": as_dict(done), "lines": [as_dict(line) for line in lines]})

    def ended(self, done: FinishedRound) -> None:
        """See `daemon.RoundWatch`."""
        self._tell({"ended": as_dict(done)})

    def refreshed(self, done: Refreshed) -> None:
        """See `refresh.service.RefreshWatch`."""
        self._tell({"refreshed": as_dict(done)})

    def advised(self, done: Advised) -> None:
        """A run of the advisor ended."""
        self._tell({"advised": as_dict(done)})

    def lags(self, lags: Mapping[str, float]) -> None:
        """See `refresh.service.RefreshWatch`; told where anything is behind, or was."""
        if lags != self._lags:
            self._lags = lags
            self._tell({"lags": dict(lags)})


class _Worker:
    def __init__(self, connection: socket.socket, notes: Notes) -> None:
        self._connection, self._sending = connection, threading.Lock()
        self._notes = notes
        self._statements: dict[int, _Statement] = {}
        self._sessions: Sessions
        self._asking: Asking
        self._threads: ThreadPoolExecutor
        self._explanations = Explanations()
        self._explaining = ThreadPoolExecutor(1, thread_name_prefix="explaining")

    def open(self, order: Header) -> bool:
        """Opens the first session; whether that worked."""
        if order["data_bytes"] and not limit_data(order["data_bytes"], order["jvm_bytes"]):
            _log.warning("the system doesn't limit this worker's memory")
        try:
            os.nice(order["niceness"])
            config = Config(**order["config"])
            self._sessions = Sessions(
                config, spark=order["spark"], zones_max=order["zones"], private=order["private"]
            )
            self._asking = Asking(order["gateway"])
            with self._sessions.using():
                pass
        except (AcceleratorError, MemoryError, OSError) as error:
            self._send({"kind": "failed", "error": as_dict(trino_error(error))})
            return False
        self._threads = ThreadPoolExecutor(
            order["threads"], thread_name_prefix="statement", initializer=report_overflows
        )
        self._send({"kind": "ready", "version": messages.VERSION, "pid": os.getpid()})
        if order["spark"]:
            threading.Thread(target=self._watch, args=(order["silence_s"],), daemon=True).start()
        return True

    def _watch(self, silence_s: float) -> None:
        """Reports once that tasks of Spark go on so long after they were stopped.

        The process ends with its Java: what ran may have ended that, and nothing else can run.
        """
        with suppress(_GoneError):
            while not self._sessions.has_stuck_tasks(silence_s):
                self._end_without_java()
                time.sleep(_WATCH_S)
            _log.warning("Spark's tasks can't be stopped; the worker is to be replaced")
            self._send({"kind": "worn"})

    def _end_without_java(self, wait_s: float = 0.0) -> None:
        """Ends as Java has ended: killed by another process, or of what it did itself."""
        status = self._sessions.java_status(wait_s)
        if status in _KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        elif status is not None:
            os._exit(JAVA_ENDED)

    def close(self) -> None:
        """Closes the sessions, as far as that takes a moment: nothing is left on the disk."""
        closing = threading.Thread(target=self._sessions.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_S)

    def run(self) -> None:
        """Takes messages until the socket ends."""
        while True:
            try:
                message = messages.received(self._connection)
            except OSError:
                return
            if message is None:
                return
            try:
                self._take(message[0])
            except _GoneError:
                return

    def _take(self, header: Header) -> None:
        match header["op"]:
            case "run":
                statement = self._statements[header["id"]] = _Statement()
                self._threads.submit(self._answer, header, statement)
            case "more" | "stop" as op:
                known = self._statements.get(header["id"])
                if known is not None:
                    known.more() if op == "more" else known.stop()
            case "ping":
                self._notes.end_unless_renewed(header["ends_s"])
                self._send({"kind": "pong"})
            case "maintain":
                given = header["id"], Schedule(**header["schedule"])
                self._threads.submit(self._maintain, *given)
            case "explain":
                self._explaining.submit(self._explain, header["id"])

    def _answer(self, header: Header, statement: _Statement) -> None:
        with self._notes.noted(header["id"]):
            try:
                self._answer_noted(header, statement)
            except _GoneError:
                return
            except BaseException:  # the gateway would wait for what nobody has told it
                os._exit(1)

    def _answer_noted(self, header: Header, statement: _Statement) -> None:
        number, rulings = header["id"], Rulings()
        try:
            statement.check()
            if "call" in header["job"]:
                self._call(header, statement)
                return
            if "text" in header["job"]:
                self._read(number, header["job"])
                return
            job = StatementJob.from_dict(header["job"])
            with (
                self._sessions.using(job.zone) as session,
                session.services.cancellation.stoppable() as stop,
                statement.stopped_by(stop),
            ):
                keeping = self._keeping(number, session, job.telling)
                with observing(keeping), noting(rulings):
                    answer = self._asking.answer(session, job)
                self._give(number, statement, answer, {"rulings": rulings.to_dict()})
        except SparkElsewhereError as error:
            why = {"why": error.hint or "", "may_backtrack": error.may_backtrack}
            self._send({"kind": "spark", "id": number, **why})
        except CancelledError as error:
            self._send(_failure(number, error, rulings))
        except _GoneError:
            raise
        except BaseException as error:
            # Whatever it is, one statement fails, and the worker goes on.
            # What Spark itself reports comes from a Java process that runs.
            self._end_without_java(_JAVA_ENDS_S if trino_error(error).code == "internal" else 0.0)
            if not isinstance(error, AcceleratorError):
                _log.warning("a statement failed: %s: %s", type(error).__name__, error)
            header = _failure(number, error, rulings)
            if isinstance(error, MemoryError):
                header["worn"] = True  # what else has failed by it, nobody knows
            self._send(header)
        finally:
            self._statements.pop(number, None)

    def _read(self, number: int, job: Header) -> None:
        """Reports what a long text asks for, and the words under which its answer is cached."""
        read, words = read_text(job["text"], convert(job["client"], nodes.ClientSession))
        about: Header = {"metrics": {}, "read": read, "words": words}
        self._send({"kind": "rows", "id": number, **about})

    def _call(self, header: Header, statement: _Statement) -> None:
        """Does what the API asks for; its answer is one piece of JSON."""
        from accelerator.gateway.workers.api.calls import ApiCall, answered

        number, call = header["id"], ApiCall.from_dict(header["job"])
        with (
            self._sessions.using() as session,
            session.services.cancellation.stoppable() as stop,
            statement.stopped_by(stop),
            shown_to(call.log_of),
        ):
            found = answered(
                call,
                session.services,
                lambda told: self._send({"kind": "told", "id": number, **told}),
                statement.check,
            )
        body = found.model_dump_json(by_alias=True).encode()
        self._send({"kind": "rows", "id": number, "metrics": {}}, body)

    def _maintain(self, number: int, schedule: Schedule) -> None:
        """Vacuums round by round, and refreshes, as long as the process lives."""
        try:
            with self._sessions.using() as session:
                watch = _DaemonWatch(
                    lambda told: self._send({"kind": "told", "id": number, **told})
                )
                stop = threading.Event()
                session.maintain(
                    schedule,
                    lambda _done: None,
                    stop=stop,
                    watch=watch,
                    watch_refresh=watch,
                    tell_advice=watch.advised,
                )
        except (AcceleratorError, OSError) as error:
            self._send({"kind": "error", "id": number, "error": as_dict(trino_error(error))})

    def _keeping(
        self, number: int, session: Accelerator, telling: Telling
    ) -> Callable[[str, Plan], None]:
        explainer = session.queries.explainer
        return lambda sql, plan: self._explanations.keep(
            number, sql, plan, explainer, is_private=telling.is_private
        )

    def _explain(self, number: int) -> None:
        """Says how a statement is answered, and that it isn't known where nobody can tell."""
        found = None
        try:
            found = self._explanations.explanation_of(number)
        except AcceleratorError as error:
            _log.warning("how a statement was answered can't be told: %s", error)
        finally:
            self._send({"kind": "explained", "id": number, "explained": found})

    def _give(
        self, number: int, statement: _Statement, answer: StatementResult, about: Header
    ) -> None:
        """The rows in pieces of a few megabytes; what was found out with the first and the last."""
        about = about | answer.header()
        with answer:
            held: pa.Table | None = None
            for piece in _pieces(answer):
                if held is not None:
                    self._rows(number, statement, held, about)
                    about = {}
                held = piece
            last = held if held is not None else answer.schema.empty_table()
            self._rows(number, statement, last, about | answer.ended())

    def _rows(self, number: int, statement: _Statement, rows: pa.Table, about: Header) -> None:
        statement.wait()
        header: Header = {"kind": "rows", "id": number, "rows": rows.num_rows, **about}
        self._send(header, messages.bytes_of(rows))

    def _send(self, header: Header, body: bytes | pa.Buffer = b"") -> None:
        head, rest = messages.packed(header, body)
        try:
            with self._sending:
                self._connection.sendall(head)
                if len(rest):
                    self._connection.sendall(rest)
        except OSError as error:
            raise _GoneError from error


def _failure(number: int, error: BaseException, rulings: Rulings) -> Header:
    about = {"error": as_dict(trino_error(error)), "rulings": rulings.to_dict()}
    return {"kind": "error", "id": number, **about}


def _pieces(answer: StatementResult) -> Iterator[pa.Table]:
    """Tables of some megabytes, of whatever batches there are."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for whole in answer.batches:
        for begin in range(0, whole.num_rows, _BATCH_ROWS):
            batch = whole.slice(begin, _BATCH_ROWS)
            gathered.append(batch)
            size += batch.nbytes
            if size >= _PIECE_BYTES:
                yield pa.Table.from_batches(gathered, schema=answer.schema)
                gathered, size = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered, schema=answer.schema)
