"""What a partition value made by a transform says of the column that it was made from.

Truncations and times say between which values the file's are; a bucket says which values aren't in
it; any of them says whether the file's rows are NULL. Values are as `ColumnStatistics` keeps them.
Nothing is said where a writer's arithmetic may have gone round.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from accelerator.iceberg.tables.metadata import TableMetadata
from indexes import arrow_compute as pc
from indexes.bounds import Flags, Numbers, flags
from rewrite.types import decimal_parts

_UNITS = {
    "year": ("M8[Y]", 100_000),
    "month": ("M8[M]", 1_200_000),
    "day": ("M8[D]", 36_000_000),
    "hour": ("M8[h]", 864_000_000),
}
"""Unit, and how far from 1970 a value is believed."""
_TEXT = re.compile(r"(identity|year|month|day|hour|bucket|truncate)(?:\[(\d+)\])?")
_TYPES_OF_TIMES = {"date": "M8[D]", "timestamp": "M8[us]", "timestamp_ntz": "M8[us]"}
_LARGEST = {"int": 2**31 - 1, "bigint": 2**63 - 1}
_BEHIND = b"\xff"
"""Behind every text that begins like what it's put after."""


class Transform(Struct, frozen=True):
    """`identity`, `bucket`, `truncate`, `year`, `month`, `day` or `hour`; some have a width."""

    kind: str
    width: int = 0


class SpecField(Struct, frozen=True):
    """A field of a partition spec: how it's made, and its id."""

    transform: Transform
    field_id: int


Transforms = Mapping[int, Mapping[int, Sequence[SpecField]]]
"""By spec and table field, the partition's fields that are made from it; void ones say nothing."""


class Derived(Struct, frozen=True):
    """Partition values by one transform; `given`: of which files, null where all rows are NULL."""

    transform: Transform
    given: Flags
    values: pa.Array


class ValueRange(Struct, frozen=True):
    """Between which values a file's are; null where that isn't known."""

    lower: pa.Array
    upper: pa.Array


def transforms_of(metadata: TableMetadata) -> Transforms:
    """The fields of every spec of the table."""
    found: dict[int, dict[int, list[SpecField]]] = {}
    for spec in metadata.specs().values():
        by_source = found.setdefault(spec.spec_id, {})
        for field in spec.fields:
            known = _parsed(field.transform)
            if known is not None:
                by_source.setdefault(field.source_id, []).append(SpecField(known, field.field_id))
    return found


def _parsed(transform: str) -> Transform | None:
    found = _TEXT.fullmatch(transform)
    return None if found is None else Transform(found[1], int(found[2] or 0))


def range_of(derived: Derived, type_: str) -> ValueRange | None:
    """Where the values of a column of that Spark type are; None where nothing is said."""
    transform, values = derived.transform, derived.values
    if transform.kind in _UNITS and type_ in _TYPES_OF_TIMES:
        return _times(transform.kind, values, type_)
    if transform.kind == "truncate" and type_ == "string":
        return _texts(values, transform.width)
    if transform.kind == "truncate" and (type_ in _LARGEST or decimal_parts(type_) is not None):
        return _numbers(values, transform.width, type_)
    if transform.kind == "identity":
        # NaN is no bound.
        known = pc.invert(pc.is_nan(values)) if pa.types.is_floating(values.type) else None
        plain = values if known is None else pc.if_else(known, values, None)
        return ValueRange(plain, plain)
    return None


def _times(kind: str, values: pa.Array, type_: str) -> ValueRange:
    unit, limit = _UNITS[kind]
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    believed = flags(values.is_valid()) & (np.abs(numbers) < limit)
    numbers = np.where(believed, numbers, 0)
    own = _TYPES_OF_TIMES[type_]
    # Old writers rounded times before 1970 up, so a value may hold those of the one before it.
    rounded = (numbers <= 0) & (unit != own)
    first = np.where(rounded, numbers - 1, numbers)
    lower, upper = (_starts(n, unit, own) for n in (first, numbers + 1))
    mask = ~believed
    return ValueRange(pa.array(lower, mask=mask), pa.array(upper - 1, mask=mask))


def _starts(numbers: Numbers, unit: str, own: str) -> Numbers:
    """Where so many years, months, days or hours after 1970 start."""
    starts: Numbers = numbers.astype(unit).astype(own).astype(np.int64)
    return starts


def _numbers(values: pa.Array, width: int, type_: str) -> ValueRange:
    lower = pc.if_else(_is_certain(values, width, type_), values, pa.scalar(None, pa.int64()))
    return ValueRange(lower, pc.add(lower, width - 1))


def _is_certain(values: pa.Array, width: int, type_: str) -> pa.BooleanArray:
    """Of truncated numbers: below the smallest one the arithmetic goes round to the largest."""
    return pc.less_equal(values, _LARGEST.get(type_, 2**63 - 1) - width)


def may_have_wrapped(derived: Derived, type_: str) -> bool:
    """Whether the least numbers may be among those truncated to some of the largest."""
    if type_ not in _LARGEST:
        return False
    certain = pc.fill_null(_is_certain(derived.values, derived.transform.width, type_), True)
    return bool((derived.given & ~flags(certain)).any())


def _texts(values: pa.Array, width: int) -> ValueRange:
    cut = pc.equal(pc.utf8_length(values.cast(pa.string())), width)
    behind = pc.binary_join_element_wise(values, pa.scalar(_BEHIND), pa.scalar(b""))
    return ValueRange(values, pc.if_else(cut, behind, values))


@lru_cache(maxsize=4096)
def bucket_of(value: int | bytes, type_: str, buckets: int) -> int:
    """The bucket of a value of that Spark type, as bounds have it."""
    from pyiceberg.transforms import BucketTransform  # slow to import, and rarely needed
    from pyiceberg.types import DecimalType, LongType, StringType

    transform: Any = BucketTransform(buckets)
    if isinstance(value, bytes):
        return int(transform.transform(StringType())(value.decode()))
    parts = decimal_parts(type_)
    if parts is not None:
        decimal = Decimal(value).scaleb(-parts[1])
        return int(transform.transform(DecimalType(*parts))(decimal))
    return int(transform.transform(LongType())(value))


def bucketed(type_: str) -> bool:
    """Whether `bucket_of` knows the type."""
    return type_ in (*_LARGEST, *_TYPES_OF_TIMES, "string") or decimal_parts(type_) is not None


def buckets_of(derived: Derived) -> npt.NDArray[np.int32]:
    """The bucket of each file's rows, -1 where it isn't known."""
    found: npt.NDArray[np.int32] = (
        pc.fill_null(derived.values, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    )
    return found
