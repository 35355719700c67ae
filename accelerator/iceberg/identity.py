"""Which columns the partition specs keep as they are, so that a file has one value of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform


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
