"""Names of outputs in ORDER BY, and outputs' names."""

from __future__ import annotations

from rewrite.ir.expr import has_aggregate
from tests.cubes.star import block


def test_order_by_takes_names_for_outputs() -> None:
    for key in ("v", "v + 1", "abs(coalesce(v, 0))"):
        bound = block(f"SELECT g, sum(v) AS v FROM f GROUP BY g ORDER BY {key}")
        assert has_aggregate(bound.order[0].expr), key


def test_a_date_and_a_number_of_days_have_a_name_of_sparks_own() -> None:
    names = [
        one.name for one in block("SELECT dt + 1, max(dt - 1), k + 1 FROM f GROUP BY 1, 3").outputs
    ]
    assert names == [None, None, "(k + 1)"]
