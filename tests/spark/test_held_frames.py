"""Frames that `acc.sql` has given: what they read stays as long as one of them can be read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.engines.spark import dataframe_leases
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True
_TRIES = 50
_FEW = 3


@pytest.fixture(scope="module")
def session(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Accelerator, str]]:
    """One over a table of two files, of which a cube covers the first."""
    table = f"lake.d.{spark_warehouse.table('k INT, v BIGINT')}"
    store: Path = tmp_path_factory.mktemp("store")
    with spark_warehouse.live(store=str(store)) as acc:
        spark_warehouse.sql(f"INSERT INTO {table} SELECT id % 3, id FROM range(30)")
        acc.query(f"CREATE CUBE held AS SELECT k, sum(v) FROM {table} GROUP BY k")
        spark_warehouse.sql(f"INSERT INTO {table} SELECT id % 3, id FROM range(30, 60)")
        yield acc, f"SELECT k, sum(v) AS s FROM {table} GROUP BY k"


def _collected(acc: Accelerator, tries: int = _TRIES) -> int:
    """How many frames are held once both sides have collected what nobody has."""
    for _ in range(tries):
        gc.collect()
        acc.spark._jvm.java.lang.System.gc()
        acc.services.frames.sweep()
        if not len(acc.services.frames):
            break
    return len(acc.services.frames)


def test_frames_that_nobody_has_are_let_go(session: tuple[Accelerator, str]) -> None:
    acc, sql = session
    for _ in range(3):
        frame = acc.sql(sql)
        assert len(frame.collect()) == 3
    assert 1 <= len(acc.services.frames) <= 3
    del frame
    assert _collected(acc) == 0


def test_queries_let_them_go_in_passing(
    session: tuple[Accelerator, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    acc, sql = session
    acc.sql(sql).collect()
    gc.collect()
    acc.spark._jvm.java.lang.System.gc()
    acc.query(sql)
    assert len(acc.services.frames) == 1  # the last look is less than a minute ago
    monkeypatch.setattr(dataframe_leases, "_SWEPT_AFTER_S", 0.0)
    for _ in range(_TRIES):
        acc.query(sql)
        if not len(acc.services.frames):
            break
        acc.spark._jvm.java.lang.System.gc()
    assert len(acc.services.frames) == 0


def test_a_derived_frame_keeps_what_it_reads(session: tuple[Accelerator, str]) -> None:
    acc, sql = session
    plain = {tuple(row) for row in acc.spark.sql(sql).collect()}
    derived = acc.sql(sql).where("s > 0").alias("a")
    joined = derived.join(derived.alias("b"), "k").select("k", "a.s")
    assert _collected(acc, _FEW) == 1
    assert {tuple(row) for row in joined.collect()} == plain
    del derived
    assert _collected(acc, _FEW) == 1
    assert {tuple(row) for row in joined.collect()} == plain
    del joined
    assert _collected(acc) == 0


def test_a_view_and_a_cached_frame_keep_it(session: tuple[Accelerator, str]) -> None:
    acc, sql = session
    plain = {tuple(row) for row in acc.spark.sql(sql).collect()}
    acc.sql(sql).createOrReplaceTempView("held_view")
    assert _collected(acc, _FEW) == 1
    assert {tuple(row) for row in acc.spark.sql("SELECT * FROM held_view").collect()} == plain
    acc.spark.catalog.dropTempView("held_view")
    cached = acc.sql(sql).cache()
    cached.count()
    assert _collected(acc, _FEW) == 1
    cached.unpersist(blocking=True)
    del cached
    assert _collected(acc) == 0


def test_what_only_a_subquery_reads_is_kept(session: tuple[Accelerator, str]) -> None:
    """Its relations are none of the leaves of the frame that is left."""
    acc, sql = session
    plain = {tuple(row) for row in acc.spark.sql(sql).collect()}
    acc.sql(sql).createOrReplaceTempView("held_sub")
    rows = "VALUES (0, 1), (1, 1), (7, 1) AS t (k, one)"
    kept = acc.spark.sql(
        f"SELECT k, (SELECT max(s) FROM held_sub) AS most FROM {rows}"
        " WHERE k IN (SELECT k FROM held_sub)"
    )
    acc.spark.catalog.dropTempView("held_sub")
    assert _collected(acc, _FEW) == 1
    most = max(s for _, s in plain)
    assert {tuple(row) for row in kept.collect()} == {(0, most), (1, most)}
    del kept
    assert _collected(acc) == 0


def test_the_session_ends_what_is_left(spark_warehouse: SparkWarehouse, tmp_path: Path) -> None:
    table = f"lake.d.{spark_warehouse.table('k INT')}"
    spark_warehouse.sql(f"INSERT INTO {table} SELECT id FROM range(5)")
    with spark_warehouse.live(store=str(tmp_path)) as acc:
        acc.query(f"CREATE CUBE ended AS SELECT k, count(*) FROM {table} GROUP BY k")
        frame = acc.sql(f"SELECT k, count(*) FROM {table} GROUP BY k")
        held = acc.services.frames
        assert len(held) == 1
    assert len(held) == 0
    del frame
