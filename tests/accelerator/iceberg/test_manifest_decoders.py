"""The decoder, run both ways, against the specification, PyIceberg's writer, and damage."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DecimalType, LongType, NestedField, StringType, TimestampType, UUIDType

from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.io import LocalInputs
from accelerator.iceberg.manifests import interpreter
from accelerator.iceberg.manifests import reader as manifest_reader
from accelerator.iceberg.manifests.avro_container import AvroBlock, Container, read_container
from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.manifests.compiled import COMPILED
from accelerator.iceberg.manifests.decoder import OutgrownError, decode_entries
from accelerator.iceberg.manifests.manifest_file import DELETES, ManifestFile
from accelerator.iceberg.manifests.program import program_for
from tests.accelerator.iceberg.avro_writer import Layout, Writer, number, text
from tests.accelerator.iceberg.manifests import (
    PARTITIONS,
    as_list,
    entries,
    entry,
    expected,
    expected_stats,
    listed,
    told,
)
from tests.support.extent import sized

CODECS = ("null", "deflate", "snappy", "zstandard")


def both(data: bytes, manifest: ManifestFile) -> ManifestColumns:
    """What both machines say, which is the same; what they refuse, too."""
    return alike(read_container(data), manifest)


def alike(container: Container, manifest: ManifestFile) -> ManifestColumns:
    """As `both`, of a file that is open."""
    plain, fast = (_tried(container, manifest, machine) for machine in (interpreter, COMPILED))
    if isinstance(plain, ManifestError) or isinstance(fast, ManifestError):
        assert str(plain) == str(fast)
        assert isinstance(plain, ManifestError)
        raise plain
    assert told(plain) == told(fast)
    return fast


def _tried(
    container: Container, manifest: ManifestFile, machine: Any
) -> ManifestColumns | ManifestError:
    try:
        return decode_entries(container, manifest, machine)
    except ManifestError as error:
        return error


@st.composite
def manifests(draw: st.DrawFn) -> tuple[Layout, list[dict[str, Any]]]:
    names = draw(st.lists(st.sampled_from(sorted(PARTITIONS)), max_size=3, unique=True))
    layout = Layout(
        version=draw(st.sampled_from([1, 2, 3])),
        codec=draw(st.sampled_from(CODECS)),
        null_last=draw(st.booleans()),
        avro_maps=draw(st.booleans()),
        value_first=draw(st.booleans()),
        optional_values=draw(st.booleans()),
        pieces=draw(st.booleans()),
        unknown=draw(st.booleans()),
        blocks=draw(st.integers(1, 3)),
        seed=draw(st.none() | st.integers(0, 9)),
        partition=tuple((1000 + at, PARTITIONS[name][0]) for at, name in enumerate(names)),
    )
    return layout, draw(entries(tuple(names)))


@settings(max_examples=sized(50, full=150), deadline=None)
@given(manifests(), st.sampled_from([0, 7]))
@example((Layout(version=1), [entry(value_counts={1: 5}, lower_bounds={1: b"ab"})]), 0)
@example((Layout(value_first=True), [entry(value_counts={1: 5})]), 7)
def test_every_layout_is_read_as_the_specification_has_it(
    manifest: tuple[Layout, list[dict[str, Any]]], sequence_number: int
) -> None:
    layout, written = manifest
    columns = both(Writer(layout).file(written), listed(sequence_number=sequence_number))
    for name, values in expected(written, sequence_number, layout.version).items():
        assert as_list(getattr(columns, name)) == values, name
    live = [one["data_file"] for one in written if one["status"] != 2]
    partition = [repr(file["partition"]) for file in live]
    assert [repr(tuple(row.values())) for row in as_list(columns.partition)] == partition
    for field_id in (1, 2, 3, 63, 64, 1000, 2**31 - 1, 5):
        stats = columns.stats(field_id)
        wanted = expected_stats(written, field_id)
        for name, values in wanted.items():
            assert as_list(getattr(stats, name)) == values, (field_id, name)
        known = any(value is not None for values in wanted.values() for value in values)
        assert (field_id in columns.field_ids) == known


SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "at", TimestampType(), required=False),
    NestedField(4, "price", DecimalType(9, 2), required=False),
    NestedField(5, "key", UUIDType(), required=False),
)
SPEC = PartitionSpec(
    PartitionField(3, 1000, DayTransform(), "day"),
    PartitionField(2, 1001, IdentityTransform(), "name"),
    PartitionField(1, 1002, BucketTransform(4), "bucket"),
)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard"])
def test_what_pyiceberg_writes_is_read(version: Any, codec: Any, tmp_path: Path) -> None:
    output = PyArrowFileIO().new_output(f"{tmp_path}/m.avro")
    with write_manifest(version, SPEC, SCHEMA, output, 77, codec) as writer:
        for at in range(20):
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"s3://b/{at}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(19000 + at, f"n{at}", at % 4),
                record_count=at,
                file_size_in_bytes=100 + at,
                column_sizes={1: 3},
                value_counts={1: at, 2: at},
                null_value_counts={1: 0, 2: at},
                nan_value_counts={},
                lower_bounds={1: bytes(8), 2: b"n"},
                upper_bounds={1: bytes(8), 2: b"nnn"[: at % 3 + 1]},
                key_metadata=None,
                split_offsets=[4, 400],
                equality_ids=None,
                sort_order_id=None,
            )
            status = ManifestEntryStatus.DELETED if at == 3 else ManifestEntryStatus.ADDED
            number_ = 5 if at == 3 else None
            writer.add_entry(
                ManifestEntry.from_args(
                    status=status, snapshot_id=77, sequence_number=number_, data_file=file
                )
            )
    written_ = writer.to_manifest_file()
    written_.sequence_number = 0 if version == 1 else 5
    manifest = replace(listed(), sequence_number=written_.sequence_number)
    columns = both(Path(f"{tmp_path}/m.avro").read_bytes(), manifest)
    entries_ = written_.fetch_manifest_entry(LocalInputs(), discard_deleted=True)  # type: ignore[arg-type]
    files = [one.data_file for one in entries_]
    assert as_list(columns.path) == [file.file_path for file in files]
    assert as_list(columns.sequence_number) == [one.sequence_number for one in entries_]
    assert as_list(columns.file_sequence_number) == [one.file_sequence_number for one in entries_]
    rows = [tuple(file.partition[at] for at in range(3)) for file in files]
    assert [tuple(row.values()) for row in as_list(columns.partition)] == rows
    assert str(columns.partition.type) == "struct<1000: int32, 1001: string, 1002: int32>"
    for field_id in (1, 2):
        stats = columns.stats(field_id)
        assert as_list(stats.value_counts) == [file.value_counts[field_id] for file in files]
        assert as_list(stats.upper) == [file.upper_bounds[field_id] for file in files]
        assert as_list(stats.nan_counts) == [None] * 19


def test_more_columns_and_offsets_than_there_was_room_for() -> None:
    """More field ids than the arrays begin with, in changing order, and long lists."""
    shuffled = random.Random(4)
    written = []
    for at in range(30):
        ids = shuffled.sample(range(1, 200), 60)
        maps = {"value_counts": {one: one * at for one in ids}}
        bounds = {"lower_bounds": {one: f"{at}-{one}".encode() for one in ids}}
        written.append(entry(**maps, **bounds, split_offsets=list(range(at * 100))))
    columns = both(Writer(Layout(blocks=4)).file(written), listed())
    assert as_list(columns.split_offsets) == [list(range(at * 100)) for at in range(30)]
    for field_id in range(1, 200):
        stats = columns.stats(field_id)
        wanted = expected_stats(written, field_id)
        assert as_list(stats.value_counts) == wanted["value_counts"]
        assert as_list(stats.lower) == wanted["lower"]


def test_a_key_that_stands_twice_has_its_last_value() -> None:
    plain = Writer().file([entry(value_counts={1: 5, 2: 6})])
    doubled = plain.replace(number(1) + number(5) + number(2), number(1) + number(5) + number(1))
    assert doubled != plain
    columns = both(doubled, listed())
    assert as_list(columns.stats(1).value_counts) == [6]


def test_named_types_are_followed() -> None:
    """Avro names a type once and then refers to it."""
    uuid = PARTITIONS["uuid"][0]
    layout = Layout(partition=((1000, uuid), (1001, uuid)))
    plain = Writer(layout).file([entry(partition=(b"a" * 16, b"b" * 16))])
    container = read_container(plain)
    schema = container.schema
    at = schema.rindex('{"type": "fixed"')
    named = schema[:at] + '"u16"' + schema[schema.index("}", at) + 1 :]
    program = program_for(named)
    assert [field.kind for field in program.partition] == ["binary", "binary"]
    assert program.ops == program_for(schema).ops


# What is wrong, and is refused


def _patched(layout: Layout, change: dict[str, Any]) -> bytes:
    written = entry()
    for name, value in change.items():
        (written if name in written else written["data_file"])[name] = value
    return Writer(layout).file([written])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"content": 1}, "delete file"),
        ({"status": 3}, "status"),
        ({"sort_order_id": 2**31}, "32 bits"),
    ],
)
def test_entries_that_cannot_be_are_refused(change: dict[str, Any], reason: str) -> None:
    data = _patched(Layout(), change)
    with pytest.raises(ManifestError, match=reason):
        both(data, listed())


@pytest.mark.parametrize("field_id", [0, 2, 100, 101, 102, 103, 104])
def test_a_schema_without_a_required_field_is_refused(field_id: int) -> None:
    data = Writer(Layout(left_out=frozenset({field_id}))).file([entry()])
    with pytest.raises(ManifestError, match=r"has no|schema"):
        both(data, listed())


@pytest.mark.parametrize("field_id", [1, 3, 4, 134, 109, 125, 131, 132, 140, 142])
def test_every_other_field_may_be_missing(field_id: int) -> None:
    layout = Layout(left_out=frozenset({field_id}))
    columns = both(Writer(layout).file([entry(value_counts={1: 2})]), listed())
    assert columns.count == 1


def test_delete_files_have_columns_of_their_own() -> None:
    manifest = replace(listed(), content=DELETES)
    vector = {"referenced_data_file": "a", "content_offset": 4, "content_size_in_bytes": 40}
    written = [
        entry(content=2, file_path="e", **dict.fromkeys(vector)),
        entry(content=1, file_path="v", **vector),
    ]
    columns = both(Writer(Layout(deletes=True, version=3)).file(written), manifest)
    assert columns.deletes
    assert columns.content.to_pylist() == [2, 1]
    assert columns.referenced_data_file.to_pylist() == [None, "a"]
    assert columns.content_offset.to_pylist() == [None, 4]
    assert columns.content_size.to_pylist() == [None, 40]
    older = both(Writer().file([entry(content=1)]), manifest)
    assert older.referenced_data_file.to_pylist() == [None]


def test_a_data_file_among_deletes_is_refused() -> None:
    manifest = replace(listed(), content=DELETES)
    with pytest.raises(ManifestError, match="isn't a delete file"):
        manifest_reader.decode_manifest(Writer().file([entry()]), manifest)


def test_an_unknown_codec_is_refused_by_its_name() -> None:
    with pytest.raises(ManifestError, match="xz"):
        read_container(Writer(Layout(codec="xz")).file([entry()]))


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "[]",
        '"x"',
        "null",
        '{"type":"record","name":"a","fields":[{"name":"b"}]}',
        '{"type":"record","name":"a","fields":[{"name":"b","type":{"type":"array"}}]}',
        '{"type":"record","name":"a","fields":[{"name":"b","type":{"type":"array","items":"null"}}]}',
        '{"type":"record","name":"a","fields":[{"name":"b","type":{"type":"fixed"}}]}',
        '{"type":"record","name":"a","fields":[{"name":"b","type":[]}]}',
        "[" * 100_000,
    ],
)
def test_schemas_that_lead_nowhere_are_refused(schema: str) -> None:
    with pytest.raises(ManifestError):
        program_for(schema)


@pytest.mark.parametrize("value", [5, True, 1.5, None, "x", [], {}, [5], [None], {"type": 5}])
@pytest.mark.parametrize(
    "kind", ["record", "array", "map", "fixed", "enum", "long", "union", "nobody"]
)
def test_schemas_whose_parts_are_anything_are_refused(kind: str, value: Any) -> None:
    """The parts of a type, in a field that is passed over and in one that is read."""
    parts = ("fields", "items", "values", "type", "name", "namespace", "symbols", "size")
    for part in parts:
        odd = {"type": kind, "name": "n", part: value}
        for one in (odd, [odd], ["null", odd], {"type": odd}):
            for field in ({"name": "b", "type": one}, {"name": "b", "type": one, "field-id": 2}):
                schema = {"type": "record", "name": "a", "fields": [field]}
                with pytest.raises(ManifestError):
                    program_for(json.dumps(schema))


@pytest.mark.parametrize("span", [9, 100_000_000 << 32 | 9, 2_000_000_000 << 32 | 9, -1])
def test_an_enum_without_symbols_is_refused(span: int) -> None:
    """Its values would be taken for places of texts."""
    layout = Layout(partition=((1000, "long"),))
    container = read_container(Writer(layout).file([entry(partition=(span,))]))
    empty = json.loads(container.schema)
    record = empty["fields"][-1]["type"]["fields"]
    (partition,) = (one["type"]["fields"] for one in record if one["field-id"] == 102)
    partition[0]["type"][1] = {"type": "enum", "name": "e", "symbols": []}
    odd = Container(container.metadata, json.dumps(empty), container.data, container.blocks)
    with pytest.raises(ManifestError, match="symbols"):
        alike(odd, listed())


def test_more_statistics_than_python_counts_soon_go_to_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(manifest_reader, "_MACHINE", "not there yet")
    monkeypatch.setattr(manifest_reader, "_spent", manifest_reader._Spent())
    many = [entry(value_counts=dict.fromkeys(range(1, 1000), 5))]
    with pytest.raises(OutgrownError):
        decode_entries(read_container(Writer().file(many)), listed(), interpreter)
    columns = manifest_reader.decode_manifest(Writer().file(many), listed())
    assert as_list(columns.stats(999).value_counts) == [5]


def test_a_record_inside_itself_is_refused() -> None:
    with pytest.raises(ManifestError, match="the record a of its schema contains itself"):
        program_for('{"type":"record","name":"a","fields":[{"name":"b","type":"a"}]}')


def test_types_that_name_each_other_end() -> None:
    """Twice the one before, sixty times over."""
    leaf = [{"name": "x", "type": "double"}]
    inner: dict[str, Any] = {"type": "record", "name": "t0", "fields": leaf}
    for at in range(1, 60):
        pair = [{"name": "a", "type": inner}, {"name": "b", "type": f"t{at - 1}"}]
        inner = {"type": "record", "name": f"t{at}", "fields": pair}
    fields = [{"name": "f", "type": {"type": "array", "items": inner}}]
    with pytest.raises(ManifestError, match="too large"):
        program_for(json.dumps({"type": "record", "name": "e", "fields": fields}))


def _whole(layout: Layout) -> bytes:
    maps = {"value_counts": {1: 300, 2: 4}, "lower_bounds": {1: b"abc", 2: b""}}
    one = entry(**maps, partition=(True, 1.5), split_offsets=[4, 900], key_metadata=b"k")
    return Writer(layout).file([one, entry(**maps, partition=(None, None))])


DAMAGED = Layout(partition=((1000, "boolean"), (1001, "float")), blocks=2)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("odd", [False, True])
def test_a_file_cut_off_anywhere_is_refused(codec: str, odd: bool) -> None:
    """But between two blocks, where nothing tells."""
    flags = {"null_last": True, "avro_maps": True, "pieces": True, "unknown": True} if odd else {}
    layout = Layout(codec=codec, partition=DAMAGED.partition, blocks=2, **flags)  # type: ignore[arg-type]
    data = _whole(layout)
    accepted = []
    for size in range(len(data)):
        try:
            columns = manifest_reader.decode_manifest(data[:size], listed())
        except ManifestError:
            continue
        accepted.append(columns.count)
    assert accepted == [0, 1]  # behind the header, and behind the first block


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard"])
def test_a_block_that_cannot_be_unpacked_is_refused(codec: str) -> None:
    layout = Layout(codec=codec)
    head = Writer(layout).file([])
    sync = bytes(range(16))
    block = Writer(layout).file([entry()])[len(head) : -len(sync)]
    packed = block[len(number(1) + number(len(block))) :]
    assert both(head + number(1) + text(packed) + sync, listed()).count
    for damaged in (packed[:-5], packed[: len(packed) // 2], b"", b"\xff" * len(packed)):
        with pytest.raises(ManifestError):
            read_container(head + number(1) + text(damaged) + sync)


def test_snappy_blocks_are_checked_by_their_checksum() -> None:
    layout = Layout(codec="snappy")
    data = bytearray(Writer(layout).file([entry()]))
    data[-17] ^= 1  # the last byte before the sync marker
    with pytest.raises(ManifestError, match="checksum"):
        read_container(bytes(data))


@settings(max_examples=sized(80, full=300), deadline=None)
@given(st.data(), st.sampled_from(CODECS))
def test_altered_files_are_refused_or_read(data: st.DataObject, codec: str) -> None:
    layout = Layout(codec=codec, partition=DAMAGED.partition, pieces=True, unknown=True)
    whole = bytearray(_whole(layout))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ManifestError):
        told(manifest_reader.decode_manifest(bytes(whole), listed()))


@settings(max_examples=sized(120, full=400), deadline=None)
@given(st.data(), st.booleans())
def test_altered_blocks_are_refused_or_read_alike(data: st.DataObject, odd: bool) -> None:
    """Bytes of entries are altered at random, and the lengths beside them stay."""
    flags = {"null_last": True, "avro_maps": True, "pieces": True, "unknown": True} if odd else {}
    layout = Layout(partition=DAMAGED.partition, **flags)  # type: ignore[arg-type]
    sound = read_container(_whole(layout))
    plain = bytearray(sound.data)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(plain) - 1))
        plain[at] = data.draw(st.sampled_from([0, 1, 2, 3, 127, 128, 255]))
    container = type(sound)(sound.metadata, sound.schema, bytes(plain), sound.blocks)
    with suppress(ManifestError):
        alike(container, listed())


@pytest.mark.parametrize("length", [-1, -(2**40), -(2**62), 4000, 2**40, 2**62])
def test_lengths_of_bounds_that_lie_are_refused(length: int) -> None:
    sound = read_container(Writer().file([entry(lower_bounds={1: b"abc"})]))
    plain = bytes(sound.data).replace(text(b"abc"), number(length) + b"abc")
    _is_refused(sound, plain)


def test_bytes_behind_the_last_entry_are_refused() -> None:
    sound = read_container(Writer().file([entry()]))
    _is_refused(sound, bytes(sound.data) + b"\0")


def _is_refused(sound: Container, plain: bytes) -> None:
    container = Container(sound.metadata, sound.schema, plain, (AvroBlock(1, 0, len(plain)),))
    with pytest.raises(ManifestError):
        alike(container, listed())


def test_lengths_that_lie_ask_for_no_memory() -> None:
    head = Writer().file([])
    huge = number(2**62)
    for tail in (
        huge + text(b"") + bytes(range(16)),  # entries of an empty block
        number(1) + huge,  # a block's size
        number(1) + text(number(1) + huge) + bytes(range(16)),
    ):
        with pytest.raises(ManifestError):
            manifest_reader.decode_manifest(head + tail, listed())


# Which of both runs


def test_python_runs_over_the_first_bytes_then_compiled_code_over_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent = manifest_reader._Spent()
    monkeypatch.setattr(manifest_reader, "_MACHINE", "not there yet")
    monkeypatch.setattr(manifest_reader, "SMALL_BYTES", 100)
    assert spent.affords(60)
    assert not spent.affords(60)
    assert spent.affords(40)
    assert not spent.affords(1)
    monkeypatch.setattr(manifest_reader, "_MACHINE", "sys")
    assert not manifest_reader._Spent().affords(1)


def test_errors_name_the_manifest() -> None:
    data = Writer(Layout(null_last=True)).file([entry()])
    with pytest.raises(ManifestError, match="the manifest s3://b/m is damaged"):
        manifest_reader.decode_manifest(data[:-1], listed("s3://b/m"))
