"""What a version made garbage: files that it no longer names and the version before still did.

Pure values and their JSON; the vacuum deletes them once nobody needs an older version.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from accelerator.common.records.json_checks import text_of, whole_of
from accelerator.store.files.names import name_of
from accelerator.store.log.chunks import ChunkRef
from accelerator.store.records import Json


class Garbage(Struct, frozen=True):
    """Artifacts (paths under the root, or URIs of elsewhere), whole cubes' prefixes, chunks.

    A long list of artifacts stands in chunks of its own, `more`. `bytes` is what is known of the
    artifacts' size without asking: at least what their last segments were said to take.
    """

    artifacts: tuple[str, ...] = ()
    cubes: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    more: tuple[ChunkRef, ...] = ()
    bytes: int = 0

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

    def to_json(self) -> Json:
        """The value as JSON values."""
        return {
            "artifacts": list(self.artifacts),
            "bytes": self.bytes,
            "chunks": list(self.chunks),
            "cubes": list(self.cubes),
            "more": [ref.to_json() for ref in self.more],
        }

    @classmethod
    def from_json(cls, raw: Json) -> Garbage:
        """The inverse of `to_json`."""
        return cls(
            tuple(text_of(one) for one in raw["artifacts"]),
            tuple(name_of(one) for one in raw["cubes"]),
            tuple(name_of(one) for one in raw["chunks"]),
            tuple(ChunkRef.from_json(one) for one in raw["more"]),
            whole_of(raw["bytes"]),
        )
