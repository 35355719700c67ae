"""BUILD INDEX makes anew what somebody has deleted of an index, or cut, and leaves the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import StoreError
from accelerator.store import SegmentRecord, local_path
from tests.support.pristine import Pristine

SQL = "SELECT k, s FROM d.f WHERE k = 5 ORDER BY k"


def _fill(catalog: SqlCatalog) -> None:
    """Three files, each with the keys between those of the others."""
    catalog.create_namespace("d")
    rows = [pa.table({"k": range(n, 300, 3), "s": ["x"] * 100}) for n in range(3)]
    table = catalog.create_table("d.f", rows[0].schema)
    for one in rows:
        table.append(one)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    """Three data files; an index with a sidecar for each, and one of bundles alone."""
    with accelerator.open(pristine.lake(_fill)) as session:
        session.query("CREATE INDEX heavy ON d.f USING BITMAP (k)")
        session.query("CREATE INDEX light ON d.f USING BLOOM (k)")
        yield session
        assert not session.spark_started


def _of(acc: Accelerator, index: str) -> list[SegmentRecord]:
    store = acc.services.store
    record = store.registry(fresh=True).indexes[index]
    return list(store.table(record.table_uuid).of(record.id))


def _parts(acc: Accelerator, index: str) -> tuple[list[SegmentRecord], list[SegmentRecord]]:
    """Its bundles and its sidecars."""
    found = _of(acc, index)
    return [one for one in found if one.is_bundle], [one for one in found if not one.is_bundle]


def _check_whole(acc: Accelerator, index: str) -> None:
    """Each data file is told of once, by files that are there."""
    bundles, sidecars = _parts(acc, index)
    for some in (bundles, sidecars) if sidecars else (bundles,):
        told = [(file.path, file.sequence_number) for one in some for file in one.files]
        assert len(told) == len(set(told)) == 3
    for one in (*bundles, *sidecars):
        assert Path(local_path(one.path)).stat().st_size == one.bytes


def _answers(acc: Accelerator, index: str) -> None:
    """A session that has read nothing yet leaves files out by it."""
    with accelerator.open(acc.config.warehouse, store=acc.config.store) as fresh:
        found = fresh.query(SQL)
        assert [row["k"] for row in found.arrow().to_pylist()] == [5]
        assert index in found.metrics.indexes
        assert not fresh.fallbacks


@pytest.mark.parametrize("statement", ["BUILD INDEX heavy", "BUILD ALL ON d.f"])
def test_a_lost_sidecar_is_made_anew_for_its_file_alone(acc: Accelerator, statement: str) -> None:
    _, sidecars = _parts(acc, "heavy")
    lost = sidecars[1]
    Path(local_path(lost.path)).unlink()
    acc.query("DROP INDEX light")
    rows = acc.query(statement).arrow().to_pylist()
    assert [row["files"] for row in rows] == [1]
    _check_whole(acc, "heavy")
    kept = {one.path for one in _of(acc, "heavy")}
    assert {one.path for one in sidecars} - kept == {lost.path}
    _answers(acc, "heavy")
    assert acc.query("BUILD INDEX heavy").arrow().to_pylist()[0]["files"] == 0


@pytest.mark.parametrize("index", ["heavy", "light"])
@pytest.mark.parametrize("how", ["deleted", "cut"])
def test_a_lost_bundle_is_made_anew_with_its_sidecars(
    acc: Accelerator, index: str, how: str
) -> None:
    bundles, _ = _parts(acc, index)
    path = Path(local_path(bundles[0].path))
    if how == "deleted":
        path.unlink()
    else:
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data[: len(data) // 2])
    (row,) = acc.query(f"BUILD INDEX {index}").arrow().to_pylist()
    assert row["files"] == 3
    _check_whole(acc, index)
    acc.query(f"DROP INDEX {'light' if index == 'heavy' else 'heavy'}")
    _answers(acc, index)


def test_all_that_was_lost_at_once(acc: Accelerator) -> None:
    for one in (*_of(acc, "heavy"), *_of(acc, "light")):
        Path(local_path(one.path)).unlink()
    rows = acc.query("BUILD ALL ON d.f").arrow().to_pylist()
    assert [row["files"] for row in rows] == [3, 3]
    for index in ("heavy", "light"):
        _check_whole(acc, index)


def test_files_that_cannot_be_listed_are_not_lost(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _of(acc, "heavy")

    def fail(*_args: object) -> None:
        raise StoreError("the store at /x can't be used: it's away")

    with monkeypatch.context() as patched:
        patched.setattr(type(acc.services.store.files), "entries", fail)
        assert acc.query("BUILD INDEX heavy").arrow().to_pylist()[0]["files"] == 0
    assert _of(acc, "heavy") == before
