"""The statements that tools draw dashboards with: how many of each, that they parse, unedited."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
import sqlglot
from sqlglot import exp

from bench.gateway.bi.events import events
from bench.gateway.bi.measure import StatementOutcome, details_of, figures_of
from bench.gateway.bi.statements import FOLDER, ToolStatement, tool_statements

STATEMENTS = tool_statements()
# The figures of issue 51 compare with what is committed here: a changed statement is another bench.
DIGESTS = {
    "cube": "c0b4ec9b2ebf9dcf",
    "dbeaver": "b27048a8179cff50",
    "dbt_models": "299220b08ea3948b",
    "dbt_tests": "c41a051830aae948",
    "grafana": "54e909d859104f46",
    "jdbc_metadata": "f5b2e710469bbed4",
    "lightdash": "af5158276e27cde4",
    "looker": "24598f7601549883",
    "metabase": "95e9c51ec1f19cc1",
    "powerbi": "7b5d5787b4bb2e67",
    "redash": "ca3bf093a3b08d9b",
    "superset_charts": "d5d34b83b38992c6",
    "superset_grains": "b7fa025d41379233",
    "tableau": "87acaa7ded51b744",
}
GRAINS = 19
# What sqlglot keeps as words alone.
_COMMANDS = ("EXECUTE IMMEDIATE", "EXPLAIN", "SHOW")


def test_the_statements_are_those_that_were_committed_first() -> None:
    found = {
        kind: hashlib.sha256("\0".join(_texts(kind)).encode()).hexdigest()[:16]
        for kind in sorted({statement.kind for statement in STATEMENTS})
    }
    assert found == DIGESTS


def test_there_are_enough_of_each_tool() -> None:
    kinds = Counter(statement.kind for statement in STATEMENTS)
    tools = Counter(statement.tool for statement in STATEMENTS)
    assert len(STATEMENTS) >= 420
    assert kinds["superset_grains"] == 3 * GRAINS
    asked = ("superset", "tableau", "metabase", "looker", "dbt", "jdbc")
    assert all(tools[tool] >= 40 for tool in asked), tools


def test_each_statement_and_each_name_is_there_once() -> None:
    assert len({statement.sql for statement in STATEMENTS}) == len(STATEMENTS)
    names = [(statement.kind, statement.name) for statement in STATEMENTS]
    assert len(set(names)) == len(names)


def test_each_grain_is_asked_of_each_type() -> None:
    """The week and the week from Monday are one expression."""
    for column in ("e_day", "e_at", "e_seen"):
        charts = [one for one in STATEMENTS if one.kind == "superset_grains" and column in one.sql]
        grains = {_select(chart).selects[0].this.sql() for chart in charts}
        assert (len(charts), len(grains)) == (GRAINS, GRAINS - 1)


@pytest.mark.parametrize("kind", sorted(DIGESTS))
def test_they_parse_as_statements_of_trino(kind: str) -> None:
    for statement in (one for one in STATEMENTS if one.kind == kind):
        if statement.sql.startswith(_COMMANDS):
            continue
        tree = sqlglot.parse_one(statement.sql, dialect="trino")
        assert isinstance(tree, exp.Query | exp.Describe), statement.name


def test_files_are_short() -> None:
    assert all(file.read_text().count("\n") <= 700 for file in FOLDER.glob("*.sql"))


def test_events_are_the_same_each_time() -> None:
    rows = events(500)
    assert rows.equals(events(500))
    assert rows["e_amount"].null_count and rows["e_country"].null_count


def test_figures_count_answers_and_leave_spark_out_of_the_times() -> None:
    outcomes = [
        StatementOutcome(
            ToolStatement("dbt_tests", "fast", "SELECT 1"), [900.0, 10.0, 20.0], {"duckdb"}
        ),
        StatementOutcome(
            ToolStatement("dbt_tests", "once by Spark", "SELECT 2"), [5.0] * 3, {"none", "spark"}
        ),
        StatementOutcome(
            ToolStatement("dbt_models", "fails later", "SELECT 3"), [1.0], {"duckdb"}, error="no"
        ),
        StatementOutcome(
            ToolStatement("looker", "only once", "SELECT 4"), [40.0], {"none"}, "some_code"
        ),
    ]
    figures = figures_of(outcomes)
    assert figures["bi_statements"] == 4
    assert figures["bi_answered"] == 0.75
    assert figures["bi_by_spark"] == pytest.approx(1 / 3)
    assert figures["bi_p95_ms"] == 40.0
    details = details_of(outcomes)
    assert details["tools"]["dbt"] == {"statements": 3, "answered": 2, "by_spark": 1}
    assert [one["name"] for one in details["unanswered"]] == ["fails later"]
    assert [one["name"] for one in details["by_spark"]] == ["once by Spark"]
    assert [one["name"] for one in details["slowest_ms"]] == ["only once", "fast"]
    assert details["first_p95_ms"] == 900.0


def test_no_statements_have_figures_too() -> None:
    assert set(figures_of([]).values()) == {0}
    assert details_of([])["unanswered"] == []


def _texts(kind: str) -> list[str]:
    return [f"{one.name}\n{one.sql}" for one in STATEMENTS if one.kind == kind]


def _select(statement: ToolStatement) -> exp.Select:
    tree = sqlglot.parse_one(statement.sql, dialect="trino")
    assert isinstance(tree, exp.Select)
    return tree
