"""Tables that a reader refuses whole, and the column or part of the metadata that is the reason.

Spark refuses a state whose schema has a type that Spark lacks, a newest state with two fields of
one struct whose names differ in case only, and a table with a transform that Iceberg's Java library
lacks. PyIceberg refuses metadata with types, versions and words that PyIceberg lacks; Spark may
read such a table. Pure: metadata in, a refusal out. Nothing in a metadata file is trusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct
from pydantic import ValidationError
from pyiceberg import exceptions

from accelerator.iceberg.errors import CatalogError
from accelerator.iceberg.tables.metadata import (
    IcebergSchema,
    ListType,
    MapType,
    StructType,
    TableMetadata,
    field_type_of,
    from_pyiceberg,
)
from accelerator.iceberg.tables.schema import spark_type
from rewrite.facts import At
from rewrite.identifiers.qualified_name import joined
from rewrite.reason import Declined
from rewrite.text.printable import one_line, shortened
from rewrite.text.spark_keywords import LACKED_TYPES

REFUSALS = (exceptions.ValidationError, ValidationError, NotImplementedError)
"""What PyIceberg raises for metadata that it refuses."""
Reader = Literal["Spark", "Iceberg", "PyIceberg"]
"""Iceberg is its Java library, by which Spark reads tables."""
_SPARK_READS = ("variant", "geometry", "geography")
"""Beginnings of types that Iceberg 1.12 has for Spark and PyIceberg 0.12 lacks, in some form."""
_TRANSFORM = re.compile(r"identity|year|month|day|hour|void|(?:bucket|truncate)\[\d+\]", re.I)
_NEWEST = At()
_TEXT_MAX = 120
"""Characters of a name, a type or a reader's sentence in a message."""


@dataclass(frozen=True, slots=True)
class RawMetadata:
    """A metadata file as plain JSON: readable although PyIceberg refuses the table.

    `file` is the metadata file, `location` the table's folder, `earlier` the metadata files of the
    metadata log, `manifest_lists` those of all snapshots, `columns` the newest state's columns with
    Spark's types as far as PyIceberg knows them, else with Iceberg's text or none.
    """

    file: str
    table_uuid: str
    location: str
    properties: Mapping[str, str] = field(repr=False)
    earlier: tuple[str, ...] = field(repr=False)
    manifest_lists: tuple[str, ...] = field(repr=False)
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)


class Refusal(Struct, frozen=True):
    """Why a reader refuses a table whole, in words and, if a column is the reason, by column.

    `reader` is Spark or Iceberg's library if Spark refuses the table, so that nothing answers a
    query of it. It's PyIceberg if PyIceberg alone refuses the table, and Spark may answer.
    `column` is the column's full name, and `type` Iceberg's text of its type, or the transform.
    """

    reader: Reader
    why: str
    column: str = ""
    type: str = ""
    hint: str = ""

    def error(self, table: str) -> UnreadableTableError:
        """The refusal as an error about the table of that name."""
        return UnreadableTableError(table, self)


class Unparsed(Struct, frozen=True):
    """Metadata that PyIceberg refuses: why, of the newest state and of every other state.

    Spark may refuse the newest state as well, and read an older one under another schema.
    """

    raw: RawMetadata
    newest: Refusal
    other: Refusal

    def refusal(self, at: At) -> Refusal:
        """Why that state can't be read."""
        return self.newest if at == _NEWEST else self.other


class UnparsedError(Exception):
    """Carries an `Unparsed` from a metadata file's parser to the lake, which has its name."""

    def __init__(self, unparsed: Unparsed) -> None:
        super().__init__(unparsed.other.why)
        self.unparsed = unparsed


class UnreadableTableError(CatalogError):
    """A reader refuses the table whole; `refusal` has the reader and the column."""

    code = "table_unreadable"

    def __init__(self, table: str, refusal: Refusal) -> None:
        self.table, self.refusal = table, refusal
        reader = "Iceberg's library for Spark" if refusal.reader == "Iceberg" else refusal.reader
        message = f"the table {table} can't be read by {reader}: {refusal.why}"
        super().__init__(message, hint=refusal.hint)

    @property
    def by_spark(self) -> bool:
        """Whether Spark 4.1 with Iceberg 1.12 refuses the table: nothing answers a query of it."""
        return self.refusal.reader != "PyIceberg"

    @property
    def declined(self) -> Declined:
        """Why a query of the table is left to Spark."""
        return Declined("table_needs_spark", f"{self.table}: {self.refusal.why}.")


_DROP_HINT = (
    "drop the column with a client that reads the table, such as PyIceberg; Spark can't change it"
)
_RENAME_HINT = (
    "rename one of the columns: ALTER TABLE … RENAME COLUMN under spark.sql.caseSensitive=true, or"
    " PyIceberg"
)
_TRANSFORM_HINT = "read the table with the engine that partitions it"
_SPARK_HINT = (
    "queries of the table go to plain Spark; cubes, indexes, relate columns, constraints,"
    " statistics and vacuums need a table that PyIceberg reads"
)


def state_refusal(metadata: TableMetadata, schema: IcebergSchema, at: At) -> Refusal | None:
    """Why Spark refuses a state of the table under that schema; None if Spark reads the state."""
    parts = (field for spec in metadata.partition_specs for field in spec.fields)
    struct = StructType(schema.fields)
    found = _lacking(struct) or _transformed((p.name, p.transform) for p in parts)
    # Spark doesn't compare the names of a state behind VERSION AS OF or TIMESTAMP AS OF.
    return found or (_twins(struct) if _is_named(at) else None)


def read_by_pyiceberg(file: str, content: bytes) -> TableMetadata:
    """Reads a metadata file by PyIceberg, as those need that aren't written as usual.

    UnparsedError if it's a table's metadata that PyIceberg refuses; else PyIceberg's own errors.
    """
    from pyiceberg.table.metadata import TableMetadataUtil  # slow to import

    try:
        return from_pyiceberg(TableMetadataUtil.parse_raw(content.decode()))
    except REFUSALS as error:
        refused = unparsed(file, content, error)
        if refused is None:
            raise
        raise UnparsedError(refused) from error


def unparsed(file: str, content: bytes, error: Exception) -> Unparsed | None:
    """Why PyIceberg refuses the table whose metadata file that is, by the error that it raised.

    None if the content isn't a table's metadata: the file is damaged, or another one.
    """
    metadata = _loaded(content)
    raw = None if metadata is None else _raw(file, metadata)
    if metadata is None or raw is None:
        return None
    schemas = _schemas(metadata)
    found = _first(schemas, _is_new) or _transformed(_partition_fields(metadata))
    if found is not None:  # Iceberg's library for Spark doesn't parse it either
        return Unparsed(raw, found, found)
    newest = next(filter(None, (_lacking(one) or _twins(one) for one in schemas[:1])), None)
    other = _first(schemas, _is_unparsed) or Refusal(
        "PyIceberg", f"its metadata has {_first_sentence(error)}", hint=_SPARK_HINT
    )
    return Unparsed(raw, newest or other, other)


def _is_named(at: At) -> bool:
    """Whether a name alone has the state: a table's, or that with `branch_…` behind it."""
    return at == _NEWEST or at.selected


def _lacking(schema: object) -> Refusal | None:
    """The refusal of a schema with a type that Spark lacks."""
    for name, type_ in _leaves(schema):
        if str(type_) in LACKED_TYPES:
            return _of_type("Spark", name, str(type_), _DROP_HINT)
    return None


def _transformed(fields: Iterable[tuple[str, str]]) -> Refusal | None:
    """The refusal of a partition field with a transform that Iceberg's library for Spark lacks."""
    for name, transform in fields:
        if not _TRANSFORM.fullmatch(transform):
            why = f"the transform of its partition field {_line(name)} is {_line(transform)}"
            return Refusal("Iceberg", why, name, transform, _TRANSFORM_HINT)
    return None


def _twins(schema: object) -> Refusal | None:
    """The refusal of a struct with two fields whose names are one in lower case.

    Java's lower case of the root locale, by which Spark compares them, is Python's.
    """
    for path, fields in _structs(schema):
        seen: dict[str, str] = {}
        for name, type_ in fields:
            earlier = seen.setdefault(name.lower(), name)
            if earlier != name:
                first, second = joined((*path, earlier)), joined((*path, name))
                text = "struct" if _inside(type_) is not None else str(type_)
                why = (
                    f"the names of its columns {_line(first)} and {_line(second)}"
                    f" ({_line(text)}) differ in case only"
                )
                return Refusal("Spark", why, second, text, _RENAME_HINT)
    return None


def _first(
    schemas: Iterable[Mapping[str, Any]], reader_of: Callable[[str], Reader | None]
) -> Refusal | None:
    """The refusal of the first column with a type that some reader refuses."""
    for schema in schemas:
        for name, type_ in _leaves(schema):
            reader = reader_of(type_) if isinstance(type_, str) else None
            if reader is not None:
                hint = _SPARK_HINT if reader == "PyIceberg" else _DROP_HINT
                return _of_type(reader, name, str(type_), hint)
    return None


def _is_new(type_: str) -> Reader | None:
    """Iceberg, if neither PyIceberg nor Iceberg 1.12 has the type."""
    return "Iceberg" if _is_unparsed(type_) and not type_.startswith(_SPARK_READS) else None


def _is_unparsed(type_: str) -> Reader | None:
    """PyIceberg, if it has no primitive type of that text."""
    from pyiceberg.types import IcebergType

    try:
        IcebergType.model_validate(type_)
    except REFUSALS:
        return "PyIceberg"
    return None


def _of_type(reader: Reader, name: str, type_: str, hint: str) -> Refusal:
    why = f"the type of its column {_line(name)} is {_line(type_)}"
    return Refusal(reader, why, name, type_, hint)


def _loaded(content: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _raw(file: str, metadata: Mapping[str, Any]) -> RawMetadata | None:
    location, version = metadata.get("location"), metadata.get("format-version")
    if not isinstance(location, str) or not isinstance(version, int):
        return None
    properties, uuid = metadata.get("properties"), metadata.get("table-uuid")
    given = properties if isinstance(properties, dict) else {}
    return RawMetadata(
        file,
        uuid if isinstance(uuid, str) else "",
        location,
        {key: value for key, value in given.items() if isinstance(value, str)},
        tuple(_texts(metadata.get("metadata-log"), "metadata-file")),
        tuple(_texts(metadata.get("snapshots"), "manifest-list")),
        dict(_columns(metadata)),
    )


def _columns(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The top-level columns of the newest state."""
    fields = next(iter(_schemas(metadata)), {}).get("fields")
    for one in fields if isinstance(fields, list) else ():
        name, type_ = (one.get("name"), one.get("type")) if isinstance(one, dict) else (None, None)
        if isinstance(name, str):
            yield name, _spark_text(type_)


def _spark_text(type_: object) -> str:
    """Spark's text of a type; Iceberg's own, or none, of one that PyIceberg lacks."""
    from pyiceberg.types import NestedField

    try:
        field = {"id": 1, "name": "x", "required": False, "type": type_}
        return spark_type(field_type_of(NestedField.model_validate(field).field_type))
    except (*REFUSALS, ValueError, TypeError, RecursionError):
        return _line(type_) if isinstance(type_, str) else "unknown"


def _texts(entries: object, key: str) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        text = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(text, str):
            yield text


def _schemas(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of a metadata file, the current one first."""
    listed = metadata.get("schemas")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if isinstance(alone := metadata.get("schema"), dict):  # format version 1
        found.append(alone)
    current = metadata.get("current-schema-id")
    return sorted(found, key=lambda one: one.get("schema-id") != current)


def _inside(type_: object) -> Iterable[tuple[str, object]] | None:
    """The fields inside a type by name, of a type or of its JSON; None of a leaf."""
    if isinstance(type_, StructType):
        return [(one.name, one.field_type) for one in type_.fields]
    if isinstance(type_, ListType):
        return [("element", type_.element_type)]
    if isinstance(type_, MapType):
        return [("key", type_.key_type), ("value", type_.value_type)]
    if not isinstance(type_, Mapping):
        return None
    if type_.get("type") == "struct":
        fields = type_.get("fields")
        listed = fields if isinstance(fields, list) else []
        return [(str(o.get("name")), o.get("type")) for o in listed if isinstance(o, dict)]
    return [(key, type_[key]) for key in ("element", "key", "value") if key in type_]


def _structs(type_: object) -> Iterator[tuple[tuple[str, ...], list[tuple[str, object]]]]:
    """A struct's fields, and those of every type inside it, in order, with the path to them."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), type_)]
    while waiting:
        path, inner = waiting.pop()
        fields = list(_inside(inner) or ())
        yield path, fields
        waiting.extend(reversed([((*path, name), kind) for name, kind in fields]))


def _leaves(type_: object) -> Iterator[tuple[str, object]]:
    """Every primitive type inside a struct by its full name, those of a struct before the next."""
    for path, fields in _structs(type_):
        for name, kind in fields:
            if _inside(kind) is None:
                yield joined((*path, name)), kind


def _partition_fields(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and transform of each partition field; of several columns it's no transform."""
    specs = metadata.get("partition-specs")
    for spec in specs if isinstance(specs, list) else ():
        fields = spec.get("fields") if isinstance(spec, dict) else None
        for one in fields if isinstance(fields, list) else ():
            if isinstance(one, dict):
                several = "" if "source-id" in one else f" of {one.get('source-ids')}"
                yield str(one.get("name")), f"{one.get('transform')}{several}"


def _first_sentence(error: Exception) -> str:
    """The first sentence of the reader's error, and which part of the metadata it's about."""
    cause = error if isinstance(error, ValidationError) else error.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False, include_input=False, include_context=False)[0]
        # The union's tag is the format version.
        place = ".".join(str(one) for one in first["loc"][1:]) or "format-version"
        return f"a part that PyIceberg lacks, {_line(place)}: {_line(first['msg'])}"
    return f"a part that PyIceberg lacks: {_line(str(error).splitlines()[0])}"


def _line(text: str) -> str:
    """Returns a foreign text for a message: in one line, and cut if it's long."""
    return shortened(one_line(text), _TEXT_MAX)
