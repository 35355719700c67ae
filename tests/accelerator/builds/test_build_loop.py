"""The loop of builds: jobs that leave nothing unless committed, and errors that say more."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.builds.loop import Loop, OpenJob, parts
from accelerator.errors import (
    BuildError,
    CancelledError,
    CubeNotFoundError,
    EngineError,
    StoreError,
)
from accelerator.store import Store
from cubes.job_error import JobError
from tests.accelerator.store.doors import Door, World
from tests.accelerator.store.samples import cube, segment

OWNER = cube()


class _Shown:
    def __init__(self):
        self.told = []

    def start(self, total, what):
        self.told.append((total, what))

    def advance(self, n=1):
        self.told.append(n)

    def finish(self):
        self.told.append("finished")


@pytest.fixture
def store():
    world = World()
    store = Store(Door(world), now_ms=world.clock, sleep=lambda _: None, clock=lambda: 0.0)
    store.create_cube(cube())
    return store


def _loop(store, **more):
    return Loop(store, "sales", "BUILD CUBE sales", **more)


def _write(store, open_job):
    return store.write_artifact(open_job.job, "cells.parquet", b"cells")


def _left(store):
    """Artifacts, and logs of jobs that are begun."""
    return sorted(name for name in store._files.list("") if "cells" in name or "jobs" in name)


def test_what_fails_before_its_commit_leaves_nothing(store):
    before = _left(store)
    with pytest.raises(EngineError), OpenJob(store, OWNER) as open_job:
        _write(store, open_job)
        raise EngineError("out of memory")
    assert _left(store) == before


def test_a_store_that_fails_while_it_discards_hides_nothing(store, monkeypatch, caplog):
    def gone(*_):
        raise StoreError("the disk is gone")

    for raised in (EngineError("out of memory"), KeyboardInterrupt()):
        with pytest.raises(type(raised)), OpenJob(store, OWNER) as open_job:
            _write(store, open_job)
            monkeypatch.setattr(store, "delete_artifacts", gone)
            raise raised
        monkeypatch.undo()
    assert "stays until a vacuum: the disk is gone" in caplog.text
    with pytest.raises(StoreError), OpenJob(store, OWNER):
        monkeypatch.setattr(store, "delete_artifacts", gone)


def test_what_is_committed_stays_and_what_lost_goes(store):
    with OpenJob(store, OWNER) as open_job:
        uri = _write(store, open_job)
        kept, lost = open_job.commit(lambda: ((), [segment(1, 1, path=uri)]))
    assert ([s.id for s in kept], lost) == ([1], [])
    left = _left(store)
    assert len(left) == 1 and "cells" in left[0]
    with OpenJob(store, OWNER) as open_job:  # another build of the same data file
        uri = _write(store, open_job)
        kept, lost = open_job.commit(lambda: ((), [segment(2, 1, path=uri)]))
    assert (kept, [s.id for s in lost]) == ([], [2])
    assert _left(store) == left


def test_a_dropped_cube_takes_nothing(store):
    before = _left(store)
    with pytest.raises(CubeNotFoundError), OpenJob(store, OWNER) as open_job:
        uri = _write(store, open_job)
        store.drop_cube(cube().name)
        open_job.commit(lambda: ((), [segment(1, 1, path=uri)]))
    assert [path for path in _left(store) if "cells" in path] == before


def test_progress_and_what_engines_raise(store):
    shown = _Shown()
    loop = _loop(store, progress=shown)
    with loop.running(3):
        for part in loop.each([[1, 2], [3]]):
            shown.told.append(part)
    assert shown.told == [(3, "building sales"), [1, 2], 2, [3], 1, "finished"]
    with pytest.raises(BuildError, match="sales failed: disk full") as raised, loop.running(1):
        raise EngineError("disk full", hint="free some")
    assert raised.value.hint.startswith("free some; what it had finished is kept; BUILD CUBE sales")
    with pytest.raises(BuildError, match="failed in Spark: OVERFLOW"), loop.running(1):
        raise JobError("OVERFLOW", cancelled=False)
    with pytest.raises(CancelledError, match="was cancelled") as stopped, loop.running(1):
        raise JobError("stopped", cancelled=True)
    assert stopped.value.hint.endswith("BUILD CUBE sales goes on from there")
    assert shown.told.count("finished") == 4


def test_a_cancelled_build_begins_no_part(store):
    stop = threading.Event()
    loop, done = _loop(store, cancelled=stop), []
    with pytest.raises(CancelledError), loop.running(2):
        for part in loop.each([[1], [2]]):
            done.append(part)
            stop.set()
    assert done == [[1]]
    with pytest.raises(CancelledError), loop.running(1):
        raise EngineError("interrupted")


@given(st.lists(st.integers(0, 9)), st.integers(1, 4), st.integers(1, 12))
def test_parts_keep_to_their_limits(weights, files_max, most):
    found = list(parts(weights, files_max=files_max, weigh=lambda one: one, most=most))
    assert [one for part in found for one in part] == weights
    for part in found:
        assert 1 <= len(part) <= files_max
        assert sum(part) <= most or len(part) == 1
