"""What the store remembers, as frozen values, and their JSON form (`docs/formats/store.md`).

`to_json` and `from_json` are exact inverses; `from_json` raises `ValueError`, `KeyError` or
`TypeError` on anything that doesn't fit, which the log reports as damage. No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Struct, field

from accelerator.common.records.json_checks import text_of, whole_of
from accelerator.common.records.json_codec import Later, read_as
from accelerator.store.files.names import name_of

# `Any` below is always a value of JSON: its shape belongs to whoever wrote it, not to the store.
Json = dict[str, Any]
CoveredKey = tuple[str, int, str]
BUNDLE = "bundle"
"""The fact that tells a bundle of light blobs of an index."""
BESIDE = "#new"
"""The end of the name of a cube or an index that is built beside the one that it replaces."""


FileName = Annotated[str, name_of]
Pairs = tuple[tuple[str, str], ...]
_LATER = ("disabled", "refresh")


class CubeRecord(Struct, frozen=True):
    """A registered cube. `definition` is JSON that the store keeps without looking into it.

    `sql` is the defining SELECT as given, in `dialect`; `published` names the Iceberg table that
    PUBLISH CUBE keeps for other engines; `disabled` says why no query is answered from it.
    `refresh` says when it's brought up to date (`common/config/refresh_schedule.py`); None: as the
    setting says.
    """

    id: FileName
    name: str
    table: str
    table_uuid: FileName
    sql: str
    dialect: str
    created_ms: int
    settings: Pairs = ()
    definition: Mapping[str, Any] = field(default_factory=dict)
    published: str | None = None
    disabled: Later[str | None] = None
    refresh: Later[str | None] = None

    def to_json(self) -> Json:
        """The record as JSON values."""
        return _written(self)

    @classmethod
    def from_json(cls, raw: Json) -> CubeRecord:
        """The inverse of `to_json`."""
        return read_as(cls, raw)


class DroppedCube(Struct, frozen=True):
    """A cube in the recycle bin, as it was when it was dropped; UNDROP CUBE brings it back.

    A vacuum ends it once `expires_ms` has passed, by the vacuum's clock.
    """

    cube: CubeRecord
    dropped_ms: int
    expires_ms: int

    def to_json(self) -> Json:
        """The record as JSON values."""
        return _written(self) | {"cube": self.cube.to_json()}

    @classmethod
    def from_json(cls, raw: Json) -> DroppedCube:
        """The inverse of `to_json`."""
        return read_as(cls, raw)


class IndexRecord(Struct, frozen=True):
    """A registered index over one column of a table; `options` are JSON values by their names.

    `column` is the name when it was made: what counts is the field id. `disabled` says why nothing
    is asked of it, `refresh` when it's brought up to date, as of a cube.
    """

    id: FileName
    name: str
    table: str
    table_uuid: FileName
    kind: str
    field_id: int
    column: str
    created_ms: int
    options: Mapping[str, Any] = field(default_factory=dict)
    disabled: Later[str | None] = None
    refresh: Later[str | None] = None

    def to_json(self) -> Json:
        """The record as JSON values."""
        return _written(self)

    @classmethod
    def from_json(cls, raw: Json) -> IndexRecord:
        """The inverse of `to_json`."""
        return read_as(cls, raw)


class CoveredFile(Struct, frozen=True):
    """A data file as a segment was built from it; `deletes_key` stands for the deletes applied."""

    path: str
    sequence_number: int
    deletes_key: str
    record_count: int
    size_bytes: int

    @property
    def key(self) -> CoveredKey:
        """What makes two covered files the same rows."""
        return self.path, self.sequence_number, self.deletes_key

    def to_json(self) -> list[Any]:
        """The file as a JSON list, since there may be very many."""
        return [
            self.path,
            self.sequence_number,
            self.deletes_key,
            self.record_count,
            self.size_bytes,
        ]

    @classmethod
    def from_json(cls, raw: list[Any]) -> CoveredFile:
        """The inverse of `to_json`."""
        path, sequence_number, deletes_key, record_count, size_bytes = raw
        return cls(
            text_of(path),
            whole_of(sequence_number),
            text_of(deletes_key),
            whole_of(record_count),
            whole_of(size_bytes),
        )


class EdgeCount(Struct, frozen=True):
    """What a build counted on one join edge; None is "not counted", never zero.

    `missing`: rows without a partner. `unique`: whether the dimension's key was unique.
    """

    edge: int
    missing: int | None
    unique: bool | None


class SegmentRecord(Struct, frozen=True):
    """The cube rows of one data file, or of several after a merge (then `inputs` isn't empty).

    `dimensions`: (occurrence, table uuid, snapshot id); `fields`: (table uuid, field id, type,
    required) of every column that the build read; `facts`: further JSON, e.g. column bounds.
    Several segments may share one `path`: their rows are told apart by `id`.

    An index's artifacts are recorded alike: `cube_id` is the index's, `files` those that a sidecar
    or a bundle tells of, whatever is deleted of them, and `facts` say what is where in it. Of a
    `bundle` each file is of use by itself.
    """

    id: int
    cube_id: str
    path: str
    rows: int
    bytes: int
    files: tuple[CoveredFile, ...]
    dimensions: tuple[tuple[int, str, int | None], ...] = ()
    edges: tuple[EdgeCount, ...] = ()
    fields: tuple[tuple[str, int, str, bool], ...] = ()
    settings: Pairs = ()
    format: int = 1
    inputs: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_bundle(self) -> bool:
        """Whether it's of use as long as any of its files is."""
        return BUNDLE in self.facts

    def to_json(self) -> Json:
        """The record as JSON values."""
        return {
            "id": self.id,
            "cube_id": self.cube_id,
            "path": self.path,
            "rows": self.rows,
            "bytes": self.bytes,
            "files": [file.to_json() for file in self.files],
            "dimensions": [list(dimension) for dimension in self.dimensions],
            "edges": [[edge.edge, edge.missing, edge.unique] for edge in self.edges],
            "fields": [list(one) for one in self.fields],
            "settings": [list(pair) for pair in self.settings],
            "format": self.format,
            "inputs": list(self.inputs),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, raw: Json, shared: dict[Any, Any] | None = None) -> SegmentRecord:
        """The inverse of `to_json`; parts that many segments share are kept once, in `shared`."""
        known = {} if shared is None else shared
        dimensions = tuple(
            (whole_of(o), text_of(u), _whole_or_none(s)) for o, u, s in raw["dimensions"]
        )
        edges = tuple(EdgeCount(whole_of(e), m, u) for e, m, u in raw["edges"])
        fields = tuple(
            (text_of(u), whole_of(i), text_of(t), bool(r)) for u, i, t, r in raw["fields"]
        )
        settings = _pairs(raw["settings"])
        return cls(
            id=whole_of(raw["id"]),
            cube_id=known.setdefault(raw["cube_id"], name_of(raw["cube_id"])),
            path=known.setdefault(raw["path"], text_of(raw["path"])),
            rows=whole_of(raw["rows"]),
            bytes=whole_of(raw["bytes"]),
            files=tuple(CoveredFile.from_json(file) for file in raw["files"]),
            # The kind is part of the key: tuples of different meaning may be equal, e.g. empty.
            dimensions=known.setdefault(("dimensions", dimensions), dimensions),
            edges=known.setdefault(("edges", edges), edges),
            fields=known.setdefault(("fields", fields), fields),
            settings=known.setdefault(("settings", settings), settings),
            format=whole_of(raw["format"]),
            inputs=tuple(whole_of(one) for one in raw["inputs"]),
            facts=dict(raw["facts"]),
        )


def artifacts_prefix(table_uuid: str, cube_id: str) -> str:
    """The path under which all builds of a cube or an index write."""
    return f"tables/{table_uuid}/cubes/{cube_id}"


class BuildJob(Struct, frozen=True):
    """A running build: it writes its artifacts under `uri`, and nowhere else.

    `process` is the one whose lease tells that the build lives; empty in an older release's log.
    """

    id: FileName
    table_uuid: FileName
    cube_id: FileName
    uri: str
    started_ms: int
    process: Later[str] = ""

    @property
    def prefix(self) -> str:
        """The path of `uri` under the store's root."""
        return f"{artifacts_prefix(self.table_uuid, self.cube_id)}/{self.id}"

    def to_json(self) -> Json:
        """The record as JSON values; `uri` isn't kept, since a store may be moved."""
        return {
            "format": 1,
            "id": self.id,
            "table_uuid": self.table_uuid,
            "cube_id": self.cube_id,
            "started_ms": self.started_ms,
            "process": self.process,
        }


def _written(record: CubeRecord | DroppedCube | IndexRecord) -> Json:
    """The fields as JSON values, without those of later releases that aren't set."""
    found = {name: _plain(getattr(record, name)) for name in record.__struct_fields__}
    return {name: value for name, value in found.items() if value is not None or name not in _LATER}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return [list(pair) for pair in value] if isinstance(value, tuple) else value


def _whole_or_none(value: object) -> int | None:
    return None if value is None else whole_of(value)


def _pairs(raw: list[list[str]]) -> Pairs:
    return tuple((text_of(name), text_of(value)) for name, value in raw)
