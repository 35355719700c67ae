"""Errors of groups that HAVING or LIMIT drops: the statement raises them.

Strategy: random rows, outputs and conditions on groups. The same SELECT without its filter, whose
conditions are outputs, computes all of them: if it answers, the filter's rows are those for which
each condition is TRUE. If the outputs alone raise, the whole statement raises.
"""

from __future__ import annotations

from random import Random

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubes.degenerate.block_cube import itself
from cubes.sql.answer import RawSource, answer_sql
from tests.cubes.star import block, load
from tests.support.extent import sized

_OUTPUTS = (
    "sum(v) / sum(i)",
    "sum(n) / count(v)",
    "max(v) div min(i)",
    "max(k) + 2147483641",
    "sum(w)",
    "avg(c)",
    "round(avg(x), 1)",
    "max(v) / (max(v) - 5)",
    "count(*)",
    "CASE WHEN sum(i) > 0 THEN 10 / sum(i) END",
    "stddev_samp(v) / max(i)",
    "var_pop(v) / count(DISTINCT h)",
)
_CONDITIONS = (
    "count(*) > 2",
    "count(*) < 0",
    "sum(i) <> 0",
    "sum(v) / sum(i) > 1",
    "(sum(i) = 0 OR 10 / sum(i) > 2)",
    "max(v) IS NULL",
    "10 div min(i) > 3",
    "stddev(v) > 1",
)
_OF_KEYS = ("g = 'a'", "g IS NOT NULL", "g <> 'A' AND g <> 'b'")
_GROUPS = ("", "GROUP BY g", "GROUP BY g, h", "GROUP BY ROLLUP(g, h)")


def _text(sql: str) -> str:
    bound = block(sql)
    found = itself(bound)
    assert isinstance(found, tuple)
    return answer_sql(bound, found[1], "duckdb", (), RawSource(("f",)))


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]] | None:
    """None if it raises."""
    try:
        return connection.execute(_text(sql)).fetchall()
    except (duckdb.InvalidInputException, duckdb.OutOfRangeException, duckdb.ConversionException):
        return None


@settings(max_examples=sized(20, full=300), deadline=None)
@given(st.randoms(use_true_random=False), st.data())
def test_random_groups(r: Random, data: st.DataObject) -> None:
    groups = data.draw(st.sampled_from(_GROUPS))
    outputs = data.draw(st.lists(st.sampled_from(_OUTPUTS), min_size=1, max_size=3, unique=True))
    tested = data.draw(st.lists(st.sampled_from(_CONDITIONS), max_size=3, unique=True))
    of_keys = data.draw(st.none() | st.sampled_from(_OF_KEYS)) if groups == _GROUPS[1] else None
    where = f" WHERE {of_keys}" if of_keys else ""
    having = " AND ".join([*tested, *([of_keys] if of_keys else [])])
    shown = ", ".join(f"{one} AS o{i}" for i, one in enumerate(outputs))
    wide = "".join(f", {one} AS t{i}" for i, one in enumerate(tested))
    connection = duckdb.connect()
    load(connection, r, missing=True)

    whole = _rows(connection, f"SELECT {shown} FROM f {groups}" + (having and f" HAVING {having}"))
    every = _rows(connection, f"SELECT {shown}{wide} FROM f{where} {groups}")
    if every is not None:
        size = len(outputs)
        passing = [one[:size] for one in every if all(test is True for test in one[size:])]
        assert whole is not None
        assert sorted(map(repr, whole)) == sorted(map(repr, passing))
    if _rows(connection, f"SELECT {shown} FROM f{where} {groups}") is None:
        assert whole is None
        if groups:
            limited = f"SELECT {shown} FROM f{where} {groups} LIMIT 1"
            assert _rows(connection, limited) is None
    connection.close()


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    load(made, Random(0), missing=False)
    made.execute(
        "UPDATE f SET i = CASE WHEN g = 'a' THEN 0 ELSE 1 END, v = 1, g = coalesce(g, 'b')"
    )
    return made


@pytest.mark.parametrize(
    ("rest", "raises"),
    [
        ("GROUP BY g HAVING count(*) < 0", True),
        ("GROUP BY g HAVING sum(i) <> 0", True),
        ("GROUP BY g HAVING g = 'b'", False),
        ("GROUP BY g HAVING g = 'b' AND count(*) < 0", False),
        ("GROUP BY g HAVING g = 'a' AND count(*) < 0", True),
        ("GROUP BY ROLLUP(g) HAVING count(*) < 0", True),
        ("GROUP BY ROLLUP(g) HAVING g IS NULL", False),
        ("GROUP BY g LIMIT 1", True),
        ("GROUP BY g LIMIT 0", False),
        ("GROUP BY g ORDER BY g DESC LIMIT 1", True),
        ("WHERE g = 'b' GROUP BY g HAVING count(*) < 0", False),
        ("WHERE g = 'a' HAVING count(*) < 0", True),
    ],
)
def test_a_dropped_group(connection: duckdb.DuckDBPyConnection, rest: str, raises: bool) -> None:
    for shown in ("sum(v) / sum(i) AS q", "max(v) div sum(i) AS q"):
        keys = "g, " if "ROLLUP" in rest else ""  # Spark wants a key of sets among the outputs
        found = _rows(connection, f"SELECT {keys}{shown} FROM f {rest}")
        assert (found is None) is raises, shown


@pytest.mark.parametrize(
    ("having", "raises"),
    [
        ("sum(i) <> 0 AND sum(v) / sum(i) > 0", False),
        ("sum(v) / sum(i) > 0 AND sum(i) <> 0", True),
        ("sum(i) = 0 OR sum(v) / sum(i) > 0", False),
        ("count(*) < 0 AND sum(v) / sum(i) > 0", False),
        ("sum(nullif_) > 0 AND sum(v) / sum(i) > 0", True),
    ],
)
def test_conditions_in_their_turn(
    connection: duckdb.DuckDBPyConnection, having: str, raises: bool
) -> None:
    """One that is FALSE skips those behind it; one that is NULL doesn't."""
    having = having.replace("nullif_", "CASE WHEN v > 1 THEN v END")
    found = _rows(connection, f"SELECT g FROM f GROUP BY g HAVING {having}")
    assert (found is None) is raises


def test_a_sum_that_leaves_its_type(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("UPDATE f SET w = 4611686018427387904 WHERE g = 'a'")
    for rest, raises in (("count(*) < 0", True), ("g = 'b'", False)):
        found = _rows(connection, f"SELECT g, sum(w) AS s FROM f GROUP BY g HAVING {rest}")
        assert (found is None) is raises, rest


def test_outputs_that_raise_nothing_keep_their_text() -> None:
    for sql in (
        "SELECT g, count(*) FROM f GROUP BY g HAVING count(*) > 1",
        "SELECT g, sum(v), avg(c) FROM f GROUP BY g HAVING sum(v) > 1 LIMIT 3",
        "SELECT g, sum(v) / sum(i) FROM f GROUP BY g ORDER BY g",
        "SELECT sum(v) / sum(i) FROM f LIMIT 1",
        "SELECT g, round(avg(x), 2) AS a FROM f GROUP BY g ORDER BY a LIMIT 3",
        "SELECT g, abs(min(x)) AS a FROM f GROUP BY g HAVING round(max(x), 1) > 2",
    ):
        assert "hash(" not in _text(sql), sql
