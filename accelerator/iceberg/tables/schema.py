"""Names, types and states of Iceberg tables as Spark sees them: type texts, schemas, time travel.

Pure: table metadata in, `rewrite.facts` values out. A type that Spark has no word for keeps
Iceberg's word, so that whoever looks at it finds a type it doesn't know and declines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from accelerator.errors import UnknownSnapshotError
from accelerator.iceberg.tables.metadata import (
    FieldType,
    IcebergSchema,
    IcebergSnapshot,
    ListType,
    MapType,
    NestedField,
    StructType,
    TableMetadata,
    decimal_of,
    default_of,
)
from rewrite.dialects.value_kinds import meaning_of_type
from rewrite.facts import At, ColumnFacts, TableFacts

# Iceberg's word → Spark's, where they differ.
_SPARK_WORDS = {
    "long": "bigint",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "uuid": "string",
    "unknown": "void",
}

_AMBIGUOUS = "ambiguous"
"""The type of a column that another one is taken for: whoever looks at it declines."""


def spark_type(kind: FieldType) -> str:
    """The text that Spark prints for a column of that Iceberg type."""
    if isinstance(kind, StructType):
        inner = ",".join(f"{field.name}:{spark_type(field.field_type)}" for field in kind.fields)
        return f"struct<{inner}>"
    if isinstance(kind, ListType):
        return f"array<{spark_type(kind.element_type)}>"
    if isinstance(kind, MapType):
        return f"map<{spark_type(kind.key_type)},{spark_type(kind.value_type)}>"
    if kind.startswith("fixed"):
        return "binary"
    decimal = decimal_of(kind)
    if decimal is not None:
        return f"decimal({decimal[0]},{decimal[1]})"
    return _SPARK_WORDS.get(kind, kind)


def layout(field: NestedField, names: str = "") -> str:
    """What decides a column's values beside Spark's text of its type; "" for nothing.

    `names` are those by which files without field ids have it.

    Two columns of equal types and layouts have the same values in every file, once the files'
    names are the same: a nested field that was dropped and added anew has another id.
    """
    nested = field.field_type
    told = _tree(nested) if isinstance(nested, (StructType, ListType, MapType)) else ""
    given = "" if field.initial_default is None else f"default {default_of(field)!r}"
    return " ".join(filter(None, (told, given, names)))


def _tree(kind: FieldType) -> str:
    """The ids, nullability and defaults of every field inside, by Iceberg's own words of types."""
    if isinstance(kind, StructType):
        return f"struct<{', '.join(map(_inner, kind.fields))}>"
    if isinstance(kind, ListType):
        return f"list<{_inner(kind.element_field)}>"
    if isinstance(kind, MapType):
        return f"map<{_inner(kind.key_field)}, {_inner(kind.value_field)}>"
    return kind


def _inner(field: NestedField) -> str:
    needed = "!" if field.required else ""
    given = "" if field.initial_default is None else f" = {default_of(field)!r}"
    return f"{field.field_id}{needed} {_tree(field.field_type)}{given}"


def columns_of_states(name: str, metadata: TableMetadata) -> Mapping[str, str]:
    """The columns of all of a table's schemas with Spark's types; no type if their kinds differ."""
    found: dict[str, str] = {}
    for schema in metadata.schemas:
        for column in table_facts(name, metadata, (None, schema)).columns:
            known = found.get(column.name, column.type)
            alike = meaning_of_type(known).kind == meaning_of_type(column.type).kind
            found[column.name] = column.type if alike and known else ""
    return found


def table_facts(
    name: str, metadata: TableMetadata, state: tuple[int | None, IcebergSchema]
) -> TableFacts:
    """What the rewriter may know of the table in that state."""
    snapshot_id, schema = state
    alike = _alike(schema)
    mapped = {m.field_id: m.model_dump_json() for m in metadata.name_mapping() or ()}
    columns = tuple(
        ColumnFacts(
            field.field_id,
            field.name,
            _AMBIGUOUS if field.name in alike else spark_type(field.field_type),
            field.required,
            layout(field, mapped.get(field.field_id, "")),
            _fields(field),
        )
        for field in schema.fields
    )
    return TableFacts(name, str(metadata.table_uuid), snapshot_id, schema.schema_id, columns)


def _fields(column: NestedField) -> tuple[ColumnFacts, ...]:
    """The fields of a struct, and theirs. One that rows are read of otherwise has no known type."""
    kind = column.field_type
    if not isinstance(kind, StructType) or column.initial_default is not None:
        return ()
    return tuple(
        ColumnFacts(
            field.field_id,
            field.name,
            _AMBIGUOUS if _is_odd(field) else spark_type(field.field_type),
            field.required,
            fields=_fields(field),
        )
        for field in kind.fields
    )


def _is_odd(field: NestedField) -> bool:
    """Decides whether Spark shows it otherwise than files have it, or files lack a value of it."""
    kind = field.field_type
    fixed = isinstance(kind, str) and (kind == "uuid" or kind.startswith("fixed"))
    return fixed or field.initial_default is not None


def _alike(schema: IcebergSchema) -> frozenset[str]:
    """Names of columns that Spark takes for one another, by Java's `equalsIgnoreCase`.

    Spark reads the other columns of such a state, and fails inside for some uses of these.
    """
    by_fold: dict[str, list[str]] = {}
    for one in schema.fields:
        by_fold.setdefault("".join(map(_folded, one.name)), []).append(one.name)
    return frozenset(name for names in by_fold.values() if len(names) > 1 for name in names)


def _folded(character: str) -> str:
    """Java's lower case of its upper case: of one character one, unlike Python's.

    >>> [_folded(one) for one in "aA\u0130\u03c3\u03c2\u00df"]
    ['a', 'a', 'i', '\u03c3', '\u03c3', '\u00df']
    """
    upper = character.upper()
    return (upper if len(upper) == 1 else character).lower()[0]


def resolve_state(
    name: str, metadata: TableMetadata, at: At
) -> tuple[IcebergSnapshot | None, IcebergSchema]:
    """The snapshot that `at` means and the schema that Spark reads it under.

    Spark reads a snapshot, a tag and a point in time under the snapshot's own schema, a branch
    under the table's current one, and so whatever is named as `t.branch_…`.
    """
    if at.snapshot_id is not None:
        return _with_own_schema(metadata, _snapshot(name, metadata, at.snapshot_id))
    if at.ref is not None:
        return _at_ref(name, metadata, at.ref)
    if at.branch is not None:
        return _at_ref(name, metadata, at.branch)[0], metadata.schema()
    if at.timestamp_ms is not None:
        snapshot_id = _snapshot_id_as_of(name, metadata, at.timestamp_ms)
        return _with_own_schema(metadata, _snapshot(name, metadata, snapshot_id))
    return metadata.current_snapshot(), metadata.schema()


def _at_ref(
    name: str, metadata: TableMetadata, ref: str
) -> tuple[IcebergSnapshot | None, IcebergSchema]:
    found = metadata.refs.get(ref)
    if found is None:
        if ref == "main":  # a table without snapshots has no refs, and its main branch is empty
            return None, metadata.schema()
        raise UnknownSnapshotError(
            f"{name} has no branch or tag named {ref!r}",
            hint=f"it has {_listed(sorted(metadata.refs))}",
            unknown=ref,
        )
    snapshot = _snapshot(name, metadata, found.snapshot_id)
    if found.kind == "branch":
        return snapshot, metadata.schema()
    return _with_own_schema(metadata, snapshot)


def _snapshot(name: str, metadata: TableMetadata, snapshot_id: int) -> IcebergSnapshot:
    snapshot = metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        recent = [str(entry.snapshot_id) for entry in metadata.snapshots[-5:]]
        raise UnknownSnapshotError(
            f"{name} has no snapshot {snapshot_id}",
            hint=f"its newest snapshots are {_listed(recent)}",
            unknown=str(snapshot_id),
        )
    return snapshot


def _snapshot_id_as_of(name: str, metadata: TableMetadata, timestamp_ms: int) -> int:
    """The snapshot that was current then: by the log, since a rollback makes old ones current."""
    log = metadata.snapshot_log
    for entry in reversed(log):
        if entry.timestamp_ms <= timestamp_ms:
            return entry.snapshot_id
    first = (
        f"its history begins at {_utc_text(log[0].timestamp_ms)}" if log else "it has no snapshot"
    )
    raise UnknownSnapshotError(
        f"{name} has no snapshot as old as {_utc_text(timestamp_ms)}", hint=first
    )


def _utc_text(timestamp_ms: int) -> str:
    """A time in UTC; the bare number if no calendar has it."""
    try:
        shown = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms since 1970"
    return f"{shown:%Y-%m-%d %H:%M:%S} UTC"


def _with_own_schema(
    metadata: TableMetadata, snapshot: IcebergSnapshot
) -> tuple[IcebergSnapshot, IcebergSchema]:
    if snapshot.schema_id is not None:
        for schema in metadata.schemas:
            if schema.schema_id == snapshot.schema_id:
                return snapshot, schema
    return snapshot, metadata.schema()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def names_of(metadata: TableMetadata) -> frozenset[str]:
    """All names in all schemas of a table, in lower case; of fields inside columns, too."""
    full = (name for schema in metadata.schemas for name in schema.column_names)
    return frozenset(part.lower() for name in full for part in name.split("."))
