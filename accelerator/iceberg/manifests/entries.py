"""A manifest decoded into columns by PyIceberg's Avro reader: slow, but with nothing to compile.

For manifests so small that numba's start would cost more. PyIceberg's readers run over blocks that
`container` has opened, on a decoder of our own: its compiled one doesn't check lengths.
Logical types are left aside, so values come as the whole numbers and bytes that the columns want.
What PyIceberg doesn't read, or not as the specification has it, raises `UnfitError`; so does what
is damaged. `avro` then says which of both it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import OptionReader, Reader
from pyiceberg.avro.resolver import ReadSchemaResolver, SchemaPartnerAccessor
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.schema import visit_with_partner
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, NestedField
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from accelerator.iceberg.avro_records import FAULTS, decoded
from accelerator.iceberg.manifests.columns import (
    ALL_TYPES,
    KINDS,
    TYPES,
    ManifestColumns,
    Raw,
    assemble,
    bound_width,
    narrow,
    stats_struct,
)
from accelerator.iceberg.manifests.container import Container
from accelerator.iceberg.manifests.program import COUNT_MAPS, Program, program_for

_ENTRY = {field.field_id: place for place, field in enumerate(MANIFEST_ENTRY_SCHEMAS[3].fields)}
_FILE = {field.field_id: place for place, field in enumerate(DATA_FILE_TYPE[3].fields)}
_ENTRY_IDS = {"snapshot_id": 1, "sequence_number": 3, "file_sequence_number": 4}
_FILE_IDS = {
    "path": 100,
    "format": 101,
    "record_count": 103,
    "size_bytes": 104,
    "key_metadata": 131,
    "split_offsets": 132,
    "sort_order_id": 140,
    "first_row_id": 142,
    "referenced_data_file": 143,
    "content_offset": 144,
    "content_size": 145,
}
_MAP_IDS = (109, 110, 137, 125, 128)  # in the order of MAPS
_PLAIN = frozenset({"boolean", "int", "long", "float", "double", "string", "bytes"})
_COUNT_MAX = (1 << 63) - 2


class UnfitError(Exception):
    """PyIceberg's reader can't be trusted with this manifest; never leaves this folder."""


def decode_small(container: Container, manifest: ManifestFile) -> ManifestColumns:
    """The live data files of the manifest; UnfitError where the other decoder must look."""
    program = program_for(container.schema)
    try:
        return assemble(_raw(program, _entries(container)), manifest)
    except FAULTS as error:
        raise UnfitError(str(error)) from error


def _entries(container: Container) -> list[Record]:
    """The live entries."""
    return [
        entry
        for entry in decoded(container, _reader_for(container.schema))
        if entry[_ENTRY[0]] != ManifestEntryStatus.DELETED
    ]


def _raw(program: Program, entries: Sequence[Record]) -> Raw:
    files = [entry[_ENTRY[2]] for entry in entries]
    columns = {"status": pa.array([entry[_ENTRY[0]] for entry in entries], pa.int64())}
    columns["content"] = pa.array([int(file[_FILE[134]]) for file in files], pa.int64())
    for name, field_id in _ENTRY_IDS.items():
        place = _ENTRY[field_id]
        columns[name] = pa.array([entry[place] for entry in entries], TYPES[name])
    for name, field_id in _FILE_IDS.items():
        place = _FILE[field_id]
        columns[name] = pa.array([file[place] for file in files], ALL_TYPES[name])
    records = [file[_FILE[102]] for file in files]
    partition = {
        one.field_id: pa.array([record[place] for record in records], KINDS[one.kind])
        for place, one in enumerate(program.partition)
    }
    return Raw(len(files), columns, partition, _stats(files))


def _stats(files: Sequence[Record]) -> Mapping[int, pa.StructArray]:
    maps = [[file[_FILE[field_id]] or {} for file in files] for field_id in _MAP_IDS]
    field_ids = {field_id for rows in maps for row in rows for field_id in row}
    found = {}
    for field_id in field_ids:
        parts = [
            (_counts if number < COUNT_MAPS else _bounds)([row.get(field_id) for row in rows])
            for number, rows in enumerate(maps)
        ]
        if any(part.null_count < len(part) for part in parts):
            found[field_id] = stats_struct(parts)
    return found


def _counts(values: Iterable[int | None]) -> pa.Array:
    known = [value if value is not None and 0 <= value <= _COUNT_MAX else -1 for value in values]
    array = np.array(known, dtype=np.int64)
    return narrow(array, array >= 0)


def _bounds(values: Sequence[bytes | None]) -> pa.Array:
    there = [value for value in values if value is not None]
    if not there:
        return pa.nulls(len(values))
    width = bound_width(map(len, there))
    return pa.array(values, pa.binary(width) if width else pa.binary())


class _StrictOptionReader(OptionReader):
    """PyIceberg takes any number for one of a union's two types."""

    def read(self, decoder: BinaryDecoder) -> Any | None:
        return self.option.read(decoder) if _branch(decoder) else None

    def skip(self, decoder: BinaryDecoder) -> None:
        if _branch(decoder):
            self.option.skip(decoder)


def _branch(decoder: BinaryDecoder) -> int:
    number = decoder.read_int()
    if number not in (0, 1):
        raise ValueError("a union has more types than its schema says")
    return number


class _Resolver(ReadSchemaResolver):
    """PyIceberg's, with strict unions."""

    def field(
        self,
        field: NestedField,
        expected_field: IcebergType | None,  # noqa: ARG002 - PyIceberg's signature
        field_reader: Reader,
    ) -> Reader:
        return field_reader if field.required else _StrictOptionReader(field_reader)


@lru_cache(maxsize=256)
def _reader_for(schema: str) -> Reader:
    written = AvroSchemaConversion().avro_to_iceberg(_plain(json.loads(schema)))
    wanted = MANIFEST_ENTRY_SCHEMAS[3]
    return visit_with_partner(written, wanted, _Resolver(), SchemaPartnerAccessor())  # type: ignore[misc, no-any-return]


def _plain(schema: Any) -> Any:
    """The schema without logical types; UnfitError where PyIceberg wouldn't follow it exactly."""
    if schema in _PLAIN if isinstance(schema, str) else False:
        return schema
    if isinstance(schema, list) and len(schema) == 2 and schema[0] == "null":
        return ["null", _plain(schema[1])]
    if isinstance(schema, dict):
        match schema.get("type"):
            case "record":
                fields = [{**one, "type": _plain(one["type"])} for one in schema["fields"]]
                return {"type": "record", "name": schema.get("name"), "fields": fields}
            case "array" if schema.get("logicalType") == "map":
                items = _plain(schema["items"])
                pair = {one["name"]: one["type"] for one in items["fields"]}
                # PyIceberg reads the key first wherever it stands, and fails on optional values.
                if list(pair) == ["key", "value"] and not isinstance(pair["value"], list):
                    return {"type": "array", "logicalType": "map", "items": items}
            case "array" if "logicalType" not in schema:
                items = _plain(schema["items"])
                return {"type": "array", "items": items, "element-id": schema["element-id"]}
            case "fixed":
                return {"type": "fixed", "size": schema["size"], "name": "fixed"}
            case str(name) if name in _PLAIN:
                return name
            case dict(inner):
                return _plain(inner)
    raise UnfitError("the schema has a type that PyIceberg reads otherwise")
