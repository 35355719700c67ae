"""Every rule's statement is the same split by its aggregates, each part answered on its own."""

from __future__ import annotations

from functools import lru_cache

import pytest

from accelerator.nested_search import answer_of
from cubes.cover_sql import RawSource, answer_sql
from cubes.itself import itself
from cubes.plan import Match
from rewrite.block import Block
from rewrite.reason import DeclinedError
from rewrite.split import is_split, joined, with_only
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


def _text(bound: Block, tables: tuple[str, ...]) -> str:
    found = itself(bound)
    assert isinstance(found, tuple) and isinstance(found[1], Match)
    return answer_sql(bound, found[1], "duckdb", [], RawSource(tables))


def test_there_are_many() -> None:
    assert sum(len(_splits(rules)) for rules in RULES) > 60


@pytest.mark.parametrize("rules", RULES)
def test_parts_joined_are_the_whole(rules: str) -> None:
    for case in _splits(rules):
        _are_joined(case)


def _are_joined(case: Case) -> None:
    bound = block(case.query, "UTC")
    calls = bound.aggregates
    groups = [calls[:1], calls[1:3], calls[3:]]
    groups = [group for group in groups if group]
    parts = [with_only(bound, group) for group in groups]
    tables = tuple(o.table.name.split(".")[-1] for o in bound.occurrences)
    texts = [_text(part, tables) for part in parts]
    above = joined(bound, groups, [answer_of(part) for part in parts])
    over = _text(above, tuple(f"part_{number}" for number in range(len(parts))))
    for seed in case.seeds:
        connection = connection_of(filled(seed, seed % 2 == 0))
        for number, (part, text) in enumerate(zip(parts, texts, strict=True)):
            names = [o.name for o in part.outputs]
            shown = ", ".join(f"c{i} AS {name}" for i, name in enumerate(names))
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE part_{number} AS SELECT {shown} FROM ({text})"
            )
        assert fetch(connection, over) == fetch(connection, in_duckdb(case.query)), (
            case.title,
            seed,
        )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, count(*) n FROM f GROUP BY g",
        "SELECT x, count(*) n, sum(v) s FROM f GROUP BY x",
        "SELECT g, count(*) n, sum(v) s FROM f GROUP BY ROLLUP (g)",
        "SELECT g, h, count(*) n, sum(v) s FROM f GROUP BY g",
    ],
)
def test_what_is_not_split(sql: str) -> None:
    assert not is_split(block(sql))
