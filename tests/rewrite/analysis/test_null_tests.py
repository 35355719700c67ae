"""Statements that aren't bound for which plain Spark may fail inside, by their text."""

from __future__ import annotations

import pytest

from rewrite.analysis.null_folding_unbound import has_null_in_test
from rewrite.parse.parse import parse

_ONCE = (
    "a > 1 AND a < 5",
    "a BETWEEN 1 AND 5 OR a = 9",
    "a = 1 OR a IN (2, 3) OR A = 4",
    "NOT (a >= 1 AND a < 5)",
    "a <> -3 AND a <> 4 AND b = 3",
    "a = 'left' OR a = 'right'",
    "a IN ('new', 'used') OR A = 'lost'",
    "a <> 'New York' AND a < 'Paris'",
    "a = 'left' OR a = 5",
)
_TWICE = (
    "a < 5 AND a >= 5",
    "a = 5 OR NOT (a = 5)",
    "a = 5 AND a IN (5, 6)",
    "a BETWEEN 1 AND 5 AND a > 5",
    "5 > a AND A >= 5",
    "t.a = 5 AND a <> 5",
    "a = -5 AND a <> -5",
    "a = '5' AND a <> '05'",
    "a = 't' AND a <> 'true'",
    "a = 'left' OR a = 'LEFT'",
    "a = 'left' OR a = 'left '",
    "a = 'inf' OR a = '+Infinity'",
    "a = 'e' OR a = 'é'",
    "a = '1d' OR a = 'one'",
    "a = '' OR a = 'left'",
    "a AND NOT a",
    "a = a AND b",
    "a > 1 AND b < a",
    "a + 1 = 5 AND a = 4",
    "a > 1.5 AND a > 1",
    "a = 3000000000 OR a = 2",
)


def _conditions(test: str) -> tuple[str, ...]:
    return (
        f"SELECT 1 FROM t WHERE CASE WHEN {test} THEN true ELSE false END",
        f"SELECT 1 FROM t WHERE if({test}, false, true)",
        f"SELECT k FROM t GROUP BY k HAVING if({test}, true, false)",
    )


def _computed(test: str) -> tuple[str, ...]:
    """Spark answers these, as `plain_pruning.slt` shows: nothing of them is handed to a scan."""
    flag = f"CASE WHEN {test} THEN true ELSE false END"
    return (
        f"SELECT {flag}, count(*) FROM t GROUP BY {flag}",
        f"SELECT count_if({flag}) FROM t",
    )


@pytest.mark.parametrize("test", _ONCE)
def test_a_column_is_compared_with_different_numbers(test: str) -> None:
    """Nothing of it folds to NULL: a cube may serve a part of the statement."""
    assert not any(map(has_null_in_test, map(parse, (*_conditions(test), *_computed(test)))))


@pytest.mark.parametrize("test", _TWICE)
def test_one_test_twice(test: str) -> None:
    assert all(map(has_null_in_test, map(parse, _conditions(test))))
    assert not any(map(has_null_in_test, map(parse, _computed(test))))
