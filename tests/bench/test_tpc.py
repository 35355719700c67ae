"""What counts as the same answer of a query with ORDER BY and LIMIT, and the page's tables."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from bench.tpc.compare import differences, sort_places, without_limit
from bench.tpc.data import Suite
from bench.tpc.outcome import Outcome
from bench.tpc.run import PAGE, answered_in, with_table

_SQL = "SELECT a, b FROM t ORDER BY a LIMIT 2"
_ROWS = [(1, "x"), (2, "y"), (2, "z"), (3, "w")]


def _asks(*limited: tuple[int, str], every: list[tuple[int, str]] = _ROWS) -> Callable:
    def asked(sql: str) -> pa.Table:
        rows = limited if "LIMIT" in sql else every
        return pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})

    return asked


_PLAIN = _asks((1, "x"), (2, "y"))


def test_rows_that_tie_at_a_limit_may_be_others() -> None:
    assert differences(_SQL, _PLAIN, _asks((1, "x"), (2, "y"))) == []
    assert differences(_SQL, _PLAIN, _asks((1, "x"), (2, "z"))) == []


@pytest.mark.parametrize(
    "other",
    [
        _asks((1, "x"), (2, "v")),  # no row of the answer
        _asks((1, "x"), (3, "w")),  # not among the first
        _asks((2, "y"), (1, "x")),  # in another order
        _asks((1, "x")),
        _asks((1, "x"), (1, "x")),
        _asks((1, "x"), (2, "z"), every=_ROWS[:3]),
    ],
)
def test_what_differs(other: Callable) -> None:
    assert differences(_SQL, _PLAIN, other)


def test_a_difference_without_a_limit_is_one() -> None:
    plain, other = _asks(every=_ROWS), _asks(every=_ROWS[::-1])
    assert differences("SELECT a, b FROM t", plain, other) == []
    assert differences("SELECT a, b FROM t ORDER BY a", plain, other)


def test_the_first_sort_keys_that_are_outputs() -> None:
    names = ["x", "sum(v)", "y"]
    sql = "SELECT k AS x, sum(v), f(k) AS y FROM t GROUP BY k ORDER BY {}"
    assert sort_places(sql.format("X DESC, 3, sum(v)"), names) == [0, 2, 1]
    assert sort_places(sql.format("y, k + 1, x"), names) == [2]
    assert sort_places("SELECT * FROM t ORDER BY 2, t.x", names) == [1, 0]
    assert without_limit("SELECT a FROM (SELECT a FROM t LIMIT 3)") is None


def test_the_pages_table_is_read_as_it_is_written() -> None:
    plain = Outcome(7, False, (), False, False, "may_raise", "A | b.", 1, 1.0, 1.0, 1.0, ())
    cube = Outcome(8, True, ("c", "d"), True, False, None, None, 1, 1.0, 1.0, 1.0, ())
    suite = Suite.of("h", 1)
    page = with_table(PAGE.read_text(encoding="utf-8"), suite, [plain, cube])
    assert answered_in(page, suite) == {7: "plain: `may_raise`", 8: "`c`, `d`, then Spark"}


@pytest.mark.parametrize(("short", "queries", "cubes"), [("h", 22, 11), ("ds", 99, 14)])
def test_the_page_tells_of_every_query_and_cube(short: str, queries: int, cubes: int) -> None:
    suite, page = Suite.of(short, 1), PAGE.read_text(encoding="utf-8")
    assert list(answered_in(page, suite)) == list(range(1, queries + 1))
    assert len(suite.cubes) == cubes
    assert f"{cubes} over {suite.title}" in page
