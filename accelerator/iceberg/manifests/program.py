"""The Avro schema of a manifest, or of a list of manifests, as a program for the interpreter.

Fields are found by their Iceberg field ids, wherever the writer put them; what isn't wanted is
skipped, whatever its type. A program is a row of whole numbers, four to an operation, as described
at the operations below. A schema that can't be followed raises `ManifestError`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from accelerator.iceberg.manifests.avro_container import damaged, unsupported

Kind = Literal["bool", "int", "long", "float", "double", "string", "binary", "null"]

# Operations: [operation, a, b, c]. A place >= 0 is a row of scalars; SKIP, KEY and VALUE are below.
# (numba keeps compiled code by the interpreter's own file: touch that too when a number changes.)
LONG = 0  # a: place
BYTES = 1  # a: place
UNION = 2  # a: branches; as many JUMP rows follow
LAST_NUMBERED = UNION  # those up to here begin with a number
JUMP = 3  # a: the row to go on at
COUNTS = 4  # a: map; a whole array of (key, long)
BOUNDS = 5  # a: map; a whole array of (key, bytes)
SKIP_LONGS = 6  # a: longs an item; skips a whole array of them
LONGS = 7  # a: list; a whole array of longs, into that
END = 8
FIXED = 9  # a: place, b: size
BOOL = 10  # a: place
FLOAT = 11  # a: place
DOUBLE = 12  # a: place
LOOP = 13  # a: the row behind the loop, b: 1 if blocks may be skipped by their size, c: least bytes
AGAIN = 14  # a: the row of the LOOP
CLEAR = 15  # forgets KEY and VALUE
EMIT = 16  # a: map; stores VALUE under KEY
TEXT_KEY = 17  # the KEY that was read is decimal text
LISTED = 18  # a: list; it's there, if only with no values
APPEND = 19  # a: list, b: 1 if a missing one is MISSING; VALUE is one more of it

SKIP, KEY, VALUE = -1, -2, -3
MISSING = -1

MAPS = ("value_counts", "null_counts", "nan_counts", "lower", "upper")
COUNT_MAPS = 3  # the first so many of MAPS hold counts, the others bounds
LISTS = ("split_offsets", "equality_ids")

_OPS_MAX = 20_000
_STEPS_MAX = 200_000
_ENTRY_FIELDS: dict[int, tuple[str, str]] = {
    0: ("status", "integer"),
    1: ("snapshot_id", "integer"),
    3: ("sequence_number", "integer"),
    4: ("file_sequence_number", "integer"),
}
_FILE_FIELDS: dict[int, tuple[str, str]] = {
    134: ("content", "integer"),
    100: ("path", "bytes"),
    101: ("format", "bytes"),
    103: ("record_count", "integer"),
    104: ("size_bytes", "integer"),
    131: ("key_metadata", "bytes"),
    140: ("sort_order_id", "integer"),
    142: ("first_row_id", "integer"),
    143: ("referenced_data_file", "bytes"),
    144: ("content_offset", "integer"),
    145: ("content_size", "integer"),
}
_FILE_MAPS = {109: 0, 110: 1, 137: 2, 125: 3, 128: 4}
_KEY_IDS = frozenset({119, 121, 138, 126, 129})
_VALUE_IDS = frozenset({120, 122, 139, 127, 130})
_FILE_LISTS = {132: 0, 135: 1}
_DATA_FILE, _PARTITION = 2, 102
_REQUIRED = ("status", "path", "format", "record_count", "size_bytes")
_LIST_FIELDS: dict[int, tuple[str, str]] = {
    500: ("manifest_path", "bytes"),
    501: ("manifest_length", "integer"),
    502: ("partition_spec_id", "integer"),
    517: ("content", "integer"),
    515: ("sequence_number", "integer"),
    503: ("added_snapshot_id", "integer"),
    504: ("added_files_count", "integer"),
    505: ("existing_files_count", "integer"),
    506: ("deleted_files_count", "integer"),
}
ROW_COUNTS: dict[int, tuple[str, str]] = {
    512: ("added_rows_count", "integer"),
    513: ("existing_rows_count", "integer"),
    514: ("deleted_rows_count", "integer"),
}
_SUMMARIES = 507
_SUMMARY_FIELDS: dict[int, tuple[str, str]] = {
    509: ("contains_null", "boolean"),
    518: ("contains_nan", "boolean"),
    510: ("lower_bound", "bytes"),
    511: ("upper_bound", "bytes"),
}
SUMMARY_LIST = 0
"""The list that has the values of all partitions' summaries, those of one behind the other."""
LIST_REQUIRED = ("manifest_path", "manifest_length", "partition_spec_id")
_INTEGERS = frozenset({"int", "long"})
_TEXTS = frozenset({"string", "bytes"})
_KINDS: dict[str, Kind] = {
    "boolean": "bool",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "enum": "string",
    "bytes": "binary",
    "fixed": "binary",
    "null": "null",
}
_READS = {
    "boolean": BOOL,
    "int": LONG,
    "long": LONG,
    "enum": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "string": BYTES,
    "bytes": BYTES,
}
_LEAST = {"null": 0, "float": 4, "double": 8}


class PartitionTypeField(Struct, frozen=True):
    """A field of the manifest's partition type. Dates and timestamps are their whole numbers."""

    field_id: int
    kind: Kind
    place: int
    symbols: tuple[str, ...] = ()


class Program(Struct, frozen=True):
    """What the interpreter runs for each entry. `places` are the rows of scalars, by name.

    `summary` names the values of a partition's summary, in their order.
    """

    ops: tuple[int, ...]
    depth: int
    places: Mapping[str, int]
    partition: tuple[PartitionTypeField, ...]
    summary: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of scalars."""
        return len(self.places) + len(self.partition)


@lru_cache(maxsize=256)
def program_for(schema: str) -> Program:
    """The program for manifests of that schema, given as JSON text."""
    return _Compiler().of_entries(_parsed(schema))


@lru_cache(maxsize=256)
def list_program_for(schema: str) -> Program:
    """The program for lists of manifests of that schema, given as JSON text."""
    return _Compiler().of_list(_parsed(schema))


@lru_cache(maxsize=64)
def summary_program_for(schema: str) -> Program:
    """The same with counts of rows and what a list says of partitions."""
    return _Compiler().of_summaries(_parsed(schema))


def _parsed(schema: str) -> Any:
    try:
        return json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise damaged("its schema isn't JSON") from error


class _Compiler:
    """Makes one program. Each method appends the operations that read a value of its schema."""

    def __init__(self) -> None:
        self._ops: list[list[int]] = []
        self._named: dict[str, Any] = {}
        self._open: list[str] = []
        self._loops = 0
        self._depth = 0
        self._places: dict[str, int] = {}
        self._partition: list[PartitionTypeField] = []
        self._has_partition = False
        self._summary: list[str] = []
        self._steps = 0

    def of_entries(self, schema: Any) -> Program:
        made = self._compiled(schema, self._entry_field, _REQUIRED)
        if not self._has_partition:
            raise unsupported("its schema has no partition")
        return made

    def of_list(self, schema: Any) -> Program:
        def field(field_id: int | None, one: Any) -> None:
            self._read_field(_LIST_FIELDS, field_id, one)

        return self._compiled(schema, field, LIST_REQUIRED)

    def of_summaries(self, schema: Any) -> Program:
        def field(field_id: int | None, one: Any) -> None:
            if field_id == _SUMMARIES:
                self._optional(one, self._summaries)
            else:
                self._read_field(_LIST_FIELDS | ROW_COUNTS, field_id, one)

        return self._compiled(schema, field, LIST_REQUIRED)

    def _compiled(self, schema: Any, field: Any, required: Sequence[str]) -> Program:
        try:
            self._collect(schema)
            with self._opened(schema):
                self._record(self._resolved(schema), field)
        except RecursionError as error:
            raise damaged("its schema is too deep") from error
        missing = [name for name in required if name not in self._places]
        if missing:
            raise unsupported(f"its schema has no {', '.join(missing)}")
        self._emit(END)
        rows = len(self._places)
        partition = tuple(
            PartitionTypeField(one.field_id, one.kind, rows + one.place, one.symbols)
            for one in self._partition
        )
        for op in self._ops:  # rows of partition values stand behind the others
            if op[0] in _PLACED and op[1] >= _PARTITION_BASE:
                op[1] += rows - _PARTITION_BASE
        ops = tuple(number for op in self._ops for number in op)
        summary = tuple(self._summary)
        return Program(ops, max(self._depth, 1), self._places, partition, summary)

    def _entry_field(self, field_id: int | None, schema: Any) -> None:
        if field_id == _DATA_FILE:
            self._nested(schema, self._file_field)
        else:
            self._read_field(_ENTRY_FIELDS, field_id, schema)

    def _file_field(self, field_id: int | None, schema: Any) -> None:
        if field_id == _PARTITION:
            self._has_partition = True
            self._nested(schema, self._partition_field)
        elif field_id in _FILE_LISTS:
            number = _FILE_LISTS[field_id]
            self._optional(schema, lambda plain: self._list(plain, number))
        elif field_id in _FILE_MAPS:
            number = _FILE_MAPS[field_id]
            self._optional(schema, lambda plain: self._map(plain, number))
        else:
            self._read_field(_FILE_FIELDS, field_id, schema)

    def _read_field(
        self, fields: Mapping[int, tuple[str, str]], field_id: Any, schema: Any
    ) -> None:
        if field_id not in fields:
            self._skip(schema)
            return
        name, kind = fields[field_id]
        place = self._places.setdefault(name, len(self._places))
        wanted = _INTEGERS if kind == "integer" else _TEXTS
        self._optional(schema, lambda plain: self._scalar(plain, place, wanted, name))

    def _partition_field(self, field_id: int | None, schema: Any) -> None:
        if field_id is None:
            raise unsupported("a partition field has no id")
        branches = self._branches(schema)
        plain = branches[0] if branches else "null"
        type_name = self._type(plain)
        if type_name not in _KINDS:
            raise unsupported(f"a partition field is of the type {type_name}")
        symbols = _symbols(self._resolved(plain)) if type_name == "enum" else ()
        place = len(self._partition)
        self._partition.append(PartitionTypeField(field_id, _KINDS[type_name], place, symbols))
        wanted = frozenset({type_name})
        self._optional(
            schema,
            lambda plain: self._scalar(plain, _PARTITION_BASE + place, wanted, str(field_id)),
        )

    def _nested(self, schema: Any, field: Any) -> None:
        """A record that every entry has."""
        if self._type(schema) != "record":
            raise unsupported(f"a record was expected, and {self._type(schema)} is there")
        with self._opened(schema):
            self._record(self._resolved(schema), field)

    def _record(self, schema: Any, field: Any) -> None:
        fields = schema.get("fields") if isinstance(schema, dict) else None
        if not isinstance(fields, list):
            raise unsupported("its schema isn't a record")
        seen: set[int] = set()
        for one in fields:
            if not isinstance(one, dict) or "type" not in one:
                raise damaged("a field of its schema has no type")
            field_id = one.get("field-id")
            if not isinstance(field_id, int) or isinstance(field_id, bool):
                field_id = None
            elif field_id in seen:
                raise damaged(f"two fields of its schema have the id {field_id}")
            else:
                seen.add(field_id)
            field(field_id, one["type"])

    def _scalar(self, schema: Any, place: int, wanted: frozenset[str], name: str) -> None:
        type_name = self._type(schema)
        if type_name not in wanted:
            raise unsupported(f"the field {name} is of the type {type_name}")
        if type_name == "fixed":
            self._emit(FIXED, place, _size(self._resolved(schema)))
        elif type_name != "null":
            self._emit(_READS[type_name], place)

    def _optional(self, schema: Any, read: Any) -> None:
        """A value, or a union of it and null in either order."""
        resolved = self._resolved(schema)
        if not isinstance(resolved, list):
            read(schema)
            return
        if len(self._branches(schema)) > 1:
            raise unsupported("a field is a union of several types")
        self._union(
            resolved, lambda one: self._skip(one) if self._type(one) == "null" else read(one)
        )

    def _branches(self, schema: Any) -> list[Any]:
        resolved = self._resolved(schema)
        every = resolved if isinstance(resolved, list) else [schema]
        return [one for one in every if self._type(one) != "null"]

    def _union(self, schemas: list[Any], read: Any) -> None:
        if not schemas:
            raise damaged("a union of its schema is empty")
        self._emit(UNION, len(schemas))
        table = len(self._ops)
        for _ in schemas:
            self._emit(JUMP)
        ends: list[int] = []
        for number, one in enumerate(schemas):
            self._ops[table + number][1] = len(self._ops)
            read(one)
            ends.append(self._emit(JUMP))
        for end in ends:
            self._ops[end][1] = len(self._ops)

    def _map(self, schema: Any, number: int) -> None:
        """An array of pairs, or a map of decimal texts; null values are as none."""
        wanted = _INTEGERS if number < COUNT_MAPS else frozenset({"bytes"})
        type_name = self._type(schema)
        resolved = self._resolved(schema)
        if type_name == "map":
            with self._loop(least=1):
                self._emit(CLEAR)
                self._emit(BYTES, KEY)
                self._emit(TEXT_KEY)
                self._value(resolved.get("values"), wanted)
                self._emit(EMIT, number)
            return
        item = resolved.get("items") if type_name == "array" else None
        if item is None or self._type(item) != "record":
            raise unsupported(f"column statistics are of the type {type_name}")
        fields = self._resolved(item).get("fields")
        parts = {_part(field): self._type(field["type"]) for field in _checked(fields)}
        if len(parts) != len(fields) or not {"key", "value"} <= parts.keys():
            raise unsupported("column statistics aren't pairs of a key and a value")
        if (
            list(parts) == ["key", "value"]
            and parts["key"] in _INTEGERS
            and parts["value"] in wanted
        ):
            self._emit(COUNTS if number < COUNT_MAPS else BOUNDS, number)
            return
        with self._loop(least=self._least(item)):
            self._emit(CLEAR)
            for field in fields:
                if _part(field) == "key":
                    self._scalar(field["type"], KEY, _INTEGERS, "key")
                elif _part(field) == "value":
                    self._value(field["type"], wanted)
                else:
                    self._skip(field["type"])
            self._emit(EMIT, number)

    def _value(self, schema: Any, wanted: frozenset[str]) -> None:
        self._optional(schema, lambda plain: self._scalar(plain, VALUE, wanted, "value"))

    def _list(self, schema: Any, number: int) -> None:
        """An array of numbers."""
        if self._type(schema) != "array":
            raise unsupported(f"the field {LISTS[number]} is of the type {self._type(schema)}")
        item = self._resolved(schema).get("items")
        if self._type(item) in _INTEGERS:
            self._emit(LONGS, number)
            return
        self._emit(LISTED, number)
        with self._loop(least=1):
            self._emit(CLEAR)
            self._value(item, _INTEGERS)
            self._emit(APPEND, number)

    def _summaries(self, schema: Any) -> None:
        """An array of records; each value that is read takes a byte at least."""
        item = self._resolved(schema).get("items") if self._type(schema) == "array" else None
        if item is None or self._type(item) != "record":
            raise unsupported(f"summaries of partitions are of the type {self._type(schema)}")
        self._emit(LISTED, SUMMARY_LIST)
        least = self._least(item)
        if not least:
            raise unsupported("an array of its schema has items of no bytes")
        with self._loop(least=least), self._opened(item):
            self._record(self._resolved(item), self._summary_field)

    def _summary_field(self, field_id: int | None, schema: Any) -> None:
        if field_id not in _SUMMARY_FIELDS or self._type(schema) == "null":
            self._skip(schema)
            return
        name, kind = _SUMMARY_FIELDS[field_id]
        self._summary.append(name)
        self._emit(CLEAR)
        self._value(schema, frozenset({"boolean"}) if kind == "boolean" else _TEXTS)
        self._emit(APPEND, SUMMARY_LIST, 1)

    def _skip(self, schema: Any) -> None:
        resolved = self._resolved(schema)
        if isinstance(resolved, list):
            self._union(resolved, self._skip)
            return
        type_name = self._type(schema)
        if type_name == "record":
            with self._opened(schema):
                self._record(resolved, lambda _, one: self._skip(one))
        elif type_name == "array":
            self._skip_array(resolved.get("items"))
        elif type_name == "map":
            with self._loop(least=1, skips=True):
                self._emit(BYTES, SKIP)
                self._skip(resolved.get("values"))
        elif type_name == "fixed":
            self._emit(FIXED, SKIP, _size(resolved))
        elif type_name != "null":
            self._emit(_READS[type_name], SKIP)

    def _skip_array(self, item: Any) -> None:
        longs = self._longs(item)
        if longs:
            self._emit(SKIP_LONGS, longs)
            return
        least = self._least(item)
        if not least:
            raise unsupported("an array of its schema has items of no bytes")
        with self._loop(least=least, skips=True):
            self._skip(item)

    def _longs(self, schema: Any) -> int:
        """How many longs a value is made of, 0 if of anything else."""
        type_name = self._type(schema)
        if type_name in _INTEGERS:
            return 1
        if type_name != "record":
            return 0
        types = [self._type(one["type"]) for one in _checked(self._resolved(schema).get("fields"))]
        return len(types) if all(one in _INTEGERS for one in types) else 0

    def _least(self, schema: Any) -> int:
        """The fewest bytes that a value takes."""
        type_name = self._type(schema)
        if type_name == "fixed":
            return _size(self._resolved(schema))
        if type_name == "record":
            with self._opened(schema):
                fields = _checked(self._resolved(schema).get("fields"))
                return sum(self._least(one["type"]) for one in fields)
        return _LEAST.get(type_name, 1)

    @contextmanager
    def _loop(self, *, least: int, skips: bool = False) -> Iterator[None]:
        start = self._emit(LOOP, 0, int(skips), least)
        self._loops += 1
        self._depth = max(self._depth, self._loops)
        yield
        self._loops -= 1
        self._emit(AGAIN, start)
        self._ops[start][1] = len(self._ops)

    @contextmanager
    def _opened(self, schema: Any) -> Iterator[None]:
        """Inside a record; a record inside itself has no end."""
        resolved = self._resolved(schema)
        name = str(resolved.get("name", "")) if isinstance(resolved, dict) else ""
        if name and name in self._open:
            raise unsupported(f"the record {name} of its schema contains itself")
        self._open.append(name)
        yield
        self._open.pop()

    def _emit(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Append an operation; returns its row."""
        if len(self._ops) >= _OPS_MAX:
            raise unsupported("its schema is too large")
        self._ops.append([op, a, b, c])
        return len(self._ops) - 1

    def _collect(self, schema: Any) -> None:
        """Note every named type by its name, with and without its namespace."""
        if isinstance(schema, list):
            for one in schema:
                self._collect(one)
        elif isinstance(schema, dict):
            if isinstance(schema.get("name"), str) and "type" in schema:
                self._named.setdefault(schema["name"], schema)
                if isinstance(schema.get("namespace"), str):
                    self._named.setdefault(f"{schema['namespace']}.{schema['name']}", schema)
            for inner in ("type", "items", "values"):
                self._collect(schema.get(inner))
            fields = schema.get("fields")
            for field in fields if isinstance(fields, list) else ():
                if isinstance(field, dict):
                    self._collect(field.get("type"))

    def _resolved(self, schema: Any) -> Any:
        """The schema with names and needless nesting taken away: a dict, or a primitive's name."""
        for _ in range(64):
            if isinstance(schema, str) and schema not in _KINDS:
                if schema not in self._named:
                    raise unsupported(f"its schema names an unknown type {schema!r}")
                schema = self._named[schema]
            elif isinstance(schema, dict) and _is_wrapping(schema.get("type")):
                schema = schema["type"]
            else:
                return schema
        raise unsupported("its schema is nested too deep")

    def _type(self, schema: Any) -> str:
        self._steps += 1
        if self._steps > _STEPS_MAX:  # types that name each other can grow without end
            raise unsupported("its schema is too large")
        resolved = self._resolved(schema)
        if isinstance(resolved, list):
            return "union"
        name = resolved.get("type") if isinstance(resolved, dict) else resolved
        if not isinstance(name, str) or (name not in _KINDS and name not in _COMPLEX):
            raise unsupported(f"its schema has an unknown type {name!r}")
        return name


_COMPLEX = frozenset({"record", "array", "map"})
_PARTITION_BASE = 1 << 20
_PLACED = frozenset({LONG, BYTES, FIXED, BOOL, FLOAT, DOUBLE})


def _is_wrapping(inner: Any) -> bool:
    """Whether a schema with that type is no more than that type."""
    if isinstance(inner, str):
        return inner not in _KINDS and inner not in _COMPLEX
    return isinstance(inner, (dict, list))


def _size(schema: Any) -> int:
    size = schema.get("size") if isinstance(schema, dict) else None
    if not isinstance(size, int) or not 0 <= size < 1 << 20:
        raise damaged("a type of its schema has no size")
    return size


def _symbols(schema: Any) -> tuple[str, ...]:
    symbols = schema.get("symbols") if isinstance(schema, dict) else None
    if not isinstance(symbols, list) or not symbols:
        raise damaged("an enum of its schema has no symbols")
    return tuple(map(str, symbols))


def _checked(fields: Any) -> list[dict[str, Any]]:
    if not isinstance(fields, list) or not all(isinstance(f, dict) and "type" in f for f in fields):
        raise damaged("a record of its schema has no fields")
    return fields


def _part(field: Mapping[str, Any]) -> str:
    """Whether a field of a pair is its key, its value, or something else: by id, else by name."""
    field_id = field.get("field-id")
    if isinstance(field_id, int) and field_id in _KEY_IDS | _VALUE_IDS:
        return "key" if field_id in _KEY_IDS else "value"
    return str(field.get("name"))
