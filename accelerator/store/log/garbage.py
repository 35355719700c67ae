"""What a version made garbage: files that it no longer names and the version before still did.

Pure values and their JSON; the vacuum deletes them once nobody needs an older version.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from accelerator.common.records.bounds import Int64
from accelerator.store.files.names import FileName
from accelerator.store.log.chunks import ChunkRef


class Garbage(Struct, frozen=True):
    """Artifacts (paths under the root, or URIs of elsewhere), whole cubes' prefixes, chunks.

    A long list of artifacts stands in chunks of its own, `more`. `bytes` is what is known of the
    artifacts' size without asking: at least what their last segments were said to take.
    """

    artifacts: tuple[str, ...] = ()
    cubes: tuple[FileName, ...] = ()
    chunks: tuple[FileName, ...] = ()
    more: tuple[ChunkRef, ...] = ()
    bytes: Int64 = 0

    def __bool__(self) -> bool:
        return bool(self.artifacts or self.cubes or self.chunks or self.more)

    def plus(
        self,
        artifacts: Iterable[str] = (),
        cubes: Iterable[str] = (),
        chunks: Iterable[str] = (),
        bytes: int = 0,
    ) -> Garbage:
        """More of it."""
        return Garbage(
            (*self.artifacts, *artifacts),
            (*self.cubes, *cubes),
            (*self.chunks, *chunks),
            self.more,
            self.bytes + bytes,
        )
