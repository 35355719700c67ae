"""VACUUM … SNAPSHOTS deletes no file that another table or view needs, and says whose it is.

Tables are PyIceberg's. Iceberg's procedures are replaced by a record of their calls, so no JVM
takes part: what is tested is whether they are called.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.errors import CancelledError, VacuumRefusedError
from accelerator.iceberg.catalogs.readers import CatalogSettings
from accelerator.iceberg.catalogs.sqlite import SqliteCatalog
from accelerator.iceberg.io import local_path
from accelerator.iceberg.lake import Lake as Catalogs
from accelerator.iceberg.tables.footprints import Footprints
from accelerator.iceberg.tables.places import SearchFolder
from accelerator.services.publish import _is_alone
from accelerator.services.vacuum.shared_files import LakeCatalogs, SharedFiles
from tests.support.pristine import catalog_of, properties_of
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer
from tests.support.table_histories import Lake

ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})
PARTS = ("lake", "d", "t")


class Procedures:
    """What would be done by Iceberg's procedures; all snapshots but the newest can expire."""

    def __init__(self, catalog):
        self.catalog, self.calls = catalog, []

    def expirable(self, parts, _older):
        table = self.catalog.load_table(parts[1:])
        return frozenset(one.snapshot_id for one in table.metadata.snapshots[:-1])

    def expire(self, parts, _older):
        self.calls.append("expire")
        return {}

    def remove_orphans(self, parts, _older, *, dry_run):
        self.calls.append("dry run" if dry_run else "orphans")
        return 0


class World:
    """A lake of `d.t` and `d.u`, each with a data file, and a session over it."""

    def __init__(self, root: Path, monkeypatch) -> None:
        self.root, self.catalog = root, catalog_of(root)
        self.procedures = Procedures(self.catalog)
        target = "accelerator.services.vacuum.snapshots._procedures"
        monkeypatch.setattr(target, lambda _services, _tag: self.procedures)

    def vacuum(self, table="lake.d.t", **settings):
        """The calls of procedures; the session's store lies outside of all tables."""
        self.procedures.calls.clear()
        store = str(self.root.parent / f"{self.root.name}-store")
        with accelerator.open(self.root, store=store, vacuum_retain_hours=0) as acc:
            acc.vacuum(table, **{"full": True, "snapshots": True, "retain_hours": 0, **settings})
            assert not acc.spark_started
        return self.procedures.calls

    def refused(self, match, table="lake.d.t", **settings):
        for dry_run in (True, False):
            with pytest.raises(VacuumRefusedError, match=match) as raised:
                self.vacuum(table, dry_run=dry_run, **settings)
            assert raised.value.code == "vacuum_refused" and raised.value.hint
        assert not self.procedures.calls

    def edit(self, name, edit):
        """Changes a table's metadata as a commit of any other writer does."""
        settings = CatalogSettings("lake", "sql", properties_of(self.root))
        reader = SqliteCatalog(settings, self.root / "catalog.db")
        reader._commit_sql(("d", name), edit)

    def move(self, name, location):
        self.edit(name, lambda metadata: metadata.update(location=location))

    def path(self, name, key, value):
        """Sets a property, or removes it."""

        def edit(metadata):
            metadata["properties"].pop(key, None)
            metadata["properties"] |= {} if value is None else {key: value}

        self.edit(name, edit)

    def table(self, name):
        return self.catalog.load_table(f"d.{name}")

    def location(self, name):
        return self.table(name).location()

    def lose(self, name, glob="snap-*.avro"):
        """The table's lists of manifests are gone."""
        folder = Path(local_path(self.location(name))) / "metadata"
        for file in folder.glob(glob):
            file.unlink()


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    for name in ("t", "u"):
        catalog.create_table(f"d.{name}", ROWS.schema).append(ROWS)


@pytest.fixture
def world(pristine, monkeypatch):
    made = World(pristine.lake(_fill, "shared files"), monkeypatch)
    yield made
    made.catalog.engine.dispose()


BOTH = ["orphans"]


def test_a_table_alone_is_vacuumed_though_no_snapshot_of_others_can_be_read(world):
    world.table("u").append(ROWS)
    world.lose("u")
    world.table("t").append(ROWS)
    assert world.vacuum() == ["expire", "orphans"]
    assert world.vacuum(dry_run=True) == ["dry run"]
    assert world.vacuum(full=False) == ["expire"]


def test_a_table_that_was_renamed_and_moved_keeps_its_files(world):
    """The issue's first example: its current metadata doesn't show where its files lie."""
    world.catalog.rename_table("d.t", "d.old")
    location = world.location("old")
    world.move("old", f"{world.root}/moved")
    world.catalog.create_table("d.t", ROWS.schema, location=location)
    world.refused("lake.d.old has files inside lake.d.t's location")
    world.catalog.drop_table("d.old")
    assert world.vacuum() == BOTH


def test_a_write_path_that_was_set_for_a_while(world):
    """The issue's second example; once no snapshot needs the files, nothing is refused."""
    world.path("u", "write.data.path", f"{world.location('t')}/data")
    world.table("u").append(ROWS)
    world.path("u", "write.data.path", None)
    world.refused("lake.d.u has files inside")
    world.table("u").overwrite(ROWS)
    world.refused("lake.d.u has files inside")
    table = world.table("u")
    for snapshot in table.metadata.snapshots[:-1]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert world.vacuum() == BOTH


@pytest.mark.parametrize("word", ["metadata", "folder-storage", "object-storage"])
def test_every_write_path_counts(world, word):
    world.path("u", f"write.{word}.path", f"{world.location('t')}/x")
    world.refused("lake.d.u has files inside")
    if word == "metadata":
        world.table("u").append(ROWS)  # whose metadata file stays in the log
    world.path("u", f"write.{word}.path", None)
    if word == "metadata":
        world.refused("lake.d.u has files inside")
    else:
        assert world.vacuum() == BOTH


def test_a_path_in_an_old_metadata_file_is_found_when_the_log_is_cut(world):
    world.path("u", "write.data.path", f"{world.location('t')}/data")
    world.table("u").append(ROWS)
    world.path("u", "write.data.path", None)

    def cut(metadata):
        del metadata["metadata-log"][:-1]

    world.edit("u", cut)
    for _ in range(3):
        world.path("u", "comment", "x")
    world.edit("u", lambda metadata: metadata["metadata-log"].clear())
    world.refused("lake.d.u has files inside")


def test_metadata_without_a_log_is_no_beginning(world):
    """Some writers keep none, and name their files without numbers."""
    world.path("u", "write.data.path", f"{world.location('t')}/data")
    world.table("u").append(ROWS)
    world.path("u", "write.data.path", None)
    old = Path(local_path(world.table("u").metadata_location))
    new = old.with_name("newest.metadata.json")
    new.write_text(json.dumps({**json.loads(old.read_text()), "metadata-log": []}))
    with sqlite3.connect(world.root / "catalog.db") as database:
        update = "UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 'u'"
        database.execute(update, (f"file://{new}",))
    database.close()
    world.refused("lake.d.u has files inside")


def test_a_log_with_a_gap_proves_nothing(world):
    """A writer that keeps no log leaves one out."""
    world.path("u", "write.data.path", f"{world.location('t')}/data")
    world.table("u").append(ROWS)
    world.path("u", "write.data.path", None)
    world.edit("u", lambda metadata: metadata["metadata-log"].__delitem__(slice(2, 4)))
    world.refused("lake.d.u has files inside")


def test_a_counted_table_that_cant_be_read_is_named(world):
    world.path("u", "write.data.path", f"{world.location('t')}/data")
    world.path("u", "write.data.path", None)
    assert world.vacuum() == BOTH
    world.lose("u")
    world.refused("the files that lake.d.u needs can't be read")


def test_metadata_that_cant_be_read_is_named(world):
    location = world.table("u").metadata_location
    Path(local_path(location)).write_text("{")
    world.refused("the files that lake.d.u needs can't be read")
    Path(local_path(location)).unlink()
    world.refused("the files that lake.d.u needs can't be read")


def test_an_old_metadata_file_that_is_gone_is_made_up_for_by_the_snapshots(world):
    world.path("u", "comment", "x")
    first = world.table("u").metadata.metadata_log[0].metadata_file
    Path(local_path(first)).unlink()
    assert world.vacuum() == BOTH
    world.lose("u")
    world.refused("the files that lake.d.u needs can't be read")


def test_a_table_that_pyiceberg_refuses_is_no_obstacle(world):
    def variant(metadata):
        metadata["schemas"][0]["fields"].append(
            {"id": 9, "name": "v", "required": False, "type": "variant"}
        )

    world.edit("u", variant)
    with pytest.raises(Exception, match="variant"):
        world.table("u")
    assert world.vacuum() == BOTH


def test_names_that_begin_alike_share_nothing(world):
    world.catalog.create_table("d.t2", ROWS.schema).append(ROWS)
    world.catalog.create_namespace("d.n")
    assert world.vacuum() == BOTH
    assert world.vacuum("lake.d.t2") == BOTH


def test_nested_tables(world):
    """The inner one's vacuum touches nothing of the outer one; the outer one's would."""
    location = f"{world.location('t')}/inner"
    world.catalog.create_table("d.inner", ROWS.schema, location=location).append(ROWS)
    world.refused("lake.d.inner has files inside")
    assert world.vacuum("lake.d.inner") == BOTH
    world.table("t").append(ROWS)
    assert world.vacuum(full=False) == ["expire"]


def test_a_table_made_twice_from_one_metadata_file(world):
    world.table("t").append(ROWS)
    metadata = world.table("t").metadata_location
    world.catalog.register_table("d.twin", metadata)
    world.refused("lake.d.twin has files inside")
    world.refused("lake.d.twin needs .*, which goes with old snapshots", full=False)
    twin = world.table("twin")
    twin.maintenance.expire_snapshots().by_id(twin.metadata.snapshots[0].snapshot_id).commit()
    assert world.vacuum(full=False) == ["expire"]


def test_a_published_table_that_shares_files_is_dropped_without_them(world, caplog):
    with accelerator.open(world.root) as acc:
        pinned = acc.services.lake.pin(fresh=True).pinned(PARTS)
        assert _is_alone(acc.services, pinned) and not caplog.text
        world.catalog.register_table("d.twin", pinned.metadata_location)
        assert not _is_alone(acc.services, pinned)
        assert "dropped without its files: lake.d.twin needs" in caplog.text


def test_files_that_were_added_to_another_table(world):
    path = next(iter(world.table("t").scan().plan_files())).file.file_path
    world.table("u").add_files([path])
    world.refused("lake.d.u has files inside")
    world.table("t").append(ROWS)
    assert world.vacuum(full=False) == ["expire"]  # the newest snapshot still has it
    world.table("t").overwrite(ROWS)
    world.refused(f"lake.d.u needs {path}", full=False)
    assert world.vacuum("lake.d.u") == ["expire", "orphans"]


def test_statistics_files_are_needed(world):
    snapshot = world.table("u").current_snapshot().snapshot_id
    file = {"snapshot-id": snapshot, "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1}
    for key, extra in (("statistics", {"blob-metadata": []}), ("partition-statistics", {})):
        path = f"{world.location('t')}/metadata/some.puffin"
        one = [{**file, **extra, "statistics-path": path}]
        world.edit("u", lambda metadata, key=key, one=one: metadata.update({key: one}))
        world.refused("lake.d.u has files inside")
        world.edit("u", lambda metadata, key=key: metadata.pop(key))


def test_a_view_of_the_old_name_keeps_its_metadata(world):
    """`RENAME`, then a view of the old name: its metadata lies where the table does."""
    world.catalog.rename_table("d.t", "d.old")
    row = ("lake", "d", "t", f"{world.location('old')}/metadata/00000-v.gz.metadata.json", "VIEW")
    with sqlite3.connect(world.root / "catalog.db") as database:
        database.execute(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, iceberg_type) VALUES (?, ?, ?, ?, ?)",
            row,
        )
    database.close()
    world.refused("the view lake.d.t has files inside lake.d.old's", "lake.d.old")
    assert world.vacuum("lake.d.old", full=False) == []


def test_symbolic_links(world, tmp_path):
    """On a disk a folder is itself by whatever way one comes to it."""
    own = local_path(world.location("t"))
    other = local_path(world.location("u"))
    link = tmp_path / "link"
    link.symlink_to(own)
    world.path("u", "write.data.path", f"{link}/data")
    world.refused("lake.d.u has files inside")
    world.path("u", "write.data.path", None)
    assert world.vacuum() == BOTH
    Path(own, "data", "far").symlink_to(Path(other, "data"))  # the procedure follows it
    world.refused("lake.d.u has files inside")
    Path(own, "data", "far").unlink()
    shutil.copytree(Path(other, "data"), Path(own, "of-u"))
    shutil.rmtree(Path(other, "data"))
    Path(other, "data").symlink_to(Path(own, "of-u"))
    world.refused("lake.d.u has files inside")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/w/t", "file:/w/t/data"),
        ("/w/t/", "file:///w/t"),
        ("file:///w//t", "/w/t"),
        ("file://localhost/w/t", "/w/x/../t"),
        ("s3://b/w/t", "s3a://b/w/t/data"),
        ("s3n://B/w/t/", "s3://b/w//t"),
        ("s3://b/w", "s3://b/w/../t"),
        ("s3://b/w/%74", "s3://b/w/t"),
        ("hdfs://node:8020/w/t", "hdfs://node/w/t"),
        ("hdfs:///w/t", "/w/t"),
        ("abfs://c@one.dfs.core.windows.net/w", "wasbs://c@one.blob.core.windows.net/w/t"),
        ("s3://b", "s3://b/w"),
        ("/", "/w"),
    ],
)
def test_spellings_of_one_folder(one, other):
    assert SearchFolder(one).meets(SearchFolder(other)) and SearchFolder(other).meets(
        SearchFolder(one)
    )
    assert SearchFolder(one).has(SearchFolder(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/w/t", "/w/t2"),
        ("s3://b/w/t", "s3://b/w/t2"),
        ("s3://b/w/t", "s3://c/w/t"),
        ("s3://b/w/t", "gs://b/w/t"),
        ("s3://b/w/t", "s3://b/w/T"),
        ("abfs://c@one.dfs.x/w", "abfs://c@two.dfs.x/w"),
        ("/w/t", "s3://b/w/t"),
    ],
)
def test_other_folders(one, other):
    assert not SearchFolder(one).meets(SearchFolder(other)) and not SearchFolder(other).meets(
        SearchFolder(one)
    )


def test_what_is_inside_has_a_direction():
    assert SearchFolder("/w").has(SearchFolder("/w/t")) and not SearchFolder("/w/t").has(
        SearchFolder("/w")
    )


def test_the_file_of_the_catalog_and_the_store(world):
    world.catalog.create_table("d.root", ROWS.schema, location=str(world.root)).append(ROWS)
    for name in ("t", "u"):
        world.catalog.drop_table(f"d.{name}")
    world.refused(r"the file .*catalog\.db of the catalog lake lies inside", "lake.d.root")
    assert world.vacuum("lake.d.root", full=False) == []


def test_a_table_that_appears_meanwhile_is_looked_at(world, monkeypatch):
    """Renamed between two listings, say, or made anew in the folder."""
    listed, calls = SqliteCatalog.entries, []
    world.catalog.rename_table("d.t", "d.old")
    world.catalog.create_table("d.t", ROWS.schema, location=world.location("old"))

    def entries(self):
        calls.append(1)
        return (one for one in listed(self) if len(calls) > 1 or one[0] != ("d", "old"))

    monkeypatch.setattr(SqliteCatalog, "entries", entries)
    world.refused("lake.d.old has files inside")
    assert len(calls) > 1


def test_catalogs_that_never_rest(world, monkeypatch):
    number = iter(range(10**6))
    monkeypatch.setattr(
        SqliteCatalog, "entries", lambda self: iter([(("d", f"x{next(number)}"), False)])
    )
    world.refused("new tables kept appearing")


def test_it_can_be_cancelled_at_every_table_and_snapshot():
    """Whatever it has read by then, nothing is decided."""
    lake = Lake(7, rare=True)
    name = next(one for one, entry in lake.entries.items() if not entry.is_view)
    left = 0

    def check():
        nonlocal left
        left -= 1
        if left < 0:
            raise CancelledError("cancelled")

    for allowed in range(1000):
        left = allowed
        shared = SharedFiles(lake, Footprints(lake), ("lake", "d", name), check)
        try:
            shared.check_folder(lake.location(name))
        except CancelledError:
            continue
        except VacuumRefusedError:
            pass
        break
    assert allowed >= len(lake.entries)


def test_a_catalog_under_two_names_has_one_table(tmp_path):
    """A server that is asked under two names is no reason to refuse; a second entry is."""

    def settings(name, kind, **properties):
        return CatalogSettings(name, kind, properties)

    known = {
        one.name: one
        for one in (
            settings("a", "rest", uri="http://one", warehouse="w"),
            settings("b", "rest", uri="http://one", warehouse="w", token="x"),
            settings("c", "rest", uri="http://one", warehouse="v"),
            settings("x", "sql", uri="sqlite:////c.db"),
            settings("y", "sql", uri="sqlite:////c.db"),
            settings("g", "glue"),
            settings("h", "glue"),
        )
    }
    catalogs = LakeCatalogs({}, known)

    def are_one(one, other, table="t"):
        return catalogs.are_one(((one, "d", "t"), False), ((other, "d", table), False))

    assert are_one("a", "a") and are_one("a", "b") and are_one("g", "h")
    assert not any(
        (are_one("a", "c"), are_one("x", "y"), are_one("a", "b", "u"), are_one("a", "g"))
    )


def test_rest_catalogs_say_where_metadata_is(tmp_path):
    catalog = SqlCatalog("served", **properties_of(tmp_path))
    _fill(catalog)
    with RestCatalogServer(catalog).running() as server:
        settings = CatalogSettings("lake", "rest", {"uri": server.uri, "credential": CREDENTIAL})
        reader = Catalogs([settings], "lake", lambda: ("d",)).catalogs["lake"]
        assert sorted(reader.entries()) == [(("d", "t"), False), (("d", "u"), False)]
        found = reader.located(("d", "t"), is_view=False)
        assert found.location == catalog.load_table("d.t").metadata_location
        assert reader.located(("d", "gone"), is_view=False) is None
        assert reader.located(("d", "gone"), is_view=True) is None
    catalog.engine.dispose()


@pytest.mark.parametrize("damage", [
    lambda m: m.pop("location"),
    lambda m: m.update(location=7),
    lambda m: m.update(location="/a\0b"),
    lambda m: m.update(location="/\ud800"),
    lambda m: m.update(snapshots=[{}]),
    lambda m: m.update(snapshots={"snapshot-id": 1}),
    lambda m: m.update({"metadata-log": [1]}),
    lambda m: m.update(properties={"write.data.path": ["/"]}),
    lambda m: m.update(statistics=[{"snapshot-id": 1, "statistics-path": 3}]),
])  # fmt: skip
def test_metadata_of_another_form_is_named(world, damage):
    path = Path(local_path(world.table("u").metadata_location))
    metadata = json.loads(path.read_text())
    damage(metadata)
    path.write_text(json.dumps(metadata))
    world.refused("the files that lake.d.u needs can't be read")
