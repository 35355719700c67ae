"""NGRAM_BLOOM: what a file or a block holds is never told to be missing from it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyroaring import BitMap

from indexes.bloom import block_filters
from indexes.bloom.split_block import read_filter
from indexes.domains import NotIndexableError
from indexes.kind import Blob, IndexedColumn, OptionError, Options
from indexes.kinds import ngram_bloom
from indexes.kinds.ngram_bloom import NGRAM_BLOOM
from indexes.question import Among, Compare, IsNull, Like, Question
from indexes.row_verdict import RowVerdict
from indexes.text import gram_blocks
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
TEXTS = st.text(st.sampled_from("abcABC 中文字𠀀😀İΣςσK"), max_size=12) | st.text(
    st.sampled_from("abcAB "), max_size=12
)
WORDS = ["alpha", "Beta", "gamma", "错误日志", "😀😁😂", "größer", "", "x"]


def build(
    chunks: Sequence[Sequence[str | bytes | None]], options: Options | None = None
) -> tuple[Blob | None, Blob | None, IndexedColumn]:
    """The light blob, the heavy one, and the column that they're of."""
    column = IndexedColumn("string", tuple(len(chunk) for chunk in chunks))
    builder = NGRAM_BLOOM.builder(column, NGRAM_BLOOM.options("string", options or {}))
    for chunk in chunks:
        coded = [one.encode() if isinstance(one, str) else one for one in chunk]
        builder.add(pa.array(["padding", *coded], pa.large_binary())[1:])
    blobs = builder.finish()
    light = next((blob for blob in blobs if blob.light), None)
    heavy = next((blob for blob in blobs if not blob.light), None)
    assert len(blobs) == (light is not None) + (heavy is not None)
    return light, heavy, column


def file_may(light: Blob | None, question: Question, options: Options | None = None) -> bool:
    clauses = NGRAM_BLOOM.asked(question, "string", NGRAM_BLOOM.options("string", options or {}))
    return light is None or clauses is None or read_filter(light).answers(clauses)


def probe(heavy: Blob, question: Question, column: IndexedColumn) -> RowVerdict | None:
    bare = replace(heavy, data=b"")
    return NGRAM_BLOOM.probe(bare, lambda at, n: heavy.data[at : at + n], question, column)


def rows_may(heavy: Blob | None, question: Question, column: IndexedColumn) -> BitMap:
    verdict = heavy and probe(heavy, question, column)
    if not verdict:
        return BitMap(range(column.rows))
    unknown = RowVerdict.unknown(column.rows)
    assert not verdict.true.lower and verdict.false == unknown.false
    return verdict.true.upper


def matches(text: str | None, question: Question) -> bool:
    if text is None:
        return False
    if isinstance(question, Among):
        return text.encode() in question.values
    assert isinstance(question, Like)
    held, runs = text, list(question.runs)
    if question.folded:
        held, runs = text.lower(), [run.lower() for run in runs]
    at = 0
    for run in runs:
        at = held.find(run, at)
        if at < 0:
            return False
        at += len(run)
    return True


def questions(texts: list[str]) -> st.SearchStrategy[Question]:
    parts = st.sampled_from([*texts, "abc"]).flatmap(
        lambda t: st.tuples(st.integers(0, 12), st.integers(1, 12)).map(
            lambda cut: t[cut[0] : cut[0] + cut[1]]
        )
    )
    like = st.builds(Like, st.lists(parts | TEXTS, max_size=2).map(tuple), folded=st.booleans())
    whole = st.lists(st.sampled_from([*texts, "abc"]) | TEXTS, max_size=3)
    return like | st.builds(Among, whole.map(lambda ts: tuple(t.encode() for t in ts)))


@settings(max_examples=sized(50, full=150), deadline=None)
@given(
    st.lists(st.lists(st.none() | TEXTS, max_size=150), min_size=1, max_size=3),
    st.integers(2, 5),
    st.booleans(),
    st.data(),
)
def test_what_is_there_is_found(
    chunks: list[list[str | None]], gram: int, folded: bool, data: st.DataObject
) -> None:
    options: Options = {"gram": gram, "folded": folded, "block_rows": 64}
    light, heavy, column = build(chunks, options)
    texts = [text for chunk in chunks for text in chunk]
    for _ in range(4):
        question = data.draw(questions([text for text in texts if text]))
        found = BitMap(at for at, text in enumerate(texts) if matches(text, question))
        assert file_may(light, question, options) or not found
        assert found <= rows_may(heavy, question, column)


def _logs(rows: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [
        f"{rng.choice(WORDS)} {at // 500:04d} {rng.choice(WORDS)} user={rng.randrange(100)}"
        for at in range(rows)
    ]


def test_blocks_are_skipped_and_rows_told() -> None:
    logs = _logs(5000)
    logs[1700], logs[4999] = "one NEEDLE here", None  # type: ignore[call-overload]
    light, heavy, column = build([logs[:1800], logs[1800:]], {"block_rows": 500})
    assert light is not None and heavy is not None
    for question in (
        Like(("NEEDLE",)),
        Like(("needle",), folded=True),
        Like(("one ", "here"), starts=True, ends=True, exact=False),
        Among((b"one NEEDLE here", b"two needles")),
    ):
        assert file_may(light, question)
        assert rows_may(heavy, question, column) == BitMap(range(1500, 2000))
    assert rows_may(heavy, Like(("0003",)), column) == BitMap(range(1500, 2000))
    assert rows_may(heavy, Like(("0009 ",)), column) == BitMap(range(4500, 5000))
    # The index has case folded: a text in another case is found too, and not told apart.
    assert rows_may(heavy, Like(("needle",)), column)
    for absent in (Like(("haystack",)), Among((b"haystack",)), Like(("日志本",))):
        assert not file_may(light, absent)
        assert not rows_may(heavy, absent, column)


@pytest.mark.parametrize("text", ["same", "same 文字"])
def test_a_gram_of_many_blocks_is_found_in_each(text: str) -> None:
    _, heavy, column = build([[text] * 100 + ["other"] * 100, [text] * 100], {"block_rows": 100})
    expected = BitMap([*range(100), *range(200, 300)])
    assert rows_may(heavy, Like(("same",)), column) == expected


def test_what_has_no_gram_is_not_told() -> None:
    light, heavy, column = build([_logs(1000)], {"block_rows": 100})
    assert light is not None and heavy is not None
    options = NGRAM_BLOOM.options("string", {})
    for question in (
        *(Like(runs) for runs in ((), ("",), ("ab", "cd"), ("中",), ("a\ud83d\ude00",))),
        Among((b"ab", b"alphabet")),
        Among((b"alpha\xff",)),
        Among((1,)),
        IsNull(),
        Compare("<", b"alpha"),
        Like(("aİb",), folded=True),
        Like(("\u10d0\u10d1\u10d2",), folded=True),
    ):
        assert NGRAM_BLOOM.asked(question, "string", options) is None
        assert probe(heavy, question, column) is None
    assert NGRAM_BLOOM.asked(Like(("\u10d0\u10d1\u10d2",)), "string", options) is not None
    plain = NGRAM_BLOOM.options("string", {"folded": False})
    assert NGRAM_BLOOM.asked(Like(("alpha",), folded=True), "string", plain) is None
    assert NGRAM_BLOOM.asked(Like(("alpha",)), "binary", options) is None
    assert probe(heavy, Like(("alpha",)), IndexedColumn("binary", column.row_groups)) is None


def test_no_value_is_no_row() -> None:
    light, heavy, column = build([_logs(1000)], {"block_rows": 100})
    assert heavy is not None
    assert not file_may(light, Among(()))
    assert rows_may(heavy, Among(()), column) == BitMap()


def test_each_clause_has_a_gram_of_every_value() -> None:
    options = NGRAM_BLOOM.options("string", {})
    clauses = NGRAM_BLOOM.asked(Among((b"abc", b"vwxyz")), "string", options)
    assert clauses is not None and len(clauses) == 3
    assert len({clause[0] for clause in clauses}) == 1
    assert len({clause[1] for clause in clauses}) == 3
    many = Among(tuple(b"value number %d" % number for number in range(700)))
    assert len(NGRAM_BLOOM.asked(many, "string", options) or ()) == 1
    long = NGRAM_BLOOM.asked(Like((" ".join(map(str, range(999))),)), "string", options)
    assert len(long or ()) == ngram_bloom.MOST_ASKED


@pytest.mark.parametrize("at", [0, 777, 999])
def test_a_text_that_is_not_utf8_may_match_anything(at: int) -> None:
    logs: list[Any] = _logs(1000)
    logs[at] = b"bad \xff text"
    light, heavy, column = build([logs], {"block_rows": 100})
    assert light is None and heavy is not None
    block = at // 100
    absent = Like(("haystack",))
    assert rows_may(heavy, absent, column) == BitMap(range(100 * block, 100 * block + 100))
    assert int(heavy.properties["kept"]) == 9


def test_empty_files_and_nulls() -> None:
    for chunks in ([], [[]], [[None] * 200], [["", "a", None]]):
        light, heavy, column = build(chunks, {"block_rows": 64})
        assert light is not None
        assert light.properties["rows"] == str(column.rows)
        assert not file_may(light, Like(("abc",)))
        assert not rows_may(heavy, Like(("abc",)), column) or heavy is None


def test_one_block_has_no_heavy_blob() -> None:
    light, heavy, _ = build([_logs(100)])
    assert light is not None and heavy is None


def test_what_a_null_stands_over_is_not_read() -> None:
    array = pa.array(["alpha", "needle", "gamma"], pa.large_string()).cast(pa.large_binary())
    hidden = pa.Array.from_buffers(
        pa.large_binary(), 3, [pa.py_buffer(b"\x05"), *array.buffers()[1:]]
    )
    assert hidden.to_pylist() == [b"alpha", None, b"gamma"]
    builder = NGRAM_BLOOM.builder(IndexedColumn("string", (3,)), NGRAM_BLOOM.options("string", {}))
    builder.add(hidden)
    (light,) = builder.finish()
    assert file_may(light, Like(("gamma",))) and not file_may(light, Like(("needle",)))


def _scattered(rows: int, length: int) -> list[str]:
    codes = np.random.default_rng(1).integers(0x4E00, 0x9FFF, (rows, length))
    return ["".join(map(chr, row)) for row in codes.tolist()]


def test_grams_beyond_the_room_still_reach_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = _scattered(128, 100)
    monkeypatch.setattr(gram_blocks, "_MOST_ROOM", gram_blocks._LEAST_ROOM)
    ascii_ = [f"{at:x}" * 40 for at in range(0x1000, 0x1040)]
    light, heavy, _ = build([texts, ascii_], {"block_rows": 64, "bits_per_gram": 20})
    assert light is not None
    assert all(file_may(light, Like((text[at : at + 4],))) for text in texts for at in (0, 40, 96))
    assert all(file_may(light, Like((text,))) for text in ascii_)
    # The blocks with too many grams have no filter.
    assert heavy is not None and heavy.properties["kept"] == "1"


def test_rows_of_ascii_beyond_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    monkeypatch.setattr(gram_blocks, "_MOST_ROOM", gram_blocks._LEAST_ROOM)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    for length in (100, 10_000):  # of the shorter many are in the room, of the longer less than one
        texts = ["".join(rng.choices(letters, k=length)) for _ in range(200)]
        light, _, _ = build([texts], {"block_rows": 128, "gram": 4})
        assert light is not None
        assert all(
            file_may(light, Like((text[at : at + 6],)), {"gram": 4})
            for text in texts
            for at in (0, 50, length - 6)
        )


def test_full_filters_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_filters, "_SHARE", 40)
    monkeypatch.setattr(block_filters, "FILE_BLOCKS", 8)
    light, heavy, _ = build([_scattered(300, 100)], {"block_rows": 64})
    assert light is None and heavy is None


def test_one_crowded_block_does_not_swell_the_others() -> None:
    texts = [*_logs(640), *_scattered(64, 400), *_logs(640, 2)]
    _, heavy, column = build([texts], {"block_rows": 64})
    assert heavy is not None
    sizes = {key: int(heavy.properties[key]) for key in ("z", "blocks", "kept")}
    assert sizes["blocks"] == 21 and sizes["kept"] == 20
    assert len(heavy.data) == 3 + 4 + sizes["z"] * (32 * sizes["kept"] + 4) < 150_000
    absent = rows_may(heavy, Like(("haystack",)), column)
    assert absent == BitMap(range(640, 704))


def test_a_probe_reads_a_row_for_a_gram() -> None:
    _, heavy, column = build([_logs(5000)], {"block_rows": 100})
    assert heavy is not None
    reads: list[int] = []

    def read(at: int, length: int) -> bytes:
        reads.append(length)
        return heavy.data[at : at + length]

    NGRAM_BLOOM.probe(replace(heavy, data=b""), read, Like(("alpha",)), column)
    assert reads == [7 + 4, *[32 * 50 + 4] * 3]


def test_every_altered_byte_is_refused_or_harmless() -> None:
    """A bit that is lost would hide rows."""
    _, heavy, column = build([_logs(1000)], {"block_rows": 100})
    assert heavy is not None
    question = Like(("alpha",))
    whole, refused = rows_may(heavy, question, column), 0
    for at in range(0, len(heavy.data), 3):
        data = bytearray(heavy.data)
        data[at] ^= data[at] or 1
        try:
            assert rows_may(replace(heavy, data=bytes(data)), question, column) == whole
        except ValueError:
            refused += 1
    assert refused


def test_damaged_blobs_are_refused() -> None:
    _, heavy, column = build([_logs(1000)], {"block_rows": 100})
    assert heavy is not None
    question, data = Like(("alpha",)), heavy.data
    damaged = [
        replace(heavy, type="acc-ngram-blocks-v2"),
        replace(heavy, data=data[:1]),
        replace(heavy, data=b"\0\0" + data[2:]),
        replace(heavy, data=b"\xff\xff" + data[2:]),
        replace(heavy, data=data[:2]),
    ]
    for key, value in [
        *((key, "") for key in ("z", "rows", "blocks", "kept", "block_rows", "gram", "folded")),
        *((key, "0") for key in ("z", "blocks", "kept", "block_rows", "gram")),
        *(("hash", "other"), ("grams", "windows-2"), ("rows", "999"), ("kept", "11")),
        *(("blocks", "9"), ("block_rows", "50"), ("folded", "yes"), ("gram", "9")),
    ]:
        damaged.append(replace(heavy, properties={**heavy.properties, key: value}))
    for blob in damaged:
        with pytest.raises(ValueError, match=r"filters|flags|row has"):
            probe(blob, question, column)
    with pytest.raises(ValueError, match="999"):
        probe(heavy, question, IndexedColumn("string", (999,)))


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"gram": 1}, "2 to 8"),
        ({"gram": 9}, "2 to 8"),
        ({"gram": 3.0}, "2 to 8"),
        ({"gram": True}, "2 to 8"),
        ({"block_rows": 63}, "64 to 1048576"),
        ({"bits_per_gram": 3}, "4 to 40"),
        ({"folded": "true"}, "true or false"),
        ({"n": 3}, "no option n"),
    ],
)
def test_options_out_of_range(given_: Options, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        NGRAM_BLOOM.options("string", given_)


def test_columns_that_are_no_strings() -> None:
    assert NGRAM_BLOOM.options("string", {}) == ngram_bloom.DEFAULTS
    for type_ in ("binary", "int", "array<string>"):
        with pytest.raises(NotIndexableError, match=type_):
            NGRAM_BLOOM.options(type_, {})


def test_golden_bytes() -> None:
    light, heavy, column = build([[*WORDS * 10, None], WORDS * 5], {"block_rows": 64})
    assert light is not None and heavy is not None
    assert light.data == (GOLDEN / "ngram-file.bin").read_bytes()
    assert heavy.data == (GOLDEN / "ngram-blocks.bin").read_bytes()
    assert heavy.properties == {
        "hash": "xxh64-s42",
        "grams": "windows-1",
        "gram": "3",
        "folded": "true",
        "domain": "bytes",
        "scale": "0",
        "type": "string",
        "rows": "121",
        "nulls": "1",
        "z": "8",
        "blocks": "2",
        "kept": "2",
        "block_rows": "64",
    }
    assert rows_may(heavy, Like(("错误",)), column) == BitMap(range(121))
    assert not rows_may(heavy, Like(("错日",)), column)


def write_golden() -> None:
    """For a new format alone."""
    light, heavy, _ = build([[*WORDS * 10, None], WORDS * 5], {"block_rows": 64})
    assert light is not None and heavy is not None
    (GOLDEN / "ngram-file.bin").write_bytes(light.data)
    (GOLDEN / "ngram-blocks.bin").write_bytes(heavy.data)
