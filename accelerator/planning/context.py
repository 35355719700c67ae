"""What one statement is planned under: its pins, the store as it sees it, parts of the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.iceberg import Pin
from accelerator.store import IndexRecord, RegistryVersion, Store, TableVersion

if TYPE_CHECKING:
    from accelerator.artifacts.relate.dimensions import Dimensions
    from accelerator.artifacts.sidecars.probe import IndexProbe
    from accelerator.engines.choice import EngineChoice
    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.iceberg import PinnedTable


COUNTED_MAX = 64 * 1024 * 1024
"""Bytes of a table's data files, whose keys are read while planning, once for each state."""


class Stored:
    """The store as one statement sees it: each of its logs is asked for its newest version once.

    Cubes and indexes whose ids are `hidden` are as good as switched off.
    """

    def __init__(self, store: Store, hidden: Set[str] = frozenset()) -> None:
        self._store, self.hidden = store, hidden
        self._tables: dict[str, TableVersion] = {}

    @cached_property
    def registry(self) -> RegistryVersion:
        """All cubes."""
        return self._store.registry()

    def indexes_of(self, table_uuid: str) -> Sequence[IndexRecord]:
        """The table's indexes that may be asked, by name."""
        return [
            one
            for one in self._registered(table_uuid)
            if one.disabled is None and one.id not in self.hidden
        ]

    def disabled_of(self, table_uuid: str) -> Sequence[IndexRecord]:
        """The table's indexes that were switched off, by name."""
        return [one for one in self._registered(table_uuid) if one.disabled is not None]

    def _registered(self, table_uuid: str) -> Iterator[IndexRecord]:
        found = self.registry.indexes
        return (found[name] for name in sorted(found) if found[name].table_uuid == table_uuid)

    def table(self, table_uuid: str) -> TableVersion:
        """All segments over a fact table."""
        version = self._tables.get(table_uuid)
        if version is None:
            version = self._tables[table_uuid] = self._store.table(table_uuid)
        return version


class PlannerServices(Struct, frozen=True):
    """What of a session the search asks, each made when it's first needed."""

    indexes: Callable[[], IndexProbe]
    dimensions: Callable[[], Dimensions]
    duckdb: Callable[[], DuckDBEngine]
    choice: EngineChoice


class PlanContext(Struct, frozen=True):
    """What a statement is planned under: tables, store, the session; `only` is the one cube.

    `by_spark`: Spark will run the plan, whichever engine were better. `beside_spark`: it gets the
    answer's rows, and works on with them.
    """

    pin: Pin
    stored: Stored
    settings: Mapping[str, str]
    only: str | None = None
    by_spark: bool = False
    beside_spark: bool = False

    def reads_all(self, choice: EngineChoice, tables: Sequence[PinnedTable]) -> bool:
        """Whether all rows of these tables may be read in process for a statement."""
        if self.by_spark or self.beside_spark:
            return False
        return choice.in_process(sum(table.size_bytes for table in tables), tables)
