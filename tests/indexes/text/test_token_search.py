"""`has_token` and `match` in bulk, against sets of tokens; the same through DuckDB."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accelerator.engines.duckdb.engine import DuckDBEngine
from indexes.text.token_search import has_token, match
from indexes.text.tokens import NeedleError, tokens_of

TEXTS = st.one_of(st.none(), st.text("aAbkK\u212a 1-é中文支付", max_size=8))
TOKENS = st.sampled_from(["a", "A", "ab", "k", "K", "\u212a", "1", "中文", "支付", "支", "absent"])
NEEDLES = st.one_of(st.none(), TOKENS)


def truth(text: str | None, words: str | None, folded: bool) -> bool | None:
    if text is None or words is None:
        return None
    return set(tokens_of(words, folded=folded)) <= set(tokens_of(text, folded=folded))


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, NEEDLES), max_size=6), st.integers(0, 2))
@example([("ab", "a"), ("a", "ab"), (None, "a"), ("a", None)], 1)
def test_has_token(rows: list[tuple[str | None, str | None]], first: int) -> None:
    texts = pa.array([text for text, _ in rows], pa.string()).slice(first)
    needles = pa.array([needle for _, needle in rows], pa.string()).slice(first)
    expected = [truth(text, needle, False) for text, needle in rows[first:]]
    assert has_token(texts, needles).to_pylist() == expected


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), st.integers(0, 2))
@example([("a", ""), ("", ""), (None, ""), ("a b", "B, a; b"), ("a", "a b")], 0)
def test_match(rows: list[tuple[str | None, str | None]], first: int) -> None:
    texts = pa.array([text for text, _ in rows], pa.string()).slice(first)
    words = pa.array([word for _, word in rows], pa.large_string()).slice(first)
    assert match(texts, words).to_pylist() == [truth(*row, True) for row in rows[first:]]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=6), TOKENS, st.text("aAbK 支付", max_size=5))
@example(["a", None, "\u212a"], "\u212a", "")
def test_one_needle_for_all(texts: list[str | None], needle: str, words: str) -> None:
    every, count = pa.array(texts, pa.string()), len(texts)
    found = has_token(every, pa.array([needle] * count, pa.string()))
    assert found.to_pylist() == [truth(text, needle, False) for text in texts]
    found = match(every, pa.array([words] * count, pa.string()))
    assert found.to_pylist() == [truth(text, words, True) for text in texts]


def test_no_tokens_of_bytes_that_are_no_utf8() -> None:
    data = pa.array([b"ab\xffcd", b"\xff"]).view(pa.string())
    needles = pa.array(["ab", "ab"])
    assert has_token(data, needles).to_pylist() == [True, False]
    assert match(data, pa.array(["CD ab", ""])).to_pylist() == [True, True]


@pytest.mark.parametrize("needle", ["", "a b", "支付失败"])
@pytest.mark.parametrize("text", ["a", None])
def test_needles_that_are_none(needle: str, text: str | None) -> None:
    with pytest.raises(NeedleError, match="exactly one token"):
        has_token(pa.array([text], pa.string()), pa.array([needle]))


def test_no_texts() -> None:
    assert match(pa.nulls(2), pa.array(["a", "b"])).to_pylist() == [None, None]
    assert has_token(pa.array(["a"]), pa.nulls(1)).to_pylist() == [None]
    for other in (pa.array([1]), pa.array([b"a"])):
        with pytest.raises(NeedleError, match="take texts"):
            match(other, pa.array(["a"]))


def test_in_duckdb() -> None:
    rows = [
        (text, word) for text in ("GET 17", "支付失败", "", None) for word in ("get", "17", None)
    ]
    table = pa.table({"s": [text for text, _ in rows], "w": [word for _, word in rows]})
    engine = DuckDBEngine()
    sql = "SELECT acc_has_token(s, w) h, acc_match(s, w) m, acc_match(s, 'Get') c FROM t"
    found = engine.run(sql, {"t": table})
    engine.close()
    assert found["h"].to_pylist() == [truth(*row, False) for row in rows]
    assert found["m"].to_pylist() == [truth(*row, True) for row in rows]
    assert found["c"].to_pylist() == [truth(text, "get", True) for text, _ in rows]


@pytest.mark.parametrize("words", ["kil", "İL kil", "kil 日志", "日志", "straße", "ﬀ kil"])
def test_texts_that_fold_to_what_is_asked_are_found(words: str) -> None:
    texts = [
        "KIL",
        "KİL 日志",
        "\u212aIL İL",
        "\u212ail 日志x",
        "STRASSE Straße",
        "日 志",
        "kilo",
        "ﬀ\u212aİl",
    ]
    asked = set(tokens_of(words, folded=True))
    expected = [asked <= set(tokens_of(text, folded=True)) for text in texts]
    found = match(pa.array(texts), pa.array([words] * len(texts)))
    assert found.to_pylist() == expected
