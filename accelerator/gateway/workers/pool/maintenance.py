"""The store's maintenance beside a gateway: a worker of its own vacuums it and refreshes cubes.

Promise: it's there as long as the gateway is. A worker that dies, or can't be made, is followed by
another one, later each time; one without Spark, once a build needs that, by one that has it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

from msgspec import convert

from accelerator.errors import UNFIT, SparkElsewhereError
from accelerator.gateway.trino.errors import TrinoError
from accelerator.gateway.workers.messages import Header
from accelerator.gateway.workers.pool.pool import NoWorkerError, Pool, WorkerLostError
from accelerator.services.advisor.report import Advised
from accelerator.services.maintenance.daemon import FinishedRound, Schedule, Vacuumed
from accelerator.services.maintenance.prometheus import Exporter
from accelerator.services.maintenance.prometheus_advisor import AdvisorFigures
from accelerator.services.maintenance.prometheus_refresh import RefreshFigures
from accelerator.services.refresh.service import Refreshed
from accelerator.store import VacuumLine

_log = logging.getLogger("accelerator.gateway")
_PAUSE_S, _PAUSE_MAX_S = 5.0, 600.0


class Maintenance:
    """Of one gateway; `exporter` has its figures, under the names that they have alone."""

    def __init__(self, pool: Pool, schedule: Schedule) -> None:
        self._pool, self._schedule = pool, schedule
        self.exporter = Exporter()
        self._figures = RefreshFigures(self.exporter.registry)
        self._advisor = AdvisorFigures(self.exporter.registry)
        self._spark = False

    async def run(self) -> None:
        """Keeps a worker at it; ends by being cancelled."""
        pause = _PAUSE_S
        while True:
            try:
                maintained = self._pool.maintained(self._schedule, spark=self._spark)
                async with aclosing(maintained) as frames:
                    async for frame in frames:
                        if frame.kind == "told":
                            self._hear(frame.header)
                            pause = _PAUSE_S
                        else:
                            error = TrinoError.from_dict(frame.header.get("error"))
                            if error.code == SparkElsewhereError.code and not self._spark:
                                _log.info("the store's maintenance needs Spark from now on")
                                self._spark, pause = True, 0.0
                                break
                            _log.error("the store isn't maintained: %s", error.message)
            except (WorkerLostError, NoWorkerError) as error:
                _log.error("the store isn't maintained: %s", error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSE_MAX_S) or _PAUSE_S

    def _hear(self, told: Header) -> None:
        try:
            if "ended" in told:
                self.exporter.ended(convert(told["ended"], FinishedRound))
                return
            if "refreshed" in told:
                self._hear_refresh(convert(told["refreshed"], Refreshed))
                return
            if "advised" in told:
                self._hear_advice(convert(told["advised"], Advised))
                return
            if "lags" in told:
                self._figures.lags(told["lags"])
                return
            done = convert(told["vacuumed"], Vacuumed)
            lines = convert(told["lines"], tuple[VacuumLine, ...])
        except UNFIT as error:
            _log.error("what the store's maintenance told can't be read: %s", error)
            return
        self.exporter.vacuumed(done, lines)
        if done.error is not None:
            _log.error("%s: %s", done.table, done.error)
        elif done.files:
            _log.info("%s: %d files deleted, %d bytes", done.table, done.files, done.bytes)

    def _hear_advice(self, done: Advised) -> None:
        self._advisor.advised(done)
        for step in done.steps:
            if step.error is None:
                _log.info("the advisor: %s %s", step.action, step.name)
        if done.error is not None:
            _log.error("the advisor: %s", done.error)

    def _hear_refresh(self, done: Refreshed) -> None:
        self._figures.refreshed(done)
        if done.error is not None:
            _log.error("%s %s: %s", done.kind, done.artifact, done.error)
        elif done.files:
            _log.info("%s %s: %d data files built", done.kind, done.artifact, done.files)
