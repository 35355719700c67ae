"""Which columns the partition specs keep as they are, so that a file has one value of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform, TruncateTransform, VoidTransform
from pyiceberg.types import DecimalType


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a partition spec: its index in the spec, and its own id."""

    index: int
    field_id: int


Identity = Mapping[int, Mapping[int, Place]]
"""By spec, where a table's field stands in the partition as it is."""


def identity_of(metadata: TableMetadata) -> Identity:
    """The identity transforms of every spec of the table."""
    return {
        spec.spec_id: {
            f.source_id: Place(index, f.field_id)
            for index, f in enumerate(spec.fields)
            if isinstance(f.transform, IdentityTransform)
        }
        for spec in metadata.specs().values()
    }


def unpartitioned(metadata: TableMetadata) -> frozenset[int]:
    """Specs without a field, or whose fields were all dropped, which leaves void transforms."""
    return frozenset(
        spec.spec_id
        for spec in metadata.specs().values()
        if all(isinstance(field.transform, VoidTransform) for field in spec.fields)
    )


def decimal_fields(metadata: TableMetadata) -> frozenset[int]:
    """Ids of partition fields whose values are decimals."""
    decimals = {
        field.field_id
        for schema in metadata.schemas
        for field in schema._lazy_id_to_field.values()
        if isinstance(field.field_type, DecimalType)
    }
    return frozenset(
        field.field_id
        for spec in metadata.specs().values()
        for field in spec.fields
        if field.source_id in decimals
        and isinstance(field.transform, (IdentityTransform, TruncateTransform))
    )
