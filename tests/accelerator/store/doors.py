"""Files that keep a clock of their own, and one process's way to them, where harm may be done.

A request may be the last of its process: before it acts, after it, or with half of it done. Or it
fails and its process lives on, it arrives late or twice; or somebody else comes in between.
"""

from __future__ import annotations

from contextlib import suppress

from accelerator.errors import StoreError
from accelerator.store.files.entries import FileEntry
from accelerator.store.files.files import open_files

HOUR = 3_600_000
ENDS, HARMS = ("before", "after", "torn"), ("refused", "unheard", "twice", "late")


class Crash(BaseException):
    """The end of a process: nothing of the store's may catch it."""


class World:
    """Files with times of their own, and one clock that jumps.

    `glass` shows the same files, asking nothing of the place that they are in; `late` are requests
    that were given up and are still on their way: after how many others, and what they do.
    """

    def __init__(self, files=None, glass=None):
        self.files = files or open_files("memory:///")
        self.glass = glass or self.files
        self.now, self.written = 10**12, {}
        self.late, self.landed, self.arrived = [], 0, 0

    def clock(self):
        return self.now

    def door(self):
        return Door(self)

    def request(self):
        """One more request is made, by whomever: some that are late arrive before it."""
        for one in self.late:
            one[0] -= 1
        self.land([one for one in self.late if one[0] < 0])

    def land(self, arriving):
        for one in arriving:
            self.late.remove(one)
            self.landed += 1
            self.arrived += 1
            with suppress(FileNotFoundError):
                one[1]()

    def close(self):
        pass


class Door:
    """One process's way to the files: it may be armed to die, to be harmed or interrupted."""

    def __init__(self, world):
        self.world, self.left, self.how = world, None, ""
        self.interrupt_in, self.interruption = None, None
        self.delay, self.harmed = 0, False

    def arm(self, left, how):
        self.left, self.how, self.delay = left, how, left * 13 % 80

    def _do(self, operation, half):
        self.world.request()
        if self.interrupt_in is not None:
            self.interrupt_in -= 1
            if self.interrupt_in < 0:
                self.interrupt_in = None
                self.interruption()
        if self.left is None:
            return operation()
        self.left -= 1
        if self.left >= 0:
            return operation()
        self.left = None
        if self.how in HARMS:
            self.harmed = True
            return self._harm(operation)
        if self.how == "after":
            operation()
        elif self.how == "torn":
            half()
        raise Crash

    def _harm(self, operation):
        """A request of a process that goes on: it fails, whatever it did or will do, or is two."""
        if self.how == "twice":
            operation()
            return operation()
        if self.how == "unheard":
            operation()
        elif self.how == "late":
            self.world.late.append([self.delay, operation])
        raise StoreError("503 Slow Down")

    def _create(self, path, data):
        self.world.written.setdefault(path, self.world.now)
        return self.world.files.create(path, data)

    def create(self, path, data):
        draft = f"{path}#77"
        return self._do(lambda: self._create(path, data), lambda: self._create(draft, data[:9]))

    def delete(self, paths):
        wanted = list(paths)
        # A batch isn't atomic, nor done in its order.
        half = wanted[1::2]
        return self._do(
            lambda: self.world.files.delete(wanted), lambda: self.world.files.delete(half)
        )

    def read(self, path):
        return self._do(lambda: self.world.files.read(path), lambda: None)

    def exists(self, path):
        return self._do(lambda: self.world.files.exists(path), lambda: None)

    def list(self, prefix):
        found = self._do(lambda: self.world.files.list(prefix), lambda: None)
        return [path for path in found if "#" not in path]

    def entries(self, prefix):
        found = self._do(lambda: list(self.world.files.entries(prefix)), lambda: None)
        return [FileEntry(one.path, one.bytes, self.world.written[one.path]) for one in found]

    def uri(self, path):
        return self.world.files.uri(path)

    def size(self, path):
        return self._do(lambda: self.world.files.size(path), lambda: None)


class Glass:
    """Looks at a world's files without a request."""

    def __init__(self, world):
        self.read, self.exists, self.list = world.glass.read, world.glass.exists, world.glass.list
        self.uri = world.glass.uri
