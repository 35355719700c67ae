"""Rule fixtures: pairs of cube and statement that a reviewer reads as SQL.

A file of `rules/` holds cubes and cases. `-- cube:` starts a cube, used by the cases after it;
`-- title:` starts a case, whose `-- expect:` is `answers`, perhaps with the counters that a segment
must then have (`[complete d; unique d]`), or the code of the refusal; `-- engine: spark` says that
DuckDB isn't proven to mean the same. What answers is also run in DuckDB over random small tables,
from the cube, from half of it with raw rows, from roll-ups of both, and plain: all must be equal.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from cubes.definition import CubeDefinition
from cubes.match.match import match
from cubes.match_result import Match
from cubes.sql.answer import RawSource, SegmentSource, answer_sql
from cubes.sql.build import rolled_select
from rewrite.ir.block import Block
from rewrite.reason import REASONS, Declined, DeclinedError
from tests.cubes.cases import SEEDS, Case, fetch, filled, in_duckdb, rule_cases
from tests.cubes.star import block, cells, connection_of, cube
from tests.support.extent import FULL


def _decision(query: str, definition: CubeDefinition) -> tuple[Block, Match] | str:
    try:
        bound = block(query, "UTC")
        found = match(bound, definition)
    except DeclinedError as error:
        return error.declined.code
    return found.code if isinstance(found, Declined) else (bound, found)


def _needs(found: Match, definition: CubeDefinition) -> str:
    def names(numbers: frozenset[int]) -> str:
        return " ".join(definition.tables[n].alias for n in sorted(numbers))

    parts = [
        f"{what} {names(numbers)}"
        for what, numbers in (("complete", found.needs.complete), ("unique", found.needs.unique))
        if numbers
    ]
    return f" [{'; '.join(parts)}]" if parts else ""


@pytest.mark.parametrize("case", list(rule_cases()))
def test_rule(case: Case) -> None:
    definition = cube(case.cube)
    decided = _decision(case.query, definition)
    if isinstance(decided, str):
        assert decided in REASONS
        assert decided == case.expect
        return
    bound, found = decided
    assert "answers" + _needs(found, definition) == case.expect
    if case.engine == "spark":
        with pytest.raises(DeclinedError):
            answer_sql(bound, found, "duckdb", [SegmentSource("c", "")], None)
        answer_sql(bound, found, "spark", [SegmentSource("c", "")], None)
        return
    for seed in case.seeds:
        _run(case, definition, bound, found, seed)


@lru_cache
def _built(seed: int, missing: bool, sql: str) -> tuple[str, str]:
    """Names of the cube's rows over the whole fact and over its first half."""
    connection = connection_of(filled(seed, missing))
    whole, half = (f"{part}_{abs(hash(sql))}" for part in ("whole", "half"))
    for name, fact in ((whole, "f"), (half, "f1")):
        connection.execute(f"CREATE TABLE {name} AS {cells(cube(sql), fact)}")
    return whole, half


def _run(case: Case, definition: CubeDefinition, bound: Block, found: Match, seed: int) -> None:
    missing = not found.needs.complete and seed % 2 == 0
    connection = connection_of(filled(seed, missing))
    whole, half = _built(seed, missing, case.cube)
    names = [o.table.name.split(".")[-1] for o in bound.occurrences]
    everything = RawSource(tuple(names))
    delta = RawSource(tuple(names), fact=False) if found.delta else None
    names[found.fact] = "f2"
    wanted = fetch(connection, in_duckdb(case.query))
    ways: dict[str, tuple[list[SegmentSource], RawSource | None]] = {
        "cube": ([SegmentSource(whole, "")], delta),
        "cube and rows": ([SegmentSource(half, "")], RawSource(tuple(names))),
        "rows": ([], everything),
    }
    rolled = [rolled_select(definition, found.stored, table) for table in (whole, half)]
    if rolled[0] is not None:
        ways["roll-up"] = ([SegmentSource(f"({rolled[0]}) r", "")], delta)
        ways["roll-up and rows"] = (
            [SegmentSource(f"({rolled[1]}) r", "")],
            RawSource(tuple(names)),
        )
    if seed != SEEDS[0] and not FULL:  # segments and rows side by side are read as either alone
        ways = {way: of for way, of in ways.items() if way.endswith("and rows")}
    for way, (segments, raw) in ways.items():
        answer = fetch(connection, answer_sql(bound, found, "duckdb", segments, raw))
        assert answer == wanted, (way, seed)
