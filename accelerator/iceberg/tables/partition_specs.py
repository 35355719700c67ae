"""Which columns the partition specs keep as they are, so that a file has one value of each.

And what the current spec partitions by, whatever its transforms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from accelerator.iceberg.tables.metadata import (
    FieldType,
    IcebergSchema,
    NestedField,
    StructType,
    TableMetadata,
    decimal_of,
)


class PartitionColumn(Struct, frozen=True):
    """A field of a partition spec by its own id, and the Iceberg type of what it's made of."""

    field_id: int
    kind: FieldType | None = None


_UNORDERED = ("bucket", "void")
Identity = Mapping[int, Mapping[int, PartitionColumn]]
"""By spec, where a table's field stands in the partition as it is."""


def identity_of(metadata: TableMetadata) -> Identity:
    """The identity transforms of every spec of the table."""
    kept = {
        spec.spec_id: [f for f in spec.fields if f.transform == "identity"]
        for spec in metadata.specs().values()
    }
    # A schema may have thousands of fields: they are looked at where there's something to find.
    kinds = {f.field_id: f.field_type for f in _fields(metadata)} if any(kept.values()) else {}
    return {
        spec_id: {f.source_id: PartitionColumn(f.field_id, kinds.get(f.source_id)) for f in fields}
        for spec_id, fields in kept.items()
    }


def _fields(metadata: TableMetadata) -> Iterator[NestedField]:
    """The fields of every schema, the current one's last."""
    for schema in (*metadata.schemas, metadata.schema()):
        yield from schema.by_id.values()


def ordered_fields(metadata: TableMetadata) -> frozenset[int]:
    """Ids of the fields by which some spec partitions in their order, which a bucket doesn't."""
    fields = (field for spec in metadata.specs().values() for field in spec.fields)
    return frozenset(f.source_id for f in fields if not f.transform.startswith(_UNORDERED))


class PartitionField(Struct, frozen=True):
    """A field of the current spec: the source's names from the column inwards, and its transform.

    The transform is Iceberg's own text, as `bucket[16]`.
    """

    source: tuple[str, ...]
    type: str
    transform: str


def partition_fields(metadata: TableMetadata, schema: IcebergSchema) -> tuple[PartitionField, ...]:
    """What the current spec partitions by; void transforms aren't among them."""
    found = []
    for field in metadata.spec().fields:
        names = _names(schema.fields, field.source_id)
        if names and field.transform != "void":
            kind = str(schema.by_id[field.source_id].field_type)
            found.append(PartitionField(names, kind, field.transform))
    return tuple(found)


def _names(fields: Iterable[NestedField], field_id: int) -> tuple[str, ...]:
    """The names that lead to the field; none where no struct has it."""
    for field in fields:
        if field.field_id == field_id:
            return (field.name,)
        if isinstance(field.field_type, StructType):
            inner = _names(field.field_type.fields, field_id)
            if inner:
                return (field.name, *inner)
    return ()


def unpartitioned(metadata: TableMetadata) -> frozenset[int]:
    """Specs without a field, or whose fields were all dropped, which leaves void transforms."""
    return frozenset(
        spec.spec_id
        for spec in metadata.specs().values()
        if all(field.transform == "void" for field in spec.fields)
    )


def decimal_fields(metadata: TableMetadata) -> frozenset[int]:
    """Ids of partition fields whose values are decimals."""
    decimals = {f.field_id for f in _fields(metadata) if decimal_of(f.field_type)}
    return frozenset(
        field.field_id
        for spec in metadata.specs().values()
        for field in spec.fields
        if field.source_id in decimals and field.transform.startswith(("identity", "truncate"))
    )
