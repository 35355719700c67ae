"""Old versions of the registry: what goes by a full vacuum, what stays, and who may be behind.

Strategy: a store in memory whose registry has many versions. The vacuum dies at each of its
requests in turn, or another one runs inside it; then a writer and a reader that know nothing but an
old version go on.
"""

from __future__ import annotations

import shutil

import pytest

from accelerator.errors import StoreError
from accelerator.store import Retention, Store
from accelerator.store.files.files import open_files
from accelerator.store.log.versioned_log import FLOOR_GAP_MAX_S, PROBE_GAP_MAX_S, number_of
from tests.accelerator.store.doors import HOUR, Crash, Door, World
from tests.accelerator.store.samples import TABLE, cube, segment

KEEP = Retention(0, versions_min=3)
VERSIONS = 12


class Registry:
    """A store with so many versions of its registry, and clocks that tests turn."""

    def __init__(self, versions=VERSIONS):
        self.world, self.seconds = World(), 1000.0
        self.store = self.another()
        self.store.create_cube(cube())
        self.change(versions - 1)
        self.store.add_segments(TABLE, [segment(1, 1)])

    def another(self, door=None):
        return Store(
            door or Door(self.world),
            now_ms=self.world.clock,
            sleep=lambda _: None,
            clock=lambda: self.seconds,
        )

    def change(self, times=1):
        store = self.another()
        for _ in range(times):
            published = f"lake.shop.t{store.registry().number}"
            store.change_cube("sales", published=published)

    def later(self, hours):
        self.world.now += int(hours * HOUR)

    def vacuum(self, retention=KEEP, door=None, **how):
        return self.another(door).vacuum(TABLE, retention, **{"full": True, **how})

    @property
    def numbers(self):
        found = map(number_of, self.world.files.list("registry"))
        return [number for number in found if number is not None]

    @property
    def floors(self):
        return [int(path[-25:-5]) for path in Door(self.world).list("registry/floors")]


@pytest.fixture
def old():
    """Nothing has changed for an hour."""
    made = Registry()
    made.later(1)
    return made


def of(report, what="registry version"):
    return {(one.action, one.reason): one.files for one in report.lines if one.what == what}


GONE, STAYS = "older than all that is needed", "retained or young"


def test_a_full_vacuum_deletes_old_versions_and_keeps_the_newest(old):
    before = old.another().registry()
    report = old.vacuum()
    assert of(report) == {("deleted", GONE): 9, ("kept", STAYS): 3}
    assert all(one.bytes > 100 for one in report.lines if one.what == "registry version")
    assert old.numbers == [10, 11, 12] and old.floors == [10]
    assert old.another().registry() == before
    assert of(old.vacuum()) == {("kept", STAYS): 3}
    old.change(2)
    old.later(1)
    old.vacuum()
    assert old.numbers == [12, 13, 14] and old.floors == [12]


def test_only_a_full_one_does_and_a_dry_one_only_says_so(old):
    there = set(old.world.files.list("registry"))
    assert of(old.vacuum(full=False)) == {}
    assert of(old.vacuum(dry_run=True)) == {("would delete", GONE): 9, ("kept", STAYS): 3}
    assert set(old.world.files.list("registry")) == there


@pytest.mark.parametrize("grace_hours", [0, 2])
def test_young_versions_stay_and_so_does_all_after_one(grace_hours):
    registry = Registry()
    keep = Retention(grace_hours * HOUR, versions_min=1)
    registry.later(max(grace_hours, 0.16))
    registry.world.written[f"registry/v{5:020d}.json"] += 1000
    registry.later(0.0001)
    if grace_hours == 0:
        assert of(registry.vacuum(keep)) == {("kept", STAYS): VERSIONS}
        registry.later(10 / 60 - 0.16)
    assert of(registry.vacuum(keep))["deleted", GONE] == 4
    assert registry.numbers == [5, *range(6, 13)] and registry.floors == [5]
    registry.later(0.1)
    registry.vacuum(keep)
    assert registry.numbers == [12]


def test_a_short_registry_is_left_as_it_is():
    for versions in (1, 2, 3):
        registry = Registry(versions)
        registry.later(1)
        registry.vacuum()
        assert len(registry.numbers) == versions and not registry.floors
    store = Store(open_files("memory:///"))
    assert of(store.vacuum(TABLE, KEEP, full=True)) == {}


def test_a_registry_that_is_deleted_as_a_whole_begins_anew(tmp_path):
    now = [10**15]
    store = Store.open(str(tmp_path), now_ms=lambda: now[0])
    store.create_cube(cube())
    for number in range(9):
        store.change_cube("sales", published=f"t{number}")
    (tmp_path / "registry" / f"v{11:020d}.json#123").write_text("half")
    report = store.vacuum(TABLE, KEEP, full=True)
    assert of(report)["deleted", GONE] == 7
    assert of(report, "draft") == {("deleted", "an orphan of a dead writer"): 1}
    left = {path.name for path in (tmp_path / "registry").rglob("*") if path.is_file()}
    assert left == {*(f"v{number:020d}.json" for number in (8, 9, 10)), f"{8:020d}.json"}
    shutil.rmtree(tmp_path / "registry")
    again = Store.open(str(tmp_path))
    assert not again.registry().cubes
    assert again.create_cube(cube()).number == 1


# Doubt


class Meanwhile(Door):
    """Something happens right after the registry was listed."""

    def __init__(self, world, then):
        super().__init__(world)
        self.then = then

    def entries(self, prefix):
        found = super().entries(prefix)
        if prefix == "registry":
            self.then()
        return found


@pytest.mark.parametrize("when", ["before", "after the listing"])
@pytest.mark.parametrize("hurt", ["torn", "of a newer format"])
def test_nothing_is_deleted_while_the_newest_is_damaged(old, when, hurt):
    path = f"registry/v{VERSIONS:020d}.json"
    data = old.world.files.read(path)
    wrong = data[:-9] if hurt == "torn" else data.replace(b'"format":3', b'"format":5')

    def damage():
        old.world.files.delete([path])
        old.world.files.create(path, wrong)

    if when == "before":
        damage()
    door = Door(old.world) if when == "before" else Meanwhile(old.world, damage)
    with pytest.raises(StoreError, match="nothing is deleted" if hurt == "torn" else "format 5"):
        old.vacuum(door=door)
    assert old.numbers == list(range(1, VERSIONS + 1)) and not old.floors


def test_a_damaged_old_version_goes_as_others_do(old):
    path = f"registry/v{4:020d}.json"
    old.world.files.delete([path])
    Door(old.world).create(path, b"torn")
    old.later(1)
    old.vacuum()
    assert old.numbers == [10, 11, 12]


# Crashes, others at the same time


def go_on(old, slow, reader):
    """Who knows an old version only adds to the newest one; a vacuum then leaves nothing."""
    newest = old.another().registry()
    made = slow.create_cube(cube("late", "d" * 32))
    assert made.number == newest.number + 1
    assert set(made.cubes) == {"sales", "late"}
    assert made.cubes["sales"] == newest.cubes["sales"]
    assert old.another().registry() == made
    old.seconds += FLOOR_GAP_MAX_S
    assert reader.registry() == made
    old.later(1)
    old.vacuum()
    assert old.numbers == [made.number - 2, made.number - 1, made.number]
    assert old.floors == [made.number - 2]
    assert old.another().registry() == made
    assert old.another().damages() == ()


def behind(versions=2):
    """A registry, and two stores that know no more than its first versions; no clock tells them."""
    old = Registry(versions)
    slow, reader = old.another(), old.another()
    assert slow.registry().number == reader.registry().number == versions
    old.change(VERSIONS - versions)
    old.later(1)
    return old, slow, reader


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("how", ["before", "after", "torn"])
def test_a_vacuum_that_dies_anywhere_leaves_no_number_to_a_slow_writer(how, threads):
    for at in range(100):
        old, slow, reader = behind()
        door = Door(old.world)
        door.left, door.how = at, how
        try:
            old.vacuum(Retention(0, batch=4, threads=threads), door=door)
        except Crash:
            died = True
        else:
            died = False
        assert old.another().registry().number == VERSIONS
        go_on(old, slow, reader)
        if not died:
            break
    assert at > 15


@pytest.mark.parametrize(("versions", "commits"), [(2, 0), (2, 9), (8, 0)])
def test_a_vacuum_inside_another_does_no_harm(versions, commits):
    """Perhaps after so many commits, so that the outer one is the slow one."""
    for at in range(100):
        old, slow, reader = behind(versions)
        door, ran = Door(old.world), []

        def meanwhile(old=old, ran=ran):
            old.change(commits)
            old.later(1)
            ran.append(of(old.vacuum()))

        door.interrupt_in, door.interruption = at, meanwhile
        old.vacuum(Retention(0, batch=4, threads=1), door=door)
        assert old.another().registry().number == VERSIONS + commits * len(ran)
        go_on(old, slow, reader)
        if not ran:
            break
    assert at > 15


def test_a_writer_that_dies_in_a_freed_number_is_cleaned_up_after():
    old, slow, _ = behind()
    old.vacuum()
    door = Door(old.world)
    slow._registry._files = door
    real = door.create

    def create(path, data):
        real(path, data)
        raise Crash

    door.create = create
    with pytest.raises(Crash):
        slow.create_cube(cube("late", "d" * 32))
    assert old.numbers == [3, 10, 11, 12]
    fresh = old.another()
    assert fresh.registry().number == 12 and "late" not in fresh.registry().cubes
    go_on(old, old.another(), fresh)


# Readers


def test_a_reader_may_look_for_the_next_version_for_as_long_as_it_does():
    registry = Registry()
    reader = registry.another()
    assert reader.registry().number == VERSIONS
    registry.change(5)
    # The longest that it doesn't list, by its clock and by the storage's.
    registry.seconds += PROBE_GAP_MAX_S - 1
    registry.later((PROBE_GAP_MAX_S - 1) / 3600)
    registry.vacuum(Retention(0, versions_min=1))
    assert reader.registry().number == VERSIONS + 5


@pytest.mark.parametrize("asks", ["at once", "all the time"])
def test_a_reader_whose_clock_stood_still_notices_within_a_minute(asks):
    """A machine that slept; or a vacuum whose clock is ahead."""
    old, _, reader = behind()
    old.vacuum()
    assert reader.registry().number == 2
    for _ in range(60 if asks == "all the time" else 1):
        old.seconds += FLOOR_GAP_MAX_S / 60 if asks == "all the time" else FLOOR_GAP_MAX_S
        found = reader.registry().number
    assert found == VERSIONS


def test_so_does_a_writer_before_it_refuses():
    old, slow, _ = behind()
    old.another().drop_cube("sales")
    for name in "abc":
        old.another().create_cube(cube(name, name * 32))
    old.later(1)
    old.vacuum()
    old.seconds += FLOOR_GAP_MAX_S
    made = slow.create_cube(cube("sales", "d" * 32))
    assert set(made.cubes) == {"a", "b", "c", "sales"} and made.number == VERSIONS + 5


def test_what_a_reader_asks_for_by_and_by():
    asked = []

    class Counting(Door):
        def _do(self, operation, half):
            asked.append(operation)
            return super()._do(operation, half)

    registry = Registry()
    reader = registry.another(Counting(registry.world))
    reader.registry()
    asked.clear()
    for _ in range(600):
        registry.seconds += 1
        reader.registry()
    assert len(asked) == 620
    # The newest file was deleted by hand: that's served on, and asked no more often.
    registry.world.files.delete([f"registry/v{VERSIONS:020d}.json"])
    asked.clear()
    registry.seconds += PROBE_GAP_MAX_S
    for _ in range(600):
        registry.seconds += 1
        assert reader.registry().number == VERSIONS
    assert len(asked) < 660


def test_who_is_behind_a_vacuum_finds_what_was_made_since(old):
    """Its clock is ahead, so even young versions go, and a hole follows what the other knows."""
    behind = old.another()
    number = behind.registry().number
    old.change(3)
    old.later(48)
    old.vacuum(Retention(0, versions_min=1))
    old.later(-48)
    assert number + 1 not in old.numbers
    old.another().create_cube(cube("late", "d" * 32))
    assert behind.registry(fresh=True).named("late")
    other = old.another()
    other.registry()
    old.change(3)
    old.later(48)
    old.vacuum(Retention(0, versions_min=1))
    old.later(-48)
    old.another().create_cube(cube("later", "e" * 32))
    assert other.drop_cube("later").name == "later"
