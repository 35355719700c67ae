"""One table's state: its cubes' segments, what it made garbage, and how it becomes a version.

A change takes a state and returns the next one; nothing is written before `TableCodec.prepare`,
which folds what has grown into chunks. The cost of a commit doesn't depend on how many segments
there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from immutables import Map
from msgspec import Struct, convert
from msgspec.structs import replace

from accelerator.common.records.as_dict import as_dict
from accelerator.common.records.bounds import Int64
from accelerator.store.files.names import name_of
from accelerator.store.log.chunks import Chunks, compact_json
from accelerator.store.log.cube_state import CubeState, Loader
from accelerator.store.log.garbage import Garbage
from accelerator.store.records import Json, SegmentRecord

_NOTHING = Garbage()
INLINE_BYTES_MAX = 16_384
GARBAGE_INLINE_MAX = 64
GARBAGE_CHUNK_MAX = 16_384
TABLE_FORMAT = 3
"""Format 2 told artifacts by URI; format 1 had no chunks, and told nothing of garbage."""


class TableVersion(Struct, frozen=True, eq=False):
    """The segments over one fact table as of one version; 0 is before the first commit.

    `floor`: version files below it are deleted. `clean`: garbage of versions up to it is deleted.
    `prev_garbage`: the newest older version with garbage above `clean`, 0 if there's none. `made`
    is what changes have made garbage since the version that this state came from.
    """

    loader: Loader
    number: int = 0
    cubes: Map[str, CubeState] = Map()
    floor: int = 1
    clean: int = 0
    garbage: Garbage = _NOTHING
    prev_garbage: int = 0
    committed_ms: int = 0
    format: int = TABLE_FORMAT
    made: Garbage = _NOTHING

    @property
    def segments(self) -> Mapping[int, SegmentRecord]:
        """Every segment of every cube; for looking into a store, since it reads all chunks."""
        found = {one: s for state in self.cubes.values() for one, s in state.load().by_id.items()}
        return MappingProxyType(found)

    def of(self, cube_id: str) -> tuple[SegmentRecord, ...]:
        """The segments of one cube, merged ones and their inputs alike, ordered by id."""
        state = self.cubes.get(cube_id)
        return () if state is None else state.ordered()

    def holding(self, ids: Iterable[int]) -> dict[str, list[int]]:
        """The cubes that hold these segments; ids that aren't there are left out."""
        left, found = set(ids), dict[str, list[int]]()
        for cube_id, state in self.cubes.items():
            if not left:
                break
            known = state.load().by_id
            here = sorted(one for one in left if one in known)
            if here:
                found[cube_id] = here
                left.difference_update(here)
        return found

    def changed(
        self, cube_id: str, removed: Iterable[int], added: Iterable[SegmentRecord]
    ) -> TableVersion:
        """Some segments of a cube fewer, then others more; removed ids must be there."""
        gone = tuple(removed)
        before = self.cubes.get(cube_id) or CubeState(cube_id, self.loader)
        after = before.changed(gone, added)
        known, paths = before.load().by_id, after.load().by_path
        dead = [known[one] for one in gone if known[one].path not in paths]
        made = self.made.plus(
            artifacts=sorted({one.path for one in dead}), bytes=sum(one.bytes for one in dead)
        )
        return replace(self, cubes=self.cubes.set(cube_id, after), made=made)

    def without(self, ids: Iterable[int]) -> TableVersion:
        """The state without those segments; ids that aren't there are no error."""
        state = self
        for cube_id, gone in self.holding(ids).items():
            state = state.changed(cube_id, gone, ())
        return state

    def without_cube(self, cube_id: str) -> TableVersion:
        """The state without a cube, all of whose files are garbage at once; reads no chunk."""
        state = self.cubes.get(cube_id)
        if state is None:
            return self
        made = self.made.plus(cubes=[cube_id], chunks=[ref.name for ref in state.refs])
        return replace(self, cubes=self.cubes.delete(cube_id), made=made)

    def vacuumed(self, floor: int, clean: int) -> TableVersion:
        """The state that says what a vacuum has deleted; another's may have gone further."""
        if floor <= self.floor and clean <= self.clean:
            return self
        return replace(self, floor=max(floor, self.floor), clean=max(clean, self.clean))

    def again(self) -> TableVersion:
        """The same state, to be committed: a writer that read the one before must look anew."""
        return replace(self, format=TABLE_FORMAT)

    def to_text(self) -> str:
        """The state as JSON with sorted keys; unchanged cubes aren't encoded again."""
        cubes = ",".join(
            f"{compact_json(cube_id)}:{self.cubes[cube_id].text}" for cube_id in sorted(self.cubes)
        )
        return (
            f'{{"clean":{self.clean},"committed_ms":{self.committed_ms},"cubes":{{{cubes}}},'
            f'"floor":{self.floor},"garbage":{compact_json(as_dict(self.garbage))},'
            f'"prev_garbage":{self.prev_garbage}}}'
        )


class TableCodec:
    """Reads table versions of each format and makes states ready to be written."""

    kind = "table"
    format = TABLE_FORMAT

    def __init__(
        self, chunks: Chunks, now_ms: Callable[[], int], relative: Callable[[str], str]
    ) -> None:
        self.chunks, self.loader = chunks, Loader(chunks)
        self._now_ms, self._relative = now_ms, relative

    def format_of(self, _state: TableVersion) -> int:
        """See `Codec.format_of`."""
        return self.format

    def decode(self, number: int, format: int, raw: Json) -> TableVersion:
        """The state of a version file."""
        if format == 1:
            return self._decode_first(number, raw)
        cubes = {
            name_of(cube_id): CubeState.from_json(cube_id, self.loader, number, one)
            for cube_id, one in raw["cubes"].items()
        }
        keys = ("floor", "prev_garbage", "clean", "committed_ms")
        floor, prev, clean, committed_ms = (convert(raw[key], Int64) for key in keys)
        if not (1 <= floor <= number and 0 <= prev < number):
            raise ValueError(f"version {number} names floor {floor}, and {prev} before it")
        return TableVersion(
            self.loader,
            number,
            Map(cubes),
            floor,
            clean,
            convert(raw["garbage"], Garbage),
            prev,
            committed_ms,
            format,
        )

    def _decode_first(self, number: int, raw: Json) -> TableVersion:
        """Format 1: all segments in one list, and nothing of garbage."""
        by_cube: dict[str, list[SegmentRecord]] = {}
        for one in raw["segments"]:
            record = self.chunks.record(one)
            by_cube.setdefault(record.cube_id, []).append(record)
        cubes = {
            cube_id: CubeState(cube_id, self.loader, number=number).changed((), records)
            for cube_id, records in by_cube.items()
        }
        return TableVersion(self.loader, number, Map(cubes), format=1)

    def prepare(self, before: TableVersion, after: TableVersion, number: int) -> TableVersion:
        """The state as it will stand in version `number`; writes the chunks that it names."""
        cubes, dead = self._folded(before, after, number)
        gone = [one for one in before.cubes if one not in after.cubes]
        self.loader.forget(gone)
        prev = before.number if before.garbage else before.prev_garbage
        return replace(
            after,
            number=number,
            cubes=cubes,
            garbage=self._recorded(before, after, dead),
            made=_NOTHING,
            prev_garbage=prev if prev > after.clean else 0,
            committed_ms=self._now_ms(),
            format=TABLE_FORMAT,
        )

    def _folded(
        self, before: TableVersion, after: TableVersion, number: int
    ) -> tuple[Map[str, CubeState], list[str]]:
        """The cubes with little enough inline, and the chunks that this left unnamed."""
        cubes, dead = after.cubes, list[str]()
        for cube_id, state in after.cubes.items():
            if state is not before.cubes.get(cube_id):
                cubes = cubes.set(cube_id, state.numbered(number))
        sizes = {cube_id: state.inline_bytes for cube_id, state in cubes.items()}
        while sum(sizes.values()) > INLINE_BYTES_MAX:
            largest = max(sizes, key=lambda one: (sizes[one], one))
            state = cubes[largest]
            folded = state.folded().numbered(number)
            names = {ref.name for ref in folded.refs}
            dead += [ref.name for ref in state.refs if ref.name not in names]
            cubes, sizes[largest] = cubes.set(largest, folded), 0
        return cubes, dead

    def _recorded(self, before: TableVersion, after: TableVersion, chunks: list[str]) -> Garbage:
        """Garbage as it is written down: paths under the root, long lists in chunks.

        What one change removed and the next of the same commit brought back is none.
        """
        made = after.made.plus(chunks=chunks)
        states = [s for one, s in after.cubes.items() if s is not before.cubes.get(one)]
        dead = {uri for uri in made.artifacts if not any(uri in s.load().by_path for s in states)}
        artifacts = tuple(sorted(self._relative(uri) for uri in dead))
        if len(artifacts) <= GARBAGE_INLINE_MAX:
            return replace(made, artifacts=artifacts)
        more = self.chunks.write_paths(artifacts, GARBAGE_CHUNK_MAX)
        return replace(made, artifacts=(), more=more)
