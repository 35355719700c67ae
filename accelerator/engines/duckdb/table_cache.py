"""Columns of small tables in memory, as joins read the same dimensions again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accelerator.common.arrow.spark_types import row_width
from accelerator.common.lru_cache import UNLIMITED, Recent
from accelerator.engines.duckdb.object_scans import ByteCounter
from accelerator.iceberg.io import local_path

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.iceberg import PinnedTable


def name_of(pinned: PinnedTable, columns: Sequence[str]) -> tuple[object, ...]:
    """A name of those columns' rows."""
    facts = pinned.facts
    ids = {path[0].field_id for path in map(facts.path, columns) if path}
    return (facts.uuid, facts.snapshot_id, facts.schema_id, facts.layouts(ids), *columns)


_SMALL = 16 * 1024 * 1024
"""Bytes of a small table's data files."""


class KeptRows:
    """Columns of tables, kept under names that never get new content.

    Threads may share it. `size_bytes` bounds what is kept; a quarter of it one table's columns.
    """

    def __init__(self, size_bytes: int) -> None:
        self._size = size_bytes
        self._tables: Recent[pa.Table] = Recent(UNLIMITED, lambda _, one: one.nbytes, size_bytes)

    def takes(self, pinned: PinnedTable, columns: Sequence[str]) -> bool:
        """Whether the table is small, in its files and in memory: few bytes may be many rows."""
        if pinned.size_bytes > _SMALL:
            return False
        rows = pinned.statistics().rows
        types = (one.type for one in map(pinned.facts.field, columns) if one is not None)
        return bool((rows >= 0).all()) and int(rows.sum()) * row_width(types) * 4 <= self._size

    def of(self, pinned: PinnedTable, columns: Sequence[str]) -> tuple[pa.Table, int]:
        """Returns those columns of all rows of the pinned table, and the bytes that were read.

        For local files these are the files' sizes, for others the bytes that the store sent. Cached
        columns read none.
        """
        name = name_of(pinned, columns)
        known = self._tables.get(name)
        if known is not None:
            return known, 0
        sent = ByteCounter()
        table = pinned.arrow(columns, count=sent)
        if table.nbytes * 4 <= self._size:
            self._tables.put(name, table)
        is_local = local_path(pinned.metadata_location) is not None
        return table, pinned.size_bytes if is_local else sent.bytes
