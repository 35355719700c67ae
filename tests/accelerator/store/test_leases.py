"""Leases: one file per process and table, renewed while it's needed, gone by itself otherwise."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from accelerator.errors import StoreError
from accelerator.store import Store
from accelerator.store.files.files import open_files
from accelerator.store.leases import LEASE_MS, MARGIN_MS, Leases, leases_of
from tests.accelerator.store.samples import TABLE, segment


class World:
    def __init__(self):
        self.files, self.now = open_files("memory:///"), 10**12

    def store(self, **more):
        return Store(self.files, now_ms=lambda: self.now, **more)

    @property
    def leases(self):
        return leases_of(self.files, TABLE)


@pytest.fixture
def world():
    return World()


def test_reading_pins_the_version_that_it_saw(world):
    reader, writer = world.store(), world.store()
    writer.add_segments(TABLE, [segment(1, 1)])
    assert reader.table(TABLE).number == 1
    assert world.leases == []
    with reader.reading():
        assert reader.table(TABLE).number == 1
        writer.add_segments(TABLE, [segment(2, 2)])
        assert reader.table(TABLE).number == 2
        (lease,) = world.leases
        assert (lease.version, lease.expires_ms) == (1, world.now + LEASE_MS)
    reader.close()
    assert world.leases == []


def test_many_queries_write_one_lease(world):
    reader = world.store()
    for _ in range(100):
        with reader.reading():
            reader.table(TABLE)
    assert reader._leases._files_written == 1


def test_a_version_is_asked_for_again_once_its_lease_stands(world):
    """Else a vacuum between the two could delete what the reader is about to use."""
    reader, writer = world.store(max_age_s=1e9), world.store()
    assert reader.table(TABLE).number == 0
    writer.add_segments(TABLE, [segment(1, 1)])
    with reader.reading():
        assert reader.table(TABLE).number == 1


def test_it_is_asked_for_again_by_the_next_where_that_failed(world):
    class Failing:
        fails = False

        def __getattr__(self, name):
            return getattr(world.files, name)

        def create(self, path, data):
            self.fails = True
            return world.files.create(path, data)

        def list(self, prefix):
            if self.fails:
                raise StoreError("503 Slow Down")
            return world.files.list(prefix)

    files, writer = Failing(), world.store()
    reader = Store(files, now_ms=lambda: world.now, max_age_s=1e9)
    assert reader.table(TABLE).number == 0
    writer.add_segments(TABLE, [segment(1, 1)])
    with reader.reading():
        for _ in range(2):
            with pytest.raises(StoreError):
                reader.table(TABLE)
        files.fails = False
        assert reader.table(TABLE).number == 1
        assert len(world.leases) == 1


def test_so_is_one_that_another_thread_read_before_the_lease_stood(world):
    reader, writer = world.store(max_age_s=1e9), world.store()
    with reader.reading():
        before = reader._table(TABLE).current()
        writer.add_segments(TABLE, [segment(1, 1)])
        now = reader.table(TABLE)
        assert (before.number, now.number) == (0, 1)
        assert reader._leases.must_ask_again(TABLE, before.number)
        assert not reader._leases.must_ask_again(TABLE, now.number)
        assert len(world.leases) == 1


def test_a_long_reading_keeps_its_version_and_a_later_one_lets_go(world):
    reader, writer = world.store(), world.store()
    with reader.reading():
        reader.table(TABLE)
        for number in range(1, 10):
            writer.add_segments(TABLE, [segment(number, number)])
            world.now += LEASE_MS // 2 + 1
            reader._leases.renew()
            with reader.reading():
                assert reader.table(TABLE).number == number
            (lease,) = world.leases
            assert lease.version == 0
            assert lease.expires_ms >= world.now + MARGIN_MS
    numbers = []
    for _ in range(3):
        world.now += LEASE_MS
        with reader.reading():
            reader.table(TABLE)
        numbers += [one.version for one in world.leases]
    assert numbers[-1] == 9


def test_an_idle_process_lets_its_lease_end(world):
    reader = world.store()
    with reader.reading():
        reader.table(TABLE)
    world.now += LEASE_MS
    reader._leases.renew()
    (lease,) = world.leases
    assert not lease.has_ended(world.now)
    assert not lease.has_ended(world.now + MARGIN_MS)
    assert lease.has_ended(world.now + MARGIN_MS + 1)


def test_a_process_that_always_reads_lets_go_of_versions_that_no_reading_uses(world):
    """Its queries overlap, so that there's no moment at which its lease could end."""
    reader, writer, ends = world.store(), world.store(), []
    for number in range(1, 100):
        writer.add_segments(TABLE, [segment(number, number)])
        reading = ExitStack()
        reading.enter_context(reader.reading())
        assert reader.table(TABLE).number == number
        ends.append(reading.close)
        if len(ends) > 2:
            ends.pop(0)()
        world.now += LEASE_MS // 8
        reader._leases.renew()
        (lease,) = world.leases
        assert number - 20 < lease.version <= max(1, number - 2)
        assert lease.expires_ms > world.now + MARGIN_MS


def test_a_table_that_is_not_read_any_more_is_let_go_of_by_a_busy_process(world):
    reader = world.store()
    with reader.reading():
        reader.table(TABLE)
    with reader.reading():
        for _ in range(10):
            world.now += LEASE_MS // 4
            reader._leases.renew()
        assert all(one.has_ended(world.now) for one in world.leases)
        # One that stands yet is relied on again, and renewed in time.
        reader.table(TABLE)
    with reader.reading():
        for wait in (0.7, 0.25, 0.25, 0.25, 0.25, 0.25):
            world.now += int(wait * LEASE_MS)
            reader._leases.renew()
            reader.table(TABLE)
            assert max(one.expires_ms for one in world.leases) > world.now + MARGIN_MS


def test_the_oldest_snapshot_that_is_read_is_pinned_in_whatever_order(world):
    store = world.store()
    with ExitStack() as last:
        with store.reading():
            store.pin_snapshot(TABLE, 1_000)
            world.now += LEASE_MS - MARGIN_MS  # its renewal is late
            with store.reading():
                store.pin_snapshot(TABLE, 3_000)
                last.enter_context(store.reading())
                store.pin_snapshot(TABLE, 4_000)
                store.pin_snapshot(TABLE, 2_000)
                assert world.store().oldest_snapshot_ms(TABLE) == 1_000
        assert store.oldest_snapshot_ms(TABLE) == 2_000
        world.now += LEASE_MS * 3 // 4
        store._snapshots.renew()
        assert world.store().oldest_snapshot_ms(TABLE) == 2_000


def test_a_clock_that_went_back_is_noticed(world):
    reader = world.store()
    with reader.reading():
        reader.table(TABLE)
        world.now -= 10 * LEASE_MS
        reader.table(TABLE)
        (lease,) = world.leases
        assert lease.expires_ms == world.now + LEASE_MS


def test_a_lease_that_cant_be_written_stops_no_query(world):
    class Full:
        def __getattr__(self, name):
            return getattr(world.files, name)

        def create(self, path, data):
            self.tries = getattr(self, "tries", 0) + 1
            raise StoreError("the disk is full")

    full = Full()
    reader = Store(full, now_ms=lambda: world.now)
    with reader.reading():
        for _ in range(10):
            assert reader.table(TABLE).number == 0
    assert full.tries == 1
    frozen = world.store(read_only=True)
    with frozen.reading():
        assert frozen.table(TABLE).number == 0
    assert world.leases == []
    frozen.close()


def test_who_slept_past_its_lease_asks_anew(world):
    """A vacuum may have run meanwhile, so a new lease on the old version would promise too much."""
    reader, writer = world.store(max_age_s=1e9), world.store()
    with reader.reading():
        assert reader.table(TABLE).number == 0
        writer.add_segments(TABLE, [segment(1, 1)])
        world.now += LEASE_MS
        reader._leases.renew()
        assert reader.table(TABLE).number == 1


def test_a_store_that_is_used_on_after_its_end_holds_a_lease_again(world):
    reader = world.store()
    with reader.reading():
        reader.table(TABLE)
        reader.close()
        assert world.leases == []
        reader.table(TABLE)
        assert len(world.leases) == 1


def test_threads_share_a_lease(world):
    reader, seen = world.store(), []

    def read():
        with reader.reading():
            seen.append(reader.table(TABLE).number)

    threads = [threading.Thread(target=read) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 16
    assert len(world.leases) == 1


def test_who_reads_under_a_lease_that_stands_has_it_renewed_too(world, monkeypatch):
    """What renews leases ends while nobody reads; the next reading may need no new lease."""
    monkeypatch.setattr("accelerator.store.leases.LEASE_MS", 400)
    monkeypatch.setattr("accelerator.store.leases.MARGIN_MS", 80)
    reader = world.store()
    with reader.reading():
        reader.table(TABLE)
    reader._leases._thread.join(60)
    assert reader._leases._thread is None
    world.now += 300
    with reader.reading():
        reader.table(TABLE)
        (lease,) = world.leases
        assert lease.expires_ms == world.now + 400
        assert reader._leases._thread.is_alive()
    reader.close()


def test_a_lease_stands_though_the_one_before_cant_be_deleted(world):
    class Stubborn:
        def __getattr__(self, name):
            return getattr(world.files, name)

        def delete(self, paths):
            raise StoreError("503 Slow Down")

    reader, writer = Store(Stubborn(), now_ms=lambda: world.now, max_age_s=1e9), world.store()
    with reader.reading():
        reader.table(TABLE)
        world.now += LEASE_MS - MARGIN_MS
        writer.add_segments(TABLE, [segment(1, 1)])
        assert reader.table(TABLE).number == 1


def test_a_lease_is_renewed_in_the_background(world, monkeypatch):
    monkeypatch.setattr("accelerator.store.leases.LEASE_MS", 40)
    leases, renewed = Leases(world.files, lambda: world.now, writable=True), threading.Event()
    with leases.reading():
        assert leases.must_ask_again(TABLE, 3)
        monkeypatch.setattr(leases, "renew", renewed.set)
        assert renewed.wait(10)
    leases.close()
