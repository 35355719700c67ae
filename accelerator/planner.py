"""SQL to a plan: pins, normal form, every cube of the statement's tables tried, the cheapest cover.

Plans are cached under the statement, its tables' metadata, the store's versions and the session's
settings: all immutable names, so a cached plan is never stale. Nothing here runs a query.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.config import Config
from accelerator.context import SessionContext, refusal
from accelerator.cover_plan import Candidate, candidate, cheapest, duckdb_run, nearest
from accelerator.iceberg import Lake, Pin, PinnedTable
from accelerator.plan import CubePlan, DuckDBRun, PlainPlan, Plan, Tried
from accelerator.store import CubeRecord, RegistryVersion, Store, TableVersion
from cubes.cover_sql import SegmentSource, answer_sql
from cubes.definition import CubeDefinition, from_dict
from cubes.freshness import Coverage, cover
from cubes.match import match
from cubes.plan import Match
from rewrite.bind import bind_block
from rewrite.block import Block
from rewrite.facts import At, Facts, TableFacts
from rewrite.parse import parse
from rewrite.reason import Declined, DeclinedError

_CACHED = 512
V = TypeVar("V")


class Recent(Generic[V]):
    """A thread-safe cache of the most recently used values."""

    def __init__(self, size: int = _CACHED) -> None:
        self._size, self._values = size, OrderedDict[Hashable, V]()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """The value, None if it isn't kept."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: Hashable, value: V) -> None:
        """Keeps a value; the least recently used one goes."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)


class _Seen(Facts):
    """Passes questions on to a pin and remembers which tables were asked for."""

    def __init__(self, pin: Pin, context: SessionContext) -> None:
        self.pin, self._context = pin, context
        self.names: list[tuple[tuple[str, ...], At]] = []

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        self.names.append((parts, at))
        return None if self._context.is_temporary(parts) else self.pin.table(parts, at)


class _Stored:
    """The store as one statement sees it: each of its logs is asked for its newest version once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables: dict[str, TableVersion] = {}

    @cached_property
    def registry(self) -> RegistryVersion:
        return self._store.registry()

    def table(self, table_uuid: str) -> TableVersion:
        version = self._tables.get(table_uuid)
        if version is None:
            version = self._tables[table_uuid] = self._store.table(table_uuid)
        return version


@dataclass(frozen=True, slots=True)
class _Statement:
    """A parsed statement; `names` are the tables that its plan depends on, once it was bound."""

    tree: exp.Expression
    names: tuple[tuple[tuple[str, ...], At], ...] | None = None


class Planner:
    """Plans statements over one lake and one store; threads may share it."""

    def __init__(
        self,
        lake: Lake,
        store: Store,
        config: Config,
        context: SessionContext,
    ) -> None:
        self._lake, self._store, self._config, self._context = lake, store, config, context
        self._statements: Recent[_Statement] = Recent()
        self._plans: Recent[Plan] = Recent()
        self._covers: Recent[Coverage] = Recent()
        self._definitions: tuple[int, dict[str, list[tuple[CubeRecord, CubeDefinition | None]]]]
        self._definitions = (-1, {})

    def plan(self, sql: str, *, only: str | None = None) -> tuple[Plan, bool]:
        """The plan, and whether it was in the cache. `only` considers that cube alone."""
        with self._context.statement():
            return self._planned(sql, only)

    def _planned(self, sql: str, only: str | None) -> tuple[Plan, bool]:
        settings = self._context.settings()
        refused = refusal(settings)
        if refused is not None:
            return PlainPlan(refused), False
        statement = self._statements.get(sql)
        if statement is None:
            try:
                statement = _Statement(self._parse(sql))
            except SqlglotError as error:
                return PlainPlan(Declined("parse_failed", str(error).splitlines()[0])), False
            self._statements.put(sql, statement)
        pin, stored = self._lake.pin(), _Stored(self._store)
        key = self._key(sql, statement, (pin, stored), settings, only)
        known = self._plans.get(key) if key is not None else None
        if known is not None:
            return known, True
        seen = _Seen(pin, self._context)
        plan = self._plan(statement.tree, (seen, stored), settings, only)
        if isinstance(plan, CubePlan):
            statement = _Statement(statement.tree, tuple(dict.fromkeys(seen.names)))
            self._statements.put(sql, statement)
            key = self._key(sql, statement, (pin, stored), settings, only)
            self._plans.put(key, plan)
        return plan, False

    def bind(self, sql: str) -> tuple[Block, Pin]:
        """The normal form of a SELECT and the pin that it was bound under."""
        pin = self._lake.pin()
        return bind_block(self._parse(sql), _Seen(pin, self._context)), pin

    def _parse(self, sql: str) -> exp.Expression:
        return parse(sql, self._config.dialect)

    def cubes_of(self, table_uuid: str) -> list[tuple[CubeRecord, CubeDefinition | None]]:
        """The registered cubes of a fact table; the definition is None where it can't be read."""
        return self._cubes_of(table_uuid, self._store.registry())

    def _cubes_of(
        self, table_uuid: str, registry: RegistryVersion
    ) -> list[tuple[CubeRecord, CubeDefinition | None]]:
        number, by_table = self._definitions
        if number != registry.number:
            by_table = {}
            for record in registry.cubes.values():
                by_table.setdefault(record.table_uuid, []).append((record, _definition(record)))
            self._definitions = (registry.number, by_table)
        return by_table.get(table_uuid, [])

    def _coverage(
        self,
        record: CubeRecord,
        cube: CubeDefinition,
        found: Match,
        pinned: Mapping[int, PinnedTable],
        settings: Mapping[str, str],
        stored: _Stored,
    ) -> Coverage:
        """The cover of the fact's live files; `pinned` is by the cube's occurrences."""
        version = stored.table(record.table_uuid)
        states = tuple(
            (o, p.metadata_location, p.facts.snapshot_id) for o, p in sorted(pinned.items())
        )
        key = (record.id, version.number, states, found.needs, tuple(settings.values()))
        known = self._covers.get(key)
        if known is None:
            known = cover(
                cube,
                version.of(record.id),
                pinned[0].live_files(),
                {o: p.facts for o, p in pinned.items()},
                found.needs,
                dict(settings),
            )
            self._covers.put(key, known)
        return known

    def _key(
        self,
        sql: str,
        statement: _Statement,
        state: tuple[Pin, _Stored],
        settings: Mapping[str, str],
        only: str | None,
    ) -> Hashable:
        if statement.names is None:
            return None
        pin, stored = state
        if any(self._context.is_temporary(parts) for parts, _ in statement.names):
            return None
        pinned = [pin.pinned(parts, at) for parts, at in statement.names]
        states = tuple((p.metadata_location, p.parts) if p else None for p in pinned)
        registry = stored.registry
        uuids = {p.facts.uuid for p in pinned if p and self._cubes_of(p.facts.uuid, registry)}
        stores = tuple((uuid, stored.table(uuid).number) for uuid in sorted(uuids))
        return (sql, states, registry.number, stores, tuple(settings.values()), only)

    def _plan(
        self,
        tree: exp.Expression,
        state: tuple[_Seen, _Stored],
        settings: Mapping[str, str],
        only: str | None,
    ) -> Plan:
        seen, stored = state
        try:
            block = bind_block(tree, seen, settings.get("time_zone"))
        except DeclinedError as error:
            return PlainPlan(error.declined)
        pinned = tuple(_pinned(seen.pin, o.parts, o.at) for o in block.occurrences)
        uuids = dict.fromkeys(o.table.uuid for o in block.occurrences)
        cubes = [pair for uuid in uuids for pair in self._cubes_of(uuid, stored.registry)]
        if not cubes:
            return PlainPlan(Declined("cubes_none"))
        tried: list[Tried] = []
        found: list[Candidate] = []
        for record, cube in sorted(cubes, key=lambda pair: pair[0].name):
            if only is not None and record.name != only:
                continue
            result = self._try(block, (record, cube), pinned, settings, stored)
            tried.append(result if isinstance(result, Tried) else result.tried)
            if isinstance(result, Candidate):
                found.append(result)
        best = cheapest(found)
        if best is None:
            return PlainPlan(nearest(tried) or Declined("cubes_none"), tuple(tried))
        return self._cube_plan(block, best, pinned, tuple(tried))

    def _try(
        self,
        block: Block,
        tried: tuple[CubeRecord, CubeDefinition | None],
        pinned: tuple[PinnedTable, ...],
        settings: Mapping[str, str],
        stored: _Stored,
    ) -> Tried | Candidate:
        record, cube = tried
        if cube is None:
            return Tried(record.name, Declined("segment_unreadable", "Its definition."))
        found = match(block, cube)
        if isinstance(found, Declined):
            return Tried(record.name, found)
        by_cube = {v: pinned[q] for v, q in found.needs.named} | {0: pinned[found.fact]}
        coverage = self._coverage(record, cube, found, by_cube, settings, stored)
        return candidate(record, cube, found, coverage, pinned)

    def _cube_plan(
        self,
        block: Block,
        best: Candidate,
        pinned: tuple[PinnedTable, ...],
        tried: tuple[Tried, ...],
    ) -> Plan:
        run: DuckDBRun | None = None
        declined: Declined | None = None
        try:
            run = duckdb_run(block, best)
        except DeclinedError as error:
            declined = error.declined
            neither = _spark_declines(block, best)
            if neither is not None:
                return PlainPlan(neither, tried)
        small = best.tried.bytes <= self._config.duckdb_bytes_max
        wanted = self._config.engine
        engine = (
            "duckdb"
            if run is not None and wanted != "spark" and (small or wanted == "duckdb")
            else "spark"
        )
        return CubePlan(
            cube=best.record.name,
            cube_id=best.record.id,
            definition=best.cube,
            block=block,
            match=best.match,
            coverage=best.coverage,
            pinned=pinned,
            duckdb=run,
            duckdb_declined=declined,
            engine=engine,
            segment_bytes=best.segment_bytes,
            raw_bytes=best.raw_bytes,
            tried=tried,
            names=tuple(o.name for o in block.outputs),
        )


def _spark_declines(block: Block, best: Candidate) -> Declined | None:
    """Why Spark's text can't be written either; None where it can."""
    try:
        answer_sql(block, best.match, "spark", [SegmentSource("cube", "")], None)
    except DeclinedError as error:
        return error.declined
    return None


def _pinned(pin: Pin, parts: tuple[str, ...], at: At) -> PinnedTable:
    pinned = pin.pinned(parts, at)
    if pinned is None:
        raise DeclinedError("table_unknown", f"The table {'.'.join(parts)}.")
    return pinned


def _definition(record: CubeRecord) -> CubeDefinition | None:
    try:
        return from_dict(dict(record.definition))
    except (KeyError, TypeError, ValueError):
        return None
