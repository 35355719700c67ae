"""Inverted blobs of terms, and the kind NGRAM_BITMAP over them.

Strategy: random pairs of terms and rows go through the writer and the reader, with so few pairs
allowed that units are made larger; texts go through the kind. What is told is compared with what
the rows hold.

Invariants: a term's units hold all of its rows, and are just these where nothing may be left out;
bytes that are altered or cut off raise `ValueError`; the bytes of a version stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from indexes.domains import BYTES, INT64
from indexes.inverted.terms_reader import Terms
from indexes.inverted.terms_writer import Pairs, WrittenTerms
from indexes.kind import Blob, IndexedColumn, OptionError, Options
from indexes.kinds import NGRAM_BITMAP, NGRAM_BLOOM
from indexes.question import Among, Like, Question
from indexes.row_verdict import Certainty, RowVerdict
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
WORDS = ["alpha", "Beta", "gamma", "错误日志", "😀😁😂", "größer", "", "x"]


def written(
    held: Sequence[Sequence[int | bytes] | None], unit: int, most: int, *, everywhere: bool
) -> WrittenTerms:
    """Of rows of terms, which come in parts of three rows; None for NULL."""
    domain = BYTES if any(isinstance(t, bytes) for row in held for t in row or ()) else INT64
    pairs = Pairs(domain, unit, 4, most)
    for at in range(0, len(held), 3):
        rows = [(t, at + n) for n, row in enumerate(held[at : at + 3]) for t in row or ()]
        terms = pa.array([t for t, _ in rows], pa.large_binary() if domain == BYTES else pa.int64())
        coded = terms.dictionary_encode()
        numbers = np.array([row for _, row in rows], np.uint32)
        pairs.add(coded.dictionary, coded.indices.to_numpy(), numbers)
    nulls = np.array([row is None for row in held], dtype=bool)
    found = pairs.finish(len(held), nulls, np.array([], np.int64), everywhere=everywhere)
    assert found is not None
    return found


def opened(made: WrittenTerms, domain: str, data: bytes | None = None) -> Terms:
    stored = made.data if data is None else data
    return Terms.open(lambda offset, length: stored[offset : offset + length], made.head, domain)


NUMBERS = st.sampled_from([-(2**63), -5, 0, 7, 2**63 - 1])
TEXTS = st.sampled_from([b"", b"a", b"a\x00b", b"ab", b"\xff"])


@settings(max_examples=sized(80, full=300), deadline=None)
@given(
    st.one_of(
        *(
            st.lists(st.one_of(st.none(), st.lists(terms, max_size=4)), max_size=40)
            for terms in (NUMBERS, TEXTS)
        )
    ),
    st.sampled_from([1, 1, 2, 5]),
    st.sampled_from([2, 20, 1_000]),
    st.booleans(),
)
def test_terms_are_where_they_stand(held, unit, most, everywhere) -> None:
    terms = {t for row in held for t in row or ()}
    domain = BYTES if any(isinstance(t, bytes) for t in terms) else INT64
    made = written(held, unit, most, everywhere=everywhere)
    found = opened(made, domain)
    assert found.head.unit == made.unit and (made.unit == unit or most < 1_000)
    where = {
        t: BitMap([n // made.unit for n, row in enumerate(held) if t in (row or ())]) for t in terms
    }
    for term in terms:
        told = found.having(term)
        if told is None:
            assert everywhere and len(where[term]) > found.units // 2
        else:
            assert told == where[term]
            assert not everywhere or len(told) <= found.units // 2
    assert found.having(b"absent" if domain == BYTES else 99) == BitMap()
    some = sorted(terms)[:3]
    every = BitMap(range(found.units))
    told = found.having_all(some)
    exact = every
    for term in some:
        exact &= where[term]
    assert exact <= (every if told is None else told)
    assert everywhere or not some or told == exact
    ranges = found.rank(some[0])[0] if some else 0, found.head.terms
    told = found.having_any(ranges)
    united = BitMap.union(BitMap(), *where.values())
    assert told == united or (told is None and everywhere)
    nulls = BitMap([n for n, row in enumerate(held) if row is None])
    assert found.nulls == nulls
    verdict = found.verdict(exact, exact=True)
    assert verdict.certainty is Certainty.EXACT or made.unit > 1 or not some
    if made.unit == 1:
        rows = BitMap(range(len(held)))
        assert verdict.true.lower == verdict.true.upper == exact - nulls
        assert verdict.false.lower == verdict.false.upper == rows - exact - nulls


def build(
    chunks: Sequence[Sequence[str | bytes | None]], options: Options | None = None
) -> tuple[Blob | None, Blob | None, IndexedColumn]:
    """The light blob, the heavy one, and the column that they're of."""
    column = IndexedColumn("string", tuple(len(chunk) for chunk in chunks))
    builder = NGRAM_BITMAP.builder(column, NGRAM_BITMAP.options("string", options or {}))
    for chunk in chunks:
        coded = [one.encode() if isinstance(one, str) else one for one in chunk]
        builder.add(pa.array(["padding", *coded], pa.large_binary())[1:])
    blobs = builder.finish()
    light = next((blob for blob in blobs if blob.light), None)
    heavy = next((blob for blob in blobs if not blob.light), None)
    return light, heavy, column


def told(blob: Blob | None, question: Question, column: IndexedColumn) -> RowVerdict | None:
    assert blob is not None
    bare = Blob(blob.type, b"", False, blob.properties)
    return NGRAM_BITMAP.probe(bare, lambda at, n: blob.data[at : at + n], question, column)


def rows_may(blob: Blob | None, question: Question, column: IndexedColumn) -> BitMap:
    verdict = told(blob, question, column)
    assert verdict is not None
    return verdict.true.upper


def test_blocks_that_lack_a_gram_are_left_out() -> None:
    texts = [f"plain text {n % 7}" for n in range(160)]
    texts[40] = "here is a Needle"
    texts[100] = "only a needl"
    _, heavy, column = build([texts[:90], texts[90:]], {"block_rows": 16})
    assert rows_may(heavy, Like(("Needle",)), column) == BitMap(range(32, 48))
    assert rows_may(heavy, Like(("needle",)), column) == BitMap(range(32, 48))  # folded
    assert rows_may(heavy, Like(("NEEDL",), folded=True), column) == BitMap(
        [*range(32, 48), *range(96, 112)]
    )
    assert rows_may(heavy, Like(("plain",)), column) == BitMap(range(160))  # everywhere
    assert rows_may(heavy, Like(("plain", "Needle")), column) == BitMap(range(32, 48))
    some = (b"here is a Needle", b"only a needl")
    assert rows_may(heavy, Among(some), column) == BitMap([*range(32, 48), *range(96, 112)])
    assert told(heavy, Like(("ab",)), column) is None
    assert told(heavy, Like(()), column) is None
    absent = told(heavy, Like(("absent",)), column)
    assert absent is not None and absent.certainty is Certainty.EXACT
    assert absent.false.lower == BitMap(range(160))


def test_nulls_are_neither() -> None:
    _, heavy, column = build([[None, "needle"] * 16 + [None, "other"] * 16], {"block_rows": 16})
    verdict = told(heavy, Like(("needle",)), column)
    assert verdict is not None
    assert verdict.true.upper == BitMap(range(1, 32, 2))
    assert verdict.false.lower == BitMap(range(33, 64, 2))


def test_texts_that_are_no_utf8_may_match() -> None:
    light, heavy, column = build(
        [["plain"] * 40, [b"ne\xffdle"], ["plain"] * 40], {"block_rows": 16}
    )
    assert light is None
    assert rows_may(heavy, Like(("needle",)), column) == BitMap(range(32, 48))


def test_blocks_grow_where_there_are_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{n * 7919:08d}" for n in range(4_000)]
    monkeypatch.setattr("indexes.kinds.ngram_bitmap._WAITING", 500)
    _, small, column = build([texts], {"block_rows": 16})
    monkeypatch.setattr(Pairs.__init__, "__defaults__", (18_000,))
    _, large, _ = build([texts], {"block_rows": 16})
    assert small is not None and large is not None
    assert small.properties["unit"] == "16" and int(large.properties["unit"]) > 16
    left = []
    for number in range(0, 4_000, 97):
        question = Like((texts[number],), starts=True, ends=True)
        one, other = (rows_may(blob, question, column) for blob in (small, large))
        assert number in one and one <= other
        left.append(len(other))
    assert min(left) < 2_000


def test_too_many_grams_leave_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexes.inverted.terms_writer.TERMS_MAX", 100)
    monkeypatch.setattr("indexes.kinds.ngram_bitmap._WAITING", 50)
    texts = [f"{n * 7919:08d}" for n in range(1_000)]
    light, heavy, _ = build([texts], {"block_rows": 16})
    assert heavy is None and light is not None
    same = NGRAM_BLOOM.builder(IndexedColumn("string", (0,)), NGRAM_BLOOM.options("string", {}))
    same.add(pa.array(texts, pa.large_binary()))
    assert light.data == same.finish()[0].data


def test_the_light_blob_is_that_of_the_filters() -> None:
    light, _, column = build([WORDS * 40])
    builder = NGRAM_BLOOM.builder(column, NGRAM_BLOOM.options("string", {}))
    builder.add(pa.array([word.encode() for word in WORDS * 40], pa.large_binary()))
    assert light == builder.finish()[0]


@pytest.mark.parametrize(
    "options",
    [{"gram": 1}, {"gram": 9}, {"block_rows": 8}, {"folded": 1}, {"bits_per_gram": 2}, {"bins": 1}],
)
def test_options_out_of_range(options: Options) -> None:
    with pytest.raises(OptionError):
        NGRAM_BITMAP.options("string", options)


def _golden() -> tuple[Blob | None, IndexedColumn]:
    chunks = [[*WORDS * 10, None], [*WORDS * 3, b"\xff", "needle"]]
    _, heavy, column = build(chunks, {"block_rows": 16})
    return heavy, column


def test_golden_bytes() -> None:
    heavy, column = _golden()
    assert heavy is not None and heavy.type == "acc-terms-v1"
    assert heavy.data == (GOLDEN / "terms-grams.bin").read_bytes()
    assert heavy.properties == {
        "hash": "xxh64-s42",
        "grams": "windows-1",
        "gram": "3",
        "folded": "true",
        "domain": "bytes",
        "scale": "0",
        "type": "string",
        "rows": "107",
        "nulls": "1",
        "head": "131",
        "terms": "16",
        "unit": "16",
    }
    assert rows_may(heavy, Like(("needle",)), column) == BitMap(range(96, 107))
    assert rows_may(heavy, Like(("错日",)), column) == BitMap(range(96, 107))  # one is no UTF-8
    made = written([[b"b", b"a\x00"], None, [b"b"], []], 1, 100, everywhere=False)
    assert made.data == (GOLDEN / "terms-texts.bin").read_bytes()


def test_altered_bytes_are_noticed() -> None:
    heavy, column = _golden()
    assert heavy is not None
    questions = [Like(("needle",)), Like(("alpha",)), Like(("größer", "日志"))]
    truth = [told(heavy, question, column) for question in questions]
    for at in range(len(heavy.data)):
        data = bytearray(heavy.data)
        data[at] ^= 1 << at % 8
        for question, sound in zip(questions, truth, strict=True):
            try:
                found = told(
                    Blob(heavy.type, bytes(data), False, heavy.properties), question, column
                )
            except ValueError:
                continue
            assert found == sound  # what was altered wasn't read
    for length in range(0, len(heavy.data), 7):
        cut = Blob(heavy.type, heavy.data[:length], False, heavy.properties)
        for question, sound in zip(questions, truth, strict=True):
            try:
                assert told(cut, question, column) == sound
            except ValueError:
                continue
    for wrong in ({"head": "x"}, {"head": "40"}, {"gram": ""}, {"grams": "windows-2"}):
        bad = Blob(heavy.type, heavy.data, False, {**heavy.properties, **wrong})
        with pytest.raises(ValueError, match=r"."):
            told(bad, questions[0], column)


def write_golden() -> None:
    """For a new format alone."""
    heavy, _ = _golden()
    assert heavy is not None
    (GOLDEN / "terms-grams.bin").write_bytes(heavy.data)
    made = written([[b"b", b"a\x00"], None, [b"b"], []], 1, 100, everywhere=False)
    (GOLDEN / "terms-texts.bin").write_bytes(made.data)


def test_bitmaps_of_grams_take_a_third_of_the_texts_at_most() -> None:
    random = np.random.default_rng(5)
    letters = [chr(0x4E00 + n) for n in range(60)]
    texts = ["".join(random.choice(letters, 60)).encode() for _ in range(4_000)]
    options = NGRAM_BITMAP.options("string", {"block_rows": 16})
    builder = NGRAM_BITMAP.builder(IndexedColumn("string", (len(texts),)), options)
    builder.add(pa.array(texts, pa.large_binary()))
    (heavy,) = (blob for blob in builder.finish() if not blob.light)
    assert len(heavy.data) < sum(map(len, texts)) / 2.5
    assert int(heavy.properties["unit"]) > 16
