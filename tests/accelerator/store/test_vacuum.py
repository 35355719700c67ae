"""The vacuum's promises, one by one: what goes, what stays and why, and what it costs."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from accelerator.errors import StoreConflictError, StoreError
from accelerator.store import Retention, Store
from accelerator.store.files.files import open_files
from tests.accelerator.store.samples import TABLE, cube, segment

CUBE = "c" * 32
HOUR = 3_600_000
NOTHING = Retention(0, versions_min=1)


class World:
    """A store in a folder, with a clock that tests turn; files are as old as the clock says."""

    def __init__(self, root):
        self.root, self.now = root, 1_750_000_000_000
        self.files = open_files(str(root))
        self.store = self.another()
        self.store.create_cube(cube())

    def another(self):
        return Store(self.files, now_ms=lambda: self.now)

    def uri(self, number, job="j"):
        return f"file://{self.root}/tables/{TABLE}/cubes/{CUBE}/{job}/{number}.parquet"

    def add(self, *numbers, replaces=()):
        for number in numbers:
            self.write(f"cubes/{CUBE}/j/{number}.parquet")
        made = [segment(number, number, path=self.uri(number)) for number in numbers]
        return self.store.add_segments(TABLE, made, replaces=replaces)

    def write(self, path, data=b"rows"):
        self.files.create(f"tables/{TABLE}/{path}", data)
        os.utime(self.root / "tables" / TABLE / path, (self.now / 1000, self.now / 1000))

    def later(self, hours):
        self.now += int(hours * HOUR)

    def vacuum(self, retention=NOTHING, **how):
        return self.another().vacuum(TABLE, retention, **how)

    @property
    def artifacts(self):
        folder = f"tables/{TABLE}/cubes/"
        return {path.removeprefix(folder) for path in self.files.list(folder)}

    def names(self, folder):
        return [path.rpartition("/")[2] for path in self.files.list(f"tables/{TABLE}/{folder}")]


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "store")


def of(report, action="deleted"):
    return {(one.what, one.reason): one.files for one in report.lines if one.action == action}


def test_garbage_goes_once_it_is_old_and_nobody_needs_it(world):
    world.add(1, 2, 3)
    world.add(4, replaces=[1, 2])
    keep = Retention(HOUR, versions_min=1)
    report = world.vacuum(keep)
    assert ("artifact", "younger than the grace time") in of(report, "kept")
    world.later(2)
    report = world.vacuum(keep)
    assert of(report)["artifact", "no version names it"] == 2
    assert world.artifacts == {f"{CUBE}/j/3.parquet", f"{CUBE}/j/4.parquet"}
    assert sum(one.bytes for one in report.lines if one.what == "artifact") == 1024
    assert set(world.another().table(TABLE).segments) == {3, 4}
    # Nothing is done twice, and an idle store gets no more versions.
    number = world.another().table(TABLE).number
    world.later(2)
    assert not of(world.vacuum(keep))
    assert world.another().table(TABLE).number == number


def test_retained_versions_keep_what_they_name(world):
    world.add(1)
    world.add(2, replaces=[1])
    world.add(3, replaces=[2])
    world.later(2)
    report = world.vacuum(Retention(0, versions_min=2))
    assert of(report, "kept")["artifact", "an older version is pinned or retained"] == 1
    assert world.artifacts == {f"{CUBE}/j/2.parquet", f"{CUBE}/j/3.parquet"}


def test_a_pinned_version_keeps_what_it_names_until_its_lease_ends(world):
    world.add(1)
    reader = world.another()
    with reader.reading():
        assert set(reader.table(TABLE).segments) == {1}
        world.add(2, replaces=[1])
        world.vacuum(full=True)
        assert world.artifacts == {f"{CUBE}/j/1.parquet", f"{CUBE}/j/2.parquet"}
    world.later(1)  # the reader's process was killed: nobody renews
    report = world.vacuum()
    assert of(report)["lease", "it has ended"] == 1
    assert world.artifacts == {f"{CUBE}/j/2.parquet"}
    assert world.names("pins") == []


def test_a_vacuum_is_not_held_up_by_what_its_own_session_has_read(world):
    world.add(1)
    own = world.store
    with own.reading():
        own.table(TABLE)
    world.add(2, replaces=[1])
    with own.reading():
        own.table(TABLE)
        world.add(3, replaces=[2])
        own.vacuum(TABLE, NOTHING)
        assert world.artifacts == {f"{CUBE}/j/2.parquet", f"{CUBE}/j/3.parquet"}
    own.vacuum(TABLE, NOTHING)
    assert world.artifacts == {f"{CUBE}/j/3.parquet"}
    assert world.names("pins") == []


def test_a_dropped_cube_goes_with_all_under_its_prefix(world):
    world.add(1, 2)
    world.write(f"cubes/{CUBE}/j/_SUCCESS")
    world.store.drop_cube("sales")
    report = world.vacuum()
    assert of(report)["artifact", "its cube was dropped"] == 3
    assert world.artifacts == set()


def test_a_dropped_cube_goes_though_nobody_changes_the_table_any_more(world):
    world.add(1, 2)
    world.store.drop_cube("sales")
    world.later(25)
    keep, waits = Retention(24 * HOUR), ("dropped cube", "an older version is pinned or retained")
    assert of(world.vacuum(keep, dry_run=True), "kept")[waits] == 1
    for _ in range(2):
        assert of(world.vacuum(keep), "kept")[waits] == 1
        assert world.artifacts
    assert of(world.vacuum(keep))["artifact", "its cube was dropped"] == 2
    assert world.artifacts == set()
    number = world.another().table(TABLE).number
    world.later(25)
    world.vacuum(keep)
    assert world.another().table(TABLE).number == number


def test_a_vacuum_adds_no_version_while_garbage_is_pinned_or_young(world):
    world.add(1)
    reader = world.another()
    with reader.reading():
        reader.table(TABLE)
        world.store.drop_cube("sales")
        number = world.another().table(TABLE).number
        world.vacuum(Retention(HOUR))
        world.vacuum(Retention(0))
        assert world.another().table(TABLE).number == number


def test_old_version_files_go_but_not_while_a_reader_may_look_for_them(world):
    for number in range(1, 41):
        world.add(number)
    world.vacuum()
    assert len(world.names("versions")) == 40
    world.later(0.2)
    world.vacuum()
    # The newest of them, and the vacuum's own that says what is gone.
    assert world.names("versions") == [f"v{number:020d}.json" for number in (40, 41)]
    assert len(world.another().table(TABLE).segments) == 40
    assert world.store.table(TABLE).floor == 40
    world.add(41)
    assert len(world.another().table(TABLE).segments) == 41


def test_an_old_version_file_that_is_torn_stays(world):
    """How old it is isn't known; it's no part of the chain of garbage, so it stops nothing."""
    for number in range(1, 41):
        world.add(number)
    world.later(0.2)
    path = world.root / "tables" / TABLE / "versions" / f"v{39:020d}.json"
    path.write_bytes(path.read_bytes()[:-20])
    world.vacuum()
    assert path.exists()


def test_versions_are_halved_to_find_those_that_are_old(world):
    for number in range(1, 301):
        world.add(number)
        world.later(0.1)
    report = world.vacuum(Retention(10 * HOUR, versions_min=3))
    versions = world.names("versions")
    assert 98 <= len(versions) <= 102
    assert report.requests <= 27


def test_a_version_without_garbage_is_not_read(world):
    for number in range(1, 401):
        gone = [number - 1] if number % 100 == 0 else []
        world.add(number, replaces=gone)
    world.later(1)
    report = world.vacuum()
    assert of(report)["artifact", "no version names it"] == 4
    # Registry, newest, leases, jobs, four marks, the newest unneeded one's age, deletes, a commit.
    assert report.requests <= 23


def test_an_interrupted_vacuum_is_gone_on_with(world):
    for number in range(1, 101):
        world.add(number, replaces=[number - 1] if number % 2 == 0 else [])
    world.later(1)

    class Stop(BaseException):
        pass

    class Dying:
        left = 12

        def __getattr__(self, name):
            return getattr(world.files, name)

        def delete(self, paths):
            Dying.left -= 1
            if not Dying.left:
                world.files.delete(list(paths)[::2])
                raise Stop
            world.files.delete(paths)

    small = replace(NOTHING, batch=10)
    with pytest.raises(Stop):
        Store(Dying(), now_ms=lambda: world.now).vacuum(TABLE, small)
    assert len(world.another().table(TABLE).segments) == 50
    world.vacuum(small)
    assert len(world.artifacts) == 50
    assert len(world.names("versions")) == 2


def test_what_is_not_under_the_store_is_left_alone(world, tmp_path):
    victim = tmp_path / "victim.parquet"
    victim.write_text("kept")
    paths = [f"file://{victim}", f"file://{world.root}/registry/x", world.uri("../../../../x")]
    made = [segment(10 + at, 10 + at, path=path) for at, path in enumerate(paths)]
    world.store.add_segments(TABLE, made)
    world.store.remove_segments(TABLE, [10, 11, 12])
    report = world.vacuum(full=True)
    assert of(report, "kept")["artifact", "it isn't under the store"] == 3
    assert not of(report)
    assert victim.exists()


def test_a_dry_run_says_the_same_and_does_nothing(world):
    world.add(1, 2, 3)
    world.add(4, replaces=[1, 2])
    world.write(f"cubes/{CUBE}/dead/1.parquet", b"left over")
    world.later(48)
    there = world.files.list("")
    dry = world.vacuum(full=True, dry_run=True)
    assert world.files.list("") == there
    wet = world.vacuum(full=True)
    assert of(dry, "would delete").items() <= of(wet).items() | set()
    assert of(wet)["artifact", "an orphan of a dead writer"] == 1
    assert world.another().vacuum(TABLE, NOTHING, dry_run=True).files("would delete") >= 0


def test_a_read_only_store_only_tries_it_dry(world):
    frozen = Store(world.files, read_only=True, now_ms=lambda: world.now)
    assert frozen.vacuum(TABLE, NOTHING, dry_run=True).dry_run
    with pytest.raises(StoreError, match="read-only"):
        frozen.vacuum(TABLE, NOTHING)


# Full


def test_orphans_of_a_dead_build_go_and_those_of_a_living_one_stay(world):
    world.add(1)
    builder = world.another()
    with builder.reading():
        alive, dead = builder.begin_job(TABLE, CUBE), world.store.begin_job(TABLE, CUBE)
        for job in (alive, dead):
            world.write(f"cubes/{CUBE}/{job.id}/1.parquet")
        for _ in range(20):
            world.later(0.1)
            builder._leases.renew()
        report = world.vacuum(Retention(HOUR, versions_min=1), full=True)
        assert of(report)["job", "its build is dead"] == 1
        assert world.artifacts == {f"{CUBE}/j/1.parquet", f"{CUBE}/{alive.id}/1.parquet"}
        made = segment(9, 9, path=f"{alive.uri}/1.parquet")
        assert builder.add_segments(TABLE, [made], job=alive).lost == ()
    with pytest.raises(StoreConflictError, match="taken for dead"):
        world.store.add_segments(TABLE, [segment(8, 8, path=f"{dead.uri}/1.parquet")], job=dead)


def test_young_orphans_stay_and_drafts_and_chunks_go_when_old(world):
    world.add(*range(1, 100))
    world.write("versions/v00000000000000000009.json#123", b"half")
    world.write("chunks/" + "f" * 32 + ".jsonl", b"of a commit that lost")
    world.write(f"cubes/{CUBE}/dead/1.parquet", b"left over")
    keep = Retention(HOUR, versions_min=1)
    assert not of(world.vacuum(keep, full=True))
    for path in (world.root / "tables" / TABLE / "chunks").iterdir():
        os.utime(path, (world.now / 1000, world.now / 1000))
    world.later(2)
    why = "an orphan of a dead writer"
    assert of(world.vacuum(keep, full=True)) == {
        ("draft", why): 1,
        ("chunk", why): 1,
        ("artifact", why): 1,
    }
    assert len(world.another().table(TABLE).of(CUBE)) == 99


def test_a_draft_stays_for_minutes_whatever_the_grace_time(world):
    """A live writer's is linked soon; nothing but its age tells it from a dead one's."""
    world.add(1)
    world.write("versions/v00000000000000000009.json#123", b"half")
    at_once = Retention(0, versions_min=1)
    world.later(9 / 60)
    assert ("draft", "an orphan of a dead writer") not in of(world.vacuum(at_once, full=True))
    world.later(2 / 60)
    assert of(world.vacuum(at_once, full=True))["draft", "an orphan of a dead writer"] == 1


def test_a_drop_that_died_by_half_is_finished(world):
    world.add(1)

    class Stop(BaseException):
        pass

    class Dying:
        def __getattr__(self, name):
            return getattr(world.files, name)

        def create(self, path, data):
            if path.startswith("tables/"):
                raise Stop
            return world.files.create(path, data)

    with pytest.raises(Stop):
        Store(Dying()).drop_cube("sales")
    assert set(world.another().table(TABLE).segments) == {1}
    world.later(1)
    world.vacuum(full=True)
    assert not world.another().table(TABLE).cubes
    world.later(1)
    world.vacuum(full=True)
    assert world.artifacts == set()


def test_who_lost_the_registry_keeps_the_segments(world):
    world.add(1)
    (world.root / "registry" / f"v{1:020d}.json").unlink()
    world.later(48)
    assert not of(world.vacuum(full=True))
    assert set(world.another().table(TABLE).segments) == {1}


def test_a_moved_store_loses_nothing(world):
    world.add(1)
    moved = world.root.with_name("moved")
    world.root.rename(moved)
    world.later(48)
    files = open_files(str(moved))
    report = Store(files, now_ms=lambda: world.now).vacuum(TABLE, NOTHING, full=True)
    assert not of(report)
    assert files.list(f"tables/{TABLE}/cubes")


def test_versions_of_format_1_keep_what_they_name(world):
    world.add(1)
    path = world.root / "tables" / TABLE / "versions" / f"v{1:020d}.json"
    from accelerator.store.log.versioned_log import _open_envelope

    _, state = _open_envelope(path.read_bytes(), "table", 1, 3)
    import hashlib
    import json

    segments = [{**one, "path": world.uri(1)} for one in state["cubes"][CUBE]["added"]]
    body = json.dumps({"segments": segments}, sort_keys=True).encode()
    digest = hashlib.sha256(body).hexdigest()
    head = (
        f'{{"format":1,"kind":"table","number":1,"commit":"{"0" * 32}","sha256":"{digest}","state":'
    )
    path.write_bytes(head.encode() + body + b"}\n")
    first = world.another()
    assert set(first.table(TABLE).segments) == {1}
    first.add_segments(TABLE, [segment(2, 2, path=world.uri(2))], replaces=[1])
    world.write(f"cubes/{CUBE}/j/2.parquet")
    world.later(0.1)
    world.vacuum(Retention(0, versions_min=2), full=True)
    assert world.artifacts == {f"{CUBE}/j/1.parquet", f"{CUBE}/j/2.parquet"}


# Doubt


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("hurt", ["newest", "in the chain", "garbage list"])
def test_nothing_is_deleted_on_a_doubt(world, full, hurt):
    world.add(*range(1, 100))
    world.add(100, replaces=range(1, 90))
    world.add(101, replaces=[100])
    world.add(102)
    table = world.root / "tables" / TABLE
    if hurt == "garbage list":
        ref = world.store._table(TABLE).read(2).garbage.more[0]
        path = table / "chunks" / f"{ref.name}.jsonl"
    else:
        path = table / "versions" / f"v{4 if hurt == 'newest' else 2:020d}.json"
    path.write_bytes(path.read_bytes()[:-20])
    world.later(48)
    there = world.files.list("")
    with pytest.raises(StoreError, match="nothing is deleted") as caught:
        world.vacuum(full=full)
    assert path.name in str(caught.value)
    assert "restore" in caught.value.hint
    assert world.files.list("") == there


def test_a_damaged_registry_or_chunk_stops_the_full_vacuum(world):
    world.add(*range(1, 100))
    world.write(f"cubes/{CUBE}/dead/1.parquet", b"left over")
    world.later(48)
    (chunk,) = (world.root / "tables" / TABLE / "chunks").iterdir()
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:-1])
    with pytest.raises(StoreError, match="nothing is deleted"):
        world.vacuum(full=True)
    chunk.write_bytes(whole)
    newest = world.root / "registry" / f"v{1:020d}.json"
    torn = newest.read_bytes()
    (world.root / "registry" / f"v{2:020d}.json").write_bytes(torn[:50])
    with pytest.raises(StoreError, match="nothing is deleted"):
        world.vacuum(full=True)
    assert f"{CUBE}/dead/1.parquet" in world.artifacts
