"""Describes a table as Spark does: columns, partitions, properties, CREATE TABLE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.iceberg.spark_text.types import declared, escaped, row_bytes, simple, suffix
from accelerator.iceberg.tables.metadata import NestedField, field_type_of
from rewrite.identifiers.quoting import quoted, quoted_if_needed
from rewrite.reason import CATALOG_NEEDS_SPARK, DeclinedError

_RESERVED = ("comment", "collation", "location", "provider", "owner", "table_type")
"""Properties that Spark shows apart, in its order."""
_UNCERTAIN = ("collation", "external", "is_managed_location", "view_text")
_SECRET = re.compile(r"secret|password|token|access[.]?key|url", re.IGNORECASE)
_HIDDEN = "*********(redacted)"
_TIMES = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_OPTION = "option."

Row = tuple[str | None, ...]
_EMPTY: Row = ("", "", "")


def described(pinned: PinnedTable, *, extended: bool) -> list[Row]:
    """The rows of DESCRIBE TABLE: name, type and comment."""
    rows = [_column(one) for one in pinned.schema.fields]
    rows += _partitioning(pinned)
    if extended:
        rows += _metadata_columns(pinned)
        rows += _details(pinned)
    return rows


def described_column(pinned: PinnedTable, name: str) -> list[Row]:
    """The rows of DESCRIBE TABLE for one column, which the table has."""
    ids = {pinned.schema.find_column_name(one): one for one in pinned.schema.by_id}
    field = pinned.schema.by_id[ids[name]]
    told = "NULL" if field.doc is None else field.doc
    return [("col_name", field.name), ("data_type", simple(field.field_type)), ("comment", told)]


def properties(pinned: PinnedTable) -> dict[str, str]:
    """The properties that SHOW TBLPROPERTIES lists, in its order."""
    shown = [(name, value) for name, value in _properties(pinned).items() if name not in _RESERVED]
    return dict(sorted(shown))


def create(pinned: PinnedTable) -> str:
    """The statement that SHOW CREATE TABLE gives."""
    _check_defaults(pinned)
    every = _properties(pinned)
    if any(name.startswith(_OPTION) for name in every):
        raise DeclinedError(CATALOG_NEEDS_SPARK, "The table has options.")
    listed = [
        f"{quoted_if_needed(one.name)} {declared(one.field_type)}{suffix(one)}"
        for one in pinned.schema.fields
    ]
    text = f"CREATE TABLE {quoted(pinned.parts)} {_lines(listed)}USING iceberg\n"
    parts = [_transform(pinned, one) for one in _spec_fields(pinned)]
    if parts:
        text += f"PARTITIONED BY ({', '.join(parts)})\n"
    if "comment" in every:
        text += f"COMMENT '{escaped(every['comment'])}'\n"
    text += f"LOCATION '{escaped(every['location'])}'\n"
    shown = properties(pinned).items()
    pairs = [f"'{escaped(name)}' = '{escaped(value)}'" for name, value in shown]
    return f"{text}TBLPROPERTIES {_lines(pairs)}"


def _lines(parts: list[str]) -> str:
    return "(\n  " + ",\n  ".join(parts) + ")\n"


def _column(field: NestedField) -> Row:
    return field.name, simple(field.field_type), field.doc


def _spec_fields(pinned: PinnedTable) -> list[tuple[int, str]]:
    """The fields of the partition spec that aren't void, each column's id and its transform."""
    fields = pinned.metadata.spec().fields
    found = [(one.source_id, one.transform) for one in fields]
    return [(source, one) for source, one in found if one != "void"]


def _source(pinned: PinnedTable, source_id: int) -> str:
    name = pinned.schema.find_column_name(source_id)
    if name is None:
        raise DeclinedError(CATALOG_NEEDS_SPARK, "A partition's column was dropped.")
    if "." in name or not name.isascii():
        raise DeclinedError(CATALOG_NEEDS_SPARK, "The table is partitioned by a field of a struct.")
    return quoted_if_needed(name)


def _transform(pinned: PinnedTable, field: tuple[int, str]) -> str:
    """A transform as Spark's SQL has it."""
    name, transform = _source(pinned, field[0]), field[1]
    if transform == "identity":
        return name
    word, _, width = transform.removesuffix("]").partition("[")
    if word in ("bucket", "truncate"):
        return f"{word}({width}, {name})"
    if transform in _TIMES:
        return f"{_TIMES[transform]}({name})"
    raise DeclinedError(CATALOG_NEEDS_SPARK, f"The transform {transform}.")


def _partitioning(pinned: PinnedTable) -> Iterator[Row]:
    fields = _spec_fields(pinned)
    if not fields:
        return
    if all(one == "identity" for _, one in fields):
        yield ("# Partition Information", "", "")
        yield ("# col_name", "data_type", "comment")
        for source, _ in fields:
            _source(pinned, source)
            yield _column(pinned.schema.by_id[source])
        return
    yield _EMPTY
    yield ("# Partitioning", "", "")
    for number, one in enumerate(fields):
        yield (f"Part {number}", _transform(pinned, one), "")


def _metadata_columns(pinned: PinnedTable) -> Iterator[Row]:
    if pinned.metadata.format_version > 2 or len(pinned.metadata.partition_specs) > 1:
        raise DeclinedError(CATALOG_NEEDS_SPARK, "The table has row ids, or had other partitions.")
    spec = pinned.metadata.pyiceberg.spec()
    partition = field_type_of(spec.partition_type(pinned.pyiceberg_schema))
    yield _EMPTY
    yield ("# Metadata Columns", "", "")
    yield ("_spec_id", "int", "")
    yield ("_partition", simple(partition), "")
    yield ("_file", "string", "")
    yield ("_pos", "bigint", "")
    yield ("_deleted", "boolean", "")


def _details(pinned: PinnedTable) -> Iterator[Row]:
    _check_defaults(pinned)
    every = _properties(pinned)
    yield _EMPTY
    yield ("# Detailed Table Information", "", "")
    yield ("Name", ".".join(pinned.parts), "")
    yield ("Type", "MANAGED", "")
    for name in _RESERVED:
        if name in every:
            yield (name.capitalize(), every[name], "")
    shown = properties(pinned).items()
    yield ("Table Properties", f"[{','.join(f'{n}={v}' for n, v in shown)}]", "")
    rows = _rows(pinned)
    width = sum(row_bytes(one.field_type) for one in pinned.schema.fields)
    yield ("Statistics", f"{rows * width} bytes, {rows} rows", None)


def _rows(pinned: PinnedTable) -> int:
    """Estimates rows as Spark does; DeclinedError if that rests on how it cuts files in pieces."""
    snapshot = pinned.snapshot
    if snapshot is None:
        return 0
    if not _spec_fields(pinned):
        return _rows_of_files(pinned)
    told = pinned.rows_told
    if not told and snapshot.summary is None:
        raise DeclinedError(CATALOG_NEEDS_SPARK, "The snapshot doesn't tell how many rows it has.")
    return told


def _rows_of_files(pinned: PinnedTable) -> int:
    """The rows of all data files, if each is one piece to Spark."""
    wanted = [("content",), ("record_count",), ("split_offsets",)]
    files = pinned.file_metadata(pinned.file_table(), wanted).to_pylist()
    rows = 0
    for one in files:
        if one["content"] == 0:
            if len(one["split_offsets"] or ()) != 1:
                raise DeclinedError(
                    CATALOG_NEEDS_SPARK, "Spark estimates rows by files' row groups."
                )
            rows += one["record_count"]
    return rows


def _check_defaults(pinned: PinnedTable) -> None:
    fields = pinned.schema.fields
    if any(one.initial_default is not None or one.write_default is not None for one in fields):
        raise DeclinedError(CATALOG_NEEDS_SPARK, "A column has a default value.")


def _properties(pinned: PinnedTable) -> dict[str, str]:
    """The properties that Spark's table has: Iceberg's own, and those of the metadata."""
    given = pinned.properties
    if any(one in given for one in _UNCERTAIN):
        raise DeclinedError(CATALOG_NEEDS_SPARK, "A property of the table is one of Spark's own.")
    snapshot = pinned.metadata.current_snapshot_id
    found = {
        "format": f"iceberg/{given.get('write.format.default', 'parquet')}",
        "provider": "iceberg",
        "location": pinned.location,
        "current-snapshot-id": "none" if snapshot in (None, -1) else str(snapshot),
        "table_type": "EXTERNAL",
        "format-version": str(pinned.metadata.format_version),
    }
    order = _sort_order(pinned)
    if order:
        found["sort-order"] = order
    keys = pinned.schema.identifier_field_ids
    names = {name for one in keys if (name := pinned.schema.find_column_name(one)) is not None}
    if len(names) > 1:
        raise DeclinedError(
            CATALOG_NEEDS_SPARK, "Spark orders several identifier fields by chance."
        )
    if names:
        found["identifier-fields"] = f"[{','.join(names)}]"
    own = {"sort-order", "identifier-fields", *found}
    found |= {key: value for key, value in given.items() if key not in own}
    return found | {key: _HIDDEN for key, value in found.items() if is_masked(key, value)}


def is_masked(key: str, value: str) -> bool:
    """Returns whether Spark shows a property without its value."""
    return bool(_SECRET.search(key) or _SECRET.search(value))


def _sort_order(pinned: PinnedTable) -> str:
    """The order of new files' rows, in Iceberg's words; empty without one."""
    fields = pinned.metadata.sort_fields()
    return ", ".join(
        f"{_sorted(pinned, one.source_id, one.transform)}"
        f" {'ASC' if one.direction == 'asc' else 'DESC'}"
        f" {'NULLS FIRST' if one.null_order == 'nulls-first' else 'NULLS LAST'}"
        for one in fields
    )


def _sorted(pinned: PinnedTable, source_id: int, transform: str) -> str:
    name = pinned.schema.find_column_name(source_id)
    if name is None:
        raise DeclinedError(CATALOG_NEEDS_SPARK, "A column of the table's order was dropped.")
    if transform == "identity":
        return name
    raise DeclinedError(CATALOG_NEEDS_SPARK, "The table's order is of transformed columns.")
