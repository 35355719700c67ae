"""Streams of Arrow's that somebody else has made: whole and plain ones are read, no others."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.iceberg.writes.errors import IngestError
from accelerator.services.ingest.arrow_stream import ArrowBatches

TABLE = pa.table({"a": list(range(50)), "b": [f"text {i}" if i % 3 else None for i in range(50)]})


def written(table, *, options=None, rows=20):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue().to_pybytes()


GOOD = written(TABLE)


def read(path, data):
    path.write_bytes(data)
    with ArrowBatches(path) as stream:
        return pa.Table.from_batches(list(stream.batches()), schema=stream.schema)


def refusal(path, data):
    with pytest.raises(IngestError) as found:
        read(path, data)
    return found.value.message


@pytest.fixture
def path(tmp_path):
    return tmp_path / "upload"


def test_what_was_written_is_read(path):
    assert read(path, GOOD) == TABLE
    assert read(path, written(TABLE.slice(0, 0))).num_rows == 0


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        (TABLE, pa.ipc.IpcWriteOptions(compression="zstd"), "compressed"),
        (TABLE, pa.ipc.IpcWriteOptions(compression="lz4"), "compressed"),
        (pa.table({"a": pa.array(["x", "y"]).dictionary_encode()}), None, "dictionary"),
        (pa.table({"a": pa.nulls(10**7, pa.null())}), None, "more rows than bits"),
    ],
)
def test_what_would_be_expanded_is_refused(path, table, options, why):
    assert why in refusal(path, written(table, options=options, rows=10**9))


def test_buffers_that_are_used_twice_are_refused(path):
    """The second column's bytes are taken out, and its buffer is the first one's."""
    data = written(pa.table({"a": list(range(8)), "b": list(range(100, 108))}))
    body = struct.pack("<8q", *range(100, 108))
    assert data.count(body) == 1
    place = data.rindex(struct.pack("<qq", 64, 64))  # the last buffer: offset and length
    data = (data[:place] + struct.pack("<q", 0) + data[place + 8 :]).replace(body, b"")
    place = data.index(struct.pack("<q", 128))
    data = data[:place] + struct.pack("<q", 64) + data[place + 8 :]
    assert "more than once" in refusal(path, data)


MANY = 10**7


@pytest.mark.parametrize(
    "lists",
    [
        pa.ListArray.from_arrays([0, MANY], pa.nulls(MANY)),
        pa.FixedSizeListArray.from_arrays(pa.nulls(MANY), MANY),
        pa.LargeListArray.from_arrays([0, MANY], pa.array([{}]).take(pa.array([0] * MANY))),
        pa.array([[[None] * 1000] * 100], pa.list_(pa.list_(pa.null()))),
        pa.StructArray.from_arrays([pa.array([[None] * 10**5], pa.list_(pa.null()))], ["a"]),
        pa.array([[("k", [None] * 10**5)]], pa.map_(pa.string(), pa.list_(pa.null()))),
    ],
)
def test_lists_of_what_takes_no_bytes_are_refused(path, lists):
    assert "lists have more values" in refusal(path, written(pa.table({"a": lists})))


def test_lists_of_nothing_are_read(path):
    table = pa.table({"a": pa.array([[], [None], None], pa.list_(pa.null()))})
    assert read(path, written(table)) == table


def test_what_has_no_end_or_more_behind_it_is_refused(path):
    assert "no end" in refusal(path, GOOD[:-8])
    assert "behind its end" in refusal(path, GOOD + GOOD)
    assert "empty" in refusal(path, b"")
    assert "schema" in refusal(path, GOOD[-8:])


def test_offsets_that_lead_elsewhere_are_refused(path):
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 9, 3)))
    text = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"abc"))
    batch = pa.RecordBatch.from_arrays([text], names=["a"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    assert "can't be read" in refusal(path, sink.getvalue().to_pybytes())


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_bytes_are_read_or_refused_and_nothing_else(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged"
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for one in (bytes(damaged), GOOD[:cut], GOOD[:cut] + GOOD[-8:]):
        try:
            found = read(path, one)
        except IngestError:
            continue
        found.validate(full=True)


@pytest.mark.parametrize("name", ["n1234567", "inner123"])
def test_names_that_are_no_text_are_refused(tmp_path, name):
    inner = pa.struct([("inner123", pa.int32())])
    good = written(pa.table({"n1234567": pa.array([{"inner123": 1}], inner)}))
    assert good.count(name.encode()) == 1
    with pytest.raises(IngestError, match="schema can't be read"):
        read(tmp_path / "names", good.replace(name.encode(), b"\x80" * 8))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, len(GOOD) // 8 - 2))
def test_a_part_of_a_stream_is_never_taken_for_the_whole(tmp_path_factory, cut):
    path = tmp_path_factory.getbasetemp() / "cut"
    with pytest.raises(IngestError):
        read(path, GOOD[: 8 * cut])
