"""An index's commits while its store's requests fail: no artifact goes that a version names.

Strategy: a builder over a store in memory, with answers that a Spark job would have given. Each
request of a build, or of a merge of bundles, fails in turn: before it acts, after it, or it arrives
when its sender has given it up.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from types import SimpleNamespace

import pytest

from accelerator.artifacts.sidecars.records import Indexed
from accelerator.builds.builder import BuildServices
from accelerator.builds.loop import Loop
from accelerator.builds.sidecars.builder import BuiltIndex, IndexBuilder, IndexTarget, MissingFiles
from accelerator.builds.sidecars.task import TaskResult
from accelerator.errors import StoreError
from accelerator.store import IndexRecord, Store
from tests.accelerator.store.doors import Door, World
from tests.accelerator.store.samples import TABLE

INDEX = "d" * 32
RECORD = IndexRecord(INDEX, "i", "lake.shop.sales", TABLE, "range", 3, "price", 1)
TARGET = IndexTarget(RECORD, None, SimpleNamespace(type="int"))


class Index:
    """An index without blobs, and its store behind a door."""

    def __init__(self):
        self.world = World()
        self.door = Door(self.world)
        self.store = Store(
            self.door, now_ms=self.world.clock, sleep=lambda _: None, clock=lambda: 0.0
        )
        self.store.create_index(RECORD)
        self.builder = IndexBuilder(
            BuildServices(None, self.store, None, None, bool, dict, None, lambda: None, None)
        )
        self.builder._run = lambda targets, jobs, wanted, files, tag, here: {
            one.path: TaskResult(one.path, (Indexed(INDEX, why="many"),)) for one in files
        }

    def build(self, number):
        file = SimpleNamespace(
            path=f"file:///w/{number}.parquet",
            sequence_number=1,
            key=(f"file:///w/{number}.parquet", 1),
            record_count=7,
            size_bytes=512,
        )
        done = {INDEX: BuiltIndex("i")}
        missing = {INDEX: MissingFiles(frozenset([file.key]))}
        self.builder._job([TARGET], missing, [file], done, Loop(self.store, "i", "BUILD INDEX i"))

    def is_whole(self):
        looker = Store(Door(self.world), now_ms=self.world.clock)
        named = {one.path for one in looker.table(TABLE).of(INDEX)}
        root = self.world.files.uri("")
        return all(self.world.files.exists(path.removeprefix(root)) for path in named)


@pytest.mark.parametrize("how", ["refused", "unheard", "late"])
@pytest.mark.parametrize("merges", [False, True])
def test_what_may_have_been_committed_is_not_deleted(merges, how):
    for at in itertools.count():
        index = Index()
        for number in range(8 if merges else 1):
            index.build(number)
        assert index.is_whole()
        index.door.arm(at, how)
        with suppress(StoreError):
            if merges:
                index.builder._merge(TARGET)
            else:
                index.build(9)
        index.world.land(list(index.world.late))
        assert index.is_whole(), at
        if not index.door.harmed:
            break
    assert at > 5
