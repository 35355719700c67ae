"""What the API tells of catalogs and tables; runs in a worker, for one user.

Rules are asked before any catalog is, and what isn't there and what may not be seen are alike.
Nothing here reads a data file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import pyarrow as pa

from accelerator.errors import UnknownTableError
from accelerator.gateway.access.check import check, check_read, denied
from accelerator.gateway.access.filter_listings import visible
from accelerator.gateway.access.grants import Action, Object, UserAccess
from accelerator.gateway.catalog.listing import Listing
from accelerator.gateway.catalog.masking import masked_location, masked_properties, masked_value
from accelerator.gateway.catalog.schemas import SYSTEM, is_virtual
from accelerator.gateway.workers.api import models as m
from accelerator.gateway.workers.api import paging
from accelerator.gateway.workers.api.errors import CursorError
from accelerator.iceberg import PinnedTable
from accelerator.query.statements import nodes
from accelerator.query.statements.nodes import Statement
from accelerator.services.clustering.order import StoredOrder
from accelerator.session import commands
from rewrite.facts import At
from rewrite.text.printable import shortened

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_CONTENT: Sequence[Literal["data", "position_deletes", "equality_deletes"]] = (
    "data",
    "position_deletes",
    "equality_deletes",
)
FullName = tuple[str, ...]


class TablesOfUser:
    """For one request of one user."""

    def __init__(self, services: Services, access: UserAccess) -> None:
        self._services, self._access = services, access
        self._lake = services.lake

    # Lists

    def catalogs(self) -> m.CatalogsModel:
        """Those that the user may see."""
        names = [one for one in self._listing().catalogs() if one != SYSTEM]
        return m.CatalogsModel(items=[m.Catalog(name=one) for one in names])

    def schemas(self, path: m.CatalogPath, page: m.Paging) -> m.Schemas:
        """Those of a catalog; UnknownTableError where it isn't seen."""
        catalog = self._catalog(path.catalog)
        listing = self._listing()
        names = [one for one in listing.schemas(catalog) if not is_virtual(catalog, one)]
        found, then = paging.by_name(names, page, f"schemas {catalog}", str)
        return m.Schemas(items=[m.Schema(catalog=catalog, name=one) for one in found], next=then)

    def relations(self, path: m.SchemaPath, page: m.Paging) -> m.Relations:
        """Those of a schema; UnknownTableError where there is none that is seen."""
        catalog, schema = self._catalog(path.catalog), path.schema_
        listing = self._listing()
        if is_virtual(catalog, schema) or not listing.has_schema(catalog, schema):
            raise _unknown(f"schema {schema}")
        known = listing.relations(catalog, schema)
        found, then = paging.by_name(known, page, f"tables {catalog} {schema}", lambda r: r.name)
        items = [
            m.RelationModel(
                catalog=catalog,
                schema=schema,
                name=one.name,
                kind="view" if one.is_view else "table",
            )
            for one in found
        ]
        return m.Relations(items=items, next=then)

    # One table

    def pinned(self, path: m.TablePath, at: At | None = None) -> PinnedTable:
        """The table, newest or at that state, where the user may read it.

        AccessDeniedError, or UnknownTableError where there is no policy.
        """
        full = self.full(path)
        check(nodes.ShowStatistics(full), self._access, self._services)
        pin = self._lake.pin(fresh=True)
        found = pin.pinned(full) if at is None else pin.pinned(full, at)
        if found is None:
            raise self.unknown(full)
        return found

    def full(self, path: m.TablePath, action: Action = "read") -> FullName:
        """Its name, in a catalog that is one here: no other is completed by a default one."""
        full = (path.catalog, *path.schema_.split("."), path.table)
        if path.catalog not in self._lake.catalogs or not all(full):
            if self._access.everything:
                raise self.unknown(full)
            raise denied(action, Object.table(full))
        return full

    def unknown(self, full: FullName) -> UnknownTableError:
        """The error for a table that isn't there."""
        return _unknown(f"table {'.'.join(full)}")

    def table(self, path: m.TablePath) -> m.TableModel:
        """All that its newest metadata tells of it as a whole."""
        pinned = self.pinned(path)
        metadata, sizes = pinned.metadata, pinned.sizes()
        ids = {field.field_id: field for field in pinned.schema.fields}
        columns = [
            m.ColumnModel(
                id=one.field_id,
                name=one.name,
                type=one.type,
                iceberg_type=str(ids[one.field_id].field_type),
                required=one.required,
                doc=ids[one.field_id].doc,
            )
            for one in pinned.facts.columns
            if one.field_id in ids
        ]
        return m.TableModel(
            catalog=path.catalog,
            schema=path.schema_,
            name=path.table,
            uuid=pinned.facts.uuid,
            format_version=metadata.format_version,
            location=masked_location(metadata.location),
            metadata_location=masked_location(pinned.metadata_location),
            snapshot_id=None if pinned.snapshot is None else pinned.snapshot.snapshot_id,
            last_updated=metadata.last_updated_ms,
            columns=columns,
            partitioned_by=[
                m.PartitionedBy(
                    name=one.name,
                    source=pinned.schema.find_column_name(one.source_id) or "",
                    transform=one.transform,
                )
                for one in metadata.spec().fields
            ],
            sorted_by=[
                m.SortedBy(
                    source=pinned.schema.find_column_name(one.source_id) or "",
                    transform=one.transform,
                    direction=one.direction,
                    nulls=one.null_order,
                )
                for one in metadata.sort_fields()
            ],
            clustered_by=_clustered(pinned),
            sizes=m.SizesModel(
                rows=sizes.rows,
                rows_exact=sizes.rows_exact,
                files=sizes.files,
                bytes=sizes.bytes,
            ),
            properties=masked_properties(pinned.properties, self._listing().reads_full),
        )

    def snapshots(self, path: m.TablePath, page: m.Paging) -> m.Snapshots:
        """All of them, the newest first."""
        pinned = self.pinned(path)
        known = sorted(
            pinned.metadata.snapshots, key=lambda one: (-one.timestamp_ms, -one.snapshot_id)
        )
        of = _of_state("snapshots", pinned)
        begin, end, then = paging.by_place(len(known), page, of)
        items = []
        for one in known[begin:end]:
            items.append(
                m.Snapshot(
                    id=one.snapshot_id,
                    parent_id=one.parent_snapshot_id,
                    sequence_number=one.sequence_number,
                    committed=one.timestamp_ms,
                    operation=one.operation,
                    summary={key: masked_value(key, value) for key, value in one.figures.items()},
                    current=one.snapshot_id == pinned.metadata.current_snapshot_id,
                )
            )
        return m.Snapshots(items=items, next=then)

    def refs(self, path: m.TablePath) -> m.Refs:
        """Its branches and tags, by name."""
        pinned = self.pinned(path)
        items = [
            m.Ref(
                name=name,
                kind=one.kind,
                snapshot_id=one.snapshot_id,
                max_ref_age_ms=one.max_ref_age_ms,
                max_snapshot_age_ms=one.max_snapshot_age_ms,
                min_snapshots_to_keep=one.min_snapshots_to_keep,
            )
            for name, one in sorted(pinned.metadata.refs.items())
        ]
        return m.Refs(items=items)

    def files(self, path: m.TablePath, page: m.Paging) -> m.FilesModel:
        """The files of one snapshot: the newest as the first part was asked for."""
        pinned = self._at(path, page, "files")
        rows, parts = _files(pinned)
        begin, end, then = paging.by_place(rows.num_rows, page, _of_snapshot("files", pinned))
        specs = _specs(pinned)
        items = [
            m.File(
                path=masked_location(row["file_path"]),
                content=_CONTENT[row["content"]],
                format=row["file_format"] or "",
                spec_id=row["spec_id"],
                partition={
                    name: row[column]
                    for name, column in parts.items()
                    if name in specs.get(row["spec_id"], ())
                },
                rows=row["record_count"] or 0,
                bytes=row["file_size_in_bytes"] or 0,
                sequence_number=row["data_sequence_number"],
            )
            for row in rows.slice(begin, end - begin).to_pylist()
        ]
        return m.FilesModel(snapshot_id=pinned.facts.snapshot_id, items=items, next=then)

    def partitions(self, path: m.TablePath, page: m.Paging) -> m.Partitions:
        """The partitions of one snapshot, in the order of their values as texts."""
        pinned = self._at(path, page, "partitions")
        rows, parts = _files(pinned)
        keys = ["spec_id", *parts.values()]
        is_data = [one == 0 for one in rows.column("content").to_pylist()]
        counts = {
            "rows": _where(is_data, rows.column("record_count")),
            "bytes": _where(is_data, rows.column("file_size_in_bytes")),
            "files": pa.array(list(map(int, is_data)), pa.int64()),
            "deletes": pa.array([int(not one) for one in is_data], pa.int64()),
        }
        grouped = pa.table({name: rows.column(name) for name in keys} | counts)
        grouped = grouped.group_by(keys).aggregate([(name, "sum") for name in counts])
        grouped = grouped.sort_by([(name, "ascending") for name in keys])
        of = _of_snapshot("partitions", pinned)
        begin, end, then = paging.by_place(grouped.num_rows, page, of)
        specs = _specs(pinned)
        items = [
            m.Partition(
                values={
                    name: row[column]
                    for name, column in parts.items()
                    if name in specs.get(row["spec_id"], ())
                },
                spec_id=row["spec_id"],
                rows=row["rows_sum"] or 0,
                files=row["files_sum"] or 0,
                bytes=row["bytes_sum"] or 0,
                delete_files=row["deletes_sum"] or 0,
            )
            for row in grouped.slice(begin, end - begin).to_pylist()
        ]
        return m.Partitions(snapshot_id=pinned.facts.snapshot_id, items=items, next=then)

    # Answers of our own statements

    def listed(self, call: str, path: m.TablePath, query: Mapping[str, Any]) -> Any:
        """A part of the answer of a SHOW statement ON the table, of the call of that name."""
        form, api, model, parameters = m.LISTS[call]
        pinned, kind, of = self.pinned(path), cast(type[nodes.OfTable], form.kind), api.name
        table, page = self._rows(kind(table=self.full(path))), parameters(**query)
        if isinstance(page, m.CoveragePaging):
            table, of = _of_artifact(table, page), f"{of} {page.cube!r} {page.index!r}"
        if not api.key:
            begin, end, then = paging.by_place(table.num_rows, page, _of_state(of, pinned))
            return model(items=_plain(table.slice(begin, end - begin)), next=then)
        rows = [row for row in _plain(table) if row[api.key] is not None]  # without notes
        found, then = paging.by_name(rows, page, of, lambda row: str(row[api.key]))
        return model(items=found, next=then)

    def _rows(self, statement: Statement) -> pa.Table:
        check(statement, self._access, self._services)
        rows = commands.execute(statement, self._services, {})
        return visible(statement, rows, self._access, self._services)

    # Helpers

    def _listing(self) -> Listing:
        may_read = partial(check_read, self._access, self._services)
        return Listing(self._lake, self._access.sees, may_read)

    def _catalog(self, name: str) -> str:
        if name not in self._lake.catalogs or not self._access.sees(name):
            raise _unknown(f"catalog {name}")
        return name

    def _at(self, path: m.TablePath, page: m.Paging, what: str) -> PinnedTable:
        """The table at the snapshot that the cursor names, or at the newest one."""
        pinned = self.pinned(path)
        of = paging.list_of(page)
        if of is None or of == _of_snapshot(what, pinned):
            return pinned
        for one in pinned.metadata.snapshots:
            if of == f"{what} {pinned.facts.uuid} {one.snapshot_id}":
                return self.pinned(path, At(snapshot_id=one.snapshot_id))
        raise CursorError(
            "the snapshot of the list is gone, or the cursor is of another list",
            hint="begin anew without it",
        )


def _of_artifact(rows: pa.Table, page: m.CoveragePaging) -> pa.Table:
    """The rows of the cube or index that is named, or all."""
    if page.cube is None and page.index is None:
        return rows
    pairs = zip(rows.column("kind").to_pylist(), rows.column("artifact").to_pylist(), strict=True)
    kept = [(page.cube if kind == "cube" else page.index) == artifact for kind, artifact in pairs]
    return rows.filter(pa.array(kept, pa.bool_()))


def _of_snapshot(what: str, pinned: PinnedTable) -> str:
    return f"{what} {pinned.facts.uuid} {pinned.facts.snapshot_id}"


def _of_state(what: str, pinned: PinnedTable) -> str:
    """The name of a list of the table as its metadata is now."""
    told = "\0".join((what, *pinned.version))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def _unknown(what: str) -> UnknownTableError:
    return UnknownTableError(f"there is no {shortened(what, 300)}", hint="check the name")


def _clustered(pinned: PinnedTable) -> m.Clustering | None:
    """Returns the order in the table's property; None if there is none that can be read."""
    stored = StoredOrder.of(pinned.properties)
    if stored is None:
        return None
    return m.Clustering(curve=stored.order, columns=[key.name for key in stored.keys])


def _specs(pinned: PinnedTable) -> dict[int, frozenset[str]]:
    """By spec the names of its fields."""
    specs = pinned.metadata.partition_specs
    return {one.spec_id: frozenset(field.name for field in one.fields) for one in specs}


def _files(pinned: PinnedTable) -> tuple[pa.Table, dict[str, str]]:
    """The snapshot's files, and by partition field the column with its values as texts."""
    from accelerator.iceberg.tables.files_table import PARTITION  # imports Arrow's compute

    table = pinned.file_table()
    plain = ("content", "file_path", "file_format", "spec_id", "record_count")
    wanted = [(one,) for one in (*plain, "file_size_in_bytes", "data_sequence_number")]
    rows = pinned.file_metadata(table, [*wanted, *table.paths(PARTITION)])
    parts = {name: f"{PARTITION}.{name}" for name in table.parts}
    for column in parts.values():
        place = rows.column_names.index(column)
        rows = rows.set_column(place, column, _texts(rows.column(column)))
    return rows, parts


def _texts(values: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return pa.array([None if one is None else one.hex() for one in values.to_pylist()])
    if pa.types.is_decimal(values.type):  # Arrow's own text may be 0E-10
        return pa.array([None if one is None else f"{one:f}" for one in values.to_pylist()])
    return values.cast(pa.string()).combine_chunks()


def _where(chosen: Sequence[bool], values: pa.ChunkedArray) -> pa.Array:
    pairs = zip(chosen, values.to_pylist(), strict=True)
    return pa.array([value if yes else 0 for yes, value in pairs], pa.int64())


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON's values; times are Unix milliseconds."""
    columns = [
        column.cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    found: Sequence[dict[str, Any]] = pa.table(columns, names=table.column_names).to_pylist()
    return list(found)
