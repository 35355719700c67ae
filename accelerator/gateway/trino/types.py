"""Arrow's types as Trino's: their names, and their signatures as the protocol has them.

Promise: each type that Spark's answers have is told as the one whose values
`gateway/trino/json/encode.py` writes; a type without such a one raises `UnrepresentableError` with
the column's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as t
from msgspec import Struct

from accelerator.errors import UnrepresentableError
from rewrite.dialects.trino.type_names import quoted

PRECISIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Digits behind a second, by Arrow's unit."""
_VARCHAR_MAX = 2_147_483_647
_DIGITS_MAX = 38
_DEPTH_MAX = 64


class TrinoType(Struct, frozen=True):
    """A type as text, and its signature: `rawType` and `arguments` as the protocol has them."""

    text: str
    signature: dict[str, Any]


def trino_type(
    type_: pa.DataType | pa.Field, parametric_datetime: bool = True, depth: int = 0
) -> TrinoType:
    """Trino's type of an Arrow one, or of a field.

    Without `parametric_datetime` times have no precision, which then is of milliseconds.
    UnrepresentableError where Trino has none.
    """
    if isinstance(type_, pa.Field):
        type_ = type_.type
    if depth > _DEPTH_MAX:
        raise UnrepresentableError(f"a type has more than {_DEPTH_MAX} levels")
    simple = _SIMPLE.get(type_.id)
    if simple is not None:
        return simple
    if t.is_timestamp(type_):
        name = "timestamp with time zone" if type_.tz else "timestamp"
        return _time(name, PRECISIONS[type_.unit], parametric_datetime)
    if t.is_time(type_):
        return _time("time", PRECISIONS[type_.unit], parametric_datetime)
    if t.is_decimal128(type_) and 0 <= type_.scale <= type_.precision <= _DIGITS_MAX:
        return TrinoType(
            f"decimal({type_.precision}, {type_.scale})",
            _signature("decimal", _long(type_.precision), _long(type_.scale)),
        )
    if t.is_dictionary(type_):
        return trino_type(type_.value_type, parametric_datetime, depth + 1)
    if isinstance(type_, pa.UuidType):
        return _UUID

    def inner(one: pa.DataType) -> TrinoType:
        return trino_type(one, parametric_datetime, depth + 1)

    if is_map(type_):
        check_key(type_.key_type)
        return _generic("map", inner(type_.key_type), inner(type_.item_type))
    if is_list(type_):
        return _generic("array", inner(type_.value_type))
    if t.is_struct(type_) and type_.num_fields:
        return _row(type_, inner)
    raise unknown(type_)


def displayed(type_: pa.DataType | pa.Field) -> str:
    """Trino's text of the type as its listings of columns have it; see `trino_type`.

    >>> displayed(pa.list_(pa.decimal128(12, 2)))
    'array(decimal(12,2))'
    """
    return _displayed(trino_type(type_).signature)


def _displayed(signature: dict[str, Any]) -> str:
    raw, arguments = str(signature["rawType"]), signature["arguments"]
    if raw == "varchar" or not arguments:
        return raw
    if arguments[0]["kind"] == "LONG":
        numbers = ",".join(str(one["value"]) for one in arguments)
        first, blank, rest = raw.partition(" ")
        return f"{first}({numbers}){blank}{rest}"
    inner = ", ".join(map(_displayed_argument, arguments))
    return f"{raw}({inner})"


def _displayed_argument(argument: dict[str, Any]) -> str:
    value = argument["value"]
    if argument["kind"] == "TYPE":
        return _displayed(value)
    return f"{quoted(value['fieldName']['name'])} {_displayed(value['typeSignature'])}"


def is_list(type_: pa.DataType) -> bool:
    """Whether it's an array; maps aren't."""
    return bool(t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_))


def is_map(type_: pa.DataType) -> bool:
    """Whether it's a map."""
    return bool(t.is_map(type_))


def unknown(type_: pa.DataType) -> UnrepresentableError:
    """The error for a type of which no client can be given values; pyarrow reads no months."""
    return UnrepresentableError(
        f"values of {type_} have no form in Trino's protocol", hint="CAST it AS STRING"
    )


def check_key(type_: pa.DataType) -> None:
    """Raises for a map's key that no text can be: the protocol's maps are JSON objects."""
    if t.is_nested(type_):
        raise UnrepresentableError(
            f"a map with keys of {type_} has no form in Trino's protocol",
            hint="select map_entries(…) in place of the map",
        )


def columns(
    schema: pa.Schema, names: Sequence[str] | None = None, parametric_datetime: bool = True
) -> list[dict[str, Any]]:
    """The protocol's `columns`: of each one name, type and typeSignature.

    `names` take the place of the schema's. UnrepresentableError names the column that has no type.
    """
    found = []
    for name, field in zip(schema.names if names is None else names, schema, strict=True):
        try:
            type_ = trino_type(field, parametric_datetime)
        except UnrepresentableError as error:
            raise UnrepresentableError(
                f"the column {name}: {error.message}", hint=error.hint
            ) from error
        found.append({"name": name, "type": type_.text, "typeSignature": type_.signature})
    return found


def _signature(raw: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"rawType": raw, "arguments": list(arguments)}


def _long(value: int) -> dict[str, Any]:
    return {"kind": "LONG", "value": value}


def _time(name: str, precision: int, parametric: bool) -> TrinoType:
    if not parametric:
        return TrinoType(name, _signature(name))
    first, _, rest = name.partition(" ")
    text = f"{first}({precision}) {rest}".rstrip()
    return TrinoType(text, _signature(name, _long(precision)))


def _generic(name: str, *of: TrinoType) -> TrinoType:
    arguments = ({"kind": "TYPE", "value": one.signature} for one in of)
    return TrinoType(f"{name}({', '.join(one.text for one in of)})", _signature(name, *arguments))


def _row(type_: pa.StructType, inner: Callable[[pa.DataType], TrinoType]) -> TrinoType:
    texts, arguments = [], []
    for field in type_:
        of = inner(field.type)
        quoted = field.name.replace('"', '""')
        texts.append(f'"{quoted}" {of.text}')
        value = {"fieldName": {"name": field.name}, "typeSignature": of.signature}
        arguments.append({"kind": "NAMED_TYPE", "value": value})
    return TrinoType(f"row({', '.join(texts)})", _signature("row", *arguments))


def _simple(name: str, *arguments: dict[str, Any]) -> TrinoType:
    return TrinoType(name, _signature(name, *arguments))


_UUID = _simple("uuid")
_VARCHAR = _simple("varchar", _long(_VARCHAR_MAX))
_VARBINARY = _simple("varbinary")
_SIMPLE: dict[int, TrinoType] = {
    pa.null().id: _simple("unknown"),
    pa.bool_().id: _simple("boolean"),
    pa.int8().id: _simple("tinyint"),
    pa.int16().id: _simple("smallint"),
    pa.int32().id: _simple("integer"),
    pa.int64().id: _simple("bigint"),
    pa.float32().id: _simple("real"),
    pa.float64().id: _simple("double"),
    pa.date32().id: _simple("date"),
    pa.string().id: _VARCHAR,
    pa.large_string().id: _VARCHAR,
    pa.string_view().id: _VARCHAR,
    pa.binary().id: _VARBINARY,
    pa.large_binary().id: _VARBINARY,
    pa.binary_view().id: _VARBINARY,
    pa.binary(1).id: _VARBINARY,
    pa.duration("us").id: _simple("interval day to second"),
}
