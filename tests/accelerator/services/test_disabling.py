"""Which of several cubes and indexes are found to make an answer wrong."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from accelerator.errors import StoreError
from accelerator.planning.plans import PlainPlan
from accelerator.query.pipeline import Queries
from accelerator.services.verification import quarantine
from accelerator.services.verification.quarantine import (
    Culprits,
    Wrong,
    culprits,
    switched_off,
    titled,
)
from accelerator.store import CubeRecord, IndexRecord
from rewrite.reason import Declined

A = CubeRecord("a" * 32, "a", "s.t", "uuid", "SELECT", "spark", 0)
B = IndexRecord("b" * 32, "b", "s.t", "uuid", "BLOOM", 1, "k", 0)
C = IndexRecord("c" * 32, "c", "s.t", "uuid", "BLOOM", 2, "v", 0)
OTHER = "d" * 32
_PLAIN = PlainPlan(Declined("cubes_none"))


def _queries(told: Callable[[set[str]], bool | None]) -> Queries:
    """Over a registry of A, B, C and another; `told` says of those in sight what differs."""
    every = frozenset({A.id, B.id, C.id, OTHER})
    registry = SimpleNamespace(building=every)
    store = SimpleNamespace(registry=lambda *, fresh: registry)

    def differs(_queries: object, _wrong: Wrong, hidden: frozenset[str]) -> bool | None:
        return told({one[0] for one in every - hidden})

    queries: Any = SimpleNamespace(services=SimpleNamespace(store=store), differs=differs)
    return cast(Queries, queries)


def _wrong() -> Wrong:
    return Wrong("SELECT", _PLAIN, lambda _table: True, list, lambda _plan: True)


@pytest.mark.parametrize(
    ("told", "found", "unknown"),
    [
        (lambda seen: "a" in seen, [A], ""),
        (lambda seen: "c" in seen, [C], ""),
        (lambda seen: bool({"a", "c"} & seen), [A, C], ""),
        # each alone isn't enough for the plan, in which just one is wrong
        (lambda seen: {"a", "b"} <= seen or seen == {"a", "c", "b"}, [], "Which one"),
        (lambda seen: "b" in seen and len(seen) > 1, [B], ""),
        (lambda _seen: True, [], "The answer without any cube or index is wrong as well."),
        (lambda seen: None if not seen else True, [], "The answer without any cube or index can't"),
        (lambda seen: "d" in seen, [], "Which one it is can't be told: cube a, index b, index c."),
    ],
)
def test_who_it_is(
    monkeypatch: pytest.MonkeyPatch,
    told: Callable[[set[str]], bool | None],
    found: list[object],
    unknown: str,
) -> None:
    queries = _queries(told)
    monkeypatch.setattr(quarantine, "_suspects", lambda *_: iter([A, B, C]))
    monkeypatch.setattr(quarantine, "_differs", queries.differs)  # type: ignore[attr-defined]
    outcome = culprits(queries, _wrong())
    assert list(outcome.found) == found
    assert outcome.unknown.startswith(unknown) and bool(outcome.unknown) == bool(unknown)


def test_a_plan_without_any_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = _queries(lambda _seen: True)
    monkeypatch.setattr(quarantine, "_suspects", lambda *_: iter([]))
    assert culprits(queries, _wrong()).unknown == "No cube or index has a part in it."
    monkeypatch.setattr(quarantine, "_suspects", lambda *_: iter([A] * 33))
    assert culprits(queries, _wrong()).unknown.startswith("More than 32")


def test_a_store_that_can_t_be_written_is_said() -> None:
    def refuse(_name: str, _id: str, **_changes: str) -> None:
        raise StoreError("the store is read-only")

    written: list[tuple[str, str, dict[str, str]]] = []

    def change(name: str, id: str, **changes: str) -> None:
        written.append((name, id, changes))

    store = SimpleNamespace(change_cube=refuse, change_index=change)
    services: Any = SimpleNamespace(store=store)
    done = switched_off(services, Culprits((A, B)), "3 rows for 4")
    assert list(map(titled, done.found)) == ["index b"]
    assert done.unknown == "The cube a can't be switched off: the store is read-only"
    why = "An answer differed from plain Spark's: 3 rows for 4"
    assert written == [(B.name, B.id, {"disabled": why})]
