"""Writes down what is applied of advice: what was promised, by whom, what came of it.

Beside it is kept what the log's statements took before, so that results can be told when the log
has forgotten those runs.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accelerator.errors import AcceleratorError, StoreError
from accelerator.services.advisor.workload.workload import now_utc, run_ms
from accelerator.store.journals import ledger
from accelerator.store.journals.ledger import AppliedAdvice, By, State
from accelerator.store.journals.medians import MedianRange, first_runs, median_range
from accelerator.store.journals.query_log.reader import LIMIT_MAX, look

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services
    from accelerator.store.journals.advice import Recommendation

Recorded = Callable[["Recommendation"], AbstractContextManager[None]]
"""Around the work of one recommendation; writes down how it went."""
TIMED_COLUMNS = (
    *("id", "started", "process", "worker", "state", "shape", "cached", "cubes", "indexes"),
    *("queued_ms", "elapsed_ms", "planning_ms", "execution_ms"),
)
"""The log's columns that times are told by."""
_DAYS = 14.0
_REASON_MAX = 1000
_log = logging.getLogger("accelerator")


class Recorder:
    """Of one APPLY: `Recorder(services)` is a `Recorded` for what a person applies.

    What can't be written down is told in the log `accelerator`, and was applied all the same.
    """

    def __init__(self, services: Services) -> None:
        self.services = services

    @contextmanager
    def __call__(self, one: Recommendation) -> Iterator[None]:
        """What fails isn't written down: nothing was made."""
        made = entry(one, "hand", "done")
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        try:
            self.write(self.ended(made, one, seconds), one.shapes)
        except StoreError as error:
            _log.warning("that %s was applied can't be written down: %s", one.id, error.message)

    def write(self, made: AppliedAdvice, shapes: tuple[str, ...] = ()) -> None:
        """Adds the entry, or takes the place of the one of its key. StoreError.

        `shapes` are those of statements for which what is dropped was made.
        """
        raw = self.raw_runs if made.creates and made.state == "done" else {}
        raw_ms = {shape: one.middle for shape, one in raw.items()}
        raw_runs = {shape: (one.runs, one.low, one.high) for shape, one in raw.items()}
        is_vain = made.drops and made.reason.startswith(ledger.UNPAID) and made.state == "done"
        vain = shapes if is_vain else ()

        def changed(known: ledger.AdviceLedger) -> ledger.AdviceLedger:
            return known.with_raw(raw_ms, raw_runs).with_vain(vain, made.ended_ms).with_entry(made)

        ledger.change(self.services.store.files, changed)

    def forget(self, made: AppliedAdvice) -> None:
        """Takes the entry out: nothing came of it. StoreError."""
        ledger.change(self.services.store.files, lambda known: known.without(made.key))

    def ended(self, made: AppliedAdvice, one: Recommendation, seconds: float) -> AppliedAdvice:
        """The entry of what has been done, which took so many seconds."""
        found = one.cube_id or one.object_id or artifact_id(self.services, one)
        return replace(
            made,
            state="done",
            ended_ms=now_ms(),
            artifact_id=made.artifact_id or found,
            built_s=0.0 if made.drops else seconds,
        )

    @cached_property
    def raw_runs(self) -> Mapping[str, MedianRange]:
        """The medians of the log's runs without cubes and indexes, by shape; none on a fault.

        The shapes that took longest come first.
        """
        since = now_utc() - timedelta(days=_DAYS)
        try:
            rows = look(self.services.store.files, since, None, LIMIT_MAX).rows
        except AcceleratorError as error:
            _log.warning("what statements took before can't be told: %s", error.message)
            return {}
        return raw_medians(rows.select(list(TIMED_COLUMNS)).to_pylist())


def raw_medians(rows: Sequence[Mapping[str, Any]]) -> dict[str, MedianRange]:
    """The medians of runs that no cube, index or earlier answer served, by shape.

    The first statement of a process counts for none.
    """
    first = first_runs(rows)
    times: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["state"] != "FINISHED" or row["shape"] is None or row["cached"]:
            continue
        ms = run_ms(row)
        if ms is not None and not row["cubes"] and not row["indexes"] and row["id"] not in first:
            times[row["shape"]].append(ms)
    longest = sorted(times.items(), key=lambda one: (-sum(one[1]), one[0]))[: ledger.SHAPES_MAX]
    found = {shape: median_range(some) for shape, some in longest}
    return {shape: one for shape, one in found.items() if one is not None}


def entry(one: Recommendation, by: By, state: State) -> AppliedAdvice:
    """What is known when its work begins."""
    return AppliedAdvice(
        key=uuid.uuid4().hex,
        id=one.id,
        action=one.action,
        table=one.table,
        table_uuid=one.table_uuid,
        name=one.name,
        by=by,
        state=state,
        began_ms=now_ms(),
        artifact_id=one.cube_id or one.object_id,
        digest=one.digest,
        gain_ms=one.gain_ms,
        bytes=one.bytes,
        build_s=one.build_s,
        reason=one.reason[:_REASON_MAX],
    )


def artifact_id(services: Services, one: Recommendation) -> str:
    """The id of the cube or index that it's about; empty where there is none."""
    registry = services.store.registry(fresh=True)
    found = registry.cubes.get(one.cube) or registry.indexes.get(one.index)
    return "" if found is None else found.id


def now_ms() -> int:
    """The clock: Unix time in milliseconds."""
    return time.time_ns() // 1_000_000
