"""Cells of one file out of bitmaps alone, against counting its rows one by one."""

from __future__ import annotations

import math
from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyroaring import BitMap

from indexes.domains import to_domain
from indexes.inverted import cells
from indexes.inverted.cells import ColumnCells, cells_of
from indexes.kind import IndexedColumn
from indexes.kinds.bitmap import Bitmap
from tests.support.extent import sized

KIND = Bitmap()
COLUMNS = {
    "int": st.integers(-3, 3),
    "double": st.sampled_from([0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf]),
    "string": st.sampled_from(["", "a", "aa", "b", "\U0001f600", "\uffee"]),
    "boolean": st.booleans(),
}
ARROW = {"int": pa.int32(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}


def held(values, type_: str, **options) -> ColumnCells:
    stored = to_domain(pa.array(values, ARROW[type_]), type_)
    column = IndexedColumn(type_, (len(values),))
    builder = KIND.builder(column, KIND.options(type_, options))
    builder.add(stored)
    (blob,) = builder.finish()
    found = ColumnCells.open(
        replace(blob, data=b""), lambda at, length: blob.data[at : at + length], column
    )
    assert found is not None
    return found


def plain(values, type_: str) -> list:
    return to_domain(pa.array(values, ARROW[type_]), type_).to_pylist()


def shown(value) -> str:
    """NaN equals itself so."""
    return repr(value)


def counted(keys, states, rows, chosen) -> dict:
    """Each cell's states, by going through the rows."""
    groups = defaultdict(list)
    for row in range(rows) if chosen is None else chosen:
        groups[tuple(shown(key[row]) for key in keys)].append(row)
    found = {}
    for key, members in groups.items():
        made = []
        for kind, values in states:
            if kind == "rows":
                made.append(len(members))
                continue
            there = [values[row] for row in members if values[row] is not None]
            if kind == "count":
                made.append(len(there))
            else:
                there.sort(key=lambda v: (isinstance(v, float) and math.isnan(v), v))
                made.append(shown(there[0 if kind == "min" else -1]) if there else shown(None))
        found[key] = made
    return found


@settings(
    max_examples=sized(50, full=150), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_cells_are_those_of_the_rows(data):
    rows = data.draw(st.integers(1, 60))

    def column():
        type_ = data.draw(st.sampled_from(sorted(COLUMNS)))
        one = st.none() | COLUMNS[type_]
        values = data.draw(st.lists(one, min_size=rows, max_size=rows))
        return held(values, type_), plain(values, type_)

    keys = [column() for _ in range(data.draw(st.integers(0, 3)))]
    states = [("rows", None, None)]
    for kind in data.draw(st.lists(st.sampled_from(["count", "min", "max"]), max_size=2)):
        states.append((kind, *column()))
    chosen = data.draw(st.none() | st.sets(st.integers(0, rows - 1)).map(BitMap))
    found = cells_of(
        [one for one, _ in keys], [(kind, one) for kind, one, _ in states], rows, chosen
    )
    assert found is not None
    told = {}
    columns = [part.to_pylist() for part in found.states]
    for place in range(len(found.states[0])):
        key = tuple(shown(part[place].as_py()) for part in found.keys)
        assert key not in told
        told[key] = [
            shown(part[place]) if kind in ("min", "max") else part[place]
            for (kind, _, _), part in zip(states, columns, strict=True)
        ]
    truth = counted(
        [values for _, values in keys],
        [(kind, values) for kind, _, values in states],
        rows,
        chosen,
    )
    assert told == truth


def test_without_deleted_rows():
    column = held([3.5, None, -0.0, 0.0, math.nan, 3.5, math.nan, -math.inf, None], "double")
    rows = [("rows", None)]
    found = cells_of([column], rows, 9, None)
    assert str(found.keys[0].to_pylist()) == "[-inf, 0.0, 3.5, nan, None]"
    assert math.copysign(1, found.keys[0][1].as_py()) == 1
    assert found.states[0].to_pylist() == [1, 2, 2, 2, 2]
    found = cells_of([column], rows, 9, BitMap([2, 3, 5, 8]))
    assert found.states[0].to_pylist() == [2, 1, 1]
    assert cells_of([column], rows, 9, BitMap()).states[0].to_pylist() == []


def test_blocks_alone_tell_whole_files_only():
    column = held([1, 2, 2], "int", rows=False)
    assert cells_of([column], [("rows", None)], 3, None).states[0].to_pylist() == [1, 2]
    assert cells_of([column], [("rows", None)], 3, BitMap([0])) is None
    assert cells_of([column], [("count", column)], 3, None) is None
    assert cells_of([], [("max", column)], 3, None).states[0].to_pylist() == [2]
    assert cells_of([], [("max", column)], 3, BitMap([0])) is None


def test_too_much_is_not_told(monkeypatch):
    one = held([1, 2, 3, None], "int")
    monkeypatch.setattr(cells, "PRODUCT_MAX", 16)
    assert cells_of([one, one], [("rows", None)], 4, None) is not None
    monkeypatch.setattr(cells, "PRODUCT_MAX", 15)
    assert cells_of([one, one], [("rows", None)], 4, None) is None
    monkeypatch.setattr(cells, "SETS_MAX", 0)
    monkeypatch.setattr(cells, "SETS_SHARE", 0)
    assert cells_of([one], [("rows", None)], 4, BitMap([0])) is None
    assert cells_of([], [("min", one)], 4, BitMap([0])) is None


def test_ends_behind_many_values():
    column = held(list(range(200)), "int")
    for chosen, least, most in ((BitMap([150, 151]), 150, 151), (BitMap([0, 199]), 0, 199)):
        found = cells_of([], [("min", column), ("max", column)], 200, chosen)
        assert [part.to_pylist() for part in found.states] == [[least], [most]]


def test_blobs_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="other rows"):
        cells_of([held([1], "int")], [("rows", None)], 2, None)
