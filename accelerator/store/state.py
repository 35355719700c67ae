"""The two states that are versioned, the registry and one table's segments, and how they change.

Pure: every change takes a state and returns the next one, or raises the typed error that says why
not. The log runs a change again on the newer state when another writer was first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from accelerator.errors import (
    CubeExistsError,
    CubeNotFoundError,
    StoreConflictError,
    StoreError,
)
from accelerator.store.records import CoveredKey, CubeRecord, Json, SegmentRecord


@dataclass(frozen=True, slots=True)
class RegistryVersion:
    """All registered cubes, by name, as of one version; 0 is the store before its first commit."""

    number: int = 0
    cubes: Mapping[str, CubeRecord] = field(default_factory=lambda: MappingProxyType({}))

    def numbered(self, number: int) -> RegistryVersion:
        """The same state under another version number."""
        return replace(self, number=number)

    def to_json(self) -> Json:
        """The state as JSON values, in a fixed order."""
        return {"cubes": [self.cubes[name].to_json() for name in sorted(self.cubes)]}

    @classmethod
    def from_json(cls, number: int, raw: Json) -> RegistryVersion:
        """The inverse of `to_json`."""
        cubes = [CubeRecord.from_json(one) for one in raw["cubes"]]
        return cls(number, MappingProxyType({cube.name: cube for cube in cubes}))

    def with_cube(self, record: CubeRecord, *, replace_old: bool = False) -> RegistryVersion:
        """One cube more; a name in use is refused unless it's to be replaced."""
        if record.name in self.cubes and not replace_old:
            raise CubeExistsError(
                f"a cube named {record.name} exists",
                hint="drop it, choose another name, or say CREATE OR REPLACE CUBE",
            )
        return self._with({**self.cubes, record.name: record})

    def with_update(self, record: CubeRecord) -> RegistryVersion:
        """The cube of that name and id with other facts."""
        if self.named(record.name).id != record.id:
            raise CubeNotFoundError(
                f"cube {record.name} was replaced by another in the meantime",
                hint="read the registry again and repeat the statement",
            )
        return self._with({**self.cubes, record.name: record})

    def without_cube(self, name: str) -> RegistryVersion:
        """One cube fewer."""
        self.named(name)
        return self._with({key: cube for key, cube in self.cubes.items() if key != name})

    def named(self, name: str) -> CubeRecord:
        """The cube of that name, or the typed error."""
        if name not in self.cubes:
            known = ", ".join(sorted(self.cubes)) or "none"
            raise CubeNotFoundError(f"no cube named {name}", hint=f"cubes here: {known}")
        return self.cubes[name]

    def _with(self, cubes: dict[str, CubeRecord]) -> RegistryVersion:
        return replace(self, cubes=MappingProxyType(cubes))


@dataclass(frozen=True)
class TableVersion:
    """All segments over one fact table, by id, as of one version.

    Not slotted: the grouping by cube is made once per version and kept, since every query asks it.
    """

    number: int = 0
    segments: Mapping[int, SegmentRecord] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, cube_id: str) -> tuple[SegmentRecord, ...]:
        """The segments of one cube, merged ones and their inputs alike, ordered by id."""
        return self._by_cube.get(cube_id, ())

    def numbered(self, number: int) -> TableVersion:
        """The same state under another version number."""
        return replace(self, number=number)

    def to_json(self) -> Json:
        """The state as JSON values, in a fixed order."""
        return {"segments": [self.segments[one].to_json() for one in sorted(self.segments)]}

    @classmethod
    def from_json(cls, number: int, raw: Json) -> TableVersion:
        """The inverse of `to_json`."""
        segments = [SegmentRecord.from_json(one) for one in raw["segments"]]
        return cls(number, MappingProxyType({segment.id: segment for segment in segments}))

    def without(self, ids: Iterable[int]) -> TableVersion:
        """The state without those segments; ids that aren't there are no error."""
        gone = set(ids) & self.segments.keys()
        if not gone:
            return self
        kept = {one: segment for one, segment in self.segments.items() if one not in gone}
        return replace(self, segments=MappingProxyType(kept))

    @cached_property
    def _by_cube(self) -> dict[str, tuple[SegmentRecord, ...]]:
        groups: dict[str, list[SegmentRecord]] = {}
        for one in sorted(self.segments):
            groups.setdefault(self.segments[one].cube_id, []).append(self.segments[one])
        return {cube_id: tuple(group) for cube_id, group in groups.items()}


# Two segments with one claim hold the same rows in the same form: only one of them may exist.
_Claim = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """What `add_segments` did: the version that holds the result, and whose segments lost.

    `lost` are ids of offered segments that aren't in the store, because another builder had
    committed the same files first. Their artifacts are the caller's to delete.
    """

    version: TableVersion
    lost: tuple[int, ...] = ()


def add_segments(
    table: TableVersion, offered: Iterable[SegmentRecord], replaces: Iterable[int]
) -> Added:
    """The state with the offered segments, less those that another builder already brought.

    A segment whose id is there already, unchanged, was added by an earlier try of the same
    builder: it's left alone, and isn't lost.
    """
    base = table.without(replaces)
    segments = dict(base.segments)
    claims = {
        claim: one.id for one in base.segments.values() for claim in _claims(one, base.segments)
    }
    lost: list[int] = []
    for segment in offered:
        if segments.get(segment.id) == segment:
            continue
        _refuse_unsound(segment, segments, table)
        wanted = _claims(segment, segments)
        if any(claim in claims for claim in wanted):
            lost.append(segment.id)
            continue
        segments[segment.id] = segment
        claims.update(dict.fromkeys(wanted, segment.id))
    if segments == dict(table.segments):
        return Added(table, tuple(lost))
    return Added(replace(base, segments=MappingProxyType(segments)), tuple(lost))


def _claims(segment: SegmentRecord, known: Mapping[int, SegmentRecord]) -> list[_Claim]:
    """One claim per covered file.

    A segment built again for other dimension snapshots, types or settings is another source of
    the same rows, not a double, since the old one still answers time travel; so all of these are
    part of the claim. A merged segment stands one level above its inputs, which stay usable.
    """
    form = (
        segment.cube_id,
        _level(segment, known),
        segment.format,
        segment.dimensions,
        segment.fields,
        segment.settings,
    )
    return [(*form, *file.key) for file in segment.files]


def _level(segment: SegmentRecord, known: Mapping[int, SegmentRecord]) -> int:
    """0 for a built segment, else one more than the highest input; a vacuumed input counts as 0."""
    level, below = 0, segment.inputs
    while below and level <= len(known):
        level += 1
        below = tuple(i for one in below if one in known for i in known[one].inputs)
    return level


def _refuse_unsound(
    segment: SegmentRecord, known: Mapping[int, SegmentRecord], table: TableVersion
) -> None:
    """Checks what must hold before the record is written, since nobody checks it again."""
    if not 0 < segment.id < 2**63:
        raise StoreError(f"segment id {segment.id} isn't a positive 63-bit number")
    if segment.id in known:
        raise StoreError(f"segment id {segment.id} is in use by another segment")
    keys: set[CoveredKey] = {file.key for file in segment.files}
    if not keys or len(keys) != len(segment.files):
        raise StoreError(f"segment {segment.id} covers no data file, or one of them twice")
    gone = [one for one in segment.inputs if one not in known and one not in table.segments]
    if gone:
        raise StoreConflictError(
            f"segment {segment.id} merges segments that aren't in the store any more: {gone}",
            hint="read the table's segments again and merge what is there",
        )
