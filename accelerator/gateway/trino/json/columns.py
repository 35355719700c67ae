"""Columns of Arrow as columns of JSON texts, each type in the form that Trino's clients read.

Promise: vectorised wherever Arrow has the functions, with slices, nulls and nesting; texts are
escaped as orjson escapes them; no value is rounded but times for clients of milliseconds, as Trino
rounds them.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from accelerator.common.arrow.python_values import date_text
from accelerator.errors import UnrepresentableError
from accelerator.gateway.trino.types import PRECISIONS, check_key, unknown

_ESCAPED = r'[\x00-\x1f"\\]'
_DAY_FIRST, _DAY_LAST = -719_528, 2_932_896
"""The days of years 0 to 9999, whose texts Arrow and Trino write alike."""
_PLAIN_SCALE = 6
"""Decimals of no larger scale are never written with an exponent."""
_HALF_MILLI, _MILLI = 500, 1_000


class Texts(NamedTuple):
    """Texts without any null among them; each stands between two of `quote`."""

    array: pa.Array
    quote: str


def json(column: pa.Array, parametric: bool) -> Texts:
    """The values as JSON; UnrepresentableError, or what Arrow raises, where one has no form."""
    raw, quoted = _raw(column, parametric)
    if not raw.null_count:
        return Texts(raw, '"' if quoted else "")
    if quoted:
        raw = pc.binary_join_element_wise('"', raw, '"', "")
    return Texts(pc.fill_null(raw, "null"), "")


def _raw(column: pa.Array, parametric: bool) -> tuple[pa.Array, bool]:
    """Texts, null where the value is, and whether they are to be quoted."""
    kind = column.type
    if t.is_dictionary(kind):
        return _raw(column.dictionary_decode(), parametric)
    if isinstance(kind, pa.UuidType):
        return _each(column.storage, lambda one: str(uuid.UUID(bytes=one))), True
    found = _KINDS.get(kind.id)
    if found is None:
        raise unknown(kind)
    texts, quoted = found
    return texts(column, parametric), quoted


def _each(column: pa.Array, text: Callable[[bytes], str]) -> pa.Array:
    """By Python, value by value."""
    found = [None if one is None else text(one) for one in column.to_pylist()]
    return pa.array(found, pa.string())


def _replaced(array: pa.Array, where: pa.Array, values: list[str]) -> pa.Array:
    """The array with those texts where `where` is true; nulls of it are false."""
    return pc.replace_with_mask(array, pc.fill_null(where, False), pa.array(values, pa.string()))


def _floats(column: pa.Array, _: bool) -> pa.Array:
    """Shortest digits that give the number back; whole ones with `.0`, others than numbers quoted.

    Java's client takes `1e+20`, and `1.0`, but not `1`.
    """
    found = column.cast(pa.string())
    whole = pc.match_substring_regex(found, r"^-?[0-9]+$")
    if pc.any(whole).as_py():
        found = pc.if_else(whole, pc.binary_join_element_wise(found, ".0", ""), found)
    odd = pc.invert(pc.is_finite(column))
    if pc.any(odd).as_py():
        values = column.filter(odd).to_pylist()
        names = ['"Infinity"' if v > 0 else '"-Infinity"' if v < 0 else '"NaN"' for v in values]
        found = _replaced(found, odd, names)
    return found


def _escaped(column: pa.Array, _: bool) -> pa.Array:
    """What stands between a JSON text's quotes."""
    column.validate(full=True)
    found = column if t.is_string(column.type) else column.cast(pa.string())
    where = pc.match_substring_regex(found, _ESCAPED)
    if not pc.any(where).as_py():
        return found
    values = found.filter(where).to_pylist()
    return _replaced(found, where, [orjson.dumps(one)[1:-1].decode() for one in values])


def _decimals(column: pa.Array, _: bool) -> pa.Array:
    """With all digits of the scale, and never an exponent."""
    found = column.cast(pa.string())
    if column.type.scale <= _PLAIN_SCALE:
        return found
    where = pc.match_substring(found, "E")
    if not pc.any(where).as_py():
        return found
    return _replaced(found, where, [f"{one:f}" for one in column.filter(where).to_pylist()])


def _dates(column: pa.Array, _: bool) -> pa.Array:
    days = column.cast(pa.int32())
    found = column.cast(pa.string())
    odd = pc.or_(pc.less(days, _DAY_FIRST), pc.greater(days, _DAY_LAST))
    if pc.any(odd).as_py():
        found = _replaced(found, odd, [date_text(one) for one in days.filter(odd).to_pylist()])
    return found


def _timestamps(column: pa.Array, parametric: bool) -> pa.Array:
    """Wall time of UTC, and so it is told where the type has a zone."""
    unit = column.type.unit
    ticks = column.cast(pa.int64())
    if not parametric:
        ticks, unit = _milliseconds(ticks, unit)
    day = 86_400 * 10 ** PRECISIONS[unit]
    found = ticks.cast(pa.timestamp(unit)).cast(pa.string())
    odd = pc.or_(pc.less(ticks, _DAY_FIRST * day), pc.greater_equal(ticks, (_DAY_LAST + 1) * day))
    if unit != "ns" and pc.any(odd).as_py():
        values = ticks.filter(odd).to_pylist()
        found = _replaced(found, odd, [_moment(one, unit) for one in values])
    return pc.binary_join_element_wise(found, "UTC", " ") if column.type.tz else found


def _moment(ticks: int, unit: str) -> str:
    second = 10 ** PRECISIONS[unit]
    days, rest = divmod(ticks, 86_400 * second)
    return f"{date_text(days)} {_clock(rest, PRECISIONS[unit])}"


def _clock(ticks: int, precision: int) -> str:
    """Hours, minutes, seconds and what is behind; `ticks` are of that precision."""
    seconds, rest = divmod(ticks, 10**precision)
    fraction = f".{rest:0{precision}}" if precision else ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _milliseconds(ticks: pa.Array, unit: str) -> tuple[pa.Array, str]:
    """Rounded, halves up; seconds stay exact."""
    if unit == "ms":
        return ticks, unit
    if unit == "s":
        return pc.multiply_checked(ticks, _MILLI), "ms"
    size = 10 ** (PRECISIONS[unit] - PRECISIONS["ms"])
    values = pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False)
    whole, rest = np.divmod(values, size)
    rounded = whole + (2 * rest >= size)
    return pa.array(rounded, pa.int64(), mask=_null_mask(ticks)), "ms"


def _null_mask(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = column.is_null().to_numpy(
        zero_copy_only=False
    )
    return mask


def _times(column: pa.Array, parametric: bool) -> pa.Array:
    if parametric:
        return column.cast(pa.string())
    unit = column.type.unit
    width = pa.int32() if t.is_time32(column.type) else pa.int64()
    ticks, unit = _milliseconds(column.cast(width).cast(pa.int64()), unit)
    day = 86_400_000  # a time that is rounded up to midnight is that of the next day
    found = pc.if_else(pc.greater_equal(ticks, day), pc.subtract(ticks, day), ticks)
    return found.cast(pa.int32()).cast(pa.time32("ms")).cast(pa.string())


def _durations(column: pa.Array, _: bool) -> pa.Array:
    """Days, hours, minutes, seconds, milliseconds; clients read no finer ones."""
    size = 10 ** PRECISIONS[column.type.unit]

    def text(ticks: int) -> str:
        milliseconds, finer = divmod(abs(ticks) * _MILLI, size)
        if finer:
            raise UnrepresentableError(
                "an interval has fractions of a millisecond, which Trino's intervals lack",
                hint="CAST it AS STRING",
            )
        days, rest = divmod(milliseconds, 86_400_000)
        return f"{'-' if ticks < 0 else ''}{days} {_clock(rest, PRECISIONS['ms'])}"

    ticks = column.cast(pa.int64()).to_pylist()
    return pa.array([None if one is None else text(one) for one in ticks], pa.string())


def _full(column: pa.Array, parametric: bool) -> pa.Array:
    """The values as whole JSON."""
    found = json(column, parametric)
    return _between(found.quote, found.array, found.quote) if found.quote else found.array


def _between(before: str, array: pa.Array, behind: str) -> pa.Array:
    return pc.binary_join_element_wise(before, array, behind, "")


def _structs(column: pa.StructArray, parametric: bool) -> pa.Array:
    pieces: list[pa.Array | str] = []
    between = "["
    for number in range(column.type.num_fields):
        found = json(column.field(number), parametric)
        pieces.extend((between + found.quote, found.array))
        between = found.quote + ","
    rows = pc.binary_join_element_wise(*pieces, between[:-1] + "]", "")
    return _with_nulls(rows, column)


def _with_nulls(rows: pa.Array, of: pa.Array) -> pa.Array:
    if not of.null_count:
        return rows
    return pc.if_else(of.is_valid(), rows, pa.scalar(None, pa.string()))


def _lists(column: pa.Array, parametric: bool) -> pa.Array:
    if t.is_fixed_size_list(column.type):
        size = column.type.list_size
        values = column.values.slice(column.offset * size, len(column) * size)
        offsets = np.arange(len(column) + 1, dtype=np.int64) * size
    else:
        values, offsets = _flat(column, column.values)
    return _joined(column, _full(values, parametric), offsets, "[", "]")


def _maps(column: pa.MapArray, parametric: bool) -> pa.Array:
    check_key(column.type.key_type)
    keys, offsets = _flat(column, column.keys)
    items, _ = _flat(column, column.items)
    names, quoted = _raw(keys, parametric)
    if not quoted:
        names = pc.replace_substring(names, '"', "")  # those of NaN
    values = json(items, parametric)
    pairs = pc.binary_join_element_wise(
        '"', names, '":' + values.quote, values.array, values.quote, ""
    )
    return _joined(column, pairs, offsets, "{", "}")


def _flat(
    column: pa.Array, values: pa.Array
) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The values of a slice of lists alone, and its offsets into these."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    return values.slice(first, last - first), offsets - first


def _joined(
    column: pa.Array,
    values: pa.Array,
    offsets: np.ndarray[tuple[int], np.dtype[np.int64]],
    opening: str,
    closing: str,
) -> pa.Array:
    """The texts of each list with commas between them, in brackets."""
    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), values)
    return _with_nulls(_between(opening, pc.binary_join(lists, ","), closing), column)


def _cast(column: pa.Array, _: bool) -> pa.Array:
    return column.cast(pa.string())


def _base64(column: pa.Array, _: bool) -> pa.Array:
    return _each(column, lambda one: base64.b64encode(one).decode())


_KINDS: dict[int, tuple[Callable[[pa.Array, bool], pa.Array], bool]] = {
    pa.null().id: (_cast, False),
    **{one.id: (_cast, False) for one in (pa.bool_(), pa.int8(), pa.int16(), pa.int32())},
    pa.int64().id: (_cast, False),
    **{one.id: (_floats, False) for one in (pa.float32(), pa.float64())},
    **{one.id: (_escaped, True) for one in (pa.string(), pa.large_string(), pa.string_view())},
    **{one.id: (_base64, True) for one in (pa.binary(), pa.large_binary(), pa.binary_view())},
    pa.binary(1).id: (_base64, True),
    pa.decimal128(1).id: (_decimals, True),
    pa.date32().id: (_dates, True),
    pa.timestamp("us").id: (_timestamps, True),
    **{one.id: (_times, True) for one in (pa.time32("s"), pa.time64("us"))},
    pa.duration("us").id: (_durations, True),
    pa.list_(pa.null()).id: (_lists, False),
    pa.large_list(pa.null()).id: (_lists, False),
    pa.list_(pa.null(), 1).id: (_lists, False),
    pa.map_(pa.int8(), pa.int8()).id: (_maps, False),
    pa.struct([]).id: (_structs, False),
}
"""By Arrow's type: what makes texts of a column, and whether these are quoted."""
