"""The log's files as bytes: records come back as they were, and nothing else is believed."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.common.statement_metrics import Metrics
from accelerator.store.journals.query_log.encoding import decode
from accelerator.store.journals.query_log.encoding.decode import DamagedError, NewerError, decoded
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.encoding.page_sizes import MAGIC, sizes_of
from accelerator.store.journals.query_log.record import (
    COLUMN_OF,
    LIST_MAX,
    TIME_MAX,
    arrow_schema,
    figures,
)
from tests.accelerator.store.query_log.log_samples import NOW_US, record

WHOLE = st.integers(0, 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
RECORDS = st.lists(
    st.builds(
        record,
        st.integers(0, 10**6),
        user=st.none() | TEXT,
        client_tags=st.lists(TEXT, max_size=4).map(tuple),
        tables=st.lists(TEXT, max_size=4).map(tuple),
        snapshots=st.lists(WHOLE, max_size=4).map(tuple),
        queued_ms=st.none() | st.floats(0, 1e12),
        state=st.sampled_from(["FINISHED", "FAILED", "CANCELLED"]),
        error_code=st.none() | TEXT,
        rewritten=st.booleans(),
        rows=st.none() | WHOLE,
    ),
    min_size=1,
    max_size=5,
)


@given(RECORDS, st.integers(0, 10**9))
@settings(max_examples=60)
def test_records_come_back(records, lost):
    made = encoded(records, lost)
    found = decoded(made.data)
    assert (found.lost, made.refused, made.rows) == (lost, 0, len(records))
    assert found.rows.schema.equals(arrow_schema())
    for one, row in zip(records, found.rows.to_pylist(), strict=True):
        for name in ("id", "user", "queued_ms", "state", "error_code", "rewritten", "rows", "sql"):
            assert row[name] == getattr(one, name)
        for name in ("client_tags", "tables", "snapshots"):
            assert tuple(row[name]) == getattr(one, name)
        assert made.oldest_us <= one.started_us <= made.newest_us


def test_controls_stay_and_halves_of_characters_do_not():
    row = decoded(encoded([record(sql="SELECT '\x00\x1b[2J\u202e\ud800'")], 0).data).rows
    assert row["sql"][0].as_py() == "SELECT '\x00\x1b[2J\u202e?'"


def test_everything_is_bounded():
    huge = "x" * 100_000
    large = record(
        **dict.fromkeys(("id", "sql", "user", "error_message", "reason_text", "engine"), huge),
        **dict.fromkeys(("client_tags", "tables", "cubes", "indexes"), (huge,) * 1000),
        snapshots=tuple(range(1000)),
    )
    (row,) = decoded(encoded([large], 0).data).rows.to_pylist()
    assert row["sql_length"] == 100_000
    for name, value in row.items():
        most = COLUMN_OF[name].most
        if isinstance(value, str):
            assert len(value.encode()) <= most
        elif isinstance(value, list):
            assert len(value) == LIST_MAX
            assert all(len(str(one).encode()) <= (most or 20) for one in value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 1},
        {"id": None},
        {"sql": b"SELECT 1"},
        {"user": ["a"]},
        {"client_tags": "abc"},
        {"client_tags": (1,)},
        {"snapshots": ("1",)},
        {"rows": 2**63},
        {"rows": 1.5},
        {"queued_ms": "1"},
        {"cached": 1},
        {"started_us": -1},
        {"started_us": TIME_MAX + 1},
    ],
)
def test_records_of_other_types_are_refused_alone_and_counted(wrong):
    made = encoded([record(1), record(2, **wrong), record(3)], 4)
    assert (made.rows, made.refused) == (2, 1)
    found = decoded(made.data)
    assert found.rows["id"].to_pylist() == ["q1", "q3"]
    assert found.lost == 5
    assert encoded([record(**wrong)], 0).data == b""


def test_numbers_that_are_none_are_null():
    made = encoded([record(queued_ms=float("nan"), elapsed_ms=float("inf"), rows=True)], 0)
    row = decoded(made.data).rows.to_pylist()[0]
    assert (row["queued_ms"], row["elapsed_ms"], row["rows"]) == (None, None, 1)


def test_figures_are_those_of_the_metrics():
    metrics = Metrics(
        True, ("c",), (), "duckdb", 9, 2, 1, 5, 1.5, 2.5, fallback="no_cube: Why: so."
    )
    made = encoded([record(**figures(metrics))], 0)
    row = decoded(made.data).rows.to_pylist()[0]
    assert (row["reason"], row["reason_text"]) == ("no_cube", "Why: so.")
    assert (row["rewritten"], row["cubes"], row["engine"]) == (True, ["c"], "duckdb")
    assert (row["files_total"], row["files_read"], row["execution_ms"]) == (9, 2, 2.5)
    assert figures(Metrics())["reason"] is None
    assert figures(Metrics(all_rows="A sentence."))["reason_text"] == "A sentence."


def test_a_file_of_version_1_is_read_for_ever():
    found = decoded((Path(__file__).parent / "golden" / "v1.parquet").read_bytes())
    assert found.lost == 4
    one, other = found.rows.to_pylist()
    assert one | {"shape": "", "shape_text": ""} == dict.fromkeys(one) | {
        "id": "q1",
        "started": datetime(2025, 11, 27, 14, 40, 1, tzinfo=UTC),
        "state": "FINISHED",
        "process": "gateway",
        "user": "ann",
        "client_tags": ["a", "b"],
        "elapsed_ms": 1.5,
        "sql": "SELECT a FROM t WHERE b = 1",
        "sql_length": 27,
        "dialect": "spark",
        "shape": "",
        "shape_text": "",
        "cached": False,
        "rewritten": True,
        "cubes": ["sales"],
        "indexes": [],
        "tables": ["lake.d.t"],
        "snapshots": [7],
        "rows": 3,
    }
    assert one["shape"] == other["shape"]
    assert (other["error_code"], other["error_message"]) == ("table_unknown", "no table")


# What isn't believed


def _written(table, version=b"1", **how):
    metadata = {} if version is None else {b"accelerator.query_log.version": version}
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), out, **how)
    return out.getvalue()


def _table(**columns):
    rows = decoded(encoded([record(1), record(2)], 0).data).rows
    for name, values in columns.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, values)
    return rows


def test_a_plain_file_of_others_with_the_same_columns_is_read():
    assert decoded(_written(_table(), use_dictionary=False)).rows.num_rows == 2


def test_older_files_lack_columns():
    old = _table().drop_columns(["worker", "client_tags", "shape"])
    found = decoded(_written(old)).rows
    assert found.schema.equals(arrow_schema())
    assert found["worker"].null_count == 2


def test_newer_files_are_told_from_damaged_ones():
    with pytest.raises(NewerError, match="version 2"):
        decoded(_written(pa.table({"other": [1]}), b"2"))


LONG = "x" * (16 * 1024 + 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"garbage" * 100,
        b"PAR1" + b"\xff" * 1000 + b"\xff\xff\xff\x7fPAR1",
        _written(_table(), None),
        _written(_table(), b"one"),
        _written(_table(), b"9" * 5000),
        _written(_table().drop_columns(["id"])),
        _written(_table(id=pa.array([None, "a"]))),
        _written(_table(id=pa.array([1, 2]))),
        _written(_table(rows=pa.array(["1", "2"]))),
        _written(_table(cached=pa.array([[True], [False]]))),
        _written(_table(sql=pa.array([LONG, "a"]))),
        _written(_table(sql=pa.array([LONG, "a"])), use_dictionary=False),
        _written(_table(tables=pa.array([["x" * 600], []]))),
        _written(_table(tables=pa.array([["x"] * 33, []]))),
        _written(_table(snapshots=pa.array([[1] * 33, []]))),
        _written(_table(started=pa.array([-1, 0], pa.timestamp("us", tz="UTC")))),
        _written(_table(started=pa.array([0, TIME_MAX + 1], pa.timestamp("us", tz="UTC")))),
        _written(_table(started=pa.array([0, 1], pa.timestamp("us")))),
        _written(_table(sql=pa.array([b"\xff\xfe", b"a"]).view(pa.string()))),
        _written(_table().append_column("id", pa.array(["a", "b"]))),
        _written(pa.concat_tables([_table()] * 10_001)),
        _written(_table(), row_group_size=1, compression="none")[:-20],
        _written(_table(), use_dictionary=False, column_encoding={"sql": "DELTA_BYTE_ARRAY"}),
        _written(_table()).replace(b"parquet-cpp-arrow", b"parquet-mr version"[:17]),
    ],
    ids=range(26),
)
def test_what_is_no_file_of_the_log_is_damaged(data):
    with pytest.raises(DamagedError):
        decoded(data)


def test_files_that_expand_are_refused_before_they_do(monkeypatch):
    """A text of 30 MB takes some KB; a row that is there again and again some bytes."""
    monkeypatch.setattr(decode, "EXPANDED_BYTES_MAX", 20_000_000)
    before = pa.total_allocated_bytes()
    bombs = [
        _written(_table(sql=pa.array(["x" * 30_000_000, "a"])), compression="zstd"),
        _written(_table().take(pa.array([0] * 100_000)), compression="zstd"),
    ]
    pool = pa.default_memory_pool()
    for data in bombs:
        assert len(data) < 1_000_000
        held = pool.bytes_allocated()
        with pytest.raises(DamagedError, match="it says"):
            decoded(data)
        assert pool.bytes_allocated() <= held + 1024**2
    assert pa.total_allocated_bytes() <= before + 1024**2


def test_a_long_text_that_many_rows_share_is_seen_once():
    """Under the bound of what a file expands to, and 2,000 times that as plain texts."""
    shared = pa.array(["x" * 10_000_000] * 2)
    data = _written(_table(sql=shared, user=shared), compression="zstd")
    assert len(data) < 100_000
    with pytest.raises(DamagedError, match="a text of 10000000 bytes"):
        decoded(data)


@given(st.data())
@settings(max_examples=400)
def test_changed_bytes_give_what_was_written_or_an_error(data):
    """Pages have checksums; the footer may be anything that its format allows."""
    whole = bytearray(BYTES)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 3))
    try:
        found = decoded(bytes(whole[: len(whole) - cut]))
    except (DamagedError, NewerError):
        return
    assert found.rows.schema.equals(arrow_schema())
    found.rows.validate(full=True)
    for row in found.rows.to_pylist():
        assert row["id"] is not None and len(row["sql"].encode()) <= 16 * 1024


@pytest.mark.parametrize("how", [{}, {"data_page_version": "2.0"}, {"row_group_size": 300}])
def test_pages_are_as_large_as_their_columns_say(how):
    data = _written(pa.concat_tables([_table()] * 500), use_dictionary=False, **how)
    footer = pq.read_metadata(io.BytesIO(data))
    said = [
        footer.row_group(group).column(place)
        for group in range(footer.num_row_groups)
        for place in range(footer.num_columns)
    ]
    sizes = sizes_of(data)
    # A column's own figure counts the pages' headers as well.
    assert 0 < sizes.expanded < sum(one.total_uncompressed_size for one in said)
    assert sizes.expanded > sum(one.total_uncompressed_size for one in said) * 0.8
    assert sizes.leaves == {one.path_in_schema for one in said}
    assert (sizes.rows, sizes.row_groups) == (1000, footer.num_row_groups)


@pytest.mark.parametrize("data", [b"", MAGIC * 3, MAGIC + b"\x00" * 4 + MAGIC])
def test_sizes_of_no_file(data):
    with pytest.raises(ValueError):
        sizes_of(data)


BYTES = encoded([record(number, tables=("a", "b"), user="u") for number in range(3)], 1).data


def test_a_file_that_cannot_be_held_in_memory_is_damaged(monkeypatch):
    def full(*_args, **_more):
        raise pa.ArrowMemoryError("malloc of size 9 failed")

    monkeypatch.setattr(decode.pq, "ParquetFile", full)
    with pytest.raises(DamagedError, match="malloc"):
        decoded(BYTES)


def test_the_samples_lie_where_tests_think():
    assert record(5).started_us == NOW_US + 5_000_000
