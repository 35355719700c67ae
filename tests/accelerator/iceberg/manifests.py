"""Manifests for tests: entries drawn by hypothesis, what their columns must be, and comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyiceberg.manifest import ManifestContent
from pyiceberg.manifest import ManifestFile as Written

from accelerator.iceberg.manifests.columns import ALL_TYPES, TYPES, ManifestColumns
from accelerator.iceberg.manifests.manifest_file import ManifestFile

PARTITIONS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": ("int", st.integers(-(2**31), 2**31 - 1)),
    "date": ({"type": "int", "logicalType": "date"}, st.integers(-(2**31), 2**31 - 1)),
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "timestamp": (
        {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
        st.integers(-(2**63), 2**63 - 1),
    ),
    "nanos": ({"type": "long", "logicalType": "timestamp-nanos"}, st.integers(0, 2**63 - 1)),
    "string": ("string", st.text(max_size=5)),
    "bytes": ("bytes", st.binary(max_size=5)),
    "decimal": (
        {"type": "fixed", "name": "d9", "size": 4, "logicalType": "decimal", "precision": 9,
         "scale": 2},
        st.binary(min_size=4, max_size=4),
    ),
    "uuid": (
        {"type": "fixed", "name": "u16", "size": 16, "logicalType": "uuid"},
        st.binary(min_size=16, max_size=16),
    ),
    "boolean": ("boolean", st.booleans()),
    "float": ("float", st.floats(width=32)),
    "double": ("double", st.floats()),
}  # fmt: skip
FIELD_IDS = st.sampled_from([1, 2, 3, 63, 64, 1000, 2**31 - 1])
COUNTS = st.one_of(st.integers(-3, 300), st.sampled_from([2**31, 2**62]))
count_maps = st.none() | st.dictionaries(FIELD_IDS, COUNTS, max_size=4)
bound_maps = st.none() | st.dictionaries(
    FIELD_IDS, st.binary(min_size=8, max_size=8) | st.binary(max_size=20), max_size=4
)


def entry(**file: Any) -> dict[str, Any]:
    """An added entry with little in it."""
    names: tuple[str, ...] = (
        "column_sizes",
        "value_counts",
        "null_value_counts",
        "nan_value_counts",
    )
    names += ("lower_bounds", "upper_bounds", "key_metadata", "split_offsets", "sort_order_id")
    plain = dict.fromkeys((*names, "first_row_id"))
    own = {"content": 0, "file_path": "a", "file_format": "PARQUET", "partition": ()}
    counted = {"record_count": 5, "file_size_in_bytes": 6}
    numbers = dict.fromkeys(("snapshot_id", "sequence_number", "file_sequence_number"))
    return {"status": 1, **numbers, "data_file": {**plain, **own, **counted, **file}}


@st.composite
def entries(draw: st.DrawFn, partition: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Entries with partition values of those types."""
    values = st.tuples(*(st.none() | PARTITIONS[name][1] for name in partition))
    longs = st.integers(0, 2**62)
    file = st.fixed_dictionaries(
        {
            "content": st.just(0),
            "file_path": st.text(max_size=9),
            "file_format": st.sampled_from(["PARQUET", "parquet", "ORC", "AVRO"]),
            "partition": values,
            "record_count": st.integers(-1, 2**40),
            "file_size_in_bytes": longs,
            "column_sizes": count_maps,
            "value_counts": count_maps,
            "null_value_counts": count_maps,
            "nan_value_counts": count_maps,
            "lower_bounds": bound_maps,
            "upper_bounds": bound_maps,
            "key_metadata": st.none() | st.binary(max_size=4),
            "split_offsets": st.none() | st.lists(longs, max_size=4),
            "sort_order_id": st.none() | st.integers(0, 3),
            "first_row_id": st.none() | longs,
        }
    )
    entry = st.fixed_dictionaries(
        {
            "status": st.sampled_from([0, 1, 1, 2]),
            "snapshot_id": st.none() | longs,
            "sequence_number": st.none() | st.integers(0, 9),
            "file_sequence_number": st.none() | st.integers(0, 9),
            "data_file": file,
        }
    )
    return draw(st.lists(entry, max_size=6))


def listed(path: str = "m", sequence_number: int = 7, length: int | None = None) -> ManifestFile:
    """The manifest as a manifest list has it; by default of the length that its file has."""
    if length is None:
        length = Path(path).stat().st_size if Path(path).is_file() else 1
    return ManifestFile(path, length, 0, sequence_number=sequence_number, added_snapshot_id=77)


def pyiceberg_manifest(**fields: Any) -> Written:
    """PyIceberg's entry of a list of manifests, with these fields; the others have usual values."""
    usual: dict[str, Any] = {
        "manifest_path": "m",
        "manifest_length": 9,
        "partition_spec_id": 0,
        "content": ManifestContent.DATA,
        "sequence_number": 3,
        "min_sequence_number": 0,
        "added_snapshot_id": 7,
        "added_files_count": 1,
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": 30,
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": None,
        "key_metadata": None,
    }
    return Written.from_args(**usual | fields)


def told(columns: ManifestColumns) -> dict[str, Any]:
    """All that the columns say, with types, so that NaN equals itself."""
    found: dict[str, Any] = {"count": columns.count, "field_ids": columns.field_ids}
    for name in ALL_TYPES if columns.deletes else TYPES:
        column = getattr(columns, name)
        column.validate(full=True)
        found[name] = (str(column.type), repr(column.to_pylist()))
    columns.partition.validate(full=True)
    found["partition"] = (str(columns.partition.type), repr(columns.partition.to_pylist()))
    for field_id in columns.field_ids:
        stored = columns.source.column(f"stats.{field_id}")
        stored.validate(full=True)
        found[f"stored.{field_id}"] = (str(stored.type), repr(stored.to_pylist()))
    return found


def expected(
    entries: list[dict[str, Any]], sequence_number: int = 7, version: int = 2
) -> dict[str, list[Any]]:
    """What the columns must be, said once more from the specification."""
    live = [one for one in entries if one["status"] != 2]
    files = [one["data_file"] for one in live]
    numbers = [one["sequence_number"] if version > 1 else None for one in live]
    file_numbers = [one["file_sequence_number"] if version > 1 else None for one in live]
    inherits = [sequence_number == 0 or one["status"] == 1 for one in live]
    return {
        "path": [file["file_path"] for file in files],
        "format": [file["file_format"].lower() for file in files],
        "record_count": [None if (n := file["record_count"]) < 0 else n for file in files],
        "size_bytes": [file["file_size_in_bytes"] for file in files],
        "sequence_number": [sequence_number if n is None else n for n in numbers],
        "file_sequence_number": [
            sequence_number if n is None and own else n
            for n, own in zip(file_numbers, inherits, strict=True)
        ],
        "snapshot_id": [77 if (n := one["snapshot_id"]) is None else n for one in live],
        "sort_order_id": [file["sort_order_id"] for file in files],
        "split_offsets": [file["split_offsets"] for file in files],
        "key_metadata": [file["key_metadata"] for file in files],
        "first_row_id": [file["first_row_id"] if version > 1 else None for file in files],
    }


def expected_stats(entries: list[dict[str, Any]], field_id: int) -> dict[str, list[Any]]:
    """The statistics of a field, in the words of `ManifestColumnStats`."""
    files = [one["data_file"] for one in entries if one["status"] != 2]

    def of(name: str) -> list[Any]:
        return [(file[name] or {}).get(field_id) for file in files]

    def counts(name: str) -> list[Any]:
        return [None if value is None or value < 0 else value for value in of(name)]

    return {
        "value_counts": counts("value_counts"),
        "null_counts": counts("null_value_counts"),
        "nan_counts": counts("nan_value_counts"),
        "lower": of("lower_bounds"),
        "upper": of("upper_bounds"),
    }


def as_list(column: pa.Array) -> list[Any]:
    """Python's values."""
    return column.to_pylist()
