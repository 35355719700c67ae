"""The folders in which a table's metadata places its data files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelerator.iceberg.tables.metadata import TableMetadata

DATA_PATHS = ("write.data.path", "write.object-storage.path", "write.folder-storage.path")
"""The properties by which writers place data files outside of a table's location."""
_METADATA = "metadata"
_MAX = 16


def table_locations(metadata: TableMetadata) -> tuple[str, ...]:
    """Returns a table's location, its data paths and its earlier locations, at most 16.

    The metadata log names files in the `metadata` folders of earlier locations.

    >>> from types import SimpleNamespace as Of
    >>> log = [Of(metadata_file="/old/t/metadata/1.json"), Of(metadata_file="/t/metadata/2.json")]
    >>> table_locations(Of(location="/t/", properties={}, metadata_log=log))
    ('/t', '/old/t')
    """
    found: dict[str, None] = {}
    for location in _named(metadata):
        if location.startswith("/") or ":" in location:
            found.setdefault(location.rstrip("/"))
        if len(found) == _MAX:
            break
    return tuple(found)


def _named(metadata: TableMetadata) -> Iterator[str]:
    yield metadata.location
    yield from filter(None, map(metadata.properties.get, DATA_PATHS))
    for entry in reversed(metadata.metadata_log):
        folder, _, last = entry.metadata_file.rpartition("/")[0].rpartition("/")
        if last == _METADATA:
            yield folder
