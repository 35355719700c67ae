"""The store on a real S3 server, whose requests fail, are answered too late, or arrive twice.

Strategy: a server in this process keeps buckets in memory behind a door that does harm to some of
the requests (`s3_server.py`). Writers and vacuums run on as they would in production.
Invariants: what a writer was told is committed is there; nothing that is named is ever missing;
what is garbage goes once the vacuum ends well.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID

from accelerator.errors import StoreConflictError, StoreError
from accelerator.store import Retention, Store
from accelerator.store.files.files import open_files
from tests.accelerator.store.s3_server import make_bucket, options_of, serving
from tests.accelerator.store.samples import TABLE, cube, segment

CUBE = "c" * 32
NOTHING = Retention(0, versions_min=1)


@pytest.fixture(scope="module")
def server():
    with serving() as made:
        yield made


class World:
    """A bucket of its own, with a clock that tests turn."""

    def __init__(self, door, endpoint, bucket):
        self.door, self.now, self.root = door, 1_750_000_000_000, f"s3://{bucket}/store"
        self.bucket = bucket
        self.options = options_of(endpoint)
        self.files = open_files(self.root, self.options)

    def store(self):
        return Store(open_files(self.root, self.options), now_ms=lambda: self.now)

    def write(self, *numbers):
        for number in numbers:
            self.files.create(f"tables/{TABLE}/cubes/{CUBE}/j/{number}.parquet", b"rows")

    def hold(self, *numbers):
        """As `write`, straight into the server's memory."""
        backend = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
        for number in numbers:
            key = f"store/tables/{TABLE}/cubes/{CUBE}/j/{number}.parquet"
            backend.put_object(self.bucket, key, b"rows")

    def made(self, number):
        path = f"{self.root}/tables/{TABLE}/cubes/{CUBE}/j/{number}.parquet"
        return segment(number, number, path=path)

    @property
    def artifacts(self):
        return {int(p.split("/")[-1][:-8]) for p in self.files.list(f"tables/{TABLE}/cubes/")}


@pytest.fixture
def world(server, request):
    door, endpoint = server
    bucket = f"b{abs(hash(request.node.name)) % 10**9}"
    made = World(door, endpoint, bucket)
    make_bucket(endpoint, bucket)
    made.store().create_cube(cube())
    door.counts.clear()
    yield made
    door.share = 0.0


def test_a_stores_own_key_comes_without_the_environments_token(world, monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "environment")
    requests, app = [], world.door.app
    monkeypatch.setattr(
        world.door, "app", lambda env, start: requests.append(env) or app(env, start)
    )
    files = open_files(world.root, world.options)
    assert files.create("a", b"1") and files.read("a") == b"1"
    assert requests and all("HTTP_X_AMZ_SECURITY_TOKEN" not in one for one in requests)


def test_of_many_writers_of_one_path_one_succeeds(world):
    for path in ("a", "b"):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda n: world.files.create(path, b"%d" % n), range(8)))  # noqa: B023
        assert sum(won) == 1
        assert world.files.read(path) == b"%d" % won.index(True)


def test_what_was_committed_is_there_whatever_happened_to_requests(world):
    world.door.share = 0.2
    committed, lock = set(), threading.Lock()

    def work(numbers):
        store = world.store()
        for number in numbers:
            try:
                store.add_segments(TABLE, [world.made(number)])
            except (StoreConflictError, StoreError):
                continue
            with lock:
                committed.add(number)

    threads = [threading.Thread(target=work, args=(range(1 + n, 25, 3),)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.door.share = 0.0
    fresh = world.store()
    found = fresh.table(TABLE)
    assert committed <= set(found.segments) <= set(range(1, 25))
    assert len(committed) > 12
    assert found.number >= len(found.segments)
    assert fresh.damages() == ()


def test_a_vacuum_that_is_harmed_loses_nothing_and_ends_its_work_later(world):
    world.write(*range(1, 31))
    store = world.store()
    store.add_segments(TABLE, [world.made(n) for n in range(1, 21)])
    for n in range(1, 11):
        store.add_segments(TABLE, [world.made(20 + n)], replaces=[n])
    world.now += 3_600_000
    world.door.share = 0.25
    done = False
    for _ in range(30):
        try:
            world.store().vacuum(TABLE, NOTHING, full=True)
        except StoreError:
            pass
        else:
            done = True
        assert world.artifacts >= set(range(11, 31))
        if done:
            break
    world.door.share = 0.0
    world.store().vacuum(TABLE, NOTHING, full=True)
    assert world.artifacts == set(range(11, 31)) == set(world.store().table(TABLE).segments)
    assert world.store().tables() == (TABLE,)


def test_a_thousand_files_go_by_one_request(world):
    numbers = range(1, 1101)
    world.hold(*numbers)
    store = world.store()
    store.add_segments(TABLE, [world.made(n) for n in numbers])
    store.remove_segments(TABLE, numbers)
    world.door.counts.clear()
    report = world.store().vacuum(TABLE, NOTHING)
    assert world.artifacts == set()
    assert world.door.counts["BULK_DELETE"] <= 4 and "DELETE" not in world.door.counts
    assert report.requests <= 20
