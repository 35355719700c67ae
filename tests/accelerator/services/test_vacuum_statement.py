"""VACUUM through a session, without a JVM: by SQL and by Python, settings and refusals."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.errors import StoreError, UnknownTableError
from tests.accelerator.store.samples import cube, segment

CUBE = "c" * 32


@pytest.fixture
def folder(tmp_path):
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    catalog.create_table("d.t", pa.schema([("a", pa.int64())]))
    return tmp_path


def with_garbage(acc):
    """A dropped cube with one artifact."""
    uuid = acc.services.lake.pin().table(("lake", "d", "t")).uuid
    path = acc.config.store_root + f"/tables/{uuid}/cubes/{CUBE}/j/1.parquet"
    acc.services.store._files.create(f"tables/{uuid}/cubes/{CUBE}/j/1.parquet", b"rows")
    acc.services.store.create_cube(cube(table_uuid=uuid))
    acc.services.store.add_segments(uuid, [segment(1, 1, path=f"file://{path}")])
    acc.services.store.drop_cube("sales")
    time.sleep(0.002)  # what became garbage this very millisecond is within any retention


def test_vacuum_by_sql(folder):
    with accelerator.open(folder, vacuum_versions_min=1) as acc:
        with_garbage(acc)
        kept = acc.query("VACUUM lake.d.t").arrow().to_pylist()
        assert {row["action"] for row in kept} == {"kept"}
        dry = acc.query("VACUUM lake.d.t RETAIN 0 HOURS DRY RUN").arrow().to_pylist()
        assert dry[0]["action"] == "would delete"
        assert (dry[0]["what"], dry[0]["files"], dry[0]["bytes"]) == ("artifact", 1, 4)
        done = acc.query("VACUUM lake.d.t FULL RETAIN 0 HOURS").arrow().to_pylist()
        assert done[0] | {"requests": 0} == dry[0] | {"action": "deleted", "requests": 0}
        assert not acc.spark_started


def test_vacuum_by_python(folder):
    with accelerator.open(folder, vacuum_versions_min=1, vacuum_retain_hours=0) as acc:
        with_garbage(acc)
        assert acc.vacuum("lake.d.t", retain_hours=1).files() == 0
        assert acc.vacuum("lake.d.t").files() == 1
        with pytest.raises(UnknownTableError):
            acc.vacuum("lake.d.nothing")


def test_a_read_only_session_expires_no_snapshot_either(folder, monkeypatch):
    monkeypatch.setattr("accelerator.services.vacuum.vacuum.vacuum_lake", None)
    with (
        accelerator.open(folder, store_read_only=True) as acc,
        pytest.raises(StoreError, match="read-only"),
    ):
        acc.vacuum("lake.d.t", snapshots=True)


def test_a_read_only_session_vacuums_nothing(folder):
    with (
        accelerator.open(folder, store_read_only=True) as acc,
        pytest.raises(StoreError, match="read-only"),
    ):
        acc.query("VACUUM lake.d.t")
