"""What the client makes of rows is what the gateway takes."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from accelerator.client.streams import read, written
from accelerator.services.ingest.arrow_stream import ArrowBatches

TABLE = pa.table({"a": [1, None, 3], "b": ["x", None, "z"]})


def taken(path, rows):
    """The rows as the gateway reads them."""
    with written(rows) as file:
        path.write_bytes(file.read())
        again = read(file)
    with ArrowBatches(path) as stream:
        found = pa.Table.from_batches(list(stream.batches()), schema=stream.schema)
    assert found == again
    return found


@pytest.mark.parametrize(
    "rows",
    [
        TABLE,
        TABLE.to_batches()[0],
        pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
        pd.DataFrame(
            {"a": pd.array([1, None, 3], "Int64"), "b": ["x", None, "z"]}, index=[7, 8, 9]
        ),
        pl.DataFrame({"a": [1, None, 3], "b": ["x", None, "z"]}),
        TABLE.set_column(1, "b", TABLE["b"].dictionary_encode()),
        TABLE.set_column(1, "b", TABLE["b"].cast(pa.string_view())),
        pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": pd.Categorical(["x", None, "z"])}),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "dictionary", "view", "categories"],
)
def test_rows_of_any_sort_are_taken(tmp_path, rows):
    assert taken(tmp_path / "upload", rows).to_pylist() == TABLE.to_pylist()


def inner(kind, value):
    """Values of that type within columns of each sort, sliced."""
    values = pa.array([value, None, value], kind)
    lists = pa.array([[value, None], None, [], [value]], pa.list_(kind)).slice(1)
    return pa.table(
        {
            "plain": values,
            "list": lists,
            "large": pa.array([[value], [], None], pa.large_list(kind)),
            "fixed": pa.array([[value], None, [value]], pa.list_(kind, 1)),
            "seen": pa.array([[value], None, []], pa.list_view(kind)),
            "struct": pa.array([{"a": value}, None, {"a": None}], pa.struct([("a", kind)])),
            "map": pa.array([[("k", value)], None, []], pa.map_(pa.string(), kind)),
            "deep": pa.array([[{"a": value}], None, []], pa.list_(pa.struct([("a", kind)]))),
        }
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.string_view(), "a text that is no short one"),
        (pa.binary_view(), b"bytes"),
        (pa.dictionary(pa.int32(), pa.string()), "x"),
    ],
)
def test_what_the_gateway_does_not_take_is_made_plain_at_any_depth(tmp_path, kind, value):
    rows = inner(kind, value)
    wanted = rows.to_pylist()
    found = taken(tmp_path / "upload", rows)
    assert found.to_pylist() == wanted
    assert not any(word in str(found.schema) for word in ("view", "dictionary"))


def test_frames_of_polars_with_lists_and_categories_are_taken(tmp_path):
    frame = pl.DataFrame(
        {
            "list": [["a"], None],
            "struct": [{"x": "a"}, {"x": None}],
            "category": pl.Series(["a", None], dtype=pl.Categorical),
            "categories": pl.Series([["a"], []], dtype=pl.List(pl.Categorical)),
        }
    )
    assert taken(tmp_path / "upload", frame).to_pylist() == frame.to_dicts()


def test_runs_are_written_out(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["x", None]))
    assert taken(tmp_path / "upload", pa.table({"a": runs}))["a"].to_pylist() == ["x", "x", None]


def test_the_same_rows_are_the_same_bytes(tmp_path):
    with written(TABLE) as one, written(TABLE) as other:
        assert one.read() == other.read()


@pytest.mark.parametrize("rows", ["text", None, [1, 2], {"a": [1]}])
def test_what_are_no_rows_is_refused(rows):
    with pytest.raises(TypeError):
        written(rows)


def test_an_answer_without_its_end_is_none():
    with written(TABLE) as file:
        text = file.read()
    for cut in (len(text) - 8, 0):
        with pytest.raises(ValueError, match="no end"):
            read(pa.BufferReader(text[:cut]))
