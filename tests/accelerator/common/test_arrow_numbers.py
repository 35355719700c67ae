"""Whole numbers from Arrow to numpy and back, and what a first answer doesn't import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.common.arrow.numpy_buffers import to_arrow, to_numpy
from tests.support.pristine import Pristine

_WHOLE = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))


@given(st.lists(_WHOLE, max_size=40), st.data())
def test_numbers_and_nulls_at_any_offset(values: list[int | None], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values)))
    length = data.draw(st.integers(0, len(values) - start))
    array = pa.array(values, pa.int64()).slice(start, length)
    expected = [-1 if one is None else one for one in values[start : start + length]]
    assert to_numpy(array, -1).tolist() == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.integers(1, 3))
def test_back_again(values: list[int], step: int) -> None:
    numbers = np.array(values, np.int64)[::step]
    assert to_arrow(numbers).equals(pa.array(numbers.tolist(), pa.int64()))


def test_nothing_but_nulls() -> None:
    assert to_numpy(pa.nulls(3, pa.int64()), 7).tolist() == [7, 7, 7]
    assert to_numpy(pa.nulls(0, pa.int64()), 7).tolist() == []


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "v": pa.array([3, 4, 5], pa.int64())})
    catalog.create_table("d.t", rows.schema).append(rows)


_SCRIPT = """
import sys
import accelerator
with accelerator.open(sys.argv[1]) as acc:
    answer = acc.query("SELECT k, sum(v) AS s FROM d.t GROUP BY k ORDER BY k")
    assert answer.metrics.cubes == ("c",), answer.metrics
    assert answer.fetchall() == [(1, 3), (2, 9)]
assert not {"pandas", "rewrite.dialects.translate"} & set(sys.modules)
print("agreed")
"""


@pytest.mark.served
def test_a_first_answer_imports_nothing_that_it_has_no_use_for(
    pristine: Pristine, no_java: None
) -> None:
    lake = pristine.lake(_fill)
    with accelerator.open(lake) as acc:
        acc.query("CREATE CUBE c AS SELECT k, sum(v) AS s FROM d.t GROUP BY k")
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(lake)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.strip() == "agreed", ran.stderr[-2000:]
