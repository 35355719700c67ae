"""The first rows of an order are the same, read at once, by row groups or by Arrow."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType

import accelerator
from accelerator import Accelerator
from accelerator.query.execution.row_readers import at_once, top_n

_FILES, _ROWS = 9, 1_000
_CONDITIONS = (
    "v > 40",
    "v BETWEEN 10 AND 12",
    "s LIKE '%7%'",
    "s = 'text 3' OR v IS NULL",
    "n <> 77 AND v < 30",
    "d < 50.5",
    "added IS NULL",
    "v > 57 AND n > 0",
)
_ORDERS = ("n", "n DESC", "t DESC, n", "t NULLS LAST, n DESC", "v, n", "s DESC NULLS FIRST, n")
_LIMITS = ("LIMIT 1", "LIMIT 20", "LIMIT 700", "LIMIT 5 OFFSET 4000", "LIMIT 9000")
_OUTPUTS = ("*", "n, t", "s, v, s, n + 1 AS m", "d, n", "added, t, n")


@pytest.fixture(scope="module")
def acc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    """Files that overlap in time, in row groups of 100; a column is added and one renamed."""
    folder = tmp_path_factory.mktemp("top")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=str(folder))
    catalog.create_namespace("d")
    groups = {"write.parquet.row-group-limit": "100"}
    table = catalog.create_table("d.t", _rows(0).schema, properties=groups)
    for number in range(_FILES):
        if number == 4:
            with table.update_schema() as change:
                change.add_column("added", LongType())
                change.rename_column("text", "s")
        table.append(_rows(number))
    catalog.close()
    with accelerator.open(folder) as session:
        yield session


def _rows(number: int) -> pa.Table:
    rng = np.random.default_rng(number)
    numbers = np.arange(number * _ROWS, (number + 1) * _ROWS)
    late = numbers * 1_000 + rng.integers(0, 2_500_000, _ROWS)
    names = ("n", "t", "v", "s" if number >= 4 else "text", "d")
    values = {
        "n": pa.array(numbers),
        "t": pa.array(late).cast(pa.timestamp("us")),
        "v": pa.array(rng.integers(0, 60, _ROWS), mask=rng.random(_ROWS) < 0.1),
        "text": pa.array([f"text {one}" for one in rng.integers(0, 50, _ROWS)]),
        "d": pa.array(np.where(rng.random(_ROWS) < 0.02, np.nan, rng.random(_ROWS) * 100)),
    }
    values["s"] = values["text"]
    found = pa.table({name: values[name] for name in names})
    return found.append_column("added", pa.array(numbers)) if number >= 4 else found


@pytest.mark.parametrize("condition", _CONDITIONS)
def test_all_ways_give_the_same_rows(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    every = list(itertools.product(_OUTPUTS, _ORDERS, _LIMITS))
    scans = 0
    scan = top_n.TopRows._scan

    def counted(rows: top_n.TopRows, groups: list[top_n.Group]) -> str | None:
        nonlocal scans
        found = scan(rows, groups)
        scans += found is not None
        return found

    monkeypatch.setattr(top_n.TopRows, "_scan", counted)
    for outputs, order, limit in random.Random(condition).sample(every, 12):
        sql = f"SELECT {outputs} FROM d.t WHERE {condition} ORDER BY {order} {limit}"
        answers = []
        for most, least in ((10**12, 0), (-1, 0), (-1, 10**12)):
            monkeypatch.setattr(at_once, "_ROWS_MAX", most)
            monkeypatch.setattr(at_once, "_FEW_FILES", _FILES)
            monkeypatch.setattr(top_n, "_SCANNED", least)
            answer = acc.query(f"{sql} -- {most} {least}")
            assert answer.metrics.engine == "duckdb", sql
            answers.append(repr(answer.arrow().to_pylist()))
        assert answers[0] == answers[1] == answers[2], sql
    assert scans > 0
