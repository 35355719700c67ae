"""SHOW CREATE: a table, a view or a schema as the statement that would make it in Trino.

Promise: names and texts are quoted, so that what stands in a warehouse stays a name or a text.
"""

from __future__ import annotations

from collections.abc import Sequence

from accelerator.gateway.catalog.listing import ListedColumn
from accelerator.gateway.catalog.masking import masked_location, masked_value
from accelerator.iceberg import PinnedTable
from rewrite.dialects.trino.type_names import quoted

_TRANSFORMS = {"year": "year", "month": "month", "day": "day", "hour": "hour"}
_FORMAT = "write.format.default"


def create_table(
    full: tuple[str, str, str], columns: Sequence[ListedColumn], pinned: PinnedTable
) -> str:
    """CREATE TABLE, with Trino's properties of a table."""
    listed = ",\n".join(f"   {_column(one)}" for one in columns)
    told = pinned.properties.get("comment")
    comment = "" if told is None else f"\nCOMMENT {text(masked_value('comment', told))}"
    return f"CREATE TABLE {name(full)} (\n{listed}\n){comment}\n{_properties(pinned)}"


def create_view(full: tuple[str, str, str], sql: str) -> str:
    """CREATE VIEW; its SELECT is in Spark's dialect, in which it was written."""
    return f"CREATE VIEW {name(full)} SECURITY INVOKER AS\n{sql}"


def create_schema(catalog: str, schema: str) -> str:
    """CREATE SCHEMA."""
    return f"CREATE SCHEMA {name((catalog, schema))}"


def name(parts: Sequence[str]) -> str:
    """The parts with dots between them, in quotes where they need them."""
    return ".".join(map(quoted, parts))


def text(value: str) -> str:
    """A text as a constant."""
    return "'" + value.replace("'", "''") + "'"


def _column(one: ListedColumn) -> str:
    needed = "" if one.nullable else " NOT NULL"
    comment = "" if one.comment is None else f" COMMENT {text(one.comment)}"
    return f"{quoted(one.name)} {one.type}{needed}{comment}"


def _properties(pinned: PinnedTable) -> str:
    told = {
        "format": text(pinned.properties.get(_FORMAT, "parquet").upper()),
        "format_version": str(pinned.metadata.format_version),
        "location": text(masked_location(pinned.location)),
    }
    partitioning = _partitioning(pinned)
    if partitioning:
        told["partitioning"] = _array(partitioning)
    order = _order(pinned)
    if order:
        told["sorted_by"] = _array(order)
    listed = ",\n".join(f"   {key} = {value}" for key, value in sorted(told.items()))
    return f"WITH (\n{listed}\n)"


def _partitioning(pinned: PinnedTable) -> list[str]:
    fields = pinned.metadata.spec().fields
    found = (_transformed(pinned, one.source_id, one.transform) for one in fields)
    return [one for one in found if one]


def _transformed(pinned: PinnedTable, source_id: int, transform: str) -> str:
    """A partition's field as Trino has it; empty for one that was dropped."""
    column = pinned.schema.find_column_name(source_id)
    if column is None or transform == "void":
        return ""
    shown = quoted(column)
    if transform == "identity":
        return shown
    if transform in _TRANSFORMS:
        return f"{_TRANSFORMS[transform]}({shown})"
    word, _, width = transform.removesuffix("]").partition("[")
    return f"{word}({shown}, {width})"


def _order(pinned: PinnedTable) -> list[str]:
    """The table's sort order, where all of it is of columns as they are; else none."""
    found = []
    for one in pinned.metadata.sort_fields():
        column = pinned.schema.find_column_name(one.source_id)
        if column is None or one.transform != "identity":
            return []
        nulls = one.null_order.upper().replace("-", " ")
        found.append(f"{quoted(column)} {one.direction.upper()} {nulls}")
    return found


def _array(values: Sequence[str]) -> str:
    return f"ARRAY[{','.join(map(text, values))}]"
