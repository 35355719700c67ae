"""What one statement sees of a lake: each table's metadata is read once, at its first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from accelerator.common.stage_timer import staged
from accelerator.iceberg.pins.named_table import Loaded, NamedTable
from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.iceberg.tables.unreadable import RawMetadata
from rewrite.facts import At, Facts, TableFacts, ViewFacts

_NEWEST = At()
_THREADS = ThreadPoolExecutor(8, "catalogs")


class States(Protocol):
    """The catalogs of a session, which find tables, their states and views."""

    def resolve(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The name with its catalog and namespace."""
        ...

    def takes_several(self, full: tuple[str, ...]) -> bool:
        """Decides whether the catalog of that name takes several requests at once."""
        ...

    def state(self, full: tuple[str, ...], loaded: Loaded[PinnedTable], at: At) -> PinnedTable:
        """The table in that state."""
        ...

    def view(self, full: tuple[str, ...], moment: object) -> ViewFacts | None:
        """The view of that name; None if it isn't one in Spark's dialect."""
        ...


class Pin(Facts):
    """What one statement sees: each table's metadata is read once, at its first use."""

    def __init__(
        self, lake: States, newest: Callable[[tuple[str, ...], object], Loaded[PinnedTable] | None]
    ) -> None:
        self._lake, self._newest = lake, newest
        self._moment = object()
        self._metadata: dict[tuple[str, ...], Loaded[PinnedTable] | None] = {}
        self._full: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._views: dict[tuple[str, ...], ViewFacts | None] = {}

    def table(self, parts: tuple[str, ...], at: At = _NEWEST) -> TableFacts | None:
        """The facts of the table in that state, or None where it isn't an Iceberg table."""
        return None if (pinned := self.pinned(parts, at)) is None else pinned.facts

    def pinned(self, parts: tuple[str, ...], at: At = _NEWEST) -> PinnedTable | None:
        """The table in that state, or None where it isn't an Iceberg table.

        UnreadableTableError if Spark or PyIceberg refuses the state.
        """
        found = self.described(parts, at)
        if found is not None and found.refusal is not None:
            raise found.refusal.error(found.facts.name)
        return found

    def described(self, parts: tuple[str, ...], at: At = _NEWEST) -> PinnedTable | None:
        """Returns `pinned`'s table though Spark refuses the state: to list it, not to read rows."""
        full, loaded = self._newest_of(parts)
        return None if loaded is None else self._lake.state(full, loaded, at)

    @staged("metadata")
    def read_ahead(self, names: Sequence[tuple[str, ...]]) -> None:
        """Reads the newest metadata of several tables at once, in catalogs that take such requests.

        CatalogError as of `pinned`.
        """
        full = dict.fromkeys(map(self._lake.resolve, names))
        asked = [o for o in full if o not in self._metadata and self._lake.takes_several(o)]
        if len(asked) > 1:
            found = _THREADS.map(lambda one: self._newest(one, self._moment), asked)
            self._metadata.update(zip(asked, found, strict=True))

    def listing(self) -> Facts:
        """The same tables, as `described` has them."""
        return _Described(self)

    def named(self, parts: tuple[str, ...]) -> NamedTable | None:
        """The table's uuid and properties, though a reader refuses it."""
        full, loaded = self._newest_of(parts)
        return None if loaded is None else loaded.named(full)

    def raw(self, parts: tuple[str, ...]) -> RawMetadata | None:
        """The table's metadata as plain JSON, though a reader refuses it."""
        loaded = self._newest_of(parts)[1]
        return None if loaded is None else loaded.raw()

    @staged("metadata")
    def _newest_of(
        self, parts: tuple[str, ...]
    ) -> tuple[tuple[str, ...], Loaded[PinnedTable] | None]:
        full = self._full.get(parts) or self._full.setdefault(parts, self._lake.resolve(parts))
        if full not in self._metadata:
            self._metadata[full] = self._newest(full, self._moment)
        return full, self._metadata[full]

    def view(self, parts: tuple[str, ...]) -> ViewFacts | None:
        """The view of that name; None where it isn't one in Spark's dialect."""
        if parts not in self._views:
            self._views[parts] = self._lake.view(self._lake.resolve(parts), self._moment)
        return self._views[parts]


class _Described(Facts):
    """The tables of a pin for who lists them and reads no row."""

    def __init__(self, pin: Pin) -> None:
        self._pin = pin

    def table(self, parts: tuple[str, ...], at: At = _NEWEST) -> TableFacts | None:
        """The facts of the table, though Spark refuses the state."""
        return None if (found := self._pin.described(parts, at)) is None else found.facts
