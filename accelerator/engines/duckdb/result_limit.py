"""How many bytes of rows as Arrow statements hold, and that they don't hold too many.

They're those that DuckDB reads beside its own scans, and large answers. A statement that needs more
is given up before they're made, and Spark answers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from accelerator.errors import MemoryExceededError

_MUCH = 32 * 1024**2


class HeldRows:
    """Arrow rows that are held, by the tag of the work that holds them; threads share it.

    They count from `hold` on until the work ends, or lets go of them.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._held: dict[str, int] = {}
        self._most: dict[str, int] = {}  # since the work began
        self._users: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, tag: str) -> Iterator[None]:
        """Inside, work under the tag may hold rows. It may be entered again under the same tag."""
        with self._lock:
            self._users[tag] = self._users.get(tag, 0) + 1
            self._held.setdefault(tag, 0)
            self._most.setdefault(tag, 0)
        try:
            yield
        finally:
            with self._lock:
                self._users[tag] -= 1
                ended = not self._users[tag]
                if ended:
                    del self._users[tag], self._held[tag]
                    most = self._most.pop(tag)
            if ended and most > _MUCH:
                pa.default_memory_pool().release_unused()  # it keeps what was freed, for other rows

    def hold(self, tag: str, size: int) -> None:
        """So many bytes more, or less; MemoryExceededError where they don't fit.

        Of work that nothing is `holding` for, such as a build with a bound of its own, none count.
        """
        with self._lock:
            if tag not in self._held:
                return
            others = sum(self._held.values()) - self._held[tag]
            mine = self._held[tag] + size
            if size > 0 and mine + others > self.bytes_max:
                raise MemoryExceededError(
                    f"its rows need {mine:,} bytes of memory, and {others:,} are held by others,"
                    f" of {self.bytes_max:,}",
                    hint="Spark answers it; memory_bytes_max says what statements in process hold",
                )
            self._held[tag] = max(0, mine)
            self._most[tag] = max(self._most[tag], mine)

    @property
    def bytes(self) -> int:
        """What is held now."""
        with self._lock:
            return sum(self._held.values())


class HeldRound:
    """What a reader holds that reads in rounds, each of which lets go of what the last one held."""

    def __init__(self, held: HeldRows, tag: str) -> None:
        self._held, self._tag = held, tag
        self._sizes: list[int] = []  # appended to by the threads that read

    def hold(self, size: int) -> None:
        """So many bytes more; MemoryExceededError where they don't fit."""
        self._held.hold(self._tag, size)
        self._sizes.append(size)

    def begin(self, size: int) -> None:
        """Holds so many bytes of what the rounds before have left, and nothing else of them."""
        self._held.hold(self._tag, size - sum(self._sizes))
        self._sizes[:] = [size]
