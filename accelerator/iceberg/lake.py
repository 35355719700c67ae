"""Iceberg tables as the planner sees them: pinned to one snapshot, with facts, files and rows.

Promises: the newest metadata pointer is read on every pin (`metadata_max_age_s` relaxes it), a pin
answers alike when asked twice, and a pinned table never changes. Metadata, live files and manifests
are cached by names that never get new content.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from accelerator.common.lru_cache import Recent
from accelerator.errors import UnknownTableError
from accelerator.iceberg.catalogs.choose import catalogs_of, reader_of
from accelerator.iceberg.catalogs.readers import CatalogReader, CatalogSettings, JvmLocated
from accelerator.iceberg.catalogs.views import ViewDefinition
from accelerator.iceberg.errors import CatalogError
from accelerator.iceberg.io import local_path
from accelerator.iceberg.pins.named_table import Loaded, loaded_from
from accelerator.iceberg.pins.pin import Pin
from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.iceberg.state_cache import Listings, ManifestBytes, ManifestCacheSettings
from accelerator.iceberg.tables.partition_specs import identity_of
from accelerator.iceberg.tables.schema import resolve_state, table_facts
from accelerator.iceberg.tables.unreadable import Unparsed, state_refusal
from rewrite.facts import At, ViewFacts
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.iceberg.manifests.job import ManifestJobs


_METADATA_MAX = 1024  # parsed metadata files kept
_Change = Callable[[CatalogReader, tuple[str, ...]], None]


_MANIFEST_CACHE = ManifestCacheSettings()


class Lake:
    """The catalogs of a session."""

    def __init__(
        self,
        catalogs: Sequence[CatalogSettings],
        default_catalog: str | Callable[[], str],
        default_namespace: Callable[[], tuple[str, ...]],
        *,
        metadata_max_age_s: float = 0,
        jvm_located: JvmLocated | None = None,
        other_catalogs: Collection[str] = ("spark_catalog",),
        manifest_cache: ManifestCacheSettings = _MANIFEST_CACHE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`other_catalogs` are names that the engine knows as catalogs without Iceberg tables."""
        self.settings = tuple(catalogs)
        self.catalogs = {each.name: reader_of(each, jvm_located) for each in catalogs}
        self._others = frozenset(other_catalogs) - self.catalogs.keys()
        self._default_catalog = default_catalog
        self._default_namespace = default_namespace
        self._max_age_s = metadata_max_age_s
        self._clock = clock
        self._loaded: Recent[Loaded[PinnedTable]] = Recent(_METADATA_MAX)
        self._views: Recent[ViewDefinition] = Recent()
        self._newest: dict[tuple[str, ...], tuple[float, Loaded[PinnedTable] | None]] = {}
        self._listings = Listings(manifest_cache)

    @property
    def folders(self) -> tuple[str, ...]:
        """The local folders that the catalogs' settings call their warehouses."""
        told = (each.properties.get("warehouse", "") for each in self.settings)
        paths = (local_path(one.rstrip("/")) for one in told)
        return tuple(dict.fromkeys(p for p in paths if p is not None and p.startswith("/")))

    @property
    def manifest_bytes(self) -> ManifestBytes:
        """Memory that decoded manifests take."""
        return self._listings.nbytes

    def use_jobs(self, jobs: ManifestJobs) -> None:
        """From now on manifests may be decoded by Spark jobs, where their rule says so."""
        self._listings.jobs = jobs

    def pin(self, *, fresh: bool = False) -> Pin:
        """A new pin; one per statement. With `fresh`, `metadata_max_age_s` doesn't count."""
        return Pin(self, self._read if fresh else self.newest)

    def resolve(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The full name, by Spark's rule: a first part that names a catalog is one."""
        if len(parts) > 1 and (parts[0] in self.catalogs or parts[0] in self._others):
            return parts
        default = self._default_catalog
        catalog = default if isinstance(default, str) else default()
        return (catalog, *(parts if len(parts) > 1 else (*self._default_namespace(), *parts)))

    def takes_several(self, full: tuple[str, ...]) -> bool:
        """Decides whether the table is to be asked for, of a catalog that takes several requests.

        Those are our own clients of REST catalogs; a class that settings name has promised nothing.
        """
        return self._cached(full) is None and any(
            each.name == full[0]
            and each.type == "rest"
            and "py-catalog-impl" not in each.properties
            for each in self.settings
        )

    def newest(self, full: tuple[str, ...], moment: object) -> Loaded[PinnedTable] | None:
        """The newest metadata of the table of that full name; None where that isn't one."""
        if self._max_age_s <= 0:
            return self._read(full, moment)
        known = self._cached(full)
        if known is None:
            known = self._newest[full] = (self._clock(), self._read(full, moment))
        return known[1]

    def _cached(self, full: tuple[str, ...]) -> tuple[float, Loaded[PinnedTable] | None] | None:
        """Returns when the table was read last, and its metadata; None if that's too long ago."""
        known = self._newest.get(full)
        if known is None or self._clock() - known[0] > self._max_age_s:
            return None
        return known

    def _read(self, full: tuple[str, ...], moment: object = None) -> Loaded[PinnedTable] | None:
        reader = self.catalogs.get(full[0])
        pointer = reader.pointer(full[1:], moment) if reader and len(full) > 1 else None
        if pointer is None:
            return None
        # The name belongs to the key: two names may be registered over one metadata file.
        key = (pointer.location, pointer.uuid, *full)
        loaded = self._loaded.get_or(key, lambda: loaded_from(pointer))
        if loaded.pointer.properties != pointer.properties:
            loaded.pointer = pointer
        return loaded

    def view(self, full: tuple[str, ...], moment: object) -> ViewFacts | None:
        """The view of that full name then; None where there is none in Spark's dialect."""
        definition = self.view_definition(full, moment)
        if definition is None or definition.sql is None:
            return None
        return ViewFacts(
            full,
            definition.sql,
            definition.columns,
            definition.catalog or full[0],
            definition.namespace,
            frozenset((*self._others, *self.catalogs)),
        )

    def view_definition(
        self, full: tuple[str, ...], moment: object = None
    ) -> ViewDefinition | None:
        """Returns the view of that full name, in any dialect; None if there is none."""
        reader = self.catalogs.get(full[0])
        pointer = reader.view(full[1:], moment) if reader and len(full) > 1 else None
        return None if pointer is None else self._views.get_or(pointer.location, pointer.parse)

    def state(self, full: tuple[str, ...], loaded: Loaded[PinnedTable], at: At) -> PinnedTable:
        """The table pinned to the state that `at` means; raises where there is none.

        UnreadableTableError if PyIceberg refuses the table. `refusal` is there if Spark does.
        """
        return loaded.states.get(at) or loaded.states.setdefault(at, self._state(full, loaded, at))

    def _state(self, full: tuple[str, ...], loaded: Loaded[PinnedTable], at: At) -> PinnedTable:
        name, metadata = joined(full), loaded.parsed
        if isinstance(metadata, Unparsed):
            raise metadata.refusal(at).error(name)
        snapshot, schema = resolve_state(name, metadata, at)
        snapshot_id = snapshot.snapshot_id if snapshot is not None else None
        return PinnedTable(
            facts=table_facts(name, metadata, (snapshot_id, schema)),
            parts=full,
            metadata_location=loaded.pointer.location,
            metadata=metadata,
            snapshot=snapshot,
            schema=schema,
            _listings=self._listings,
            _identity=identity_of(metadata),
            _loaded=loaded,
            refusal=state_refusal(metadata, schema, at),
        )

    def misnamed(self) -> dict[str, list[str]]:
        """Each SQL catalog without a table, with the names of others in its database, if any.

        CatalogError if one can't be read.
        """
        named = {name: catalogs_of(reader) for name, reader in self.catalogs.items()}
        return {name: others for name, others in named.items() if others and name not in others}

    def set_properties(self, parts: tuple[str, ...], updates: Mapping[str, str | None]) -> None:
        """Change the table's properties in its catalog; None removes one."""
        self.change(parts, lambda reader, name: reader.set_properties(name, updates))

    def change(self, parts: tuple[str, ...], change: _Change) -> None:
        """Have the table's catalog change it; UnknownTableError, and what the change raises."""
        full = self.resolve(parts)
        reader: CatalogReader | None = self.catalogs.get(full[0])
        if reader is None or len(full) < 2 or reader.pointer(full[1:]) is None:
            raise UnknownTableError(
                f"there is no Iceberg table {joined(full)}",
                hint=f"the Iceberg catalogs here are {', '.join(sorted(self.catalogs)) or 'none'}",
            )
        self._newest.pop(full, None)
        change(reader, full[1:])
        self._newest.pop(full, None)

    def holds(self, catalog: str, table_uuid: str) -> bool | None:
        """Whether the catalog has a table of that uuid now, under whatever name; reads all of them.

        None where that can't be told: it can't list its tables, lists none at all (a file that
        isn't mounted looks like that), or changes while it's read. CatalogError where one can't be
        read.
        """
        reader = self.catalogs.get(catalog)
        names = list(reader.tables()) if reader is not None else []
        for name in names:
            loaded = self._read((catalog, *name))
            if loaded is None or not loaded.uuid:
                return None
            if loaded.uuid == table_uuid:
                return True
        return False if names else None

    def tables(self) -> Iterator[tuple[str, ...]]:
        """The full name of every Iceberg table; catalogs that only the JVM knows list none."""
        return self.listed(lambda reader: reader.tables())

    def listed(
        self, names: Callable[[CatalogReader], Iterator[tuple[str, ...]]]
    ) -> Iterator[tuple[str, ...]]:
        """The full name of all that these are in each catalog."""
        return ((name, *one) for name, reader in self.catalogs.items() for one in names(reader))

    def reachable(self) -> Iterator[tuple[str, CatalogError | None]]:
        """Each catalog by name, and why it can't be asked for its first table."""
        for name, reader in self.catalogs.items():
            try:
                next(iter(reader.tables()), None)
            except CatalogError as error:
                yield name, error
            else:
                yield name, None
