"""Bundles, whole: a Puffin file of light blobs of many files, with what the store says of it.

They are asked as `LightIndex` asks them, and taken apart as a build does that merges bundles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from accelerator.artifacts.sidecars import bundle, records
from accelerator.artifacts.sidecars.bundle import BoundsTable, BundlePiece, Single
from accelerator.artifacts.sidecars.probe import UNREADABLE
from accelerator.store import CoveredFile, SegmentRecord
from accelerator.store.records import BUNDLE
from fuzz.bytes.formats.columns import Sampled, names, numbers, reading, scattered, texts
from fuzz.bytes.formats.light import light
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from indexes import puffin
from indexes.kind import Blob
from indexes.kinds import KINDS

_BELIEVED = (
    "accelerator.artifacts.sidecars.bundle",
    "indexes.range.bundle",
    "indexes.range.filters",
)


def bundle_record(facts: Any, files: int) -> SegmentRecord:
    """The record of a bundle of so many files; `facts` as the store has them."""
    if not isinstance(facts, dict):
        raise ValueError("the store makes an object of facts, or says that they're damaged")
    covered = tuple(CoveredFile(f"file:///w/{n}.parquet", n, "", 100, 4096) for n in range(files))
    return SegmentRecord(
        1,
        "i" * 32,
        "file:///w/bundle.puffin",
        100 * files,
        1,
        covered,
        fields=(("t" * 32, 3, "bigint", False),),
        settings=(("part", BUNDLE),),
        facts=facts,
    )


def _sample(kind: str, made: Sequence[Sampled], several: Sequence[dict[str, Any]]) -> Input:
    """A bundle of the columns' light blobs, each with the next options."""
    own = [[light(one, kind, **several[number % len(several)])] for number, one in enumerate(made)]
    found: list[list[Blob]] = [*own[:2], [], *own[2:]]
    drafts = bundle.drafts(found)
    places: list[tuple[int, int] | None] = [None] * len(found)
    for number, draft in enumerate(drafts):
        for place, file in enumerate(draft.files):
            places[file] = (number, place)
    data, spots = puffin.write_sidecar([(draft.blob, 0) for draft in drafts], 100)
    parts = [draft.placed(spot) for draft, spot in zip(drafts, spots, strict=True)]
    several_pieces = sum(not isinstance(piece, Single) for piece in parts)
    told = [
        [bundle.ALONE, one[0] - several_pieces]
        if one and one[0] >= several_pieces
        else one and list(one)
        for one in places
    ]
    formats = {k: b.properties[k] for b in own[0] for k in records.FORMATS if k in b.properties}
    facts = {
        BUNDLE: {
            **bundle.to_facts(parts),
            "places": told,
            "formats": formats,
            "light_bytes": 1,
            "why": {"nothing could be skipped by it": 1},
        }
    }
    index, first = KINDS[kind], made[0]
    every = index.options(first.column.type, several[0])
    asked = [index.asked(one, first.column.type, every) for one in first.questions]
    return Input(data, facts, ([one for one in asked if one is not None], len(found)))


def _steps(given: Input) -> Iterable[Step]:
    """As `_parts`, `LightIndex` and `taken_apart`."""
    asked, files = given.context
    record = bundle_record(given.facts, files)
    found = records.pieces_of(record)
    places = np.array(
        [one or (-1, -1) for one in records.places_of(record)], dtype=np.int64
    ).reshape(-1, 2)
    if len(places) != files:
        raise ValueError("places of other files")
    for number, piece in enumerate(found):
        own = places[places[:, 0] == number, 1]
        if not len(own):
            continue
        for one in asked:
            yield partial(_may, piece, own, given, one)
        if isinstance(piece, BoundsTable):
            yield partial(_bounds, piece, own, given)
    yield partial(_apart, record, given)


def _may(piece: BundlePiece, places: Any, given: Input, asked: Any) -> Any:
    may = piece.may(asked, reading(given.data))
    if may is None:
        return None
    found = bundle.at(may, places)
    if found.dtype != np.bool_ or found.shape != places.shape:
        raise WrongError(f"{found!r} is no answer for {len(places)} files")
    return tuple(found.tolist())


def _bounds(piece: BoundsTable, places: Any, given: Input) -> Any:
    table = piece.table(reading(given.data))
    table.validate(full=True)
    if places.max() >= len(table):
        raise ValueError("the product takes an IndexError for that")
    told = [table.column(name).to_numpy()[places].tolist() for name in ("nulls", "nans", "tight")]
    ends = [table.column(name).take(places).to_pylist() for name in ("lower", "upper")]
    return repr((told, ends))


def _apart(record: SegmentRecord, given: Input) -> Any:
    made = records.taken_apart([record], lambda _: reading(given.data))
    if len(made.files) != len(record.files) or len(made.indexed) != len(record.files):
        raise WrongError("another number of files")
    return repr([[(b.type, b.data) for b in one.light] for one in made.indexed])


def _filters() -> Sequence[Input]:
    some = [numbers(60 + 30 * n, 40 + n) for n in range(5)]
    words = [texts(90 + n) for n in range(4)]
    return [
        _sample("BLOOM", some, [{}, {"filter": "pybloom"}]),
        _sample("BLOOM", some, [{}]),
        _sample("TOKEN_BLOOM", words, [{}]),
        _sample("NGRAM_BLOOM", words, [{}]),
    ]


def _ranges() -> Sequence[Input]:
    some = [scattered(300 + 30 * n) for n in range(9)]
    many = [scattered(12_000, n) for n in range(4)]
    words = [names(200 + n) for n in range(4)]
    return [
        *(_sample("RANGE", some, [{"mode": mode}]) for mode in ("bucket", "gaps", "bloomrf")),
        _sample("RANGE", many, [{"mode": "bucket", "bits_per_value": 20}]),
        _sample("RANGE", words, [{}, {"mode": "bucket"}]),
    ]


def _bounds_bundles() -> Sequence[Input]:
    return [_sample("BOUNDS", [made(60 + n) for n in range(3)], [{}]) for made in (numbers, texts)]


def _bundles(name: str, samples: Any) -> Format:
    return Format(name, samples, _steps, UNREADABLE, sealed=True, believed=_BELIEVED)


FORMATS = (
    _bundles("bundle of filters", _filters),
    _bundles("bundle of range filters", _ranges),
    _bundles("bundle of bounds", _bounds_bundles),
)
