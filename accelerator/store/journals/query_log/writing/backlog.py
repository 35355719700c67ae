"""Records that wait to be written: so many at most, and of so many characters.

Adding takes a lock and appends, nothing else. Where there is no room the oldest go, and are
counted.
"""

from __future__ import annotations

import threading
from collections import deque

from accelerator.store.journals.query_log.record import LogRecord

_RECORD = 1000
"""Characters that a record counts for beside its texts."""


class Backlog:
    """Threads share it; what a fork's child finds in it is the parent's to write."""

    def __init__(self, records_max: int, chars_max: int) -> None:
        self._records_max, self._chars_max = records_max, chars_max
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, LogRecord]] = deque()
        self._chars = self._lost = self._lost_ever = 0

    def add(self, record: LogRecord) -> int:
        """Takes one; how many wait."""
        chars = _RECORD + len(record.sql) + len(record.error_message or "")
        with self._lock:
            self._waiting.append((chars, record))
            self._chars += chars
            while len(self._waiting) > self._records_max or self._chars > self._chars_max:
                gone, _ = self._waiting.popleft()
                self._chars -= gone
                self._lost += 1
                self._lost_ever += 1
            return len(self._waiting)

    def take(self, records: int, chars: int) -> tuple[list[LogRecord], int]:
        """The oldest ones, one at least, and how many were lost since this was last asked."""
        found: list[LogRecord] = []
        with self._lock:
            while self._waiting and len(found) < records:
                if found and self._waiting[0][0] > chars:
                    break
                one, record = self._waiting.popleft()
                self._chars -= one
                chars -= one
                found.append(record)
            lost = 0
            if found:
                lost, self._lost = self._lost, 0
            return found, lost

    def all(self) -> list[LogRecord]:
        """Those that wait, the oldest first."""
        with self._lock:
            return [record for _, record in self._waiting]

    def lose(self, records: int, untold: int | None = None) -> None:
        """So many can't be written; `untold`, by default these, the next file has to tell of."""
        with self._lock:
            self._lost += records if untold is None else untold
            self._lost_ever += records

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def lost(self) -> int:
        """How many were lost, ever."""
        return self._lost_ever
