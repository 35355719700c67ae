"""The recycle bin's promises: nothing is lost before its time, nothing stays after it.

Strategy for crashes: a vacuum that ends a cube dies at each of its requests in turn, before it acts
or after; what must hold then is said beside it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from accelerator.errors import (
    CubeExistsError,
    CubeNotFoundError,
    IndexNotFoundError,
    StoreError,
)
from accelerator.store import DroppedCube, IndexRecord, Retention, Store
from accelerator.store.files.files import open_files
from accelerator.store.log.registry import RegistryCodec, RegistryVersion
from accelerator.store.log.versioned_log import VersionedLog
from tests.accelerator.store.doors import HOUR, Crash, Door, World
from tests.accelerator.store.samples import TABLE, cube, segment

CUBE = "c" * 32
DAY = 24 * HOUR
NOTHING = Retention(0, versions_min=1)
GOLDEN = Path(__file__).parent / "golden"


class Bin:
    """A store in memory with a built cube, and a clock that tests turn."""

    def __init__(self):
        self.world = World()
        self.store = self.another()
        self.store.create_cube(cube())
        self.add(1, 2)

    def another(self, door=None):
        return Store(door or Door(self.world), now_ms=self.world.clock, sleep=lambda _: None)

    def add(self, *ids, cube_id=CUBE):
        folder = f"tables/{TABLE}/cubes/{cube_id}/j"
        for id in ids:
            Door(self.world).create(f"{folder}/{id}.parquet", b"rows")
        paths = {id: self.world.files.uri(f"{folder}/{id}.parquet") for id in ids}
        made = [segment(id, id, cube_id=cube_id, path=paths[id]) for id in ids]
        self.store.add_segments(TABLE, made)

    def vacuum(self, retention=NOTHING, **how):
        return self.another().vacuum(TABLE, retention, **how)

    def later(self, hours):
        self.world.now += int(hours * HOUR)

    @property
    def segments(self):
        return set(self.another().table(TABLE).segments)

    @property
    def artifacts(self):
        return {path.rpartition("/")[2] for path in self.world.files.list(f"tables/{TABLE}/cubes")}


@pytest.fixture
def bin():
    return Bin()


def of(report):
    return {(one.action, one.reason): one.files for one in report.lines if one.what == "cube"}


# Dropping and undropping


def test_what_is_undropped_has_all_its_segments(bin):
    before = bin.store.table(TABLE).of(CUBE)
    assert bin.store.recycle_cube("sales", DAY) == cube()
    binned = bin.another().registry()
    assert binned.cubes == {}
    assert binned.bin == (DroppedCube(cube(), bin.world.now, bin.world.now + DAY),)
    assert bin.another().undrop_cube("sales") == cube()
    registry = bin.store.registry()
    assert (registry.cubes, registry.bin) == ({"sales": cube()}, ())
    assert bin.another().table(TABLE).of(CUBE) == before
    assert bin.another().table(TABLE).number == 1


def test_a_name_that_is_taken_meanwhile_wants_another(bin):
    bin.store.recycle_cube("sales", DAY)
    bin.store.create_cube(cube(id="d" * 32))
    with pytest.raises(CubeExistsError) as raised:
        bin.store.undrop_cube("sales")
    assert "UNDROP CUBE sales AS" in raised.value.hint
    assert bin.store.undrop_cube("sales", "old") == cube("old")
    assert {one.id for one in bin.store.registry().cubes.values()} == {CUBE, "d" * 32}
    assert bin.segments == {1, 2}


def test_the_newest_of_a_name_comes_back_whatever_the_clock_said(bin):
    bin.store.recycle_cube("sales", DAY)
    bin.store.create_cube(cube(id="d" * 32))
    bin.later(-5)
    bin.store.recycle_cube("sales", DAY)
    assert bin.store.undrop_cube("sales").id == "d" * 32
    assert bin.store.undrop_cube("sales", "older").id == CUBE


def test_an_unknown_name_says_what_is_there(bin):
    with pytest.raises(CubeNotFoundError, match="no cube named sales is in the recycle bin"):
        bin.store.undrop_cube("sales")
    bin.store.recycle_cube("sales", DAY)
    with pytest.raises(CubeNotFoundError) as raised:
        bin.store.undrop_cube("sale")
    assert raised.value.hint == "did you mean sales?"
    with pytest.raises(CubeNotFoundError) as raised:
        bin.store.drop_cube("sales")
    assert raised.value.hint == "it's in the recycle bin: UNDROP CUBE sales"


def test_an_undropped_cube_is_not_published(bin):
    bin.store.change_cube("sales", published="lake.shop.sales_cube")
    assert bin.store.recycle_cube("sales", DAY).published == "lake.shop.sales_cube"
    assert bin.store.undrop_cube("sales").published is None


def test_a_read_only_store_recycles_nothing(bin):
    frozen = Store(Door(bin.world), read_only=True)
    for change in (lambda: frozen.recycle_cube("sales", DAY), lambda: frozen.undrop_cube("sales")):
        with pytest.raises(StoreError, match="read-only"):
            change()


# Builds


def test_a_build_of_a_cube_in_the_bin_brings_nothing_and_costs_nothing(bin):
    job = bin.store.begin_job(TABLE, CUBE)
    bin.another().recycle_cube("sales", DAY)
    with pytest.raises(CubeNotFoundError) as raised:
        bin.store.add_segments(TABLE, [segment(3, 3)], job=job)
    assert "UNDROP" in raised.value.hint
    assert bin.segments == {1, 2}


def test_a_cube_that_is_recycled_while_a_build_commits_keeps_its_segments(bin):
    class Late(Door):
        """Another process drops the cube just before the table's version is written."""

        def create(self, path, data):
            if f"{TABLE}/versions/" in path:
                bin.another().recycle_cube("sales", DAY)
            return super().create(path, data)

    store = bin.another(Late(bin.world))
    job = store.begin_job(TABLE, CUBE)
    store.add_segments(TABLE, [segment(3, 3)], job=job)
    assert bin.segments == {1, 2, 3}
    assert bin.store.undrop_cube("sales")


# The end


def test_a_vacuum_keeps_what_is_in_the_bin_until_its_time(bin):
    bin.store.recycle_cube("sales", DAY)
    for full in (False, True):
        bin.later(11)
        assert of(bin.vacuum(full=full)) == {("kept", "in the recycle bin"): 1}
    bin.world.now += 2 * HOUR - 1
    bin.vacuum(full=True)
    assert bin.segments == {1, 2}
    bin.world.now += 1
    before = set(bin.world.files.list(""))
    told = bin.vacuum(dry_run=True)
    assert of(told) == {("would delete", "its time in the recycle bin is over"): 1}
    assert set(bin.world.files.list("")) == before
    done = bin.vacuum()
    assert of(done) == {("deleted", "its time in the recycle bin is over"): 1}
    assert (bin.segments, bin.artifacts) == (set(), set())
    with pytest.raises(CubeNotFoundError):
        bin.store.undrop_cube("sales")
    assert of(bin.vacuum(full=True)) == {}


def test_files_of_an_ended_cube_have_the_grace_time_of_all_garbage(bin):
    bin.store.recycle_cube("sales", DAY)
    bin.later(24)
    bin.vacuum(Retention(HOUR, versions_min=1))
    assert (bin.segments, bin.artifacts) == (set(), {"1.parquet", "2.parquet"})
    bin.later(1)
    bin.vacuum(Retention(HOUR, versions_min=1))
    assert bin.artifacts == set()


def test_what_is_undropped_is_not_ended_though_its_time_was_over(bin):
    bin.store.recycle_cube("sales", DAY)
    bin.later(48)
    bin.store.undrop_cube("sales")
    bin.vacuum(full=True)
    assert bin.segments == {1, 2}
    bin.store.recycle_cube("sales", DAY)
    bin.vacuum(full=True)
    assert bin.segments == {1, 2}


def test_an_undrop_that_overtakes_a_vacuum_wins(bin):
    bin.store.recycle_cube("sales", DAY)
    bin.later(24)

    class Late(Door):
        def create(self, path, data):
            if path.startswith("registry/"):
                bin.another().undrop_cube("sales")
            return super().create(path, data)

    report = bin.another(Late(bin.world)).vacuum(TABLE, NOTHING)
    assert of(report) == {}
    assert bin.segments == {1, 2}
    assert set(bin.store.registry().cubes) == {"sales"}


def test_a_vacuum_ends_nothing_of_another_table(bin):
    other = cube("other", "d" * 32, table_uuid="22222222-2222-4333-8444-555555555555")
    bin.store.create_cube(other)
    bin.store.recycle_cube("other", 0)
    assert of(bin.vacuum(full=True)) == {}
    assert [one.cube for one in bin.store.registry().bin] == [other]


@pytest.mark.parametrize("how", ["before", "after", "torn"])
def test_a_vacuum_that_dies_is_finished_by_the_next(how):
    for at in range(100):
        bin = Bin()
        bin.store.create_cube(cube("kept", "d" * 32))
        bin.add(3, cube_id="d" * 32)
        bin.store.recycle_cube("sales", DAY)
        bin.later(24)
        door = Door(bin.world)
        door.left, door.how = at, how
        try:
            bin.another(door).vacuum(TABLE, NOTHING)
        except Crash:
            registry, version = bin.another().registry(), bin.another().table(TABLE)
            # What can be undropped is whole, and what is gone can't be undropped.
            assert not registry.bin or (set(version.segments) == {1, 2, 3} and bin.artifacts)
        else:
            break
        bin.vacuum()
        bin.later(1)
        bin.vacuum()
        assert (bin.segments, bin.artifacts) == ({3}, {"3.parquet"})
        assert bin.another().registry().bin == ()
    assert at > 10


@pytest.mark.parametrize("full", [False, True])
def test_a_damaged_registry_stops_the_vacuum(bin, full):
    bin.store.recycle_cube("sales", DAY)
    bin.later(24)
    path = "registry/v00000000000000000002.json"
    data = bin.world.files.read(path)
    bin.world.files.delete([path])
    bin.world.files.create(path, data[:-9])
    with pytest.raises(StoreError, match="damaged"):
        bin.vacuum(full=full)
    assert bin.segments == {1, 2}


# The format


def test_a_release_that_knows_no_bin_refuses_the_registry(bin):
    bin.store.recycle_cube("sales", DAY)

    class Older(RegistryCodec):
        format = 1

    log = VersionedLog(bin.world.files, "registry", Older(), RegistryVersion())
    before = bin.world.files.list("registry")
    for use in (log.current, lambda: log.commit(lambda one: one.with_cube(cube("new", "e" * 32)))):
        with pytest.raises(StoreError) as raised:
            use()
        assert "upgrade" in raised.value.hint
    assert bin.world.files.list("registry") == before


def test_a_release_that_has_read_before_the_bin_came_commits_nothing_over_it(bin):
    class Older(RegistryCodec):
        format = 1

    files = open_files("memory:///")
    log = VersionedLog(files, "registry", Older(), RegistryVersion())
    log.commit(lambda registry: registry.with_cube(cube()))
    Store(files).recycle_cube("sales", DAY)
    with pytest.raises(StoreError, match="format 3"):
        log.commit(lambda registry: registry.with_cube(cube("new", "e" * 32)))
    assert len(Store(files).registry().bin) == 1


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_format_1_is_read_and_the_next_commit_writes_format_3(tmp_path, version):
    shutil.copytree(GOLDEN / version / "registry", tmp_path / "registry")
    store = Store.open(str(tmp_path))
    old = store.registry()
    assert old.bin == () and "sales" in old.cubes
    store.recycle_cube("sales", DAY)
    newest = sorted((tmp_path / "registry").iterdir())[-1]
    assert newest.read_bytes().startswith(b'{"format":3,"kind":"registry",')
    again = Store.open(str(tmp_path)).registry()
    assert [one.cube for one in again.bin] == [old.cubes["sales"]]
    assert dict(again.cubes) == {k: v for k, v in old.cubes.items() if k != "sales"}


def test_format_2_is_read_and_has_no_indexes(tmp_path):
    shutil.copytree(GOLDEN / "registry_v2", tmp_path, dirs_exist_ok=True)
    registry = Store.open(str(tmp_path)).registry()
    assert registry.cubes == {"again": replace(cube(), name="again")}
    assert len(registry.bin) == 1 and not registry.indexes


def index(name="needle"):
    options = {"bits_per_value": 10.5}
    return IndexRecord(
        "e" * 32, name, "shop.orders", TABLE, "BLOOM", 3, "käufer", 1_750_000_000_000, options
    )


def test_an_index_is_switched_off_until_another_takes_its_place(tmp_path):
    store = Store.open(str(tmp_path))
    store.create_index(index())
    store.change_index("needle", disabled="It was wrong.")
    assert Store.open(str(tmp_path)).registry().index("needle").disabled == "It was wrong."
    with pytest.raises(IndexNotFoundError, match="replaced by another"):
        store.change_index("needle", "f" * 32, disabled=None)
    with pytest.raises(IndexNotFoundError, match="no index"):
        store.change_index("thread", disabled=None)
    store.create_index(replace(index("new"), id="f" * 32))
    store.rename_index("new", "needle")
    assert store.registry(fresh=True).index("needle").disabled is None


def test_an_index_that_is_asked_is_written_as_before(tmp_path):
    assert "disabled" not in index().to_json()
    off = replace(index(), disabled="It was wrong.")
    assert IndexRecord.from_json(off.to_json()) == off
    assert IndexRecord.from_json(index().to_json()) == index()


def write_golden(store):
    store.create_index(index())
    store.create_index(replace(index("old"), id="f" * 32))
    store.rename_index("needle", "old")
    store.create_cube(cube())
    store.create_cube(cube("spaß", "d" * 32))
    store.recycle_cube("sales", DAY)
    store.recycle_cube("spaß", 0)
    store.undrop_cube("sales", "again")


def test_golden_bytes_of_the_registry(tmp_path):
    """Renewed by calling `write_golden` on an empty folder, for a new format alone."""
    write_golden(Store.open(str(tmp_path), now_ms=lambda: 1_750_000_000_000))
    registry = Store.open(str(GOLDEN / "registry_v3")).registry()
    assert registry.cubes == {"again": replace(cube(), name="again")}
    assert registry.indexes == {"old": index("old")}
    spass = DroppedCube(cube("spaß", "d" * 32), 1_750_000_000_000, 1_750_000_000_000)
    assert registry.bin == (spass,)
    assert shapes(GOLDEN / "registry_v3") == shapes(tmp_path), "changed bytes need format 4"


def test_golden_bytes_of_a_registry_with_refreshes(tmp_path):
    """Renewed alike; format 4 is written only where a record says when it's refreshed."""
    store = Store.open(str(tmp_path), now_ms=lambda: 1_750_000_000_000)
    store.create_cube(cube())
    store.create_index(index())
    store.change_cube("sales", refresh="on_commit")
    store.change_index("needle", refresh="10 minutes")
    store.recycle_cube("sales", DAY)
    registry = Store.open(str(GOLDEN / "registry_v4")).registry()
    assert registry.indexes == {"needle": replace(index(), refresh="10 minutes")}
    assert registry.bin[0].cube == replace(cube(), refresh="on_commit")
    heads = [text[:11] for text in shapes(GOLDEN / "registry_v4")]
    assert heads == [b'{"format":3'] * 2 + [b'{"format":4'] * 3
    assert shapes(GOLDEN / "registry_v4") == shapes(tmp_path), "changed bytes need format 5"


def test_a_registry_that_says_nothing_of_refreshes_any_more_is_of_format_3_again(tmp_path):
    store = Store.open(str(tmp_path), now_ms=lambda: 1_750_000_000_000)
    store.create_cube(cube(refresh="manual"))
    store.recycle_cube("sales", DAY)
    store.undrop_cube("sales", "again")
    store.drop_cube("again")
    heads = [text[:11] for text in shapes(tmp_path / "registry")]
    assert heads == [b'{"format":4'] * 3 + [b'{"format":3']


def shapes(root):
    tokens = re.compile(rb'"commit":"\w+"')
    return [tokens.sub(b"", path.read_bytes()) for path in sorted(root.rglob("v*.json"))]
