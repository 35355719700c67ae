"""Answers that are compared by VERIFY."""

from __future__ import annotations

import pyarrow as pa
import pytest

from accelerator.verification import differ


@pytest.mark.parametrize(
    ("kind", "far"),
    [
        (pa.date32(), 3_663_000),
        (pa.date32(), -800_000),
        (pa.timestamp("us", tz="UTC"), 2**62),
        (pa.timestamp("us"), -(2**62)),
    ],
)
def test_times_past_pythons_years(kind: pa.DataType, far: int) -> None:
    def answer(*values: int) -> pa.Table:
        return pa.table({"x": pa.array(values, kind)})

    assert differ(answer(far, 1), answer(1, far)) == []
    assert differ(answer(far), answer(far + 1)) == [f"row ({far},) for ({far + 1},)"]
    assert len(differ(answer(far), answer(1))) == 1
