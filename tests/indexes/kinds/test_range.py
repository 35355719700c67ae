"""Range filters: no key is ever missed, alone or side by side; what was altered is refused.

Strategy: keys in clusters, at the ends of the domain and at random are made filters of each mode;
ranges around them, between them and of any length are asked, and compared with the keys themselves.
Groups are cut into cells of a few bytes, so that ranges meet all places of cells.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.domains import NotIndexableError, to_domain
from indexes.kind import Blob, IndexedColumn, Intervals, OptionError
from indexes.kinds import RANGE
from indexes.kinds import range as range_kind
from indexes.question import Among, Compare, IsNull, Like, Within
from indexes.range import bundle, choose
from indexes.range.bundle import GroupShape, RangeGroup, shape_of, write_group
from indexes.range.choose import bloomrf, bucket, chosen, gaps
from indexes.range.filters import (
    BLOOMRF,
    MODES,
    MOST,
    TYPE,
    Filter,
    Keys,
    Prefixes,
    RangeCodes,
    answers,
    ranges_of,
    read_filter,
)
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
HALF = 1 << 63
KEY = st.one_of(
    st.integers(0, MOST),
    st.sampled_from([0, 1, 127, 128, HALF - 1, HALF, MOST - 1, MOST]),
    st.integers(10**6, 10**6 + 400),
    st.builds(lambda place, step: place * 10**12 + step, st.integers(0, 9), st.integers(0, 300)),
)
KEYS = st.lists(KEY, min_size=2, max_size=60, unique=True).map(lambda some: _keys(some))


def _keys(some) -> Keys:
    return np.array(sorted(some), dtype=np.uint64)


def _made(keys: Keys, mode: str, budget: int) -> Filter | None:
    return {"bucket": bucket, "gaps": gaps, "bloomrf": bloomrf}[mode](keys, budget)


def _blob(filter_: Filter) -> Blob:
    return filter_.to_blob({"domain": "int64"})


def _held(keys: Keys, low: int, high: int) -> bool:
    return bool(((keys >= low) & (keys <= high)).any())


def _asked(ranges) -> Intervals:
    """Of keys, as whole numbers are asked for."""
    return Intervals(tuple((low - HALF, high - HALF) for low, high in ranges))


@st.composite
def ranges(draw, keys: Keys):
    """Around keys and anywhere, short and long."""
    ends = st.one_of(st.sampled_from(keys.tolist()), KEY)
    low = draw(ends) + draw(st.sampled_from([0, 1, -1, 63, -64, 129]))
    width = draw(st.one_of(st.integers(0, 300), st.integers(0, MOST), st.just(0)))
    low = min(max(low, 0), MOST)
    return low, min(low + width, MOST)


@settings(deadline=None)
@given(st.data())
def test_a_filter_misses_no_key(data) -> None:
    keys = data.draw(KEYS)
    mode = data.draw(st.sampled_from(MODES))
    found = _made(keys, mode, data.draw(st.sampled_from([64, 200, 1000, 10_000])))
    if found is None:
        return
    again = read_filter(_blob(found))
    asked = data.draw(st.lists(ranges(keys), min_size=1, max_size=20))
    lows, highs = (np.array(ends, np.uint64) for ends in zip(*asked, strict=True))
    told = again.may_all(lows, highs).tolist()
    assert told == found.may_all(lows, highs).tolist()
    for may, (low, high) in zip(told, asked, strict=True):
        assert may or not _held(keys, low, high)


@pytest.mark.parametrize("mode", MODES)
def test_keys_at_the_very_ends_of_ranges(mode) -> None:
    """Few keys and many bits: nothing else is there to be found."""
    random = np.random.default_rng(4)
    keys = np.unique(random.integers(1 << 40, 1 << 41, 60, dtype=np.uint64))
    keys = np.unique(np.concatenate((keys, keys >> np.uint64(7) << np.uint64(7))))
    found = _made(keys, mode, 20_000)
    for width in (0, 1, 63, 64, 127, 128, 129, 200, 5_000, 20_000, 1 << 22):
        before, behind = keys - np.uint64(width), keys + np.uint64(width)
        assert found.may_all(keys, behind).all(), width
        assert found.may_all(before, keys).all(), width


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_that_has_all_bits_it_needs_is_exact(mode) -> None:
    keys = np.unique(np.random.default_rng(1).integers(0, MOST, 500, dtype=np.uint64))
    found = _made(keys, mode, 500 * 200)
    lows = keys[:-1] + np.uint64(1)
    told = found.may_all(lows, keys[1:] - np.uint64(1))
    if mode == BLOOMRF:  # of ranges as wide as the gaps hardly any is told apart
        points = np.random.default_rng(2).integers(0, MOST, 2000, dtype=np.uint64)
        told = found.may_all(points, points)
        assert told.mean() < 0.01
    else:
        assert not told.any()
    assert found.may_all(keys, keys).all()


@settings(deadline=None, max_examples=sized(40, full=150))
@given(st.data())
def test_side_by_side_is_as_alone(data) -> None:
    mode = data.draw(st.sampled_from(MODES))
    some = data.draw(st.lists(KEYS, min_size=1, max_size=9))
    budget = data.draw(st.sampled_from([200, 2000]))
    filters = [made for keys in some if (made := _made(keys, mode, budget)) is not None]
    if not filters:
        return
    filters = [one for one in filters if shape_of(_blob(one)) == shape_of(_blob(filters[0]))]
    blobs = [_blob(one) for one in filters]
    before, bundle.CELL_BYTES = bundle.CELL_BYTES, data.draw(st.sampled_from([8, 40]))
    try:
        stored, shape = write_group(blobs)
    finally:
        bundle.CELL_BYTES = before
    assert GroupShape.from_json(shape.to_json()) == shape
    group, keys = RangeGroup(shape), np.concatenate(some)
    for asked in data.draw(st.lists(st.lists(ranges(keys), max_size=3), min_size=1, max_size=12)):
        told = group.may(_asked(asked), lambda at, length: stored[at : at + length])
        assert told is not None
        assert told.tolist() == [answers(blob, _asked(asked)) for blob in blobs]


def test_a_large_group_is_as_alone() -> None:
    """Cells of their own size, more files than a byte has bits, and reads of few bytes."""
    random = np.random.default_rng(5)
    some = [
        np.unique(random.integers(number << 40, (number + 200) << 40, 6000, dtype=np.uint64))
        for number in range(37)
    ]
    for mode in MODES:
        blobs = [_blob(made) for keys in some if (made := _made(keys, mode, 90_000))]
        blobs = [one for one in blobs if shape_of(one) == shape_of(blobs[0])]
        stored, shape = write_group(blobs)
        group, reads = RangeGroup(shape), []

        def read(at: int, length: int, stored=stored, reads=reads) -> bytes:
            reads.append(length)
            return stored[at : at + length]

        lows = random.integers(0, 240 << 40, 60, dtype=np.uint64).tolist()
        lows += [int(some[0][at]) for at in (0, 77, -1)]
        for low in lows:
            for width in (1, 1 << 20, 1 << 43):
                asked = _asked([(low, low + width - 1)])
                told = group.may(asked, read).tolist()
                assert told == [answers(blob, asked) for blob in blobs]
        assert len(blobs) > 8 and sum(reads) / len(reads) < len(stored) / 3, mode


def test_parts_that_were_altered_are_refused() -> None:
    random = np.random.default_rng(3)
    some = [np.unique(random.integers(0, 1 << 62, 300, dtype=np.uint64)) for _ in range(3)]
    for mode in MODES:
        blobs = [_blob(made) for keys in some if (made := _made(keys, mode, 9000))]
        blobs = [one for one in blobs if shape_of(one) == shape_of(blobs[0])]
        stored, shape = write_group(blobs)
        asked = _asked([(int(some[0][9]) + 1, int(some[0][9]) + 9)])
        touched: set[int] = set()

        def read(at: int, length: int, stored=stored, touched=touched) -> bytes:
            touched.update(range(at, at + length))
            return stored[at : at + length]

        RangeGroup(shape).may(asked, read)
        assert touched <= set(range(len(stored)))
        for at in sorted(touched)[:: max(len(touched) // 300, 1)]:
            wrong = stored[:at] + bytes([stored[at] ^ 1 << at % 8]) + stored[at + 1 :]
            with pytest.raises(ValueError, match="cut off or altered"):
                RangeGroup(shape).may(asked, lambda at, n, wrong=wrong: wrong[at : at + n])
        for cut in (0, 1, max(touched) // 2, max(touched)):
            short = stored[:cut]
            with pytest.raises(ValueError, match="cut off or altered"):
                RangeGroup(shape).may(asked, lambda at, n, short=short: short[at : at + n])


def test_blobs_that_are_none() -> None:
    keys = _keys(range(0, 900, 9))
    for mode in MODES:
        good = _blob(_made(keys, mode, 500))
        assert read_filter(good).may_all(keys, keys).all()
        data, said = good.data, dict(good.properties)
        flipped = data[:5] + bytes([data[5] ^ 4]) + data[6:]
        for wrong in (
            Blob("acc-range-v2", data, True, said),
            Blob(TYPE, data, True, {**said, "ranges": "2"}),
            Blob(TYPE, data, True, {**said, "mode": "trie"}),
            Blob(TYPE, data[:-1], True, said),
            Blob(TYPE, b"", True, said),
            Blob(TYPE, flipped, True, said),
            Blob(TYPE, data, True, {**said, "count": "1", "words": "1"}),
            Blob(TYPE, data, True, {k: v for k, v in said.items() if k not in ("most", "layers")}),
        ):
            with pytest.raises(ValueError, match=r"range filter|read|mode|codes|words"):
                read_filter(wrong)
    with pytest.raises(ValueError, match="several shapes"):
        write_group([_blob(bucket(keys, 200)), _blob(bloomrf(keys, 200))])


def _built(values: list, type_: str, stored: pa.DataType, **options) -> list[Blob]:
    builder = RANGE.builder(IndexedColumn(type_, (len(values),)), RANGE.options(type_, options))
    for at in range(0, len(values), 3):
        builder.add(to_domain(pa.array(values[at : at + 3], stored), type_))
    return list(builder.finish())


def test_what_is_asked_of_whole_numbers() -> None:
    asked = [
        (Among((5, 2, 5)), ((2, 2), (5, 5))),
        (Among(()), ()),
        (Compare("<", 5), ((None, 4),)),
        (Compare("<=", 5), ((None, 5),)),
        (Compare(">", 5), ((6, None),)),
        (Compare(">=", 5), ((5, None),)),
        (Within(1, 9), ((1, 9),)),
        (Within(1, 9, True, True), ((2, 8),)),
    ]
    for question, of in asked:
        assert RANGE.asked(question, "bigint", {}) == Intervals(of)
    assert RANGE.asked(IsNull(), "bigint", {}) is None
    assert RANGE.asked(Among((b"x",)), "bigint", {}) is None
    assert RANGE.asked(Compare("<", 5), "array<int>", {}) is None
    many = RANGE.asked(Among(tuple(range(0, 5000, 5))), "bigint", {})
    assert len(many.of) <= 256 and many.of[0] == (0, 15)
    assert all(any(a <= n <= b for a, b in many.of) for n in range(0, 5000, 5))


def test_what_is_asked_of_texts() -> None:
    asked = [
        (Like(("ab", "c"), starts=True, exact=False), ((b"ab", b"ac"),)),
        (Like(("né",), starts=True, ends=True), (("né".encode(), b"n\xc3\xaa"),)),
        (Like(("a\ufffdb",), starts=True), ((b"a", b"b"),)),
        (Compare(">", b"a"), ((b"a", None),)),
        (Within(b"a", b"b", True, True), ((b"a", b"b"),)),
    ]
    for question, of in asked:
        assert RANGE.asked(question, "string", {}) == Intervals(of)
    for question in (
        Like(("ab",)),
        Like(("ab",), starts=True, folded=True),
        Like(("\ufffd",), starts=True),
    ):
        assert RANGE.asked(question, "string", {}) is None


def test_ranges_of_texts_behind_a_prefix() -> None:
    def of(low, high):
        lows, highs = ranges_of(Intervals(((low, high),)), b"ab")
        return list(zip(lows.tolist(), highs.tolist(), strict=True))

    def key(text: bytes) -> int:
        return int.from_bytes(text.ljust(8, b"\0"), "big")

    assert of(b"abc", b"abd") == [(key(b"c"), key(b"d"))]
    assert of(b"a", b"b") == of(b"ab", b"ac") == of(None, None) == [(0, MOST)]
    assert of(b"ac", None) == of(None, b"aa") == of(b"abd", b"abc") == []
    assert of(b"ab", b"ab") == [(0, 0)]
    assert ranges_of(Intervals(((1, 2),)), b"ab") is None
    assert ranges_of(Intervals(((b"a", b"b"),)), None) is None
    lows, highs = ranges_of(Intervals(((-(1 << 70), -(1 << 69)), (1 << 69, None))), None)
    assert not len(lows) and not len(highs)


def test_texts_whose_common_prefix_becomes_shorter() -> None:
    texts = [f"https://a.example/{n:03}" for n in range(0, 60, 2)]
    texts += [None, "https://b.example/x", "https://b.example/y", "http", "http\0", "zürich"]
    (blob,) = _built(texts, "string", pa.string(), bits_per_value=40)
    assert blob.properties["prefix"] == ""
    for text in texts:
        if text is not None:
            assert answers(blob, RANGE.asked(Among((text.encode(),)), "string", {}))
    (blob,) = _built(texts[:-1], "string", pa.string(), bits_per_value=40)
    assert bytes.fromhex(blob.properties["prefix"]) == b"http"
    assert not answers(blob, Intervals(((b"x", None),)))
    assert answers(blob, Intervals(((b"http", b"http"),)))
    same = [f"{'p' * 300}{n}" for n in range(9)]  # a prefix beyond what is kept
    assert _built(same, "string", pa.string()) == []


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([], "no value"),
        ([None, None], "no value"),
        ([5, None, 5], "one value"),
        (list(range(-50, 50)), "values side by side"),
    ],
)
def test_files_without_a_filter(values, why) -> None:
    assert _built(values, "bigint", pa.int64()) == [], why


def test_too_many_keys_for_a_filter(monkeypatch) -> None:
    monkeypatch.setattr(range_kind, "MOST_KEYS", 10)
    assert _built(list(range(0, 100, 7)), "bigint", pa.int64()) == []
    assert _built(list(range(0, 70, 7)), "bigint", pa.int64()) != []


def test_floats() -> None:
    values = [math.nan, -math.inf, -0.0, 2.5, None, 1e300, 5e-324]
    (blob,) = _built(values, "double", pa.float64(), bits_per_value=40)
    for low, high, held in [
        (0.0, 0.0, True),
        (-0.0, -0.0, True),
        (2.6, 1e299, False),
        (1e301, math.inf, False),
        (math.nan, math.nan, True),
        (-math.inf, -1e308, True),
        (-1e308, -5e-324, False),
    ]:
        asked = RANGE.asked(Within(low, high), "double", {})
        assert answers(blob, asked) == held, (low, high)
    assert answers(blob, RANGE.asked(Compare(">", math.inf), "double", {}))  # NaN is above
    assert not answers(blob, RANGE.asked(Compare(">", math.nan), "double", {}))


def test_the_mode_follows_the_keys() -> None:
    random = np.random.default_rng(7)
    scattered = np.unique(random.integers(0, 1 << 62, 20_000, dtype=np.uint64))
    runs = np.unique(
        np.concatenate([at + np.arange(999, dtype=np.uint64) for at in scattered[:40]])
    )
    for keys, bits, mode in ((scattered, 10, "bucket"), (runs, 10, "gaps"), (scattered, 24, "")):
        found = chosen(keys, bits, "auto")
        assert found is not None and found.rates.good
        assert mode in ("", found.filter.mode)
        assert found.filter.bits <= bits * len(keys)
    for mode in MODES:
        found = chosen(runs, 30, mode)
        assert found is not None and found.filter.mode == mode
    assert chosen(scattered, 10, "gaps") is None  # which would find most empty ranges


@pytest.mark.parametrize("keys", ["uniform", "bursts"])
def test_ten_bits_a_key_find_one_empty_range_in_a_hundred(keys) -> None:
    random = np.random.default_rng(11)
    made = random.integers(0, 1 << 62, 50_000, dtype=np.uint64)
    if keys == "bursts":
        made = np.cumsum(np.minimum((random.pareto(1.2, 50_000) + 1) * 1e3, 6e7)).astype(np.uint64)
    found = chosen(np.unique(made), 10, "auto")
    assert found is not None and found.rates.good
    assert found.rates.worst <= 0.015  # of a thousand ranges of each width


def test_options() -> None:
    assert RANGE.options("int", {}) == {"bits_per_value": 10.0, "mode": "auto"}
    assert RANGE.options("string", {"mode": "GAPS"})["mode"] == "gaps"
    for wrong in ({"bits": 3}, {"bits_per_value": 3}, {"bits_per_value": True}, {"mode": "trie"}):
        with pytest.raises(OptionError):
            RANGE.options("int", wrong)
    with pytest.raises(NotIndexableError):
        RANGE.options("map<int,int>", {})


def test_a_build_gives_the_same_bytes_again() -> None:
    values = np.random.default_rng(1).integers(0, 1 << 40, 5_000).tolist()
    once, again = (_built(values, "bigint", pa.int64()) for _ in range(2))
    assert once == again


GOLDEN_KEYS = [_keys(range(first, 90_000, 811)) for first in (3, 40, 700)]


@pytest.mark.parametrize("mode", MODES)
def test_golden_bytes(mode, monkeypatch) -> None:
    monkeypatch.setattr(bundle, "CELL_BYTES", 100)
    blobs = [_blob(_made(keys, mode, 1000)) for keys in GOLDEN_KEYS]
    stored, shape = write_group(blobs)
    assert blobs[0].data == (GOLDEN / f"range-{mode}.bin").read_bytes()
    assert stored == (GOLDEN / f"range-{mode}-bundle.bin").read_bytes()
    assert shape == GOLDEN_SHAPES[mode]


GOLDEN_SHAPES = {
    "bucket": GroupShape("bucket", 3, shift=3, directory=88),
    "gaps": GroupShape("gaps", 3, directory=92),
    "bloomrf": GroupShape("bloomrf", 3, words=15, layers=2),
}


def test_choices_are_measured_on_empty_ranges_alone() -> None:
    keys = np.unique(np.random.default_rng(1).integers(0, 1 << 30, 3_000, dtype=np.uint64))
    asked = choose._EmptyRanges(keys)
    pairs = [*asked._independent, tuple(asked._near)]
    assert len(pairs) > 15
    for lows, highs in pairs:
        first = np.searchsorted(keys, lows)
        assert not any(
            first[i] < len(keys) and keys[first[i]] <= highs[i] for i in range(len(lows))
        )


def test_filters_are_of_two_sorts() -> None:
    keys = _keys([1, 5, 9, 1000])
    assert isinstance(gaps(keys, 500), RangeCodes) and isinstance(bloomrf(keys, 500), Prefixes)
