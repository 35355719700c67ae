"""BITMAP at sizes where its parts count: blocks of the dictionary, bins, cuts, what a probe reads.

Strategy: columns of thousands of rows in several layouts, under limits made small, so that every
way to an answer is gone; the truth is numpy's. What every kind promises stands in `test_kinds.py`.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyroaring import BitMap

from indexes.domains import NotIndexableError, to_domain
from indexes.inverted import dictionary, reader, writer
from indexes.inverted.cells import ColumnCells, cells_of
from indexes.inverted.reader import TYPE, parse_head
from indexes.kind import Blob, IndexedColumn, OptionError
from indexes.kinds.bitmap import Bitmap
from indexes.puffin import footer_of, write_sidecar
from indexes.question import Among, Compare, IsNull, Like
from indexes.row_verdict import Certainty
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
KIND = Bitmap()


class Opened:
    """A file's blob, and what was read of it."""

    def __init__(self, values: pa.Array, type_: str, groups=None, **options):
        self.column = IndexedColumn(type_, tuple(groups or [len(values)]))
        builder = KIND.builder(self.column, KIND.options(type_, {"rows": True, **options}))
        builder.add(to_domain(values, type_))
        (blob,) = builder.finish()
        self.blob, self.data = replace(blob, data=b""), blob.data
        self.reads: list[int] = []
        self.head = parse_head(self.data, self.blob.properties["domain"])

    def read(self, offset: int, length: int) -> bytes:
        self.reads.append(length)
        return self.data[offset : offset + length]

    def probe(self, question):
        self.reads.clear()
        return KIND.probe(self.blob, self.read, question, self.column)

    def probe_blocks(self, question):
        return KIND.probe_blocks(self.blob, self.read, question, self.column)

    def held(self):
        return ColumnCells.open(self.blob, self.read, self.column)


def layout(how: str, rows: int, ndv: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.integers(0, ndv, rows)
    if how == "sorted":
        return np.sort(values)
    if how == "runs":
        return np.repeat(values[: rows // 50 + 1], 50)[:rows]
    return np.minimum(random.zipf(1.3, rows), ndv) if how == "skewed" else values


@settings(max_examples=sized(6, full=12), deadline=None)
@given(
    st.sampled_from(["random", "sorted", "runs", "skewed"]),
    st.sampled_from([300, 9_000, 70_000]),
    st.sampled_from([1, 2, 40, 3000]),
    st.fixed_dictionaries({
        "rows": st.booleans(),
        "bins": st.sampled_from([0, 1, 3, 64]),
        "block_rows": st.sampled_from([0, 64, 1000]),
    }),
    st.sampled_from(["bigint", "double", "string"]),
    st.sampled_from([(4 << 20, 64 << 10), (0, 0), (2000, 200)]),
    st.integers(0, 2**32),
)  # fmt: skip
def test_every_way_to_an_answer(how, rows, ndv, options, type_, limits, seed):
    numbers = layout(how, rows, ndv, seed)
    random = np.random.default_rng(seed + 1)
    nulls = random.random(rows) < random.choice([0, 0.1])
    form = {
        "bigint": lambda n: int(n) - 20, "double": lambda n: float(n) / 7 - 1,
        "string": lambda n: f"k{int(n):04d}",
    }[type_]  # fmt: skip
    every = [form(n) for n in numbers.tolist()]
    groups = [rows // 3, 0, rows - rows // 3]

    def asked(value):
        return value.encode() if isinstance(value, str) else value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionary, "BLOCK_SIZE", 300)
        patch.setattr(writer, "_CHUNK", 1000)
        patch.setattr(writer, "_FLUSH_ROWS", 2000)
        patch.setattr(writer, "_CUTS_LEAST", 500)
        patch.setattr(reader, "EXACT_BYTES", limits[0])
        patch.setattr(reader, "EXACT_ROWS", 1 << 30)
        patch.setattr(reader, "_EDGE_BYTES", limits[1])
        opened = Opened(pa.array(every, mask=nulls), type_, groups, **options)
        picked = sorted({0, ndv // 3, ndv // 3 + 1, ndv // 2, ndv - 1, ndv + 3})
        ops = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
        cases = [
            (Compare(op, asked(form(code))), test(numbers, code))
            for code in picked
            for op, test in ops.items()
        ]
        cases += [(Among((asked(form(code)),)), numbers == code) for code in picked]
        several = picked[1:] + [int(c) for c in random.integers(0, ndv, 5)]
        cases.append((Among(tuple(asked(form(c)) for c in several)), np.isin(numbers, several)))
        if type_ == "string":
            cases.append((Like(("k00",), starts=True), numbers < 100))
            cases.append(
                (Like(("1", "2")), np.array([0 <= t.find("1") < t.rfind("2") for t in every]))
            )
        for question, held in cases:
            for verdict in (opened.probe(question), opened.probe_blocks(question)):
                true = BitMap(np.flatnonzero(held & ~nulls).tolist())
                false = BitMap(np.flatnonzero(~held & ~nulls).tolist())
                assert verdict.true.lower <= true <= verdict.true.upper
                assert verdict.false.lower <= false <= verdict.false.upper
            verdict = opened.probe(question)
            if options["rows"] and limits[0] == 4 << 20:
                assert verdict.certainty is Certainty.EXACT


@pytest.mark.parametrize("type_", ["bigint", "double", "string"])
def test_long_lists_are_answered_as_short_ones(type_, monkeypatch):
    form = {"bigint": int, "double": lambda n: n / 7, "string": lambda n: f"k{n:04d}".encode()}
    monkeypatch.setattr(dictionary, "BLOCK_SIZE", 300)
    opened = Opened(pa.array([form[type_](n % 500) for n in range(0, 3000, 2)]), type_, [1500])
    for numbers in (range(100, 300), range(-50, 900, 7), range(1, 400, 2), range(900, 999)):
        values = tuple(form[type_](n) for n in numbers)
        short = []
        for at in range(0, len(values), 20):
            short.append(opened.probe(Among(values[at : at + 20])).true.upper)
        long = opened.probe(Among(values))
        assert long.true.upper == long.true.lower == BitMap().union(*short)
    rows = [row for row in range(1500) if row * 2 % 500 in range(100, 300)]
    assert opened.probe(Among(tuple(map(form[type_], range(100, 300))))).true.upper == BitMap(rows)


def test_ranges_beyond_the_limit_are_told_by_cuts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "EXACT_BYTES", 0)
        patch.setattr(reader, "EXACT_ROWS", 1 << 30)
        opened = Opened(pa.array(layout("random", 200_000, 5000, 1)), "bigint")
        verdict = opened.probe(Compare("<", 2600))
        assert verdict.certainty is Certainty.BETWEEN
        assert 0.4 < len(verdict.true.lower) / 200_000 < len(verdict.true.upper) / 200_000 < 0.65


def test_blocks_tell_which_rows_of_a_clustered_column_match():
    opened = Opened(pa.array(np.arange(100_000) // 100), "bigint", block_rows=1000, rows=False)
    assert opened.probe(Among((77,))).true.upper == BitMap(range(7000, 8000))
    verdict = opened.probe(Compare("<", 505))
    assert verdict.true.upper == BitMap(range(51_000))
    # Bins say of most blocks that they hold nothing else, so NOT is told as well.
    assert len(verdict.true.lower) > 45_000
    assert len((~verdict).true.upper) < 55_000


@pytest.mark.parametrize("question", [Compare("<", 1605), Compare(">=", 2003), Like(("v1",), True)])
def test_bins_with_their_edges_tell_just_the_blocks(question):
    jitter = np.random.default_rng(4).integers(0, 900, 70_000)
    numbers = np.arange(70_000) // 64 * 2 + jitter
    if isinstance(question, Like):
        texts = [f"v{n:04d}" for n in numbers]
        opened = Opened(pa.array(texts), "string", block_rows=64)
        held = (numbers >= 1000) & (numbers < 2000)
    else:
        opened = Opened(pa.array(numbers), "bigint", block_rows=64)
        held = numbers < 1605 if question.op == "<" else numbers >= 2003
    rows = np.flatnonzero(np.repeat(np.bincount(np.arange(70_000) // 64, held) > 0, 64)[:70_000])
    opened.reads.clear()
    assert opened.probe_blocks(question).true.upper == BitMap(rows.tolist())
    assert sum(opened.reads) < int(opened.head.sections[2] - opened.head.sections[1]) / 2


def test_a_probe_reads_what_it_needs():
    rows = 1_000_000
    opened = Opened(pa.array(layout("random", rows, 20_000, 3)), "bigint")
    opened.probe(Among((777,)))
    assert len(opened.reads) == 3  # the head with the NULLs, a block of the dictionary, the set
    assert sum(opened.reads) < 30_000 < len(opened.data) / 50
    assert opened.probe(IsNull()).certainty is Certainty.EXACT
    assert len(opened.reads) == 1
    opened.probe(Compare("<", 10_000))
    assert sum(opened.reads) < rows // 4 + 60_000
    opened.probe(Among((777, 778, 779)))
    assert len(opened.reads) <= 4


def test_size_is_bounded_as_documented():
    rows = 300_000
    for ndv in (2, 100, 5000, 90_000):
        opened = Opened(pa.array(layout("random", rows, ndv, 3)), "bigint")
        assert len(opened.data) < 6 * rows + (16 << 10) + 40 * ndv + rows // 8 + 4096


def test_texts_are_in_the_order_of_their_bytes():
    texts = ["", "z", "é", "\uffee", "\U0001f600", "a\x00", "a", None]
    opened = Opened(pa.array(texts), "string")
    assert opened.held().values().to_pylist() == sorted(t.encode() for t in texts if t is not None)
    assert opened.probe(Compare(">", "\uffee".encode())).true.lower == BitMap([4])
    assert opened.probe(Like(("\U0001f600",))).true.lower == BitMap([4])
    assert opened.probe(Like(("",), starts=True, ends=True)).true.lower == BitMap([0])
    assert opened.probe(Like(())).true.lower == BitMap(range(7))


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        (Like(("ab", "b"), starts=True, ends=True), [1]),
        (Like(("a", "b", "b"), ends=True), [1]),
        (Like(("ab", "b"), ends=True), [1]),
        (Like(("b", "b")), [1]),
        (Like(("ab",), starts=True, ends=True), [0]),
        (Like(("b",), ends=True), [0, 1]),
        (Like(("a", "a")), []),
    ],
)
def test_runs_do_not_overlap(question, rows):
    assert Opened(pa.array(["ab", "abb"]), "string").probe(question).true.lower == BitMap(rows)


@pytest.mark.parametrize(
    "question",
    [
        Like(("a",), folded=True),
        Like(("\ufffd",)),
        Like(("\ud83d",)),
        Like((), starts=True),
        Among((1,)),
        Among((b"a", 1.0)),
        Compare("<", 1),
        Compare("<=>", b"a"),
    ],
)
def test_what_it_cannot_tell_of_texts(question):
    assert Opened(pa.array(["a", "b"]), "string").probe(question) is None


def test_what_it_cannot_tell_of_numbers():
    whole, floating = Opened(pa.array([1, 2]), "bigint"), Opened(pa.array([1.0]), "double")
    for question in (Among((1.0,)), Among((b"1",)), Compare("<", 1.5), Like(("1",))):
        assert whole.probe(question) is None
    for question in (Among((1,)), Compare("<", 1)):
        assert floating.probe(question) is None
    assert Opened(pa.array([b"a"]), "binary").probe(Like(("a",))) is None
    # Values that no 64 bits hold are in no row.
    assert whole.probe(Among((1 << 70, 2))).true.lower == BitMap([1])
    assert whole.probe(Compare("<", 1 << 70)).true.lower == BitMap([0, 1])
    assert whole.probe(Compare("<", -(1 << 70))).true.upper == BitMap()


def test_a_value_of_another_domain_says_nothing_of_one_that_equals_it():
    """To a dict 1.0 and 1 are one key."""
    file = Opened(pa.array([1, 2, None]), "bigint")
    assert file.probe(Among((1.0,))) is None
    assert file.probe(Among((1,))).true.lower == BitMap([0])


def test_a_large_dictionary_is_not_compared_text_by_text():
    texts = [f"{n % 7}-{blake2b(b'%d' % n).hexdigest() * 3}-{n}" for n in range(5000)]
    opened = Opened(pa.array(texts), "string")
    assert opened.probe(Like(("-49",))) is None
    verdict = opened.probe(Like(("3-", "-49"), starts=True))
    assert verdict.certainty is Certainty.EXACT  # a part of it is
    assert verdict.true.lower == BitMap(
        [n for n in range(3, 5000, 7) if texts[n].find("-49", 2) > 0]
    )
    longer = Opened(pa.array([f"3-{text}" for text in texts]), "string")
    verdict = longer.probe(Like(("3-", "-49"), starts=True))
    assert verdict.certainty is Certainty.AT_MOST
    assert verdict.true.upper == BitMap(range(5000))


def test_promoted_columns_keep_their_index():
    cents = pa.array([1, 2]).cast(pa.decimal128(21, 2))
    for type_, wider, values, question in [
        ("int", "bigint", pa.array([1, 2], pa.int32()), Among((2,))),
        ("float", "double", pa.array([0.1, 0.2], pa.float32()), Compare(">", 0.15)),
        ("decimal(9,2)", "decimal(18,2)", cents, Among((200,))),
    ]:
        opened = Opened(values, type_)
        opened.column = IndexedColumn(wider, opened.column.row_groups)
        assert opened.probe(question).true.lower == BitMap([1])
    opened.column = IndexedColumn("decimal(18,3)", opened.column.row_groups)
    assert opened.probe(question) is None
    assert opened.held() is None


def test_values_may_come_in_any_parts():
    values = pa.array(layout("skewed", 5000, 300, 9))
    column, options = IndexedColumn("bigint", (2000, 3000)), KIND.options("bigint", {})
    whole, parts = KIND.builder(column, options), KIND.builder(column, options)
    whole.add(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_FLUSH_ROWS", 500)
        for at in range(0, 5000, 37):
            parts.add(values.slice(at, 37))
        assert parts.finish() == whole.finish()


def test_no_blob_where_it_would_not_do():
    column = IndexedColumn("bigint", (10,))
    for given_options in ({"ndv_max": 9}, {"ndv_max": 1}):
        builder = KIND.builder(column, KIND.options("bigint", given_options))
        builder.add(pa.array(range(10)))
        assert builder.finish() == ()
    builder = KIND.builder(IndexedColumn("bigint", ()), KIND.options("bigint", {}))
    assert builder.finish() == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_DICTIONARY_MAX", 100)
        builder = KIND.builder(IndexedColumn("string", (2,)), KIND.options("string", {}))
        builder.add(pa.array([b"x" * 99, b"y" * 99], pa.large_binary()))
        assert builder.finish() == ()


def test_rows_must_be_all_of_them():
    builder = KIND.builder(IndexedColumn("bigint", (10,)), KIND.options("bigint", {}))
    builder.add(pa.array(range(9)))
    with pytest.raises(ValueError, match="9 rows were given of 10"):
        builder.finish()


def test_the_light_blob_is_of_distinct_values():
    class Light:
        def blobs(self, distinct, column, nulls):
            return [Blob("light", repr((distinct.to_pylist(), column.rows, nulls)).encode(), True)]

        def asked(self, question, type_, options):
            return ((1, 2),)

    kind = Bitmap(Light())
    builder = kind.builder(IndexedColumn("double", (4,)), kind.options("double", {}))
    builder.add(pa.array([2.0, None, -1.5, 2.0]))
    heavy, light = builder.finish()
    assert (heavy.type, heavy.light) == (TYPE, False)
    assert (light.data, light.light) == (b"([-1.5, 2.0], 4, 1)", True)
    assert kind.asked(IsNull(), "double", {}) == ((1, 2),)
    assert KIND.asked(IsNull(), "double", {}) is None


def test_options():
    whole = {"bins": 64, "block_rows": 8192, "ndv_max": 100_000}
    assert KIND.options("bigint", {}) == {"rows": "auto", **whole}
    assert KIND.options("bigint", {"rows": True})["rows"] is True
    assert KIND.options("bigint", {"rows": "AUTO"})["rows"] == "auto"
    changed = KIND.options("string", {"rows": "FALSE", "bins": "8", "block_rows": 0})
    assert changed == {**whole, "rows": False, "bins": 8, "block_rows": 0}
    for wrong, says in [
        ({"bin": 1}, "no option bin: rows, bins, block_rows, ndv_max"),
        ({"rows": 1}, "rows is true, false or auto, not 1"),
        ({"bins": 1025}, "bins is from 0 to 1024, not 1025"),
        ({"bins": -1}, "bins is a whole number, not -1"),
        ({"bins": 1.5}, "bins is a whole number, not 1.5"),
        ({"bins": True}, "bins is a whole number, not True"),
        ({"block_rows": 63}, "block_rows is 0 or at least 64"),
        ({"ndv_max": 0}, "ndv_max is from 1 to 10000000, not 0"),
    ]:
        with pytest.raises(OptionError, match=says):
            KIND.options("bigint", wrong)
    for type_ in ("array<int>", "struct<a:int>", "interval", "variant"):
        with pytest.raises(NotIndexableError):
            KIND.options(type_, {})


QUESTIONS = [
    IsNull(),
    Among((b"a2",)),
    Among((b"a1", b"a9", b"zz")),
    Compare("<", b"a7"),
    Like(("a1",), starts=True),
    Like(("3",), ends=True),
]


def answers(opened: Opened) -> list:
    told = [opened.probe(question) for question in QUESTIONS]
    told += [opened.probe_blocks(question) for question in QUESTIONS]
    for chosen in (None, BitMap([0, *range(2, 300)])):
        held = opened.held()
        found = cells_of([held], [("rows", None)], 300, chosen)
        told += [part.to_pylist() for part in (*found.keys, *found.states)]
    return told


def sample() -> Opened:
    texts = [None if n % 11 == 0 else f"a{n * n % 23}" for n in range(300)]
    return Opened(pa.array(texts), "string", [150, 150], block_rows=64, bins=4)


@pytest.mark.parametrize(
    ("how", "rows", "ndv", "kept"),
    [
        ("random", 300_000, 1_000, False),
        ("random", 300_000, 2, False),
        ("random", 50_000, 300, False),
        ("random", 5_000, 5, True),  # few bytes in any case
        ("runs", 300_000, 1_000, True),
        ("sorted", 300_000, 1_000, True),
        ("sorted", 50_000, 300, True),
        ("sorted", 300_000, 290_000, False),
    ],
)
def test_rows_are_kept_where_they_cost_no_more_than_the_column(how, rows, ndv, kept):
    values = pa.array(layout(how, rows, ndv, 5))
    chosen = Opened(values, "bigint", rows="auto", ndv_max=1_000_000)
    other = Opened(values, "bigint", rows=kept, ndv_max=1_000_000)
    assert (chosen.blob, chosen.data) == (other.blob, other.data)
    assert chosen.blob.properties["level"] == ("rows" if kept else "blocks")
    if not kept:
        column = rows * math.log2(ndv) / 8 + 8 * ndv
        assert len(Opened(values, "bigint", ndv_max=1_000_000).data) > column
        assert len(chosen.data) < len(Opened(values, "bigint", ndv_max=1_000_000).data)


def test_every_altered_byte_is_refused_or_harmless():
    opened = sample()
    right, data, refused = answers(opened), opened.data, 0
    for at in range(len(data)):
        opened.data = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        try:
            assert answers(opened) == right
        except ValueError as error:
            refused += 1
            assert str(error)
    harmless = len(data) - refused
    assert harmless <= int(opened.head.sections[-1] - opened.head.sections[-2])  # cuts not needed


def test_every_cut_is_refused_or_harmless():
    opened = sample()
    right, data = answers(opened), opened.data
    for size in range(len(data)):
        opened.data = data[:size]
        try:
            assert answers(opened) == right
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(
    "change",
    [
        lambda opened: setattr(opened, "blob", replace(opened.blob, type="acc-bitmap-v2")),
        lambda opened: setattr(opened, "blob", replace(opened.blob, properties={})),
        lambda opened: opened.blob.properties.update(head="11"),
        lambda opened: opened.blob.properties.update(head="x"),
        lambda opened: opened.blob.properties.update(head=str(1 << 30)),
        lambda opened: setattr(opened, "column", IndexedColumn("string", (299,))),
        lambda opened: (
            opened.blob.properties.update(domain="int64"),
            setattr(opened, "column", IndexedColumn("bigint", (300,))),
        ),
    ],
)
def test_what_does_not_belong_together_is_refused(change):
    opened = sample()
    change(opened)
    for question in QUESTIONS:
        with pytest.raises(ValueError):
            opened.probe(question)
    with pytest.raises(ValueError):
        opened.held()


def golden() -> dict[str, Opened]:
    """What the bytes of format 1 are kept of; never change these, add others."""
    spread = layout("random", 70_000, 3, 7) * 10 - 10
    dates = pa.array(spread.astype(np.int32)).cast(pa.date32())
    numbers = pa.array([None if n % 10 == 3 else n * n % 17 - 8 for n in range(500)])
    floats = pa.array([math.nan, -0.0, None, -math.inf, 1.5, 0.0, math.inf])
    return {
        "bitmap-string": sample(),
        "bitmap-bigint-blocks": Opened(numbers, "bigint", [500], rows=False, bins=3),
        "bitmap-double": Opened(floats, "double", [4, 3], bins=0),
        "bitmap-date-roaring": Opened(dates, "date", [70_000], bins=2),
        "bitmap-all-null": Opened(pa.array([None] * 9, pa.int32()), "int"),
    }


def sidecar(opened: Opened) -> bytes:
    return write_sidecar([(replace(opened.blob, data=opened.data), 1)], opened.column.rows)[0]


@pytest.mark.parametrize("name", sorted(golden()))
def test_golden_bytes(name):
    """Old files are read for ever; changed bytes need another blob type and files of their own."""
    opened = golden()[name]
    kept = (GOLDEN / f"{name}.puffin").read_bytes()
    (blob,) = footer_of(lambda offset, length: kept[offset : offset + length], len(kept))
    own = ("crc32", "light", "record-count")
    told = {key: value for key, value in blob.properties.items() if key not in own}
    assert Blob(blob.type, b"", blob.properties["light"] == "true", told) == opened.blob
    assert kept[blob.offset : blob.offset + blob.length] == opened.data
    assert sidecar(opened) == kept


@pytest.mark.parametrize("chunk", [1, 7, 999, 1_000, 1_001])
def test_what_rows_take_is_counted_alike_in_any_parts(chunk, monkeypatch):
    for how in ("random", "runs", "sorted"):
        for ndv in (3, 60):
            codes = layout(how, 70_000, ndv, 2)[:2_000].astype(np.int32) % ndv
            keys = pa.array(range(ndv), pa.int64())
            monkeypatch.setattr(writer, "_SETS_LEAST", 0)
            monkeypatch.setattr(writer, "_CHUNK", 1 << 20)
            whole = writer.rows_pay(keys, codes)
            monkeypatch.setattr(writer, "_CHUNK", chunk)
            assert writer.rows_pay(keys, codes) == whole
