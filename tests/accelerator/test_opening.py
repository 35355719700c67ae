"""What opening and creating refuse, without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

import accelerator
from accelerator.errors import AcceleratorError


def test_segments_on_an_object_store_are_refused_before_anything_is_registered(
    tmp_path: Path,
) -> None:
    acc = accelerator.open(tmp_path, store="s3://bucket/store")
    with pytest.raises(AcceleratorError, match="can't be written") as raised:
        acc.query("CREATE CUBE c AS SELECT g, count(*) AS n FROM d.t GROUP BY g")
    assert raised.value.hint
    assert not acc.spark_started


def test_a_warehouse_on_an_object_store_is_attached_not_opened() -> None:
    with pytest.raises(AcceleratorError) as raised:
        accelerator.open("s3://bucket/warehouse")
    assert "attach" in raised.value.hint
