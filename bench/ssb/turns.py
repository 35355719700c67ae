"""Runs the queries on all systems in turn and compares their answers.

Within a run, every system gets the same statement before the next statement comes, and run i of
each system comes before run i + 1 of any: whatever else the machine does hits all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.compare import difference
from bench.ssb.queries import QUERIES, Query
from bench.ssb.systems import System


@dataclass(frozen=True, slots=True)
class Turn:
    """One statement on all systems. `differences` names each system that answered otherwise."""

    query: str
    run: int
    sql: str
    rows: int
    ms: dict[str, float]
    metrics: dict[str, dict[str, Any]]
    differences: dict[str, str]


@dataclass(slots=True)
class Samples:
    """Times by system and query, warm runs only (run 0 warms up)."""

    turns: list[Turn] = field(default_factory=list)

    def add(self, turn: Turn) -> None:
        """Keeps a turn."""
        self.turns.append(turn)

    def times(self, system: str) -> dict[str, list[float]]:
        """Milliseconds of the warm runs of each query."""
        found: dict[str, list[float]] = {query.name: [] for query in QUERIES}
        for turn in self.turns:
            if turn.run and system in turn.ms:
                found[turn.query].append(turn.ms[system])
        return found

    def metrics(self, name: str, system: str = "accelerated") -> list[Any]:
        """One metric over all warm runs."""
        warm = (turn.metrics.get(system, {}) for turn in self.turns if turn.run)
        return [metrics[name] for metrics in warm if name in metrics]

    def equal(self, query: str) -> bool:
        """Whether all systems answered alike in each run of the query, the warm-up too."""
        return not any(turn.differences for turn in self.turns if turn.query == query)

    def from_cube(self, query: str, system: str = "accelerated") -> bool:
        """Whether every run of the query was answered from a cube."""
        runs = [turn.metrics[system] for turn in self.turns if turn.query == query]
        return bool(runs) and all(run.get("rewritten") and run.get("cubes") for run in runs)


def take_turns(systems: Sequence[System], run: int, seed: int) -> Iterator[Turn]:
    """One run: each query, with the literals of this run, on each system."""
    for query in QUERIES:
        yield _turn(systems, query, run, seed)


def _turn(systems: Sequence[System], query: Query, run: int, seed: int) -> Turn:
    sql = query.sql(run, seed)
    ms = {}
    for system in systems:
        start = time.perf_counter()
        system.run(sql)
        ms[system.name] = (time.perf_counter() - start) * 1000
    expected, *others = systems
    truth = expected.answer()
    differences = {}
    for system in others:
        # A system over another scale's data has nothing to compare with.
        if system.name.startswith("scale_"):
            continue
        if found := difference(truth, system.answer(), query.order_by):
            differences[system.name] = found
    metrics = {system.name: system.metrics() for system in systems}
    return Turn(query.name, run, sql, len(truth.rows), ms, metrics, differences)
