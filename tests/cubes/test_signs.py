"""min and max of a floating dimension: values, but no texts, which would show a zero's sign."""

from __future__ import annotations

import pytest

from cubes.match.match import match
from cubes.match_result import Match
from rewrite.reason import Declined
from tests.cubes.star import block, cube

_BY_VALUE = cube("SELECT g, x, count(*) FROM f GROUP BY g, x")
_BY_STATE = cube("SELECT g, min(x), max(x) FROM f GROUP BY g")


@pytest.mark.parametrize(
    ("expression", "shows"),
    [
        ("max(x)", False),
        ("max(x) + 1", False),
        ("max(x) IN (0, 1.5)", False),
        ("max(x) = '-0.0'", False),
        ("coalesce(min(x), max(x))", False),
        ("CASE WHEN max(x) > 3 THEN 'large' END", False),
        ("concat(max(x), 'b')", True),
        ("upper(-max(x))", True),
        ("substring(coalesce(min(x), 1), 1, 1)", True),
        ("coalesce(max(x), 'a')", True),
        ("CASE WHEN g = 'a' THEN max(x) ELSE 'b' END", True),
        ("max(x) LIKE '-%'", True),
    ],
)
def test_what_shows_a_sign(expression: str, shows: bool) -> None:
    asked = block(f"SELECT g, {expression} AS a FROM f GROUP BY g")
    found = match(asked, _BY_VALUE)
    if shows:
        assert isinstance(found, Declined) and found.code == "expression_not_proven"
    else:
        assert isinstance(found, Match)
    assert isinstance(match(asked, _BY_STATE), Match)


def test_having_and_order_count_as_well() -> None:
    for more in ("HAVING concat(min(x), '') = '0.0'", "ORDER BY concat(min(x), '')"):
        asked = block(f"SELECT g, count(*) AS n FROM f GROUP BY g {more}")
        assert isinstance(match(asked, _BY_VALUE), Declined)
