"""Metadata is read as PyIceberg reads it, whoever reads it, however it is written."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.table.metadata import TableMetadata as PyIcebergMetadata
from pyiceberg.table.metadata import TableMetadataUtil

from accelerator.iceberg.errors import failures
from accelerator.iceberg.tables.metadata import (
    NestedField,
    TableMetadata,
    decimal_of,
    default_of,
    from_pyiceberg,
    read_table_metadata,
)

_STRUCT = {
    "type": "struct",
    "fields": [
        {"id": 6, "name": "x", "type": "double", "required": True},
        {"id": 7, "name": "y", "type": "decimal(9, 2)", "required": False, "doc": "words"},
    ],
}
_SCHEMA = {
    "type": "struct",
    "schema-id": 1,
    "identifier-field-ids": [1],
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": True},
        {"id": 2, "name": "place", "type": _STRUCT, "required": False},
        {
            "id": 3,
            "name": "tags",
            "type": {
                "type": "list",
                "element-id": 8,
                "element": {
                    "type": "map",
                    "key-id": 9,
                    "key": "string",
                    "value-id": 10,
                    "value": "fixed[8]",
                    "value-required": False,
                },
                "element-required": True,
            },
            "required": False,
        },
        {"id": 4, "name": "at", "type": "timestamptz", "required": False},
    ],
}
_SNAPSHOTS = [
    {
        "snapshot-id": 3051729675574597004,
        "sequence-number": 1,
        "timestamp-ms": 1515100955770,
        "manifest-list": "s3://a/b/1.avro",
        "summary": {"operation": "append", "total-records": "3"},
    },
    {
        "snapshot-id": 3055729675574597004,
        "parent-snapshot-id": 3051729675574597004,
        "sequence-number": 2,
        "timestamp-ms": 1555100955770,
        "manifest-list": "s3://a/b/2.avro",
        "summary": {"operation": "overwrite", "total-records": "4"},
        "schema-id": 1,
    },
]
_SECOND: dict[str, Any] = {
    "format-version": 2,
    "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "s3://bucket/test/location",
    "last-sequence-number": 34,
    "last-updated-ms": 1602638573590,
    "last-column-id": 10,
    "current-schema-id": 1,
    "schemas": [{**_SCHEMA, "schema-id": 0, "fields": _SCHEMA["fields"][:1]}, _SCHEMA],
    "default-spec-id": 1,
    "partition-specs": [
        {"spec-id": 0, "fields": []},
        {
            "spec-id": 1,
            "fields": [
                {"name": "id", "transform": "bucket[16]", "source-id": 1, "field-id": 1000},
                {"name": "day", "transform": "day", "source-id": 4, "field-id": 1001},
            ],
        },
    ],
    "last-partition-id": 1001,
    "default-sort-order-id": 3,
    "sort-orders": [
        {
            "order-id": 3,
            "fields": [
                {
                    "transform": "identity",
                    "source-id": 4,
                    "direction": "asc",
                    "null-order": "nulls-first",
                },
                {
                    "transform": "truncate[4]",
                    "source-id": 1,
                    "direction": "desc",
                    "null-order": "nulls-last",
                },
            ],
        }
    ],
    "properties": {"write.format.default": "parquet"},
    "current-snapshot-id": 3055729675574597004,
    "snapshots": _SNAPSHOTS,
    "snapshot-log": [{"snapshot-id": 3051729675574597004, "timestamp-ms": 1515100955770}],
    "metadata-log": [{"metadata-file": "s3://a/b/1.json", "timestamp-ms": 1515100}],
    "refs": {
        "main": {"snapshot-id": 3055729675574597004, "type": "branch"},
        "old": {"snapshot-id": 3051729675574597004, "type": "tag", "max-ref-age-ms": 10000000},
        "test": {
            "snapshot-id": 3051729675574597004,
            "type": "branch",
            "min-snapshots-to-keep": 2,
            "max-snapshot-age-ms": 5,
        },
    },
    "statistics": [
        {
            "snapshot-id": 3055729675574597004,
            "statistics-path": "s3://a/b/stats.puffin",
            "file-size-in-bytes": 413,
            "file-footer-size-in-bytes": 42,
            "blob-metadata": [
                {
                    "type": "apache-datasketches-theta-v1",
                    "snapshot-id": 3055729675574597004,
                    "sequence-number": 1,
                    "fields": [1],
                    "properties": {"ndv": "3"},
                }
            ],
        }
    ],
    "partition-statistics": [
        {
            "snapshot-id": 3055729675574597004,
            "statistics-path": "s3://a/b/partition-stats.parquet",
            "file-size-in-bytes": 43,
        }
    ],
}
_THIRD = {
    **_SECOND,
    "format-version": 3,
    "next-row-id": 7,
    "snapshots": [
        {**_SNAPSHOTS[0], "first-row-id": 0, "added-rows": 3},
        {**_SNAPSHOTS[1], "first-row-id": 3, "added-rows": 4},
    ],
}
_DEFAULTS = {
    **_THIRD,
    "schemas": [
        {
            **_SCHEMA,
            "fields": [
                *_SCHEMA["fields"],
                {
                    "id": 11,
                    "name": "since",
                    "type": "date",
                    "required": True,
                    "initial-default": "2020-01-02",
                    "write-default": "2021-01-02",
                },
                {
                    "id": 12,
                    "name": "price",
                    "type": "decimal(9, 2)",
                    "required": False,
                    "initial-default": "1.50",
                },
            ],
        }
    ],
}
_FIRST = {
    "format-version": 1,
    "table-uuid": "d20125c8-7284-442c-9aea-15fee620737c",
    "location": "s3://bucket/test/location",
    "last-updated-ms": 1602638573874,
    "last-column-id": 3,
    "schema": {
        "type": "struct",
        "fields": [
            {"id": 1, "name": "x", "type": "long", "required": True},
            {"id": 2, "name": "y", "type": "string", "required": False},
        ],
    },
    "partition-spec": [{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}],
    "properties": {},
    "current-snapshot-id": -1,
    "snapshots": [{"snapshot-id": 1925, "timestamp-ms": 1602638573822, "manifest-list": "s3://m"}],
}
_KNOWN = (_FIRST, _SECOND, _THIRD, _DEFAULTS)
_VALUES = (
    *(None, True, False, -1, 0, 1, 2, 3, 1.0, 1.5, 1 << 70, "", "1", "x", "true", [], {}),
    *(["x"], {"x": "y"}, "long", "variant", "decimal(9,2)", "decimal(39, 2)", "fixed[0]"),
    *("void", "bucket[016]", "bucket", "zorder", "geometry", "unknown", "timestamp_ns", "branch"),
    *("tag", "delete", "ASC", "desc", "3055729675574597004", "nulls-last", _STRUCT),
)


def _parsed(content: bytes) -> PyIcebergMetadata | None:
    """PyIceberg's metadata of the content; None if it refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a summary without its operation
        try:
            return TableMetadataUtil.parse_raw(content.decode())
        except failures():
            return None


def _dumped(known: PyIcebergMetadata) -> dict[str, Any]:
    return known.model_dump(mode="json", warnings=False)


def _field(one: NestedField) -> tuple[Any, ...]:
    return str(one), default_of(one)


def _check(ours: TableMetadata, theirs: PyIcebergMetadata) -> None:
    """Every figure, name and type is PyIceberg's."""
    for name in (
        *("format_version", "table_uuid", "location", "last_updated_ms", "last_column_id"),
        *("current_schema_id", "default_spec_id", "default_sort_order_id", "last_partition_id"),
        *("properties", "current_snapshot_id"),
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.last_sequence_number == getattr(theirs, "last_sequence_number", 0)
    assert [one.schema_id for one in ours.schemas] == [one.schema_id for one in theirs.schemas]
    for mine, known in zip(ours.schemas, theirs.schemas, strict=True):
        assert list(mine.identifier_field_ids) == known.identifier_field_ids
        assert mine.column_names == known.column_names
        assert [_field(one) for one in mine.by_id.values()] == [
            (str(one), one.initial_default) for one in known._lazy_id_to_field.values()
        ]
    assert [
        (spec.spec_id, field.source_id, field.field_id, field.name, field.transform)
        for spec in ours.partition_specs
        for field in spec.fields
    ] == [
        (spec.spec_id, *(one.source_id, one.field_id, one.name), _transform(one.transform))
        for spec in theirs.partition_specs
        for one in spec.fields
    ]
    assert ours.spec().spec_id == theirs.spec().spec_id
    assert [
        (one.source_id, one.direction, one.null_order, one.transform) for one in ours.sort_fields()
    ] == [
        (one.source_id, one.direction.value, one.null_order.value, _transform(one.transform))
        for one in theirs.sort_order().fields
    ]
    assert list(ours.refs) == list(theirs.refs)
    for one, ref in zip(ours.refs.values(), theirs.refs.values(), strict=True):
        assert (one.snapshot_id, one.kind) == (ref.snapshot_id, ref.snapshot_ref_type.value)
        for name in ("min_snapshots_to_keep", "max_snapshot_age_ms", "max_ref_age_ms"):
            assert getattr(one, name) == getattr(ref, name)
    for snapshot, other in zip(ours.snapshots, theirs.snapshots, strict=True):
        for name in (
            *("snapshot_id", "timestamp_ms", "manifest_list", "parent_snapshot_id", "schema_id"),
            *("sequence_number", "first_row_id", "added_rows"),
        ):
            assert getattr(snapshot, name) == getattr(other, name), name
        summary = other.summary
        assert snapshot.operation == (None if summary is None else summary.operation.value)
        figures = {} if summary is None else summary.additional_properties
        assert snapshot.figures == {key: str(value) for key, value in figures.items()}
    written = _dumped(theirs)
    for name in ("snapshot-log", "metadata-log", "statistics", "partition-statistics"):
        assert _dumped(ours.pyiceberg)[name] == written[name]


def _transform(known: Any) -> str:
    return getattr(known, "_transform", str(known))


def _judge(content: bytes) -> bool:
    """Checks one content; whether it's read without PyIceberg."""
    theirs, ours = _parsed(content), read_table_metadata(content)
    if ours is not None:
        assert theirs is not None, "PyIceberg refuses it"
        assert from_pyiceberg(theirs) == ours
        assert _dumped(ours.pyiceberg) == _dumped(theirs)
    if theirs is not None:
        _check(ours or from_pyiceberg(theirs), theirs)
    return ours is not None


def _written(metadata: object) -> bytes:
    return json.dumps(metadata).encode()


@pytest.mark.parametrize("known", _KNOWN)
def test_metadata_is_read_as_pyiceberg_reads_it(known: dict[str, Any]) -> None:
    assert _judge(_written(known)) == (known in (_SECOND, _THIRD))
    assert _parsed(_written(known)) is not None


def test_older_writers_have_no_snapshot_as_minus_one() -> None:
    empty = {**_SECOND, "current-snapshot-id": -1, "refs": {}, "snapshots": []}
    assert _judge(_written(empty))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        _written(_SECOND).replace(b"bucket/test", b"\xff"),
        _written(_SECOND)[:-9],
        b"[" * 100_000,
        _written(_SECOND).replace(b'"long"', b'{"type": "list", "element": ' * 50_000),
    ],
)
def test_damage_is_left_to_pyiceberg(content: bytes) -> None:
    assert read_table_metadata(content) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("current-schema-id",), 7),
        (("default-spec-id",), 7),
        (("default-sort-order-id",), 7),
        (("format-version",), 4),
        (("location",), None),
        (("schemas", 1, "fields", 0, "type"), "variant"),
        (("schemas", 1, "fields", 1, "type", "fields", 1, "type"), "decimal(39, 2)"),
        (("schemas", 1, "fields", 3, "name"), "id"),
        (("schemas", 1, "fields", 3, "name"), "place.x"),
        (("schemas", 1, "identifier-field-ids"), [4]),
        (("schemas", 1, "identifier-field-ids"), [99]),
        (("partition-specs", 1, "fields", 0, "transform"), "bucket"),
        (("sort-orders", 0, "fields", 0, "direction"), "up"),
        (("refs", "old", "max-snapshot-age-ms"), 5),
        (("refs", "test", "min-snapshots-to-keep"), 0),
        (("snapshots", 0, "summary", "operation"), "drop"),
        (("snapshots", 0, "manifest-list"), None),
        (("statistics", 0, "blob-metadata", 0, "type"), "x"),
    ],
)
def test_what_pyiceberg_refuses_is_not_read(path: tuple[Any, ...], value: object) -> None:
    metadata = copy.deepcopy(_SECOND)
    _changed(metadata, path, "replace", value)
    content = _written(metadata)
    assert (read_table_metadata(content), _parsed(content)) == (None, None)


def _nested(depth: int) -> dict[str, Any]:
    kind: Any = "long"
    for number in range(depth):
        kind = {"type": "list", "element-id": 100 + number, "element": kind}
        kind["element-required"] = True
    fields = [{"id": 1, "name": "x", "type": kind, "required": True}]
    schema = {"type": "struct", "schema-id": 1, "fields": fields}
    return {**_SECOND, "schemas": [schema], "partition-specs": [{"spec-id": 1, "fields": []}]}


@pytest.mark.parametrize(("depth", "here"), [(1, True), (31, True), (32, False), (150, False)])
def test_types_within_types_have_a_limit(depth: int, here: bool) -> None:
    assert _judge(_written(_nested(depth))) == here


def test_a_decimals_parts() -> None:
    kinds = ["decimal(1, 0)", "decimal(38, 38)", "decimal(39, 0)", "decimal(09, 2)", "long"]
    assert [decimal_of(kind) for kind in kinds] == [(1, 0), (38, 38), None, None, None]


def _paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _paths(one, (*path, key))
    if isinstance(value, list):
        for place, one in enumerate(value):
            yield from _paths(one, (*path, place))


def _changed(metadata: Any, path: tuple[Any, ...], change: str, value: object) -> None:
    holder = metadata
    for step in path[:-1]:
        holder = holder[step]
    key = path[-1]
    if change == "replace":
        holder[key] = value
    elif change == "drop":
        del holder[key]
    elif change == "double" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif change == "rename" and isinstance(holder, dict):
        holder[key.replace("-", "_") if "-" in key else f"{key}s"] = holder.pop(key)
    elif change == "add" and isinstance(holder, dict):
        holder[str(value)[:8]] = value


@given(st.data())
@settings(max_examples=600, deadline=None)
def test_whatever_is_changed_is_read_as_pyiceberg_reads_it(data: st.DataObject) -> None:
    metadata = copy.deepcopy(data.draw(st.sampled_from(_KNOWN)))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(_paths(metadata))))
        change = data.draw(st.sampled_from(("replace", "drop", "double", "rename", "add")))
        _changed(metadata, path, change, copy.deepcopy(data.draw(st.sampled_from(_VALUES))))
    _judge(_written(metadata))
