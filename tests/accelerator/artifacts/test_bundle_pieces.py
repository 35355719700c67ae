"""Pieces of bundles: what records keep of them answers as the blobs do, each for its own files."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from accelerator.artifacts.sidecars import bundle
from indexes import puffin
from indexes.hashing.xxhash64 import HASH
from indexes.kind import Blob, IndexedColumn
from indexes.kinds import BLOOM, BOUNDS, RANGE
from indexes.kinds.bloom import answers
from indexes.kinds.bounds import TYPE as BOUNDS_TYPE
from indexes.kinds.bounds import read_bounds
from indexes.question import Among, Within
from indexes.range.filters import answers as answers_range

ROWS = 400


def _blob(kind, number: int, rows: int, **options) -> Blob:
    builder = kind.builder(IndexedColumn("bigint", (rows,)), kind.options("bigint", options))
    builder.add(pa.array([(n + number * ROWS) * 7_919 % 1_000_003 for n in range(rows)]))
    (blob,) = builder.finish()
    return blob


@cache
def _light():
    return [
        [_blob(BLOOM, 0, ROWS)],
        [_blob(RANGE, 1, ROWS, mode="bucket")],
        [],
        [_blob(BLOOM, 3, 50, filter="pybloom")],
        [_blob(BLOOM, 4, ROWS)],
        [_blob(RANGE, 5, ROWS, mode="bloomrf")],
        [_blob(BLOOM, 6, 40 * ROWS)],
        [_blob(RANGE, 7, ROWS, mode="bucket")],
        [_blob(BLOOM, 8, 50, filter="pybloom")],
    ]


def _written():
    drafts = bundle.drafts(_light())
    data, places = puffin.write_sidecar([(draft.blob, 0) for draft in drafts], ROWS)
    made = [draft.placed(place) for draft, place in zip(drafts, places, strict=True)]
    return drafts, made, data


@pytest.mark.parametrize(
    ("kind", "holds", "question"),
    [
        (BLOOM, answers, Among((7_919, 3 * ROWS * 7_919 % 1_000_003))),
        (RANGE, answers_range, Within(500_000, 500_020)),
        (RANGE, answers_range, Within(0, 900_000)),
    ],
)
def test_pieces_answer_as_their_blobs(kind, holds, question) -> None:
    drafts, made, data = _written()
    asked = kind.asked(question, "bigint", {})
    told = json.loads(json.dumps(bundle.to_facts(made)))
    for some in (made, bundle.from_facts(told)):
        answered = {}
        for draft, piece in zip(drafts, some, strict=True):
            may = piece.may(asked, lambda at, length: data[at : at + length])
            if may is not None:
                assert len(may) == len(draft.files)
                answered |= dict(zip(draft.files, may.tolist(), strict=True))
        mine = [
            n
            for n, blobs in enumerate(_light())
            if blobs and ("range" in blobs[0].type) == (kind is RANGE)
        ]
        assert answered == {n: holds(_light()[n][0], asked) for n in mine}


def test_records_of_before_range_filters() -> None:
    _, made, _ = _written()
    told = bundle.to_facts([one for one in made if not isinstance(one, bundle.Ranges)])
    assert told["ranges"] == []
    del told["ranges"]
    sorts = [type(one) for one in bundle.from_facts(told)]
    assert sorts == [bundle.BundledFilters, bundle.BundledFilters, bundle.Single, bundle.Single]


def test_pieces_come_apart_into_their_blobs() -> None:
    light = [*_light(), [_blob(BOUNDS, 9, 30)], [_blob(BOUNDS, 10, 7)], *_gaps()]
    drafts = bundle.drafts(light)
    data, places = puffin.write_sidecar([(draft.blob, 0) for draft in drafts], ROWS)
    found = 0
    for draft, place in zip(drafts, places, strict=True):
        piece = draft.placed(place)
        blobs = piece.blobs(lambda at, length: data[at : at + length], {"hash": HASH})
        for file, blob in zip(draft.files, blobs, strict=True):
            (given,) = light[file]
            assert blob.type == given.type
            if given.type == BOUNDS_TYPE:  # Arrow's padding isn't always the same
                assert read_bounds(blob.data).equals(read_bounds(given.data))
            else:
                assert blob.data == given.data
            found += 1
        (again,) = bundle.drafts([[blob] for blob in blobs])
        assert len(again.blob.data) == len(draft.blob.data)
    assert found == sum(map(len, light))


def _gaps() -> list[list[Blob]]:
    """Filters of several cells, as many values in runs make them."""
    made = []
    for number in range(3):
        builder = RANGE.builder(
            IndexedColumn("bigint", (200_000,)), RANGE.options("bigint", {"mode": "gaps"})
        )
        runs = np.arange(200_000) // 3 * 1_000 + np.arange(200_000) % 3 + number * 17
        builder.add(pa.array(runs))
        made.append(list(builder.finish()))
    return made


def test_what_was_altered_does_not_come_apart() -> None:
    _, made, data = _written()
    for piece in made:
        with pytest.raises(ValueError):
            piece.blobs(lambda at, length: bytes(length), {"hash": HASH})
        with pytest.raises(ValueError):
            piece.blobs(lambda at, length: data[at : at + length][:-1], {"hash": HASH})
