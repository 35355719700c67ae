"""Shapes: what is a constant, what may be a parameter, that a filled tree is the statement's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite.bind.select import bind_block
from rewrite.ir.block import Block
from rewrite.ir.expr import Expr, Literal, Parameter, transform, walk
from rewrite.parse.bounds import TOKENS_MAX
from rewrite.parse.parse import parse
from rewrite.parse.statement_shape import StatementShape, parametrised, shape_of
from rewrite.reason import DeclinedError
from tests.cubes.star import Star

FIRST = "SELECT g, sum(v) FROM f WHERE "


def _shape(condition: str) -> StatementShape:
    shape = shape_of(f"{FIRST}{condition} GROUP BY g")
    assert shape is not None, condition
    return shape


def _free(condition: str) -> list[str]:
    shape = _shape(condition)
    read = parametrised(shape)
    return [] if read is None else [shape.constants[i].value for i in read[1]]


@pytest.mark.parametrize(
    ("condition", "kinds"),
    [
        ("h = 'x' AND i < 7", ("string", "int")),
        ("dt BETWEEN '2024-01-01' AND '2024-02-30'", ("date", "string")),
        ("c >= 1.50 OR w = 3000000000", ("decimal(3,2)", "bigint")),
        ("`a'1` = 'x' AND d1 = 2", ("string", "int")),
        ("h = '' OR h = 'a \"b\" `c'", ("string", "string")),
    ],
)
def test_constants_are_told_apart_by_type(condition: str, kinds: tuple[str, ...]) -> None:
    shape = _shape(condition)
    assert shape.kinds == kinds
    again = [f"'{c.value}'" if c.type == "string" else c.value for c in shape.constants]
    assert shape.filled(again) == f"{FIRST}{condition} GROUP BY g"


@pytest.mark.parametrize(
    "condition",
    [
        "h = 'it''s'",
        "h = 'a' 'b'",
        "h = r'a'",
        "h = X'1F'",
        r"h = 'a\'b'",
        'h = "a"',
        "h = 'a' -- 'b'",
        "h = /* 1 */ 'b'",
        "i = 10L",
        "x > 1e3",
        "x > .5",
        "x > 1.",
        "h = '${x}'",
        "h = 'convert(1)'",
        "h = 'a\nb'",
        "h = 'open",
        "w = 99999999999999999999999999999999999999999999",
        "i = \uff17",
        "i = 1\u0665",
        "c > 1.\u0967",
    ],
)
def test_a_text_that_is_read_in_more_than_one_way_has_no_shape(condition: str) -> None:
    shape = shape_of(f"{FIRST}{condition} GROUP BY g")
    assert shape is None or condition == "h = 'a' 'b'"  # the parser decides on this one
    assert shape is None or parametrised(shape) is None


@pytest.mark.parametrize(
    ("condition", "free"),
    [
        ("h = 'x' AND i IN (1, 2) AND c BETWEEN 1.5 AND 2.5", ["x", "1", "2", "1.5", "2.5"]),
        ("dt >= DATE '2024-01-01' AND dt < '2025-01-01'", ["2024-01-01", "2025-01-01"]),
        ("h LIKE 'x%' AND i = 1", ["1"]),
        ("i + 1 > 2", ["2"]),
        ("i = -1", []),
        ("year(dt) = 2024", ["2024"]),
        ("CASE WHEN i = 1 THEN h = 'a' ELSE i = 3 END", ["1", "a", "3"]),
        ("dt >= TIMESTAMP '2024-01-01'", ["2024-01-01"]),
        ("dt >= TIMESTAMP'2024-01-01' AND dt < DATE'2024-02-01'", ["2024-01-01", "2024-02-01"]),
        ("dt >= TIMESTAMP '2024-01-01' + INTERVAL 1 DAY", []),
        ("substring(h, 1, 2) = 'ab'", ["ab"]),
    ],
)
def test_operands_of_comparisons_are_parameters(condition: str, free: list[str]) -> None:
    assert _free(condition) == free


def test_more_constants_than_a_text_may_have_tokens_have_no_shape() -> None:
    numbers = ", ".join(["1"] * TOKENS_MAX)
    assert shape_of(f"SELECT a FROM t WHERE b IN ({numbers})") is not None
    assert shape_of(f"SELECT a FROM t WHERE b IN ({numbers}, 1)") is None


def test_only_where_has_parameters() -> None:
    sql = (
        "SELECT i + 1, count_if(v > 2), sum(v) FILTER (WHERE v > 3) FROM f JOIN d ON f.k = d.k AND"
        " d.ok > 4 WHERE i > 5 GROUP BY 1, i HAVING sum(v) > 6 ORDER BY 1 LIMIT 7"
    )
    shape = shape_of(sql)
    assert shape is not None
    read = parametrised(shape)
    assert read is not None
    assert [shape.constants[i].value for i in read[1]] == ["5"]


def test_a_statement_with_our_own_marks_has_no_parameters() -> None:
    assert _free("h = 'acc_parameter_0' AND i = 1") == []
    assert _free("i = 7110000") == []


def test_a_text_that_is_no_date_beside_one_declines_with_a_parameter_too() -> None:
    read = parametrised(_shape("dt = DATE '2024-13-01'"))
    assert read is not None
    with pytest.raises(DeclinedError):
        bind_block(read[0], Star())


_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="'\\$(", exclude_categories=["C"]))
_DATES = st.dates().map(str)
_NUMBERS = st.integers(0, 2**31 - 1).map(str)
_DECIMALS = st.tuples(st.integers(1, 9), st.integers(0, 9)).map(lambda p: f"{p[0]}.{p[1]}")
_CONDITION = "h = '{}' AND dt BETWEEN '{}' AND DATE '{}' AND (i IN ({}, {}) OR c > {})"


def _filled(block: Block, constants: tuple[Literal, ...]) -> tuple[Expr, ...]:
    def fill(expr: Expr) -> Expr | None:
        if isinstance(expr, Parameter):
            return Literal(constants[expr.index].value, expr.type)
        return None

    return tuple(transform(c, fill) for c in block.conjuncts)


@settings(deadline=None)
@given(st.tuples(_WORDS, _DATES, _DATES, _NUMBERS, _NUMBERS, _DECIMALS))
def test_a_filled_tree_is_that_of_the_statement(values: tuple[str, ...]) -> None:
    sql = f"{FIRST}{_CONDITION.format(*values)} GROUP BY g"
    shape = shape_of(sql)
    if shape is None:  # a comment in a text
        assert "--" in values[0] or "/*" in values[0]
        return
    if shape.kinds[0] == "date" or len(shape.constants) != len(values):
        return
    of_other = shape_of(
        f"{FIRST}{_CONDITION.format('x', *['2024-01-01'] * 2, 1, 2, 1.5)} GROUP BY g"
    )
    assert of_other is not None
    assert of_other.key == shape.key
    read = parametrised(of_other)
    assert read is not None
    bound = bind_block(read[0], Star())
    assert any(isinstance(n, Parameter) for c in bound.conjuncts for n in walk(c))
    assert _filled(bound, shape.constants) == bind_block(parse(sql), Star()).conjuncts
