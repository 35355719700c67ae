"""The one loop of builds, of cubes' segments and of indexes' sidecars.

A build asks the store what is missing, and does it in jobs: each begins, works, and commits what it
made at once, or leaves nothing. So a rerun goes on where another stopped, and what a killed build
left is never looked at. Promises: an artifact that a version of the store may name stays.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from msgspec import Struct, field

from accelerator.common.progress import Progress, SilentProgress
from accelerator.errors import (
    AcceleratorError,
    BuildError,
    CancelledError,
    CubeNotFoundError,
    EngineError,
    SparkMissingError,
    StoreConflictError,
)
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.store import SegmentRecord, Store
from cubes.job_error import JobError

Offer = tuple[Sequence[int], Sequence[SegmentRecord]]
"""Ids of records that go, and the records that stand in their place."""
_T = TypeVar("_T")
_log = logging.getLogger("accelerator")


class Owner(Protocol):
    """A cube or an index: whose records are committed."""

    @property
    def id(self) -> str: ...

    @property
    def table_uuid(self) -> str: ...


class Loop(Struct, frozen=True):
    """One build as it runs.

    `names` are those of what is built, `statement` goes on with it (`BUILD CUBE sales`), `tag` is
    that of its Spark jobs. Whoever cancels it sets `cancelled`; `gate` raises in a session that
    computes otherwise.
    """

    store: Store
    names: str
    statement: str
    tag: str = "build"
    progress: Progress = field(default_factory=SilentProgress)
    cancelled: threading.Event = field(default_factory=threading.Event)
    gate: Callable[[], None] = lambda: None

    def pin(self, tables: Iterable[PinnedTable]) -> None:
        """Keeps the snapshots that the build reads from being vacuumed meanwhile."""
        for table in tables:
            self.store.pin_snapshot(table.facts.uuid, table.snapshot_ms)

    def check(self) -> None:
        """Raises CancelledError if the build was cancelled, and the gate's errors."""
        if self.cancelled.is_set():
            raise self._stopped()
        self.gate()

    @contextmanager
    def running(self, files: int) -> Iterator[None]:
        """Shows how many files are done; BuildError or CancelledError for what engines raise."""
        self.progress.start(files, f"building {self.names}")
        try:
            yield
        except CancelledError as error:
            raise self._stopped() from error
        except SparkMissingError:  # it has its own hint
            raise
        except (EngineError, JobError) as error:
            if self.cancelled.is_set() or getattr(error, "cancelled", False):
                raise self._stopped() from error
            raise self._failed(error) from error
        finally:
            self.progress.finish()

    def each(self, parts: Iterable[Sequence[_T]]) -> Iterator[Sequence[_T]]:
        """The parts, one job's each; a part is done once the next is asked for."""
        for part in parts:
            self.check()
            yield part
            self.progress.advance(len(part))

    def _stopped(self) -> CancelledError:
        return CancelledError(
            f"the build of {self.names} was cancelled",
            hint=f"what it had finished is kept; {self.statement} goes on from there",
        )

    def _failed(self, error: Exception) -> BuildError:
        goes_on = f"what it had finished is kept; {self.statement} goes on once that is mended"
        if isinstance(error, EngineError):
            hint = f"{error.hint}; {goes_on}" if error.hint else goes_on
            return BuildError(f"the build of {self.names} failed: {error.message}", hint=hint)
        return BuildError(
            f"the build of {self.names} failed in Spark: {error}",
            hint=f"{goes_on}; where a column has a wider type now than when this was made, create"
            " it anew",
        )


class OpenJob:
    """A job that was begun. What it wrote goes at the end of the block, unless it's committed."""

    def __init__(self, store: Store, owner: Owner) -> None:
        self._store, self._owner = store, owner
        self.job = store.begin_job(owner.table_uuid, owner.id)
        self._open = True

    def __enter__(self) -> OpenJob:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if not self._open:
            return
        try:  # it failed, or nobody wants what it made
            self._discard(())
        except (AcceleratorError, OSError) as error:
            if failed is None:
                raise
            _log.warning("what a failed job wrote stays until a vacuum: %s", error)

    def commit(self, offer: Callable[[], Offer]) -> tuple[list[SegmentRecord], list[SegmentRecord]]:
        """Puts what is offered in the place of what goes; those that stand, and those that lost.

        Another build may have ended an earlier record that the offer goes on with: then the offer
        is asked for again. What is refused is deleted: a cube may be dropped while its segments are
        made, or the build be taken for dead by a full vacuum. After any other failure it stays: the
        commit may have been made, or be made yet by a request that is late.
        """
        self._open = False
        gone, made = offer()
        while True:
            try:
                added = self._store.add_segments(
                    self._owner.table_uuid, made, replaces=gone, job=self.job
                )
                break
            except CubeNotFoundError:
                self._discard(())
                raise
            except StoreConflictError:
                before = {one.path for one in made}
                gone, made = offer()
                if before <= {one.path for one in made}:
                    self._discard(())
                    raise
        kept = [one for one in made if one.id not in added.lost]
        lost = [one for one in made if one.id in added.lost]
        if lost:
            self._discard(kept)
        return kept, lost

    def _discard(self, kept: Sequence[SegmentRecord]) -> None:
        """Deletes what the job wrote, except what is kept, and ends it."""
        self._open = False
        needed = {one.path for one in kept}
        self._store.delete_artifacts(u for u in self._store.artifacts(self.job) if u not in needed)
        self._store.finish_job(self.job)


def newest(files: Sequence[LiveFile], bytes_max: int | None) -> list[LiveFile]:
    """Those that came last, of so many bytes together, or one; None: all, in their order."""
    if bytes_max is None:
        return list(files)
    found, left = list[LiveFile](), bytes_max
    for file in sorted(files, key=lambda one: one.sequence_number, reverse=True):
        if found and file.size_bytes > left:
            break
        found.append(file)
        left -= file.size_bytes
    return found


def parts(
    files: Iterable[_T], *, files_max: int, weigh: Callable[[_T], int], most: int
) -> Iterator[list[_T]]:
    """The files in parts of so many, and of no more weight than `most` but for a single one."""
    part: list[_T] = []
    weight = 0
    for file in files:
        own = weigh(file)
        if part and (weight + own > most or len(part) >= files_max):
            yield part
            part, weight = [], 0
        part.append(file)
        weight += own
    if part:
        yield part
