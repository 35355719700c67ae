"""Bounds of manifest entries as numbers, and what fixes or contradicts them."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.artifacts.segments.records import bounds_of
from accelerator.iceberg.manifests.manifest_file import DELETES
from accelerator.iceberg.manifests.reader import decode_manifest
from accelerator.iceberg.statistics.file_statistics import ColumnStatistics, FileStatistics
from accelerator.iceberg.tables.delete_matching import DeleteFiles, Listed
from accelerator.iceberg.tables.live_files import ColumnarFiles
from accelerator.iceberg.tables.partition_specs import PartitionColumn
from cubes.definition import CubeDefinition
from tests.accelerator.iceberg.avro_writer import Layout, Writer
from tests.accelerator.iceberg.manifests import entry, listed
from tests.cubes.star import Star, cube

A = 1
"""The field id of the one column."""


@dataclass(frozen=True)
class _File:
    """What a manifest says of a data file; one without a partition is of a spec without fields."""

    bounds: tuple[bytes, bytes] | None
    rows: int = 3
    nulls: int | None = 0
    values: int | None = None
    partition: tuple[Any, ...] = ()
    path: str = ""


def _file(bounds: tuple[bytes, bytes] | None, **more: Any) -> _File:
    return _File(bounds, **more)


def _source(files: Sequence[_File], deletes: Sequence[dict[str, Any]] = ()) -> ColumnarFiles:
    """A manifest for each of them, as it's written and read."""
    made = {}
    for number, file in enumerate(files):
        lower, upper = file.bounds or (None, None)
        one = entry(
            file_path=file.path or f"f{number}",
            partition=file.partition,
            record_count=file.rows,
            value_counts={A: file.rows if file.values is None else file.values},
            null_value_counts=None if file.nulls is None else {A: file.nulls},
            nan_value_counts={A: 0},
            lower_bounds=None if lower is None else {A: lower},
            upper_bounds=None if upper is None else {A: upper},
        )
        kinds = {bool: "boolean", int: "int", float: "double", type(None): "int"}
        partition = tuple((1000, kinds[type(value)]) for value in file.partition)
        manifest = replace(listed(f"m{number}"), partition_spec_id=len(partition))
        data = Writer(Layout(partition=partition)).file([one])
        made[manifest] = decode_manifest(data, manifest)
    named = replace(listed("d", sequence_number=8), content=DELETES)
    data = Writer(Layout(version=3, deletes=True)).file(list(deletes))
    against = DeleteFiles([Listed(0, decode_manifest(data, named))], {0}, set())
    identity = {0: {}, 1: {A: PartitionColumn(1000)}}
    return ColumnarFiles(list(made), made.__getitem__, identity, deletes=against)


def _delete(path: str, target: str, rows: int, *, vector: bool = False) -> dict[str, Any]:
    at = {"content_offset": 4 if vector else None, "content_size_in_bytes": 40 if vector else None}
    own = {"file_path": path, "referenced_data_file": target, "record_count": rows}
    return entry(content=1, **own, **at)


def _column(files: Sequence[_File], type_: str) -> ColumnStatistics:
    return FileStatistics(_source(files)).column(A, type_)


@pytest.mark.parametrize(
    ("type_", "lower", "upper", "values"),
    [
        ("int", struct.pack("<i", -5), struct.pack("<i", 7), (-5, 7)),
        ("bigint", struct.pack("<i", -5), struct.pack("<q", 2**40), (-5, 2**40)),
        ("date", struct.pack("<i", -1), struct.pack("<i", 19000), (-1, 19000)),
        ("timestamp", struct.pack("<q", -1), struct.pack("<q", 5), (-1, 5)),
        ("decimal(10,2)", b"\xff", b"\x01\x00", (-1, 256)),
        ("decimal(18,0)", b"\x80" + bytes(7), b"\x7f" + b"\xff" * 7, (-(2**63), 2**63 - 1)),
        ("decimal(38,2)", b"\xff", b"\x01", (None, None)),
        ("double", struct.pack("<f", 0.5), struct.pack("<d", 2.25), (0.5, 2.25)),
        ("string", b"a", "ä".encode(), (b"a", "ä".encode())),
        ("int", struct.pack("<q", 5), b"", (None, None)),
        ("timestamp", struct.pack("<i", 5), struct.pack("<q", 6), (None, 6)),
        ("boolean", b"\x00", b"\x01", (0, 1)),
        ("binary", b"\x00", b"\x01", (None, None)),
    ],
)
def test_bounds_are_read_by_type_and_width(
    type_: str, lower: bytes, upper: bytes, values: tuple[Any, Any]
) -> None:
    bounds = _column([_file(None), _file((lower, upper)), _file(None)], type_).bounds
    assert bounds.lower.to_pylist() == [None, values[0], None]
    assert bounds.upper.to_pylist() == [None, values[1], None]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-(10**18) + 1, 10**18 - 1), max_size=6))
def test_decimals_of_any_width(values: list[int | None]) -> None:
    def text(value: int) -> bytes:
        return value.to_bytes(max(1, (value.bit_length() + 8) // 8), "big", signed=True)

    files = [_file(None if v is None else (text(v), text(v))) for v in values]
    found = _column(files, "decimal(18,4)")
    assert found.bounds.lower.to_pylist() == values
    assert found.fixed.tolist() == [v is not None for v in values]


def test_a_partition_fixes_the_value_whatever_the_bounds() -> None:
    seven = struct.pack("<i", 7)
    right = _column([_file((seven, seven), partition=(7,)), _file(None, partition=(None,))], "int")
    assert right.bounds.lower.to_pylist() == [7, None]
    assert right.bounds.nulls.tolist() == [0, 3]
    assert (right.fixed.tolist(), right.contradicts) == ([True, True], False)
    assert _column([_file((seven, seven), partition=(8,))], "int").contradicts
    assert _column([_file((seven, seven), partition=(None,))], "int").contradicts


def test_a_partition_is_proven_by_bounds_of_the_file() -> None:
    seven = struct.pack("<i", 7)
    files = [
        _file((seven, seven), partition=(7,)),
        _file(None, partition=(7,)),
        _file(None, partition=(None,), nulls=3),
        _file(None, partition=(None,), nulls=None),
        _file(None),
    ]
    assert _column(files, "int").unproven.tolist() == [False, True, False, True, False]
    one, nine = struct.pack("<i", 1), struct.pack("<i", 9)
    wide = _column([_file((one, nine), partition=(7,)), _file((seven, seven), nulls=2)], "int")
    assert wide.unproven.tolist() == [True, False] and not wide.contradicts
    some = _column([_file((seven, seven), partition=(7,), nulls=1)], "int")
    assert some.unproven.tolist() == [True]


def test_a_partition_of_floats_claims_nothing() -> None:
    two = struct.pack("<d", 2.0)
    found = _column([_file((two, two), partition=(2.0,)), _file((two, two))], "double")
    assert found.bounds.bounded.tolist() == [False, True]
    assert found.fixed.tolist() == [False, False]  # −0.0 and NaN may hide behind a bound


def test_a_partition_of_booleans_claims_nothing() -> None:
    true = b"\x01"
    files = [_file((true, true), partition=(True,)), _file((true, true), partition=(None,))]
    found = _column(files, "boolean")
    assert found.fixed.tolist() == [False, False]
    assert found.unproven.tolist() == [True, True]


def test_counts_that_miss_rows_say_nothing() -> None:
    file = _file(None, nulls=3)
    short = dataclasses.replace(file, values=2)
    found = _column([file, short], "int")
    assert found.bounds.always_null.tolist() == [True, False]
    assert found.bounds.nulls.tolist() == [3, -1]


def test_rows_that_are_left() -> None:
    files = [_file(None, path=path) for path in "abcda"]
    deletes = [
        _delete("p", "b", 2, vector=True),
        _delete("q", "c", 1),
        _delete("r", "d", 2, vector=True),
        _delete("s", "d", 1),
    ]
    statistics = FileStatistics(_source(files, deletes))
    # A vector holds what position deletes had said before it.
    assert statistics.alive.tolist() == [3, 1, -1, 1, 3]
    assert statistics.source.single.tolist() == [False, True, True, True, False]
    chosen = np.array([True, False, True, False, False])
    assert [f.path for f in statistics.source.live(chosen)] == ["a", "c"]
    left = FileStatistics(statistics.source.some(~chosen))
    assert (left.alive.tolist(), left.source.keys()[0].to_pylist()) == ([1, 1, 3], ["b", "d", "a"])
    (_, file, _) = left.source.live(np.ones(3, dtype=bool))
    assert [ref.path for ref in file.deletes] == ["r"]
    keys = {("a", 7), ("c", 7), ("b", 6)}
    assert statistics.source.named(keys).tolist() == [True, False, True, False, True]


def test_no_file_at_all() -> None:
    found = _column([], "int")
    assert found.bounds.lower.type == pa.int64()
    assert len(found.fixed) == 0


def test_a_segment_has_bounds_of_what_it_sums() -> None:
    """Of columns without a NULL, as the manifest proves it."""
    whole = cube("SELECT f.g, sum(n) s FROM f GROUP BY f.g")
    (column,) = (c for c in Star.tables["f"].columns if c.name == "n")
    one, two = (value.to_bytes(4, "little") for value in (1, 2))
    files = [
        _file((one, two)),
        _file((one, two), nulls=1),
        _file((one, two), nulls=None),
        _file(None),
        _file((one, two), rows=0),
    ]
    for type_, expected in (("int", {"f0": {"1": [1, 2]}}), ("string", {})):
        facts = SimpleNamespace(columns=(SimpleNamespace(field_id=A, type=type_),))
        fact = SimpleNamespace(facts=facts, statistics_of=lambda _: FileStatistics(_source(files)))
        found = bounds_of(_summing(whole, column.field_id), fact, ())
        assert {path: told for (path, _), told in found.items()} == expected


def _summing(whole: CubeDefinition, field_id: int) -> CubeDefinition:
    """The cube over column A in the place of that one."""
    states = tuple(
        replace(s, argument=replace(s.argument, field_id=A)) if s.argument is not None else s
        for s in whole.states
    )
    assert any(s.argument is not None and s.argument.field_id == A for s in states), field_id
    return replace(whole, states=states)
