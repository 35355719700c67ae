"""The deletes of a vacuum: in batches, several at once, no faster than wished.

Promises: what has to outlast others is sent once all of those are gone; after an error nothing more
is sent, and the first one is raised; when the `with` block ends, however it does, no request is
under way. Only the thread that adds sends and waits, so Ctrl-C ends it between two batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Self

from accelerator.store.files.files import StoreFiles


class Pace:
    """So many files a second, over all that one vacuum deletes; 0: as many as it can."""

    def __init__(
        self, per_s: int, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self.per_s, self._clock, self._sleep = per_s, clock, sleep
        self._free = -float("inf")

    def wait(self, files: int) -> None:
        """Returns once that many more may be deleted; the next ones wait for as long as they take.

        Who sends no more than a second's worth at once waits for a second at most.
        """
        if self.per_s:
            now = self._clock()
            if self._free > now:
                self._sleep(self._free - now)
            self._free = max(self._free, now) + files / self.per_s


class Deleter:
    """Deletes batches by so many threads, 1 being the caller's own; a dry run only counts.

    Batches are sent in the order of `add`; they may end in another one.
    """

    def __init__(
        self, files: StoreFiles, *, batch: int, threads: int, pace: Pace, dry_run: bool
    ) -> None:
        self._files, self._pace, self._dry_run = files, pace, dry_run
        self._batch = max(1, min(batch, pace.per_s or batch))
        self._threads = max(1, threads)
        self._now: list[str] = []
        # With the number of the last batch that each has to outlast.
        self._after: deque[tuple[int, str]] = deque()
        self._sent = 0
        self._under_way: dict[int, Future[None]] = {}
        self._error: BaseException | None = None
        self._pool = ThreadPoolExecutor(self._threads, "store-vacuum")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self._pool.shutdown(cancel_futures=True)

    def add(self, path: str) -> None:
        """One file to delete."""
        self._now.append(path)
        if len(self._now) >= self._batch:
            self._send()

    def add_after(self, path: str) -> None:
        """One that must outlast all that was added before, should a batch be done by half."""
        self._after.append((self._sent + bool(self._now), path))

    def flush(self) -> None:
        """Returns once all is deleted; raises the first error that there was."""
        while self._now or self._after:
            if not self._now:
                self._settle(0)
            self._send()
        self._settle(0)

    def _send(self) -> None:
        """Sends what has been gathered, then gathers what has waited for batches that are done."""
        while True:
            batch, self._now = self._now, []
            if batch:
                self._begin(batch)
                self._sent += 1
            done = min(self._under_way, default=self._sent + 1) - 1
            while self._after and self._after[0][0] <= done and len(self._now) < self._batch:
                self._now.append(self._after.popleft()[1])
            if len(self._now) < self._batch:
                return

    def _begin(self, batch: list[str]) -> None:
        if self._dry_run:
            return
        self._settle(self._threads - 1)
        self._pace.wait(len(batch))
        self._raise_error()
        if self._threads == 1:
            self._delete(batch)
        else:
            self._under_way[self._sent + 1] = self._pool.submit(self._delete, batch)

    def _settle(self, under_way_max: int) -> None:
        """Waits until no more batches than that are under way."""
        while True:
            ended = [number for number, one in self._under_way.items() if one.done()]
            for number in ended:
                del self._under_way[number]
            self._raise_error()
            if len(self._under_way) <= under_way_max:
                return
            wait(self._under_way.values(), return_when=FIRST_COMPLETED)

    def _delete(self, batch: list[str]) -> None:
        try:
            self._files.delete(batch)
        except BaseException as error:  # whatever it was, the batch isn't gone
            self._error = self._error or error
            raise

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
