"""The registry's state, all cubes and indexes by name, the recycle bin, and how it changes.

Pure: every change takes a state and returns the next one, or raises the typed error that says why
not. The log runs a change again on the newer state when another writer was first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.errors import (
    CubeExistsError,
    CubeNotFoundError,
    IndexExistsError,
    IndexNotFoundError,
)
from accelerator.store.log.chunks import compact_json
from accelerator.store.records import CubeRecord, DroppedCube, IndexRecord, Json
from rewrite.text.suggestions import closest, did_you_mean

_Record = TypeVar("_Record", CubeRecord, IndexRecord)
# Where its versions are, under the store's root.
FOLDER = "registry"
_REPLACED = "repeat the statement, if it's about that one too"
_SINCE = {"bin": 2, "indexes": 3}
"""Keys of the state that older formats haven't."""


class RegistryVersion(Struct, frozen=True):
    """All registered cubes, by name, as of one version; 0 is the store before its first commit.

    `bin` has the dropped ones that can be brought back, in the order in which they were dropped:
    that doesn't rest on clocks. A cube is in one of the two, and its id comes back to neither once
    it's in none.
    """

    number: int = 0
    cubes: Mapping[str, CubeRecord] = field(default_factory=lambda: MappingProxyType({}))
    bin: tuple[DroppedCube, ...] = ()
    indexes: Mapping[str, IndexRecord] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def building(self) -> frozenset[str]:
        """The ids of all cubes and indexes that a build may bring something for."""
        cubes = frozenset(cube.id for cube in self.cubes.values())
        return cubes | {index.id for index in self.indexes.values()}

    @property
    def owned(self) -> frozenset[str]:
        """The ids of all cubes and indexes whose artifacts are kept, in the bin or not."""
        return self.building | {one.cube.id for one in self.bin}

    def numbered(self, number: int) -> RegistryVersion:
        """The same state under another version number."""
        return replace(self, number=number)

    def to_text(self) -> str:
        """The state as JSON, in a fixed order."""
        cubes = [self.cubes[name].to_json() for name in sorted(self.cubes)]
        indexes = [self.indexes[name].to_json() for name in sorted(self.indexes)]
        dropped = [one.to_json() for one in self.bin]
        return compact_json({"bin": dropped, "cubes": cubes, "indexes": indexes})

    @classmethod
    def from_json(cls, number: int, raw: Json) -> RegistryVersion:
        """The inverse of `to_json`."""
        cubes = [CubeRecord.from_json(one) for one in raw["cubes"]]
        dropped = tuple(DroppedCube.from_json(one) for one in raw["bin"])
        indexes = {one["name"]: IndexRecord.from_json(one) for one in raw["indexes"]}
        by_name = {cube.name: cube for cube in cubes}
        return cls(number, MappingProxyType(by_name), dropped, MappingProxyType(indexes))

    def with_cube(self, record: CubeRecord, *, replace_old: bool = False) -> RegistryVersion:
        """One cube more; a name in use is refused unless it's to be replaced.

        A cube that replaces another is refreshed as that one was.
        """
        if record.name in self.cubes and not replace_old:
            raise CubeExistsError(
                f"a cube named {record.name} exists",
                hint="drop it, choose another name, or say CREATE OR REPLACE CUBE",
            )
        new = _refreshed_as(self.cubes.get(record.name), record)
        return self._with({**self.cubes, record.name: new})

    def with_cube_change(self, name: str, cube_id: str, **changes: str | None) -> RegistryVersion:
        """The cube of that name with other facts, which others may have changed otherwise since.

        With an id, the one of that id alone.
        """
        return self._with({**self.cubes, name: replace(self.named(name, cube_id), **changes)})

    def with_index_change(self, name: str, index_id: str, **changes: str | None) -> RegistryVersion:
        """The same of an index."""
        changed = replace(self.index(name, index_id), **changes)
        return replace(self, indexes=MappingProxyType({**self.indexes, name: changed}))

    def with_cube_renamed(self, name: str, new_name: str, cube_id: str) -> RegistryVersion:
        """The cube of that id under another name, in place of the one that has it.

        It's refreshed as that one was.
        """
        record = _refreshed_as(self.cubes.get(new_name), self.named(name, cube_id))
        record = replace(record, name=new_name)
        others = {key: one for key, one in self.cubes.items() if key not in (name, new_name)}
        return self._with({**others, new_name: record})

    def without_cube(self, name: str) -> RegistryVersion:
        """One cube fewer."""
        self.named(name)
        return self._with({key: cube for key, cube in self.cubes.items() if key != name})

    def with_recycled(
        self, name: str, dropped_ms: int, expires_ms: int, cube_id: str = ""
    ) -> RegistryVersion:
        """The cube of that name in the recycle bin."""
        dropped = DroppedCube(self.named(name, cube_id), dropped_ms, expires_ms)
        return replace(self.without_cube(name), bin=(*self.bin, dropped))

    def with_undropped(self, name: str, new_name: str) -> RegistryVersion:
        """The cube that was dropped last under that name, back under a name that is free.

        Its published table went when it was dropped, so it isn't published.
        """
        dropped = self.dropped(name)
        if new_name in self.cubes:
            raise CubeExistsError(
                f"a cube named {new_name} exists",
                hint=f"choose another name: UNDROP CUBE {name} AS {new_name}_undropped",
            )
        rest = tuple(one for one in self.bin if one is not dropped)
        cube = replace(dropped.cube, name=new_name, published=None)
        return replace(self.with_cube(cube), bin=rest)

    def expired(self, table_uuid: str, now_ms: int) -> tuple[DroppedCube, ...]:
        """What of a table's has been in the bin for as long as it was promised."""
        ours = (one for one in self.bin if one.cube.table_uuid == table_uuid)
        return tuple(one for one in ours if one.expires_ms <= now_ms)

    def without_dropped(self, ended: Collection[DroppedCube]) -> RegistryVersion:
        """Those fewer in the bin; none changes nothing."""
        if not ended:
            return self
        return replace(self, bin=tuple(one for one in self.bin if one not in ended))

    def named(self, name: str, cube_id: str = "") -> CubeRecord:
        """The cube of that name, with an id the one of that id, or the typed error."""
        if name not in self.cubes:
            near, known = _suggestions("cubes", name, self.cubes)
            binned = any(one.cube.name == name for one in self.bin)
            hint = f"it's in the recycle bin: UNDROP CUBE {name}" if binned else known
            raise CubeNotFoundError(
                f"no cube named {name}", hint=hint, suggestions=near, unknown=name
            )
        if cube_id and self.cubes[name].id != cube_id:
            raise CubeNotFoundError(f"cube {name} was replaced by another", hint=_REPLACED)
        return self.cubes[name]

    def dropped(self, name: str) -> DroppedCube:
        """What was dropped last under that name, or the typed error."""
        found = [one for one in self.bin if one.cube.name == name]
        if not found:
            binned = sorted({one.cube.name for one in self.bin})
            near = closest(name, binned)
            raise CubeNotFoundError(
                f"no cube named {name} is in the recycle bin",
                hint=did_you_mean(near) or f"in it: {', '.join(binned) or 'nothing'}",
                suggestions=near,
                unknown=name,
            )
        return found[-1]

    def with_index(self, record: IndexRecord) -> RegistryVersion:
        """One index more; a name in use is refused."""
        if record.name in self.indexes:
            raise IndexExistsError(
                f"an index named {record.name} exists",
                hint="drop it, choose another name, or say CREATE OR REPLACE INDEX",
            )
        indexes = {**self.indexes, record.name: record}
        return replace(self, indexes=MappingProxyType(indexes))

    def with_index_renamed(self, name: str, new_name: str) -> RegistryVersion:
        """The index under another name, in place of the one that has it; refreshed as that was."""
        record = _refreshed_as(self.indexes.get(new_name), self.index(name))
        record = replace(record, name=new_name)
        others = {key: one for key, one in self.indexes.items() if key not in (name, new_name)}
        return replace(self, indexes=MappingProxyType({**others, new_name: record}))

    def without_index(self, name: str) -> RegistryVersion:
        """One index fewer."""
        self.index(name)
        others = {key: one for key, one in self.indexes.items() if key != name}
        return replace(self, indexes=MappingProxyType(others))

    def index(self, name: str, index_id: str = "") -> IndexRecord:
        """The index of that name, with an id the one of that id, or the typed error."""
        if name not in self.indexes:
            near, hint = _suggestions("indexes", name, self.indexes)
            raise IndexNotFoundError(
                f"no index named {name}", hint=hint, suggestions=near, unknown=name
            )
        if index_id and self.indexes[name].id != index_id:
            raise IndexNotFoundError(f"index {name} was replaced by another", hint=_REPLACED)
        return self.indexes[name]

    def _with(self, cubes: dict[str, CubeRecord]) -> RegistryVersion:
        return replace(self, cubes=MappingProxyType(cubes))


def _refreshed_as(old: _Record | None, new: _Record) -> _Record:
    """The new record with the old one's setting REFRESH, unless it has its own."""
    if old is None or new.refresh is not None:
        return new
    return replace(new, refresh=old.refresh)


def _suggestions(what: str, name: str, known: Collection[str]) -> tuple[tuple[str, ...], str]:
    """The names that are near, and a hint: those, or all."""
    near = closest(name, known)
    return near, did_you_mean(near) or f"{what} here: {', '.join(sorted(known)) or 'none'}"


class RegistryCodec:
    """Reads registries of all formats and writes whole ones: there are few cubes.

    Format 1 has no recycle bin, format 2 no indexes, format 3 nothing that refreshes by itself. A
    release that knows an older one refuses the newer; it would lose the bin, the indexes, or when
    they're refreshed, by its next commit. So format 4 is written only where a record says that.
    """

    kind = "registry"
    format = 4

    def format_of(self, state: RegistryVersion) -> int:
        """See `Codec.format_of`."""
        said = [one.refresh for one in state.cubes.values()]
        said += (one.cube.refresh for one in state.bin)
        said += (one.refresh for one in state.indexes.values())
        return 3 if all(one is None for one in said) else 4

    def decode(self, number: int, format: int, raw: Json) -> RegistryVersion:
        """See `Codec.decode`."""
        missing = [key for key, since in _SINCE.items() if format < since]
        if any(raw.get(key) for key in missing):
            raise ValueError(f"a registry of format {format} with what it hasn't")
        return RegistryVersion.from_json(number, raw | {key: [] for key in missing})

    def prepare(
        self, _before: RegistryVersion, after: RegistryVersion, number: int
    ) -> RegistryVersion:
        """See `Codec.prepare`."""
        return after.numbered(number)
