"""SHOW COVERAGE: a row for each live data file and each cube or index that is asked about.

What isn't covered comes first, then the newest files. Rows are made as Arrow's columns; those that
all artifacts of a table share are made once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct

from accelerator.errors import StatementError
from accelerator.iceberg import PinnedTable
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.definitions import pinned_table
from accelerator.query.statements.nodes import ShowCoverage
from accelerator.services.coverage.artifact import ArtifactCoverage
from accelerator.services.coverage.cube import of_cube
from accelerator.services.coverage.index import of_index

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

ROWS_MAX = 5_000_000
"""Rows of one answer."""
_TIME_MAX = 253_402_300_800_000  # the year 10000, in Unix ms
_ORDER = (
    ("covered", "ascending"),
    ("added", "descending"),
    ("artifact", "ascending"),
    ("file", "ascending"),
)


def shown(statement: ShowCoverage, services: Services) -> pa.Table:
    """The statement's answer.

    Raises:
        CubeNotFoundError, IndexNotFoundError: there is none of the name.
        UnknownTableError: the table isn't there, is gone, or was made anew.
        StatementError: the rows would be more than `ROWS_MAX`.
        CatalogError, StoreError: what tells can't be read.
    """
    table = None if statement.table is None else pinned_table(services, statement.table)
    schema = FORM_OF[ShowCoverage].schema
    made, tables, rows = dict[tuple[str, str, int | None], _CoveredFiles](), list[pa.Table](), 0
    with services.store.reading():
        for one in _artifacts(statement, services, table):
            name = (*one.table.version, one.table.facts.snapshot_id)
            files = made.get(name)
            if files is None:
                files = made[name] = _CoveredFiles.of(one.table)
            rows += len(files.path)
            if rows > ROWS_MAX:
                raise StatementError(
                    f"coverage of more than {ROWS_MAX:,} files can't be shown",
                    hint="ask about one cube or index: SHOW COVERAGE OF CUBE c",
                )
            tables.append(_rows(one, files, schema))
    found = pa.concat_tables(tables) if tables else schema.empty_table()
    return found.sort_by(list(_ORDER))


def _artifacts(
    statement: ShowCoverage, services: Services, table: PinnedTable | None
) -> Iterator[ArtifactCoverage]:
    registry = services.store.registry(fresh=True)
    if statement.of == "cube":
        yield of_cube(services, registry.named(statement.name))
    elif statement.of == "index":
        yield of_index(services, registry.index(statement.name))
    elif table is not None:
        uuid = table.facts.uuid
        for _, cube in sorted(registry.cubes.items()):
            if cube.table_uuid == uuid:
                yield of_cube(services, cube)
        for _, index in sorted(registry.indexes.items()):
            if index.table_uuid == uuid:
                yield of_index(services, index)


class _CoveredFiles(Struct, frozen=True):
    """What is told of a state's live files, whatever covers them, in the order of `live_files`."""

    path: pa.Array
    rows: pa.Array
    bytes: pa.Array
    added: pa.Array

    @classmethod
    def of(cls, table: PinnedTable) -> _CoveredFiles:
        """Those of the table; what its metadata doesn't tell is NULL."""
        live = table.live_files()
        times = {
            one.snapshot_id: one.timestamp_ms
            for one in table.metadata.snapshots
            if 0 <= one.timestamp_ms < _TIME_MAX
        }
        by = table.statistics().source.snapshots() if live else ()
        added = [None if one is None else times.get(one) for one in by]
        return cls(
            pa.array([one.path for one in live], pa.string()),
            _counts([one.record_count for one in live]),
            _counts([one.size_bytes for one in live]),
            pa.array(added, pa.timestamp("ms", tz="UTC")),
        )


def _counts(values: list[int]) -> pa.Array:
    return pa.array([None if one < 0 else one for one in values], pa.int64())


def _rows(one: ArtifactCoverage, files: _CoveredFiles, schema: pa.Schema) -> pa.Table:
    keys = [file.key for file in one.table.live_files()]
    segments = [one.segments.get(key) for key in keys]
    reasons = [
        None if segment is not None else one.reasons.get(key, one.otherwise)
        for key, segment in zip(keys, segments, strict=True)
    ]
    lines = {reason: reason.line for reason in set(reasons) if reason is not None}
    columns = [
        pa.repeat(pa.scalar(one.name, pa.string()), len(keys)),
        pa.repeat(pa.scalar(one.kind, pa.string()), len(keys)),
        files.path,
        files.rows,
        files.bytes,
        files.added,
        pa.array([segment is not None for segment in segments], pa.bool_()),
        pa.array(segments, pa.string()),
        pa.array([None if one is None else lines[one] for one in reasons], pa.string()),
    ]
    return pa.table(columns, schema=schema)
