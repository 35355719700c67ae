"""Counts and bounds of a snapshot's data files as columns, one set for each table column.

A value that the partition spec fixes (an identity transform of the file's own spec) replaces the
file's bounds: readers take it from the manifest, so it is what every row of the file has.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.transforms import IdentityTransform

from accelerator.iceberg.files import LiveFile
from indexes.bounds import UNKNOWN, ColumnBounds
from rewrite.types import decimal_parts

if TYPE_CHECKING:
    from accelerator.iceberg.lake import PinnedTable

Numbers = npt.NDArray[np.int64]

_DIGITS_MAX = 18
_WHOLE = {"int": (4,), "bigint": (4, 8), "date": (4,), "timestamp": (8,), "timestamp_ntz": (8,)}
"""Widths of a bound in bytes; an int's is four after the column became a bigint, too."""
_FLOATING = {"float": (4,), "double": (4, 8)}
_ORDERED = frozenset({*_WHOLE, *_FLOATING, "string"})


@dataclass(frozen=True)
class ColumnStatistics:
    """One column of the snapshot's files.

    `bounds` are int64 for whole numbers, dates (days), timestamps (microseconds) and decimals of up
    to 18 digits (unscaled), float64, or binary for texts; of other types only counts are told.
    `tight`: whether a bound of the file, where it is known, is a value of it. `fixed`: the file's
    rows all have the value that is both bounds, or all are NULL. `contradicts`: some file's bounds
    don't hold the value that its partition fixes.
    """

    bounds: ColumnBounds
    tight: npt.NDArray[np.bool_]
    fixed: npt.NDArray[np.bool_]
    contradicts: bool


class FileStatistics:
    """The statistics of a pinned table's live files, in their order; columns made when asked for.

    Threads may share it.
    """

    def __init__(self, pinned: PinnedTable) -> None:
        self.files: Sequence[LiveFile] = pinned.live_files()
        self._specs = pinned.metadata.specs()
        self._columns: dict[tuple[int, str], ColumnStatistics] = {}
        self._lock = threading.Lock()
        self.rows: Numbers = np.array([f.record_count for f in self.files], dtype=np.int64)

    def column(self, field_id: int, type_: str) -> ColumnStatistics:
        """The column of that Spark type."""
        key = (field_id, type_)
        with self._lock:
            if key not in self._columns:
                self._columns[key] = self._made(field_id, type_)
            return self._columns[key]

    def _made(self, field_id: int, type_: str) -> ColumnStatistics:
        arrow, files = _arrow_type(type_), self.files
        lower = _decoded([f.lower.get(field_id) for f in files], type_, arrow)
        upper = _decoded([f.upper.get(field_id) for f in files], type_, arrow)
        values = _counts([f.value_counts.get(field_id) for f in files])
        nulls = _counts([f.null_counts.get(field_id) for f in files])
        nans = _counts([f.nan_counts.get(field_id) for f in files])
        # What doesn't count the file's rows says nothing of them.
        sound = values == self.rows
        nulls = np.where(sound, nulls, UNKNOWN)
        places = [self._place(f.spec_id, field_id) for f in files]
        given = np.array([place is not None for place in places], dtype=bool)
        contradicts = False
        if type_ in _FLOATING or not _ordered(type_):
            # NaN and -0.0 as a partition's value, and types without bounds: nothing is claimed.
            lower = pc.if_else(pa.array(given), pa.scalar(None, arrow), lower)
            given = np.zeros(len(files), dtype=bool)
        elif given.any():
            constants = [
                None if place is None else _physical(file.partition[place], type_)
                for file, place in zip(files, places, strict=True)
            ]
            constant = pa.array(constants, arrow)
            is_null = constant.is_null().to_numpy(zero_copy_only=False)
            outside = pc.or_kleene(pc.less(constant, lower), pc.greater(constant, upper))
            valued = _flags(pc.or_(lower.is_valid(), upper.is_valid()))
            contradicts = bool((given & (_flags(outside) | (is_null & valued))).any())
            mask = pa.array(given)
            lower = pc.if_else(mask, constant, lower)
            upper = pc.if_else(mask, constant, upper)
            nulls = np.where(given, np.where(is_null, self.rows, 0), nulls)
            nans = np.where(given, 0, nans)
        bounds = ColumnBounds(lower, upper, self.rows, nulls, nans, type_ in _FLOATING)
        exact = type_ not in (*_FLOATING, "string")
        tight = given | np.full(len(files), exact)
        same = bounds.bounded & _flags(pc.equal(lower, upper)) & bounds.never_null
        fixed = given | bounds.always_null | (same & tight)
        return ColumnStatistics(bounds, tight, fixed, contradicts)

    def _place(self, spec_id: int, field_id: int) -> int | None:
        """Where in the partition the column's own value stands."""
        for place, field in enumerate(self._specs[spec_id].fields):
            if field.source_id == field_id and isinstance(field.transform, IdentityTransform):
                return place
        return None


def _ordered(type_: str) -> bool:
    """Whether bounds and partition values of the type are told."""
    parts = decimal_parts(type_)
    return type_ in _ORDERED or (parts is not None and parts[0] <= _DIGITS_MAX)


def _arrow_type(type_: str) -> pa.DataType:
    if type_ in _FLOATING:
        return pa.float64()
    return pa.binary() if type_ == "string" else pa.int64()


def _decoded(values: list[bytes | None], type_: str, arrow: pa.DataType) -> pa.Array:
    """Iceberg's single values as numbers; null for a width that the type doesn't have."""
    binary = pa.array(values, pa.binary())
    if type_ == "string":
        return binary
    if decimal_parts(type_) is not None:
        return _big_endian(binary) if _ordered(type_) else pa.nulls(len(values), arrow)
    result = pa.nulls(len(values), arrow)
    lengths = pc.binary_length(binary)
    for width in (*_WHOLE.get(type_, ()), *_FLOATING.get(type_, ())):
        chosen = pc.fill_null(pc.equal(lengths, width), False)
        kind = {4: "<i4", 8: "<i8"}[width] if type_ in _WHOLE else {4: "<f4", 8: "<f8"}[width]
        joined = b"".join([v for v in values if v is not None and len(v) == width])
        numbers = np.frombuffer(joined, dtype=kind)
        result = pc.replace_with_mask(result, chosen, pa.array(numbers, arrow))
    return result


def _big_endian(binary: pa.Array) -> pa.Array:
    """Two's complement numbers of up to 8 bytes, the most significant byte first."""
    numbers = [
        int.from_bytes(v, "big", signed=True) if v is not None and 0 < len(v) <= 8 else None
        for v in binary.to_pylist()
    ]
    return pa.array(numbers, pa.int64())


def _counts(values: list[int | None]) -> Numbers:
    return np.array([UNKNOWN if v is None else v for v in values], dtype=np.int64)


def _physical(value: Any, type_: str) -> Any:
    """A partition's value as the bounds hold it."""
    if isinstance(value, Decimal):
        parts = decimal_parts(type_) or (0, 0)
        return int(value.scaleb(parts[1]))
    return value.encode() if isinstance(value, str) else value


def _flags(found: pa.Array) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return flags
