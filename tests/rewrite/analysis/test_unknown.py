"""Names that surely nobody knows, over tables that are given."""

from __future__ import annotations

import pytest

from rewrite.analysis.unknown_names import LakeNames, unknown_name, unknown_target

_TABLES = {
    ("d", "f"): LakeNames(("k", "v", "s"), frozenset({"k", "v", "s", "inner", "gone"})),
    ("d", "g"): LakeNames(("k", "name"), frozenset({"k", "name"})),
}


class _Some:
    """Two tables, and one of which nothing is known."""

    def find(self, parts: tuple[str, ...]) -> LakeNames | None:
        return _TABLES.get(parts)

    def is_absent(self, parts: tuple[str, ...]) -> bool:
        return parts not in _TABLES and parts[-1] != "unsure"

    def near(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        return ("d.f",) if parts == ("d", "ff") else ()


@pytest.mark.parametrize(
    ("sql", "name", "near"),
    [
        ("SELECT k FROM d.ff", "d.ff", ("d.f",)),
        ("SELECT k FROM d.f WHERE k IN (SELECT k FROM d.ff)", "d.ff", ("d.f",)),
        ("SELECT vv FROM d.f", "vv", ("v",)),
        ("SELECT k FROM d.f ORDER BY vv", "vv", ("v",)),
        ("SELECT f.vv FROM d.f", "f.vv", ("f.v",)),
        ("SELECT x.name FROM d.f x JOIN d.g y ON x.k = y.k", "x.name", ()),
        ("SELECT h.v FROM d.f", "h.v", ("f",)),
        ("SELECT summ(v) FROM d.f", "summ", ("sum",)),
        ("SELECT nothing", "nothing", ()),
        ("SELECT sum(v) FROM d.unsure WHERE uper(v) = 'A'", "uper", ("upper", "user")),
    ],
)
def test_it_is_found(sql: str, name: str, near: tuple[str, ...]) -> None:
    found = unknown_name(sql, _Some())
    assert found is not None
    assert (found.name, found.suggestions) == (name, near)
    assert found.at.column == sql.rindex(name if name != "d.ff" else "d.ff") + 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT vv FROM d.unsure",
        "SELECT vv FROM d.f, d.unsure",
        "SELECT gone, s.inner, _file, current_date FROM d.f",
        "SELECT v AS vv FROM d.f ORDER BY vv",
        "SELECT x.vv FROM (SELECT v AS vv FROM d.f) x",
        "SELECT ff.k FROM d.f, (SELECT k FROM d.g) ff",
        "WITH ff AS (SELECT 1 AS one) SELECT one FROM ff",
        "WITH ff AS (SELECT k FROM d.f) SELECT x.k, y.k FROM ff x JOIN ff AS y ON x.k = y.k",
        "SELECT vv FROM d.f LATERAL VIEW explode(array(v)) t AS vv",
        "SELECT transform(array(v), vv -> vv + 1) FROM d.f",
        "SELECT vv FROM (SELECT inline(from_json(s, 'array<struct<vv: int>>')) FROM d.f)",
        "SELECT /*+ BROADCAST(vv) */ k FROM d.f",
        "SELECT timestampadd(QUARTER, 1, v) FROM d.f",
        "SELECT d.summ(v), `a b` FROM d.f",
        "SELECT match(s, 'a'), has_token(s, 'a'), bucket(4, k) FROM d.f",
        "SELECT x.v FROM d.f AS x (a, b, c)",
        "SELECT k FROM range(10)",
        "SELECT k FORM d.ff",
        "DELETE FROM d.ff",
    ],
)
def test_what_somebody_may_know_is_not(sql: str) -> None:
    assert unknown_name(sql, _Some()) is None


@pytest.mark.parametrize(
    ("sql", "is_found"),
    [
        ("INSERT INTO d.ff VALUES (1)", True),
        ("INSERT OVERWRITE TABLE d.ff (a) SELECT 1", True),
        ("DELETE FROM d.ff WHERE k = 1", True),
        ("UPDATE d.ff SET k = 1", True),
        ("MERGE INTO d.ff USING d.f ON true WHEN MATCHED THEN DELETE", True),
        ("DESC TABLE d.ff", True),
        ("DROP TABLE d.ff;", True),
        ("DROP TABLE IF EXISTS d.ff", False),
        ("DESCRIBE FUNCTION ff", False),
        ("DESCRIBE d.ff k", False),
        ("INSERT INTO IDENTIFIER('d.ff') VALUES (1)", False),
        ("INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1", False),
        ("INSERT INTO d.f VALUES (1)", False),
        ("CREATE TABLE d.ff (a INT)", False),
    ],
)
def test_the_table_of_a_change(sql: str, is_found: bool) -> None:
    assert (unknown_target(sql, _Some()) is not None) == is_found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT session_window.start, count(*) FROM d.f GROUP BY session_window(k, '5 minutes')",
        "SELECT session_window.start FROM (SELECT session_window, count(*) c FROM d.f"
        " GROUP BY session_window(k, '1 minute'))",
        "SELECT ts_day FROM (SELECT _partition.* FROM d.f)",
        "SELECT id_bucket FROM (SELECT p.* FROM (SELECT _partition p FROM d.f))",
        "SELECT x, y FROM (SELECT inline_outer(histogram_numeric(k, 5)) FROM d.f)",
        "SELECT item FROM (SELECT h.* FROM (SELECT array_max(approx_top_k(s)) AS h FROM d.f))",
        "SELECT foo FROM (SELECT j.* FROM (SELECT from_json(s, 'fo' 'o INT') AS j FROM d.f))",
        "SELECT xy FROM (SELECT 'x' 'y')",
        "SELECT `true` FROM (SELECT true)",
        "SELECT `NULL` FROM (SELECT NULL)",
        "SELECT `1` FROM (SELECT 1) ORDER BY `1`",
        "SELECT `(k + 1)` FROM (SELECT k + 1 FROM d.f)",
    ],
)  # fmt: skip
def test_columns_that_spark_names_itself_are_not_judged(sql: str) -> None:
    assert unknown_name(sql, _Some()) is None


def test_a_column_of_a_select_in_from() -> None:
    found = unknown_name("SELECT zz FROM (SELECT 1 AS zy)", _Some())
    assert found is not None
    assert (found.error_class, found.suggestions) == ("UNRESOLVED_COLUMN.WITH_SUGGESTION", ("zy",))


def test_what_is_not_sound_is_left_to_the_parser() -> None:
    assert unknown_target("DELETE FROM d.ff WERE x = 1", _Some()) is None
    assert unknown_target("DELETE FROM d.ff WHERE x = 1", _Some()) is not None
