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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from accelerator.advisor.analyzing import Budget
from accelerator.advisor.applied import Applied, By, State
from accelerator.advisor.applying import OPEN, Done, Execute, apply
from accelerator.advisor.gains import merged_bytes
from accelerator.advisor.recommending import digest_of
from accelerator.advisor.recording import Recorder, entry, now_ms
from accelerator.advisor.results import Results
from accelerator.advisor.statements import advised
from accelerator.advisor.told import Advised, Step
from accelerator.errors import (
    UNFIT,
    AcceleratorError,
    AdviceStaleError,
    CancelledError,
    CubeExistsError,
    CubeNotFoundError,
    SparkElsewhereError,
    StoreError,
    WorkloadEmptyError,
)
from accelerator.iceberg import CatalogError
from accelerator.refresh import when
from accelerator.refresh.artifacts import Told
from accelerator.statements.forms import FORM_OF
from accelerator.statements.kinds import CompactCube, CreateCube, Statement
from cubes.definition import from_dict

if TYPE_CHECKING:
    from accelerator.advisor.advice import Advice, Recommendation
    from accelerator.builds.builder import Built
    from accelerator.runner.runner import Reported
    from accelerator.services import Services
    from accelerator.store import CubeRecord

AUTO: By = "auto"
DAY_MS = 86_400_000
_FAILED_AGAIN_MS = DAY_MS
"""What couldn't be made isn't tried again for so long."""
GO_ON_LATER = (CancelledError, SparkElsewhereError, StoreError, CatalogError)
"""What stops a run in the middle, and is no fault of what it makes."""
_DROPS, _CREATES = ("DROP CUBE", "DROP INDEX"), ("CREATE CUBE", "CREATE INDEX")
"""What it does by itself: nothing that commits to a table of the lake."""


class AutoRun:
    """Of one session; `execute` runs a statement of ours, `report` hears of builds.

    `stop` ends it soon, by CancelledError.
    """

    def __init__(
        self, services: Services, execute: Execute, report: Reported, stop: threading.Event
    ) -> None:
        self._services, self.execute = services, execute
        self._told, self._stop = Told(report), stop
        self.recorder = Recorder(services)
        self._steps: list[Step] = []
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
        config = self._services.config
        if config.advisor == AUTO:
            self._go_on()
        advice = self._advice()
        if config.advisor == AUTO and advice is not None:
            self._apply(advice)
        results = [one for one in Results(self._services).all() if one.in_use]
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
        config = self._services.config
        budget = Budget(
            bytes=config.advisor_bytes_max,
            build_minutes=config.advisor_build_minutes,
            keep_days=config.advisor_keep_days,
        )
        try:
            return advised(self._services, None, budget)
        except WorkloadEmptyError:
            return None

    # What a run before has left

    def _go_on(self) -> None:
        """Ends what the advisor had begun when its process ended."""
        for one in Results(self._services).ledger.entries:
            if one.state == "begun" and one.by == AUTO:
                self._check()
                with self._step(one.id, one.action, one.table, one.name):
                    self._finished(one)

    def _finished(self, one: Applied) -> None:
        began = time.perf_counter()
        record = self._made_by(one.artifact_id) if one.action == "CREATE CUBE" else None
        if one.drops and not self._is_there(one.artifact_id):
            self.recorder.write(_ended(one, "done"))
            return
        if record is None:  # its process ended before anything was made, or somebody dropped it
            self.recorder.forget(one)
            return
        try:
            self._build(record)
            self._merge(record.id)
        except GO_ON_LATER:
            raise
        except AcceleratorError as error:
            self.undone(one, error, time.perf_counter() - began)
            raise
        self.follow(record.id)
        self.recorder.write(_ended(one, "done", seconds=time.perf_counter() - began))

    def _is_there(self, id: str) -> bool:
        registry = self._services.store.registry(fresh=True)
        cubes = (one.id for one in registry.cubes.values())
        return id in cubes or any(one.id == id for one in registry.indexes.values())

    def _made_by(self, cube_id: str) -> CubeRecord | None:
        cubes = self._services.store.registry(fresh=True).cubes.values()
        return next((one for one in cubes if one.id == cube_id), None)

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
                apply(self._services, one.id, None, marked.execute, marked)

    def _refused(self, one: Recommendation) -> str:
        """Why it isn't applied now; empty where it is."""
        config, results = self._services.config, Results(self._services)
        if Done(self._services, results.registry).status(one) != OPEN:
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
        config, now = self._services.config, now_ms()
        spent = sum(
            max(entry.built_s, entry.build_s if entry.state == "begun" else 0.0)
            for entry in results.ledger.entries
            if entry.by == AUTO and abs(now - entry.began_ms) < DAY_MS
        )
        if spent + one.build_s > config.advisor_build_minutes * 60:
            self._left = True
            return "build_minutes"
        store = self._services.store
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
        except (AdviceStaleError, CubeExistsError, CubeNotFoundError):  # somebody else was quicker
            self._skipped["changed"] += 1
            return
        except AcceleratorError as failed:
            error = failed
            self._errors.append(failed)
        seconds = round(time.perf_counter() - began, 3)
        told = (None, None) if error is None else (error.message, error.code)
        self._steps.append(Step(id, action, table, name, seconds, *told))

    def made(self, statement: CreateCube, cube_id: str) -> pa.Table:
        """CREATE CUBE under that id: nobody else builds it until it's built."""
        self.execute(replace(statement, deferred=True, cube_id=cube_id))
        store = self._services.store
        record = store.change_cube(statement.name, cube_id, refresh="manual").cubes[statement.name]
        return FORM_OF[CreateCube].table([asdict(self._build(record))])

    def _build(self, record: CubeRecord) -> Built:
        with self._services.cancellation.tracked(ctrl_c=False) as tag:
            return self._services.builder.build(
                record, progress=self._told, cancelled=self._stop, tag=tag
            )

    def _merge(self, cube_id: str) -> None:
        record = self._made_by(cube_id)
        if record is None:
            raise CubeNotFoundError(
                "the cube was dropped while it was built", hint="the advisor leaves it at that"
            )
        if len(self._services.store.table(record.table_uuid).of(cube_id)) > 1:
            self.execute(CompactCube(record.name))

    def follow(self, cube_id: str) -> None:
        """Has the cube brought up to date from now on, as the settings say."""
        record = self._made_by(cube_id)
        if record is not None:
            wanted = when.parsed(self._services.config.advisor_refresh).text
            self._services.store.change_cube(record.name, cube_id, refresh=wanted)

    def undone(self, one: Applied, error: AcceleratorError, seconds: float) -> None:
        """Writes down that it failed after so long; a cube without any segment isn't left.

        What has some answers, and a refresh goes on with it.
        """
        record = self._made_by(one.artifact_id) if one.action == "CREATE CUBE" else None
        state: State = "failed"
        if record is not None and self._services.store.table(record.table_uuid).of(record.id):
            self.follow(record.id)
            state = "done"
        elif record is not None:
            self._services.store.recycle_cube(record.name, 0, cube_id=record.id)
        self.recorder.write(_ended(one, state, reason=error.message, seconds=seconds))


class _Marked:
    """Around one step: it's marked as the advisor's own before anything is made."""

    def __init__(self, run: AutoRun, one: Recommendation) -> None:
        self._run = run
        made = entry(one, AUTO, "begun")
        if one.action == "CREATE CUBE":
            made = replace(made, artifact_id=uuid.uuid4().hex)
        self._made = made

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
            run.undone(made, error, time.perf_counter() - began)
            raise
        if made.creates:
            run.follow(made.artifact_id)
        seconds = time.perf_counter() - began
        run.recorder.write(run.recorder.ended(made, one, seconds), one.shapes)

    def execute(self, statement: Statement) -> pa.Table:
        """Runs a statement of ours; a cube is made under the id that was written down."""
        if isinstance(statement, CreateCube):
            return self._run.made(statement, self._made.artifact_id)
        return self._run.execute(statement)


def _ended(one: Applied, state: State, *, reason: str = "", seconds: float = 0.0) -> Applied:
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
