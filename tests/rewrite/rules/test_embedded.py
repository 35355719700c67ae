"""SELECTs in a text: what is found, in whose sight, and that all else stays as it was."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.reason import DeclinedError
from rewrite.rules.splice.select_spans import SelectSpan, Text, replaced

_S = "SELECT a FROM t"


def _found(sql: str, answered=lambda _: True) -> list[str]:
    pieces, places = replaced(Text(sql), answered)
    rebuilt = "".join(
        piece + (sql[places[i].start : places[i].end] if i < len(places) else "")
        for i, piece in enumerate(pieces)
    )
    assert rebuilt == sql
    return [place.sql for place in places]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (_S, []),
        (f"SELECT * FROM ({_S}) x JOIN (SELECT b FROM u) y ON a = b", [_S, "SELECT b FROM u"]),
        (f"SELECT ({_S}) AS a, b FROM u WHERE c IN (SELECT c FROM v)", [_S, "SELECT c FROM v"]),
        (f"{_S} UNION ALL SELECT b FROM u ORDER BY 1 LIMIT 3;", [_S, "SELECT b FROM u"]),
        (f"{_S} UNION ALL SELECT b FROM u LIMIT 3;", [_S]),
        (f"{_S} UNION ALL SELECT b FROM u AS offset WHERE b > 1", [_S]),
        (f"{_S} LIMIT 2 UNION SELECT 1", ["SELECT 1"]),
        (f"({_S} LIMIT 2) EXCEPT DISTINCT (SELECT 1) MINUS SELECT 2", [f"{_S} LIMIT 2", "SELECT 1",
                                                                     "SELECT 2"]),
        ("SELECT * EXCEPT (a) FROM t", []),
        (f"SELECT * EXCEPT (a) FROM ({_S})", [_S]),
        (f"WITH w AS ({_S}) SELECT *, rank() OVER (ORDER BY a) FROM w", [_S]),
        (f"WITH w (x) AS ({_S}), v AS (SELECT x FROM w) SELECT * FROM v",
         [_S, f"WITH w (x) AS ({_S}) SELECT x FROM w"]),
        ("SELECT f(1, (2)), count(*) OVER (PARTITION BY a) FROM t", []),
        (f"SELECT * FROM t WHERE EXISTS (WITH w AS ({_S}) SELECT * FROM w)",
         [f"WITH w AS ({_S}) SELECT * FROM w"]),
        ("FROM (SELECT a FROM t) SELECT a", [_S]),
        (f"SELECT '(SELECT 1)', `(SELECT 2)` FROM ({_S}) -- (SELECT 3)", [_S]),
    ],
)  # fmt: skip
def test_places(sql: str, found: list[str]) -> None:
    assert _found(sql) == found


def test_what_is_not_answered_is_looked_into() -> None:
    sql = f"SELECT * FROM (SELECT x FROM ({_S} UNION SELECT (SELECT 1)) GROUP BY x) JOIN ({_S})"
    asked: list[str] = []

    def answered(place: SelectSpan) -> bool:
        asked.append(place.sql)
        return place.sql == _S

    assert _found(sql, answered) == [_S, _S]
    assert "SELECT 1" in asked and "SELECT (SELECT 1)" in asked


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE w AS (SELECT 1) SELECT * FROM w",
        "WITH w AS (SELECT 1), w AS (SELECT 2) SELECT * FROM w",
        "SELECT (SELECT 1",
    ],
)
def test_unclear(sql: str) -> None:
    with pytest.raises(DeclinedError):
        _found(sql)


@given(st.lists(st.sampled_from(["SELECT", "(", ")", "UNION", "WITH w AS (", "a", ",", "LIMIT 1"])))
def test_any_words_end(words: list[str]) -> None:
    with suppress(DeclinedError):
        _found(" ".join(words))
