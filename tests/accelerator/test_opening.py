"""What opening and creating refuse, without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

import accelerator
from accelerator.errors import AcceleratorError, ConfigError


def test_segments_on_an_object_store_are_refused_before_anything_is_registered(
    tmp_path: Path,
) -> None:
    acc = accelerator.open(tmp_path, create=True, store="s3://bucket/store")
    with pytest.raises(AcceleratorError, match="can't be written") as raised:
        acc.query("CREATE CUBE c AS SELECT g, count(*) AS n FROM d.t GROUP BY g")
    assert raised.value.hint
    assert not acc.spark_started


def test_a_warehouse_that_is_not_there_is_made_when_that_is_asked_for(tmp_path: Path) -> None:
    """A mistyped path makes nothing."""
    folder = tmp_path / "wharehouse"
    with pytest.raises(ConfigError, match="there is no warehouse in") as raised:
        accelerator.open(folder)
    assert str(folder) in raised.value.message
    assert "create=True (--create)" in (raised.value.hint or "")
    assert not folder.exists()
    accelerator.open(folder, create=True).close()
    accelerator.open(folder).close()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="can't be made"):
        accelerator.open(tmp_path / "file", create=True)


def test_a_warehouse_on_an_object_store_is_attached_not_opened() -> None:
    with pytest.raises(AcceleratorError) as raised:
        accelerator.open("s3://bucket/warehouse")
    assert "attach" in raised.value.hint
