"""One run of the advisor by itself: it analyzes, and applies what it may, within its limits.

Promises: what it makes is marked in the store before it's made, so that a run that was killed is
gone on with, and nothing is made twice; what a person made or brought back isn't dropped unless the
settings say so; what a person dropped, or what didn't pay, isn't made again. A step that fails
stops no other.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec.structs import replace

from accelerator.errors import (
    UNFIT,
    AcceleratorError,
    AdviceNotFoundError,
    AdviceStaleError,
    CancelledError,
    CubeExistsError,
    CubeNotFoundError,
    IndexExistsError,
    IndexNotFoundError,
    SparkElsewhereError,
    StoreError,
    WorkloadEmptyError,
)
from accelerator.iceberg import CatalogError
from accelerator.query.statements.nodes import CreateCube, CreateIndex, Statement
from accelerator.services.advisor.analyze import AdviceBudget
from accelerator.services.advisor.apply.apply import OPEN, Done, Execute, apply
from accelerator.services.advisor.apply.make import Making
from accelerator.services.advisor.apply.record import Recorder, entry, now_ms
from accelerator.services.advisor.cost_model import merged_bytes
from accelerator.services.advisor.ddl import advised
from accelerator.services.advisor.report import Advised, AppliedStep
from accelerator.services.advisor.results import Results
from accelerator.services.advisor.workload.digests import digest_of, record_digest
from accelerator.store.journals.ledger import AppliedAdvice, By, State
from cubes.definition import from_dict

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services
    from accelerator.services.runner import Reported
    from accelerator.store.journals.advice import Advice, Recommendation

AUTO: By = "auto"
DAY_MS = 86_400_000
_LOOK_S = 0.1
_FAILED_AGAIN_MS = DAY_MS
"""What couldn't be made isn't tried again for so long."""
GO_ON_LATER = (CancelledError, SparkElsewhereError, StoreError, CatalogError)
"""What stops a run in the middle, and is no fault of what it makes."""
CHANGED = (
    *(AdviceNotFoundError, AdviceStaleError, CubeExistsError, CubeNotFoundError),
    *(IndexExistsError, IndexNotFoundError),
)
"""Somebody else was quicker: what was advised is no more what is there."""
_DROPS, _CREATES = ("DROP CUBE", "DROP INDEX"), ("CREATE CUBE", "CREATE INDEX")
"""What it does by itself: nothing that commits to a table of the lake."""


class AutoRun:
    """Of one session; `execute` runs a statement of ours, `report` hears of builds.

    `stop` ends it soon, by CancelledError.
    """

    def __init__(
        self, services: Services, execute: Execute, report: Reported, stop: threading.Event
    ) -> None:
        self.services, self.execute, self._stop = services, execute, stop
        self.making = Making(services, execute, report, stop)
        self.recorder = Recorder(services)
        self._steps: list[AppliedStep] = []
        self._skipped: Counter[str] = Counter()
        self._errors: list[AcceleratorError] = []
        self._left = False

    @property
    def errors(self) -> list[AcceleratorError]:
        """Those of steps."""
        return self._errors

    def run(self) -> Advised:
        """All of it.

        AdviceError for settings that leave no budget, StoreError, CatalogError, CancelledError;
        SparkElsewhereError where a build needs Spark, which isn't to run here.
        """
        began = time.perf_counter()
        config = self.services.config
        if config.advisor == AUTO:
            self._go_on()
        advice = self._advice()
        if config.advisor == AUTO and advice is not None:
            self._apply(advice)
        results = [one for one in Results(self.services).all() if one.in_use]
        first = self._errors[0] if self._errors else None
        return Advised(
            advised=0 if advice is None else len(advice.recommendations),
            steps=tuple(self._steps),
            skipped=dict(self._skipped),
            left=self._left,
            promised_ms=sum(one.applied.gain_ms for one in results),
            gain_ms=sum(one.gain_ms or 0.0 for one in results),
            in_use=len(results),
            bytes=sum(one.bytes or 0 for one in results),
            seconds=round(time.perf_counter() - began, 3),
            error=None if first is None else first.message,
            code=None if first is None else first.code,
        )

    def _advice(self) -> Advice | None:
        """None where the log has nothing to advise from."""
        config = self.services.config
        budget = AdviceBudget(
            bytes=config.advisor_bytes_max,
            build_minutes=config.advisor_build_minutes,
            keep_days=config.advisor_keep_days,
        )
        try:
            with self._stopped_soon():
                return advised(self.services, None, budget, by_itself=True)
        except WorkloadEmptyError:
            return None

    @contextmanager
    def _stopped_soon(self) -> Iterator[None]:
        """What runs inside ends by CancelledError soon after the run is told to stop."""
        over = threading.Event()

        def watch(end: Callable[[], None]) -> None:
            while not over.wait(_LOOK_S):
                if self._stop.is_set():
                    end()

        with self.services.cancellation.stoppable() as end:
            watching = threading.Thread(target=watch, args=(end,), name="advise", daemon=True)
            watching.start()
            try:
                yield
            finally:
                over.set()
                watching.join()

    # What a run before has left

    def _go_on(self) -> None:
        """Ends what the advisor had begun when its process ended."""
        for one in Results(self.services).ledger.entries:
            if one.state == "begun" and one.by == AUTO:
                self._check()
                with self._step(one.id, one.action, one.table, one.name):
                    self._finished(one)

    def _finished(self, one: AppliedAdvice) -> None:
        began, record = time.perf_counter(), self.making.live(one.artifact_id)
        if one.drops:
            if record is None:
                self.recorder.write(_ended(one, "done"))
            else:
                self.recorder.forget(one)
            return
        if record is None:
            if self.making.is_in_bin(one.artifact_id):  # made, and dropped by somebody
                self.recorder.write(_ended(one, "done"))
            else:  # its process ended before anything was made
                self.recorder.forget(one)
            return
        try:
            self.making.finish(record)
        except GO_ON_LATER:
            raise
        except AcceleratorError as error:
            self.undone(one, error, time.perf_counter() - began)
            raise
        self.making.follow(record.id)
        self.recorder.write(_ended(one, "done", seconds=time.perf_counter() - began))

    # What is advised

    def _apply(self, advice: Advice) -> None:
        """Drops first: what they free is there for what is made."""
        ordered = sorted(advice.recommendations, key=lambda one: one.action not in _DROPS)
        for one in ordered:
            self._check()
            why = self._refused(one)
            if why:
                self._skipped[why] += 1
                continue
            with self._step(one.id, one.action, one.table, one.name):
                marked = _Marked(self, one)
                apply(self.services, one.id, None, marked.execute, marked)

    def _refused(self, one: Recommendation) -> str:
        """Why it isn't applied now; empty where it is."""
        config, results = self.services.config, Results(self.services)
        if Done(self.services, results.registry).status(one) != OPEN:
            return "applied"
        if one.action in _DROPS:
            id = one.cube_id or one.object_id
            may = config.advisor_drops == "all" or (
                config.advisor_drops == "own" and id in results.own()
            )
            if not may or id in results.brought_back():
                return "not_its_own"
            # A cube would be gone for good; an index that is built again says the same.
            if one.action == "DROP CUBE" and not config.recycle_bin_hours:
                return "no_recycle_bin"
        elif one.action in _CREATES and not one.needs:  # which would change the table
            if one.digest and one.digest in results.unwanted() | _binned(results, one):
                return "dropped_by_others"
            # Without days to keep, what isn't among the best goes: estimates would go to and fro.
            if not config.advisor_keep_days and one.digest in results.dropped_lately():
                return "dropped_lately"
            if _failed_lately(results, one):
                return "failed_lately"
        else:
            return "by_hand_only"
        if len(self._steps) >= config.advisor_steps_max:
            self._left = True
            return "steps"
        if one.action in _CREATES:
            return self._over_budget(one, results)
        return ""

    def _over_budget(self, one: Recommendation, results: Results) -> str:
        config, now = self.services.config, now_ms()
        spent = sum(
            max(entry.built_s, entry.build_s if entry.state == "begun" else 0.0)
            for entry in results.ledger.entries
            if entry.by == AUTO and abs(now - entry.began_ms) < DAY_MS
        )
        if spent + one.build_s > config.advisor_build_minutes * 60:
            self._left = True
            return "build_minutes"
        store = self.services.store
        held = sum(
            merged_bytes(store.table(record.table_uuid).of(record.id))
            for record in results.registry.cubes.values()
        ) + sum(
            one.bytes
            for record in results.registry.indexes.values()
            for one in store.table(record.table_uuid).of(record.id)
        )
        if held + one.bytes > config.advisor_bytes_max:
            return "bytes"
        return ""

    # How a step is done

    def _check(self) -> None:
        if self._stop.is_set():
            raise CancelledError("the advisor was told to stop", hint="it goes on when it's run")

    @contextmanager
    def _step(self, id: str, action: str, table: str, name: str) -> Iterator[None]:
        """One step: it's told how it went; a failure is kept, and the others go on."""
        began, error = time.perf_counter(), None
        try:
            yield
        except (CancelledError, SparkElsewhereError):
            raise
        except CHANGED:
            self._skipped["changed"] += 1
            return
        except AcceleratorError as failed:
            error = failed
            self._errors.append(failed)
        seconds = round(time.perf_counter() - began, 3)
        told = (None, None) if error is None else (error.message, error.code)
        self._steps.append(AppliedStep(id, action, table, name, seconds, *told))

    def undone(self, one: AppliedAdvice, error: AcceleratorError, seconds: float) -> None:
        """Writes down that it failed after so long; what has nothing built isn't left.

        What somebody has dropped while it was made counts as made: he doesn't want it.
        """
        dropped = isinstance(error, CubeNotFoundError | IndexNotFoundError)
        dropped = dropped or self.making.is_in_bin(one.artifact_id)
        kept = one.creates and (dropped or self.making.settle(one.artifact_id))
        state: State = "done" if kept else "failed"
        self.recorder.write(_ended(one, state, reason=error.message, seconds=seconds))


class _Marked:
    """Around one step: it's marked as the advisor's own before anything is made."""

    def __init__(self, run: AutoRun, one: Recommendation) -> None:
        self._run = run
        made = entry(one, AUTO, "begun")
        if one.action in _CREATES:
            made = replace(made, artifact_id=uuid.uuid4().hex)
        record = run.making.live(made.artifact_id) if made.drops else None
        if record is not None:  # so that the like of it is known, should somebody make it anew
            made = replace(made, digest=record_digest(run.services, record))
        self._made, self._begun = made, False

    @contextmanager
    def __call__(self, one: Recommendation) -> Iterator[None]:
        """See `Recorded`. What is to be gone on with is left begun."""
        run, made = self._run, self._made
        run.recorder.write(made)
        began = time.perf_counter()
        try:
            yield
        except GO_ON_LATER:
            raise
        except AcceleratorError as error:
            if isinstance(error, CHANGED) and not self._begun:
                run.recorder.forget(made)
            else:
                run.undone(made, error, time.perf_counter() - began)
            raise
        if made.creates:
            run.making.follow(made.artifact_id)
        seconds = time.perf_counter() - began
        run.recorder.write(run.recorder.ended(made, one, seconds), one.shapes)

    def execute(self, statement: Statement) -> pa.Table:
        """Runs a statement of ours; what is made is under the id that was written down."""
        if isinstance(statement, CreateCube | CreateIndex):
            self._begun = True
            return self._run.making.create(statement, self._made.artifact_id)
        return self._run.execute(statement)


def _ended(
    one: AppliedAdvice, state: State, *, reason: str = "", seconds: float = 0.0
) -> AppliedAdvice:
    return replace(
        one,
        state=state,
        ended_ms=now_ms(),
        reason=(reason or one.reason)[:1000],
        built_s=one.built_s + seconds,
    )


def _failed_lately(results: Results, one: Recommendation) -> bool:
    """Whether the same couldn't be made not long ago."""
    now = now_ms()
    return any(
        entry.state == "failed"
        and entry.creates
        and (entry.digest == one.digest if one.digest else entry.id == one.id)
        for entry in results.ledger.entries
        if abs(now - entry.ended_ms) < _FAILED_AGAIN_MS
    )


def _binned(results: Results, one: Recommendation) -> frozenset[str]:
    """Its digest, if a cube like it is in the recycle bin that no advice has put there."""
    own = {entry.artifact_id for entry in results.ledger.entries}
    for dropped in results.registry.bin:
        if dropped.cube.id in own or dropped.cube.table_uuid != one.table_uuid:
            continue
        try:
            found = digest_of(from_dict(dict(dropped.cube.definition)))
        except UNFIT:
            continue
        if found == one.digest:
            return frozenset((found,))
    return frozenset()
