"""The kind TOKEN_BITMAP against the tokens of each text.

Strategy: random texts, some NULL and some that aren't UTF-8, in single rows and in blocks, are
asked for words that they have and words that they lack.

Invariants: where rows are kept the verdict is exact, but for texts that aren't UTF-8; it encloses
the truth always, and so does the filter; the bytes of a version stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyroaring import BitMap

from indexes.inverted.terms_writer import Pairs
from indexes.kind import Blob, IndexedColumn, OptionError, Options
from indexes.kinds.bloom import answers
from indexes.kinds.token_bitmap import TOKEN_BITMAP
from indexes.question import Like, Tokens
from indexes.row_verdict import Certainty, RowVerdict
from indexes.text.tokens import ANALYSER, tokens_of
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
WORDS = ["Error", "ERROR", "error", "x1", "Ärger", "ärger", "支付失败", "a", "ab", "ΣΑΣ", "b-c"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


def build(texts: Sequence[str | bytes | None], options: Options | None = None):
    """The light blob, the heavy one, and the column that they're of."""
    column = IndexedColumn("string", (len(texts),))
    builder = TOKEN_BITMAP.builder(column, TOKEN_BITMAP.options("string", options or {}))
    coded = [one.encode() if isinstance(one, str) else one for one in texts]
    values = pa.array(["padding", *coded], pa.large_binary())[1:]
    for at in range(0, len(values), 5):
        builder.add(values[at : at + 5])
    blobs = builder.finish()
    light = next((blob for blob in blobs if blob.light), None)
    heavy = next((blob for blob in blobs if not blob.light), None)
    return light, heavy, column


def told(blob: Blob, question, column: IndexedColumn) -> RowVerdict | None:
    bare = replace(blob, data=b"")
    return TOKEN_BITMAP.probe(bare, lambda at, n: blob.data[at : at + n], question, column)


@settings(max_examples=sized(50, full=150), deadline=None)
@given(
    st.lists(st.one_of(TEXTS, TEXTS, st.none(), st.just(b"Error \xff")), min_size=1, max_size=60),
    st.booleans(),
    st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=2),
    st.booleans(),
)
def test_words_are_found_where_they_stand(texts, rows, words, folded) -> None:
    light, heavy, column = build(texts, {"rows": rows, "block_rows": 16})
    question = Tokens(tokens_of(" ".join(words), folded=folded), folded)
    broken = BitMap([n for n, text in enumerate(texts) if isinstance(text, bytes)])
    nulls = BitMap([n for n, text in enumerate(texts) if text is None])
    wanted = set(question.tokens)
    true = BitMap(
        n
        for n, text in enumerate(texts)
        if isinstance(text, str) and wanted <= set(tokens_of(text, folded=folded))
    )
    verdict = told(heavy, question, column)
    every = BitMap(range(len(texts)))
    assert verdict.true.lower <= true <= verdict.true.upper
    assert broken <= verdict.true.upper
    assert not broken & (verdict.true.lower | verdict.false.lower)
    assert verdict.false.lower <= every - true - nulls <= verdict.false.upper
    assert not nulls & (verdict.true.upper | verdict.false.upper)
    if rows:
        assert verdict.true.lower == true and verdict.true.upper == true | broken
        assert broken or verdict.certainty is Certainty.EXACT
    assert (light is None) == bool(broken)
    clauses = TOKEN_BITMAP.asked(question, "string", {})
    assert light is None or not true or answers(light, clauses)


def test_other_words_that_begin_alike_are_others() -> None:
    _, heavy, column = build(["a", "ab", "A", "a1", "AB"])
    assert told(heavy, Tokens(("a",), True), column).true.upper == BitMap([0, 2])
    assert told(heavy, Tokens(("ab",), True), column).true.upper == BitMap([1, 4])
    assert told(heavy, Tokens(("AB",)), column).true.upper == BitMap([4])
    assert told(heavy, Tokens(("Ab",)), column).true.upper == BitMap()
    assert told(heavy, Tokens(("a", "ab"), True), column).true.upper == BitMap()


def test_what_is_not_asked_by_words() -> None:
    light, heavy, column = build(WORDS)
    for question in (Like(("a",)), Tokens(()), Tokens((), True)):
        assert told(heavy, question, column) is None
        assert TOKEN_BITMAP.asked(question, "string", {}) is None
    assert not answers(light, TOKEN_BITMAP.asked(Tokens(("absent",)), "string", {}))


def test_texts_that_were_cut_otherwise_tell_nothing() -> None:
    _, heavy, column = build(WORDS)
    other = replace(heavy, properties={**heavy.properties, "tokens": ANALYSER + "x"})
    assert told(other, Tokens(("a",)), column) is None
    for wrong in ({"head": "40"}, {"head": "x"}, {"rows": "2"}):
        bad = replace(heavy, properties={**heavy.properties, **wrong})
        if "rows" in wrong:
            bad, column = heavy, IndexedColumn("string", (2,))
        with pytest.raises(ValueError, match=r"."):
            told(bad, Tokens(("a",)), column)


def test_too_many_pairs_are_kept_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pairs.__init__, "__defaults__", (150,))
    texts = [f"word{n} every" for n in range(100)]
    _, heavy, column = build(texts, {"block_rows": 16})
    assert heavy.properties["unit"] == "16"
    found = told(heavy, Tokens(("word20",)), column)
    assert found.true.upper == BitMap(range(16, 32)) and not found.true.lower
    assert told(heavy, Tokens(("every",)), column).true.upper == BitMap(range(100))


@pytest.mark.parametrize(
    "options", [{"rows": "x"}, {"block_rows": 8}, {"bits_per_token": 2}, {"gram": 3}]
)
def test_options_out_of_range(options) -> None:
    with pytest.raises(OptionError):
        TOKEN_BITMAP.options("string", options)


def _golden() -> tuple[Blob, IndexedColumn]:
    _, heavy, column = build([*WORDS, None, "Error x1", b"a\xff"])
    return heavy, column


def test_golden_bytes() -> None:
    heavy, column = _golden()
    assert heavy.data == (GOLDEN / "terms-tokens.bin").read_bytes()
    assert heavy.properties == {
        "hash": "xxh64-s42",
        "tokens": ANALYSER,
        "domain": "bytes",
        "scale": "0",
        "type": "string",
        "rows": "14",
        "nulls": "1",
        "head": "127",
        "terms": "13",
        "unit": "1",
    }
    assert told(heavy, Tokens(("Error",)), column).true.lower == BitMap([0, 12])


def write_golden() -> None:
    """For a new format alone."""
    (GOLDEN / "terms-tokens.bin").write_bytes(_golden()[0].data)
