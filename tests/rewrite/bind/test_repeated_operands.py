"""Calls within calls that repeat an operand are bounded, bound and rendered."""

from __future__ import annotations

import pytest

from rewrite.bind.names.output_name import output_name
from rewrite.ir.expr import Call, Column, Expr
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer
from tests.cubes.star import block


def _nested(shape: str, depth: int) -> str:
    text = "v"
    for _ in range(depth):
        text = shape.format(text)
    return text


@pytest.mark.parametrize(
    "shape",
    [
        "nullif({}, 1)",
        "if({} BETWEEN 1 AND 5, 1, 2)",
        "CASE {} WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 1 END",
    ],
)
def test_a_repeated_operand_is_bounded(shape: str) -> None:
    block(f"SELECT max({_nested(shape, 4)}) FROM f")
    with pytest.raises(DeclinedError):
        block(f"SELECT max({_nested(shape, 60)}) FROM f")


def test_the_name_of_a_case_within_cases_is_bounded() -> None:
    branches = "CASE {} WHEN 1 THEN 2 WHEN 2 THEN 3 END"
    assert output_name(parse(_nested(branches, 60))) is None
    name = output_name(parse("CASE '{}' WHEN 'a' THEN 2 END"))
    assert name == "CASE WHEN ({} = a) THEN 2 END"


@pytest.mark.parametrize("op", ["/", "%"])
def test_the_text_of_divisions_within_divisions_is_bounded(op: str) -> None:
    column: Expr = Column(0, 1, "x", "double")
    divided = column
    for _ in range(60):
        divided = Call(op, (divided, column), "double")
        divided = Call(op, (column, divided), "double")
    with pytest.raises(DeclinedError):
        Renderer("duckdb", lambda c: c.name).text(divided)


def test_the_text_of_many_arguments_grows_by_each_once() -> None:
    column = Column(0, 1, "x", "double")
    name = Column(0, 2, "s", "string")
    render = Renderer("duckdb", lambda c: c.name)
    assert len(render.text(Call("greatest", (column,) * 200, "double"))) < 20_000
    text = render.text(Call("concat", (name,) * 2_000, "string"))
    assert text.count("||") == 1_999
    assert not text.startswith("(" * 20)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("trim(g, 'a')", "TRIM(BOTH g FROM a)"),
        ("ltrim(g, 'a')", "TRIM(LEADING g FROM a)"),
        ("rtrim(g, 'a')", "TRIM(TRAILING g FROM a)"),
        ("ltrim(g)", "ltrim(g)"),
    ],
)
def test_trims_of_two_arguments_have_the_names_of_their_syntax(call: str, name: str) -> None:
    assert output_name(parse(f"SELECT {call} FROM f").expressions[0]) == name
