"""The cells of the bench at the gateway's doors, a few of them, and how a leak is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.gateway.doors import asked_at_doors
from tests.gateway.gateway_doors import DOORS, RIGHTS, Outcome


def test_cells_that_leak_are_counted() -> None:
    found = Outcome(asked=2, leaks={"a / b": ["cube (x)", "column (y)"]})
    assert found.leaking == 1


def test_there_are_enough_cells() -> None:
    cells = [(door, right) for door in DOORS.values() for right in RIGHTS.values()]
    assert sum(right.is_asked(door) for door, right in cells) >= 400
    assert {"write only", "change only", "deny read", "published", "no rule"} < set(RIGHTS)


@pytest.mark.served
@pytest.mark.long
def test_a_few_doors_are_asked(tmp_path: Path) -> None:
    found = asked_at_doors(tmp_path, one_in=40)
    assert found.asked >= 20
    assert not found.leaks
