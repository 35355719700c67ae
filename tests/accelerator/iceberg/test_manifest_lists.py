"""Lists of manifests, and what live files are made of, as PyIceberg writes and reads them."""

from __future__ import annotations

import itertools
import json
import re
import tempfile
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    ManifestContent,
    PartitionFieldSummary,
    read_manifest_list,
    write_manifest_list,
)
from pyiceberg.manifest import ManifestFile as Written
from pyiceberg.partitioning import PartitionField
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DecimalType, IcebergType, StringType

import accelerator
from accelerator.iceberg.catalogs.manifest_summaries import bound_text
from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.io import LocalInputs
from accelerator.iceberg.manifests import interpreter
from accelerator.iceberg.manifests.avro_container import read_container
from accelerator.iceberg.manifests.compiled import COMPILED
from accelerator.iceberg.manifests.decoder import decode_list, decode_summaries
from accelerator.iceberg.manifests.manifest_file import DELETES, ManifestFile, PartitionSummary
from accelerator.iceberg.manifests.reader import decode_manifest, read_list, read_summaries
from accelerator.iceberg.tables.live_files import ColumnarFiles
from accelerator.iceberg.tables.partition_specs import PartitionColumn
from tests.accelerator.iceberg.avro_writer import SYNC, Layout, Writer, number, text
from tests.accelerator.iceberg.manifests import PARTITIONS, entry, listed, pyiceberg_manifest
from tests.support.extent import sized

_COUNTS = st.integers(0, 2**31 - 1)
_NUMBERS = st.integers(0, 2**62)
_WRITTEN = st.builds(
    lambda path, length, spec_id, content, numbers, counts: pyiceberg_manifest(
        manifest_path=path,
        manifest_length=length,
        partition_spec_id=spec_id,
        content=content,
        sequence_number=numbers[0],
        min_sequence_number=0,
        added_snapshot_id=numbers[1],
        added_files_count=counts[0],
        existing_files_count=counts[1],
        deleted_files_count=counts[2],
        added_rows_count=1,
        existing_rows_count=1,
        deleted_rows_count=1,
    ),
    st.text(max_size=9),
    _NUMBERS,
    st.integers(0, 3),
    st.sampled_from(list(ManifestContent)),
    st.tuples(_NUMBERS, _NUMBERS),
    st.tuples(_COUNTS, _COUNTS, _COUNTS),
)


def _both(data: bytes) -> tuple[ManifestFile, ...]:
    plain, fast = (decode_list(read_container(data), one) for one in (interpreter, COMPILED))
    assert plain == fast
    return fast


@settings(max_examples=sized(20, full=100), deadline=None)
@given(st.lists(_WRITTEN, max_size=4), st.sampled_from([1, 2]))
def test_a_list_is_read_as_pyiceberg_reads_it(manifests: list[Written], version: Any) -> None:
    if version == 1:
        manifests = [one for one in manifests if one.content == ManifestContent.DATA]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/list.avro"
        output = PyArrowFileIO().new_output(path)
        with write_manifest_list(version, output, 77, None, 9, "null") as writer:
            writer.add_manifests(manifests)
        found = _both(Path(path).read_bytes())
        assert read_list(LocalInputs(), path) == found
        wanted = list(read_manifest_list(PyArrowFileIO().new_input(path)))
    names = ManifestFile.__slots__
    for one, other in zip(found, wanted, strict=True):
        told = {name: getattr(other, name) for name in names}
        assert {name: getattr(one, name) for name in names} == {
            **told, "content": int(told["content"]), "sequence_number": told["sequence_number"] or 0
        }  # fmt: skip


_SUMMARIES = st.builds(
    lambda null, nan, lower, upper: PartitionFieldSummary(null, nan, lower, upper),
    st.booleans(),
    st.none() | st.booleans(),
    st.none() | st.binary(max_size=5),
    st.none() | st.binary(max_size=5),
)


def _summaries(data: bytes) -> list[tuple[ManifestFile, dict[str, int | None], list[Any]]]:
    plain, fast = (
        [
            (one.manifest, dict(one.row_counts), list(one.summaries))
            for one in decode_summaries(read_container(data), machine)
        ]
        for machine in (interpreter, COMPILED)
    )
    assert plain == fast
    return fast


@settings(max_examples=sized(20, full=100), deadline=None)
@given(
    st.lists(st.tuples(_COUNTS, st.none() | st.lists(_SUMMARIES, max_size=3)), max_size=4),
    st.sampled_from([1, 2]),
)
def test_summaries_are_read_as_pyiceberg_reads_them(
    given_: list[tuple[int, list[PartitionFieldSummary] | None]], version: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/list.avro"
        output = PyArrowFileIO().new_output(path)
        with write_manifest_list(version, output, 77, None, 9, "null") as writer:
            writer.add_manifests(
                [
                    pyiceberg_manifest(
                        added_rows_count=rows, existing_rows_count=rows // 2, partitions=partitions
                    )
                    for rows, partitions in given_
                ]
            )
        found = _summaries(Path(path).read_bytes())
        manifests = read_list(LocalInputs(), path)
        wanted = list(read_manifest_list(PyArrowFileIO().new_input(path)))
    assert tuple(manifest for manifest, _, _ in found) == manifests
    for (_, counts, summaries), other in zip(found, wanted, strict=True):
        assert counts == {name: getattr(other, name) for name in counts}
        names = PartitionSummary.__slots__
        assert [{name: getattr(one, name) for name in names} for one in summaries] == [
            {name: getattr(one, name) for name in names} for one in other.partitions or ()
        ]


def _list(fields: list[tuple[str, Any, int]], values: bytes, rows: int = 1) -> bytes:
    schema = {
        "type": "record",
        "name": "m",
        "fields": [{"name": n, "type": t, "field-id": i} for n, t, i in fields],
    }
    head = number(1) + text(b"avro.schema") + text(json.dumps(schema).encode()) + number(0)
    return b"Obj\x01" + head + SYNC + number(rows) + text(values) + SYNC


_LEAST = [("p", "string", 500), ("l", "long", 501), ("s", "int", 502)]


def test_what_a_list_does_not_say_is_as_in_format_1() -> None:
    (found,) = _both(_list(_LEAST, text(b"m") + number(9) + number(0)))
    assert found == ManifestFile("m", 9, 0)
    assert (found.content, found.sequence_number, found.added_snapshot_id) == (0, 0, None)


@pytest.mark.parametrize(
    ("fields", "values", "reason"),
    [
        (_LEAST[:2], text(b"long") + number(9), "no partition_spec_id"),
        (_LEAST, text(b"m") + number(9) + number(2**31), "32 bits"),
        ([*_LEAST, ("c", "int", 517)], text(b"m") + number(9) + number(0) + number(2), "content 2"),
        (_LEAST, text(b"\xff") + number(9) + number(0), "UTF-8"),
    ],
)
def test_lists_that_cannot_be_are_refused(
    fields: list[tuple[str, str, int]], values: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "list.avro"
    path.write_bytes(_list(fields, values))
    with pytest.raises(ManifestError, match=reason) as raised:
        read_list(LocalInputs(), str(path))
    assert f"the list of manifests {path}" in raised.value.message


_UNION = ["null", "bytes"]
_RANGE = [("n", "boolean", 509), ("l", _UNION, 510), ("u", _UNION, 511)]


def _ranges(fields: list[tuple[str, Any, int]], values: bytes, kind: Any = None) -> bytes:
    parts = [{"name": n, "type": t, "field-id": i} for n, t, i in fields]
    array = {"type": "array", "items": {"type": "record", "name": "r", "fields": parts}}
    head = text(b"m") + number(9) + number(0)
    return _list([*_LEAST, ("ps", kind or array, 507)], head + values)


def test_summaries_in_any_order_of_fields() -> None:
    swapped = [_RANGE[2], ("new", "long", 999), _RANGE[0], ("nan", "null", 518)]
    value = number(1) + text(b"zz") + number(5) + b"\1"
    data = _ranges(swapped, number(2) + value + number(0) + number(5) + b"\0" + number(0))
    ((_, counts, found),) = _summaries(data)
    names = ("added_rows_count", "existing_rows_count", "deleted_rows_count")
    assert counts == dict.fromkeys(names)
    assert found == [PartitionSummary(True, None, None, b"zz"), PartitionSummary(False)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_ranges(_RANGE, number(1) + b"\1" + number(1) + number(2**40) + b"x"), "cut off"),
        (_ranges(_RANGE, number(2**50) + b"\1" + number(0)), "cut off"),
        (_ranges(_RANGE, number(1) + b"\7" + number(0) + number(0) + number(0)), "allow"),
        (_ranges(_RANGE, number(1) + b"\1" + number(9) + number(0) + number(0)), "allow"),
        (_ranges([("n", "null", 509)], number(2**60) + number(0)), "no bytes"),
        (_ranges([("n", "long", 509)], number(0)), "type long"),
        (_ranges(_RANGE, number(0), kind="long"), "type long"),
        (_ranges(_RANGE[:1] * 2, number(0)), "two fields"),
    ],
)
def test_summaries_that_lie_are_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    for machine in (interpreter, COMPILED):
        with pytest.raises(ManifestError, match=reason):
            list(decode_summaries(read_container(data), machine))
    path = tmp_path / "list.avro"
    path.write_bytes(data)
    with pytest.raises(ManifestError, match=reason):
        list(read_summaries(LocalInputs(), str(path)))


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (DateType(), b"\1"),
        (DateType(), b"\xff\xff\xff\x7f"),
        (StringType(), b"\xff"),
        (DecimalType(38, 2), b"\1" * 17),
    ],
)
def test_a_bound_that_is_no_value_of_its_type_is_damage(kind: IcebergType, raw: bytes) -> None:
    field = PartitionField(1, 1000, IdentityTransform(), "p")
    with pytest.raises(ManifestError, match="bound isn't a value of type"):
        bound_text(raw, field, kind)
    assert bound_text(None, field, kind) == "null"


def test_pyiceberg_decodes_nothing_but_what_an_append_has_read_here_first() -> None:
    decoders = re.compile(
        r"read_manifest_list|fetch_manifest_entry|\.inspect\b|\.scan\(\)|AvroFile"
        r"|fast_append|snapshot\.manifests\(|merge_append|\.overwrite\("
    )
    product = Path(accelerator.__file__).parent
    found = {
        str(path.relative_to(product)): calls
        for path in product.rglob("*.py")
        if (calls := decoders.findall(path.read_text(encoding="utf-8")))
    }
    assert found == {"iceberg/writes/append.py": ["fast_append"]}


# What live files are made of


_KINDS: tuple[tuple[str, Any, Any, str], ...] = (
    ("date", 19000, 19000, "date"),
    ("string", "x", "x", "string"),
    ("decimal", b"\xff\xff\xff\xfe", Decimal("-0.02"), "decimal(9, 2)"),
    ("uuid", b"u" * 16, uuid.UUID(bytes=b"u" * 16), "uuid"),
)


def test_what_a_partition_keeps_is_of_the_columns_type() -> None:
    layout = Layout(
        partition=tuple((1000 + at, PARTITIONS[k[0]][0]) for at, k in enumerate(_KINDS))
    )
    values = [entry(partition=tuple(k[1] for k in _KINDS)), entry(partition=(None,) * len(_KINDS))]
    data = Writer(layout).file(values)
    identity = {0: {at: PartitionColumn(1000 + at, k[3]) for at, k in enumerate(_KINDS)}}
    files = ColumnarFiles([listed()], lambda one: decode_manifest(data, one), identity)
    one, other = files.live(np.ones(2, dtype=bool))
    assert one.fixed == {at: k[2] for at, k in enumerate(_KINDS)}
    assert other.fixed == dict.fromkeys(range(len(_KINDS)))


def test_a_partition_that_is_not_what_the_table_says_is_an_error() -> None:
    data = Writer(Layout(partition=((1000, PARTITIONS["bytes"][0]),))).file(
        [entry(partition=(b"odd",))]
    )
    chosen = np.ones(1, dtype=bool)
    for identity, reason in (
        ({}, "the partition spec 0"),
        ({0: {1: PartitionColumn(1001, "date")}}, "the partition field 1001"),
        ({0: {1: PartitionColumn(1000, "uuid")}}, "isn't a UUID"),
    ):
        files = ColumnarFiles([listed()], lambda one: decode_manifest(data, one), identity)
        with pytest.raises(ManifestError, match=reason):
            files.live(chosen)


def test_a_manifest_that_is_listed_twice_has_its_files_twice() -> None:
    data = Writer().file([entry(file_path="a"), entry(file_path="b")])
    files = ColumnarFiles([listed(), listed()], lambda one: decode_manifest(data, one), {0: {}})
    chosen = np.array([True, False, False, True])
    assert [one.path for one in files.live(chosen)] == ["a", "b"]
    some = files.some(chosen)
    assert some.keys()[0].to_pylist() == ["a", "b"]
    assert [one.path for one in some.some(np.array([False, True])).live(np.array([True]))] == ["b"]


def test_equality_deletes_say_what_they_compare() -> None:
    manifest = ManifestFile("m", 1, 0, DELETES)
    plain = dict.fromkeys(("referenced_data_file", "content_offset", "content_size_in_bytes"))
    written = [
        entry(content=2, equality_ids=[1, 3], split_offsets=[4, 8], **plain),
        entry(content=1, equality_ids=None, split_offsets=[9], **plain),
        entry(content=2, equality_ids=[], split_offsets=None, **plain),
    ]
    for pieces, optional in itertools.product((False, True), repeat=2):
        layout = Layout(3, deletes=True, pieces=pieces, optional_values=optional, equality_ids=True)
        columns = decode_manifest(Writer(layout).file(written), manifest)
        assert columns.equality_ids.to_pylist() == [[1, 3], None, []]
        assert columns.split_offsets.to_pylist() == [[4, 8], [9], None]
