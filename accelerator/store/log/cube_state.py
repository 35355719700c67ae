"""One cube's part of a table version: chunks, small changes since, and both replayed when asked.

A version is opened without reading any chunk; the first question about a cube reads that cube's.
Promises: `load` gives the whole truth or raises `Damaged`; what a newer version shares with the
one before isn't read or decoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from immutables import Map
from msgspec import Struct, convert

from accelerator.common.records.as_dict import as_dict
from accelerator.store.log.chunks import Change, ChunkRef, Chunks, Damaged, compact_json, merged
from accelerator.store.log.segment_map import Segments
from accelerator.store.records import Json, SegmentRecord

# A cube's segments may be twice as many in its chunks as are left, and a few more.
DEAD_ENTRIES_MAX = 1024
# Chunks of a like size are merged when there are so many; larger ones than TOP never again.
FAN = 8
TOP = 16_384
CHUNK_ENTRIES_MAX = 2 * TOP


class Loader:
    """Reads cubes' chunks and keeps, per cube, what the newest chunks read came to."""

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self.recover: Callable[[int, str, Damaged], tuple[SegmentRecord, ...]] | None = None
        """What serves a cube of a version (its number is given) whose chunks can't be trusted."""
        self.damages: dict[str, str] = {}
        self._known: dict[str, tuple[tuple[ChunkRef, Segments], ...]] = {}

    def load(self, cube_id: str, refs: tuple[ChunkRef, ...]) -> Segments:
        """The segments that chunks hold.

        What they came to after each chunk is kept (the maps share nearly all), so that any other
        list of chunks is read from where it differs; nothing rests on which version came first.
        """
        known = self._known.get(cube_id, ())
        steps = list(known[: _common(tuple(ref for ref, _ in known), refs)])
        segments = steps[-1][1] if steps else Segments()
        shared: dict[Any, Any] = {}
        for ref in refs[len(steps) :]:
            segments = segments.changed(*self.chunks.read_records(ref, shared))
            steps.append((ref, segments))
        self._known[cube_id] = tuple(steps)
        return segments

    def forget(self, cube_ids: Iterable[str]) -> None:
        """Frees what is kept of cubes that are gone."""
        for cube_id in cube_ids:
            self._known.pop(cube_id, None)


def _common(left: tuple[ChunkRef, ...], right: tuple[ChunkRef, ...]) -> int:
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


class Inline(Struct, frozen=True):
    """What stands in the version file itself: applied on top of the chunks."""

    removed: tuple[int, ...] = ()
    added: Map[int, SegmentRecord] = Map()

    def changed(self, removed: Iterable[int], added: Iterable[SegmentRecord]) -> Inline:
        """A further change on top. An id that came and went may still be in a chunk: it's kept."""
        gone = tuple(removed)
        records = self.added.mutate()
        for one in gone:
            records.pop(one, None)
        for segment in added:
            records[segment.id] = segment
        return Inline(tuple(sorted({*self.removed, *gone})), records.finish())


class CubeState:
    """A cube's segments as of one version; immutable but for what it has read and encoded."""

    __slots__ = ("_loader", "_ordered", "_segments", "_text", "cube_id", "inline", "number", "refs")

    def __init__(
        self,
        cube_id: str,
        loader: Loader,
        *,
        number: int = 0,
        refs: tuple[ChunkRef, ...] = (),
        inline: Inline | None = None,
        segments: Segments | None = None,
    ) -> None:
        self.cube_id, self.number, self.refs = cube_id, number, refs
        self.inline = Inline() if inline is None else inline
        self._loader, self._segments = loader, segments
        self._text: str | None = None
        self._ordered: tuple[SegmentRecord, ...] | None = None

    def ordered(self) -> tuple[SegmentRecord, ...]:
        """All segments by id. Where chunks are damaged, what an older version still has."""
        if self._ordered is None:
            try:
                ordered = self.load().ordered()
            except Damaged as error:
                if self._loader.recover is None:
                    raise
                return self._loader.recover(self.number, self.cube_id, error)
            self._loader.damages.pop(self.cube_id, None)
            self._ordered = ordered
        return self._ordered

    def load(self) -> Segments:
        """All segments; reads chunks where nobody has. `Damaged` where one can't be trusted."""
        if self._segments is None:
            base = self._loader.load(self.cube_id, self.refs)
            self._segments = base.changed(self.inline.removed, self.inline.added.values())
        return self._segments

    def each(self) -> Iterator[SegmentRecord]:
        """All segments, in no order, a chunk in memory at a time; `Damaged` as by `load`."""
        if self._segments is not None:
            yield from self._segments.by_id.values()
            return
        yield from self.inline.added.values()
        # Of these something newer says what has become of them.
        over = {*self.inline.removed, *self.inline.added}
        for ref in reversed(self.refs):
            removed, records = self._loader.chunks.read_records(ref, {})
            yield from (one for one in records if one.id not in over)
            over.update(removed)
            over.update(one.id for one in records)

    def changed(self, removed: Iterable[int], added: Iterable[SegmentRecord]) -> CubeState:
        """The state after some segments went and others came."""
        gone, come = tuple(removed), tuple(added)
        inline = self.inline.changed(gone, come)
        return CubeState(
            self.cube_id,
            self._loader,
            number=self.number,
            refs=self.refs,
            # Without chunks there is nothing that a removal could still have to be said of.
            inline=inline if self.refs else Inline((), inline.added),
            segments=self.load().changed(gone, come),
        )

    @property
    def text(self) -> str:
        """The state as it stands in a version file; encoded once."""
        if self._text is None:
            told, records = self._loader.chunks.told, self.inline.added
            added = [told(records[one]) for one in sorted(records)]
            removed = list(self.inline.removed)
            refs = as_dict(self.refs)
            self._text = compact_json({"added": added, "chunks": refs, "removed": removed})
        return self._text

    @property
    def inline_bytes(self) -> int:
        """About how much of a version file folding would save."""
        changes = len(self.inline.removed) + len(self.inline.added)
        return len(self.text) - 120 * len(self.refs) if changes else 0

    def numbered(self, number: int) -> CubeState:
        """The same state in a version of its own number; what was read and encoded stays."""
        twin = CubeState(
            self.cube_id,
            self._loader,
            number=number,
            refs=self.refs,
            inline=self.inline,
            segments=self._segments,
        )
        twin._text = self._text
        return twin

    def folded(self) -> CubeState:
        """The same segments with everything in chunks, which are written here.

        Small chunks are merged in tiers, so that a segment is written again a few times in its
        life and a million of them need some hundred chunks. Where most entries are dead, all
        chunks are written anew.
        """
        segments = self.load()
        entries = sum(ref.entries for ref in self.refs) + len(self.inline.removed)
        if entries > 2 * len(segments.by_id) + DEAD_ENTRIES_MAX:
            kept, change = 0, self._as_change((), segments.by_id)
        else:
            change = self._as_change(self.inline.removed, self.inline.added)
            kept = _unchanged_chunks(self.refs, change.entries)
            older = [self._loader.chunks.read(ref) for ref in self.refs[kept:]]
            change = merged([*older, change])
        written = self._loader.chunks.write(change, CHUNK_ENTRIES_MAX)
        return CubeState(
            self.cube_id,
            self._loader,
            number=self.number,
            refs=(*self.refs[:kept], *written),
            segments=segments,
        )

    @classmethod
    def from_json(cls, cube_id: str, loader: Loader, number: int, raw: Json) -> CubeState:
        """Reads a cube's part of a version file; no chunk is read."""
        records = [loader.chunks.record(one) for one in raw["added"]]
        refs = convert(raw["chunks"], tuple[ChunkRef, ...])
        inline = Inline().changed((int(one) for one in raw["removed"]), records)
        return cls(cube_id, loader, number=number, refs=refs, inline=inline)

    def _as_change(self, removed: Iterable[int], added: Map[int, SegmentRecord]) -> Change:
        lines = tuple((one, self._loader.chunks.line(added[one])) for one in sorted(added))
        return Change(tuple(sorted(removed)), lines)


def _unchanged_chunks(refs: tuple[ChunkRef, ...], entries: int) -> int:
    """How many chunks stay as they are when so many entries are written behind them."""
    kept = len(refs)
    while True:
        tier, start = _tier(entries), kept
        while start and refs[start - 1].entries < TOP and _tier(refs[start - 1].entries) <= tier:
            start -= 1
        if kept - start + 1 < FAN:
            return kept
        entries += sum(ref.entries for ref in refs[start:kept])
        kept = start


def _tier(entries: int) -> int:
    """Sizes eight-fold apart: up to 127, 1,023, 8,191 and so on."""
    return (entries // 32).bit_length() // 3
