"""A table's metadata as its file has it: schemas, partition specs, snapshots, refs, statistics.

Read here without PyIceberg, whose import takes a fifth of a first answer. Promise: what is read
here PyIceberg reads as well, with equal values. PyIceberg itself reads or refuses metadata that is
written otherwise: format 1, defaults of columns, older spellings. Nothing in a file is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata as PyIcebergMetadata
    from pyiceberg.table.name_mapping import NameMapping

_MAIN = "main"
_DEPTH_MAX = 32
"""Types inside one another; deeper ones are PyIceberg's to read or to refuse."""
_WORDS = frozenset(
    (
        *("boolean", "int", "long", "float", "double", "date", "time", "string", "uuid", "binary"),
        *("timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "unknown"),
    )
)
_FIXED = re.compile(r"fixed\[(?:0|[1-9]\d{0,8})\]", re.ASCII)
_DECIMAL = re.compile(r"decimal\(([1-9]|[12]\d|3[0-8]), (0|[1-9]\d?)\)", re.ASCII)
_TRANSFORM = re.compile(
    r"identity|void|year|month|day|hour|(?:bucket|truncate)\[(?:0|[1-9]\d{0,8})\]", re.ASCII
)
_OPERATIONS = ("append", "replace", "overwrite", "delete")

FieldType: TypeAlias = "str | StructType | ListType | MapType"
"""A type: Iceberg's word of one without others in it, such as `long` and `decimal(9, 2)`."""
_Age = Annotated[int, Meta(gt=0)] | None


class _Written(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """A part of a metadata file."""


class NestedField(_Written, frozen=True, rename={"field_id": "id", "field_type": "type"}):
    """A column, or a field inside one."""

    field_id: int
    name: str
    field_type: FieldType
    required: bool = False
    doc: str | None = None
    initial_default: Any = msgspec.field(default=None, name="initial-default")
    write_default: Any = msgspec.field(default=None, name="write-default")

    def __str__(self) -> str:
        needed = "required" if self.required else "optional"
        doc = f" ({self.doc})" if self.doc else ""
        return f"{self.field_id}: {self.name}: {needed} {self.field_type}{doc}"


class StructType(_Written, frozen=True, tag_field="type", tag="struct"):
    """A struct; as a text, as PyIceberg has it."""

    fields: tuple[NestedField, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(map(str, self.fields))}>"


class ListType(
    _Written, frozen=True, tag_field="type", tag="list", rename={"element_type": "element"}
):
    """A list."""

    element_id: int = msgspec.field(name="element-id")
    element_type: FieldType
    element_required: bool = msgspec.field(default=True, name="element-required")

    def __str__(self) -> str:
        return f"list<{self.element_type}>"

    @property
    def element_field(self) -> NestedField:
        """The element as a field."""
        return NestedField(self.element_id, "element", self.element_type, self.element_required)


class MapType(
    _Written,
    frozen=True,
    tag_field="type",
    tag="map",
    rename={"key_type": "key", "value_type": "value"},
):
    """A map."""

    key_id: int = msgspec.field(name="key-id")
    key_type: FieldType
    value_id: int = msgspec.field(name="value-id")
    value_type: FieldType
    value_required: bool = msgspec.field(default=True, name="value-required")

    def __str__(self) -> str:
        return f"map<{self.key_type}, {self.value_type}>"

    @property
    def key_field(self) -> NestedField:
        """The key as a field."""
        return NestedField(self.key_id, "key", self.key_type, required=True)

    @property
    def value_field(self) -> NestedField:
        """The value as a field."""
        return NestedField(self.value_id, "value", self.value_type, self.value_required)


class IcebergSchema(_Written, frozen=True, tag_field="type", tag="struct", dict=True):
    """The columns of a state."""

    fields: tuple[NestedField, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    @cached_property
    def by_id(self) -> dict[int, NestedField]:
        """Every field by its id, those inside columns too."""
        return {field.field_id: field for _, field in _inside(StructType(self.fields))}

    @cached_property
    def _names(self) -> dict[int, str]:
        return {field.field_id: name for name, field in _inside(StructType(self.fields))}

    @property
    def column_names(self) -> list[str]:
        """The full names of all fields, such as `a.element.b`."""
        return list(self._names.values())

    def find_column_name(self, field_id: int) -> str | None:
        """The full name of the field; None if the schema lacks it."""
        return self._names.get(field_id)


class PartitionSpecField(_Written, frozen=True):
    """A field of a partition spec; the transform is Iceberg's text, such as `bucket[16]`."""

    source_id: int
    field_id: int
    transform: str
    name: str


class PartitionSpec(_Written, frozen=True):
    """A way to partition files."""

    spec_id: int
    fields: tuple[PartitionSpecField, ...]


class SortField(_Written, frozen=True):
    """A part of a sort order."""

    source_id: int
    transform: str
    direction: Literal["asc", "desc"]
    null_order: Literal["nulls-first", "nulls-last"]


class SortOrder(_Written, frozen=True):
    """An order of the rows of new files."""

    order_id: int
    fields: tuple[SortField, ...]


class IcebergSnapshot(_Written, frozen=True):
    """A snapshot of the table."""

    snapshot_id: int
    timestamp_ms: int
    manifest_list: str
    parent_snapshot_id: int | None = None
    sequence_number: int | None = 0
    summary: dict[str, str] | None = None
    schema_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None

    @property
    def operation(self) -> str | None:
        """The operation: append, replace, overwrite or delete; None without a summary."""
        return None if self.summary is None else self.summary.get("operation", "")

    @property
    def figures(self) -> dict[str, str]:
        """Its summary without the operation."""
        return {key: text for key, text in (self.summary or {}).items() if key != "operation"}


class SnapshotRef(_Written, frozen=True, rename={"kind": "type"}):
    """A branch or a tag."""

    snapshot_id: int = msgspec.field(name="snapshot-id")
    kind: Literal["branch", "tag"]
    min_snapshots_to_keep: _Age = msgspec.field(default=None, name="min-snapshots-to-keep")
    max_snapshot_age_ms: _Age = msgspec.field(default=None, name="max-snapshot-age-ms")
    max_ref_age_ms: _Age = msgspec.field(default=None, name="max-ref-age-ms")


class SnapshotLogEntry(_Written, frozen=True):
    """The moment when a snapshot became the current one."""

    snapshot_id: int
    timestamp_ms: int


class MetadataLogEntry(_Written, frozen=True):
    """An earlier metadata file."""

    metadata_file: str
    timestamp_ms: int


class BlobMetadata(_Written, frozen=True):
    """A blob of a file of statistics."""

    type: Literal["apache-datasketches-theta-v1", "deletion-vector-v1"]
    snapshot_id: int
    sequence_number: int
    fields: tuple[int, ...]
    properties: dict[str, str] | None = None


class StatisticsFile(_Written, frozen=True):
    """A file of statistics of one snapshot."""

    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int
    file_footer_size_in_bytes: int
    blob_metadata: tuple[BlobMetadata, ...]
    key_metadata: str | None = None


class PartitionStatisticsFile(_Written, frozen=True):
    """A file of statistics of partitions."""

    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int


class TableMetadata(_Written, frozen=True, dict=True):
    """One metadata file of a table."""

    format_version: int
    table_uuid: UUID
    location: str
    last_updated_ms: int
    last_column_id: int
    schemas: tuple[IcebergSchema, ...]
    current_schema_id: int
    partition_specs: tuple[PartitionSpec, ...]
    default_spec_id: int
    sort_orders: tuple[SortOrder, ...]
    default_sort_order_id: int
    last_partition_id: int | None = None
    last_sequence_number: int = 0
    next_row_id: int | None = None
    properties: dict[str, str] = {}
    current_snapshot_id: int | None = None
    snapshots: tuple[IcebergSnapshot, ...] = ()
    snapshot_log: tuple[SnapshotLogEntry, ...] = ()
    metadata_log: tuple[MetadataLogEntry, ...] = ()
    refs: dict[str, SnapshotRef] = {}
    statistics: tuple[StatisticsFile, ...] = ()
    partition_statistics: tuple[PartitionStatisticsFile, ...] = ()

    @cached_property
    def pyiceberg(self) -> PyIcebergMetadata:
        """PyIceberg's own, for what PyIceberg does itself: reading rows of data files, say."""
        from pyiceberg.table.metadata import TableMetadataUtil

        return TableMetadataUtil.parse_raw(msgspec.json.encode(self).decode())

    def schema(self) -> IcebergSchema:
        """The current schema."""
        return next(one for one in self.schemas if one.schema_id == self.current_schema_id)

    def spec(self) -> PartitionSpec:
        """The current partition spec."""
        return next(one for one in self.partition_specs if one.spec_id == self.default_spec_id)

    def specs(self) -> dict[int, PartitionSpec]:
        """All partition specs by id."""
        return {one.spec_id: one for one in self.partition_specs}

    def sort_fields(self) -> tuple[SortField, ...]:
        """The current sort order's fields."""
        wanted = self.default_sort_order_id
        return next((one.fields for one in self.sort_orders if one.order_id == wanted), ())

    def snapshot_by_id(self, snapshot_id: int) -> IcebergSnapshot | None:
        """The snapshot of that id; None if the table lacks it."""
        return next((one for one in self.snapshots if one.snapshot_id == snapshot_id), None)

    def current_snapshot(self) -> IcebergSnapshot | None:
        """The current snapshot; None if there is none."""
        current = self.current_snapshot_id
        return None if current is None else self.snapshot_by_id(current)

    def name_mapping(self) -> NameMapping | None:
        """The columns' names in files without field ids; None without a mapping."""
        text = self.properties.get("schema.name-mapping.default")
        if not text:
            return None
        from pyiceberg.table.name_mapping import parse_mapping_from_json

        return parse_mapping_from_json(text)


_DECODER = msgspec.json.Decoder(TableMetadata)


def read_table_metadata(content: bytes) -> TableMetadata | None:
    """The metadata of a file's content; None if PyIceberg has to read it, or to refuse it."""
    try:
        found = _DECODER.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if found.current_snapshot_id == -1:  # as older writers have it
        found = replace(found, current_snapshot_id=None)
    return found if found.format_version in (2, 3) and _is_plain(found) else None


def from_pyiceberg(known: PyIcebergMetadata) -> TableMetadata:
    """The metadata that PyIceberg has read."""
    told = known.model_dump(mode="json", warnings=False)
    known_transforms = [
        *(field.transform for one in known.partition_specs for field in one.fields),
        *(field.transform for one in known.sort_orders for field in one.fields),
    ]
    # PyIceberg's own texts of these aren't always what it has read.
    told["current-snapshot-id"] = known.current_snapshot_id
    told["snapshots"] = [one.model_dump(mode="json", warnings=False) for one in known.snapshots]
    for summary in filter(None, (one.get("summary") for one in told["snapshots"])):
        summary.update((key, str(value)) for key, value in summary.items())
    for text, transform in zip(_transforms(told), known_transforms, strict=True):
        text["transform"] = getattr(transform, "_transform", str(transform))
    if known.format_version == 1:
        del told["schema"], told["partition-spec"]
    found = msgspec.convert(told, TableMetadata)
    found.__dict__["pyiceberg"] = known
    return found


def _transforms(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of all partition specs and sort orders in a metadata file's JSON."""
    lists = (*told["partition-specs"], *told["sort-orders"])
    return [field for one in lists for field in one["fields"]]


def field_type_of(kind: Any) -> FieldType:
    """The type that PyIceberg has as `kind`."""
    field = {"id": 0, "name": "", "type": kind.model_dump(mode="json", warnings=False)}
    return msgspec.convert(field, NestedField).field_type


def default_of(field: NestedField) -> Any:
    """The field's value in files that lack it, as a Python value; None without one."""
    if field.initial_default is None:
        return None
    from pyiceberg.conversions import from_json
    from pyiceberg.types import IcebergType, PrimitiveType

    kind = IcebergType.model_validate(field.field_type)
    assert isinstance(kind, PrimitiveType)
    return from_json(kind, field.initial_default)


def decimal_of(kind: FieldType | None) -> tuple[int, int] | None:
    """Precision and scale of a decimal type; None of any other.

    >>> decimal_of("decimal(9, 2)"), decimal_of("long")
    ((9, 2), None)
    """
    found = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    return None if found is None else (int(found[1]), int(found[2]))


def nested(kind: FieldType) -> tuple[NestedField, ...]:
    """The fields right inside a type; none of one without others in it."""
    if isinstance(kind, StructType):
        return kind.fields
    if isinstance(kind, ListType):
        return (kind.element_field,)
    if isinstance(kind, MapType):
        return (kind.key_field, kind.value_field)
    return ()


def _inside(kind: FieldType, path: tuple[str, ...] = ()) -> Iterator[tuple[str, NestedField]]:
    """Each field inside a type with its full name, what is inside of a field before it.

    A list's element follows all that is inside of it; a map's key and value do so together.
    """
    fields = nested(kind)
    for field in fields:
        at = (*path, field.name)
        yield from _inside(field.field_type, at)
        if isinstance(kind, StructType):
            yield ".".join(at), field
    if not isinstance(kind, StructType):
        yield from ((".".join((*path, field.name)), field) for field in fields)


def _is_plain(found: TableMetadata) -> bool:
    """Decides whether PyIceberg surely reads the metadata, and as it's written."""
    order = found.default_sort_order_id
    transforms = [field.transform for one in found.partition_specs for field in one.fields]
    transforms += [field.transform for one in found.sort_orders for field in one.fields]
    return (
        found.current_schema_id in (one.schema_id for one in found.schemas)
        and found.default_spec_id in (one.spec_id for one in found.partition_specs)
        and (order == 0 or order in (one.order_id for one in found.sort_orders))
        and (found.current_snapshot_id is None or _MAIN in found.refs)
        and all(map(_is_plain_schema, found.schemas))
        and all(map(_TRANSFORM.fullmatch, transforms))
        and all(one.operation in (None, *_OPERATIONS) for one in found.snapshots)
        and not any(
            one.min_snapshots_to_keep or one.max_snapshot_age_ms
            for one in found.refs.values()
            if one.kind == "tag"
        )
    )


def _is_plain_schema(schema: IcebergSchema) -> bool:
    """Decides so of a schema: no defaults, no two fields of one name or id, keys at the top."""
    if not all(_is_plain_type(field, _DEPTH_MAX) for field in schema.fields):
        return False
    inside = list(_inside(StructType(schema.fields)))
    ids, names = {field.field_id for _, field in inside}, {name for name, _ in inside}
    keys = {
        field.field_id
        for field in schema.fields
        if field.required and field.field_type in _WORDS - {"float", "double"}
    }
    return len(ids) == len(names) == len(inside) and keys.issuperset(schema.identifier_field_ids)


def _is_plain_type(field: NestedField, depth: int) -> bool:
    kind = field.field_type
    if depth == 0 or field.initial_default is not None or field.write_default is not None:
        return False
    if isinstance(kind, str):
        return kind in _WORDS or bool(_FIXED.fullmatch(kind) or _DECIMAL.fullmatch(kind))
    return all(_is_plain_type(one, depth - 1) for one in nested(kind))
