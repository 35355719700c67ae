"""Kinds, layouts and shares of what is advised beside cubes, each by itself."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.errors import AdviceStaleError
from accelerator.services.advisor.apply.allowed_ddl import statement_of
from accelerator.services.advisor.indexes.clustering_simulation import (
    PART_ROWS_MIN,
    ClusteringOrder,
    Values,
    layouts,
)
from accelerator.services.advisor.indexes.options import kinds_for
from accelerator.services.advisor.indexes.selectivity import Touched, share
from accelerator.services.advisor.recommend import _in_order
from accelerator.services.advisor.workload.filters import questions
from accelerator.store.journals.advice import Advice, Recommendation, decoded, encoded
from indexes.kinds import KINDS
from indexes.question import Among, Compare, IsNull, Like, Tokens, Within
from rewrite.ir.expr import Call, Column, Literal

A, B = Column(0, 1, "a", "bigint"), Column(0, 2, "b", "string")


def equals(column: Column, value: object) -> Call:
    return Call("=", (column, Literal(str(value), column.type)), "boolean")


def within(low: int, high: int) -> list[Call]:
    ends = ((">=", low), ("<=", high))
    return [Call(op, (A, Literal(str(value), "bigint")), "boolean") for op, value in ends]


@pytest.mark.parametrize(
    ("question", "type_"),
    [
        (Among((5,)), "bigint"),
        (Among((b"x",)), "string"),
        (Compare("<", 5), "bigint"),
        (Within(3, 5), "date"),
        (IsNull(), "double"),
        (Like(("abc",), starts=True), "string"),
        (Like(("abcd",)), "string"),
        (Tokens(("abc",)), "string"),
        (Compare("<", 1), "boolean"),
    ],
)
def test_some_kind_takes_the_type_and_can_be_asked_or_keeps_rows(question, type_):
    """None of those that are tried is one that could never answer."""
    found = kinds_for(question, type_)
    assert found
    for name in found:
        kind = KINDS[name]
        options = kind.options(type_, {})
        light = kind.asked(question, type_, options) is not None
        assert light or "BITMAP" in name, name


def test_questions_are_found_in_any_part():
    none = Call("is_null", (B,), "boolean")
    whole = Call("or", (Call("not", (equals(A, 5),), "boolean"), none), "boolean")
    assert list(questions(whole)) == [(A, Among((5,))), (B, IsNull())]
    other = Call("<>", (A, Literal("5", "bigint")), "boolean")
    assert list(questions(other)) == [(A, Among((5,)))]
    assert list(questions(Call("=", (A, Call("+", (A, A), "bigint")), "boolean"))) == []


numbers = st.lists(st.none() | st.integers(-50, 50), min_size=60, max_size=400)
words = st.sampled_from(["", "a", "ab", "b", "ß", "zz"])


@settings(max_examples=60, deadline=None)
@given(numbers, st.data())
def test_no_part_with_a_match_is_left_out(values, data):
    """And of rows sorted by the column, hardly a part without one is read."""
    texts = data.draw(st.lists(st.none() | words, min_size=len(values), max_size=len(values)))
    columns = {1: (pa.array(values, pa.int64()), "bigint"), 2: (pa.array(texts), "string")}
    sample = Values(columns)
    layout = data.draw(st.sampled_from(list(layouts([1, 2]))))
    parts = data.draw(st.integers(1, 8))
    low = data.draw(st.integers(-60, 60))
    high = low + data.draw(st.integers(0, 20))
    word = data.draw(words)
    asked = [within(low, high), [equals(B, word)], [*within(low, high), equals(B, word)]]
    count = max(1, min(parts, len(values) // PART_ROWS_MIN))
    order = sample._order(layout)
    starts = np.linspace(0, len(values), count, endpoint=False).astype(int)
    ends = [*starts[1:], len(values)]
    told = sample.touched(layout, parts, asked)

    def holds(row: int) -> tuple[bool, bool, bool]:
        number = values[row] is not None and low <= values[row] <= high
        return number, texts[row] == word, number and texts[row] == word

    for place, found in enumerate(told):
        having = [
            any(holds(row)[place] for row in order[a:b]) for a, b in zip(starts, ends, strict=True)
        ]
        assert round(found * count) >= sum(having)
        if layout == ClusteringOrder("sort", (place + 1,)) and place < 2:
            assert round(found * count) <= sum(having) + 1


def test_a_curve_serves_both_and_a_sort_the_first():
    random = np.random.default_rng(0)
    values = {n: (pa.array(random.integers(0, 1_000, 20_000)), "bigint") for n in (1, 2)}
    other = Column(0, 2, "c", "bigint")
    asked = [[equals(A, 500)], [equals(other, 500)]]
    sample = Values(values)
    first, second = sample.touched(ClusteringOrder("sort", (1,)), 64, asked)
    assert first < 0.05 and second > 0.9
    both = sample.touched(ClusteringOrder("hilbert", (1, 2)), 64, asked)
    assert max(both) < 0.3


@given(st.floats(0, 1e9), st.integers(1, 100), st.floats(0, 1), st.booleans())
def test_a_share_is_one_and_a_sample_promises_less(size, files, part, whole):
    now, then = Touched(size, files), Touched(size * part, int(files * part))
    found = share(now, then, whole=whole)
    assert 0 <= found <= 1
    assert share(now, then, whole=False) >= share(now, then, whole=True) - 1e-9


def one(action: str, ddl: str, **told) -> Recommendation:
    return Recommendation("r0123456789ab", action, "lake.d.f", "u", "", ddl, "", **told)


def test_what_is_needed_comes_before():
    relate = replace(one("ADD RELATE COLUMN", ""), id="r000000000001")
    small = replace(one("CREATE INDEX", "", gain_ms=2.0, needs=(relate.id,)), id="r000000000002")
    large = replace(one("OPTIMIZE", "", gain_ms=5.0), id="r000000000003")
    assert [o.id[-1] for o in _in_order([relate, small, large])] == ["3", "1", "2"]


def test_the_first_version_is_read():
    cube = Recommendation("r0123456789ab", "DROP CUBE", "lake.d.f", "u", "c", "DROP CUBE c", "")
    said = Advice(1_000, "u", "lake.d.f", 10, 1.0, recommendations=(cube,))
    raw = json.loads(encoded(said)) | {"version": 1}
    for later in ("index", "relate", "object_id", "needs"):
        del raw["recommendations"][0][later]
    assert decoded(json.dumps(raw).encode()) == said
    raw["recommendations"][0]["action"] = "DROP INDEX"
    with pytest.raises(ValueError, match="action"):
        decoded(json.dumps(raw).encode())


@pytest.mark.parametrize(
    ("made", "harmful"),
    [
        (
            one("DROP INDEX", "DROP INDEX i", index="i"),
            ("DROP INDEX j", "DROP INDEX IF EXISTS i", "DROP CUBE i"),
        ),
        (
            one("OPTIMIZE", "OPTIMIZE lake.d.f SORT BY (a)"),
            (
                "OPTIMIZE lake.d.g SORT BY (a)",
                "OPTIMIZE lake.d.f SORT BY (a) WITH (row_group_mb = 1)",
                "DROP TABLE lake.d.f",
            ),
        ),
        (
            one(
                "ADD RELATE COLUMN",
                "ALTER TABLE lake.d.f ADD RELATE COLUMN FROM lake.d.s.r"
                " ON lake.d.f.k = lake.d.s.k AS r",
                relate="r",
            ),
            (
                "ALTER TABLE lake.d.f ADD RELATE COLUMN FROM lake.d.s.r"
                " ON lake.d.f.k = lake.d.s.k AS q",
                "ALTER TABLE lake.d.f ADD RELATE COLUMN FROM lower(lake.d.s.r)"
                " ON lake.d.f.k = lake.d.s.k AS r",
            ),
        ),
        (
            one("DROP RELATE COLUMN", "ALTER TABLE lake.d.f DROP RELATE COLUMN r", relate="r"),
            ("ALTER TABLE lake.d.f DROP RELATE COLUMN q", "ALTER TABLE lake.d.f DROP COLUMN r"),
        ),
    ],
)
def test_a_ddl_does_what_its_action_says_and_nothing_else(made, harmful):
    assert statement_of(made)
    for ddl in harmful:
        with pytest.raises(AdviceStaleError):
            statement_of(replace(made, ddl=ddl))
