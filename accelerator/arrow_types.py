"""Spark's SQL types as the Arrow types that Spark's own `toArrow` gives."""

from __future__ import annotations

import pyarrow as pa

from rewrite.types import decimal_parts

_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(type_: str, time_zone: str) -> pa.DataType:
    """The Arrow type; KeyError for a type that no rewritten statement returns."""
    parts = decimal_parts(type_)
    if parts is not None:
        return pa.decimal128(*parts)
    return pa.timestamp("us", tz=time_zone) if type_ == "timestamp" else _TYPES[type_]


def conform(table: pa.Table, names: list[str], types: list[str], time_zone: str) -> pa.Table:
    """The table with Spark's names and types; pa.ArrowInvalid where a value doesn't fit."""
    columns = [
        column.cast(arrow_type(type_, time_zone))
        for column, type_ in zip(table.columns, types, strict=True)
    ]
    return pa.table(columns, names=names)
