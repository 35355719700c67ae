"""CREATE OR REPLACE CUBE: the old cube answers until the new one is whole, whatever fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.builds.segments.builder import SegmentBuilder
from accelerator.errors import BuildError, CancelledError, StatementError
from accelerator.store import CubeRecord
from tests.support.pristine import Pristine

_OLD = "SELECT g, sum(v) AS s FROM d.f GROUP BY g"
_NEW = "SELECT g, sum(v) AS s, count(*) AS n FROM d.f GROUP BY g"
_OTHER = "SELECT g, max(v) AS m FROM d.f GROUP BY g"
_ASKED = "SELECT g, count(*) AS n FROM d.f GROUP BY g"
_FILES = 3


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"g": ["a", "b"], "v": pa.array([1, 2], pa.int64())})
    fact = catalog.create_table("d.f", rows.schema)
    for _ in range(_FILES):
        fact.append(rows)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill), build_files_per_job=1) as session:
        session.query(f"CREATE CUBE c AS {_OLD}")
        yield session
        assert not session.spark_started


def _replace(acc: Accelerator, select: str = _NEW) -> dict[str, Any]:
    rows = acc.query(f"CREATE OR REPLACE CUBE c AS {select}").arrow().to_pylist()
    assert len(rows) == 1
    return dict(rows[0])


def _cubes(acc: Accelerator) -> dict[str, tuple[str, str, int]]:
    shown = acc.query("SHOW CUBES").arrow().to_pylist()
    return {one["cube"]: (one["status"], one["definition"], one["files_covered"]) for one in shown}


def _records(acc: Accelerator) -> dict[str, CubeRecord]:
    return dict(acc.services.store.registry(fresh=True).cubes)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Exception], None]:
    """Makes builds fail at the job of that number, as a full disk or a cancel does."""
    job = SegmentBuilder._job

    def fails(at: int, error: Exception) -> None:
        left = [at]

        def run(self: SegmentBuilder, *given: Any) -> Any:
            left[0] -= 1
            if left[0] <= 0:
                raise error
            return job(self, *given)

        monkeypatch.setattr(SegmentBuilder, "_job", run)

    return fails


def test_the_new_one_takes_the_place(acc: Accelerator) -> None:
    before = _records(acc)["c"]
    row = _replace(acc)
    assert (row["cube"], row["files"], row["derived"]) == ("c", _FILES, 0)
    assert _cubes(acc) == {"c": ("complete", _NEW, _FILES)}
    answer = acc.query(_ASKED)
    assert sorted(answer.fetchall()) == [("a", 3), ("b", 3)]
    assert answer.metrics.cubes == ("c",)
    assert not acc.services.store.table(before.table_uuid).of(before.id)


def test_the_replaced_one_gives_no_cells(acc: Accelerator) -> None:
    """It may be replaced because they are wrong."""
    assert _replace(acc, _OLD)["derived"] == 0
    acc.query("CREATE CUBE other AS SELECT g, sum(v) AS t FROM d.f GROUP BY g")
    assert _replace(acc, _OLD)["derived"] == _FILES


def test_a_build_that_fails_at_once_leaves_the_old_one(
    acc: Accelerator, failing: Callable[[int, Exception], None]
) -> None:
    failing(1, BuildError("the disk is full"))
    with pytest.raises(BuildError, match="full"):
        _replace(acc)
    assert _cubes(acc) == {"c": ("complete", _OLD, _FILES)}
    assert acc.query(_OLD).metrics.cubes == ("c",)


@pytest.mark.parametrize("error", [BuildError("the disk is full"), CancelledError("stopped")])
def test_the_same_statement_goes_on(
    acc: Accelerator,
    failing: Callable[[int, Exception], None],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    failing(3, error)
    with pytest.raises(type(error)):
        _replace(acc)
    assert _cubes(acc) == {"c": ("complete", _OLD, 3), "c#new": ("partial", _NEW, 2)}
    assert acc.query(_OLD).metrics.cubes == ("c",)
    monkeypatch.undo()
    acc.query("BUILD ALL ON d.f")
    assert _cubes(acc)["c#new"] == ("partial", _NEW, 2)
    assert _replace(acc)["files"] == 1
    assert _cubes(acc) == {"c": ("complete", _NEW, _FILES)}


def test_another_definition_begins_anew(
    acc: Accelerator, failing: Callable[[int, Exception], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(2, BuildError("the disk is full"))
    with pytest.raises(BuildError):
        _replace(acc)
    left = _records(acc)["c#new"].id
    monkeypatch.undo()
    assert _replace(acc, "SELECT g, max(v) AS m FROM d.f GROUP BY g")["files"] == _FILES
    assert list(_records(acc)) == ["c"] and _records(acc)["c"].id != left


def test_what_nobody_goes_on_with_is_vacuumed(
    acc: Accelerator, failing: Callable[[int, Exception], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(2, BuildError("the disk is full"))
    with pytest.raises(BuildError):
        _replace(acc)
    acc.query("VACUUM d.f")
    assert set(_records(acc)) == {"c", "c#new"}
    now = time.time()
    monkeypatch.setattr("accelerator.services.vacuum.vacuum.time.time", lambda: now + 90_000)
    acc.query("VACUUM d.f")
    assert set(_records(acc)) == {"c"}


@pytest.mark.parametrize("at", [1, 2])
def test_another_that_replaces_the_same_cube_is_named(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The slower statement's error names the cube, not the one beside it."""
    job, left = SegmentBuilder._job, [at]

    def run(self: SegmentBuilder, *given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            monkeypatch.setattr(SegmentBuilder, "_job", job)
            _replace(acc, _OTHER)
        return job(self, *given)

    monkeypatch.setattr(SegmentBuilder, "_job", run)
    with pytest.raises(BuildError, match="cube c was replaced, or dropped, by another") as raised:
        _replace(acc)
    assert "#new" not in str(raised.value)
    assert _cubes(acc) == {"c": ("complete", _OTHER, _FILES)}


def test_the_hint_does_not_repeat_the_word_that_is_wrong(acc: Accelerator) -> None:
    with pytest.raises(StatementError, match="exclude each other") as raised:
        acc.query(f"CREATE OR REPLACE CUBE IF NOT EXISTS c AS {_NEW}")
    assert "did you mean" not in (raised.value.hint or "")


def test_a_cube_is_not_undropped_under_the_name_beside(acc: Accelerator) -> None:
    acc.query("DROP CUBE c")
    with pytest.raises(StatementError, match="being replaced"):
        acc.query("UNDROP CUBE c AS `d#new`")
    assert _records(acc) == {}
    acc.query("UNDROP CUBE c")


@pytest.mark.parametrize("word", ["CREATE", "CREATE OR REPLACE"])
def test_the_name_beside_is_nobodys(acc: Accelerator, word: str) -> None:
    with pytest.raises(StatementError, match="being replaced"):
        acc.query(f"{word} CUBE `c#new` AS {_NEW}")
    assert set(_records(acc)) == {"c"}


@pytest.mark.parametrize("deferred", ["", "DEFERRED "])
def test_the_new_one_is_refreshed_as_the_old_one_was(acc: Accelerator, deferred: str) -> None:
    acc.query("ALTER CUBE c SET REFRESH = EVERY '10 minutes'")
    refresh = _records(acc)["c"].refresh
    assert refresh is not None
    acc.query(f"CREATE OR REPLACE CUBE c {deferred}AS {_NEW}")
    assert _records(acc)["c"].sql == _NEW
    assert _records(acc)["c"].refresh == refresh


def test_a_cube_that_was_dropped_hands_nothing_on(acc: Accelerator) -> None:
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    acc.query("DROP CUBE c")
    acc.query(f"CREATE CUBE c AS {_NEW}")
    assert _records(acc)["c"].refresh is None


@pytest.mark.parametrize("deferred", ["", " DEFERRED"])
def test_a_new_index_is_refreshed_as_the_old_one_was(acc: Accelerator, deferred: str) -> None:
    acc.query("CREATE INDEX i ON d.f USING BLOOM (v)")
    acc.query("ALTER INDEX i SET REFRESH = ON COMMIT")
    acc.query(f"CREATE OR REPLACE INDEX i ON d.f USING RANGE (v){deferred}")
    record = acc.services.store.registry(fresh=True).indexes["i"]
    assert (record.kind, record.refresh) == ("RANGE", "on_commit")
