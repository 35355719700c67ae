"""The runs that the API shows, starts and stops for one user; in a worker.

Runs of all processes of the store count. A user sees the runs that they started, those whose
tables they may read, and those that they may start. Stopping one needs what starting it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from accelerator.errors import AcceleratorError, StoreError
from accelerator.gateway.access.check import check, denied, tables_of, tables_of_index
from accelerator.gateway.access.grants import GATEWAY, Object, UserAccess
from accelerator.gateway.access.rulings import Rulings, noting
from accelerator.gateway.workers.api import models as m
from accelerator.gateway.workers.api import paging
from accelerator.gateway.workers.api.errors import RunEndedError, RunNotFoundError
from accelerator.gateway.workers.api.tables import TablesOfUser
from accelerator.query.statements import nodes
from accelerator.query.statements.nodes import Statement
from accelerator.services.maintenance import requested_tasks
from accelerator.services.maintenance.requested_tasks import ANALYZE, VACUUM, Requested
from accelerator.services.refresh.artifacts import COMPACT
from accelerator.store import CubeRecord, IndexRecord
from accelerator.store.journals.claims import Claims, Seen
from accelerator.store.journals.run import CANCELLED, REFRESH
from accelerator.store.journals.run import FinishedRun as Kept
from accelerator.store.journals.run_history import RunHistory, RunRecord, id_of, parts_of_id
from rewrite.identifiers.qualified_name import parts_of

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_LIST = "runs"
_ACTIONS = {REFRESH: "refresh", COMPACT: "compact", VACUUM: "vacuum", ANALYZE: "analyze"}
FullName = tuple[str, ...]


class _Of:
    """What runs are of, by their keys."""

    def __init__(self, services: Services) -> None:
        self._services, self._pin = services, services.lake.pin()

    @cached_property
    def _records(self) -> dict[str, CubeRecord | IndexRecord]:
        registry = self._services.store.registry()
        binned: list[CubeRecord | IndexRecord] = [one.cube for one in registry.bin]
        every = [*binned, *registry.cubes.values(), *registry.indexes.values()]
        return {one.id: one for one in every}

    @cached_property
    def _tables(self) -> dict[str, str]:
        return {one.table_uuid: one.table for one in self._records.values()}

    def action(self, key: str) -> str:
        """What sort of work it is: a word, that of the key where it has no other."""
        return next((word for begin, word in _ACTIONS.items() if key.startswith(begin)), key)

    def record(self, key: str) -> CubeRecord | IndexRecord | None:
        """The cube or index that it's of."""
        for begin in (REFRESH, COMPACT):
            if key.startswith(begin):
                return self._records.get(key.removeprefix(begin))
        return None

    def table(self, key: str) -> str | None:
        """The full name of the table that it's of, or of its cube's or index's."""
        record = self.record(key)
        if record is not None:
            return record.table
        for begin in (VACUUM, ANALYZE):
            if key.startswith(begin):
                return self._tables.get(key.removeprefix(begin))
        return None

    def title(self, key: str) -> str:
        """As people are told; empty where that is gone."""
        record, table = self.record(key), self.table(key)
        if record is not None:
            return f"{'cube' if isinstance(record, CubeRecord) else 'index'} {record.name}"
        return "" if table is None else f"table {table}"

    def reads(self, key: str) -> frozenset[FullName] | None:
        """The tables under it; None where they can't be told."""
        record, table = self.record(key), self.table(key)
        if isinstance(record, CubeRecord):
            return tables_of(record)
        if record is not None:
            return frozenset(tables_of_index(record, self._pin))
        return None if table is None else frozenset([parts_of(table)])

    def statement(self, key: str) -> Statement | None:
        """The statement that does the same; None for work that no statement is."""
        record, table = self.record(key), self.table(key)
        if record is not None:
            if key.startswith(COMPACT):
                return nodes.CompactCube(record.name)
            is_cube = isinstance(record, CubeRecord)
            return nodes.BuildCube(record.name) if is_cube else nodes.BuildIndex(record.name)
        if table is None:
            return None
        if key.startswith(ANALYZE):
            return nodes.Analyze(parts_of(table))
        return nodes.VacuumTable(parts_of(table))


class RunsOf:
    """For one request of one user."""

    def __init__(self, services: Services, access: UserAccess, user: str) -> None:
        self._services, self._access, self._user = services, access, user
        self._claims = Claims(services.store.files)
        self._history, self._of = RunHistory(services.store.files), _Of(services)
        self._may_do: dict[str, bool] = {}

    def runs(self, page: m.Paging) -> m.Runs:
        """The history, and on its first part what goes on."""
        before = paging.read(page, _LIST)
        running = list(self._running()) if before is None else []
        items: list[m.RunModel] = []
        last, more = "", False
        for place, entry in self._history.newest(before or ""):
            if not self._sees(entry.key, entry.by):
                continue
            if len(items) == page.limit:
                more = True
                break
            items.append(self._ended(entry))
            last = place
        then = paging.written(_LIST, last) if more else None
        return m.Runs(running=running, items=items, next=then)

    def run(self, path: m.RunPath) -> m.RunModel:
        """One run. RunNotFoundError where there is none that is known, or may be."""
        parts = parts_of_id(path.run)
        if parts is None:
            raise _unknown()
        found = self._run_of(*parts)
        if not self._sees(parts[0], found.by):
            raise _unknown()
        return found

    def cancel(self, path: m.RunPath) -> m.RunModel:
        """Asks a run to stop; it's told as it goes on until its process hears of that.

        RunEndedError where it isn't running.
        """
        found = self.run(path)
        parts = parts_of_id(path.run)
        assert parts is not None
        self._check(parts[0], found.by)
        if found.state != "running" or not self._claims.ask_to_stop(*parts, self._user):
            raise RunEndedError("the run has ended", hint="only what runs can be cancelled")
        return found

    def task(self, start: m.Start) -> Requested:
        """The work that is asked for, where the user may do it; errors as its statement's."""
        asked, services = start.root, self._services
        if isinstance(asked, m.Vacuum | m.AnalyzeModel):
            return self._of_table(asked)
        registry = services.store.registry(fresh=True)
        if isinstance(asked, m.RefreshIndex):
            self._allow(nodes.BuildIndex(asked.index))
            return requested_tasks.refresh(services, registry.index(asked.index))
        if isinstance(asked, m.CompactCubeModel):
            self._allow(nodes.CompactCube(asked.cube))
            return requested_tasks.compact(services, registry.named(asked.cube))
        self._allow(nodes.BuildCube(asked.cube))
        return requested_tasks.refresh(services, registry.named(asked.cube))

    def _of_table(self, asked: m.Vacuum | m.AnalyzeModel) -> Requested:
        tables = TablesOfUser(self._services, self._access)
        catalog, schema, name = asked.table
        full = tables.full(m.TablePath(catalog=catalog, schema=schema, table=name))
        if isinstance(asked, m.Vacuum):
            self._allow(nodes.VacuumTable(full, asked.full))
        else:
            self._allow(nodes.Analyze(full))
        pinned = self._services.lake.pin(fresh=True).pinned(full)
        if pinned is None:
            raise tables.unknown(full)
        if isinstance(asked, m.Vacuum):
            return requested_tasks.vacuum(self._services, pinned, full=asked.full)
        return requested_tasks.analyze(self._services, pinned)

    def newest(self, key: str) -> m.RunModel | None:
        """Returns the key's run that goes on, or the last one that ended; None without any."""
        seen = self._claims.seen(key)
        return None if seen is None else self._run_of(key, seen.epoch)

    def _running(self) -> Iterator[m.RunModel]:
        for key in self._claims.known_keys():
            try:
                seen = self._claims.seen(key)
            except StoreError:  # it changes faster than it can be read
                continue
            if seen is None or not self._sees(key, seen.by):
                continue
            if not self._claims.may_begin(key, seen):
                yield self._newest(key, seen)

    def _run_of(self, key: str, epoch: int) -> m.RunModel:
        entry = self._history.find(key, epoch)
        if entry is not None:
            return self._ended(entry)
        seen = self._claims.seen(key)
        if seen is None or seen.epoch < epoch:
            raise _unknown()
        if seen.epoch > epoch:
            # Others have followed, and what ended as a run is in the history.
            entry = self._history.find(key, epoch)
            if entry is None:
                raise _unknown()
            return self._ended(entry)
        return self._newest(key, seen)

    def _newest(self, key: str, seen: Seen) -> m.RunModel:
        """The newest claim of a key as a run."""
        state: m.RunState = "running"
        if seen.ended:
            last = Kept.from_json(seen.last)
            if last is not None and last.began_ms >= seen.began_ms:
                return self._ended(RunRecord(key, seen.epoch, last, seen.by))
            state = "not_due"
        elif self._claims.may_begin(key, seen):
            state = "lost"
        return m.RunModel(
            id=id_of(key, seen.epoch),
            key=key,
            action=self._of.action(key),
            of=self._of.title(key),
            table=self._of.table(key),
            state=state,
            began=seen.began_ms,
            done=seen.progress.done,
            total=seen.progress.total,
            by=seen.by,
        )

    def _ended(self, entry: RunRecord) -> m.RunModel:
        run, key = entry.run, entry.key
        state: m.RunState = "partial" if run.more else "done"
        if run.code is not None or run.failures:
            state = "cancelled" if run.code == CANCELLED else "failed"
        return m.RunModel(
            id=entry.id,
            key=key,
            action=self._of.action(key),
            of=self._of.title(key),
            table=self._of.table(key),
            state=state,
            began=run.began_ms,
            ended=run.ended_ms,
            done=run.done,
            total=0 if run.more else run.done,
            twice=run.twice,
            failures=run.failures,
            error=run.error,
            code=run.code,
            by=entry.by,
        )

    def _sees(self, key: str, by: str) -> bool:
        """Returns whether the user started the run (`by`), may read its tables, or may do it.

        Who may see all figures sees all runs.
        """
        if self._access.everything or self._access.may("metrics", GATEWAY):
            return True
        if by and by == self._user:
            return True
        reads = self._of.reads(key)
        if reads and all(self._access.may("read", Object.table(one)) for one in reads):
            return True
        if key not in self._may_do:
            self._may_do[key] = self._asks(key)
        return self._may_do[key]

    def _asks(self, key: str) -> bool:
        """Returns whether the user may do what the run does; the audit log isn't told."""
        statement = self._of.statement(key)
        if statement is None:
            return False
        try:
            with noting(Rulings()):
                self._allow(statement)
        except AcceleratorError:
            return False
        return True

    def _allow(self, statement: Statement) -> None:
        check(statement, self._access, self._services)

    def _check(self, key: str, by: str) -> None:
        statement = self._of.statement(key)
        if statement is not None:
            self._allow(statement)
        elif not self._access.everything and by != self._user:
            raise denied("metrics", GATEWAY)


def _unknown() -> RunNotFoundError:
    return RunNotFoundError("there is no such run, or not any more", hint="check its id")
