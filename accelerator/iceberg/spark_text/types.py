"""Iceberg's types in Spark's words: as DESCRIBE and as CREATE TABLE have them; their sizes."""

from __future__ import annotations

from collections.abc import Callable

from accelerator.iceberg.tables.metadata import (
    FieldType,
    ListType,
    MapType,
    NestedField,
    StructType,
    decimal_of,
)
from accelerator.iceberg.tables.schema import spark_type
from rewrite.identifiers.quoting import quoted_if_needed
from rewrite.reason import CATALOG_NEEDS_SPARK, DeclinedError

_FIELDS_MAX = 25
"""Spark's default of spark.sql.debug.maxToStringFields."""
_SIZES = {
    "boolean": 1,
    "int": 4,
    "bigint": 8,
    "float": 4,
    "double": 8,
    "date": 4,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "string": 20,
    "binary": 100,
}
_DECIMAL_OF_LONG = 18


def simple(kind: FieldType) -> str:
    """The type as DESCRIBE shows it; of a struct with many fields Spark leaves out the last."""
    if isinstance(kind, StructType):
        fields = [f"{one.name}:{simple(one.field_type)}" for one in kind.fields]
        if len(fields) > _FIELDS_MAX:
            fields = [*fields[:_FIELDS_MAX], f"... {len(fields) - _FIELDS_MAX} more fields"]
        return f"struct<{','.join(fields)}>"
    return _nested(kind, simple, "array<{}>", "map<{},{}>") or _word(kind)


def declared(kind: FieldType) -> str:
    """The type as CREATE TABLE has it."""
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(map(_field, kind.fields))}>"
    return _nested(kind, declared, "ARRAY<{}>", "MAP<{}, {}>") or _word(kind).upper()


def _field(field: NestedField) -> str:
    name = quoted_if_needed(field.name)
    return f"{name}: {declared(field.field_type)}{suffix(field)}"


def suffix(field: NestedField) -> str:
    """Writes what follows a column's type: NOT NULL, and its comment."""
    needed = " NOT NULL" if field.required else ""
    return needed if field.doc is None else f"{needed} COMMENT '{escaped(field.doc)}'"


def escaped(text: str) -> str:
    """A text within quotes, as SHOW CREATE TABLE has it."""
    return text.replace("'", "\\'")


def row_bytes(kind: FieldType) -> int:
    """Estimates a value's bytes as Spark does."""
    if isinstance(kind, StructType):
        return sum(row_bytes(one.field_type) for one in kind.fields)
    if isinstance(kind, ListType):
        return row_bytes(kind.element_type)
    if isinstance(kind, MapType):
        return row_bytes(kind.key_type) + row_bytes(kind.value_type)
    decimal = decimal_of(kind)
    if decimal is not None:
        return 8 if decimal[0] <= _DECIMAL_OF_LONG else 16
    return _SIZES[_word(kind)]


def _nested(kind: FieldType, shown: Callable[[FieldType], str], array: str, mapping: str) -> str:
    if isinstance(kind, ListType):
        return array.format(shown(kind.element_type))
    if isinstance(kind, MapType):
        return mapping.format(shown(kind.key_type), shown(kind.value_type))
    return ""


def _word(kind: FieldType) -> str:
    """Spark's word of a type without others in it; DeclinedError for a type it may not have."""
    found = spark_type(kind)
    if found not in _SIZES and decimal_of(kind) is None:
        raise DeclinedError(CATALOG_NEEDS_SPARK, f"The type {found}.")
    return found
