"""A table's store in memory, with a cube whose segments have an artifact each."""

from __future__ import annotations

import itertools

from accelerator.store import Retention, Store
from tests.accelerator.store.doors import HOUR, Crash, Door, World
from tests.accelerator.store.samples import TABLE, cube, segment

CUBE = "c" * 32
AT_ONCE = Retention(0, versions_min=1, batch=4, threads=1)


class Table:
    """A table's store, with a cube, whose segments have an artifact each."""

    def __init__(self):
        self.world = World()
        self.ids = itertools.count(1)
        self.store = self.another()
        self.store.create_cube(cube())

    def another(self, door=None):
        return Store(
            door or Door(self.world),
            now_ms=self.world.clock,
            sleep=lambda _: None,
            clock=lambda: 0.0,
        )

    def add(self, files, replaces=(), store=None):
        made = []
        for id in itertools.islice(self.ids, files):
            path = f"tables/{TABLE}/cubes/{CUBE}/j/{id}.parquet"
            Door(self.world).create(path, b"rows")
            made.append(segment(id, id, path=self.world.files.uri(path)))
        (store or self.store).add_segments(TABLE, made, replaces=replaces)
        return [one.id for one in made]

    def later(self, hours):
        self.world.now += int(hours * HOUR)

    def vacuum(self, retention=AT_ONCE, door=None, **how):
        """Whether it ended, rather than died."""
        try:
            self.another(door).vacuum(TABLE, retention, **how)
        except Crash:
            return False
        return True

    @property
    def artifacts(self):
        paths = self.world.files.list(f"tables/{TABLE}/cubes")
        return {int(path.rpartition("/")[2].partition(".")[0]) for path in paths}

    def exists(self, number):
        return self.world.files.exists(f"tables/{TABLE}/versions/v{number:020d}.json")
