"""The attack of the bench, for a few seconds: its counting, and what a gateway survives."""

from __future__ import annotations

import pytest

from bench.gateway.hostile import Attacked, Outcome, attacked
from bench.gateway.raw import Counted
from tests.gateway import hostile
from tests.gateway.support import made_warehouse


def test_what_fails_or_is_slow_counts() -> None:
    outcome = Outcome()
    outcome.add("a", 1.0, "error")
    outcome.add("a", 3.0, "cancelled")
    latencies, moments = (0.1, 1.9, 2.1, 7.0), (0.1, 2.0, 4.2, 9.0)
    found = Attacked(Counted(4, 2, 10.0, latencies, "why", moments), outcome, 1)
    assert found.failed == 4
    assert found.figures() == {
        "hostile_failed": 4,
        "hostile_asked": 2,
        "hostile_worst_s": 7.0,
        "hostile_answers": 4,
    }
    assert found.details()["slowest"] == {"a": 3.0}
    assert found.details()["slow"] == [2.1, 7.0]
    assert found.details()["worst_at_s"] == [(0.1, 0.1), (2.0, 1.9), (4.2, 2.1), (9.0, 7.0)]


def test_inputs_are_as_long_as_a_client_may_send() -> None:
    assert len(hostile.STATEMENTS) > 100
    assert all(len(text) < 1024**2 for text in hostile.STATEMENTS.values())
    found = hostile.requests("here", "eve")
    assert len(found) > len(hostile.STATEMENTS) + 25
    assert sum(map(len, found.values())) < 16 * 1024**2


@pytest.mark.served
@pytest.mark.long
def test_an_attack_is_counted(tmp_path) -> None:
    warehouse = made_warehouse(tmp_path / "warehouse")
    statements = [f"SELECT count(*) + {number} FROM shop.sales" for number in range(1000)]
    found = attacked(warehouse, tmp_path, statements[:4], statements, seconds=5, clients=2)
    assert found.outcome.asked > 3 and found.ordinary.answers
