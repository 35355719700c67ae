"""Decides whether other tables or views still need files that a vacuum would delete.

Promise: a vacuum goes on only if no metadata and no snapshot of another table or view in the
catalogs names a file that it may delete. `Footprints` proves that for most tables by their
metadata alone. A table's snapshots are read if one of its folders ever lay over or under the
vacuumed one, or if its metadata can't exclude it. If they can't be read, the vacuum is refused.

A table that appears meanwhile, newly made or renamed, is looked at as well. Files that are written
later are younger than a vacuum's age limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from accelerator.errors import UNFIT, AcceleratorError, CancelledError, VacuumRefusedError
from accelerator.iceberg.catalogs.readers import CatalogReader, CatalogSettings
from accelerator.iceberg.tables.footprints import Footprints, MetadataLocation
from accelerator.iceberg.tables.places import SearchFolder, file_keys, folder_of
from rewrite.identifiers.qualified_name import joined

_ROUNDS_MAX = 10
_DEEP = 1 << 10
"""Links anywhere in the vacuumed folder are followed, since the procedure that lists it does so."""
_SHALLOW = 2
"""Of other tables' folders the links in `data`, `metadata` and the folders of partitions."""

_SERVER = ("uri", "warehouse", "prefix", "ref", "glue.id", "glue.region", "client.region")
"""Properties of a catalog that say which tables it has."""

Name = tuple[tuple[str, ...], bool]
"""The full name of a table or view, and whether it's a view."""


class FileReferences(Protocol):
    """All tables and views that may need a file."""

    def names(self) -> Iterable[Name]:
        """Their names."""
        ...

    def located(self, name: Name) -> MetadataLocation | None:
        """The newest metadata of one; None if it's gone."""
        ...

    def are_one(self, name: Name, other: Name) -> bool:
        """Returns whether both names surely mean one entry of one catalog."""
        ...


class LakeCatalogs(Struct, frozen=True):
    """The catalogs of a session. `listed` lists the tables of one that only Spark can list."""

    readers: Mapping[str, CatalogReader]
    settings: Mapping[str, CatalogSettings]
    listed: Callable[[str], Iterable[tuple[str, ...]]] = lambda _catalog: ()

    def names(self) -> Iterator[Name]:
        """See `FileReferences.names`."""
        for catalog, reader in self.readers.items():
            for identifier, is_view in reader.entries():
                yield (catalog, *identifier), is_view
            for identifier in self.listed(catalog):
                yield (catalog, *identifier), False

    def located(self, name: Name) -> MetadataLocation | None:
        """See `FileReferences.located`."""
        parts, is_view = name
        return self.readers[parts[0]].located(parts[1:], is_view=is_view)

    def are_one(self, name: Name, other: Name) -> bool:
        """See `FileReferences.are_one`: the name itself, or the same server under another name."""
        (parts, is_view), (others, is_other_view) = name, other
        if parts[1:] != others[1:] or is_view != is_other_view:
            return False
        if parts[0] == others[0]:
            return True
        mine, its = self.settings[parts[0]], self.settings[others[0]]
        # In a SQL database, a catalog's name is part of the key of its tables.
        if mine.type != its.type or mine.type in ("sql", "jvm"):
            return False
        if mine.type != "glue" and "uri" not in mine.properties:
            return False
        return all(mine.properties.get(key) == its.properties.get(key) for key in _SERVER)


class SharedFiles:
    """Decides for one table; `check` raises CancelledError if the vacuum was cancelled."""

    def __init__(
        self,
        catalogs: FileReferences,
        footprints: Footprints,
        parts: tuple[str, ...],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._catalogs, self._footprints, self._check = catalogs, footprints, check
        self._name: Name = (parts, False)
        self._text = joined(parts)

    def check_folder(self, location: str) -> None:
        """VacuumRefusedError if another table or view needs a file under the folder."""
        folder = SearchFolder(location, _DEEP)

        def inspect(name: Name, other: MetadataLocation) -> None:
            if name[1]:
                inside = folder.has(SearchFolder(folder_of(other.location)))
            else:
                inside = self._is_inside(folder, other)
            if inside:
                raise VacuumRefusedError(
                    f"{_title(name)} has files inside {self._text}'s location {location}",
                    hint="which files there are orphans can't be proven; leave FULL out, or move"
                    " one of both",
                )

        self._inspect(inspect)

    def _is_inside(self, folder: SearchFolder, other: MetadataLocation) -> bool:
        """Returns whether the table writes into the folder, or a file that it needs lies there."""
        newest = self._footprints.newest(other)
        if any(folder.has(SearchFolder(one)) for one in newest.written):
            return True
        folders = self._footprints.folders(other, self._check)
        if not any(folder.meets(SearchFolder(one, _SHALLOW)) for one in folders):
            return False
        return any(
            folder.has(SearchFolder(one)) for one in self._footprints.used(other, self._check)
        )

    def check_snapshots(self, gone: Collection[int]) -> bool:
        """VacuumRefusedError if another table needs a file that goes with these snapshots.

        True if another table's snapshots had to be read, so that the answer is right for these ids
        alone.
        """
        own = self._located(self._name)
        mine = [SearchFolder(one) for one in self._footprints.folders(own, self._check)]
        going: set[object] = set()
        has_read = False

        def inspect(name: Name, other: MetadataLocation) -> None:
            nonlocal has_read, going
            if name[1]:  # a view's files are in no snapshot
                return
            folders = [SearchFolder(one) for one in self._footprints.folders(other, self._check)]
            if not any(one.meets(own) for one in folders for own in mine):
                return
            if not has_read:
                has_read, going = True, self._going(own, gone)
            for path, key in file_keys(self._footprints.named(other, self._check)):
                if key in going:
                    raise VacuumRefusedError(
                        f"{_title(name)} needs {path}, which goes with old snapshots of"
                        f" {self._text}",
                        hint=f"both tables share files: drop {_title(name)} without PURGE, or leave"
                        " SNAPSHOTS out",
                    )

        self._inspect(inspect)
        return has_read

    def _going(self, own: MetadataLocation, gone: Collection[int]) -> set[object]:
        """The files that these snapshots name and no other of the table."""
        with _readable(self._name):
            named, check = self._footprints.named, self._check
            left = {key for _, key in file_keys(named(own, check, lambda one: one not in gone))}
            going = {key for _, key in file_keys(named(own, check, lambda one: one in gone))}
        return going - left

    def _located(self, name: Name) -> MetadataLocation:
        with _readable(name):
            found = self._catalogs.located(name)
        if found is None:
            raise VacuumRefusedError(
                f"{_title(name)} is gone", hint="it was dropped or renamed meanwhile; VACUUM again"
            )
        return found

    def _inspect(self, inspect: Callable[[Name, MetadataLocation], None]) -> None:
        """Calls it for every other table and view, and for those that appear meanwhile."""
        seen: set[Name] = set()
        for _ in range(_ROUNDS_MAX):
            self._check()
            fresh = [name for name in self._catalogs.names() if name not in seen]
            if not fresh and seen:
                return
            for name in fresh:
                self._check()
                if not self._catalogs.are_one(self._name, name):
                    with _readable(name):
                        other = self._catalogs.located(name)
                        if other is not None:
                            inspect(name, other)
            if not fresh:
                return
            seen.update(fresh)
        raise VacuumRefusedError(
            "new tables kept appearing in the catalogs while their files were compared with those"
            f" of {self._text}",
            hint="VACUUM again at a quieter time",
        )


def _title(name: Name) -> str:
    parts, is_view = name
    return f"the view {joined(parts)}" if is_view else joined(parts)


@contextmanager
def _readable(name: Name) -> Iterator[None]:
    """VacuumRefusedError that names the table if its catalog or a file of it can't be read."""
    try:
        yield
    except (CancelledError, VacuumRefusedError):
        raise
    except (AcceleratorError, *UNFIT) as error:  # of paths that no file system takes, too
        why = error.message if isinstance(error, AcceleratorError) else str(error)
        raise VacuumRefusedError(
            f"the files that {_title(name)} needs can't be read: {why}",
            hint="a vacuum might delete some of them; mend or drop it, or leave SNAPSHOTS out",
        ) from error
