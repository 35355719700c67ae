"""BLOOM: which values a file may hold, for `=` and IN.

One light blob a file, a split-block filter of the hashes of its values; or, where `filter` is
`pybloom` and the file has few distinct values, a filter of pybloom_live. NULLs aren't in it. A file
has no blob where it could skip nothing: a boolean column with both values, or a filter so full that
every second probe would find something. docs/formats/sbbf.md has the bytes.

Building holds one chunk's hashes and the filter for as many values as the file has rows. At the end
that is made smaller: anew from the hashes of the file, as long as they are few enough to be kept
(16 MiB), else by folding, which leaves up to twice the bits asked for.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indexes.bloom.split_block import (
    TYPE,
    WORST_RATE,
    Filter,
    blocks_for,
    false_positive_rate,
    read_filter,
)
from indexes.domains import (
    BYTES,
    FLOAT64,
    INT64,
    NotIndexableError,
    column_properties,
    domain_of,
    keeps_meaning,
)
from indexes.hashing.xxhash64 import HASH, Hashes, hash_of, hashes
from indexes.kind import Blob, Clauses, IndexedColumn, OptionError, Options, options_of
from indexes.question import Among, Question, Value
from indexes.row_verdict import RowVerdict

PYBLOOM_TYPE = "acc-pybloom-v1"
PYBLOOM_VALUES = 1 << 14
"""Distinct values up to which a file gets a filter of pybloom_live: it takes them one by one."""
KEPT_HASHES = 1 << 21
DEFAULTS: Options = {"bits_per_value": 10.5, "filter": "sbbf"}
_LEAST_RATE = 2.0**-64
_PYBLOOM_HEADER = struct.Struct("<dQQQQ")
_TYPES: Mapping[str, type] = {INT64: int, FLOAT64: float, BYTES: bytes}


class Bloom:
    """The kind."""

    name = "BLOOM"

    def options(self, type_: str, given: Options) -> Options:
        """As `Kind.options` says."""
        if domain_of(type_) is None:
            raise NotIndexableError(f"BLOOM takes no column of the type {type_}")
        found = options_of(self.name, given, DEFAULTS)
        if found["filter"] not in ("sbbf", "pybloom"):
            raise OptionError(f"filter is sbbf or pybloom, not {found['filter']}")
        return found

    def builder(self, column: IndexedColumn, options: Options) -> BloomBuilder:
        """To build one file's filter."""
        return BloomBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """One clause, of each value's hash; one of nothing for no value at all."""
        if not isinstance(question, Among):
            return None
        del options  # they change no hash
        domain = domain_of(type_)
        if domain is None or not all(_is_of(value, domain) for value in question.values):
            return None
        return (tuple(hash_of(value) for value in question.values),)

    def probe(self, *_: object) -> RowVerdict | None:
        """It has no heavy blob."""
        return None


class BloomBuilder:
    """Fills one file's filter."""

    def __init__(self, column: IndexedColumn, options: Options) -> None:
        self._column = column
        self._bits = float(options["bits_per_value"])
        self._filter = Filter.of_blocks(blocks_for(column.rows, self._bits))
        self._rows = self._nulls = 0
        self._kept: list[Hashes] | None = []
        # Of pybloom_live's filter alone; None when there is none or no longer one.
        self._few: Hashes | None = None
        if options["filter"] == "pybloom":
            self._few = np.empty(0, dtype=np.uint64)

    def add(self, values: pa.Array) -> None:
        """The values of the next rows, in their domain."""
        self._rows += len(values)
        self._nulls += values.null_count
        found = hashes(values)
        self._filter.add(found)
        if self._kept is not None:
            self._kept.append(found)
            if self._rows > KEPT_HASHES:
                self._kept = None
        if self._few is not None:
            few = np.union1d(self._few, found)
            self._few = few if len(few) <= PYBLOOM_VALUES else None

    def finish(self) -> Sequence[Blob]:
        """One blob, or none."""
        type_ = self._column.type
        if type_ == "boolean" and all(self._filter.may(hash_of(value)) for value in (0, 1)):
            return []
        said = {"hash": HASH, **column_properties(type_, self._rows, self._nulls)}
        if self._few is not None:
            said["ndv"] = str(len(self._few))
            return [Blob(PYBLOOM_TYPE, _pybloom_bytes(self._few, self._bits), True, said)]
        distinct = min(self._filter.distinct, self._rows - self._nulls)
        found = self._smaller(distinct)
        if false_positive_rate(distinct, found.blocks) > WORST_RATE:
            return []
        said |= {"z": str(found.blocks), "ndv": str(round(distinct))}
        return [Blob(TYPE, found.to_bytes(), True, said)]

    def _smaller(self, distinct: float) -> Filter:
        """The filter, with no more bits for each value than were asked for."""
        if self._kept is None:
            return self._filter.fitted(self._bits)
        blocks = blocks_for(distinct, self._bits)
        if blocks == self._filter.blocks:
            return self._filter
        found = Filter.of_blocks(blocks)
        for kept in self._kept:
            found.add(kept)
        return found


def fits(properties: Mapping[str, str], type_: str) -> bool:
    """Whether a blob made of a column of one type answers for it now that it has another."""
    return "type" in properties and keeps_meaning(properties["type"], type_)


def answers(blob: Blob, clauses: Clauses) -> bool:
    """Whether the file of one light blob of either type may hold a match; ValueError as it says."""
    if blob.type != PYBLOOM_TYPE:
        return read_filter(blob).answers(clauses)
    found = read_pybloom(blob)
    return all(any(value in found for value in clause) for clause in clauses)


def read_pybloom(blob: Blob) -> Any:
    """The `pybloom_live.BloomFilter` in a blob; its keys are hashes. ValueError if it isn't one."""
    import pybloom_live

    data, header = blob.data, _PYBLOOM_HEADER
    if blob.type != PYBLOOM_TYPE or blob.properties.get("hash") != HASH:
        raise ValueError(f"no filter that can be read: {blob.type}")
    if len(data) < header.size:
        raise ValueError(f"a filter of pybloom_live of {len(data)} bytes")
    rate, slices, width, _, _ = header.unpack_from(data)
    if not _LEAST_RATE <= rate < 1 or slices != math.ceil(math.log2(1 / rate)):
        raise ValueError(f"a filter of pybloom_live of {slices} slices for a rate of {rate}")
    if not width or len(data) - header.size != -(-slices * width // 8):
        raise ValueError(f"a filter of pybloom_live of {len(data)} bytes for {slices}·{width} bits")
    return pybloom_live.BloomFilter.fromfile(io.BytesIO(data))


def _pybloom_bytes(values: Hashes, bits_per_value: float) -> bytes:
    import pybloom_live

    rate = math.exp(-bits_per_value * math.log(2) ** 2)
    found = pybloom_live.BloomFilter(max(len(values), 1), rate)
    for value in values.tolist():
        found.add(value, skip_check=True)
    target = io.BytesIO()
    found.tofile(target)
    return target.getvalue()


def _is_of(value: Value, domain: str) -> bool:
    if domain == INT64 and isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return isinstance(value, _TYPES[domain])


BLOOM = Bloom()
