"""Of several cubes that don't answer, the one that came nearest gives the statement's reason."""

from __future__ import annotations

from accelerator.planning.plans import Attempt
from accelerator.planning.sources.choose import nearest
from rewrite.reason import Declined


def _tried(*codes: str) -> list[Attempt]:
    return [Attempt(f"c{i}", Declined(code)) for i, code in enumerate(codes)]


def test_a_later_condition_is_nearer() -> None:
    found = nearest(_tried("fact_not_in_query", "aggregate_not_in_cube", "join_differs"))
    assert found == Declined("aggregate_not_in_cube")


def test_a_cube_that_matches_but_is_stale_is_nearest_of_all() -> None:
    found = nearest(_tried("dimension_changed", "aggregate_not_in_cube"))
    assert found == Declined("dimension_changed")


def test_without_a_decline_there_is_no_reason() -> None:
    assert nearest([Attempt("c", None)]) is None
