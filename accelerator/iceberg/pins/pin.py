"""What one statement sees of a lake: each table's metadata is read once, at its first use."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

from accelerator.common.stage_timer import staged
from accelerator.iceberg.pins.named_table import Loaded, NamedTable
from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.iceberg.tables.unreadable import RawMetadata
from rewrite.facts import At, Facts, TableFacts, ViewFacts

_NEWEST = At()
_AT_ONCE = 8
"""Tables of one statement that are asked for at once."""
_Metadata = Loaded[PinnedTable] | None
_Waiting = deque[tuple[tuple[str, ...], Future[_Metadata]]]


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
        self._metadata: dict[tuple[str, ...], _Metadata] = {}
        self._ahead: dict[tuple[str, ...], Future[_Metadata]] = {}
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
        """Begins to read the newest metadata of several tables, in catalogs that take that.

        Raises nothing; `table` and `pinned` raise each table's own error.
        """
        full = dict.fromkeys(map(self._lake.resolve, names))
        known = self._metadata.keys() | self._ahead.keys()
        asked = [o for o in full if o not in known and self._lake.takes_several(o)]
        if len(asked) > 1:
            begun = {one: Future[_Metadata]() for one in asked}
            self._ahead |= begun
            self._start_threads(deque(begun.items()))

    def _start_threads(self, waiting: _Waiting) -> None:
        """Starts threads of this statement alone, which don't keep the process from ending."""
        futures = [future for _, future in waiting]
        try:
            for _ in range(min(_AT_ONCE, len(futures))):
                threading.Thread(
                    target=self._read_all, args=(waiting,), name="catalogs", daemon=True
                ).start()
        except RuntimeError:  # this process may start no more: its own thread asks
            _cancel(futures)

    def _read_all(self, waiting: _Waiting) -> None:
        while waiting:
            try:
                full, future = waiting.popleft()
            except IndexError:  # another thread has taken the last one
                return
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._newest(full, self._moment))
                except BaseException as error:  # raised again by the statement's thread
                    future.set_exception(error)

    def _read(self, full: tuple[str, ...]) -> _Metadata:
        """Returns the newest metadata, which may have been asked for before; CatalogError."""
        ahead = self._ahead.pop(full, None)
        if ahead is None or ahead.cancelled():
            return self._newest(full, self._moment)
        try:
            return ahead.result()
        except BaseException:  # the statement ends, also by Ctrl-C
            _cancel(self._ahead.values())
            raise

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
    def _newest_of(self, parts: tuple[str, ...]) -> tuple[tuple[str, ...], _Metadata]:
        full = self._full.get(parts) or self._full.setdefault(parts, self._lake.resolve(parts))
        if full not in self._metadata:
            self._metadata[full] = self._read(full)
        return full, self._metadata[full]

    def view(self, parts: tuple[str, ...]) -> ViewFacts | None:
        """The view of that name; None where it isn't one in Spark's dialect."""
        if parts not in self._views:
            self._views[parts] = self._lake.view(self._lake.resolve(parts), self._moment)
        return self._views[parts]


def _cancel(futures: Iterable[Future[_Metadata]]) -> None:
    """Leaves those that no thread has begun with."""
    for one in futures:
        one.cancel()


class _Described(Facts):
    """The tables of a pin for who lists them and reads no row."""

    def __init__(self, pin: Pin) -> None:
        self._pin = pin

    def table(self, parts: tuple[str, ...], at: At = _NEWEST) -> TableFacts | None:
        """The facts of the table, though Spark refuses the state."""
        return None if (found := self._pin.described(parts, at)) is None else found.facts
