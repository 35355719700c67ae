"""A small Avro writer for manifests in layouts that no library here writes; writes, never reads.

`Layout` says how: unions either way round, maps as arrays of pairs or as Avro maps, blocks in
several pieces with negative counts, unknown fields between the known ones, any codec.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

SYNC = bytes(range(16))
MAPS = {
    "column_sizes": (108, 117, 118, "long"),
    "value_counts": (109, 119, 120, "long"),
    "null_value_counts": (110, 121, 122, "long"),
    "nan_value_counts": (137, 138, 139, "long"),
    "lower_bounds": (125, 126, 127, "bytes"),
    "upper_bounds": (128, 129, 130, "bytes"),
}


@dataclass(frozen=True)
class Layout:
    """How a manifest is written. The seed says in which order fields and map items stand."""

    version: int = 2
    codec: str = "null"
    null_last: bool = False
    avro_maps: bool = False
    value_first: bool = False
    optional_values: bool = False
    pieces: bool = False
    unknown: bool = False
    blocks: int = 1
    seed: int | None = None
    partition: tuple[tuple[int, Any], ...] = ()
    left_out: frozenset[int] = frozenset()
    deletes: bool = False
    equality_ids: bool = False


@dataclass
class Writer:
    """Writes entries, given as dicts by field name, with `partition` a tuple."""

    layout: Layout = field(default_factory=Layout)

    def file(self, entries: list[dict[str, Any]]) -> bytes:
        """The bytes of a manifest with those entries."""
        schema = self.schema()
        metadata = {
            "avro.schema": json.dumps(schema).encode(),
            "avro.codec": self.layout.codec.encode(),
            "format-version": str(self.layout.version).encode(),
        }
        items = [(text(key.encode()), text(value)) for key, value in metadata.items()]
        out = b"Obj\x01" + self._blocks([key + value for key, value in items]) + SYNC
        size = max(1, -(-len(entries) // self.layout.blocks))
        for start in range(0, len(entries), size):
            part = entries[start : start + size]
            plain = b"".join(self._value(schema, entry) for entry in part)
            packed = compress(self.layout.codec, plain)
            out += number(len(part)) + text(packed) + SYNC
        return out

    def schema(self) -> dict[str, Any]:
        """The writer's schema."""
        partition = [
            {"name": f"p{field_id}", "field-id": field_id, "type": self._optional(type_)}
            for field_id, type_ in self.layout.partition
        ]
        file_fields = [
            _field(134, "content", "int"),
            _field(100, "file_path", "string"),
            _field(101, "file_format", "string"),
            _field(102, "partition", {"type": "record", "name": "r102", "fields": partition}),
            _field(103, "record_count", "long"),
            _field(104, "file_size_in_bytes", "long"),
            *(
                _field(field_id, name, self._optional(self._map(key_id, value_id, type_)))
                for name, (field_id, key_id, value_id, type_) in MAPS.items()
            ),
            _field(131, "key_metadata", self._optional("bytes")),
            _field(132, "split_offsets", self._numbers("long", 133)),
            _field(140, "sort_order_id", self._optional("int")),
            _field(142, "first_row_id", self._optional("long")),
            *(self._of_deletes() if self.layout.deletes else ()),
            *(
                [_field(135, "equality_ids", self._numbers("int", 136))]
                if self.layout.equality_ids
                else ()
            ),
        ]
        entry_fields = [
            _field(0, "status", "int"),
            _field(1, "snapshot_id", self._optional("long")),
            _field(3, "sequence_number", self._optional("long")),
            _field(4, "file_sequence_number", self._optional("long")),
            _field(2, "data_file", self._record("r2", file_fields)),
        ]
        return self._record("manifest_entry", entry_fields)

    def _of_deletes(self) -> list[dict[str, Any]]:
        return [
            _field(143, "referenced_data_file", self._optional("string")),
            _field(144, "content_offset", self._optional("long")),
            _field(145, "content_size_in_bytes", self._optional("long")),
        ]

    def _record(self, name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
        fields = [one for one in fields if one["field-id"] not in self.layout.left_out]
        if self.layout.version == 1:
            fields = [one for one in fields if one["field-id"] not in (3, 4, 134, 142)]
        if self.layout.unknown:
            fields += [_field(9000 + at, f"x{at}", type_) for at, type_ in enumerate(UNKNOWN)]
        if self.layout.seed is not None:
            random.Random(f"{self.layout.seed}{name}").shuffle(fields)
        return {"type": "record", "name": name, "fields": fields}

    def _optional(self, type_: Any) -> list[Any]:
        return [type_, "null"] if self.layout.null_last else ["null", type_]

    def _numbers(self, type_: str, item_id: int) -> list[Any]:
        items: Any = self._optional(type_) if self.layout.optional_values else type_
        return self._optional({"type": "array", "items": items, "element-id": item_id})

    def _map(self, key_id: int, value_id: int, type_: str) -> dict[str, Any]:
        value: Any = self._optional(type_) if self.layout.optional_values else type_
        if self.layout.avro_maps:
            return {"type": "map", "values": value, "key-id": key_id, "value-id": value_id}
        fields = [_field(key_id, "key", "int"), _field(value_id, "value", value)]
        if self.layout.value_first:
            fields.reverse()
        item = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
        return {"type": "array", "logicalType": "map", "items": item}

    def _value(self, schema: Any, value: Any) -> bytes:
        if isinstance(schema, list):
            at = next(n for n, one in enumerate(schema) if (one == "null") == (value is None))
            return number(at) + self._value(schema[at], value)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind == "record":
            return b"".join(
                self._value(
                    one["type"],
                    UNKNOWN_VALUES[one["field-id"] - 9000]
                    if one["field-id"] >= 9000
                    else _of(value, one, at),
                )
                for at, one in enumerate(schema["fields"])
            )
        if kind == "array":
            items = value.items() if isinstance(value, dict) else value
            if isinstance(value, dict):
                items = [{"key": key, "value": one} for key, one in items]
            return self._blocks([self._value(schema["items"], one) for one in items])
        if kind == "map":
            return self._blocks(
                [text(str(k).encode()) + self._value(schema["values"], v) for k, v in value.items()]
            )
        if kind == "fixed":
            return bytes(value)
        return PRIMITIVES[kind](value)

    def _blocks(self, items: list[bytes]) -> bytes:
        """Items of an array or map; in pieces, every other with its size in bytes."""
        size = 2 if self.layout.pieces else max(len(items), 1)
        out = b""
        for start in range(0, len(items), size):
            part = items[start : start + size]
            if self.layout.pieces and start % 4 == 0:
                out += number(-len(part)) + number(sum(map(len, part)))
            else:
                out += number(len(part))
            out += b"".join(part)
        return out + number(0)


def number(value: int) -> bytes:
    """A number in Avro's zigzag form."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value: bytes) -> bytes:
    """Bytes behind their length."""
    return number(len(value)) + value


def compress(codec: str, plain: bytes) -> bytes:
    """A block, packed."""
    if codec == "deflate":
        packing = zlib.compressobj(wbits=-15)
        return packing.compress(plain) + packing.flush()
    if codec == "snappy":
        packed = pa.Codec("snappy").compress(plain, asbytes=True)
        return packed + zlib.crc32(plain).to_bytes(4, "big")
    if codec == "zstandard":
        return pa.Codec("zstd").compress(plain, asbytes=True)
    return plain


PRIMITIVES = {
    "null": lambda _: b"",
    "boolean": lambda value: bytes([value]),
    "int": number,
    "long": number,
    "float": lambda value: struct.pack("<f", value),
    "double": lambda value: struct.pack("<d", value),
    "string": lambda value: text(value.encode()),
    "bytes": text,
}
UNKNOWN: list[Any] = [
    "double",
    {"type": "array", "items": "string", "element-id": 8001},
    ["null", "long"],
    {"type": "map", "values": {"type": "array", "items": "float", "element-id": 8002},
     "key-id": 8003, "value-id": 8004},
    {"type": "fixed", "name": "f3", "size": 3},
    {"type": "array", "items": "long", "element-id": 8005},
]  # fmt: skip
UNKNOWN_VALUES: list[Any] = [1.5, ["a", "bc", "d"], None, {"k": [1.0], "": []}, b"xyz", [1, -2, 3]]


def _field(field_id: int, name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "field-id": field_id, "type": type_}


def _of(value: Any, one: dict[str, Any], at: int) -> Any:
    return value[at] if isinstance(value, tuple) else value[one["name"]]
