"""Segments of data files that are in no snapshot any more go with a VACUUM; no others do.

Tables are PyIceberg's, and no JVM takes part. Segments are recorded as a build would record them.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from pyiceberg.exceptions import NotInstalledError, RESTError, SignError

import accelerator
from accelerator.errors import StoreError
from accelerator.iceberg import CatalogError, CatalogSettings
from accelerator.iceberg.catalogs.readers import PyIcebergCatalog
from accelerator.iceberg.io import local_path
from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.services.vacuum.dead_segments import LakeGarbage
from accelerator.store import CoveredFile
from accelerator.store.log.cube_state import CubeState
from tests.accelerator.store.samples import cube, segment
from tests.support.pristine import catalog_of

CUBE = "c" * 32
ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})


def _fill(catalog):
    catalog.create_namespace("d")
    catalog.create_table("d.t", ROWS.schema).append(ROWS)


@pytest.fixture
def lake(pristine):
    root = pristine.lake(_fill)
    catalog = catalog_of(root)
    return root, catalog, catalog.load_table("d.t")


def covered(acc):
    """A segment for each live file that has none, as a build makes them; ids by path."""
    pinned = acc.services.lake.pin(fresh=True).pinned(("lake", "d", "t"))
    uuid = pinned.facts.uuid
    if not acc.services.store.registry().cubes:
        acc.services.store.create_cube(cube(table_uuid=uuid, table="lake.d.t"))
    known = {f.path for s in acc.services.store.table(uuid).of(CUBE) for f in s.files}
    for number, file in enumerate(pinned.live_files(), 10 * len(known) + 1):
        if file.path in known:
            continue
        files = (CoveredFile(file.path, file.sequence_number, "", 3, 100),)
        name = f"tables/{uuid}/cubes/{CUBE}/j/{number}.parquet"
        acc.services.store._files.create(name, b"cells")
        path = acc.services.store._files.uri(name)
        acc.services.store.add_segments(uuid, [segment(number, path=path, files=files)])
    return {f.path: s.id for s in acc.services.store.table(uuid).of(CUBE) for f in s.files}


def left(acc):
    uuid = acc.services.lake.pin().pinned(("lake", "d", "t")).facts.uuid
    return {s.id for s in acc.services.store.table(uuid).of(CUBE)}


def opened(folder):
    return accelerator.open(folder, vacuum_versions_min=1, vacuum_retain_hours=0)


def reported(report):
    return sum(line.files for line in report.lines if line.what == "segment")


def test_a_file_that_some_snapshot_holds_keeps_its_segment(lake):
    folder, _catalog, table = lake
    with opened(folder) as acc:
        first = set(covered(acc).values())
        table.overwrite(ROWS)
        both = set(covered(acc).values())
        assert len(first) == 1 and len(both) == 2
        assert reported(acc.vacuum("lake.d.t", full=True)) == 0
        assert left(acc) == both


def test_a_file_of_expired_snapshots_loses_it_in_one_pass(lake):
    folder, _catalog, table = lake
    with opened(folder) as acc:
        old = set(covered(acc).values())
        table.overwrite(ROWS)
        both = set(covered(acc).values())
        for snapshot in table.metadata.snapshots[:-1]:
            table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
        assert reported(acc.vacuum("lake.d.t", dry_run=True)) == 1
        assert left(acc) == both
        done = acc.vacuum("lake.d.t")
        assert (reported(done), left(acc)) == (1, both - old)
        again = acc.vacuum("lake.d.t", full=True)
        assert reported(again) == 0
        stored = {path.name for path in (folder / ".accelerator").rglob("*.parquet")}
        assert stored == {f"{one}.parquet" for one in both - old}


@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_branches_and_tags_hold_files(lake, kind):
    folder, _catalog, table = lake
    with opened(folder) as acc:
        covered(acc)
        manage = table.manage_snapshots()
        getattr(manage, f"create_{kind}")(table.current_snapshot().snapshot_id, "kept").commit()
        table.delete()
        both = set(covered(acc).values())
        acc.vacuum("lake.d.t", full=True)
        assert left(acc) == both


def test_a_segment_that_is_newer_than_what_is_known_of_the_table_stays(lake):
    """A catalog that answers from yesterday, say a lagging replica, costs no segment."""
    folder, catalog, table = lake
    with opened(folder) as acc:
        old = table.metadata_location
        table.append(ROWS)
        new = catalog.load_table("d.t").metadata_location
        both = set(covered(acc).values())
        catalog.drop_table("d.t")
        catalog.register_table("d.t", old)
        acc.vacuum("lake.d.t")
        assert left(acc) == both
        catalog.drop_table("d.t")
        catalog.register_table("d.t", new)
        acc.vacuum("lake.d.t")
        assert left(acc) == both


def test_a_table_that_was_made_anew_says_nothing_of_the_old_ones_segments(lake):
    """The old one may have another name by now."""
    folder, catalog, table = lake
    with opened(folder) as acc:
        covered(acc)
        uuid = str(table.metadata.table_uuid)
        segments = acc.services.store.table(uuid).of(CUBE)
        catalog.rename_table("d.t", "d.kept")
        catalog.create_table("d.t", ROWS.schema).append(ROWS)
        garbage = LakeGarbage(acc.services.lake, ("lake", "d", "t"), uuid)
        assert segments and garbage.unusable(segments) == []


def test_a_manifest_that_is_gone_costs_no_segment(lake, caplog):
    folder, _catalog, table = lake
    with opened(folder) as acc:
        covered(acc)
        table.overwrite(ROWS)
        both = set(covered(acc).values())
        first = table.metadata.snapshots[0]
        # The old file is looked for in every snapshot, this one too.
        (folder / local_path(first.manifest_list)).unlink()
    with opened(folder) as acc:
        acc.vacuum("lake.d.t")
        assert left(acc) == both
        assert "isn't known, so it stays" in caplog.text


def test_the_newest_metadata_counts_whatever_its_age_may_be(lake):
    folder, _catalog, table = lake
    with accelerator.open(
        folder, vacuum_versions_min=1, vacuum_retain_hours=0, metadata_max_age_s=3600
    ) as acc:
        assert acc.services.lake.pin().table(("lake", "d", "t"))
        table.append(ROWS)
        both = set(covered(acc).values())
        assert len(both) == 2
        acc.vacuum("lake.d.t")
        assert left(acc) == both


UNREADABLE = "what the table's snapshots hold can't be read"


def untold(report):
    return sum(line.files for line in report.lines if line.reason.startswith(UNREADABLE))


@pytest.mark.parametrize("which", ["manifest_list", "manifest"])
@pytest.mark.parametrize("harm", ["gone", "empty", "other bytes", "a folder"])
def test_damaged_manifests_cost_no_segment_and_the_report_says_so(lake, which, harm):
    folder, _catalog, table = lake
    with opened(folder) as acc:
        covered(acc)
        table.overwrite(ROWS)
        both = set(covered(acc).values())
        first = table.metadata.snapshots[0]
        path = first.manifest_list
        if which == "manifest":
            path = first.manifests(table.io)[0].manifest_path
        file = folder / local_path(path)
        file.unlink()
        if harm == "a folder":
            file.mkdir()
        elif harm != "gone":
            file.write_bytes(b"" if harm == "empty" else b"no Avro")
    with opened(folder) as acc:
        made = acc.vacuum("lake.d.t", dry_run=True)
        done = acc.vacuum("lake.d.t")
        assert (untold(made), untold(done)) == (2, 2)
        assert left(acc) == both and reported(done) == 2
        lines = acc.query("VACUUM lake.d.t").arrow().to_pylist()
        assert [line["action"] for line in lines if line["what"] == "segment"] == ["kept"]


@pytest.mark.parametrize("error", [EOFError(), KeyError("uri"), RESTError("503"), SignError("no")])
def test_whatever_reading_raises_the_rest_of_the_vacuum_goes_on(lake, monkeypatch, error):
    folder, _catalog, table = lake

    def keys(*_):
        raise error

    with opened(folder) as acc:
        before = covered(acc)
        table.append(ROWS)
        both = covered(acc)
        uuid = acc.services.lake.pin(fresh=True).pinned(("lake", "d", "t")).facts.uuid
        acc.services.store.remove_segments(uuid, before.values())
        monkeypatch.setattr(PinnedTable, "_keys", keys)
        done = acc.vacuum("lake.d.t")
        assert untold(done) == 1
        assert left(acc) == set(both.values()) - set(before.values())
        gone = [line.files for line in done.lines if line.what == "artifact"]
        assert gone == [1]  # of the segment that was forgotten before


def test_a_store_that_fails_meanwhile_is_no_doubt_about_the_lake(lake, monkeypatch):
    folder, _catalog, _table = lake
    with opened(folder) as acc:
        covered(acc)

        def each(_self):
            raise StoreError("the disk is gone")

        monkeypatch.setattr(CubeState, "each", each)
        with pytest.raises(StoreError, match="the disk is gone"):
            acc.vacuum("lake.d.t")


def test_metadata_of_the_table_that_is_damaged_is_a_typed_error(lake):
    folder, _catalog, table = lake
    file = folder / local_path(table.metadata_location)
    whole = file.read_text()
    for text in (
        "{",
        "[]",
        '{"format-version": 9}',
        whole.replace('"current-schema-id":0', '"current-schema-id":7'),
    ):
        file.write_text(text)
        with opened(folder) as acc, pytest.raises(CatalogError, match="can't be read") as raised:
            acc.vacuum("lake.d.t")
        assert raised.value.hint


@pytest.mark.parametrize(
    "error",
    [
        RESTError("503"),
        KeyError("uri"),
        NotInstalledError("glue"),
        ImportError("thrift"),
        SignError(),
        ClientError({}, "GetTable"),
    ],
)
def test_whatever_a_catalog_raises_is_a_typed_error(monkeypatch, error):
    reader = PyIcebergCatalog(CatalogSettings("lake", "rest"))

    def opened():
        raise error

    monkeypatch.setattr(reader, "_open", opened)
    for ask in (lambda: reader.pointer(("d", "t")), reader.tables):
        with pytest.raises(CatalogError, match="the catalog lake can't be read") as raised:
            ask()
        assert raised.value.hint and raised.value.__cause__ is error


def test_another_table_of_the_same_name_says_nothing_of_a_segment(lake):
    folder, _catalog, table = lake
    gone = segment(1, files=(CoveredFile("file:///gone.parquet", 1, "", 3, 100),))
    with opened(folder) as acc:
        uuid = str(table.metadata.table_uuid)
        assert LakeGarbage(acc.services.lake, ("lake", "d", "t"), uuid).unusable([gone]) == [1]
        assert not LakeGarbage(acc.services.lake, ("lake", "d", "t"), "u" * 32).unusable([gone])
