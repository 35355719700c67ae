"""Which metadata tables and views have now: what an answer rests on, and what makes it old.

A table's version is the file of its newest metadata, with its uuid where the catalog tells it: any
commit, any change of its schema or properties gives it another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from accelerator.iceberg.catalogs.readers import CatalogReader

Name = tuple[str, ...]
Versions = Mapping[Name, str]
Readers = Mapping[str, CatalogReader]
_VIEW = "view "


def versions(readers: Readers, names: Iterable[Name]) -> Versions | None:
    """The newest of each; None where one of them has none that is known.

    CatalogError where a catalog can't be asked.
    """
    found: dict[Name, str] = {}
    moment = object()  # a catalog that is a file is asked once whether it has changed
    for name in names:
        version = _version(readers, name, moment)
        if version is None:
            return None
        found[name] = version
    return found


def _version(readers: Readers, name: Name, moment: object) -> str | None:
    reader = readers.get(name[0])
    if reader is None or len(name) < 2:
        return None
    table = reader.pointer(name[1:], moment)
    if table is not None:
        return f"table {table.uuid} {table.location}"
    view = reader.view(name[1:], moment)
    return None if view is None else f"{_VIEW}{view.location}"


def has_view(known: Versions) -> bool:
    """Whether one of them is a view."""
    return any(True for _ in views_of(known))


def views_of(known: Versions) -> Iterator[Name]:
    """Those of them that are views."""
    return (name for name, version in known.items() if version.startswith(_VIEW))
