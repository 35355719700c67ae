"""Joins of one table with itself: n of them have n! mappings, of which a few are looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from cubes.degenerate.block_cube import itself
from cubes.match import match as matching
from rewrite.reason import Declined
from tests.cubes.star import block, cube

_MANY = 14


def _joined(times: int, key: str = "k") -> str:
    joins = " ".join(f"JOIN d d{n} ON f.k = d{n}.{key}" for n in range(times))
    return f"SELECT count(*) AS n FROM f {joins}"


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The permutations that were made; more than ten thousand are an error."""
    made: list[Any] = []

    def counting(*of: Any) -> Iterator[Any]:
        for one in itertools.permutations(*of):
            made.append(one)
            assert len(made) <= 10_000
            yield one

    monkeypatch.setattr(matching, "permutations", counting)
    return made


def test_a_statement_that_joins_one_table_often_is_answered_by_its_rows(
    looked_at: list[Any],
) -> None:
    assert isinstance(itself(block(_joined(_MANY))), tuple)
    assert looked_at


def test_a_cube_of_many_joins_is_declined_or_matched_soon(looked_at: list[Any]) -> None:
    stored = cube(_joined(_MANY))
    assert not isinstance(matching.match(block(_joined(_MANY)), stored), Declined)
    assert isinstance(matching.match(block(_joined(_MANY, "ok")), stored), Declined)
    assert looked_at


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_any_order_of_three_joins_is_found(order: tuple[int, ...]) -> None:
    """The joins differ by their keys, so that one mapping of six fits."""
    joins = [f"JOIN d d{n} ON f.k = d{n}.{'ok' if n == 1 else 'k'}" for n in range(3)]
    stored = cube(f"SELECT count(*) AS n FROM f {' '.join(joins)}")
    asked = block(f"SELECT count(*) AS n FROM f {' '.join(joins[n] for n in order)}")
    assert not isinstance(matching.match(asked, stored), Declined)
