"""Every rule's statement is the same split by its aggregates, each part answered on its own."""

from __future__ import annotations

from functools import lru_cache

import pytest

from cubes.degenerate.block_cube import itself
from cubes.match_result import Match
from cubes.merge.slot_layout import layout_of
from cubes.sql.answer import RawSource, answer_sql
from rewrite.ir.block import Block
from rewrite.reason import DeclinedError
from rewrite.rules.split_aggregates import is_split, with_only
from tests.cubes.cases import RULES, Case, fetch, filled, in_duckdb, rule_cases
from tests.cubes.star import block, connection_of


@lru_cache
def _splits(rules: str) -> list[Case]:
    found = []
    for one in rule_cases(rules):
        (case,) = one.values
        try:
            bound = block(case.query, "UTC")
        except DeclinedError:
            continue
        whole = itself(bound, 0) if 0 not in bound.null_supplied else None
        if is_split(bound) and isinstance(whole, tuple) and "percentile" not in case.query:
            found.append(case)
    return found


def _match(bound: Block) -> Match:
    found = itself(bound)
    assert isinstance(found, tuple)
    return found[1]


def test_there_are_many() -> None:
    assert sum(len(_splits(rules)) for rules in RULES) > 60


@pytest.mark.parametrize("rules", RULES)
def test_parts_merged_are_the_whole(rules: str) -> None:
    for case in _splits(rules):
        _are_merged(case)


def _are_merged(case: Case) -> None:
    bound = block(case.query, "UTC")
    calls = bound.aggregates
    groups = [group for group in (calls[:1], calls[1:3], calls[3:]) if group]
    parts = [with_only(bound, group) for group in groups]
    matches = [_match(part) for part in parts]
    layout = layout_of(bound, groups, matches)
    assert layout is not None
    tables = tuple(o.table.name.split(".")[-1] for o in bound.occurrences)
    raw = [
        RawSource(tables, part=(part, match), places=places)
        for part, match, places in zip(parts, matches, layout.places, strict=True)
    ]
    text = answer_sql(bound, layout.match, "duckdb", [], *raw)
    for seed in case.seeds:
        connection = connection_of(filled(seed, seed % 2 == 0))
        assert fetch(connection, text) == fetch(connection, in_duckdb(case.query)), (
            case.title,
            seed,
        )


def test_other_aggregates_than_a_match_finishes() -> None:
    bound = block("SELECT g, count(*) n, sum(v) s FROM f GROUP BY g")
    matches = [_match(with_only(bound, [call])) for call in bound.aggregates]
    calls = bound.aggregates
    assert layout_of(bound, [calls[:1], calls[1:]], matches) is not None
    assert layout_of(bound, [calls, calls[1:]], matches) is None
    assert layout_of(bound, [calls[:1], calls[:1]], matches) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, count(*) n FROM f GROUP BY g",
        "SELECT g, h, count(*) n, sum(v) s FROM f GROUP BY g",
    ],
)
def test_what_is_not_split(sql: str) -> None:
    assert not is_split(block(sql))
