"""Leases: one file per process and table, renewed while it's needed, gone by itself otherwise."""

from __future__ import annotations

import threading

import pytest
from samples import TABLE, segment

from accelerator.errors import StoreError
from accelerator.store import Store
from accelerator.store.files import open_files
from accelerator.store.leases import LEASE_MS, MARGIN_MS, Leases, leases_of


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
    assert lease.has_ended(world.now + MARGIN_MS + 1)


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
