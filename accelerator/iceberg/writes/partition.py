"""Rows by the partitions that a table's spec puts them into.

Values are transformed by PyIceberg's own functions, once for each distinct one; of times the hours
stand for them, since no transform looks closer. Promises: each row is in one part; rows keep their
order within one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.partitioning import (
    PartitionField,
    PartitionKey,
    PartitionSpec,
    partition_record_value,
)
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
    VoidTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    TimestampType,
    TimestamptzType,
)

Codes = npt.NDArray[np.int64]
_HOUR_US = 3_600_000_000


class TooManyPartitionsError(ValueError):
    """The rows are of more partitions than are written at once."""


class NoPartitionError(ValueError):
    """A value is of a partition whose own value its type can't hold; it names the column."""


@dataclass(frozen=True)
class _Key(PartitionKey):
    """A partition whose values are known as Iceberg has them."""

    record: Record = field(default_factory=Record)

    @property
    def partition(self) -> Record:
        """See `PartitionKey`, which can't have two fields over one column."""
        return self.record


def partitioned(
    spec: PartitionSpec, schema: Schema, rows: pa.Table, most: int
) -> Iterator[tuple[PartitionKey, pa.Table]]:
    """Each partition with its rows, which have the schema's columns.

    TooManyPartitionsError for more than `most`, NoPartitionError for a value that has none,
    NotImplementedError for a spec that isn't computed here.
    """
    coded = [_coded(one, schema, rows) for one in spec.fields]
    codes = np.zeros(len(rows), np.int64)
    for known, own in coded:
        codes = np.unique(codes * len(known) + own, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    begins = np.unique(codes[order], return_index=True)[1]
    if len(begins) > most:
        raise TooManyPartitionsError(len(begins))
    for begin, end in zip(begins, [*begins, len(order)][1:], strict=True):
        record = Record(*(known[own[order[begin]]] for known, own in coded))
        key = _Key(field_values=[], partition_spec=spec, schema=schema, record=record)
        yield key, rows.take(pa.array(order[begin:end]))


def _coded(one: PartitionField, schema: Schema, rows: pa.Table) -> tuple[list[Any], Codes]:
    """The partition field's distinct values as Iceberg has them, and each row's by its place."""
    try:
        source = schema.find_field(one.source_id)
    except ValueError:  # PyIceberg leaves the field out, and puts the next one's values under it
        raise NotImplementedError(
            f"it's partitioned by {one.name}, whose column was dropped"
        ) from None
    if isinstance(one.transform, VoidTransform):
        return [None], np.zeros(len(rows), np.int64)
    if source not in schema.fields:
        raise NotImplementedError(f"it's partitioned by {source.name}, which is within a column")
    if isinstance(source.field_type, (FloatType, DoubleType)):
        raise NotImplementedError(f"it's partitioned by {source.name}, whose values are floating")
    array = _plain(rows.column(source.name).combine_chunks(), source.field_type)
    is_time = isinstance(source.field_type, (TimestampType, TimestamptzType))
    if is_time and not isinstance(one.transform, (IdentityTransform, BucketTransform)):
        hours = array.fill_null(0).to_numpy(zero_copy_only=False) // _HOUR_US * _HOUR_US
        array = pa.array(hours, pa.int64(), mask=array.is_null().to_numpy(zero_copy_only=False))
    encoded = array.dictionary_encode(null_encoding="encode")
    if isinstance(one.transform, IdentityTransform):
        transformed = [
            None if value is None else partition_record_value(one, value, schema)
            for value in encoded.dictionary.to_pylist()
        ]
    else:
        transform = one.transform.transform(source.field_type)
        transformed = [transform(value) for value in encoded.dictionary.to_pylist()]
        if isinstance(one.transform, TruncateTransform):
            _check_truncated(source, transformed)
    places: dict[Any, int] = {}
    mapped = [places.setdefault(value, len(places)) for value in transformed]
    own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return list(places), np.array(mapped, np.int64)[own] if mapped else own


def _check_truncated(source: NestedField, found: list[Any]) -> None:
    """NoPartitionError for a number below all of its type's: no two engines agree on it."""
    type_ = source.field_type
    if isinstance(type_, (IntegerType, LongType)):
        least: int | Decimal = -(2**31) if isinstance(type_, IntegerType) else -(2**63)
    elif isinstance(type_, DecimalType):
        least = Decimal((1, (9,) * type_.precision, -type_.scale))
    else:
        return
    if any(value is not None and value < least for value in found):
        raise NoPartitionError(source.name)


def _plain(array: pa.Array, type_: object) -> pa.Array:
    """Dates and times as numbers, as Iceberg has them: not all of them are Python's."""
    if isinstance(array, pa.ExtensionArray):  # a uuid
        return array.storage
    if isinstance(type_, (TimestampType, TimestamptzType)):
        return array.cast(pa.int64())
    if isinstance(type_, DateType):
        return array.cast(pa.int32())
    return array
