"""A vacuum of the store that is cancelled at any request: it stops there, and the next one ends it.

The cancelling stands where a request is made, so that every place comes up, and no clock decides.
"""

from __future__ import annotations

import os
import signal
import threading
from itertools import count
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.errors import CancelledError
from accelerator.services.maintenance.daemon import Schedule
from accelerator.store.files.local import LocalFiles
from accelerator.store.store import Store
from tests.accelerator.store.samples import cube, segment

REQUESTS = ("create", "read", "exists", "delete", "list", "entries")


@pytest.fixture
def acc(tmp_path):
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    catalog.create_table("d.t", pa.schema([("a", pa.int64())]))
    settings = {
        "vacuum_versions_min": 1,
        "vacuum_retain_hours": 0,
        "vacuum_min_batch_delete_size": 2,
    }
    with accelerator.open(tmp_path, **settings) as session:
        yield session
        assert not session.spark_started


def uuid_of(acc):
    return acc.services.lake.pin().table(("lake", "d", "t")).uuid


def with_garbage(acc):
    """Five artifacts of a cube of its own, of which one is needed."""
    uuid, id = uuid_of(acc), uuid4().hex
    acc.services.store.create_cube(cube(id=id, table_uuid=uuid))
    for number in range(1, 6):
        path = f"tables/{uuid}/cubes/{id}/j/{number}.parquet"
        acc.services.store._files.create(path, b"rows")
        replaced = [number - 1] if number > 1 else []
        new = segment(number, number, cube_id=id, path=acc.services.store._files.uri(path))
        acc.services.store.add_segments(uuid, [new], replaces=replaced)


def at_request(monkeypatch, number, act):
    """Has the n-th request of the store from now on come after the act; says how many came."""
    made = [0]
    for name in REQUESTS:
        plain = getattr(LocalFiles, name)

        def request(self, *args, plain=plain):
            made[0] += 1
            if made[0] == number:
                act()
            return plain(self, *args)

        monkeypatch.setattr(LocalFiles, name, request)
    return made


@pytest.fixture(autouse=True)
def hears():
    """Ctrl-C is heard of, though a shell may have started this in the background, deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def sound(acc):
    """Nothing is damaged, what is needed is there, and a further vacuum leaves that alone."""
    store, uuid = Store.open(acc.config.store_root), uuid_of(acc)
    (needed,) = store.table(uuid).segments.values()
    assert store.read_range(needed.path, 0, 9) == b"rows" and store.damages() == ()
    acc.vacuum("lake.d.t", full=True)
    left = [path for path in acc.services.store._files.list("tables") if path.endswith(".parquet")]
    assert [acc.services.store._files.uri(path) for path in left] == [needed.path]
    assert store.damages() == () and acc.services.store.damages() == ()


@pytest.mark.parametrize("how", ["cancel", "ctrl-c"])
@pytest.mark.parametrize("full", [False, True])
def test_a_vacuum_stops_at_any_request(acc, monkeypatch, how, full):
    uuid = uuid_of(acc)
    for number in count(1, 3):  # every third place
        with_garbage(acc)
        told = threading.Event()

        def act(told=told):
            told.set()
            if how == "cancel":
                acc.cancel()
            else:
                press()
                # The listener's thread hears of it; only then is it sure that the vacuum has.
                while not any(acc.services.duckdb._begun.values()):
                    threading.Event().wait(0.001)

        with monkeypatch.context() as patch:
            made = at_request(patch, number, act)
            try:
                acc.query(f"VACUUM lake.d.t {'FULL' if full else ''}")
            except (CancelledError, KeyboardInterrupt) as error:
                assert isinstance(error, CancelledError) is (how == "cancel")
                # Threads that delete may each have had one under way.
                assert made[0] <= number + 4
            else:
                assert not told.is_set() or made[0] <= number, "it went on"
        sound(acc)
        acc.services.store.drop_cube("sales")
        assert not acc.services.store.table(uuid).segments
        if not told.is_set():
            return


def test_a_cancelled_statement_does_not_cancel_the_next_one(acc, monkeypatch):
    with_garbage(acc)
    with monkeypatch.context() as patch:
        at_request(patch, 3, acc.cancel)
        with pytest.raises(CancelledError):
            acc.vacuum("lake.d.t")
    acc.cancel()  # with nothing that runs
    assert acc.vacuum("lake.d.t").files() > 0
    assert not acc.services.duckdb._begun and not acc.services.cancellation._tags


def test_ctrl_c_does_not_stop_a_daemons_vacuum(acc, monkeypatch):
    """Its own handler lets the vacuum end; that handler is the one that is called."""
    with_garbage(acc)
    heard, done, stop = [], [], threading.Event()

    def handle(number, _frame):
        heard.append(number)
        stop.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        at_request(monkeypatch, 12, press)
        acc.maintain(Schedule(), done.append, stop=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    (vacuumed,) = done
    assert vacuumed.error is None and vacuumed.files > 0
