"""A gateway's figures for Prometheus: what its statements cost, what runs and waits, what is wrong.

Promises: a registry of its own, so nothing of the process around it is told; few series: users are
named up to a number, then they're `other`, and no label is a statement's text. What is kept by
others (the queue, the cache, the workers) is read when somebody asks. `docs/reference/metrics.md`
says what each figure means.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from accelerator.gateway.access.login.tls import Tls
from accelerator.gateway.admission.admission import Admission
from accelerator.gateway.monitoring.history import History, StatementRecord
from accelerator.gateway.statements.answer_cache import AnswerCache
from accelerator.gateway.workers.pool.maintenance import Maintenance
from accelerator.gateway.workers.pool.pool import Pool
from accelerator.version import VERSION

_PREFIX = "accelerator_gateway"
_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
_LAG_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
_LAG_STEP_S = 0.5
_USERS_MAX = 50
_OTHER = "other"
_ENGINES = ("duckdb", "spark", "none")
_STATES = ("finished", "failed", "cancelled")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class MonitoredParts(Struct, frozen=True):
    """What of a gateway is watched; `broken_files` says which of its files can't be used."""

    started: float
    pool: Pool
    cache: AnswerCache
    admission: Admission
    history: History
    maintenance: Maintenance | None
    tls: Tls | None
    broken_files: Callable[[], Mapping[str, bool]]


class Monitoring:
    """Of one gateway; belongs to its event loop."""

    def __init__(self, gateway: MonitoredParts) -> None:
        self.registry = own = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"{_PREFIX}_{name}", what, labels, registry=own)

        def histogram(name: str, what: str, *labels: str) -> Histogram:
            return Histogram(f"{_PREFIX}_{name}", what, labels, buckets=_SECONDS, registry=own)

        self._statements = counter(
            "statements", "Statements that ended, by how and by what answered.", "state", "engine"
        )
        for state in _STATES:
            self._statements.labels(state, "none")
        self._of_users = counter("user_statements", "The same by who asked.", "user")
        self._errors = counter("errors", "Statements that failed, by Trino's error name.", "error")
        self._fallbacks = counter(
            "fallbacks", "Statements that plain Spark answered, by the reason's code.", "code"
        )
        self._took = histogram(
            "statement_duration_seconds", "From a statement's arrival to its end.", "engine"
        )
        self._waited = histogram("queue_wait_seconds", "How long statements waited.")
        self._planned = histogram("planning_seconds", "From text to plan, in workers.")
        self._read = counter("read_bytes", "Bytes that statements read.")
        self._files = counter("files", "Live data files of tables asked: read, spared.", "outcome")
        for outcome in ("read", "spared"):
            self._files.labels(outcome)
        self._rows = counter("rows", "Rows given to clients.")
        self._given = counter("given_bytes", "Bytes of rows given to clients, as JSON.")
        self._logins = counter("logins", "Logins that failed, or were held up.", "outcome")
        for outcome in ("failed", "held_up"):
            self._logins.labels(outcome)
        self._api = counter(
            "api_requests", "Requests of the API, by operation and status.", "operation", "status"
        )
        self._refused = counter(
            "requests_refused", "Requests of other hosts and of other sites' pages.", "reason"
        )
        for reason in ("host", "origin"):
            self._refused.labels(reason)
        self._lag = Histogram(
            f"{_PREFIX}_event_loop_lag_seconds",
            "How much later than asked the event loop came to its work.",
            buckets=_LAG_S,
            registry=own,
        )
        started = Gauge(
            f"{_PREFIX}_start_time_seconds", "When the gateway began, in Unix time.", registry=own
        )
        started.set(gateway.started)
        Gauge(f"{_PREFIX}_info", "1, beside the release.", ["version"], registry=own).labels(
            VERSION
        ).set(1)
        self._users: dict[str, str] = {}
        own.register(_OfOthers(gateway))
        self._ticking: asyncio.TimerHandle | None = None
        self.lag_s = 0.0
        """The newest of the event loop's lags."""

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Begins to measure that event loop, by default the one that runs."""
        loop = loop or asyncio.get_running_loop()
        due = loop.time() + _LAG_STEP_S

        def tick(due: float) -> None:
            now = loop.time()
            self.lag_s = max(0.0, now - due)
            self._lag.observe(self.lag_s)
            self._ticking = loop.call_at(now + _LAG_STEP_S, tick, now + _LAG_STEP_S)

        self._ticking = loop.call_at(due, tick, due)

    def close(self) -> None:
        """Measures no more."""
        if self._ticking is not None:
            self._ticking.cancel()

    def ended(self, record: StatementRecord) -> None:
        """A statement is over."""
        engine = _engine(record)
        self._statements.labels(record.state.lower(), engine).inc()
        self._of_users.labels(self._user(record.user)).inc()
        self._took.labels(engine).observe(record.elapsed_ms / 1000)
        self._waited.observe(record.queued_ms / 1000)
        self._rows.inc(record.rows)
        self._given.inc(record.bytes)
        if record.error:
            self._errors.labels(record.error).inc()
        if record.cached:
            return
        if record.engine:
            self._planned.observe(record.planning_ms / 1000)
        self._read.inc(record.bytes_read)
        read = min(record.files_read, record.files_total)
        self._files.labels("read").inc(read)
        self._files.labels("spared").inc(record.files_total - read)
        if record.reason:
            self._fallbacks.labels(_code(record.reason)).inc()

    def login_failed(self, *, held_up: bool = False) -> None:
        """A name or password was wrong, or wasn't looked at since there were too many."""
        self._logins.labels("held_up" if held_up else "failed").inc()

    def api_answered(self, operation: str, status: int) -> None:
        """A request of the API was answered."""
        self._api.labels(operation, str(status)).inc()

    def request_refused(self, reason: str) -> None:
        """Counts a request that named another `host`, or whose `origin` is another site."""
        self._refused.labels(reason).inc()

    def text(self, accept: str) -> tuple[bytes, str]:
        """All figures as text, and its content type, in the format that is asked for."""
        encoder, content_type = choose_encoder(accept)
        return encoder(self.registry), content_type

    def _user(self, name: str) -> str:
        """The label for a user: their name, of so many users."""
        known = self._users.get(name)
        if known is None:
            if len(self._users) >= _USERS_MAX:
                return _OTHER
            known = self._users[name] = name or _OTHER
        return known


class _OfOthers(Collector):
    """What the gateway's parts know anyway, read when it's asked for."""

    def __init__(self, gateway: MonitoredParts) -> None:
        self._gateway = gateway

    def describe(self) -> Iterator[Metric]:
        """Nothing: names are told with values."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All of it."""
        yield from self._queue()
        yield from self._cache()
        yield from self._workers()
        yield from self._files()
        if self._gateway.maintenance is not None:
            yield from self._gateway.maintenance.exporter.registry.collect()

    def _queue(self) -> Iterator[Metric]:
        load, history = self._gateway.admission.load, self._gateway.history
        yield _gauge("open_statements", "Statements that haven't ended.", history.running)
        yield _gauge("running", "Statements that run.", load.running)
        yield _gauge("queued", "Statements that wait for their turn.", load.queued)
        yield _gauge("booked_memory_bytes", "Memory booked for those that run.", load.memory_bytes)
        turned = load.turned_away
        yield _counters("turned_away", "Statements that weren't taken.", "reason", turned)

    def _cache(self) -> Iterator[Metric]:
        cache = self._gateway.cache
        outcomes = {"hit": cache.hits, "miss": cache.misses, "stale": cache.stale}
        yield _counters("cache_lookups", "Looks for a kept answer.", "outcome", outcomes)
        yield _gauge("cache_answers", "Answers that are kept.", len(cache))
        sizes = {"memory": cache.memory_bytes, "disk": cache.disk_bytes}
        yield _gauges("cache_bytes", "Bytes of kept answers.", "place", sizes)

    def _workers(self) -> Iterator[Metric]:
        pool = self._gateway.pool
        states = pool.states()
        counts = {"in_process": 0, "spark": 0}
        memory = dict.fromkeys(counts, 0)
        for one in states:
            kind = "spark" if one.spark else "in_process"
            counts[kind] += 1
            memory[kind] += resident(one.pid)
        yield _gauges("workers", "Processes that run statements.", "kind", counts)
        yield _gauges("worker_memory_bytes", "Their resident memory.", "kind", memory)
        yield _gauge("memory_bytes", "The gateway's own.", resident(os.getpid()))
        yield _counter("worker_restarts", "Workers that died and were replaced.", pool.restarts)
        why = "Workers that were replaced, by why: overdue with a stop, silent, or dead."
        yield _counters("worker_ends", why, "why", pool.ends)
        what = "Statements that ended a worker, and aren't run again."
        yield _counter("deadly_statements", what, pool.deadly)
        yield _counter("retries", "Statements asked again, as a worker had died.", pool.retries)

    def _files(self) -> Iterator[Metric]:
        gateway = self._gateway
        broken = {one: int(error) for one, error in gateway.broken_files().items()}
        yield _gauges("file_broken", "1: the newest can't be used.", "file", broken)
        if gateway.tls is not None:
            left = gateway.tls.days_left * 86_400
            yield _gauge("certificate_seconds_left", "Until the certificate ends.", left)


def resident(pid: int) -> int:
    """Bytes of memory that a process has; 0 where the system doesn't tell."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def _engine(record: StatementRecord) -> str:
    if record.cached:
        return "cache"
    return record.engine if record.engine in _ENGINES else "none"


def _code(reason: str) -> str:
    """Of a line `code: sentence`; whatever isn't a code is `other`."""
    code = reason.partition(":")[0]
    return code if code.isascii() and code.isidentifier() and len(code) <= 64 else _OTHER


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{_PREFIX}_{name}", what, value=value)


def _counter(name: str, what: str, value: float) -> Metric:
    return CounterMetricFamily(f"{_PREFIX}_{name}", what, value=value)


def _gauges(name: str, what: str, label: str, values: Mapping[str, int]) -> Metric:
    found = GaugeMetricFamily(f"{_PREFIX}_{name}", what, labels=[label])
    for key, value in values.items():
        found.add_metric([key], value)
    return found


def _counters(name: str, what: str, label: str, values: Mapping[str, int]) -> Metric:
    found = CounterMetricFamily(f"{_PREFIX}_{name}", what, labels=[label])
    for key, value in values.items():
        found.add_metric([key], value)
    return found
