"""What the lines of suites can't say of their statements: texts of explain, metrics, PUBLISH."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelerator.errors import BuildError
from accelerator.planning.candidates import derived_tables
from accelerator.planning.plans import NestedPlan
from tests.spark.differential import Differential
from tests.support.equality_deletes import write_equality_delete
from tests.support.statements import FOLDER, Run, SuiteError, opened, read

pytestmark = pytest.mark.spark

ELSEWHERE = {
    "test_measures.py": (16,),
    "test_tokens_on_tables.py": (58,),
    "test_hashes.py": (60,),
    "test_raw_pruning.py": (61,),
    "test_table_changes.py": (38, 46),
    "test_build_crash.py": (39, 42, 49),
    "test_planning.py": (41,),
}
"""Traps that need more than a statement."""


def test_every_trap_has_a_test() -> None:
    said = re.findall(r"^# T(\d+)\b", (FOLDER / "traps.slt").read_text(), re.M)
    tests = [number for numbers in ELSEWHERE.values() for number in numbers]
    assert {*map(int, said), *tests} == {*range(1, 64)}
    assert all((Path(__file__).parent / name).exists() for name in ELSEWHERE)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("world traps\n\nasked cube\nSELECT 1", "'asked' isn't one of"),
        ("world traps\n\nquery cube", "no statement stands below"),
        ("world traps\nquery cube\nSELECT 1", "a blank line is missing"),
        ("world traps\n\nquery \nSELECT 1", "doesn't say what answers"),
        ("world traps\n\nquery by spark covered:\nSELECT 1", "doesn't say what answers"),
        ("world traps\n\nexecute covered\nBUILD CUBE c", "`execute at STATE`"),
        ("session engine\n\nquery cube\nSELECT 1", "NAME=VALUE"),
        ("query cube\nSELECT 1", "no line names the world"),
    ],
)
def test_lines_that_suites_have_not(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "wrong.slt"
    path.write_text(lines)
    with pytest.raises(SuiteError, match=re.escape(said)):
        read(path)


@pytest.mark.parametrize("head", ["states once", "execute at once\nBUILD CUBE c"])
def test_states_that_the_world_has_not(tmp_path: Path, head: str) -> None:
    path = tmp_path / "wrong.slt"
    path.write_text(f"world traps\n\n{head}\n\nquery cube\nSELECT 1")
    with pytest.raises(SuiteError, match="the world has no state 'once': covered, changed"):
        Run(read(path))


def _text(run: Run, said: str) -> str:
    """The suite's first statement with these words."""
    return next(block.text for block in run.suite.asked if said in block.text)


def test_nested() -> None:
    with opened("nested", "made") as run:
        inner = (
            "SELECT k, approx_count_distinct(v) AS a, count(*) AS n FROM lake.d.nest_f GROUP BY k"
        )
        sql = (
            f"WITH c AS ({inner}) SELECT max(n) FROM c"
            " JOIN (SELECT count(*) AS m FROM lake.d.nest_d) ON n <= m"
        )
        text = run.session.explain(sql)
        assert "2 SELECTs, each on its own; what stands above by DuckDB\n   ├─ 1. " in text
        assert "cube nest" in text
        answer = run.session.query(sql)
        assert answer.metrics.cubes == ("nest",) and answer.metrics.files_total > 0
        assert run.session.query(sql).metrics.plan_cached
        row = run.session.query(f"VERIFY SELECT max(a), sum(n) AS n FROM ({inner})")
        told = row.arrow().to_pylist()[0]
        assert (told["rewritten"], told["equal"], told["estimates"]) == (True, True, "max(a)")


def test_set_operations() -> None:
    with opened("set_operations", "made") as run:
        for block in run.suite.asked:
            if block.kind == "query" and block.expectation("made") == "cube":
                assert isinstance(run.session.plan(block.text)[0], NestedPlan), block.text
        told = json.loads(run.session.explain(run.suite.asked[0].text, format="json"))
        assert told["rewritten"] is True and "UNION ALL" in told["sql"]


def test_partial() -> None:
    """A table that Spark reads as well is of the snapshot that the answers are of."""
    with opened("partial", "made") as run:
        acc, table = run.session, "lake.d.part_f"
        plan = json.loads(acc.explain(_text(run, "d = (SELECT max(d)"), format="json"))
        snapshot = plan["snapshots"][table]
        assert f"FROM {table} VERSION AS OF {snapshot} WHERE d = (" in plan["sql"]
        first = run.suite.asked[0].text
        assert "1 SELECT on its own; the rest by Spark, as it's written\n   └─ 1. " in (
            acc.explain(first)
        )
        metrics = acc.query(first).metrics
        assert (metrics.engine, metrics.cubes) == ("spark", ("part_f",))
        assert acc.query(first).metrics.plan_cached
        assert acc.verify(run.suite.asked[1].text).equal


def test_times() -> None:
    with opened("times", "appended") as run:
        acc = run.session
        asked = [b.text for b in run.suite.asked if b.expectation("appended") == "cube"]
        used = {cube for sql in asked for cube in acc.query(sql).metrics.cubes}
        assert used == {"times_months", "times_days", "times_hours"}
        text = acc.explain(
            "SELECT month(at), sum(v) FROM lake.d.times WHERE day < '2020-02-01' GROUP BY 1"
        )
        assert "rests on   times truncated in UTC" in text
        assert re.search("   └─ .*2020-02-01", text), text


def test_views() -> None:
    with opened("views", "changed") as run:
        plan = run.session.plan("SELECT g FROM lake.d.seen_row GROUP BY g")[0]
        assert plan.declined.code == "view_unsupported"  # type: ignore[union-attr]


def test_two_cubes() -> None:
    def cubes(run: Run, said: str) -> list[str]:
        told = json.loads(run.session.explain(_text(run, said), format="json"))
        assert told["by_groups"] is True
        return [part["cube"] for part in told["selects"]]

    for state in ("made", "rebuilt"):
        with opened("two_cubes", state) as run:
            assert cubes(run, "sum(v) AS s, count(DISTINCT w) AS n") == ["two_sets", "two_sums"]
            if state == "made":
                assert len(cubes(run, "stddev(v) AS d")) == 3
                text = run.session.explain(run.suite.asked[0].text)
                assert "in 2 parts, whose cells merge by DuckDB" in text
                assert run.session.verify(_text(run, "AS one")).equal


def test_delta_joins() -> None:
    with opened("delta_joins", "made") as run:
        text = run.session.explain(_text(run, "weight > 0.5"))
        assert "joined to lake.d.delta_d" in text and "k = delta_d.dk" in text
        chain = json.loads(run.session.explain(_text(run, "tag, name"), format="json"))
        assert chain["delta"] == ["lake.d.delta_d", "lake.d.delta_t"]


_FROM = (
    "{f} f",
    "{f} f LEFT SEMI JOIN {d} d ON f.k = d.k",
    "{f} f LEFT SEMI JOIN {t} t ON f.k = t.k",
    "{f} f JOIN {d} d ON f.k = d.k LEFT SEMI JOIN {o} o ON o.ok = d.ok AND land = 'x'",
    "{f} f LEFT JOIN {d} d ON f.k = d.k LEFT SEMI JOIN {o} d2 ON d.ok = d2.ok",
    "{f} f LEFT SEMI JOIN {d} d ON f.k = d.k AND d.ok = f.i LEFT JOIN {t} t ON t.k = f.k",
)
_TERMS = (
    "f.k IN (SELECT k FROM {d})",
    "f.k IN (SELECT k FROM {d} WHERE region = 'r1' OR region IS NULL)",
    "f.i IN (SELECT ok FROM {o} WHERE land = 'x')",
    "f.k IN (SELECT k FROM {t} WHERE tag = 'a')",
    "EXISTS (SELECT 1 FROM {d} x WHERE x.k = f.k AND ok = f.i)",
    "EXISTS (SELECT * FROM {o} WHERE ok = i)",
    "EXISTS (SELECT tag FROM {t} f2 WHERE f2.k = f.k AND tag = f.g)",
    "f.b",
    "(f.g = 'g1' OR f.v > 3)",
)


def test_random_semi_joins() -> None:
    names = {name: f"lake.d.semi_{name}" for name in "fdot"}
    with opened("semi_joins", "made") as run:
        both = Differential(run.session)

        @given(from_=st.sampled_from(_FROM), terms=st.lists(st.sampled_from(_TERMS), max_size=3))
        @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
        def asked(from_: str, terms: list[str]) -> None:
            where = f" WHERE {' AND '.join(terms)}" if terms else ""
            sql = f"SELECT f.g, count(*) n, sum(f.v) s FROM {from_}{where} GROUP BY f.g"
            both.check([sql.format(**names)], rewritten=None)

        asked()


_BY_K = "SELECT k, sum(v) AS s, count(*) AS n FROM lake.d.beside_f GROUP BY k"


def test_large_tables_beside_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"SELECT k, w, s FROM ({_BY_K}) a JOIN lake.d.beside_d ON k = dk"
    with opened("tables_beside", "made") as run:
        assert run.session.query(sql).metrics.engine == "duckdb"
        monkeypatch.setattr(derived_tables, "_BESIDE_ROWS_MAX", 2)
        again = f"{sql} WHERE true"
        Differential(run.session).check([again])
        assert run.session.query(again).metrics.engine == "spark"
        monkeypatch.undo()
        monkeypatch.setattr(derived_tables, "_BESIDE_FILES_MAX", 0)
        assert run.session.query(f"{sql} WHERE 1 = 1").metrics.engine == "spark"


def test_equality_deletes_beside() -> None:
    with opened("tables_beside", "made") as run:
        wh, both = run.warehouse, Differential(run.session)
        name = wh.table("k INT, g STRING")
        wh.sql(f"INSERT INTO lake.d.{name} SELECT CAST(id AS INT), 'g' FROM range(6)")
        sql = f"SELECT t.k, g, s FROM ({_BY_K}) a JOIN lake.d.{name} t ON n >= t.k"
        both.check([sql])
        write_equality_delete(wh, name, [1, 2])
        both.changed()
        both.check([sql])
        assert run.session.query(sql).metrics.engine == "duckdb"


def test_joined() -> None:
    with opened("joined", "changed") as run:
        text = run.session.explain(run.suite.asked[0].text)
        assert re.search("relate column y +by lake.d.joined_d", text)
        for column in ("y", "a", "month"):
            run.session.query(f"ALTER TABLE lake.d.joined_f DROP RELATE COLUMN {column}")
        assert run.session.query("SHOW INDEXES ON lake.d.joined_f").arrow().num_rows == 0


def test_a_published_cube_of_wider_types() -> None:
    with opened("wrong_once", "appended") as run:
        acc = run.session
        acc.query("PUBLISH CUBE c_own AS lake.d.wrong_published")
        shown = run.warehouse.sql("SELECT i FROM lake.d.wrong_published ORDER BY i")
        assert [row.i for row in shown] == [None, 3, 4000000000]
        with pytest.raises(BuildError, match="another type"):
            acc.query("PUBLISH CUBE c_made AS lake.d.wrong_made")
        assert acc.query(_text(run, "stddev(x) AS e")).metrics.cubes == ("c_sums",)


def test_suites_are_read() -> None:
    for path in FOLDER.glob("*.slt"):
        assert read(path).asked, path


def test_index_answers() -> None:
    with opened("index_answers", "made") as run:

        def told(sql: str, part: str) -> dict[str, Any]:
            found: dict[str, Any] = json.loads(run.session.explain(sql, format="json"))[part]
            return found

        assert told("SELECT DISTINCT name FROM lake.d.answers_3", "manifests")["by_indexes"] == 3
        few = "FROM lake.d.answers_small WHERE"
        found = told(f"SELECT d {few} small = 3 AND name = 'né43'", "funnel")
        assert (found["files"], found["by_partition"]) == (40, 39)
        assert found["row_groups"] == [1, 1]
        assert found["rows"][0] < found["rows"][1] == 4
        assert 0 < found["bytes"][0] < found["bytes"][1]
        found = told(f"SELECT small, count(*) {few} name = 'né31' GROUP BY small", "funnel")
        assert (found["by_partition"], found["bytes"][0]) == (0, 0)


def test_range_index() -> None:
    with opened("range_index", "made") as run:
        shown = run.session.execute("SHOW INDEXES ON lake.d.ranges").to_pylist()
        of_id = next(row for row in shown if row["index"] == "range_id")
        assert (of_id["modes"], of_id["false_positive_rate"]) == ("bucket 4", 0)
        assert all(row["files_covered"] == 4 and row["modes"] for row in shown)
        empty = next(b for b in run.suite.asked if "BETWEEN" in b.text and "index 0 of 4" in str(b))
        said = "left out by index range_id (RANGE)"
        assert said in run.session.explain(empty.text)


def test_row_groups_left_out_by_grams() -> None:
    with opened("terms_indexes", "made") as run:
        table = "lake.d.terms_blocks"
        found = run.session.query(f"SELECT id FROM {table} WHERE t LIKE '%用户15登%'")
        assert found.fetchall() == [(15,)]
        assert (found.metrics.files_read, found.metrics.row_groups_read) == (1, 1)
        assert found.metrics.indexes[0].startswith("of_t")
        every = run.session.query(f"SELECT id FROM {table} WHERE id >= 0")
        assert every.metrics.row_groups_read == 4
