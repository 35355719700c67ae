"""From a log to advice to cubes that answer, over small tables and without Java."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.types import StringType

import accelerator
from accelerator import Accelerator
from accelerator.errors import (
    AdviceError,
    AdviceNotFoundError,
    AdviceStaleError,
    CubeExistsError,
    CubeNotFoundError,
    UnknownTableError,
    WorkloadEmptyError,
)
from accelerator.store.journals.advice import FOLDER
from tests.accelerator.services.advisor.asked_lake import BY_KIND, KINDS, REGIONS, TOTAL, fill, log
from tests.support.pristine import Pristine, catalog_of


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(fill)) as session:
        yield session
        assert not session.spark_started


def _show(acc: Accelerator, on: str = "") -> list[dict]:
    return acc.query(f"SHOW RECOMMENDATIONS{on}").arrow().to_pylist()


def test_from_log_to_cubes_that_answer(acc: Accelerator) -> None:
    log(acc, (REGIONS, 50), (BY_KIND, 30), (BY_KIND.replace("k1", "k4"), 20), (TOTAL, 20))
    plain = {sql: acc.query(sql).arrow().to_pylist() for sql in (REGIONS, BY_KIND, TOTAL)}
    rows = acc.query("ANALYZE d.f WITH (bytes = '1MB', keep_days = 0)").arrow().to_pylist()
    assert [row["action"] for row in rows] == ["CREATE CUBE"] * len(rows) and rows
    assert sum(row["gain_share"] for row in rows) <= 1 and rows[0]["gain_share"] > 0.3
    assert sum(row["bytes"] for row in rows) <= 1_000_000
    assert _show(acc, " ON d.f") == rows == _show(acc)
    assert {row["status"] for row in rows} == {"open"}
    done = acc.query("APPLY RECOMMENDATIONS FOR d.f").arrow().to_pylist()
    assert {one["id"] for one in done} == {row["id"] for row in rows}
    assert {row["status"] for row in _show(acc)} == {"applied"}
    for sql, before in plain.items():
        found = acc.query(sql)
        assert found.metrics.cubes, sql
        key = [repr(row) for row in found.arrow().to_pylist()]
        assert sorted(key) == sorted(map(repr, before))
    for row in acc.query("SHOW CUBES").arrow().to_pylist():
        assert row["segments"] == 1  # compacted
    assert acc.apply(table="d.f") == []


def test_one_cube_may_serve_many(acc: Accelerator) -> None:
    """A budget that is too small for each statement's own cube gets one that serves all."""
    log(acc, (REGIONS, 50), (BY_KIND, 50))
    wide = acc.analyze("d.f").recommendations
    least = min(one.bytes for one in wide)
    both = acc.analyze("d.f", bytes=max(one.bytes for one in wide)).recommendations
    assert len(both) == 1 and both[0].statements == 100
    assert len(acc.analyze("d.f", bytes=least).recommendations) == 1
    assert acc.analyze("d.f", bytes=1).recommendations == ()


def test_what_no_longer_pays_is_advised_away_and_comes_back(acc: Accelerator) -> None:
    acc.query(f"CREATE CUBE old AS {REGIONS}")
    log(acc, (BY_KIND, 50))
    assert all(one.action == "CREATE CUBE" for one in acc.analyze("d.f").recommendations)
    log(acc, (REGIONS, 2), days_ago=20, cubes=("old",))
    kept = acc.analyze("d.f", keep_days=1)
    assert "old" not in [one.cube for one in kept.recommendations]  # made just now
    found = acc.analyze("d.f", keep_days=0)
    drop = next(one for one in found.recommendations if one.action == "DROP CUBE")
    assert drop.cube == "old" and drop.bytes > 0 and "best" in drop.reason
    acc.apply(drop.id)
    assert "old" not in acc.services.store.registry().cubes
    with pytest.raises(CubeNotFoundError):
        acc.apply(drop.id)
    assert acc.undrop("old") == "old"
    assert acc.query(REGIONS).metrics.cubes == ("old",)


def test_a_cube_in_use_stays_and_counts(acc: Accelerator) -> None:
    acc.query(
        f"CREATE CUBE used AS {KINDS.replace('kind,', 'line, kind,')} GROUP BY line, kind, region"
    )
    log(acc, (BY_KIND, 5), cubes=("used",))
    log(acc, (BY_KIND, 5), days_ago=0.1)
    size = sum(row["bytes"] for row in acc.query("SHOW CUBES").arrow().to_pylist())
    assert acc.analyze("d.f", bytes=size).recommendations == ()
    created = acc.analyze("d.f", bytes=size + 1_000_000).recommendations
    assert [one.action for one in created] == ["CREATE CUBE"]


def test_a_cube_that_is_there_is_not_advised(acc: Accelerator) -> None:
    log(acc, (REGIONS, 50))
    (one,) = acc.analyze("d.f").recommendations
    acc.apply(one.id)
    assert acc.analyze("d.f").recommendations == ()
    assert acc.analyze("d.f", keep_days=0).recommendations == ()


def test_what_is_not_understood_is_told(acc: Accelerator) -> None:
    log(
        acc,
        (REGIONS, 50),
        ("SELECT a FROM", 3),
        ("SELECT sum(x) AS x FROM d.nothing", 2),
        ("SELECT * FROM d.f", 4),
        ("SELECT region FROM d.shops WHERE password = 'p' AND AND", 1),
    )
    found = acc.analyze()
    assert found.statements == 60 and len(found.recommendations) == 1
    assert sum(found.left_out.values()) == 10
    assert found.left_out["secret_hidden"] == 1 and found.left_out["not_understood"] == 3
    notes = acc.query("ANALYZE WORKLOAD").arrow().to_pylist()
    told = [row["reason"] for row in notes if row["action"] == "NOTE"]
    assert any("secret_hidden" in one for one in told) and len(told) == len(found.notes)


def test_a_client_s_names_are_completed(acc: Accelerator) -> None:
    sql = "SELECT kind, sum(price) FROM f GROUP BY 1"
    log(acc, (sql, 40), dialect="trino", catalog="lake", schema="d")
    (one,) = acc.analyze("d.f").recommendations
    assert "FROM lake.d.f" in one.ddl and one.samples == (sql,)
    acc.apply(one.id)
    assert acc.query("SELECT kind, sum(price) AS s FROM d.f GROUP BY 1").metrics.cubes


def test_names_of_another_session_are_completed(acc: Accelerator) -> None:
    sql = "WITH f AS (SELECT * FROM f) SELECT kind, sum(price) FROM f GROUP BY kind"
    plain = "SELECT kind, sum(price) FROM f JOIN d.shops ON shop = id GROUP BY kind"
    log(acc, (plain, 40), catalog="lake", schema="d")
    log(acc, (sql, 10), catalog="lake", schema="d")
    found = acc.analyze("d.f")
    assert found.recommendations[0].samples[0] == plain


def test_faded_and_kept_answers_weigh_less(acc: Accelerator) -> None:
    log(acc, (REGIONS, 50), days_ago=13)
    old = acc.analyze("d.f").total_ms
    log(acc, (REGIONS, 50), cached=True)
    assert acc.analyze("d.f").total_ms == pytest.approx(old, rel=0.1)
    log(acc, (REGIONS, 50))
    assert acc.analyze("d.f").total_ms > 2 * old


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("bytes = 0", "budget is nothing"),
        ("build_minutes = 0", "budget is nothing"),
        ("bytes = 'many'", "bytes"),
        ("bytes = -1", "bytes"),
        ("days = 0", "days"),
        ("keep_days = -1", "keep_days"),
        ("days = 1, days = 2", "twice"),
        ("days = 'x'", "days"),
        ("byte = 1", "no option byte"),
    ],
)
def test_budgets_that_can_t_be(acc: Accelerator, options: str, said: str) -> None:
    with pytest.raises(AdviceError, match=said):
        acc.query(f"ANALYZE d.f WITH ({options})")


def test_errors_are_typed(acc: Accelerator) -> None:
    with pytest.raises(WorkloadEmptyError, match="no finished query"):
        acc.analyze("d.f")
    log(acc, (REGIONS, 50))
    with pytest.raises(WorkloadEmptyError, match="shops"):
        acc.analyze("d.shops")
    with pytest.raises(UnknownTableError):
        acc.analyze("d.nothing")
    with pytest.raises(UnknownTableError):
        acc.query("SHOW RECOMMENDATIONS ON d.nothing")
    with pytest.raises(AdviceNotFoundError):
        acc.apply("r000000000000")
    with pytest.raises(AdviceError):
        acc.apply()
    (one,) = acc.analyze("d.f").recommendations
    acc.query(f"CREATE CUBE {one.cube} AS {TOTAL.replace(chr(39) + 'k2' + chr(39), 'kind')}")
    with pytest.raises(CubeExistsError):
        acc.apply(one.id)


def test_advice_older_than_the_schema_is_refused(acc: Accelerator) -> None:
    log(acc, (REGIONS, 50))
    (one,) = acc.analyze("d.f").recommendations
    catalog = catalog_of(Path(acc.config.warehouse))
    with catalog.load_table("d.shops").update_schema() as change:
        change.rename_column("region", "area")
    with pytest.raises(AdviceStaleError, match="schema"):
        acc.apply(one.id)
    with catalog.load_table("d.shops").update_schema() as change:
        change.add_column("region", StringType())
    with pytest.raises(AdviceStaleError, match="schema"):
        acc.apply(one.id)  # another column of the same name
    catalog.drop_table("d.shops")
    with pytest.raises(UnknownTableError):
        acc.apply(one.id)
    catalog.engine.dispose()


def test_newer_advice_counts_and_old_files_go(acc: Accelerator) -> None:
    log(acc, (REGIONS, 50))
    (old,) = acc.analyze("d.f").recommendations
    assert acc.recommendations() == [old]
    for _ in range(18):
        assert acc.analyze("d.f", bytes=1).recommendations == ()
    assert acc.recommendations() == []
    assert len(acc.services.store.files.list(FOLDER)) == 16
    with pytest.raises(AdviceNotFoundError):
        acc.apply(old.id)  # its file is gone, too
    acc.analyze()
    assert [one.id for one in acc.recommendations("d.f")] == [old.id]  # all tables' is this one's
    acc.analyze("d.f", bytes=1)
    with pytest.raises(AdviceStaleError, match="newer"):
        acc.apply(old.id)


def test_a_ddl_that_somebody_changed_is_refused(acc: Accelerator) -> None:
    log(acc, (REGIONS, 50))
    acc.analyze("d.f")
    files = acc.services.store.files
    (path,) = files.list(FOLDER)
    said = json.loads(files.read(path))
    (one,) = said["recommendations"]
    later = said["made_ms"] + 60_000
    harmful = (
        "DROP TABLE d.f",
        "DROP CUBE other",
        one["ddl"].replace("CREATE CUBE", "CREATE OR REPLACE CUBE"),
        one["ddl"].replace("sum(", "min("),
        one["ddl"] + "; DROP CUBE c",
    )
    for number, ddl in enumerate(harmful):
        moment = datetime.fromtimestamp((later + number) / 1000, UTC) + timedelta(days=1)
        name = f"{FOLDER}/{moment:%Y%m%dT%H%M%S%f}-{number:016x}.json"
        changed = said | {"made_ms": later + number, "recommendations": [one | {"ddl": ddl}]}
        files.create(name, json.dumps(changed).encode())
        with pytest.raises(AdviceStaleError):
            acc.apply(one["id"])
    assert not acc.services.store.registry().cubes
