"""The service that keeps cubes and indexes up to date: it watches tables, and builds what is due.

Promises: a commit is seen within `refresh_poll_s`, at one question to a catalog for each table; the
newest data files are built first, in portions, between which others have their turn; what fails
waits longer each time, in whatever process; what was committed is never built again for a kill.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from accelerator.errors import (
    AcceleratorError,
    CancelledError,
    StoreError,
    TableReplacedError,
)
from accelerator.iceberg import CatalogError, Pin
from accelerator.services.refresh.artifacts import Artifact, Lacks, followed
from accelerator.services.refresh.lag import lag_s
from accelerator.services.runner import FAULTS, DueTasks, Outcome, Reported
from accelerator.store import CubeRecord
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run import FinishedRun, TaskRuns, runs_of, until_s

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_log = logging.getLogger("accelerator")
_POLL_MIN_S = 0.05
_ELSEWHERE_S = 5.0
"""So long until it's asked whether another process is done with a task."""
_TROUBLE_MAX_S = 60.0


class Refreshed(Struct, frozen=True):
    """One run: `files` were built, `twice` by another process as well, `left` tells of a next one.

    `lag_s` is the artifact's afterwards; `error` says why it failed, `code` is that error's.
    """

    kind: str
    artifact: str
    table: str
    files: int = 0
    twice: int = 0
    left: bool = False
    lag_s: float | None = None
    seconds: float = 0.0
    error: str | None = None
    code: str | None = None


class RefreshWatch(Protocol):
    """Hears of refreshes, for figures."""

    def refreshed(self, done: Refreshed) -> None:
        """A run ended."""
        ...

    def lags(self, lags: Mapping[str, float]) -> None:
        """How far all artifacts that are followed are behind, in seconds, by their titles."""
        ...


class _Followed(Struct):
    """What is known of one artifact.

    `looked` is the state, and the version of the table's store, that `lacks` is of; None there: it
    can't be told what it lacks, so that a build is to say why. `checked` is the state for which
    `not_before`, by the monotonic clock, is when its runs are looked at again; `clear`: they don't
    delay it, and whoever claims it looks once more. `troubles`: so many looks in a row failed, the
    last one by `trouble`; it isn't looked at before `again`. `ended`: why it's never due any more.
    """

    looked: tuple[str, int] | None = None
    lacks: Lacks | None = None
    since: float = 0.0
    checked: str = ""
    not_before: float = 0.0
    clear: bool = False
    trouble: str = ""
    troubles: int = 0
    again: float = 0.0
    ended: str = ""


class Refresh:
    """The service; `once`: it's over once nothing is due at the moment.

    `tell` hears of each run, after `watch`. `clock` is monotonic, in seconds.
    """

    at_once = 2

    def __init__(
        self,
        services: Services,
        claims: Claims,
        tell: Callable[[Refreshed], None],
        *,
        watch: RefreshWatch | None = None,
        once: bool = False,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.services, self._claims = services, claims
        self._tell, self._watch, self._once = tell, watch, once
        self._clock, self.now_ms = clock, now_ms
        self._followed: dict[str, _Followed] = {}
        self._running: set[str] = set()
        self._trouble = ""
        self._troubles = 0
        self._lock = threading.Lock()

    def due(self) -> DueTasks:
        """See `Service.due`."""
        poll = max(self.services.config.refresh_poll_s, _POLL_MIN_S)
        try:
            tasks = self._due(poll)
        except AcceleratorError as error:
            self._troubles += 1
            if str(error) != self._trouble:
                self._trouble = str(error)
                _log.warning("what is to be refreshed can't be told: %s", error)
            return DueTasks(again_s=_pause_s(poll, self._troubles), is_over=self._once)
        self._trouble, self._troubles = "", 0
        return DueTasks(tasks, poll, is_over=self._once and not tasks and not self._running)

    def _due(self, poll: float) -> Sequence[_Build]:
        services, now = self.services, self._clock()
        artifacts = list(followed(services.store.registry(), services.config.refresh))
        ids = {one.record.id for one in artifacts}
        pin = services.lake.pin(fresh=True)
        found: list[tuple[Artifact, _Followed]] = []
        with self._lock:
            self._followed = {i: one for i, one in self._followed.items() if i in ids}
            for artifact in artifacts:
                one = self._followed.setdefault(artifact.record.id, _Followed())
                if artifact.record.id in self._running or now < one.again:
                    continue
                try:
                    if self._is_due(artifact, one, pin, now):
                        found.append((artifact, one))
                    one.trouble, one.troubles = "", 0
                except FAULTS as error:  # others may be told
                    one.troubles += 1
                    one.again = now + _pause_s(poll, one.troubles)
                    if str(error) != one.trouble:
                        one.trouble = str(error)
                        _log.warning("whether %s is due can't be told: %s", artifact.title, error)
            self._tell_lags(artifacts)
        return [_Build(self, artifact, one.since) for artifact, one in self._in_order(found)]

    def _is_due(self, artifact: Artifact, one: _Followed, pin: Pin, now: float) -> bool:
        state = artifact.state(pin)
        version = self.services.store.table(artifact.record.table_uuid).number
        if one.looked != (state, version):
            was_due = one.looked is not None and (one.lacks is None or one.lacks.anything)
            one.lacks = self._lacks(artifact, one)
            one.looked = (state, version)
            one.since = one.since if was_due else now
        if one.lacks is not None and not one.lacks.anything:
            return False
        if one.checked != state or (not one.clear and now >= one.not_before):
            told = runs_of(self._claims, artifact.key)
            wait = self.wait_s(artifact, told, state)
            one.checked, one.not_before, one.clear = state, now + wait, wait <= 0
        return one.clear

    def _lacks(self, artifact: Artifact, one: _Followed) -> Lacks | None:
        try:
            return artifact.lacks(self.services)
        except (CatalogError, StoreError):
            raise
        except TableReplacedError as error:  # no build can help, whatever is committed
            if str(error) != one.ended:
                one.ended = str(error)
                _log.warning("%s isn't refreshed any more: %s", artifact.title, error)
            return Lacks()
        except FAULTS:  # its build tells why
            return None

    def wait_s(self, artifact: Artifact, told: TaskRuns, state: str) -> float:
        """Seconds until it may be run, by what has been run of it."""
        wait = told.wait_s(state, self.now_ms())
        if told.running is not None:
            wait = max(wait, _ELSEWHERE_S)
        every, last = artifact.when.every_s, told.last
        if every and last is not None and not last.more and not last.failures:
            wait = max(wait, until_s(last, every, self.now_ms(), since_began=True))
        return wait

    def _in_order(
        self, found: Sequence[tuple[Artifact, _Followed]]
    ) -> Sequence[tuple[Artifact, _Followed]]:
        """Each cube behind those of its table that it can be made of, then the indexes."""
        by_table: dict[str, list[CubeRecord]] = {}
        for artifact, _ in found:
            if isinstance(artifact.record, CubeRecord):
                by_table.setdefault(artifact.record.table_uuid, []).append(artifact.record)
        order = [
            one.id
            for records in by_table.values()
            for one in self.services.builder.finest_first(records)
        ]
        place = {cube_id: number for number, cube_id in enumerate(order)}
        return sorted(found, key=lambda one: place.get(one[0].record.id, len(place)))

    def _tell_lags(self, artifacts: Sequence[Artifact]) -> None:
        if self._watch is not None:
            now_ms = self.now_ms()
            told = {one.title: self._followed[one.record.id].lacks for one in artifacts}
            lags = {t: lag_s(one.behind_ms, now_ms) for t, one in told.items() if one is not None}
            self._watch.lags(lags)

    # For its tasks

    def begins(self, artifact: Artifact) -> None:
        """A task of it may begin: it isn't looked at meanwhile."""
        with self._lock:
            self._running.add(artifact.record.id)

    def ends(self, artifact: Artifact, done: Refreshed | None) -> None:
        """A task has ended; None: it wasn't run here."""
        with self._lock:
            self._running.discard(artifact.record.id)
            one = self._followed.get(artifact.record.id, _Followed())
            one.looked, one.since = None, self._clock()
            one.checked, one.clear = "", False
            if done is None:
                one.checked, one.not_before = self._state(artifact), self._clock() + _ELSEWHERE_S
        if done is not None:
            if self._watch is not None:
                self._watch.refreshed(done)
            self._tell(done)

    def _state(self, artifact: Artifact) -> str:
        try:
            return artifact.state(self.services.lake.pin(fresh=True))
        except CatalogError:
            return ""

    def behind(self, artifact: Artifact) -> float | None:
        """How far it's behind now, in seconds; None where that can't be told."""
        try:
            return lag_s(artifact.lacks(self.services).behind_ms, self.now_ms())
        except FAULTS:
            return None


class _Build:
    """The task of one artifact: a portion of what it lacks."""

    priority = 0

    def __init__(self, service: Refresh, artifact: Artifact, since: float) -> None:
        self._service, self._artifact, self.since = service, artifact, since
        self.key, self.group, self.state = artifact.key, artifact.record.table_uuid, ""
        self._seconds = 0.0

    def is_due(self, last: FinishedRun | None, _deaths: int) -> bool:
        """See `ServiceTask.is_due`."""
        service, artifact = self._service, self._artifact
        service.begins(artifact)
        self.state = artifact.state(service.services.lake.pin(fresh=True))
        if service.wait_s(artifact, TaskRuns(last), self.state) > 0:
            return False
        registry = service.services.store.registry(fresh=True)
        setting = service.services.config.refresh
        if artifact not in followed(registry, setting):
            return False
        try:
            return artifact.lacks(service.services).anything
        except FAULTS:  # its build tells why
            return True

    def run(self, report: Reported, stop: threading.Event) -> Outcome:
        """See `ServiceTask.run`."""
        began = time.perf_counter()
        try:
            return self._artifact.build(self._service.services, report, stop)
        finally:
            self._seconds = time.perf_counter() - began

    def ended(self, outcome: Outcome | None) -> None:
        """See `ServiceTask.ended`."""
        record = self._artifact.record
        if outcome is None:
            self._service.ends(self._artifact, None)
            return
        error = outcome.error
        if isinstance(error, CancelledError):  # it was told to stop, and will be gone on with
            error = None
        done = Refreshed(
            self._artifact.kind,
            record.name,
            record.table,
            outcome.done,
            outcome.twice,
            outcome.more or error is not outcome.error,
            self._service.behind(self._artifact) if outcome.error is None else None,
            round(self._seconds, 3),
            None if error is None else str(error),
            None if error is None else getattr(error, "code", "error"),
        )
        self._service.ends(self._artifact, done)


def _pause_s(poll: float, troubles: int) -> float:
    """Seconds until the next look, after so many in a row that failed."""
    return max(poll, min(poll * 2.0 ** min(troubles, 20), _TROUBLE_MAX_S))
