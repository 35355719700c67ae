"""Sidecars, whole: a Puffin file of heavy blobs of each kind, with what the store says of them.

They are asked as `HeavyIndex.rows` asks them, and those of BITMAP are made cells of as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from accelerator.artifacts.sidecars import records
from accelerator.artifacts.sidecars.probe import UNREADABLE
from accelerator.services.statistics.read import content
from accelerator.store import CoveredFile, SegmentRecord
from fuzz.bytes.formats.columns import Sampled, blobs, few, floats, numbers, reading, texts
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from fuzz.bytes.seals import keyed_sealed
from indexes import puffin
from indexes.inverted.cells import ColumnCells, cells_of
from indexes.kinds import KINDS
from indexes.puffin import PuffinBlob, footer_of, within, written
from indexes.question import Question
from indexes.row_verdict import Between, RowVerdict

_BELIEVED = ("indexes.inverted.keyed", "indexes.bloom.block_filters")


def sidecar_record(facts: Any, type_: str, rows: int) -> SegmentRecord:
    """The record of a sidecar; `facts` as the store has them."""
    if not isinstance(facts, dict):
        raise ValueError("the store makes an object of facts, or says that they're damaged")
    file = CoveredFile("file:///w/1.parquet", 1, "", rows, 4096)
    return SegmentRecord(
        1,
        "i" * 32,
        "file:///w/1.puffin",
        rows,
        1,
        (file,),
        fields=(("t" * 32, 3, type_, False),),
        settings=(("part", records.SIDECAR),),
        facts=facts,
    )


def _sample(sampled: Sampled, kind: str, **options: Any) -> Input:
    heavy = [one for one in blobs(sampled, kind, **options) if not one.light]
    assert heavy, f"{kind} has no heavy blob of the sample"
    data, places = puffin.write_sidecar([(one, 3) for one in heavy], sampled.column.rows)
    told = [
        {
            "type": one.type,
            "properties": dict(one.properties),
            "offset": place.offset,
            "length": place.length,
        }
        for one, place in zip(heavy, places, strict=True)
    ]
    facts = {records.SIDECAR: {"row_groups": list(sampled.column.row_groups), "blobs": told}}
    return Input(data, facts, (kind, sampled))


def _steps(given: Input) -> Iterable[Step]:
    kind, sampled = given.context
    for question in sampled.questions:
        yield partial(_rows, given, kind, sampled, question)
    if kind == "BITMAP":
        yield partial(_cells, given, sampled, None)
        yield partial(_cells, given, sampled, BitMap(range(3, sampled.column.rows, 3)))


def _rows(given: Input, kind: str, sampled: Sampled, question: Question) -> Any:
    """As `HeavyIndex.rows` and `RowSelection` ask."""
    read = reading(given.data)
    record = sidecar_record(given.facts, sampled.column.type, sampled.column.rows)
    found: RowVerdict | None = None
    for one in records.heavy_of(record):
        told = KINDS[kind].probe(one.blob, within(read, one.place), question, one.column)
        if told is not None:
            found = told if found is None else found.also(told)
    if found is None or found.rows != sampled.column.rows:
        return None
    return (_checked(found.true, found.rows), _checked(found.false, found.rows))


def _checked(found: Between, rows: int) -> tuple[bytes, bytes]:
    """The sets as bytes; they lie within the file."""
    for one in (found.lower, found.upper):
        if one and one.max() >= rows:
            raise WrongError(f"row {one.max()} of a file of {rows}")
    if len(found.lower) > rows or len(found.upper) > rows:
        raise WrongError("more rows than the file has")
    return found.lower.serialize(), found.upper.serialize()


def _cells(given: Input, sampled: Sampled, chosen: BitMap | None) -> Any:
    """As `IndexAnswers` makes cells of a file."""
    read, rows = reading(given.data), sampled.column.rows
    record = sidecar_record(given.facts, sampled.column.type, rows)
    held: ColumnCells | None = None
    for one in records.heavy_of(record):
        held = held or ColumnCells.open(one.blob, within(read, one.place), one.column)
    if held is None:
        return None
    made = []
    states = [("rows", None), ("count", held)]
    for dimensions, wanted in (([held], states[:1]), ([], [*states, ("min", held), ("max", held)])):
        found = cells_of(dimensions, wanted, rows, chosen)
        if found is None:
            continue
        for array in (*found.keys, *found.states):
            array.validate(full=True)
            if len({len(one) for one in (*found.keys, *found.states)}) != 1:
                raise WrongError("columns of several lengths")
        counts = found.states[0].to_pylist()
        if any(one is None or one < 0 for one in counts) or sum(counts) > rows:
            raise WrongError(f"{sum(counts)} rows counted of {rows}")
        made.append(repr([one.to_pylist() for one in (*found.keys, *found.states)]))
    return tuple(made) or None


def _puffin_steps(given: Input) -> Iterable[Step]:
    def whole() -> Any:
        read = reading(given.data)
        found = footer_of(read, len(given.data))
        return [(one.type, one.fields, one.properties, content(read, one)) for one in found]

    yield whole


def _puffin_samples() -> Sequence[Input]:
    """As statistics are: some blobs are compressed, as other writers do."""
    packed = pa.Codec("zstd").compress(b"sketch" * 99, asbytes=True)
    codecs = {None: b"sketch", "zstd": packed}
    made = [(PuffinBlob("t", (3,), 7, 2, {"ndv": "5"}, codec), codecs[codec]) for codec in codecs]
    return [Input(written(made[:count], {})[0]) for count in (1, 2)]


def _bitmaps() -> Sequence[Input]:
    return [
        _sample(numbers(), "BITMAP", rows="true"),
        _sample(numbers(900, 300), "BITMAP", rows="false", bins=16, block_rows=64),
        _sample(floats(), "BITMAP", rows="true", bins=8),
        _sample(texts(), "BITMAP", rows="true", bins=8, block_rows=64),
        _sample(few(), "BITMAP", rows="true", bins=2),
    ]


def _ngram_bitmaps() -> Sequence[Input]:
    return [
        _sample(texts(), "NGRAM_BITMAP", block_rows=16),
        _sample(texts(5_000, 2), "NGRAM_BITMAP"),
    ]


def _token_bitmaps() -> Sequence[Input]:
    return [
        _sample(texts(), "TOKEN_BITMAP"),
        _sample(texts(2_000), "TOKEN_BITMAP", rows=False, block_rows=64),
        _sample(texts(66_000, 3), "TOKEN_BITMAP"),
    ]


def _ngram_blocks() -> Sequence[Input]:
    return [_sample(texts(), "NGRAM_BLOOM", block_rows=64)]


def _token_blocks() -> Sequence[Input]:
    return [_sample(texts(), "TOKEN_BLOOM", block_rows=64)]


def _sidecars(name: str, samples: Any, *, keyed: bool) -> Format:
    return Format(
        name,
        samples,
        _steps,
        UNREADABLE,
        sealed=True,
        repaired=keyed_sealed if keyed else None,
        believed=_BELIEVED,
    )


FORMATS = (
    _sidecars("sidecar of BITMAP", _bitmaps, keyed=True),
    _sidecars("sidecar of NGRAM_BITMAP", _ngram_bitmaps, keyed=True),
    _sidecars("sidecar of TOKEN_BITMAP", _token_bitmaps, keyed=True),
    _sidecars("sidecar of NGRAM_BLOOM", _ngram_blocks, keyed=False),
    _sidecars("sidecar of TOKEN_BLOOM", _token_blocks, keyed=False),
    Format("Puffin file", _puffin_samples, _puffin_steps, UNREADABLE),
)
