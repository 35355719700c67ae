"""One table's versioned log, and what serves a cube whose newest chunks can't be trusted.

An older version's segments are as right as new ones, since a segment is valid or not by the live
data files; so damage costs speed, never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from accelerator.store.files.files import StoreFiles
from accelerator.store.log.chunks import Chunks, Damaged
from accelerator.store.log.table_version import TableCodec, TableVersion
from accelerator.store.log.versioned_log import VersionedLog
from accelerator.store.records import SegmentRecord


class TableLog:
    """The versions of one table and their chunks."""

    def __init__(
        self,
        files: StoreFiles,
        table_uuid: str,
        relative: Callable[[str], str],
        *,
        max_age_s: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        now_ms: Callable[[], int],
    ) -> None:
        self.chunks = Chunks(files, f"tables/{table_uuid}/chunks")
        codec = TableCodec(self.chunks, now_ms, relative)
        self._loader = codec.loader
        self._loader.recover = self._recover
        self.log = VersionedLog(
            files,
            f"tables/{table_uuid}/versions",
            codec,
            TableVersion(codec.loader),
            max_age_s=max_age_s,
            clock=clock,
            sleep=sleep,
        )

    @property
    def damages(self) -> list[str]:
        """What is wrong with files that were read."""
        return [*([self.log.damage] if self.log.damage else []), *self._loader.damages.values()]

    def _recover(self, number: int, cube_id: str, damage: Damaged) -> tuple[SegmentRecord, ...]:
        """The cube's segments in the newest version that has them whole; none if none has.

        A newer version first: then nothing is damaged, only this one was vacuumed meanwhile.
        """
        for version in self._others(number):
            state = version.cubes.get(cube_id)
            try:
                found = state.load().ordered() if state is not None else ()
            except Damaged:
                continue
            if version.number < number:
                self._loader.damages[cube_id] = str(damage)
            return found
        self._loader.damages[cube_id] = str(damage)
        return ()

    def _others(self, number: int) -> Iterator[TableVersion]:
        newest = self.log.listed()
        if newest.number > number:
            yield newest
        yield from self.log.older(number)
