"""Bytes whose checksums are right, and whose counts and offsets lie: refused, at no great cost.

Whoever may write to a store can compute a CRC-32. `fuzz/bytes` found these, or the like of them.
"""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from functools import cache
from random import Random
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyroaring import BitMap

from fuzz.bytes.seals import keyed_sealed
from indexes.domains import BYTES, INT64
from indexes.inverted import dictionary
from indexes.inverted.cells import ColumnCells, cells_of
from indexes.inverted.dictionary import Taker, decode, rising
from indexes.inverted.postings import PLAIN, ROARING, RUNS
from indexes.inverted.postings import decode as decode_set
from indexes.inverted.reader import parse_head
from indexes.inverted.terms_reader import parse_head as parse_terms
from indexes.kind import Blob, IndexedColumn, Intervals
from indexes.kinds import BITMAP, BLOOM, BOUNDS, NGRAM_BLOOM, RANGE, TOKEN_BITMAP
from indexes.kinds.bloom import PYBLOOM_TYPE, answers
from indexes.kinds.bounds import are_of, read_bounds
from indexes.puffin import MAGIC, footer_of
from indexes.question import Among, Like
from indexes.range.bundle import FILES_MAX, GroupShape, RangeGroup, write_group
from indexes.range.filters import read_filter

ROWS = 600
BOUND = 1 << 20


def _blobs(kind, type_: str, values: pa.Array, **options) -> list[Blob]:
    builder = kind.builder(IndexedColumn(type_, (len(values),)), kind.options(type_, options))
    builder.add(values)
    return list(builder.finish())


def _reads(data: bytes):
    return lambda offset, length: data[offset : offset + length]


@cache
def _bitmap() -> Blob:
    values = pa.array([n % 90 for n in range(ROWS)], pa.int64())
    return _blobs(BITMAP, "bigint", values, rows="true", bins=8)[0]


def _head(data: bytes, at: int, form: str, value: int) -> bytes:
    """The head with another number at a place, and its checksum."""
    found = bytearray(data)
    struct.pack_into("<" + form, found, at, value)
    return keyed_sealed(Random(0), bytes(found))


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([(0, 2**32 - 1)], id="beyond the bound"),
        pytest.param([(5, 9), (10, 3)], id="overlapping"),
        pytest.param([(0, BOUND - 1)] * 30_000, id="work without end"),
        pytest.param([(9, 1), (2, 1)], id="falling"),
    ],
)
def test_runs_that_cannot_be(runs):
    data = np.array(runs, "<u4").tobytes()
    began = time.monotonic()
    with pytest.raises(ValueError, match="runs of a posting"):
        decode_set(data, RUNS, BOUND)
    assert time.monotonic() - began < 5


def test_runs_that_can():
    data = np.array([(0, 4), (6, 0), (BOUND - 1, 0)], "<u4").tobytes()
    assert decode_set(data, RUNS, BOUND) == BitMap([0, 1, 2, 3, 4, 6, BOUND - 1])
    assert decode_set(b"", RUNS, BOUND) == decode_set(b"", PLAIN, BOUND) == BitMap()


@pytest.mark.parametrize("data", [b"", b"\x3a\x30", b"\x3b\x30\xff\xff" + bytes(9_000)])
def test_roaring_bitmaps_that_are_none(data):
    with pytest.raises(ValueError):
        decode_set(data, ROARING, BOUND)


def test_containers_that_are_not_sound_are_refused():
    sound = BitMap([*range(0, 300_000, 7), 5 << 16]).serialize()
    refused = 0
    for at in range(8, 40):
        for value in (0, 255):
            hostile = sound[:at] + bytes([value]) + sound[at + 1 :]
            try:
                found = decode_set(hostile, ROARING, BOUND)
            except ValueError:
                refused += 1
            else:
                assert sorted(found) == list(found) and found.max() < BOUND
    assert refused > 20


@pytest.mark.parametrize(
    ("numbers", "more"),
    [
        ([3, 2], {}),
        ([-1, 2], {}),
        ([0, 2], {"last": 3}),
        ([1, 2], {"first": 0}),
        ([0, 2, 2], {"strictly": True}),
    ],
)
def test_numbers_that_do_not_rise(numbers, more):
    with pytest.raises(ValueError, match="can't be"):
        rising(np.array(numbers, np.int64), **more)


def _block(count: int, prefix: bytes, lengths: list[int], text: bytes, tail: bytes) -> bytes:
    column = b"\x08" + np.array(lengths, "<u8").tobytes()
    return struct.pack("<II", count, len(prefix)) + prefix + column + text + tail


def test_a_block_that_would_be_expanded_without_end():
    count, prefix = 20_000, bytes(1 << 20)
    tail = b"\x01" + bytes(count)
    data = struct.pack("<II", count, len(prefix)) + prefix + b"\x01" + bytes(count) + tail
    with pytest.raises(ValueError, match="begin with the same"):
        decode(data, 0, BYTES, ())


@pytest.mark.parametrize("lengths", [[2**63, 2**63 + 3], [2**64 - 1, 4], [2**32, 0]])
def test_lengths_whose_sum_overflows(lengths):
    data = _block(2, b"", lengths, b"abc", b"\x01\x01\x01")
    with pytest.raises(ValueError, match="should be below"):
        decode(data, 0, BYTES, ())


def test_keys_and_counts_of_a_block_that_cannot_be():
    def block(keys: list[int], counts: list[int]) -> bytes:
        two = [b"\x08" + np.array(some, "<u8").tobytes() for some in (keys, counts)]
        return struct.pack("<IQ", len(keys), 0) + b"".join(two)

    assert decode(block([0, 5], [1, 2]), 0, INT64, ()).counts.tolist() == [1, 2]
    with pytest.raises(ValueError, match="order"):
        decode(block([5, 0], [1, 2]), 0, INT64, ())
    with pytest.raises(ValueError, match="should be below"):
        decode(block([0, 5], [1, 2**63]), 0, INT64, ())


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [
        pytest.param(8, "Q", 2**40, id="rows without end"),
        pytest.param(8, "Q", ROWS + 1, id="more rows than blocks"),
        pytest.param(16, "I", 91, id="more values than there are"),
        pytest.param(26, "Q", 5, id="blocks that don't begin with row 0"),
    ],
)
def test_heads_that_cannot_be(at, form, value):
    sound = _bitmap()
    head = int.from_bytes(sound.data[4:8], "little")
    assert parse_head(sound.data[:head], INT64).ndv == 90
    with pytest.raises(ValueError):
        parse_head(_head(sound.data[:head], at, form, value), INT64)


def test_every_number_of_a_head_may_lie():
    """Whatever stands in its place: refused, or all that is told of is within the file."""
    sound = _bitmap()
    head = int.from_bytes(sound.data[4:8], "little")
    column, taken = IndexedColumn("bigint", (ROWS,)), 0
    for at in range(8, head - 12, 4):
        for value in (0, 7, 2**31 - 1, 2**32 - 1):
            data = _head(sound.data, at, "I", value)
            try:
                told = BITMAP.probe(sound, _reads(data), Among((3, 50)), column)
            except ValueError:
                continue
            taken += 1
            assert told is not None
            assert not told.true.upper or told.true.upper.max() < ROWS
    assert taken


def test_terms_of_rows_without_end():
    texts = pa.array([f"alpha w{n % 40}".encode() for n in range(ROWS)], pa.large_binary())
    (heavy,) = (one for one in _blobs(TOKEN_BITMAP, "string", texts) if not one.light)
    head = int.from_bytes(heavy.data[4:8], "little")
    assert parse_terms(heavy.data[:head], BYTES).rows == ROWS
    for at, form, value in ((8, "Q", 2**50), (16, "I", 0), (20, "I", 3)):
        with pytest.raises(ValueError):
            parse_terms(_head(heavy.data[:head], at, form, value), BYTES)


def test_cells_count_every_row_once():
    """Dictionaries that count other rows than the file has."""
    sound, column = _bitmap(), IndexedColumn("bigint", (ROWS,))
    held = ColumnCells.open(sound, _reads(sound.data), column)
    assert held is not None
    assert cells_of([held], [("rows", None)], ROWS, None) is not None
    counted = held.counts()
    counted[3] += 2
    held.counts = lambda: counted  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="counts 602 rows of 600"):
        cells_of([held], [("rows", None)], ROWS, None)


@cache
def _group() -> tuple[bytes, GroupShape]:
    r = Random(7)
    blobs = []
    for _ in range(5):
        values = pa.array([r.randrange(40) << 41 | r.getrandbits(12) for _ in range(400)])
        blobs += _blobs(RANGE, "bigint", values, mode="bucket")
    return write_group(blobs)


def _resealed(directory: bytes) -> bytes:
    return directory[:-4] + crc32(directory[:-4]).to_bytes(4, "little")


def _lying(count_at: int, value: int) -> tuple[bytes, GroupShape]:
    """The group with another number of codes of a file in its first cell, checksums made right."""
    data, shape = _group()
    directory, cells = bytearray(data[: shape.directory]), bytearray(data[shape.directory :])
    number = struct.unpack_from("<I", directory)[0]
    assert number == 1
    width = cells[0]
    cells[1 + count_at * width : 1 + (count_at + 1) * width] = value.to_bytes(width, "little")
    struct.pack_into("<I", directory, 16 + 12 * number, crc32(bytes(cells)))
    return _resealed(bytes(directory)) + bytes(cells), shape


ASKED = Intervals(((0, 39 << 41), (5, 1 << 50), (-(2**62), 2**62)))


@pytest.mark.parametrize("file", range(5))
@pytest.mark.parametrize("value", [0, 1, 100, 255])
def test_a_cell_with_lying_counts(file, value):
    data, shape = _lying(file, value)
    try:
        may = RangeGroup(shape).may(ASKED, _reads(data))
    except ValueError:
        pass
    else:
        assert may is not None and may.shape == (5,)
    with suppress(ValueError):
        RangeGroup(shape).blobs(_reads(data), {})


def test_a_cell_of_ones_alone():
    """More ones than codes: nothing is read behind the cell."""
    data, shape = _group()
    directory, cells = bytearray(data[: shape.directory]), bytearray(data[shape.directory :])
    first = 1 + 5 * cells[0]
    cells[first:] = b"\xff" * (len(cells) - first)
    struct.pack_into("<I", directory, 16 + 12, crc32(bytes(cells)))
    hostile = _resealed(bytes(directory)) + bytes(cells)
    may = RangeGroup(shape).may(ASKED, _reads(hostile))
    assert may is not None and may.all()


def test_cells_that_are_not_in_their_order():
    data, shape = _group()
    directory = bytearray(data[: shape.directory])
    struct.pack_into("<Q", directory, 8, 0)  # the highest code is below the lowest
    with pytest.raises(ValueError, match="order"):
        RangeGroup(shape).may(ASKED, _reads(_resealed(bytes(directory)) + data[len(directory) :]))
    empty = _resealed(struct.pack("<IIQI", 0, shape.files, 5, 0))
    with pytest.raises(ValueError, match="0 cells"):
        RangeGroup(replace(shape, directory=len(empty))).may(ASKED, _reads(empty))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("files", -1), ("files", 0), ("files", FILES_MAX + 1), ("shift", 64), ("shift", -1)),
        *(("mode", "other"), ("mode", None), ("layers", 3), ("words", 2**40), ("directory", -1)),
    ],
)
def test_groups_that_cannot_be(name, value):
    _, shape = _group()
    assert GroupShape.from_json(shape.to_json()) == shape
    with pytest.raises((ValueError, TypeError)):
        GroupShape.from_json({**shape.to_json(), name: value})


def test_prefixes_of_files_without_end_take_no_memory():
    said = {"mode": "bloomrf", "files": FILES_MAX, "shift": 0, "words": 2**20, "layers": 10}
    shape = GroupShape.from_json({**said, "prefix": None, "directory": 0})
    with pytest.raises(ValueError, match="cut off"):
        RangeGroup(shape).may(ASKED, _reads(b"short"))
    with pytest.raises(ValueError, match="cut off"):
        RangeGroup(shape).blobs(_reads(b"short"), {})


@pytest.mark.parametrize("count", [0, -1, 401, 2**32, 2**63, 2**64, 2**70])
def test_a_range_filter_with_a_lying_count(count):
    values = pa.array([n * n * 7_919 for n in range(400)])
    (blob,) = _blobs(RANGE, "bigint", values, mode="bucket")
    assert read_filter(blob).bits
    with pytest.raises(ValueError):
        read_filter(replace(blob, properties={**blob.properties, "count": str(count)}))


def test_codes_that_are_not_in_their_order():
    """They'd be put in places that no sorted codes have, behind the end of the bytes."""
    values = pa.array([n * 1_000 + n % 3 for n in range(64)])
    (blob,) = _blobs(RANGE, "bigint", values, mode="bucket")
    refused = 0
    for at in range(len(blob.data) - 4):
        data = bytearray(blob.data[:-4])
        data[at] ^= 0xFF
        sealed = bytes(data) + crc32(bytes(data)).to_bytes(4, "little")
        try:
            found = read_filter(replace(blob, data=sealed))
        except ValueError:
            refused += 1
            continue
        assert (np.diff(found.values) >= 0).all()  # type: ignore[union-attr]
        found.to_blob({})
    assert refused


def _bounds(**changes) -> bytes:
    columns = {
        "lower": pa.array([1, 2], pa.int64()),
        "upper": pa.array([5, 6], pa.int64()),
        "nulls": pa.array([0, 0], pa.int64()),
        "nans": pa.array([0, 0], pa.int64()),
        "tight": pa.array([True, False]),
        **changes,
    }
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    "changes",
    [
        {"nulls": pa.array([0, None], pa.int64())},
        {"nans": pa.array([-1, 0], pa.int64())},
        {"tight": pa.array([None, True])},
        {"nulls": pa.array([0.5, 1.0])},
        {"lower": pa.array(["a", "b"])},
        {"lower": pa.array([[1], [2]]), "upper": pa.array([[1], [2]])},
    ],
)
def test_bounds_that_cannot_be(changes):
    assert are_of(read_bounds(_bounds()), "bigint")
    assert not are_of(read_bounds(_bounds()), "string")
    with pytest.raises(ValueError, match="no bounds"):
        read_bounds(_bounds(**changes))


def test_light_blobs_that_cannot_be():
    (blob,) = _blobs(BLOOM, "bigint", pa.array(range(40)), filter="pybloom")
    assert blob.type == PYBLOOM_TYPE
    for rate in (5e-324, 2.0**-80, float("nan"), 1.0, -1.0):
        data = struct.pack("<d", rate) + blob.data[8:]
        with pytest.raises(ValueError, match="pybloom_live"):
            answers(replace(blob, data=data), ((1,),))
    (bounds,) = _blobs(BOUNDS, "bigint", pa.array(range(40)))
    assert read_bounds(bounds.data).num_rows == 1


def test_filters_of_blocks_of_rows_without_end():
    texts = pa.array([f"alpha w{n % 9}".encode() for n in range(ROWS)], pa.large_binary())
    (heavy,) = (one for one in _blobs(NGRAM_BLOOM, "string", texts, block_rows=64) if not one.light)
    said = {**heavy.properties, "rows": str(2**40), "block_rows": str(2**40), "blocks": "1"}
    column = IndexedColumn("string", (2**40,))
    with pytest.raises(ValueError, match="no filters of grams"):
        hostile = replace(heavy, properties={**said, "kept": "1"})
        NGRAM_BLOOM.probe(hostile, _reads(heavy.data), Like(("lpha",)), column)


def test_a_footer_that_is_too_deep():
    payload = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    hostile = MAGIC + MAGIC + payload + len(payload).to_bytes(4, "little") + bytes(4) + MAGIC
    with pytest.raises(ValueError, match="footer can't be read"):
        footer_of(_reads(hostile), len(hostile))


def test_a_count_is_compared_with_the_bytes_before_anything_is_made():
    source = Taker(bytes(64))
    with pytest.raises(ValueError):
        source.numbers(2**60, "<u8")
    assert dictionary.BLOCK_SIZE < 1 << 20
