"""Cells of two cubes merge in one answer: half by a rule's cube, half by the block's own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from cubes.definition import CubeDefinition
from cubes.degenerate.block_cube import itself
from cubes.match.match import match
from cubes.match_result import Match
from cubes.merge.align_slots import aligned
from cubes.sql.answer import RawSource, SegmentSource, answer_sql
from rewrite.ir.block import Block
from rewrite.ir.expr import Literal
from rewrite.reason import DeclinedError
from tests.cubes.cases import RULES, Case, fetch, filled, in_duckdb, rule_cases
from tests.cubes.star import block, cells, connection_of, cube

_SOME = 100


def _pairs(case: Case) -> tuple[Block, Match, CubeDefinition, Match] | None:
    """The block, its match with the case's cube, and itself as a cube with a match like that."""
    if case.engine == "spark" or not case.expect.startswith("answers"):
        return None
    try:
        bound = block(case.query, "UTC")
    except DeclinedError:
        return None
    found, own = match(bound, cube(case.cube)), itself(bound)
    if not isinstance(found, Match) or not isinstance(own, tuple) or found.fact or bound.rows:
        return None
    other = aligned(found, own[1])
    constant = any(isinstance(d.expr, Literal) for d in own[0].dimensions)
    if other is None or constant:  # by which DuckDB groups as by a place
        return None
    return bound, found, replace(own[0], conjuncts=bound.conjuncts), other


def test_there_are_many() -> None:
    every = [one.values[0] for one in rule_cases()]
    assert sum(_pairs(case) is not None for case in every) > _SOME


@pytest.mark.parametrize("rules", RULES)
def test_two_cubes_answer_as_one(rules: str) -> None:
    for (case,) in (one.values for one in rule_cases(rules)):
        pair = _pairs(case)
        for seed in case.seeds if pair is not None else ():
            _is_answered(case, *pair, seed)  # type: ignore[misc]


def _is_answered(
    case: Case, bound: Block, found: Match, own: CubeDefinition, other: Match, seed: int
) -> None:
    connection = connection_of(filled(seed, not found.needs.complete and seed % 2 == 0))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE one AS {cells(cube(case.cube), 'f1')}")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE two AS {cells(own, 'f2')}")
    tables = tuple(o.table.name.split(".")[-1] for o in bound.occurrences)
    delta = RawSource(tables, fact=False) if found.delta else None
    sources = [SegmentSource("one", ""), SegmentSource("two", "", other)]
    text = answer_sql(bound, found, "duckdb", sources, delta)
    plain = in_duckdb(case.query)
    assert fetch(connection, text) == fetch(connection, plain), (case.title, seed)


def test_what_is_not_aligned() -> None:
    query = "SELECT g, sum(v), count(*) FROM f GROUP BY g"
    asked = block(query)
    found = match(asked, cube(query))
    lacking = match(block("SELECT g, count(*) FROM f GROUP BY g"), cube(query))
    floats = query.replace("v", "x")
    floating = match(block(floats), cube(floats))
    assert isinstance(found, Match) and isinstance(lacking, Match) and isinstance(floating, Match)
    assert aligned(found, found) == found
    assert aligned(found, lacking) is None and aligned(found, floating) is None
