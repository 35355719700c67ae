"""What filters get wrong: values that they let through though they aren't there, never the reverse.

No table and no Spark: the kinds' own builders and probes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from bench import range_filters
from bench.log_lines import messages
from bench.made_table import hex_texts, mixed
from bench.report import Report
from bench.steps import Steps
from indexes.bloom.split_block import TYPE, false_positive_rate, read_filter
from indexes.domains import to_domain
from indexes.hashing.xxhash64 import hashes
from indexes.kind import Blob, Clauses, IndexedColumn, Kind, Options
from indexes.kinds import KINDS
from indexes.question import Among, Like, Question

_PROBES = 4_000_000
_PRESENT = 10_000_000
_PART = 1_000_000
_SIZES = (20_000, 500_000, 3_000_000)
_BITS = (10.5, 20.0)
_ONE_BY_ONE = 2_000
_GROUPS = 4
_NDV = 1_000


def measure(scale: float, steps: Steps, report: Report) -> None:
    """Rates of filters over theory, the worst; and false negatives over all kinds."""
    with steps.step("Probe Bloom filters for values that they don't hold"):
        sizes = [max(2_000, round(size * scale)) for size in _SIZES]
        rates = [_rate(size, bits, scale) for size in sizes for bits in _BITS]
        report.figures["bloom_fpr_over_theory"] = max(one["over_theory"] for one in rates)
        report.details["bloom_fpr"] = rates
    if "RANGE" in KINDS:
        with steps.step("Probe range filters for ranges that hold nothing"):
            found = range_filters.rates(scale)
            report.figures["range_fpr_worst"] = found["worst"]
            report.details["range_fpr"] = found
            report.details["probe_range"] = range_filters.probe_ms(scale)
    with steps.step("Probe every kind for values that it holds"):
        told = [_bloom(scale)]
        if "RANGE" in KINDS:
            told.append(range_filters.lost(scale))
        told += [one(KINDS[name], scale) for name, one in _HEAVY.items() if name in KINDS]
        report.figures["false_negatives"] = sum(one["lost"] for one in told)
        report.details["false_negatives"] = told
    report.save()


def _rate(size: int, bits: float, scale: float) -> dict[str, Any]:
    """Over several filters where they are small: each has a rate of its own."""
    kind = KINDS["BLOOM"]
    options = kind.options("bigint", {"bits_per_value": bits})
    filters = max(1, round(_PART * scale) // size)
    probes = round(_PROBES * scale) // filters
    kept, theory, blocks = 0, 0.0, 0
    for number in range(filters):
        first = number * (size + probes)
        (blob,) = _blobs(kind, "bigint", options, _numbers(first, size))
        found = read_filter(blob)
        kept += int(found.may_all(hashes(_numbers(first + size, probes))).sum())
        theory += false_positive_rate(size, found.blocks) / filters
        blocks += found.blocks
    rate = kept / (probes * filters)
    return {
        "values": size,
        "filters": filters,
        "asked_bits": bits,
        "bits": 256 * blocks / (size * filters),
        "probes": probes * filters,
        "rate": rate,
        "theory": theory,
        "over_theory": rate / theory,
    }


def _bloom(scale: float) -> dict[str, Any]:
    """Every value that was added, by all its bits; some also by a question."""
    kind, rows = KINDS["BLOOM"], round(_PRESENT * scale / 5)
    lost = probes = 0
    made = {
        "bigint": _numbers(0, 2 * rows),
        "double": pa.array(np.random.default_rng(1).standard_normal(rows)),
        "string": hex_texts(mixed(np.arange(2 * rows, dtype=np.uint64))),
    }
    for type_, values in made.items():
        options = kind.options(type_, {})
        held = to_domain(values, type_)
        (blob,) = _blobs(kind, type_, options, held)
        found = read_filter(blob)
        may = found.may_all(hashes(held))
        few = held.slice(0, _ONE_BY_ONE).to_pylist()
        told = (kind.asked(Among((value,)), type_, options) for value in few)
        asked = (cast(Clauses | None, one) for one in told)
        lost += int((~may).sum()) + sum(one is None or not found.answers(one) for one in asked)
        probes += len(may) + len(few)
    return {"kind": "BLOOM", "probes": probes, "lost": lost}


@dataclass(frozen=True, slots=True)
class Built:
    """One file's index of a kind, as a statement would ask it."""

    kind: Kind
    options: Options
    column: IndexedColumn
    blobs: Sequence[Blob]

    def lost(self, question: Question, rows: BitMap) -> int:
        """How many of the rows, which hold a match, would be left out."""
        light = (read_filter(b) for b in self.blobs if b.light and b.type == TYPE)
        clauses = self.kind.asked(question, self.column.type, self.options)
        if clauses is not None and any(not one.answers(cast(Clauses, clauses)) for one in light):
            return len(rows)
        left = rows
        for blob in self.blobs:
            if not blob.light:
                told = self.kind.probe(blob, _reader(blob), question, self.column)
                left = left if told is None else left & told.true.upper
        return len(rows) - len(left)


def _reader(blob: Blob) -> Any:
    return lambda offset, length: blob.data[offset : offset + length]


def _bitmap(kind: Kind, scale: float) -> dict[str, Any]:
    """Every value of a column of few, by all its rows."""
    values = np.random.default_rng(2).integers(0, _NDV, round(_PRESENT * scale / 5))
    built = built_of(kind, "bigint", pa.array(values))
    order = np.argsort(values, kind="stable").astype(np.uint32)
    ends = np.searchsorted(values[order], np.arange(_NDV + 1))
    lost = sum(
        built.lost(Among((value,)), BitMap(order[ends[value] : ends[value + 1]].tolist()))
        for value in range(_NDV)
    )
    return {"kind": kind.name, "probes": len(values), "lost": lost}


def _ngram(kind: Kind, scale: float) -> dict[str, Any]:
    """Pieces of messages, by the rows that they were cut out of."""
    texts = messages(np.random.default_rng(3), max(1_000, round(100_000 * scale)))
    built = built_of(kind, "string", texts)
    pieces = list(_pieces(texts))
    lost = sum(built.lost(Like((piece,)), BitMap([row])) for row, piece in pieces)
    return {"kind": kind.name, "probes": len(pieces), "lost": lost}


def _pieces(texts: pa.Array) -> Iterator[tuple[int, str]]:
    random = np.random.default_rng(4)
    for row in random.integers(0, len(texts), _ONE_BY_ONE).tolist():
        text = texts[row].as_py()
        begin = int(random.integers(0, len(text) - 8))
        yield row, text[begin : begin + int(random.integers(1, 24))]


_HEAVY = {"BITMAP": _bitmap, "NGRAM_BLOOM": _ngram}


def built_of(kind: Kind, type_: str, values: pa.Array) -> Built:
    options = kind.options(type_, {})
    held = to_domain(values, type_)
    each = -(-len(held) // _GROUPS)
    groups = tuple(len(held.slice(at, each)) for at in range(0, len(held), each))
    column = IndexedColumn(type_, groups)
    return Built(kind, options, column, _blobs(kind, type_, options, held, groups))


def _blobs(
    kind: Kind, type_: str, options: Options, held: pa.Array, groups: tuple[int, ...] = ()
) -> Sequence[Blob]:
    builder = kind.builder(IndexedColumn(type_, groups or (len(held),)), options)
    begin = 0
    for rows in groups or (len(held),):
        builder.add(held.slice(begin, rows))
        begin += rows
    return builder.finish()


def _numbers(first: int, count: int) -> pa.Array:
    numbers = mixed(np.arange(first, first + count, dtype=np.uint64))
    return pa.array(numbers.view(np.int64))
