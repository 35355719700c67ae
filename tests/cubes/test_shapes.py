"""A match of a statement with parameters is, once filled, that of every statement of its shape.

The statements are those of `rules/`, each with its own constants and with others of their types.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from cubes.definition import CubeDefinition
from cubes.match.match import hides, match
from cubes.match_result import Match
from cubes.sql.answer import RawSource, SegmentSource, answer_sql
from rewrite.bind.select import bind_block
from rewrite.ir.block import Block
from rewrite.ir.expr import Column, Literal
from rewrite.ir.literals import filled
from rewrite.parse.parse import parse
from rewrite.parse.statement_shape import StatementShape, parametrised, shape_of
from rewrite.reason import Declined, DeclinedError
from rewrite.render.expressions import Dialect, literal, split_marks
from tests.cubes.cases import RULES, Case, rule_cases
from tests.cubes.star import Star, cube

_OTHERS = {
    "string": ["a", "b", "north", "", "Zürich"],
    "date": ["2024-01-01", "2023-12-31", "1999-06-15"],
    "int": ["0", "1", "5", "17", "2147483647"],
    "bigint": ["3000000000", "9223372036854775807"],
}
Decision = tuple[Block, Match] | str


def _decision(tree: Any, definition: CubeDefinition) -> Decision:
    try:
        bound = bind_block(tree, Star(), "UTC")
        found = match(bound, definition)
    except DeclinedError as error:
        return error.declined.code
    return found.code if isinstance(found, Declined) else (bound, found)


def _texts(decision: Decision) -> list[str]:
    """The answer's texts in both dialects; a refusal's code where there is none."""
    if isinstance(decision, str):
        return [decision]
    bound, found = decision
    names = tuple(f"r{o.index}" for o in bound.occurrences)
    delta = RawSource(names, fact=False) if found.delta else None
    texts = []
    dialects: tuple[Dialect, ...] = ("duckdb", "spark")
    for dialect in dialects:
        for rows in (delta, RawSource(names)):
            try:
                texts.append(answer_sql(bound, found, dialect, [SegmentSource("c", "")], rows))
            except DeclinedError as error:
                texts.append(error.declined.code)
    return texts


def _filled(text: str, constants: list[Literal], dialect: Dialect) -> str:
    pieces, parameters = split_marks(text)
    values = [literal(filled(p, constants[p.index].value, "UTC"), dialect) for p in parameters]
    return "".join(part for pair in zip(pieces, (*values, ""), strict=True) for part in pair)


def _variants(shape: StatementShape, free: tuple[int, ...]) -> list[list[Literal]]:
    """The statement's own constants, and others in the place of its parameters."""
    r = random.Random(0)
    own = list(shape.constants)
    variants = [own]
    for _ in range(4):
        other = list(own)
        for index in free:
            value = r.choice(_OTHERS.get(shape.kinds[index], [own[index].value]))
            other[index] = Literal(value, own[index].type)
        variants.append(other)
    return variants


@pytest.mark.parametrize("rules", RULES)
def test_a_filled_match_is_the_statements_own(rules: str) -> None:
    for one in rule_cases(rules):
        _is_the_statements_own(one.values[0])


def _is_the_statements_own(case: Case) -> None:
    definition = cube(case.cube)
    shape = shape_of(case.query)
    read = None if shape is None else parametrised(shape)
    if shape is None or read is None:
        return
    tree, free = read
    with_parameters = _decision(tree, definition)
    if not isinstance(with_parameters, str):
        texts = _texts(with_parameters)
    else:
        texts = [with_parameters]
        if definition.has_constants and with_parameters != "column_not_in_cube":
            return  # such a shape isn't planned with parameters
        if with_parameters == "may_raise":
            return  # whether a text is a number isn't known of a parameter
        if any(not isinstance(d.expr, Column) for d in definition.dimensions):
            return  # whether a constant is a bucket's bound isn't known of a parameter
    for constants in _variants(shape, free):
        written = [f"'{c.value}'" if c.type == "string" else c.value for c in constants]
        wanted = _texts(_decision(parse(shape.filled(written)), definition))
        dialects: tuple[Dialect, ...] = ("duckdb", "duckdb", "spark", "spark")
        try:
            found = [_filled(t, constants, d) for t, d in zip(texts, dialects, strict=False)]
        except DeclinedError:
            continue  # a text that is no time; such a statement is planned by itself
        assert found == wanted, (case.title, case.query)


def test_most_rules_have_parameters() -> None:
    """Else the test above would look at nothing."""
    shapes = [shape_of(param.values[0].query) for param in rule_cases()]
    read = [parametrised(shape) for shape in shapes if shape is not None]
    assert sum(r is not None for r in read) >= 30


def test_a_cube_with_a_constant_of_its_own_is_told() -> None:
    plain = cube("SELECT g, i, sum(v) FROM f GROUP BY g, i")
    cast = cube("SELECT g, cast(i AS bigint) j, sum(v) FROM f GROUP BY g, cast(i AS bigint)")
    filtered = cube("SELECT g, i, sum(v) FROM f WHERE h = 'x' GROUP BY g, i")
    banded = cube("SELECT g, i > 5 big, sum(v) FROM f GROUP BY g, i > 5")
    assert not plain.has_constants
    assert not cast.has_constants
    assert filtered.has_constants
    assert banded.has_constants
    tree = parse("SELECT g, sum(v) FROM f WHERE dt = '2024-01-01' GROUP BY g")
    assert hides(bind_block(tree, Star()), filtered)
