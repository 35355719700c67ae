"""The store's records as frozen values, and their JSON form (`docs/formats/store.md`).

`to_json` and `from_json` are exact inverses; `from_json` raises `ValueError` on anything that
doesn't fit, which the log reports as damage. A field that isn't there has its default. No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct, convert, field
from msgspec.structs import replace

from accelerator.common.records.as_dict import as_dict
from accelerator.common.records.bounds import Int64
from accelerator.store.files.names import FileName

# `Any` below is always a value of JSON: its shape belongs to whoever wrote it, not to the store.
Json = dict[str, Any]
CoveredKey = tuple[str, int, str]
BUNDLE = "bundle"
"""The fact that tells a bundle of light blobs of an index."""
BESIDE = "#new"
"""The end of the name of a cube or an index that is built beside the one that it replaces."""

Pairs = tuple[tuple[str, str], ...]
_LATER = ("disabled", "refresh")
_SHARED = ("cube_id", "path", "dimensions", "edges", "fields", "settings")


class StoreRecord(Struct, frozen=True):
    """A record with its JSON form."""

    def to_json(self) -> Json:
        """Returns JSON values, without fields of later releases that aren't set."""
        found = as_dict(self)
        return {name: one for name, one in found.items() if one is not None or name not in _LATER}

    @classmethod
    def from_json(cls, raw: Json) -> Self:
        """The inverse of `to_json`."""
        return convert(raw, cls)


class CubeRecord(StoreRecord, frozen=True):
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
    created_ms: Int64
    settings: Pairs = ()
    definition: Mapping[str, Any] = field(default_factory=dict)
    published: str | None = None
    disabled: str | None = None
    refresh: str | None = None


class DroppedCube(StoreRecord, frozen=True):
    """A cube in the recycle bin, as it was when it was dropped; UNDROP CUBE brings it back.

    A vacuum ends it once `expires_ms` has passed, by the vacuum's clock.
    """

    cube: CubeRecord
    dropped_ms: Int64
    expires_ms: Int64

    def to_json(self) -> Json:
        """The record as JSON values."""
        return as_dict(self) | {"cube": self.cube.to_json()}


class IndexRecord(StoreRecord, frozen=True):
    """A registered index over one column of a table; `options` are JSON values by their names.

    `column` is the name when it was made: what counts is the field id. `disabled` says why nothing
    is asked of it, `refresh` when it's brought up to date, as of a cube.
    """

    id: FileName
    name: str
    table: str
    table_uuid: FileName
    kind: str
    field_id: Int64
    column: str
    created_ms: Int64
    options: Mapping[str, Any] = field(default_factory=dict)
    disabled: str | None = None
    refresh: str | None = None


class CoveredFile(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A data file as a segment was built from it; `deletes_key` identifies the deletes applied.

    A list in JSON, since there may be very many.
    """

    path: str
    sequence_number: Int64
    deletes_key: str
    record_count: Int64
    size_bytes: Int64

    @property
    def key(self) -> CoveredKey:
        """What makes two covered files the same rows."""
        return self.path, self.sequence_number, self.deletes_key


class EdgeCount(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a build counted on one join edge; None is "not counted", never zero.

    `missing`: rows without a partner. `unique`: whether the dimension's key was unique.
    """

    edge: Int64
    missing: Int64 | None
    unique: bool | None


class SegmentRecord(StoreRecord, frozen=True):
    """The cube rows of one data file, or of several after a merge (then `inputs` isn't empty).

    `dimensions`: (occurrence, table uuid, snapshot id); `fields`: (table uuid, field id, type,
    required) of every column that the build read; `facts`: further JSON, e.g. column bounds.
    Several segments may share one `path`: their rows are told apart by `id`.

    An index's artifacts are recorded alike: `cube_id` is the index's, `files` those that a sidecar
    or a bundle tells of, whatever is deleted of them, and `facts` say what is where in it. Of a
    `bundle` each file is of use by itself.
    """

    id: Int64
    cube_id: FileName
    path: str
    rows: Int64
    bytes: Int64
    files: tuple[CoveredFile, ...]
    dimensions: tuple[tuple[Int64, str, Int64 | None], ...] = ()
    edges: tuple[EdgeCount, ...] = ()
    fields: tuple[tuple[str, Int64, str, bool], ...] = ()
    settings: Pairs = ()
    format: Int64 = 1
    inputs: tuple[Int64, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_bundle(self) -> bool:
        """Whether it's of use as long as any of its files is."""
        return BUNDLE in self.facts

    @classmethod
    def from_json(cls, raw: Json, shared: dict[Any, Any] | None = None) -> SegmentRecord:
        """The inverse of `to_json`; parts that many segments share are cached once, in `shared`."""
        record = convert(raw, cls)
        if not raw.keys() >= set(_SHARED):  # the defaults would make it valid for longer
            raise ValueError("a segment doesn't say what it was built from")
        if shared is None:
            return record
        parts = {name: getattr(record, name) for name in _SHARED}
        # The name is part of the key: tuples of different meaning may be equal, e.g. empty.
        return replace(record, **{k: shared.setdefault((k, v), v) for k, v in parts.items()})


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
    started_ms: Int64
    process: str = ""

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
