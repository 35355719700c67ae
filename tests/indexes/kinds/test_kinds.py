"""Every kind against plain evaluation: each type, each question, every layout of rows.

Strategy: random columns of each type, with NULL, NaN, −0.0, infinities, empty texts and ones whose
characters take four bytes, cut into row groups, are indexed with random options. Each question is
evaluated row by row in three-valued logic, and so are trees of AND, OR and NOT over columns.

Invariants: a verdict encloses the rows that are TRUE and those that are FALSE; a kind that can be
exact is; light blobs hold a hash of each clause, or a key of an interval, wherever a row is TRUE; a
kind joins by its entry in `KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from indexes.domains import INT64, domain_of, to_domain
from indexes.kind import Blob, IndexedColumn, Intervals, Kind
from indexes.kinds import BITMAP, BLOOM, NGRAM_BITMAP, NGRAM_BLOOM, RANGE, TOKEN_BITMAP, TOKEN_BLOOM
from indexes.kinds.bloom import answers
from indexes.question import Among, Compare, IsNull, Like, Tokens, Within
from indexes.range.filters import answers as answers_range
from indexes.row_verdict import RowVerdict
from indexes.text.tokens import tokens_of
from tests.support.extent import sized

NOTHING = st.just({})


@dataclass(frozen=True)
class Tried:
    """A kind, its options, and what is asked of it. `holds`: (light blob, hash) → may it be there;
    `exact`: (options, question) → must it be exact."""

    kind: Kind
    options: st.SearchStrategy[dict]
    types: frozenset[str]
    holds: Callable[[Blob, int], bool] | None = None
    exact: Callable[[dict, object], bool] = lambda options, question: False


WHOLE = st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))
FLOATS = st.one_of(
    st.sampled_from([-0.0, 0.0, math.inf, -math.inf, math.nan, 5e-324]), st.floats(-2, 2)
)
LETTERS = "abA%_\x00é中文\U0001f600\U0010ffff"
TEXTS = st.text(LETTERS, max_size=4)
DAYS = st.integers(-(2**20), 2**20)
ARROW = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int32(), st.integers(-3, 3)),
    "int": (pa.int32(), st.one_of(st.integers(-3, 3), st.sampled_from([-(2**31), 2**31 - 1]))),
    "bigint": (pa.int64(), WHOLE),
    "date": (pa.date32(), DAYS),
    "timestamp": (pa.timestamp("us", "UTC"), WHOLE),
    "float": (pa.float32(), FLOATS.map(lambda x: float(np.float32(x)))),
    "double": (pa.float64(), FLOATS),
    "decimal(10,2)": (pa.decimal128(10, 2), st.integers(-300, 300)),
    "decimal(38,0)": (pa.decimal128(38, 0), WHOLE),
    "string": (pa.string(), TEXTS),
    "binary": (pa.binary(), st.binary(max_size=3)),
}

ALL = frozenset(ARROW)


def holds(blob: Blob, value: int) -> bool:
    return answers(blob, ((value,),))


KINDS = [
    Tried(
        BITMAP,
        st.fixed_dictionaries(
            {},
            optional={
                "rows": st.sampled_from([True, False, "auto"]),
                "bins": st.sampled_from([0, 1, 2, 5, 64]),
                "block_rows": st.sampled_from([0, 64, 8192]),
            },
        ),
        ALL,
        holds,
        lambda options, question: (
            options["rows"]
            and getattr(question, "exact", True)
            and not isinstance(question, Tokens)
        ),
    ),
    Tried(
        BLOOM,
        st.fixed_dictionaries(
            {},
            optional={
                "bits_per_value": st.sampled_from([4, 10.5, 40]),
                "filter": st.sampled_from(["sbbf", "pybloom"]),
            },
        ),
        ALL,
        holds,
    ),
    Tried(
        NGRAM_BLOOM,
        st.fixed_dictionaries(
            {},
            optional={
                "gram": st.sampled_from([2, 3, 4]),
                "folded": st.booleans(),
                "block_rows": st.sampled_from([64, 8192]),
            },
        ),
        frozenset({"string"}),
        holds,
    ),
    Tried(
        RANGE,
        st.fixed_dictionaries(
            {},
            optional={
                "bits_per_value": st.sampled_from([4, 10, 40]),
                "mode": st.sampled_from(["auto", "bucket", "gaps", "bloomrf"]),
            },
        ),
        ALL,
    ),
    Tried(
        TOKEN_BLOOM,
        st.fixed_dictionaries(
            {},
            optional={
                "block_rows": st.sampled_from([64, 8192]),
                "bits_per_token": st.sampled_from([4, 10, 40]),
            },
        ),
        frozenset({"string"}),
        holds,
    ),
    Tried(
        TOKEN_BITMAP,
        st.fixed_dictionaries(
            {},
            optional={
                "rows": st.booleans(),
                "block_rows": st.sampled_from([16, 1024]),
                "bits_per_token": st.sampled_from([4, 10]),
            },
        ),
        frozenset({"string"}),
        holds,
        lambda options, question: options["rows"] and bool(getattr(question, "tokens", ())),
    ),
    Tried(
        NGRAM_BITMAP,
        st.fixed_dictionaries(
            {},
            optional={
                "gram": st.sampled_from([2, 3, 4]),
                "folded": st.booleans(),
                "block_rows": st.sampled_from([16, 64, 256]),
            },
        ),
        frozenset({"string"}),
        holds,
    ),
]


def arrow(values: list, type_: str) -> pa.Array:
    """As a data file has them."""
    stored, _ = ARROW[type_]
    if pa.types.is_decimal(stored):
        words = [(None if v is None else v % (1 << 128)) for v in values]
        data = b"".join((v or 0).to_bytes(16, "little") for v in words)
        mask = np.packbits(
            np.array([v is not None for v in values], bool), bitorder="little"
        ).tobytes()
        return pa.Array.from_buffers(stored, len(values), [pa.py_buffer(mask), pa.py_buffer(data)])
    if pa.types.is_timestamp(stored):
        return pa.array(values, pa.int64()).cast(stored)
    if pa.types.is_date(stored):
        return pa.array(values, pa.int32()).cast(stored)
    return pa.array(values, stored)


def in_domain(value, type_: str):
    """The value as questions have it."""
    if type_ == "string":
        return value.encode()
    return int(value) if domain_of(type_) == INT64 else value


@dataclass(frozen=True)
class File:
    """A column of a data file and the blobs of its index."""

    tried: Tried
    column: IndexedColumn
    values: list
    options: dict
    blobs: list[Blob]

    def verdict(self, question) -> RowVerdict:
        """What all of the file's blobs prove."""
        found = RowVerdict.unknown(self.column.rows)
        for blob in self.blobs:
            if blob.light:
                continue
            bare = Blob(blob.type, b"", False, blob.properties)
            data = blob.data
            told = self.tried.kind.probe(
                bare, lambda o, n, d=data: d[o : o + n], question, self.column
            )
            found = found if told is None else found.also(told)
        return found


@st.composite
def files(draw, tried: Tried, type_: str, groups: list[int]):
    """One file of the kind, with so many rows in each row group."""
    _, values = ARROW[type_]
    pool = draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=8))
    some = st.lists(st.sampled_from(pool), min_size=12, max_size=12)
    column_values: list = []
    for count in groups:
        wave = draw(some)
        if draw(st.booleans()):
            wave = [value for value in wave for _ in range(7)]
        column_values += (wave * (count // len(wave) + 1))[:count]
    given_options = draw(tried.options)
    options = dict(tried.kind.options(type_, given_options))
    return built(tried, IndexedColumn(type_, tuple(groups)), column_values, options)


def built(tried: Tried, column: IndexedColumn, values: list, options: dict) -> File:
    builder = tried.kind.builder(column, options)
    at = 0
    for count in column.row_groups:
        builder.add(to_domain(arrow(values[at : at + count], column.type), column.type))
        at += count
    return File(tried, column, values, options, list(builder.finish()))


GROUPS = st.builds(
    lambda counts, repeat: [count * repeat for count in counts],
    st.lists(st.integers(0, 12), max_size=4),
    st.sampled_from([1, 1, 7, 40]),
)


def questions(file: File) -> list[st.SearchStrategy]:
    """Of each sort of question one over that column, mostly about values that it has."""
    type_ = file.column.type
    values = ARROW[type_][1]
    if held := [value for value in file.values if value is not None]:
        values = st.one_of(st.sampled_from(held), values)
    values = values.map(lambda value: in_domain(value, type_))
    among = st.lists(values, max_size=4).map(lambda some: Among(tuple(some)))
    asked = [st.just(IsNull()), among, among]
    asked += [st.builds(Compare, st.just(op), values) for op in ("<", "<=", ">", ">=")]
    asked.append(st.builds(Within, values, values, st.booleans(), st.booleans()))
    if type_ == "string":
        runs = st.lists(st.text(LETTERS, min_size=1, max_size=2), max_size=3).map(tuple)
        like = st.builds(Like, runs, *[st.booleans()] * 4)
        asked += [like.filter(lambda one: one.runs or not (one.starts or one.ends))] * 3
        asked += [st.builds(in_words, values, st.booleans())] * 2
    return asked


def in_words(text: bytes, folded: bool) -> Tokens:
    return Tokens(tokens_of(text.decode(), folded=folded), folded)


def ordered(value):
    """By Spark's order: NaN is the largest and equals itself, −0.0 equals 0.0."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


def truth(question, value, type_: str) -> bool | None:
    """What the question is on a row: TRUE, FALSE or NULL."""
    if isinstance(question, IsNull):
        return value is None
    if value is None:
        return None
    held = ordered(in_domain(value, type_))
    if isinstance(question, Among):
        return any(held == ordered(one) for one in question.values)
    if isinstance(question, Compare):
        asked = ordered(question.value)
        return {
            "<": held < asked, "<=": held <= asked, ">": held > asked, ">=": held >= asked,
        }[question.op]  # fmt: skip
    if isinstance(question, Within):
        low, high = ordered(question.low), ordered(question.high)
        return (held > low if question.low_open else held >= low) and (
            held < high if question.high_open else held <= high
        )
    if isinstance(question, Tokens):
        return set(question.tokens) <= set(tokens_of(value, folded=question.folded))
    return like(question, value)


def like(question: Like, text: str) -> bool:
    """By trying every place for every run, not by taking the first."""
    runs = question.runs
    if question.folded:
        text, runs = text.lower(), tuple(run.lower() for run in runs)

    def rest(number: int, at: int) -> bool:
        if number == len(runs):
            return at == len(text) or not question.ends
        run = runs[number]
        places = [0] if number == 0 and question.starts else range(at, len(text) + 1)
        return any(
            text.startswith(run, place) and rest(number + 1, place + len(run)) for place in places
        )

    return rest(0, 0)


def loosened(question, value: bool | None):
    """Of a pattern that is asked by its runs alone, a row that doesn't match may be TRUE or not."""
    return {True, False} if value and not getattr(question, "exact", True) else {value}


def proven(verdict: RowVerdict, truths: list[set]) -> None:
    """The verdict encloses what the rows are; a row may be known only to be one of some."""
    rows = range(len(truths))
    assert verdict.rows == len(truths)
    for between, value in ((verdict.true, True), (verdict.false, False)):
        surely = BitMap([row for row in rows if truths[row] == {value}])
        perhaps = BitMap([row for row in rows if value in truths[row]])
        assert between.lower <= surely
        assert perhaps <= between.upper


@pytest.mark.parametrize(
    ("tried", "type_"),
    [(tried, type_) for tried in KINDS for type_ in sorted(tried.types)],
    ids=lambda one: one.kind.name if isinstance(one, Tried) else one,
)
@settings(
    max_examples=sized(6, full=20), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_questions(tried, type_, data):
    file = data.draw(files(tried, type_, data.draw(GROUPS)))
    for question in data.draw(st.tuples(*questions(file))):
        answered(file, question)


def answered(file: File, question) -> None:
    tried, type_ = file.tried, file.column.type
    verdict = file.verdict(question)
    truths = [loosened(question, truth(question, value, type_)) for value in file.values]
    proven(verdict, truths)
    event(f"{type(question).__name__} {verdict.certainty.value}")
    folded = getattr(question, "folded", False)
    if file.blobs and tried.exact(file.options, question) and not folded:
        assert verdict.true.lower == verdict.true.upper
        assert verdict.false.lower == verdict.false.upper
    lights = [blob for blob in file.blobs if blob.light]
    clauses = tried.kind.asked(question, type_, file.options)
    if isinstance(clauses, Intervals):
        told = [answers_range(blob, clauses) for blob in lights]
        event(f"{type(question).__name__} light {told}")
        assert all(told) or not any(True in held for held in truths)
    elif clauses is not None and any(True in held for held in truths):
        for blob in lights:
            assert all(any(tried.holds(blob, value) for value in clause) for clause in clauses)


def trees(leaves, depth: int = 3):
    """Trees of AND, OR and NOT."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        ),
        max_leaves=6,
    )


@settings(
    max_examples=sized(25, full=60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_trees_of_questions_over_several_columns(data):
    fuzzed(data)


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_verdicts_at_length(data):
    fuzzed(data)


def fuzzed(data) -> None:
    groups = data.draw(GROUPS)
    columns = []
    for _ in range(data.draw(st.integers(1, 3))):
        tried = data.draw(st.sampled_from(KINDS))
        type_ = data.draw(st.sampled_from(sorted(tried.types)))
        columns.append(data.draw(files(tried, type_, groups)))
    leaves = st.sampled_from(range(len(columns))).flatmap(
        lambda number: st.tuples(st.just(number), st.one_of(questions(columns[number])))
    )
    tree = data.draw(trees(leaves))

    def verdict(node) -> RowVerdict:
        if node[0] == "not":
            return ~verdict(node[1])
        if node[0] in ("and", "or"):
            one, other = verdict(node[1]), verdict(node[2])
            return one & other if node[0] == "and" else one | other
        return columns[node[0]].verdict(node[1])

    def held(node, row: int) -> set:
        if node[0] == "not":
            return {None if one is None else not one for one in held(node[1], row)}
        if node[0] in ("and", "or"):
            rule = all_of if node[0] == "and" else any_of
            return {rule(a, b) for a in held(node[1], row) for b in held(node[2], row)}
        file, question = columns[node[0]], node[1]
        return loosened(question, truth(question, file.values[row], file.column.type))

    proven(verdict(tree), [held(tree, row) for row in range(sum(groups))])


def all_of(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def any_of(one: bool | None, other: bool | None) -> bool | None:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False
