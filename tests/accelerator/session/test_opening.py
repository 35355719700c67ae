"""What opening and creating refuse, without a JVM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import accelerator
from accelerator.errors import AcceleratorError, ConfigError
from accelerator.iceberg.io import local_path as iceberg_path
from accelerator.store import local_path as store_path
from tests.support.pristine import catalog_of


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


@pytest.mark.parametrize("start", ["", "file:", "file://", "file://localhost", "file://LOCALHOST"])
def test_paths_may_be_uris_of_this_host(tmp_path: Path, start: str) -> None:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array([1, 2], pa.int32())})
    location = f"{start}{tmp_path}/d.db/t"
    catalog.create_table("d.t", rows.schema, location=f"{tmp_path.as_uri()}/d/t").append(rows)
    assert iceberg_path(location) == store_path(location) == f"{tmp_path}/d.db/t"
    for store in ({}, {"store": f"{start}{tmp_path}/other"}):
        with accelerator.open(f"{start}{tmp_path}", **store) as acc:
            acc.query("CREATE CUBE c AS SELECT k, count(*) AS n FROM d.t GROUP BY k")
            found = acc.query("SELECT k, count(*) AS n FROM d.t GROUP BY k")
            assert (sorted(found), found.metrics.cubes) == ([(1, 1), (2, 1)], ("c",))
    assert {one.name for one in tmp_path.iterdir() if one.is_dir()} >= {".accelerator", "other"}
    catalog.engine.dispose()


def test_paths_on_other_hosts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="local folder"):
        accelerator.open("file://other/data", create=True)
    with pytest.raises(ConfigError, match="on the host other") as raised:
        accelerator.open(tmp_path, create=True, store="file://other/data")
    assert "mount it" in raised.value.hint
