"""What the advisor makes by itself: a cube or an index under the id that was written down before.

So what a killed run had begun is found by that id, gone on with or let go; by its name alone it
could be a person's. Until it's built nobody else builds it, then it follows its table.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec.structs import replace

from accelerator.common.config import refresh_schedule
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import CubeNotFoundError, IndexNotFoundError
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.nodes import CompactCube, CreateCube, CreateIndex
from accelerator.services.refresh.artifacts import BuildProgress
from accelerator.store import CubeRecord, IndexRecord
from accelerator.store.journals import ledger

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services
    from accelerator.services.advisor.apply.apply import Execute
    from accelerator.services.runner import Reported

Live = CubeRecord | IndexRecord


class Making:
    """Of one run; `execute` runs a statement of ours, `report` hears of builds.

    `stop` ends them.
    """

    def __init__(
        self, services: Services, execute: Execute, report: Reported, stop: threading.Event
    ) -> None:
        self._services, self._execute = services, execute
        self._told, self._stop = BuildProgress(report), stop

    def live(self, id: str) -> Live | None:
        """The cube or index of that id, if there is one."""
        registry = self._services.store.registry(fresh=True)
        every: list[Live] = [*registry.cubes.values(), *registry.indexes.values()]
        return next((one for one in every if id and one.id == id), None)

    def is_in_bin(self, id: str) -> bool:
        """Whether somebody has dropped the cube of that id, and it may come back."""
        return any(one.cube.id == id for one in self._services.store.registry(fresh=True).bin)

    def create(self, statement: CreateCube | CreateIndex, id: str) -> pa.Table:
        """Makes it under that id, and builds it; the statement's rows. Errors of both."""
        store, name = self._services.store, statement.name
        if isinstance(statement, CreateCube):
            self._execute(replace(statement, deferred=True, cube_id=id))
            cube = store.change_cube(name, id, refresh="manual").cubes[name]
            return FORM_OF[CreateCube].table(self._build(cube))
        self._execute(replace(statement, deferred=True, index_id=id))
        index = store.change_index(name, id, refresh="manual").indexes[name]
        built = self._build(index)
        return FORM_OF[CreateIndex].table(as_dict(built) | {"files_skipped": built.skipped})

    def finish(self, record: Live) -> None:
        """Builds what it lacks, and merges it; errors of builds."""
        self._build(record)
        if isinstance(record, IndexRecord):
            return
        found = self.live(record.id)
        if found is None:
            raise CubeNotFoundError(
                "the cube was dropped while it was built", hint="the advisor leaves it at that"
            )
        if len(self._services.store.table(record.table_uuid).of(record.id)) > 1:
            self._execute(CompactCube(found.name))

    def follow(self, id: str) -> None:
        """Has it brought up to date from now on, as the settings say.

        What a person has set meanwhile stays.
        """
        record, store = self.live(id), self._services.store
        if id in ledger.read(store.files).acted("altered"):
            return
        wanted = refresh_schedule.parsed(self._services.config.advisor_refresh).text
        with suppress(CubeNotFoundError, IndexNotFoundError):  # dropped since
            if isinstance(record, CubeRecord):
                store.change_cube(record.name, id, refresh=wanted)
            elif record is not None:
                store.change_index(record.name, id, refresh=wanted)

    def settle(self, id: str) -> bool:
        """Whether what failed in the middle stays: what has some answers, and a refresh goes on.

        What has none isn't left. StoreError.
        """
        record, store = self.live(id), self._services.store
        if record is None:
            return False
        if store.table(record.table_uuid).of(record.id):
            self.follow(id)
            return True
        with suppress(CubeNotFoundError, IndexNotFoundError):
            if isinstance(record, CubeRecord):
                store.recycle_cube(record.name, 0, cube_id=id)
            else:
                store.drop_index(record.name, index_id=id)
        return False

    def _build(self, record: Live) -> Any:
        with self._services.cancellation.tracked(ctrl_c=False) as tag:
            (built,) = self._services.builder_of(record).build(
                [record], progress=self._told, cancelled=self._stop, tag=tag
            )
        return built
