"""Batches that were sent, as a table's own columns: a cast changes no value, or is refused.

What is missing is NULL where it may be. Promise: each error names the column, and within it the
field, that is wrong; an error of a value names its row, too.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from accelerator.iceberg.writes.errors import IngestSchemaError
from rewrite.text.printable import one_line, shortened

_SHOWN_MAX = 200
_DAYS = (-719_162, 2_932_896)
_YEARS = (_DAYS, (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1))
"""The first and the last of dates, and of timestamps, that PyIceberg can write figures of."""
_WHOLE_DIGITS = 20
"""Those of the greatest whole number of 64 bits."""
_types = pa.types


class Conform:
    """From one schema that was sent to one of a table. IngestSchemaError where they don't fit.

    Columns go by their names, in any order. The table's types are those of PyIceberg.
    """

    def __init__(self, sent: pa.Schema, wanted: pa.Schema) -> None:
        self._wanted, self._rows = wanted, 0
        self._places = _places(sent)
        known = set(wanted.names)
        for name in self._places:
            if name not in known:
                near = next((one for one in known if one.lower() == name.lower()), None)
                hint = f"the table's is {_line(near)}" if near else "leave it out"
                raise IngestSchemaError(f"the table has no column {_line(name)}", hint=hint)
        for field in wanted:
            place = self._places.get(field.name)
            if place is not None:
                _check(_line(field.name), sent.field(place).type, field.type)
            elif not field.nullable:
                raise IngestSchemaError(
                    f"the column {_line(field.name)} is missing, and it may not be NULL",
                    hint="send a value for each row",
                )

    def batch(self, sent: pa.RecordBatch) -> pa.RecordBatch:
        """One batch as the table's columns; batches come in their order, since rows are counted."""
        columns = []
        for field in self._wanted:
            place = self._places.get(field.name)
            if place is None:
                columns.append(pa.nulls(sent.num_rows, field.type))
                continue
            columns.append(self._column(field, sent.column(place)))
        self._rows += sent.num_rows
        return pa.RecordBatch.from_arrays(columns, schema=self._wanted)

    def _column(self, field: pa.Field, sent: pa.Array) -> pa.Array:
        try:
            return _conformed(field, sent)
        except IngestSchemaError as error:
            row = self._rows + _first_wrong(field, sent)
            raise IngestSchemaError(f"{error.message}, in row {row:,}", hint=error.hint) from error


def _conformed(field: pa.Field, sent: pa.Array) -> pa.Array:
    name = _line(field.name)
    values = _cast(name, sent, field.type)
    if not field.nullable and values.null_count:
        raise _null(name)
    _check_values(name, values)
    return values


def _first_wrong(field: pa.Field, sent: pa.Array) -> int:
    """The number of the first value that doesn't fit, from 1, of a column that has such a value."""
    good, bad = 0, len(sent)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            _conformed(field, sent.slice(good, middle - good))
            good = middle
        except IngestSchemaError:
            bad = middle
    return bad


def _places(sent: pa.Schema) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, name in enumerate(sent.names):
        if name in found:
            raise IngestSchemaError(
                f"two columns are called {_line(name)}", hint="give each column a name of its own"
            )
        found[name] = place
    return found


def _is_text(one: pa.DataType) -> bool:
    return bool(_types.is_string(one) or _types.is_large_string(one))


def _is_bytes(one: pa.DataType) -> bool:
    return bool(_types.is_binary(one) or _types.is_large_binary(one))


def _is_listed(one: pa.DataType) -> bool:
    return bool(_types.is_list(one) or _types.is_large_list(one) or _types.is_fixed_size_list(one))


_FAMILIES: tuple[Callable[[pa.DataType], bool], ...] = (
    _types.is_boolean,
    _types.is_integer,
    _types.is_decimal,
    _types.is_date,
    _types.is_time,
    _is_text,
    _is_bytes,
)
"""Within one of them a safe cast changes no value, or fails."""


def _fits(sent: pa.DataType, wanted: pa.DataType) -> bool:
    if _types.is_null(sent) or sent == wanted:
        return True
    if _types.is_floating(sent) and _types.is_floating(wanted):
        return bool(sent.bit_width <= wanted.bit_width)
    if _types.is_timestamp(sent) and _types.is_timestamp(wanted):
        return (sent.tz is None) == (wanted.tz is None)
    storage = getattr(wanted, "storage_type", wanted)  # a uuid is its 16 bytes
    if _types.is_fixed_size_binary(sent):
        return sent == storage or _is_bytes(wanted)
    if _is_bytes(sent) and _types.is_fixed_size_binary(storage):
        return True
    if _types.is_integer(sent) and _types.is_decimal(wanted):
        return True
    if _types.is_decimal(sent) and _types.is_integer(wanted):
        return True
    return any(family(sent) and family(wanted) for family in _FAMILIES)


def _check(path: str, sent: pa.DataType, wanted: pa.DataType) -> None:
    if _types.is_null(sent):
        return
    if _types.is_struct(wanted) and _types.is_struct(sent):
        inner = _places(pa.schema(list(sent)))
        names = {field.name for field in wanted}
        extra = next((name for name in inner if name not in names), None)
        if extra is not None:
            raise IngestSchemaError(f"{path} has no field {_line(extra)}", hint="leave it out")
        for field in wanted:
            place = inner.get(field.name)
            if place is not None:
                _check(f"{path}.{_line(field.name)}", sent.field(place).type, field.type)
            elif not field.nullable:
                raise IngestSchemaError(
                    f"{path}.{_line(field.name)} is missing, and it may not be NULL",
                    hint="send a value for each row",
                )
        return
    if _is_listed(wanted) and _is_listed(sent):
        _check(f"{path}.element", sent.value_type, wanted.value_type)
        return
    if _types.is_map(wanted) and _types.is_map(sent):
        _check(f"{path}.key", sent.key_type, wanted.key_type)
        _check(f"{path}.value", sent.item_type, wanted.item_type)
        return
    if not _fits(sent, wanted):
        raise IngestSchemaError(
            f"the column {path} is {_line(str(wanted))} in the table, and {_line(str(sent))} was"
            " sent",
            hint="cast it before it's sent: nothing is rounded, parsed or put into another zone",
        )


def _cast(path: str, values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values under the table's type; `_check` has let their types pass."""
    if values.type == wanted:
        return values
    if _types.is_null(values.type):
        return pa.nulls(len(values), wanted)
    try:
        if _types.is_struct(wanted):
            return _struct(path, values, wanted)
        if _is_listed(wanted):
            return _list(path, values, wanted)
        if _types.is_map(wanted):
            return _map(path, values, wanted)
        if isinstance(wanted, pa.ExtensionType):
            return pa.ExtensionArray.from_storage(wanted, values.cast(wanted.storage_type))
        if _types.is_integer(values.type) and _types.is_decimal(wanted):
            # Arrow casts whole numbers only to decimals that hold each number of their type.
            values = values.cast(pa.decimal256(_WHOLE_DIGITS + wanted.scale, wanted.scale))
        return values.cast(wanted, safe=True)
    except (pa.ArrowException, ValueError) as error:
        said = one_line(str(error).splitlines()[0])
        raise IngestSchemaError(
            f"a value of the column {path} can't be {_line(str(wanted))}: {_line(said)}",
            hint="nothing is rounded or cut: send values that the table's type holds",
        ) from error


def _struct(path: str, values: pa.StructArray, wanted: pa.StructType) -> pa.Array:
    places = _places(pa.schema(list(values.type)))
    parts = values.flatten()  # an inner value is NULL where the whole is
    inner = []
    for field in wanted:
        place = places.get(field.name)
        if place is None:
            inner.append(pa.nulls(len(values), field.type))
            continue
        inner.append(_cast(f"{path}.{_line(field.name)}", parts[place], field.type))
    return pa.StructArray.from_arrays(inner, fields=list(wanted), mask=pc.is_null(values))


def _list(path: str, values: pa.Array, wanted: pa.DataType) -> pa.Array:
    plain = values.cast(pa.large_list(values.type.value_field))
    offsets = pc.subtract(plain.offsets, plain.offsets[0]) if len(plain) else plain.offsets
    inner = _cast(f"{path}.element", plain.flatten(), wanted.value_type)
    if plain.null_count:
        # Of lists that are NULL `flatten` leaves out what they may have had.
        lengths = pc.fill_null(pc.list_value_length(plain), 0).cast(pa.int64())
        ends = pc.cumulative_sum(lengths)
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    mask = pc.is_null(plain)
    made = pa.LargeListArray.from_arrays(offsets, inner, mask=mask)
    return made.cast(wanted)


def _map(path: str, values: pa.MapArray, wanted: pa.MapType) -> pa.Array:
    begins, ends = values.offsets[0].as_py(), values.offsets[len(values)].as_py()
    keys = _cast(f"{path}.key", values.keys.slice(begins, ends - begins), wanted.key_type)
    items = _cast(f"{path}.value", values.items.slice(begins, ends - begins), wanted.item_type)
    offsets = pc.subtract(values.offsets, values.offsets[0])
    made = pa.MapArray.from_arrays(
        offsets, keys, items, type=wanted, mask=pc.is_null(values) if values.null_count else None
    )
    made.validate(full=True)
    return made


def _check_values(path: str, values: pa.Array) -> None:
    """IngestSchemaError for a NULL that may not be within the column, and for a time of no year.

    The values have the table's type, by a cast or as they were sent: no flag of theirs is believed.
    """
    kind = values.type
    if _types.is_struct(kind):
        for field, inner in zip(kind, values.flatten(), strict=True):
            name = f"{path}.{_line(field.name)}"
            if not field.nullable and inner.null_count > values.null_count:
                raise _null(name)  # it's NULL wherever the whole is, and elsewhere
            _check_values(name, inner)
    elif _is_listed(kind):
        _check_within(f"{path}.element", values.flatten(), kind.value_field)
    elif _types.is_map(kind):
        pairs = values.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))).flatten()
        _check_within(f"{path}.key", pairs.field(0), kind.key_field)
        _check_within(f"{path}.value", pairs.field(1), kind.item_field)
    elif _types.is_date(kind) or _types.is_timestamp(kind):
        first, last = _YEARS[0 if _types.is_date(kind) else 1]
        found = pc.min_max(values.cast(pa.int32() if _types.is_date(kind) else pa.int64())).as_py()
        if found["min"] is not None and not first <= found["min"] <= found["max"] <= last:
            raise IngestSchemaError(
                f"a value of the column {path} is outside the years from 1 to 9999",
                hint="append it by Spark: INSERT INTO",
            )


def _check_within(path: str, values: pa.Array, field: pa.Field) -> None:
    if not field.nullable and values.null_count:
        raise _null(path)
    _check_values(path, values)


def _null(path: str) -> IngestSchemaError:
    return IngestSchemaError(
        f"a value of the column {path} is NULL, and it may not be", hint="send a value for each row"
    )


def _line(text: str) -> str:
    return shortened(one_line(text), _SHOWN_MAX)
