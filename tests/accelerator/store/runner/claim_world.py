"""Processes that claim tasks, one request at a time, in whatever order a test says.

Each process is a thread that waits before every request until it's told to go on; so it may be
paused or killed between any two, and only one ever runs.
"""

from __future__ import annotations

import threading

from accelerator.errors import StoreError
from accelerator.store.journals.claims import Claims, TaskProgress

KEY = "refresh-x"


class Killed(BaseException):
    """The end of a process."""


class Memory:
    """Files in memory, as far as claims ask for them."""

    def __init__(self):
        self.held = {}

    def create(self, path, data):
        if path in self.held:
            return False
        self.held[path] = data
        return True

    def read_range(self, path, offset, length):
        if path not in self.held:
            raise FileNotFoundError(path)
        return self.held[path][offset : offset + length]

    def exists(self, path):
        return path in self.held

    def delete(self, paths):
        for path in paths:
            self.held.pop(path, None)

    def list(self, prefix):
        return sorted(path for path in self.held if path.startswith(f"{prefix}/"))

    def folders(self, prefix):
        inside = {path.removeprefix(f"{prefix}/") for path in self.list(prefix)}
        return tuple(sorted({one.partition("/")[0] for one in inside if "/" in one}))


class World:
    """One store, the true time in seconds, and who has died."""

    def __init__(self, *, tells=True):
        self.files, self.now = Memory(), 1_000_000.0
        self.dead, self.tells = set(), tells
        self.number = 0

    def process(self, skew_s=0.0):
        self.number += 1
        return Process(self, f"p{self.number}", skew_s)

    def is_gone(self, process):
        return self.tells and process in self.dead


class Process:
    """One process; `skew_s` is what its wall clock is ahead of the true time."""

    def __init__(self, world, name, skew_s):
        self.world, self.name, self.skew_s = world, name, skew_s
        self.claim, self.error, self.answer = None, None, None
        self.claims = Claims(
            self,
            now_ms=lambda: int((world.now + self.skew_s) * 1000),
            clock=lambda: world.now,
            process=name,
            gone=world.is_gone,
        )
        self._go, self._parked = threading.Semaphore(0), threading.Semaphore(0)
        self._thread, self._end = None, None

    def __getattr__(self, name):
        """A request, once it may be made; `self` stands for the files."""
        if name.startswith("_"):
            raise AttributeError(name)
        real = getattr(self.world.files, name)

        def request(*arguments):
            self._parked.release()
            self._go.acquire()
            if self._end == "before":
                raise Killed
            found = real(*arguments)
            if self._end == "after":
                raise Killed
            return found

        return request

    @property
    def busy(self):
        return self._thread is not None

    @property
    def held(self):
        return self.claim is not None and self.claim.held

    def start(self, what):
        """Begins to claim, to prolong or to end, up to the first request."""
        orders = {"claim": self._claim, "prolong": self._prolong, "end": self._finish}
        self._thread = threading.Thread(target=self._run, args=(orders[what],), daemon=True)
        self._thread.start()
        self._wait()

    def step(self):
        """Makes one request, and goes on up to the next one or to the end."""
        self._go.release()
        self._wait()

    def kill(self, when):
        """Ends the process at the request that it's about to make."""
        self._end = when
        if self.busy:
            self._go.release()
            self._wait()
        self.claim = None
        self.world.dead.add(self.name)

    def finish(self):
        while self.busy:
            self.step()
        if self.error is not None:
            raise self.error

    def do(self, what):
        """All of it, with nobody in between."""
        self.start(what)
        self.finish()
        return self.answer

    def _wait(self):
        self._parked.acquire()
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None

    def _run(self, order):
        try:
            order()
        except Killed:
            pass
        except (StoreError, ValueError) as error:
            self.error = error
        finally:
            thread, self._thread = self._thread, None
            del thread
            self._parked.release()

    def _claim(self):
        self.claim = self.claims.claim(KEY) or self.claim
        self.answer = self.claim

    def _prolong(self):
        self.answer = self.claim.prolong(TaskProgress(1, 2))

    def _finish(self):
        claim, self.claim = self.claim, None
        claim.end({"ran": self.name})
