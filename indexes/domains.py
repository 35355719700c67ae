"""Values as indexes keep them: every type becomes one of three domains, and stays in it.

A column may be promoted later (int → bigint, float → double, a decimal of more digits): its values
keep their domain and their form in it, so that what was built before still answers.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

INT64, FLOAT64, BYTES = "int64", "float64", "bytes"
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_DOMAINS = {
    **dict.fromkeys(("boolean", "tinyint", "smallint", "int", "bigint"), INT64),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), INT64),
    **dict.fromkeys(("float", "double"), FLOAT64),
    **dict.fromkeys(("string", "binary"), BYTES),
}


_ARROW = {INT64: pa.int64(), FLOAT64: pa.float64(), BYTES: pa.large_binary()}

Key = int | bytes
"""A value in its domain, as dictionaries keep it."""


class NotIndexableError(ValueError):
    """Values that a domain doesn't hold; such a file gets no index, and so nothing is skipped."""


def domain_of(type_: str) -> str | None:
    """The domain of a Spark type; None for types that no index takes."""
    return INT64 if _DECIMAL.fullmatch(type_) else _DOMAINS.get(type_)


def scale_of(type_: str) -> int:
    """Digits behind a decimal's point, which no promotion changes; 0 for other types."""
    found = _DECIMAL.fullmatch(type_)
    return int(found.group(2)) if found else 0


def keeps_meaning(built: str, now: str) -> bool:
    """Whether values of one type mean the same under the other: one domain, scale and unit.

    A promotion changes none of them, but for that of a date to a timestamp.

    >>> [keeps_meaning("int", "bigint"), keeps_meaning("date", "timestamp_ntz")]
    [True, False]
    """
    same = domain_of(built) == domain_of(now) and scale_of(built) == scale_of(now)
    return same and _unit(built) == _unit(now)


def _unit(type_: str) -> str:
    return {"date": "day", "timestamp": "us", "timestamp_ntz": "us"}.get(type_, "")


def to_domain(values: pa.Array, type_: str) -> pa.Array:
    """The values, of a file's own type or the table's, as `int64`, `float64` or `large_binary`.

    Values of Arrow's null type are NULLs of any.
    NULLs stay. Floats: −0.0 becomes 0.0, every NaN one NaN. Raises `NotIndexableError` for decimals
    beyond 64 bits, and for timestamps finer than microseconds.
    """
    domain = domain_of(type_)
    if domain is None:
        raise NotIndexableError(f"the type {type_}")
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), _ARROW[domain])
    if domain == BYTES:
        return values.cast(pa.large_binary())
    if domain == FLOAT64:
        plain = values.cast(pa.float64())
        with np.errstate(invalid="ignore"):  # NaNs that signal
            numbers = plain.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
        return pa.array(numbers, mask=_nulls(plain))
    stored = values.type
    if pa.types.is_decimal(stored):
        return _unscaled(values, scale_of(type_))
    if pa.types.is_timestamp(stored):
        if stored.unit != "us":
            raise NotIndexableError(f"timestamps of {stored.unit}")
        return values.cast(pa.int64())
    if pa.types.is_date32(stored):
        return values.cast(pa.int32()).cast(pa.int64())
    return values.cast(pa.int64())


def _nulls(values: pa.Array) -> np.ndarray | None:
    return values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None


def _unscaled(values: pa.Array, scale: int) -> pa.Array:
    """Decimals of that scale as whole numbers."""
    if values.type.scale != scale:
        raise NotIndexableError(f"decimals of scale {values.type.scale}")
    wide = values.cast(pa.decimal128(38, scale)) if values.type.byte_width != 16 else values
    words = np.frombuffer(wide.buffers()[1], dtype="<i8").reshape(-1, 2)
    words = words[wide.offset : wide.offset + len(wide)]
    nulls = _nulls(wide)
    fits = words[:, 1] == words[:, 0] >> 63
    if not (fits if nulls is None else fits | nulls).all():
        raise NotIndexableError("decimals of more than 64 bits")
    return pa.array(words[:, 0].copy(), mask=nulls)


def is_nan(values: pa.Array) -> pa.Array:
    """Which values are NaN; NULL is none."""
    return pc.fill_null(pc.is_nan(values), False)


def column_properties(type_: str, rows: int, nulls: int) -> dict[str, str]:
    """Describes the column of a data file, as blobs of most kinds do."""
    return {
        "domain": str(domain_of(type_)),
        "scale": str(scale_of(type_)),
        "type": type_,
        "rows": str(rows),
        "nulls": str(nulls),
    }
