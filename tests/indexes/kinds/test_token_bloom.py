"""TOKEN_BLOOM: what a file or a block holds is never told to be missing from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyroaring import BitMap

from indexes.bloom.split_block import read_filter
from indexes.domains import NotIndexableError
from indexes.kind import Blob, IndexedColumn, OptionError, Options
from indexes.kinds.token_bloom import MOST_ASKED, TOKEN_BLOOM
from indexes.question import Among, Compare, IsNull, Like, Question, Tokens
from indexes.text.tokens import ANALYSER, tokens_of

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
WORDS = ["alpha", "Beta gamma", "订单17支付失败", "É٣-x", "\u212aelvin", "", "x"]


def build(
    chunks: Sequence[Sequence[str | bytes | None]], options: Options | None = None
) -> tuple[Blob | None, Blob | None, IndexedColumn]:
    """The light blob, the heavy one, and the column that they're of."""
    column = IndexedColumn("string", tuple(len(chunk) for chunk in chunks))
    builder = TOKEN_BLOOM.builder(column, TOKEN_BLOOM.options("string", options or {}))
    for chunk in chunks:
        coded = [one.encode() if isinstance(one, str) else one for one in chunk]
        builder.add(pa.array(["padding", *coded], pa.large_binary())[1:])
    blobs = builder.finish()
    light = next((blob for blob in blobs if blob.light), None)
    heavy = next((blob for blob in blobs if not blob.light), None)
    assert len(blobs) == (light is not None) + (heavy is not None)
    return light, heavy, column


def file_may(light: Blob, question: Question) -> bool:
    clauses = TOKEN_BLOOM.asked(question, "string", TOKEN_BLOOM.options("string", {}))
    return clauses is None or read_filter(light).answers(clauses)


def rows_may(heavy: Blob, question: Question, column: IndexedColumn) -> BitMap:
    bare = replace(heavy, data=b"")
    found = TOKEN_BLOOM.probe(bare, lambda at, n: heavy.data[at : at + n], question, column)
    assert found is not None
    return found.true.upper


def words(text: str) -> Tokens:
    return Tokens(tokens_of(text, folded=True), folded=True)


def _logs(rows: int) -> list[Any]:
    return [f"request {i} of user{i % 7} failed: 支付失败 {i * 7919:x}" for i in range(rows)]


def test_blocks_that_may_match() -> None:
    logs = _logs(1000)
    light, heavy, column = build([logs[:450], logs[450:]], {"block_rows": 100})
    assert light is not None and heavy is not None
    for row in (0, 99, 100, 449, 450, 999):
        block = BitMap(range(row // 100 * 100, row // 100 * 100 + 100))
        for asked in (Tokens((f"{row}",)), words(f"{row * 7919:X} 失败")):
            assert file_may(light, asked)
            assert block <= rows_may(heavy, asked, column)
        # Both at once are of one block, nearly always.
        assert rows_may(heavy, words(f"{row} {row * 7919:x}"), column) == block
    assert not file_may(light, Tokens(("absent",)))
    assert not rows_may(heavy, words("REQUEST absent"), column)


def test_one_filter_for_either_case() -> None:
    light, _, _ = build([WORDS])
    assert light is not None
    for text in WORDS:
        for token in tokens_of(text):
            assert file_may(light, Tokens((token,)))
            assert file_may(light, words(token))
    assert file_may(light, Tokens(("ALPHA",)))  # the filter can't tell


def test_other_questions_are_not_answered() -> None:
    light, heavy, column = build([_logs(200)], {"block_rows": 64})
    assert light is not None and heavy is not None
    others: list[Question] = [
        Like(("request",)),
        Among((b"request",)),
        Compare("<", b"a"),
        IsNull(),
    ]
    for question in (*others, Tokens((), folded=True)):
        assert TOKEN_BLOOM.asked(question, "string", {}) is None
        read = lambda at, n: heavy.data[at : at + n]  # noqa: E731
        assert TOKEN_BLOOM.probe(replace(heavy, data=b""), read, question, column) is None
    assert TOKEN_BLOOM.asked(Tokens(("a",)), "binary", {}) is None
    many = Tokens(tuple(str(number) for number in range(999)))
    assert len(TOKEN_BLOOM.asked(many, "string", {}) or ()) == MOST_ASKED


@pytest.mark.parametrize("at", [0, 777, 999])
def test_a_text_that_is_not_utf8_may_match_anything(at: int) -> None:
    logs = _logs(1000)
    logs[at] = b"bad \xff text"
    light, heavy, column = build([logs], {"block_rows": 100})
    assert light is None and heavy is not None
    first = at // 100 * 100
    assert rows_may(heavy, Tokens(("absent",)), column) == BitMap(range(first, first + 100))


def test_empty_files_and_nulls() -> None:
    for chunks in ([], [[]], [[None] * 200], [["", "-", None]]):
        light, _, column = build(chunks, {"block_rows": 64})
        assert light is not None and light.properties["rows"] == str(column.rows)
        assert not file_may(light, Tokens(("abc",)))


def test_blobs_of_another_analyser_tell_nothing() -> None:
    _, heavy, column = build([_logs(200)], {"block_rows": 64})
    assert heavy is not None
    other = replace(heavy, data=b"", properties={**heavy.properties, "tokens": ANALYSER + "1"})
    read = lambda at, n: heavy.data[at : at + n]  # noqa: E731
    assert TOKEN_BLOOM.probe(other, read, Tokens(("absent",)), column) is None


def test_damaged_blobs_are_refused() -> None:
    _, heavy, column = build([_logs(1000)], {"block_rows": 100})
    assert heavy is not None
    damaged = [
        replace(heavy, type="acc-token-blocks-v2"),
        replace(heavy, data=heavy.data[:-1]),
        replace(heavy, data=b"\0\0" + heavy.data[2:]),
    ]
    for key, value in [
        *((key, "") for key in ("z", "rows", "blocks", "kept", "block_rows")),
        *(("hash", "other"), ("rows", "999"), ("kept", "11"), ("blocks", "9")),
    ]:
        damaged.append(replace(heavy, properties={**heavy.properties, key: value}))
    every = words(" ".join(_logs(3)))
    for blob in damaged:
        with pytest.raises(ValueError, match=r"filters|flags|row has"):
            rows_may(blob, every, column)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"gram": 3}, "no option gram"),
        ({"block_rows": 63}, "from 64 to"),
        ({"block_rows": True}, "number of rows"),
        ({"bits_per_token": 41}, "from 4 to 40"),
    ],
)
def test_options_out_of_range(given: Options, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        TOKEN_BLOOM.options("string", given)


def test_other_types() -> None:
    with pytest.raises(NotIndexableError):
        TOKEN_BLOOM.options("binary", {})


def test_golden_bytes() -> None:
    light, heavy, _ = golden()
    assert light is not None and heavy is not None
    assert light.data == (GOLDEN / "token-file.bin").read_bytes()
    assert heavy.data == (GOLDEN / "token-blocks.bin").read_bytes()
    assert heavy.properties == {
        "hash": "xxh64-s42",
        "tokens": ANALYSER,
        "domain": "bytes",
        "scale": "0",
        "type": "string",
        "rows": "106",
        "nulls": "1",
        "z": "8",
        "blocks": "2",
        "kept": "2",
        "block_rows": "64",
    }
    assert heavy.type == "acc-token-blocks-v1" and light.type == "acc-sbbf-v1"


def golden() -> tuple[Blob | None, Blob | None, IndexedColumn]:
    return build([[*WORDS * 10, None], WORDS * 5], {"block_rows": 64})


def write_golden() -> None:
    """For a new format alone."""
    light, heavy, _ = golden()
    assert light is not None and heavy is not None
    (GOLDEN / "token-file.bin").write_bytes(light.data)
    (GOLDEN / "token-blocks.bin").write_bytes(heavy.data)
