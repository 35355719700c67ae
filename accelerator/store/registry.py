"""The registry's state, all cubes by name, and how it changes.

Pure: every change takes a state and returns the next one, or raises the typed error that says why
not. The log runs a change again on the newer state when another writer was first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from accelerator.errors import CubeExistsError, CubeNotFoundError
from accelerator.store.chunks import compact_json
from accelerator.store.records import CubeRecord, Json


@dataclass(frozen=True, slots=True)
class RegistryVersion:
    """All registered cubes, by name, as of one version; 0 is the store before its first commit."""

    number: int = 0
    cubes: Mapping[str, CubeRecord] = field(default_factory=lambda: MappingProxyType({}))

    def numbered(self, number: int) -> RegistryVersion:
        """The same state under another version number."""
        return replace(self, number=number)

    def to_text(self) -> str:
        """The state as JSON, in a fixed order."""
        return compact_json({"cubes": [self.cubes[name].to_json() for name in sorted(self.cubes)]})

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


class RegistryCodec:
    """Reads and writes whole registries: there are few cubes."""

    kind = "registry"
    format = 1

    def decode(self, number: int, _format: int, raw: Json) -> RegistryVersion:
        """See `Codec.decode`."""
        return RegistryVersion.from_json(number, raw)

    def prepare(
        self, _before: RegistryVersion, after: RegistryVersion, number: int
    ) -> RegistryVersion:
        """See `Codec.prepare`."""
        return after.numbered(number)
