"""Refreshes by one process: what is due, in which order, how far behind, and what goes wrong."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

import accelerator
from accelerator import Accelerator
from accelerator.builds.segments.duckdb_job import InProcess
from accelerator.errors import (
    CubeNotFoundError,
    EngineError,
    IndexNotFoundError,
    SparkElsewhereError,
    StoreError,
    TableReplacedError,
)
from accelerator.query.runtime.services import Services
from accelerator.services.maintenance.prometheus_refresh import ARTIFACTS_MAX, RefreshFigures
from accelerator.services.refresh.artifacts import Artifact
from accelerator.services.refresh.service import Refresh, Refreshed
from accelerator.services.runner import Outcome, Reported
from accelerator.store import Store
from accelerator.store.journals.claims import Claims, TaskProgress
from accelerator.store.journals.run import runs_of
from accelerator.store.log.registry import RegistryCodec
from tests.accelerator.services.refresh.followed_lake import (
    CUBE,
    ONCE,
    age,
    append,
    fill,
    key,
    refreshed,
    shown,
)
from tests.support.pristine import Pristine, catalog_of


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(fill), refresh_poll_s=0.05) as session:
        yield session
        assert not session.spark_started


def test_only_what_is_to_be_refreshed_is(acc: Accelerator) -> None:
    acc.query(CUBE)
    append(acc, 100)
    assert refreshed(acc) == []
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    assert refreshed(acc, replace(ONCE, refresh=False)) == []
    (done,) = refreshed(acc)
    assert (done.kind, done.artifact, done.files, done.error) == ("cube", "c", 1, None)
    assert (done.left, done.twice, done.lag_s) == (False, 0, 0)
    assert refreshed(acc) == []
    acc.query("ALTER CUBE c SET REFRESH = MANUAL")
    append(acc, 200)
    assert refreshed(acc) == []


def test_an_index_follows_too(acc: Accelerator) -> None:
    acc.query("CREATE INDEX i ON d.f USING BLOOM (k)")
    answer = acc.query("ALTER INDEX i SET REFRESH = ON COMMIT").arrow().to_pylist()
    assert answer == [{"index": "i", "refresh": "on_commit"}]
    append(acc, 100)
    before = shown(acc, "INDEXES")
    assert before["lag_s"] > 0 and before["refresh"] == "on_commit"
    (done,) = refreshed(acc)
    assert (done.kind, done.files) == ("index", 1)
    after = shown(acc, "INDEXES")
    assert (after["lag_s"], after["status"]) == (0, "complete") and after["last_run"]


def test_the_setting_counts_for_all_others(pristine: Pristine, no_java: None) -> None:
    with accelerator.open(pristine.lake(fill), refresh="on_commit") as acc:
        acc.query(CUBE)
        append(acc, 100)
        assert [one.files for one in refreshed(acc)] == [1]


def test_default_goes_by_the_setting_again(pristine: Pristine, no_java: None) -> None:
    """What was said is forgotten, so that a release that knows none of it takes the store too."""
    with accelerator.open(pristine.lake(fill), refresh="on_commit") as acc:
        acc.query(CUBE)
        acc.query("CREATE INDEX i ON d.f USING BLOOM (k)")
        for kind, name in (("CUBE", "c"), ("INDEX", "i")):
            acc.query(f"ALTER {kind} {name} SET REFRESH = MANUAL")
        append(acc, 100)
        assert refreshed(acc) == []
        for kind, name in (("CUBE", "c"), ("INDEX", "i")):
            answer = acc.query(f"ALTER {kind} {name} SET REFRESH = DEFAULT").arrow().to_pylist()
            assert answer == [{kind.lower(): name, "refresh": "on_commit"}]
        assert shown(acc)["refresh"] == "on_commit"
        assert sorted(one.kind for one in refreshed(acc)) == ["cube", "index"]
        registry = acc.services.store.registry(fresh=True)
        assert registry.cubes["c"].refresh is None and registry.indexes["i"].refresh is None
        assert RegistryCodec().format_of(registry) == 3


def test_an_interval_is_waited_for(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = EVERY '10 minutes'")
    append(acc, 100)
    assert [one.files for one in refreshed(acc)] == [1]
    append(acc, 200)
    assert refreshed(acc) == []
    age(acc, 590, key(acc))
    assert refreshed(acc) == []
    age(acc, 11, key(acc))
    assert [one.files for one in refreshed(acc)] == [1]


def test_a_clock_that_went_back_delays_nothing_for_long(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = EVERY '10 minutes'")
    append(acc, 100)
    refreshed(acc)
    append(acc, 200)
    age(acc, -86_400, key(acc))  # it ended tomorrow
    assert [one.files for one in refreshed(acc)] == [1]


def test_portions_are_the_newest_first(pristine: Pristine, no_java: None) -> None:
    with accelerator.open(pristine.lake(fill), refresh_bytes_max=1) as acc:
        acc.query(CUBE.replace(" AS SELECT", " DEFERRED AS SELECT"))
        acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
        append(acc, 100, 200)
        told = refreshed(acc)
        assert [(one.files, one.left) for one in told] == [(1, True), (1, True), (1, False)]
        assert told[0].lag_s and told[1].lag_s and told[2].lag_s == 0
        record = acc.services.store.registry().cubes["c"]
        built = acc.services.store.table(record.table_uuid).of(record.id)
        assert len(built) == 3


def test_rows_that_are_deleted_and_dimensions_that_change_are_followed(acc: Accelerator) -> None:
    dim = pa.table({"id": pa.array([0, 1, 2], pa.int64()), "name": ["a", "b", "c"]})
    catalog = catalog_of(Path(acc.config.warehouse))
    catalog.create_table("d.dim", dim.schema).append(dim)
    acc.query(
        "CREATE CUBE c AS SELECT name, count(*) AS n FROM d.f JOIN d.dim ON k = id GROUP BY name"
    )
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    assert refreshed(acc) == []
    changed = dim.set_column(1, "name", pa.array(["x", "y", "z"]))
    catalog.load_table("d.dim").overwrite(changed)
    assert shown(acc)["lag_s"] > 0
    assert [one.files for one in refreshed(acc)] == [1]
    catalog.load_table("d.f").delete("k = 1")
    assert [one.files for one in refreshed(acc)] == [1]
    assert shown(acc)["lag_s"] == 0
    found = acc.query("SELECT name, count(*) AS n FROM d.f JOIN d.dim ON k = id GROUP BY name")
    assert found.metrics.cubes == ("c",)
    assert sorted(row["name"] for row in found.arrow().to_pylist()) == ["x", "z"]
    catalog.engine.dispose()


def test_a_failure_is_told_and_waits_longer_each_time(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)

    def fail(*_: object, **__: object) -> None:
        raise EngineError("the disk is full")

    monkeypatch.setattr("accelerator.builds.segments.builder.SegmentBuilder._job", fail)
    (done,) = refreshed(acc)
    assert "the disk is full" in str(done.error) and done.code == "build_failed"
    row = shown(acc)
    assert "the disk is full" in row["last_error"] and row["lag_s"] > 0 and row["progress"] is None
    waits = []
    for _ in range(3):
        last = runs_of(Claims(acc.services.store.files), key(acc))
        assert last.last is not None
        waits.append(round(last.wait_s(last.last.state, last.last.ended_ms)))
        assert refreshed(acc) == []
        age(acc, 3600, key(acc))
        assert len(refreshed(acc)) == 1
    assert waits == [10, 20, 40]
    monkeypatch.undo()
    append(acc, 200)  # another state, which waits the shortest time
    age(acc, 11, key(acc))
    assert [one.files for one in refreshed(acc)] == [2]
    assert shown(acc)["last_error"] is None


def test_a_table_that_is_gone_is_an_error_of_its_cube_alone(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query("CREATE CUBE o AS SELECT g, count(*) AS n FROM d.other GROUP BY g")
    for name in "co":
        acc.query(f"ALTER CUBE {name} SET REFRESH = ON COMMIT")
    append(acc, 100, table="d.other")
    catalog = catalog_of(Path(acc.config.warehouse))
    catalog.drop_table("d.f")
    told = {one.artifact: one for one in refreshed(acc)}
    assert told["o"].files == 1 and told["o"].error is None
    assert told["c"].code == "table_unknown"
    catalog.engine.dispose()


def made_anew(acc: Accelerator, name: str) -> None:
    """Drops the table and makes it anew, with the same rows."""
    catalog = catalog_of(Path(acc.config.warehouse))
    table = catalog.load_table(name)
    schema, rows = table.schema(), table.scan().to_arrow()
    catalog.drop_table(name)
    catalog.create_table(name, schema).append(rows)
    catalog.engine.dispose()


def test_a_table_that_was_made_anew_ends_refreshes_and_says_so(
    acc: Accelerator, caplog: pytest.LogCaptureFixture
) -> None:
    """No build could help, so none is tried, whatever is committed to the new table."""
    acc.query(CUBE)
    acc.query("CREATE INDEX i ON d.f USING BLOOM (k)")
    for one in ("CUBE c", "INDEX i"):
        acc.query(f"ALTER {one} SET REFRESH = ON COMMIT")
    assert refreshed(acc) == []
    made_anew(acc, "d.f")
    for _ in range(2):
        assert refreshed(acc) == []
        append(acc, 100)
    assert "cube c isn't refreshed any more: cube c is over lake.d.f, which was" in caplog.text
    for what in ("CUBE", "INDEX"):
        (row,) = acc.query(f"SHOW {what}{'ES' if what == 'INDEX' else 'S'}").arrow().to_pylist()
        assert "was dropped and made anew" in row["status"] and row["last_error"] is None
    for sql in ("BUILD CUBE c", "BUILD INDEX i", "SHOW COVERAGE OF CUBE c"):
        with pytest.raises(TableReplacedError) as found:
            acc.query(sql)
        assert found.value.code == "table_replaced" and "CREATE OR REPLACE" in found.value.hint
    acc.query(CUBE.replace("CREATE CUBE", "CREATE OR REPLACE CUBE"))
    acc.query("CREATE OR REPLACE INDEX i ON d.f USING BLOOM (k)")
    assert shown(acc)["status"] == "complete"
    append(acc, 100)
    assert [(one.artifact, one.error) for one in refreshed(acc)] == [("c", None), ("i", None)]


def test_a_table_that_cant_be_read_slows_no_others(
    acc: Accelerator, caplog: pytest.LogCaptureFixture
) -> None:
    acc.query(CUBE)
    acc.query("CREATE CUBE o AS SELECT g, count(*) AS n FROM d.other GROUP BY g")
    for name in "co":
        acc.query(f"ALTER CUBE {name} SET REFRESH = ON COMMIT")
    append(acc, 100)
    catalog = catalog_of(Path(acc.config.warehouse))
    snapshot = catalog.load_table("d.f").current_snapshot()
    catalog.engine.dispose()
    assert snapshot is not None
    Path(snapshot.manifest_list.removeprefix("file://")).write_bytes(b"no list")
    now = [1000.0]
    claims = Claims(acc.services.store.files)
    service = Refresh(acc.services, claims, lambda _: None, clock=lambda: now[0])
    for _ in range(8):
        now[0] += 100
        due = service.due()
        assert not due.tasks and due.again_s == 0.05  # the other's commits are seen in time
    assert caplog.text.count("whether cube c is due can't be told") == 1
    append(acc, 100, table="d.other")
    (task,) = service.due().tasks
    assert task.group == acc.services.store.registry().cubes["o"].table_uuid


def test_a_commit_during_a_run_is_followed(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)
    more, real = [200], InProcess.write

    def write(self: InProcess, *args: object) -> None:
        if more:
            append(acc, more.pop())
        real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(InProcess, "write", write)
    assert [one.files for one in refreshed(acc)] == [1, 1]


def test_told_to_stop_within_a_job_it_leaves_nothing_half_done(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)
    stop, told, real = threading.Event(), list[Refreshed](), InProcess.write
    ending: list[threading.Event] = []
    build = Artifact.build

    def noted(
        self: Artifact, services: Services, report: Reported, end: threading.Event
    ) -> Outcome:
        ending.append(end)
        return build(self, services, report, end)

    def write(self: InProcess, *args: Any) -> None:
        real(self, *args)
        stop.set()
        assert ending[0].wait(30)

    monkeypatch.setattr(Artifact, "build", noted)
    monkeypatch.setattr(InProcess, "write", write)
    acc.maintain(ONCE, lambda _: None, stop=stop, tell_refresh=told.append)
    (done,) = told
    assert (done.files, done.left, done.error) == (0, True, None)
    record = acc.services.store.registry().cubes["c"]
    assert acc.services.store.jobs(record.table_uuid) == ()
    root = Path(acc.config.warehouse) / ".accelerator" / "tables"
    assert len(list(root.rglob("*.parquet"))) == 1
    monkeypatch.undo()
    assert [one.files for one in refreshed(acc)] == [1]


def test_what_another_process_does_is_left_to_it(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)
    other = Claims(acc.services.store.files).claim(key(acc))
    assert other is not None
    assert refreshed(acc) == []
    other.prolong(TaskProgress(3, 12))
    assert shown(acc)["progress"] == "3/12"
    other.end(None)
    assert shown(acc)["progress"] is None
    assert [one.files for one in refreshed(acc)] == [1]


def test_a_dropped_cube_leaves_no_claims(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)
    refreshed(acc)
    kept = Claims(acc.services.store.files)
    name = key(acc)
    assert name in kept.known_keys()
    acc.query("VACUUM d.f FULL")
    assert kept.seen(name) is not None
    acc.query("DROP CUBE c FORCE")
    acc.query("VACUUM d.f FULL")
    assert kept.seen(name) is None


def test_an_unknown_name_and_a_store_that_is_read_only(acc: Accelerator) -> None:
    with pytest.raises(CubeNotFoundError, match="no cube named x"):
        acc.query("ALTER CUBE x SET REFRESH = ON COMMIT")
    with pytest.raises(IndexNotFoundError, match="no index named x"):
        acc.query("ALTER INDEX x SET REFRESH = ON COMMIT")
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)
    with accelerator.open(acc.config.warehouse, store_read_only=True) as reader:
        with pytest.raises(StoreError, match="read-only"):
            reader.query("ALTER CUBE c SET REFRESH = MANUAL")
        assert refreshed(reader) == []
        assert shown(reader)["refresh"] == "on_commit"
    assert not (Path(acc.config.warehouse) / ".accelerator" / "services").exists()


def test_where_spark_is_needed_but_not_here_it_is_said(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without Spark is followed by one that has it; nothing is said to have failed."""
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100)

    def nowhere(*_: object, **__: object) -> None:
        raise SparkElsewhereError("the statement needs Spark")

    monkeypatch.setattr("accelerator.builds.segments.builder.SegmentBuilder._job", nowhere)
    with pytest.raises(SparkElsewhereError):
        refreshed(acc)
    monkeypatch.undo()
    assert shown(acc)["last_error"] is None
    assert [one.files for one in refreshed(acc)] == [1]


def test_the_setting_survives_what_others_change_and_older_releases_refuse(
    acc: Accelerator,
) -> None:
    acc.query(CUBE)
    root = Path(acc.config.warehouse) / ".accelerator" / "registry"
    assert {text[:11] for text in map(_read, root.glob("v*.json"))} == {'{"format":3'}
    acc.query("ALTER CUBE c SET REFRESH = EVERY '1 hour'")
    assert _read(max(root.glob("v*.json"))).startswith('{"format":4')
    store: Store = acc.services.store
    old = store.registry().cubes["c"]
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    store.change_cube("c", old.id, disabled="wrong")  # by who had read it before
    assert store.registry().cubes["c"].refresh == "on_commit"
    with pytest.raises(CubeNotFoundError):
        store.change_cube("c", "f" * 32, disabled="wrong")
    acc.query("DROP CUBE c")
    acc.query("UNDROP CUBE c")
    assert store.registry().cubes["c"].refresh == "on_commit"
    assert refreshed(acc) == []  # it's switched off


def _read(path: Path) -> str:
    return path.read_text()


def test_figures_are_few() -> None:
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    figures = RefreshFigures(registry)
    figures.lags({f"cube c{number}": float(number) for number in range(3 * ARTIFACTS_MAX)})
    figures.lags({f"cube c{number}": float(number) for number in range(2 * ARTIFACTS_MAX)})

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"accelerator_refresh_{name}", labels)

    (lag,) = (one for one in registry.collect() if one.name == "accelerator_refresh_lag_seconds")
    assert len(lag.samples) == ARTIFACTS_MAX
    assert value("lag_seconds", artifact="cube c399") == 399
    page = (Path(__file__).parents[4] / "docs/reference/metrics.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(accelerator_refresh_\w+)` \|", page, re.MULTILINE))
    assert {one.removesuffix("_total") for one in documented} == {
        one.name for one in registry.collect()
    }
    figures.refreshed(Refreshed("cube", "c", "t", files=3, twice=2))
    figures.refreshed(Refreshed("cube", "c", "t", error="no", code="build_failed"))
    assert value("runs_total", outcome="good") == 1 == value("runs_total", outcome="failed")
    assert value("files_total") == 3 and value("built_twice_total") == 2
    assert value("failures_total", code="build_failed") == 1


@pytest.mark.parametrize("kind", ["CUBE", "INDEX"])
def test_a_file_that_cant_be_read_keeps_no_others_from_being_built(
    acc: Accelerator, kind: str
) -> None:
    acc.query(CUBE if kind == "CUBE" else "CREATE INDEX c ON d.f USING BLOOM (k)")
    acc.query(f"ALTER {kind} c SET REFRESH = ON COMMIT")
    append(acc, 100)
    root = Path(acc.config.warehouse) / "d" / "f" / "data"
    newest = max(root.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(b"garbage" * 100)
    append(acc, *range(200, 800, 100))
    (done,) = refreshed(acc)
    assert (done.files, done.code, done.left) == (6, "build_failed", False)
    row = shown(acc, f"{kind}S" if kind == "CUBE" else "INDEXES")
    assert (row["files_covered"], row["files_total"]) == (7, 8)
    assert "c failed" in row["last_error"] and row["lag_s"] > 0  # type: ignore[operator]
    assert refreshed(acc) == []
