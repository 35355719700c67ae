"""Fields of structs as columns: what is read of their structs, and how they're taken out of these.

Names are full ones, `client.agent.name`. If a statement names a struct itself, only its NULL
matters, so that one of its fields is read with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyiceberg.schema import Schema, prune_columns

from rewrite.facts import ColumnFacts, TableFacts

FIELD_ID = b"PARQUET:field_id"
_NESTED = ("struct<", "array<", "map<")


def has_nested(facts: TableFacts, names: Sequence[str]) -> bool:
    """Decides whether some name is that of a field, or of a struct."""
    return any(len(path) > 1 or path[-1].fields for path in map(facts.path, names) if path)


def read_path(path: tuple[ColumnFacts, ...]) -> tuple[ColumnFacts, ...] | None:
    """Returns the path to what is read for a column: itself, or the first plain field of a struct.

    None if a struct has none.
    """
    if not path[-1].type.startswith(_NESTED):
        return path
    found = (read_path((*path, field)) for field in path[-1].fields)
    return next((one for one in found if one is not None), None)


def pruned(schema: Schema, facts: TableFacts, names: Sequence[str]) -> Schema:
    """Returns the schema's columns that these names need, structs with the needed fields alone."""
    ids: set[int] = set()
    for path in filter(None, map(facts.path, names)):
        found = read_path(path) if path[-1].fields else path
        ids.add((found or path)[-1].field_id)
    return prune_columns(schema, ids, select_full_types=True)


def as_columns(table: pa.Table, facts: TableFacts, names: Sequence[str]) -> pa.Table:
    """Returns these columns of a table that has their structs; a NULL struct's fields are NULL."""
    columns = []
    for name in names:
        first, *inside = facts.path(name)
        column = table.column(first.name)
        columns.append(_field(column, [one.name for one in inside]) if inside else column)
    return pa.table(columns, names=list(names))


def flat(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Returns the columns of a file's table under other names; a field's is `struct.field`."""
    columns = []
    for name in names:
        first, *inside = (name,) if name in table.column_names else name.split(".")
        columns.append(_field(table.column(first), inside))
    return pa.table(columns, names=list(names.values()))


def path_of(schema: pa.Schema, field_id: int) -> tuple[pa.Field, ...] | None:
    """Returns the path of structs to a file's field of that id; empty if the file lacks it.

    None if it isn't clear: a field has no id, two have this one, or a name has a dot in it.
    """
    waiting: list[tuple[pa.Field, ...]] = [(field,) for field in schema]
    found: tuple[pa.Field, ...] = ()
    while waiting:
        path = waiting.pop()
        own = (path[-1].metadata or {}).get(FIELD_ID)
        if own is None or "." in path[-1].name or (int(own) == field_id and found):
            return None
        if int(own) == field_id:
            found = path
        if pa.types.is_struct(path[-1].type):
            type_ = path[-1].type
            waiting += ((*path, type_.field(place)) for place in range(type_.num_fields))
    return found


def _field(column: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    for name in names:
        column = pc.struct_field(column, name)
    return column


def leaves(schema: pa.Schema) -> pa.Schema:
    """Returns the schema's columns and all fields of its structs, under their full names."""
    return pa.schema([one for field in schema for one in _inside(field, field.name)])


def _inside(field: pa.Field, name: str) -> Iterator[pa.Field]:
    yield field.with_name(name)
    if pa.types.is_struct(field.type):
        for place in range(field.type.num_fields):
            inner = field.type.field(place)
            yield from _inside(inner, f"{name}.{inner.name}")


def parents(schema: pa.Schema) -> Mapping[bytes, bytes | None]:
    """Returns the id of the struct around each field, by the field's id."""
    found: dict[bytes, bytes | None] = {}
    waiting: list[tuple[pa.Field, bytes | None]] = [(field, None) for field in schema]
    while waiting:
        field, around = waiting.pop()
        own = (field.metadata or {}).get(FIELD_ID)
        if own is not None:
            found[own] = around
        if pa.types.is_struct(field.type):
            waiting += ((field.type.field(n), own) for n in range(field.type.num_fields))
    return found
