"""The vacuum's deletes: what outlasts what under threads, errors, the rate, what a crash leaves.

Strategy: files that hold a delete back until the test says so, so that batches end in any order;
then a whole vacuum by threads that dies at each of its deletes in turn.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from accelerator.errors import StoreError
from accelerator.store import Retention, Store
from accelerator.store.vacuum.deleter import Deleter, Pace
from accelerator.store.vacuum.retention import CountedFiles
from tests.accelerator.store.doors import HOUR, Crash, Door, World
from tests.accelerator.store.samples import TABLE, cube, segment
from tests.support.extent import sized

CUBE = "c" * 32
PATIENCE_S = 30


class Files:
    """Notes what is deleted and when; holds back, or fails at, what it's told to."""

    def __init__(self):
        self.gone, self.asked, self.lock = set(), [], threading.Lock()
        self.held, self.failing, self.watch = {}, {}, lambda paths, gone: None
        self.done = {}

    def hold(self, *paths):
        self.held |= {path: threading.Event() for path in paths}

    def wait_for(self, path):
        with self.lock:
            event = self.done.setdefault(path, threading.Event())
        assert event.wait(PATIENCE_S)

    def delete(self, paths):
        with self.lock:
            self.asked.append(tuple(paths))
            self.watch(paths, self.gone)
        for path in paths:
            if path in self.held:
                assert self.held[path].wait(PATIENCE_S)
        error = next((self.failing[path] for path in paths if path in self.failing), None)
        with self.lock:
            if error is None:
                self.gone.update(paths)
            for path in paths:
                self.done.setdefault(path, threading.Event()).set()
        if error is not None:
            raise error


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def pace(self, per_s):
        return Pace(per_s, self.clock, self.sleep)


def deleter(files, *, batch=1, threads=3, pace=None, dry_run=False):
    pace = pace or Pace(0, lambda: 0.0, lambda _: None)
    return Deleter(files, batch=batch, threads=threads, pace=pace, dry_run=dry_run)


def test_several_batches_are_under_way_at_once():
    files = Files()
    files.hold("a", "b")
    with deleter(files) as one:
        for path in "abc":
            one.add(path)
        files.wait_for("c")
        assert files.gone == {"c"}
        for event in files.held.values():
            event.set()
    assert files.gone == set("abc")


def test_no_more_batches_are_under_way_than_threads():
    files, most = Files(), 0
    under_way = 0

    def delete(paths):
        nonlocal under_way, most
        with files.lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0)
        with files.lock:
            under_way -= 1

    files.delete = delete
    with deleter(files, threads=2) as one:
        for number in range(200):
            one.add(str(number))
            assert len(one._under_way) <= 2
    assert most <= 2


def test_what_is_added_after_waits_for_all_before_it_and_holds_nothing_up():
    files = Files()
    files.hold("a")
    with deleter(files) as one:
        one.add("a")
        one.add_after("x")
        for path in "bcde":  # x would go by one of these
            one.add(path)
            files.wait_for(path)
        assert files.gone == set("bcde")
        assert not any("x" in paths for paths in files.asked)
        files.held["a"].set()
        one.flush()
        assert files.gone == set("abcdex")
        assert files.asked[-1] == ("x",)


@given(
    steps=st.lists(st.booleans(), max_size=40),
    batch=st.integers(1, 4),
    threads=st.integers(1, 5),
)
@settings(max_examples=sized(40, full=150), deadline=None)
def test_all_goes_once_and_in_an_order_that_holds(steps, batch, threads):
    files, before, added, wrong = Files(), {}, set(), []

    def watch(paths, gone):
        wrong.extend(path for path in paths if not before.get(path, set()) <= gone)
        wrong.extend(path for path in paths if path in gone)
        if len(paths) > batch:
            wrong.append(tuple(paths))

    files.watch = watch
    with deleter(files, batch=batch, threads=threads) as one:
        for number, after in enumerate(steps):
            path = str(number)
            if after:
                before[path] = set(added)
                one.add_after(path)
            else:
                added.add(path)
                one.add(path)
        one.flush()
        assert files.gone == {str(number) for number in range(len(steps))}
    assert not wrong


@pytest.mark.parametrize("error", [StoreError("no network"), Crash()])
def test_after_an_error_nothing_more_is_sent(error):
    files = Files()
    files.failing["b"] = error
    files.hold("a")
    with pytest.raises(type(error)) as caught, deleter(files) as one:
        one.add("a")
        one.add("b")
        one.add_after("x")
        files.wait_for("b")
        one._under_way[2].exception(PATIENCE_S)
        for use in (lambda: one.add("c"), one.flush, one.flush):
            with pytest.raises(type(error)) as raised:
                use()
            assert raised.value is error
        files.held["a"].set()
        one.flush()
    assert caught.value is error
    assert files.gone == {"a"}
    assert sorted(files.asked) == [("a",), ("b",)]


def test_of_several_errors_the_first_is_raised():
    files = Files()
    files.failing = {path: StoreError(path) for path in "abc"}
    files.hold(*"abc")
    one = deleter(files)
    for path in "abc":
        one.add(path)
    for number, path in ((2, "b"), (1, "a"), (3, "c")):
        files.held[path].set()
        assert one._under_way[number].exception(PATIENCE_S)
    with pytest.raises(StoreError, match="b"), one:
        one.flush()


def test_an_error_while_the_rate_is_waited_for_stops_what_waits():
    files = Files()
    files.failing["a"] = StoreError("no network")
    files.hold("a")

    def sleep(_):
        files.held["a"].set()
        assert one._under_way[1].exception(PATIENCE_S)

    one = deleter(files, pace=Pace(1, lambda: 0.0, sleep))
    with pytest.raises(StoreError, match="no network"), one:
        one.add("a")
        with pytest.raises(StoreError, match="no network"):
            one.add("b")
    assert files.asked == [("a",)]


def test_an_error_in_the_callers_own_thread_stops_too():
    files = Files()
    files.failing["a"] = StoreError("no network")
    one = deleter(files, threads=1)
    one.add_after("y")
    with pytest.raises(StoreError, match="no network"):
        one.add("a")
    one._after.append((0, "x"))
    for _ in range(2):
        with pytest.raises(StoreError, match="no network"):
            one.flush()
    assert files.asked == [("a",)]


def test_what_is_under_way_is_waited_for_when_the_caller_fails():
    files = Files()
    files.hold("a")

    def work():
        with deleter(files, batch=2) as one:
            for path in ("a", "b", "c"):
                one.add(path)
            threading.Thread(target=files.held["a"].set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert files.gone == {"a", "b"}


def test_a_dry_run_sends_nothing_and_waits_for_nothing():
    files, time_ = Files(), Time()
    with deleter(files, pace=time_.pace(1), dry_run=True) as one:
        for number in range(10):
            one.add(str(number))
            one.add_after(f"after {number}")
        one.flush()
        assert not one._now and not one._after
    assert not files.asked and not time_.slept


# The rate


@pytest.mark.parametrize("threads", [1, 4])
def test_no_more_files_a_second_than_wished(threads):
    files, time_, when = Files(), Time(), []
    files.watch = lambda paths, _: when.extend([time_.now] * len(paths))
    pace = time_.pace(100)
    for _ in range(2):  # a vacuum has several deleters and one pace
        with deleter(files, batch=1000, threads=threads, pace=pace) as one:
            for number in range(250):
                one.add(f"{number}")
    assert len(when) == 500
    assert time_.now >= 100 + 4
    if threads == 1:  # else a batch is noted when its thread comes to it
        moments = sorted(set(when))
        for start, end in itertools.combinations_with_replacement(moments, 2):
            files_then = sum(start <= one <= end for one in when)
            assert files_then <= 100 * (end - start) + 100.001  # a second's worth at once
    # So a stop is heard of within a second.
    assert max(time_.slept) <= 1


def test_time_that_went_by_is_not_waited_for_again():
    time_ = Time()
    pace = time_.pace(10)
    pace.wait(10)
    time_.now += 60
    pace.wait(10)
    assert not time_.slept
    pace.wait(10)
    assert time_.slept == [1]


def test_without_a_limit_no_clock_is_asked():
    pace = Pace(0, clock=None, sleep=None)
    with deleter(Files(), pace=pace) as one:
        one.add("a")


def test_an_interrupt_in_the_wait_ends_it():
    files = Files()

    def interrupted(_):
        raise KeyboardInterrupt

    pace = Pace(1, lambda: 0.0, interrupted)
    with pytest.raises(KeyboardInterrupt), deleter(files, pace=pace) as one:
        for path in "abc":
            one.add(path)
    assert files.gone == {"a"}


def test_a_vacuum_keeps_to_the_rate():
    world, time_ = filled(), Time()
    store = Store(
        Door(world), now_ms=world.clock, clock=time_.clock, sleep=time_.sleep, max_age_s=0
    )
    began = len(world.files.list(""))
    store.vacuum(TABLE, Retention(0, versions_min=1, deletes_per_s=5))
    gone = began - len(world.files.list(""))
    assert gone > 20
    assert time_.now - 100 >= (gone - 5 - 2) / 5  # what was committed meanwhile, and the floor


# Counting


def test_requests_of_threads_are_all_counted():
    class Yielding:
        """Lets another thread run between reading and writing the count."""

        table_uuid, dry_run, _requests = TABLE, False, 0

        @property
        def requests(self):
            found = self._requests
            time.sleep(0)
            return found

        @requests.setter
        def requests(self, value):
            self._requests = value

    report = Yielding()
    files = Files()
    counted = CountedFiles(files, report)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: counted.delete([str(number)]), range(2000)))
    finally:
        sys.setswitchinterval(interval)
    assert report.requests == len(files.asked) == 2000


def test_the_requests_of_a_vacuum_are_the_same_by_any_number_of_threads():
    found = set()
    for threads in (1, 4):
        world = filled()
        store = Store(Door(world), now_ms=world.clock, sleep=lambda _: None)
        report = store.vacuum(TABLE, Retention(0, versions_min=1, batch=3, threads=threads))
        found.add((report.requests, report.lines))
    assert len(found) == 1


# Crashes


class DyingDoor(Door):
    """Dies at its n-th delete, whichever thread makes that one; others end theirs."""

    def __init__(self, world, at, how):
        super().__init__(world)
        self.lock, self.at, self.how = threading.Lock(), at, how

    def delete(self, paths):
        wanted = list(paths)
        with self.lock:
            dies, self.at = self.at == 0, self.at - 1
            done = {"before": [], "torn": wanted[1::2], "after": wanted}[self.how]
            self.world.files.delete(done if dies else wanted)
        if dies:
            raise Crash


def filled():
    """Versions whose garbage is in lists of its own, of three artifacts each."""
    world = World()
    door = Door(world)
    store = Store(door, now_ms=world.clock, sleep=lambda _: None)
    store.create_cube(cube())
    old = []
    for number in range(1, 31):
        path = f"tables/{TABLE}/cubes/{CUBE}/j/{number}.parquet"
        door.create(path, b"rows")
        gone, old = (old, [number]) if number % 3 == 1 else ([], [*old, number])
        made = [segment(number, number, path=world.files.uri(path))]
        store.add_segments(TABLE, made, replaces=gone)
    world.now += HOUR
    return world


@pytest.fixture
def small_pieces():
    with ExitStack() as stack:
        for name, value in (
            ("log.table_version.GARBAGE_INLINE_MAX", 1),
            ("log.table_version.GARBAGE_CHUNK_MAX", 2),
            ("vacuum.vacuum.CHECKPOINT", 6),
            ("vacuum.vacuum.NAMES_MAX", 5),
        ):
            stack.enter_context(patch(f"accelerator.store.{name}", value))
        yield


@pytest.mark.parametrize("how", ["before", "after", "torn"])
@pytest.mark.usefixtures("small_pieces")
def test_a_vacuum_by_threads_that_dies_is_gone_on_with(how):
    keep = Retention(0, versions_min=1, batch=2, threads=4)
    for at in range(200):
        world = filled()
        door = DyingDoor(world, at, how)
        try:
            Store(door, now_ms=world.clock, sleep=lambda _: None).vacuum(TABLE, keep)
        except Crash:
            died = True
        else:
            died = False
        after = Store(Door(world), now_ms=world.clock, sleep=lambda _: None)
        assert set(after.table(TABLE).segments) == {28, 29, 30}
        after.vacuum(TABLE, keep)
        left = {path.rpartition("/")[2] for path in world.files.list(f"tables/{TABLE}/cubes")}
        assert left == {"28.parquet", "29.parquet", "30.parquet"}
        assert not world.files.list(f"tables/{TABLE}/chunks")
        assert after.damages() == ()
        if not died:
            break
    assert at > 15
