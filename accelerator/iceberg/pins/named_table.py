"""One metadata file of a table, parsed or refused by PyIceberg, and its pinned states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from accelerator.iceberg.catalogs.readers import Pointer
from accelerator.iceberg.tables.metadata import TableMetadata
from accelerator.iceberg.tables.unreadable import RawMetadata, Unparsed, UnparsedError
from rewrite.facts import At

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table by its full name, with its uuid and properties, though a reader refuses it."""

    parts: tuple[str, ...]
    uuid: str
    properties: Mapping[str, str] = field(repr=False)


class Loaded(Struct, Generic[State]):
    """One metadata file, and the states of the table that were pinned."""

    pointer: Pointer
    parsed: TableMetadata | Unparsed
    states: dict[At, State] = msgspec.field(default_factory=dict)

    @property
    def uuid(self) -> str:
        """The table's uuid; empty if PyIceberg refuses the metadata and the file has none."""
        if isinstance(self.parsed, Unparsed):
            return self.parsed.raw.table_uuid
        return str(self.parsed.table_uuid)

    def named(self, full: tuple[str, ...]) -> NamedTable:
        """The table of that full name, of one that a reader refuses as well."""
        parsed = self.parsed
        given = parsed.raw.properties if isinstance(parsed, Unparsed) else parsed.properties
        return NamedTable(full, self.uuid, given)

    def raw(self) -> RawMetadata:
        """The metadata as far as readers that refuse the table agree on it."""
        parsed = self.parsed
        if isinstance(parsed, Unparsed):
            return parsed.raw
        return RawMetadata(
            self.pointer.location,
            str(parsed.table_uuid),
            parsed.location,
            parsed.properties,
            tuple(entry.metadata_file for entry in parsed.metadata_log),
            tuple(one.manifest_list for one in parsed.snapshots if one.manifest_list),
        )


def loaded_from(pointer: Pointer) -> Loaded[State]:
    """The metadata that the pointer names, parsed or refused by PyIceberg.

    CatalogError if the file can't be read, or is damaged.
    """
    try:
        return Loaded(pointer, pointer.parse())
    except UnparsedError as error:
        return Loaded(pointer, error.unparsed)
