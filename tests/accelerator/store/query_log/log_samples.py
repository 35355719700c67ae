"""Records, and stores that fail, for the tests of the query log."""

from __future__ import annotations

from accelerator.errors import StoreError
from accelerator.store.journals.query_log.record import LogRecord

NOW_US = 1_764_254_400_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


def record(number=0, **fields):
    """A record that began so many seconds after `NOW_US`."""
    given = {
        "id": f"q{number}",
        "started_us": NOW_US + number * 1_000_000,
        "state": "FINISHED",
        "sql": f"SELECT a FROM t WHERE b = {number}",
        "process": "gateway",
    }
    return LogRecord(**given | fields)


class Failing:
    """Files of a store, of which calls fail while `error` is set; `after` lets creates stand."""

    def __init__(self, files, error=None, *, after=False):
        self._files, self.error, self.after = files, error, after
        self.creates = 0

    def create(self, path, data):
        self.creates += 1
        if self.error is not None:
            if self.after:
                self._files.create(path, data)
            raise self.error
        return self._files.create(path, data)

    def __getattr__(self, name):
        return getattr(self._files, name)


FULL = StoreError("the store at /x can't be used: No space left on device")


class Clock:
    """Monotonic seconds and Unix microseconds that tests turn."""

    def __init__(self, now_us=NOW_US):
        self.now_us, self.seconds = now_us, 0.0

    def pass_(self, seconds):
        self.seconds += seconds
        self.now_us += int(seconds * 1_000_000)
