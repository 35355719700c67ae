"""Builds that are killed, cancelled, raced or robbed of their files: the answer stays plain's.

Each test has a table of its own, many small data files, and a build that commits after each one.
A killed builder is a process of its own over the same warehouse and store.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accelerator.errors import CancelledError, CubeNotFoundError, StoreConflictError
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from accelerator.store import local_path
from tests.spark.processes import environment
from tests.spark.spoiled import flip_bit

pytestmark = pytest.mark.spark
LIVE = True

FILES = 5
FAILURES = ("engine_failed", "metadata_unavailable", "planning_failed")
BUILDER = """
import sys, time, accelerator
root, store, cube = sys.argv[1:]
conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC"}
acc = accelerator.open(root, create=True, store=store, build_files_per_job=1,
                       spark_master="local[2]", spark_driver_memory="1g", spark_conf=conf,
                       build_in_process_bytes_max=0)
build = acc.build(cube, wait=False)
while not build.done:
    print(build.progress[0], flush=True)
    time.sleep(0.02)
build.wait()
"""


class Case:
    """A fact with its dimension and a deferred cube, under a session that builds file by file."""

    def __init__(self, wh, acc: Accelerator) -> None:
        self.wh, self.acc = wh, acc
        self.fact = "lake.d." + wh.table("k INT, g STRING, v INT")
        self.dim = "lake.d." + wh.table("k INT, region STRING")
        wh.sql(f"INSERT INTO {self.dim} SELECT id, concat('r', id % 3) FROM range(20)")
        for number in range(FILES):
            self.append(number)
        self.cube = "c_" + self.fact.rpartition(".")[2]
        self.acc.query(f"CREATE CUBE {self.cube} DEFERRED AS {self.query}")

    @property
    def query(self) -> str:
        return (
            f"SELECT region, g, count(*) AS n, sum(v) AS s, avg(v) AS a, count(DISTINCT v) AS d"
            f" FROM {self.fact} f JOIN {self.dim} d ON f.k = d.k GROUP BY region, g"
        )

    def append(self, number: int) -> None:
        self.wh.sql(
            f"INSERT INTO {self.fact} SELECT /*+ COALESCE(1) */ id % 20, concat('g', id % 5),"
            f" IF(id % 11 = 0, NULL, id) FROM range({number * 100}, {number * 100 + 100})"
        )

    def check(self) -> int:
        """Accelerated equals plain; the number of covered files."""
        answer = self.acc.query(self.query)
        assert (answer.metrics.fallback or "").split(":")[0] not in FAILURES
        assert differ(answer.arrow(), self.acc.services.plain_table(self.query)) == []
        return self.covered()

    def covered(self) -> int:
        target = self.acc.services.builder.target(self.record)
        coverage = self.acc.services.builder.coverage(target)
        return len(target.pinned[0].live_files()) - len(coverage.uncovered)

    @property
    def record(self):
        return self.acc.services.store.registry().cubes[self.cube]

    @property
    def segments(self):
        return self.acc.services.store.table(self.record.table_uuid).of(self.record.id)

    @property
    def artifacts(self) -> set[str]:
        """Parquet files under the cube's folder."""
        root = Path(local_path(self.acc.config.store_root))
        return {
            str(p)
            for p in root.glob(f"tables/*/cubes/{self.record.id}/*/*.parquet")
            if not p.name.startswith(".")
        }


@pytest.fixture
def case(spark_warehouse, tmp_path: Path) -> Iterator[Case]:
    acc = spark_warehouse.attach(
        store=str(tmp_path / "store"),
        build_files_per_job=1,
        recycle_bin_hours=0,
    )
    yield Case(spark_warehouse, acc)
    acc.close()
    assert spark_warehouse.sql("SELECT 1 AS one")[0].one == 1  # the user's session goes on


def until(condition: Callable[[], bool], timeout_s: float = 120) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def kill_a_build(case: Case, *, after_files: int, with_jvm: bool, delay_s: float) -> None:
    """Starts a builder process and kills it some time after its n-th commit."""
    store = case.acc.config.store_root
    command = [sys.executable, "-c", BUILDER, str(case.wh.root), store, case.cube]
    with subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as builder:
        assert builder.stdout is not None
        for line in builder.stdout:
            if int(line) >= after_files:
                time.sleep(delay_s)
                break
        (os.killpg if with_jvm else os.kill)(builder.pid, signal.SIGKILL)


@pytest.mark.long
def test_a_killed_build_goes_on_where_it_was(case: Case) -> None:
    chance = random.Random(7)
    before = 0
    for with_jvm in (False, True):
        kill_a_build(case, after_files=1, with_jvm=with_jvm, delay_s=chance.uniform(0, 0.6))
        covered = case.check()
        assert before < covered <= FILES
        before = covered
    jobs = case.acc.services.store.jobs(case.record.table_uuid)
    case.acc.query(f"BUILD CUBE {case.cube}")
    assert case.check() == FILES
    assert len(case.segments) == FILES
    assert {j.id for j in jobs} == {
        j.id for j in case.acc.services.store.jobs(case.record.table_uuid)
    }


@pytest.mark.slow
def test_builds_killed_again_and_again(case: Case) -> None:
    chance = random.Random(11)
    for number in range(FILES, 3 * FILES):
        case.append(number)
    before = 0
    for _ in range(12):
        kill_a_build(
            case,
            after_files=chance.choice((0, 0, 1)),
            with_jvm=chance.random() < 0.5,
            delay_s=chance.uniform(0, 3),
        )
        covered = case.check()
        assert covered >= before
        before = covered
    case.acc.query(f"BUILD CUBE {case.cube}")
    assert case.check() == len(case.segments) == 3 * FILES


@pytest.mark.long
def test_two_builders_cover_each_file_once(case: Case) -> None:
    builds = [case.acc.build(case.cube, wait=False) for _ in range(2)]
    built = [build.wait(300) for build in builds]
    assert sum(b.files for b in built) == FILES
    assert case.check() == len(case.segments) == FILES
    assert case.artifacts == {local_path(s.path) for s in case.segments}  # the loser's are gone
    assert case.acc.services.store.jobs(case.record.table_uuid) == ()


def test_a_cancelled_build_keeps_what_it_committed(case: Case) -> None:
    build = case.acc.build(case.cube, wait=False)
    until(lambda: build.progress[0] >= 1)
    began = time.monotonic()
    build.cancel()
    with pytest.raises(CancelledError, match="cancelled"):
        build.wait(60)
    assert time.monotonic() - began < 20
    assert build.done and build.progress[1] == FILES
    assert not case.wh.spark.sparkContext.statusTracker().getActiveJobsIds()
    kept = case.check()
    assert 1 <= kept < FILES
    case.acc.query(f"BUILD CUBE {case.cube}")
    assert case.check() == FILES


def test_a_cube_dropped_while_it_is_built_leaves_nothing(case: Case) -> None:
    table = case.record.table_uuid
    build = case.acc.build(case.cube, wait=False)
    until(lambda: build.progress[0] >= 1)
    case.acc.query(f"DROP CUBE {case.cube}")
    with pytest.raises(CubeNotFoundError, match="dropped while"):
        build.wait(120)
    assert not case.acc.services.store.table(table).segments
    assert case.acc.services.store.jobs(table) == ()


def test_compaction_races_with_builds_and_a_drop(case: Case) -> None:
    acc, cube, table = case.acc, case.cube, case.record.table_uuid
    acc.query(f"BUILD CUBE {cube}")
    case.append(FILES)
    errors: list[BaseException] = []

    def run(statement: str) -> None:
        try:
            acc.query(f"{statement} CUBE {cube}")
        except BaseException as error:
            errors.append(error)

    def race(*statements: str) -> None:
        threads = [threading.Thread(target=run, args=(one,)) for one in statements]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)

    race("BUILD", "COMPACT", "COMPACT")
    assert errors == []
    assert case.check() == FILES + 1
    race("COMPACT", "DROP")
    assert all(isinstance(e, (CubeNotFoundError, StoreConflictError)) for e in errors)
    assert not acc.services.store.table(table).segments


def test_one_deleted_row_sends_one_file_back_to_raw(case: Case) -> None:
    acc, cube = case.acc, case.cube
    acc.query(f"BUILD CUBE {cube}")
    acc.query(f"COMPACT CUBE {cube}")
    assert acc.query(case.query).metrics.files_read == 1
    case.wh.sql(f"DELETE FROM {case.fact} WHERE v = 150")
    assert case.check() == FILES - 1
    plan, _ = acc.plan(case.query)
    assert len(plan.uncovered) == 1
    acc.query(f"BUILD CUBE {cube}")
    assert case.check() == FILES


@pytest.mark.long
def test_a_dimension_that_changes_during_a_build(case: Case) -> None:
    build = case.acc.build(case.cube, wait=False)
    until(lambda: build.progress[0] >= 1)
    case.wh.sql(f"UPDATE {case.dim} SET region = 'moved' WHERE k < 4")
    assert case.check() == 0  # segments of the old dimension aren't used for the new one
    build.wait(300)
    assert case.check() == 0
    case.acc.query(f"BUILD CUBE {case.cube}")
    assert case.check() == FILES


@pytest.mark.long
def test_harmed_segments_fall_back_and_are_built_again(case: Case) -> None:
    acc, cube = case.acc, case.cube
    acc.query(f"BUILD CUBE {cube}")
    for harm in (_gone, _cut, _zeroed, flip_bit):
        harm(Path(local_path(case.segments[0].path)))
        answer = acc.query(case.query)
        assert differ(answer.arrow(), acc.services.plain_table(case.query)) == []
        assert answer.metrics.fallback is not None
        assert answer.metrics.fallback.split(":")[0] in ("engine_failed", "segment_unreadable")
        built = acc.query(f"BUILD CUBE {cube}").arrow().to_pylist()[0]
        assert built["files"] == 1, harm
        assert case.check() == FILES


def _gone(victim: Path) -> None:
    victim.unlink()


def _cut(victim: Path) -> None:
    os.truncate(victim, victim.stat().st_size // 2)


def _zeroed(victim: Path) -> None:
    victim.write_bytes(bytes(victim.stat().st_size))


def test_a_harmed_merge_gives_way_to_its_inputs(case: Case) -> None:
    acc, cube = case.acc, case.cube
    acc.query(f"BUILD CUBE {cube}")
    acc.query(f"COMPACT CUBE {cube}")
    merged = next(s for s in case.segments if s.inputs)
    Path(local_path(merged.path)).unlink()
    assert acc.query(f"BUILD CUBE {cube}").arrow().to_pylist()[0]["files"] == 0
    assert case.check() == FILES
    assert acc.query(f"COMPACT CUBE {cube}").arrow().to_pylist()[0]["files"] == FILES


@pytest.mark.long
def test_threads_share_a_session_while_tables_and_cubes_change(case: Case) -> None:
    acc, wh = case.acc, case.wh
    acc.query(f"BUILD CUBE {case.cube}")
    queries = (
        f"SELECT g, count(*) AS n, sum(v) AS s FROM {case.fact} GROUP BY g",
        f"SELECT count(*) AS n, count(DISTINCT v) AS d FROM {case.fact} WHERE g IN ('g1', 'g2')",
    )
    end = time.monotonic() + 12
    answers, errors = [], []

    def newest() -> int:
        return wh.pinned(case.fact.rpartition(".")[2]).facts.snapshot_id

    def read(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < end:
            query, before = chance.choice(queries), newest()
            result = acc.query(query)
            answers.append((query, before, newest(), result))
            time.sleep(0.05)

    def write() -> None:
        number = FILES
        while time.monotonic() < end:
            case.append(number)
            wh.sql(f"DELETE FROM {case.fact} WHERE v = {number * 100 - 50}")
            number += 1

    def build() -> None:
        while time.monotonic() < end:
            acc.query(f"BUILD CUBE {case.cube}")
            acc.query(f"COMPACT CUBE {case.cube}")

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    works = [*(lambda seed=seed: read(seed) for seed in range(8)), write, build]
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert errors == []
    assert any(result.metrics.rewritten for *_, result in answers)
    history = [
        row[0]
        for row in wh.sql(f"SELECT snapshot_id FROM {case.fact}.history ORDER BY made_current_at")
    ]
    for query, before, after, result in random.Random(5).sample(answers, min(25, len(answers))):
        seen = history[history.index(before) : history.index(after) + 1]
        plain = (
            acc.services.plain_table(query.replace(case.fact, f"{case.fact} VERSION AS OF {one}"))
            for one in seen
        )
        assert any(not differ(result.arrow(), one) for one in plain), (query, before, after)
