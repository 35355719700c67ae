"""The cubes and indexes of a store as things that are refreshed: what they lack, and its build."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.artifacts.relate.declaration import relate_columns
from accelerator.common.config import refresh_schedule
from accelerator.common.config.refresh_schedule import When
from accelerator.errors import UNFIT, BuildError, EngineError, StatementError, StoreError
from accelerator.iceberg import Pin
from accelerator.services import publish
from accelerator.services.refresh import lag
from accelerator.services.runner import Outcome, Reported
from accelerator.store import BESIDE, CubeRecord, IndexRecord, RegistryVersion
from accelerator.store.journals.run import REFRESH
from cubes.definition import from_dict
from rewrite.identifiers.qualified_name import joined, parts_of

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

COMPACT = "compact-"
"""What keys of claims of merges begin with, before the id of a cube."""
_log = logging.getLogger("accelerator")
Name = tuple[str, ...]
FileKey = tuple[str, int]


class Lacks(Struct, frozen=True):
    """Data files that an artifact lacks, and when the oldest commit of them was, in Unix ms.

    `published`: it lacks none, and the table that it's published as is behind.
    """

    files: frozenset[FileKey] = frozenset()
    behind_ms: int | None = None
    published: bool = False

    @property
    def anything(self) -> bool:
        """Whether a run would find something to do."""
        return bool(self.files) or self.published


class Artifact(Struct, frozen=True):
    """A cube or an index, by its record, and when it's refreshed."""

    record: CubeRecord | IndexRecord
    when: When

    @property
    def kind(self) -> str:
        """`cube` or `index`."""
        return "cube" if isinstance(self.record, CubeRecord) else "index"

    @property
    def title(self) -> str:
        """The kind and the name, as people are told."""
        return f"{self.kind} {self.record.name}"

    @property
    def key(self) -> str:
        """That of its claims."""
        return key_of(self.record)

    def names(self, pin: Pin) -> list[Name]:
        """The full names of its tables, as far as they can be told."""
        record = self.record
        if isinstance(record, CubeRecord):
            try:
                return [parts_of(one.name) for one in from_dict(dict(record.definition)).tables]
            except UNFIT:
                return [parts_of(record.table)]
        names = [parts_of(record.table)]
        pinned = pin.pinned(names[0]) if record.field_id < 0 else None
        for one in () if pinned is None else relate_columns(pinned.properties):
            if one.id == record.field_id:
                names += (join.table for join in one.path)
        return names

    def state(self, pin: Pin) -> str:
        """What it would be built from now, and when it's to be, as one short text.

        Any commit to one of its tables gives it another. CatalogError where one can't be asked.
        """
        told = [self.record.id, self.when.text]
        for name in self.names(pin):
            pinned = pin.pinned(name)
            told += (joined(name), *(("",) if pinned is None else pinned.version))
        return hashlib.blake2b("\0".join(told).encode(), digest_size=16).hexdigest()

    def lacks(self, services: Services) -> Lacks:
        """What it lacks of the newest snapshot; the errors of a build that can't begin."""
        record = self.record
        if isinstance(record, CubeRecord):
            target = services.builder.target(record)
            missing = services.builder.missing(target)
            built = services.store.table(record.table_uuid).of(record.id) if missing else ()
            keys = frozenset(one.key for one in missing)
            published = not missing and publish.is_behind(services, record, target)
            return Lacks(keys, lag.of_cube(target, missing, built), published)
        found = services.index_builder.target(record)
        due = services.index_builder.missing(found)
        return Lacks(frozenset(due.files), lag.of_index(found, due))

    def build(self, services: Services, report: Reported, stop: threading.Event) -> Outcome:
        """Builds a portion of what it lacks, the newest first.

        Where data files fail together, those that can be built are, and the outcome has the error.
        CancelledError once `stop` is set; what was finished stays. BuildError where nothing of what
        it lacks could be built. A cube that lacks nothing more is published again, if it is.
        """
        before = self.lacks(services).files
        told = BuildProgress(report)
        try:
            files, twice = self._built(services, told, stop)
        except BuildError as error:
            newest_first = sorted(before, key=lambda one: one[1], reverse=True)
            failures = [2 * len(before).bit_length()]
            files, twice = self._apart(services, told, stop, newest_first, failures)
            if not files and not twice:
                raise
            return Outcome(files, twice, error=error)
        after = self.lacks(services).files
        if not files and not twice and before & after:
            raise BuildError(
                f"nothing of what {self.title} lacks could be built",
                hint=f"BUILD {self.kind.upper()} {self.record.name} by hand says more",
            )
        if not after and isinstance(self.record, CubeRecord):
            self._merged(services, self.record, stop)
        try:
            if not after and isinstance(self.record, CubeRecord):
                publish.refresh(services, self.record.name)
        except (BuildError, EngineError, StatementError) as error:  # what was built stays
            return Outcome(files, twice, error=error)
        return Outcome(files, twice, more=bool(before & after))

    def _merged(self, services: Services, record: CubeRecord, stop: threading.Event) -> None:
        """Makes one segment of the many small ones that runs have left, if there are so many.

        A statement opens each of them. What can't be merged stays, and the next run tries again.
        """
        if stop.is_set():
            return
        with services.cancellation.tracked(ctrl_c=False) as tag:
            try:
                made = services.builder.compact(record, tag=tag, small=True)
            except (BuildError, EngineError, StoreError) as error:
                _log.warning("segments of %s can't be merged: %s", self.title, error)
                return
        if made.segments:
            _log.info("small segments of %s were merged to %d cells", self.title, made.rows)

    def _apart(
        self,
        services: Services,
        told: BuildProgress,
        stop: threading.Event,
        files: Sequence[FileKey],
        failures: list[int],
    ) -> tuple[int, int]:
        """What can be built of files that failed together, in halves; so many may fail more."""
        done = twice = 0
        middle = len(files) // 2
        for half in (files[:middle], files[middle:]) if middle else ():
            if failures[0] <= 0:
                break
            try:
                made = self._built(services, told, stop, frozenset(half))
            except BuildError:
                failures[0] -= 1
                made = self._apart(services, told, stop, half, failures)
            done, twice = done + made[0], twice + made[1]
        return done, twice

    def _built(
        self,
        services: Services,
        told: BuildProgress,
        stop: threading.Event,
        only: frozenset[FileKey] | None = None,
    ) -> tuple[int, int]:
        """Data files that were built, and those that another process had built first."""
        most = services.config.refresh_bytes_max
        with services.cancellation.tracked(ctrl_c=False) as tag:
            (made,) = services.builder_of(self.record).build(
                [self.record], progress=told, cancelled=stop, tag=tag, bytes_max=most, only=only
            )
            return made.files, made.lost


class BuildProgress:
    """A build's progress, as the runner wants it."""

    def __init__(self, report: Reported) -> None:
        self._report, self._done, self._total = report, 0, 0

    def start(self, total: int, what: str) -> None:  # noqa: ARG002 - the Protocol's
        """See `Progress.start`."""
        self._done, self._total = 0, total
        self._report(0, total)

    def advance(self, n: int = 1) -> None:
        """See `Progress.advance`."""
        self._done += n
        self._report(self._done, self._total)

    def finish(self) -> None:
        """See `Progress.finish`."""


def key_of(record: CubeRecord | IndexRecord) -> str:
    """The key of an artifact's claims."""
    return f"{REFRESH}{record.id}"


def followed(registry: RegistryVersion, otherwise: str) -> Iterable[Artifact]:
    """The artifacts that are refreshed by themselves; `otherwise` is the setting.

    One that was switched off isn't, nor what is built beside the one that it replaces.
    """
    every: list[CubeRecord | IndexRecord] = [*registry.cubes.values(), *registry.indexes.values()]
    for record in every:
        found = refresh_schedule.of(record.refresh, otherwise)
        if found.automatic and record.disabled is None and not record.name.endswith(BESIDE):
            yield Artifact(record, found)
