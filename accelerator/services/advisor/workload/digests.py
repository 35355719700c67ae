"""Digests of the meaning of cubes, indexes and relate columns: the same under any name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accelerator.errors import UNFIT, AcceleratorError
from accelerator.store import CubeRecord, IndexRecord
from cubes.definition import CubeDefinition, from_dict, to_dict

if TYPE_CHECKING:
    from accelerator.artifacts.relate.declaration import RelateColumn
    from accelerator.query.runtime.services import Services


def digest_of(cube: CubeDefinition) -> str:
    """Digests a cube's meaning: the ids of tables and fields, and their types."""
    raw = to_dict(cube)
    tables = [[uuid, ref] for _, uuid, _, ref in raw["tables"]]
    parts = ("left", "conjuncts", "dimensions", "states")
    return _digest([tables, *(raw[name] for name in parts)])


def index_digest(table_uuid: str, kind: str, type_: str, column: int | str) -> str:
    """Digests an index's meaning: kind, type, and the field's id or the relate column's meaning."""
    return _digest([table_uuid, kind, type_, column])


def relate_digest(table_uuid: str, column: RelateColumn) -> str:
    """Digests a relate column's meaning, which its name is no part of."""
    return _digest([table_uuid, relate_meaning(column)])


def relate_meaning(column: RelateColumn) -> str:
    """Names the path's tables and keys and the attribute by ids."""
    steps = [
        [join.uuid, sorted([k.of, k.other.field_id, k.own.field_id] for k in join.keys)]
        for join in column.path
    ]
    return json.dumps([steps, column.attribute.field_id, repr(column.expression)])


def used_digest(indexes: Sequence[IndexRecord]) -> str:
    """Digests the ids of the indexes that go with a relate column."""
    return _digest(sorted(one.id for one in indexes))


def record_digest(services: Services, record: CubeRecord | IndexRecord) -> str:
    """Digests a registered cube or index; empty if its definition can't be read any more."""
    try:
        if isinstance(record, CubeRecord):
            return digest_of(from_dict(dict(record.definition)))
        target = services.index_builder.target(record)
    except (AcceleratorError, OSError, *UNFIT):
        return ""
    path = target.path
    of = record.field_id if path is None else relate_meaning(path.column)
    return index_digest(record.table_uuid, record.kind, target.type, of)


def _digest(told: object) -> str:
    return hashlib.blake2b(json.dumps(told).encode(), digest_size=16).hexdigest()
