"""Arrays made of their buffers are those that Arrow makes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.store.journals.query_log.encoding.arrays import array
from accelerator.store.journals.query_log.record import arrow_type

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_WHOLE = st.integers(-(2**63), 2**63 - 1)
_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": _TEXT,
    "texts": st.lists(_TEXT, max_size=3),
    "count": _WHOLE,
    "counts": st.lists(_WHOLE, max_size=3),
    "number": st.floats(allow_nan=False),
    "flag": st.booleans(),
    "time": st.integers(0, 2**52),
}


@given(st.sampled_from(sorted(_KINDS)), st.data())
def test_arrays_are_arrows(kind: Any, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | _KINDS[kind], max_size=20))
    made = array(kind, values)
    made.validate(full=True)
    assert made.equals(pa.array(values, arrow_type(kind)))


@pytest.mark.parametrize(
    ("kind", "value"), [("text", "\ud800"), ("count", 2**63), ("counts", [2**64])]
)
def test_what_has_no_place(kind: Any, value: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        array(kind, [value])
