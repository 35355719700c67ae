"""Types of decimals that are computed with integer constants, as Spark's analyzer has them."""

from __future__ import annotations

import pytest

from rewrite.bind.select import bind_block
from rewrite.parse.parse import parse
from rewrite.rules.merge_subqueries import flattened
from tests.cubes.star import Star, block


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("c * 5", "decimal(12,2)"),
        ("c * -5", "decimal(12,2)"),
        ("(5) * c", "decimal(12,2)"),
        ("c * 5L", "decimal(12,2)"),
        ("c * (-5L)", "decimal(12,2)"),
        ("c * 007", "decimal(12,2)"),
        ("c + 00", "decimal(11,2)"),
        ("0L * c", "decimal(12,2)"),
        ("c * -(5)", "decimal(21,2)"),
        ("c * -(5L)", "decimal(31,2)"),
        ("c * CAST(5 AS INT)", "decimal(21,2)"),
        ("CAST(5 AS BIGINT) + c", "decimal(23,2)"),
        ("5::int - c", "decimal(13,2)"),
        ("int(5) - c", "decimal(13,2)"),
    ],
)
def test_an_integer_has_its_own_digits_beside_a_decimal_only_as_a_literal(
    text: str, type_: str
) -> None:
    assert block(f"SELECT max({text}) AS x FROM f").outputs[0].expr.type == type_


@pytest.mark.parametrize("constant", ["5", "-5", "5L"])
def test_a_derived_tables_constant_is_no_literal(constant: str) -> None:
    """Spark has a column of type int there when it decides on types."""
    tree = parse(f"SELECT max(c * x) AS y FROM (SELECT c, {constant} AS x FROM f)")
    merged = flattened(tree)
    assert merged is not tree
    found = bind_block(merged, Star()).outputs[0].expr
    assert found.type == ("decimal(31,2)" if constant == "5L" else "decimal(21,2)")
