"""Spark's SQL types as the Arrow types that Spark's own `toArrow` gives."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from rewrite.types import decimal_parts

_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),  # whatever the session's time zone is
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(type_: str) -> pa.DataType:
    """The Arrow type; KeyError for a type that no rewritten statement returns."""
    parts = decimal_parts(type_)
    if parts is not None:
        return pa.decimal128(*parts)
    return _TYPES[type_]


_ARRAY = "array<"
_WIDTHS = {
    "boolean": 1,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "float": 4,
    "date": 4,
    "string": 24,
    "binary": 24,
}


def row_width(types: Iterable[str]) -> int:
    """Bytes of a row in memory: of texts a guess, of what has no width of its own 8."""
    return sum(_WIDTHS.get(one, 16 if decimal_parts(one) else 8) for one in types)


def is_known(type_: str | None) -> bool:
    """Whether `arrow_type` has it."""
    return type_ in _TYPES or decimal_parts(type_) is not None


def typed(values: pa.Array, type_: str | None) -> pa.Array:
    """Values as bounds and indexes keep them (whole numbers, floats, bytes) as the engine has them.

    pa.ArrowInvalid where they don't fit, as bytes that aren't a text.
    """
    target = arrow_type(type_ or "")
    if values.null_count == len(values):
        return pa.nulls(len(values), target)
    if pa.types.is_decimal(target):
        return _rescaled(values, target)
    narrow = pa.types.is_date32(target) or pa.types.is_int32(target)
    return (values.cast(pa.int32()) if narrow else values).cast(target)


def _rescaled(unscaled: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    """Whole numbers as decimals: the same bits under another scale."""
    whole = unscaled.cast(pa.decimal128(38, 0))
    scaled = pa.Array.from_buffers(
        pa.decimal128(38, target.scale), len(whole), whole.buffers(), offset=whole.offset
    )
    return scaled.cast(target)


def _answer_type(type_: str) -> pa.DataType:
    """The Arrow type of an output. Arrays are sets, which contain no NULL."""
    if not type_.startswith(_ARRAY):
        return arrow_type(type_)
    return pa.list_(pa.field("element", arrow_type(type_[len(_ARRAY) : -1]), nullable=False))


def conform(table: pa.Table, names: list[str], types: list[str]) -> pa.Table:
    """The table with Spark's names and types; pa.ArrowInvalid where a value doesn't fit."""
    columns = []
    for column, type_ in zip(table.columns, types, strict=True):
        wanted = _answer_type(type_)
        # A cast imports Arrow's compute module, 60 ms of a new process's first answer.
        columns.append(column if column.type == wanted else column.cast(wanted))
    return pa.table(columns, names=names)
