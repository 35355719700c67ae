"""Writes down what is applied of advice: what was promised, by whom, what came of it.

Beside it is kept what the log's statements took before, so that results can be told when the log
has forgotten those runs.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from accelerator.advisor import applied
from accelerator.advisor.applied import Applied, By, State
from accelerator.advisor.workload import RUN_COLUMNS, now_utc, workload
from accelerator.errors import AcceleratorError, StoreError
from accelerator.query_log.reader import LIMIT_MAX, look

if TYPE_CHECKING:
    from accelerator.advisor.advice import Recommendation
    from accelerator.services import Services

Recorded = Callable[["Recommendation"], AbstractContextManager[None]]
"""Around the work of one recommendation; writes down how it went."""
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

    def write(self, made: Applied, shapes: tuple[str, ...] = ()) -> None:
        """Adds the entry, or takes the place of the one of its key. StoreError.

        `shapes` are those of statements for which what is dropped was made.
        """
        raw_ms = self.raw_ms if made.creates and made.state == "done" else {}
        is_vain = made.drops and made.reason.startswith(applied.UNPAID) and made.state == "done"
        vain = shapes if is_vain else ()

        def changed(known: applied.Ledger) -> applied.Ledger:
            return known.with_raw(raw_ms).with_vain(vain, made.ended_ms).with_entry(made)

        applied.change(self.services.store.files, changed)

    def forget(self, made: Applied) -> None:
        """Takes the entry out: nothing came of it. StoreError."""
        applied.change(self.services.store.files, lambda known: known.without(made.key))

    def ended(self, made: Applied, one: Recommendation, seconds: float) -> Applied:
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
    def raw_ms(self) -> Mapping[str, float]:
        """What statements of the log take without cubes and indexes, by shape; none on a fault."""
        now = now_utc()
        try:
            rows = look(
                self.services.store.files, now - timedelta(days=_DAYS), None, LIMIT_MAX
            ).rows
        except AcceleratorError as error:
            _log.warning("what statements took before can't be told: %s", error.message)
            return {}
        found = rows.select([*RUN_COLUMNS, "indexes"]).to_pylist()
        raw = [row for row in found if not row["indexes"]]
        shapes = workload(raw, now=now, half_life_days=_DAYS).shapes
        return {one.key: one.raw_ms for one in shapes if one.raw_ms is not None}


def entry(one: Recommendation, by: By, state: State) -> Applied:
    """What is known when its work begins."""
    return Applied(
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
