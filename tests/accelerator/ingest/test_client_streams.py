"""What the client makes of rows is what the gateway takes."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from accelerator.client.streams import read, written
from accelerator.ingest.stream import Stream

TABLE = pa.table({"a": [1, None, 3], "b": ["x", None, "z"]})


def taken(path, rows):
    """The rows as the gateway reads them."""
    with written(rows) as file:
        path.write_bytes(file.read())
        again = read(file)
    with Stream(path) as stream:
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
