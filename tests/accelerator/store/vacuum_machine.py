"""Builds, merges, drops, readers with pins and vacuums against a model, with crashes anywhere.

Strategy: two writers and two vacuuming stores share files that keep a clock of their own. Builds
begin, write artifacts, commit (perhaps much later, perhaps after their process died or a vacuum
took them for dead); segments are merged and replaced; cubes are dropped; readers pin a version and
keep it, or pin snapshots of the lake in whatever order. A vacuum, a drop, a removal or a reader
comes inside another store's request as well: before it, so that every interleaving of two stores'
requests can come up. Any request may be the last of its process: before it acts, after it, or with
half of a batch of deletes done, or a file left torn under a draft's name. Or it fails and its
process lives on: before it acts, after it, or before it arrives all the same, some requests later;
or it arrives twice. Clocks jump, forwards and back; machines sleep.

Invariants: every file that the newest version names is there, and what a live pin's version names;
the oldest pinned snapshot that anybody is told of isn't newer than one with a live pin; what a
commit brought is there when it returns; a build with a lease isn't taken for dead; a cube leaves
the recycle bin by UNDROP or when its time is over; no step but removing takes a segment from a cube
that is registered or in the bin; after quiescence (every process dead, all leases ended, time gone
by, two full vacuums) nothing is left but what the newest version names (and of what a version has
named, nothing even without the full ones), no pin, one version of the registry, an empty bin, and a
bounded number of version files.
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from unittest.mock import patch

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from accelerator.errors import CubeNotFoundError, StoreConflictError, StoreError
from accelerator.store import Retention, Store
from accelerator.store.leases import LEASE_MS, SNAPSHOTS, leases_of
from accelerator.store.log.chunks import Damaged
from accelerator.store.vacuum.vacuum import VERSIONS_WORTH
from tests.accelerator.store.doors import ENDS, HARMS, HOUR, Crash, Glass, World
from tests.accelerator.store.samples import TABLE, cube, segment

WHO = st.integers(0, 1)
# Mostly nothing, so that states with much in them come up; then a crash or harm at some request.
CRASHES = st.tuples(
    st.integers(0, 3), st.integers(0, 25), st.sampled_from(ENDS), st.sampled_from(HARMS)
).map(lambda drawn: {3: drawn[1:3], 2: (drawn[1], drawn[3])}.get(drawn[0]))
# Another store's vacuum or drop in the middle: at which request, and of which kind.
INTERRUPTIONS = st.tuples(
    st.booleans(),
    st.integers(0, 12),
    st.sampled_from(["vacuum", "full", "recycle", "upheaval", "pin"]),
).map(lambda drawn: drawn[1:] if drawn[0] else None)

# Its store holds no lease, whatever it does: a build that began long ago looks dead.
STRANGER = 2
KEPT, DROPPED, BINNED = "a" * 32, "b" * 32, "c" * 32


class VacuumMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        # Small pieces, so that chunks of both kinds come and go within a few steps.
        self.patches = [
            patch("accelerator.store.log.table_version.INLINE_BYTES_MAX", 1500),
            patch("accelerator.store.log.table_version.GARBAGE_INLINE_MAX", 1),
            patch("accelerator.store.log.table_version.GARBAGE_CHUNK_MAX", 2),
            patch("accelerator.store.log.cube_state.DEAD_ENTRIES_MAX", 6),
            patch("accelerator.store.log.cube_state.FAN", 3),
            patch("accelerator.store.vacuum.vacuum.CHECKPOINT", 4),
            patch("accelerator.store.vacuum.vacuum.NAMES_MAX", 5),
            # Leases are renewed by a rule: a thread would go on for processes that are dead.
            patch(
                "accelerator.store.leases.Leases._keep_renewing",
                lambda leases: setattr(leases, "_thread", leases),
            ),
        ]
        for one in self.patches:
            one.start()
        self.world = self.make_world()
        self.doors, self.stores, self.readings = [None] * 3, [None] * 3, [None] * 3
        for who in range(3):
            self.restart(who)
        self.builds = []  # (who, job, segments): artifacts are written, nothing committed
        self.pins = []  # (who, version, the files that it names)
        self.snapshot_pins = []  # (who, a reading of its own, the snapshot's time)
        self.leased = set()  # jobs of processes that have held a lease since they began
        self.brought, self.taken = set(), set()  # segments, by the commit of this very step
        self.upheaved, self.ever = False, set()  # ever: files that a newest version has named
        self.ids, self.names = itertools.count(1), itertools.count(1)

    def make_world(self):
        return World()

    @initialize()
    def begin_with_a_cube(self):
        self.stores[0].create_cube(cube("a", KEPT))
        self.stores[1].create_cube(cube("b", DROPPED))
        self.stores[1].create_cube(cube("c", BINNED))
        for who, owner in ((0, KEPT), (1, DROPPED), (0, KEPT), (1, BINNED)):
            self.commit(*self.build(who, owner, 3, reads=True), [])
        self.stores[0].recycle_cube("c", 2 * HOUR)

    def restart(self, who):
        self.doors[who] = self.world.door()
        self.stores[who] = Store(
            self.doors[who], now_ms=self.world.clock, sleep=lambda _: None, clock=lambda: 0.0
        )
        self.readings[who] = ExitStack()

    def run(self, who, step, crash, interruption=None, *, removes=False):
        """One step of one process; a crash ends the process with its builds and pins."""
        self.world.landed = len(self.world.late)  # what comes late may be of any step before
        late = self.world.landed
        registry, segments = self.owned()
        removes, self.upheaved = removes or late, False
        self.brought, self.taken = set(), set()
        result = self._run(who, step, crash, interruption)
        after, left = self.owned()
        there = set().union(*left.values())
        assert late or self.upheaved or self.brought <= there
        assert late or not self.taken & there
        for cube_id in after.owned & registry.owned:
            assert removes or self.upheaved or segments[cube_id] <= left[cube_id]
        for one in registry.bin:
            assert late or one.cube.id in after.owned or one.expires_ms <= self.world.now
        return result

    def owned(self):
        """The registry, and the segments of each cube that is in it or in its bin."""
        store = self.looker()
        registry, table = store.registry(), store.table(TABLE)
        return registry, {one: {s.id for s in table.of(one)} for one in registry.owned}

    def _run(self, who, step, crash, interruption):
        door = self.doors[who]
        if interruption is not None:
            door.interrupt_in, kind = interruption
            door.interruption = lambda: self.interrupt(kind, (who + 1) % 2)
        if crash is not None:
            door.arm(*crash)
        door.harmed = False
        try:
            return step(self.stores[who])
        except StoreError:
            if not door.harmed:
                raise
            return None
        except Crash:
            self.builds = [one for one in self.builds if one[0] != who]
            self.lapse(who, self.stores[who]._leases)
            self.lapse(who, self.stores[who]._snapshots)
            self.snapshot_pins = [one for one in self.snapshot_pins if one[0] != who]
            self.restart(who)
            return None
        finally:
            self.doors[who].left = self.doors[who].interrupt_in = None

    # One thread: a crash or an interruption at a drawn request must come at the same one again.
    keep = Retention(HOUR, versions_min=1, batch=3, threads=1)
    at_once = Retention(0, versions_min=1, batch=3, threads=1)

    def interrupt(self, kind, other):
        """What comes in between: `other` is the process that isn't interrupted."""
        store = self.bystander()
        if kind in ("vacuum", "full"):
            store.vacuum(TABLE, self.keep, full=kind == "full")
        elif kind == "pin":
            self.read(other, self.stores[other])
        if kind in ("upheaval", "pin"):
            self.upheaved = True
            store.remove_segments(TABLE, sorted(self.looker().table(TABLE).segments)[::2])
        if kind == "upheaval":
            store.vacuum(TABLE, self.at_once)
        if kind == "recycle" and (name := self.droppable()) is not None:
            store.recycle_cube(name, HOUR)

    def droppable(self):
        """Any cube but the first, so that there is always one to go on with."""
        cubes = self.looker().registry().cubes
        return next((name for name, one in sorted(cubes.items()) if one.id != KEPT), None)

    def bystander(self):
        return Store(self.world.door(), now_ms=self.world.clock, sleep=lambda _: None)

    def looker(self):
        return Store(Glass(self.world), now_ms=self.world.clock, sleep=lambda _: None)

    def cubes(self):
        return sorted(one.id for one in self.looker().registry().cubes.values())

    def is_disturbed(self, interruption):
        """Whether something of somebody else's may have come between."""
        return interruption is not None or self.world.landed > 0

    @rule(who=WHO, crash=CRASHES)
    def create_cube(self, who, crash):
        number = next(self.names)
        record = cube(f"c{number}", f"{number:032x}")
        self.run(who, lambda store: store.create_cube(record), crash)

    @precondition(lambda self: self.droppable())
    @rule(
        who=WHO,
        crash=CRASHES,
        interruption=INTERRUPTIONS,
        hours=st.sampled_from([None, 0, 1, 24]),
    )
    def drop_cube(self, who, crash, interruption, hours):
        """At once, or to the bin for so many hours."""
        name = self.droppable()

        def drop(store):
            try:
                if hours is None:
                    store.drop_cube(name)
                else:
                    store.recycle_cube(name, hours * HOUR)
            except CubeNotFoundError:
                assert self.is_disturbed(interruption)

        self.run(who, drop, crash, interruption)

    @precondition(lambda self: self.looker().registry().bin)
    @rule(who=WHO, data=st.data(), crash=CRASHES, interruption=INTERRUPTIONS)
    def undrop_cube(self, who, data, crash, interruption):
        """It fails only where a vacuum that came in between has ended the cube."""
        name = data.draw(st.sampled_from([one.cube.name for one in self.looker().registry().bin]))

        def undrop(store):
            try:
                store.undrop_cube(name, f"c{next(self.names)}")
            except CubeNotFoundError:
                assert self.is_disturbed(interruption)

        self.run(who, undrop, crash, interruption)

    def build(self, who, owner, files, *, reads):
        """Writes artifacts under a job, one with two segments, and one that no segment names."""
        store, door = self.stores[who], self.doors[who]
        if reads:  # the library's own builds hold a lease; a stranger's may not
            self.readings[who].enter_context(store.reading())
        job = store.begin_job(TABLE, owner)
        folder, made = f"tables/{TABLE}/cubes/{owner}/{job.id}", []
        for number in range(files):
            door.create(f"{folder}/{number}.parquet", b"rows")
            for _ in range(2 if number == 0 else 1):
                id = next(self.ids)
                made.append(segment(id, id, cube_id=owner, path=f"{job.uri}/{number}.parquet"))
        door.create(f"{folder}/_SUCCESS", b"")
        if reads and TABLE in store._leases._held:
            self.leased.add((who, job.id))
        return who, job, made

    def commit(self, who, job, made, gone):
        store = self.stores[who]
        try:
            added = store.add_segments(TABLE, made, replaces=gone, job=job)
            self.brought = {one.id for one in made} - set(added.lost)
        except (CubeNotFoundError, StoreConflictError) as error:
            if isinstance(error, StoreConflictError):
                assert (who, job.id) not in self.leased or self.world.late or self.world.arrived
            store.delete_artifacts(store.artifacts(job))
            store.finish_job(job)

    def replaced(self, job, replacing):
        known = [one.id for one in self.looker().table(TABLE).of(job.cube_id)]
        return known[:3] if replacing else []

    @rule(who=WHO, data=st.data(), crash=CRASHES, files=st.integers(1, 3), reads=st.booleans())
    def begin_build(self, who, data, crash, files, reads):
        owner = data.draw(st.sampled_from(self.cubes()))
        self.run(
            who, lambda _: self.builds.append(self.build(who, owner, files, reads=reads)), crash
        )

    @precondition(lambda self: self.builds)
    @rule(data=st.data(), crash=CRASHES, interruption=INTERRUPTIONS, replacing=st.booleans())
    def commit_build(self, data, crash, interruption, replacing):
        who, job, made = self.builds.pop(data.draw(st.integers(0, len(self.builds) - 1)))
        gone = self.replaced(job, replacing)
        self.run(
            who,
            lambda _: self.commit(who, job, made, gone),
            crash,
            interruption,
            removes=replacing,
        )

    @rule(
        who=WHO, data=st.data(), crash=CRASHES, interruption=INTERRUPTIONS, replacing=st.booleans()
    )
    def build_and_commit(self, who, data, crash, interruption, replacing):
        owner = data.draw(st.sampled_from(self.cubes()))

        def both(_):
            _, job, made = self.build(who, owner, 2, reads=True)
            self.commit(who, job, made, self.replaced(job, replacing))

        self.run(who, both, crash, interruption, removes=replacing)

    @rule(
        data=st.data(),
        crash=CRASHES,
        at=st.integers(0, 9),
        kind=st.sampled_from(["vacuum", "full"]),
        replacing=st.booleans(),
    )
    def build_slowly_without_a_lease(self, data, crash, at, kind, replacing):
        """A full vacuum takes it for dead, perhaps only while it commits."""
        owner = data.draw(st.sampled_from(self.cubes()))
        who, job, made = self.build(STRANGER, owner, 2, reads=False)
        self.pass_time(2)
        gone = self.replaced(job, replacing)
        self.run(
            who,
            lambda _: self.commit(who, job, made, gone),
            crash,
            (at, kind),
            removes=replacing,
        )

    @rule(who=WHO, data=st.data(), crash=CRASHES, interruption=INTERRUPTIONS)
    def remove_segments(self, who, data, crash, interruption):
        known = sorted(self.looker().table(TABLE).segments)
        gone = known[data.draw(st.integers(0, 3)) :: 2]

        def remove(store):
            store.remove_segments(TABLE, gone)
            self.taken = set(gone)

        self.run(who, remove, crash, interruption, removes=True)

    @rule(who=WHO, crash=CRASHES, interruption=INTERRUPTIONS)
    def pin(self, who, crash, interruption):
        """A query that goes on: what its version names must stay while its lease is good."""

        self.run(who, lambda store: self.read(who, store), crash, interruption)

    def read(self, who, store):
        self.readings[who].enter_context(store.reading())
        version = store.table(TABLE)
        leased = store._leases._covers(TABLE, version.number)  # else none could be written
        try:
            named = self.named(version)
        except Damaged:
            assert not leased  # a vacuum without a grace time came in between
        else:
            self.pins += [(who, version, named)] * leased

    @rule(who=WHO)
    def end_readings(self, who):
        self.pins = [one for one in self.pins if one[0] != who]
        self.leased = {one for one in self.leased if one[0] != who}
        self.readings[who].close()
        self.readings[who] = ExitStack()

    @rule(who=WHO, crash=CRASHES, interruption=INTERRUPTIONS, ms=st.integers(1, 9))
    def pin_snapshot(self, who, crash, interruption, ms):
        """A statement that reads data files of an old or a new snapshot, and goes on."""

        def read(store):
            reading = ExitStack()
            reading.enter_context(store.reading())
            store.pin_snapshot(TABLE, ms)
            pinned = store._snapshots._covers(TABLE, ms)  # else no lease could be written
            self.snapshot_pins.append((who, reading, ms if pinned else None))

        self.run(who, read, crash, interruption)

    @precondition(lambda self: self.snapshot_pins)
    @rule(data=st.data())
    def end_reading_of_a_snapshot(self, data):
        at = data.draw(st.integers(0, len(self.snapshot_pins) - 1))
        self.snapshot_pins.pop(at)[1].close()

    @rule(who=WHO, crash=CRASHES, interruption=INTERRUPTIONS)
    def ask_for_the_oldest_snapshot(self, who, crash, interruption):
        """As who expires snapshots does: what was pinned before it asked isn't newer."""
        before = list(self.snapshot_pins)
        told = []
        self.run(
            who,
            lambda store: told.append(store.oldest_snapshot_ms(TABLE)),
            crash,
            interruption,
        )
        for oldest in told:
            self.check_snapshot_pins(oldest, [one for one in self.snapshot_pins if one in before])

    def check_snapshot_pins(self, oldest, pins):
        times = [ms for _, _, ms in pins if ms is not None]
        assert not times or (oldest is not None and oldest <= min(times))

    @rule(
        who=WHO,
        crash=CRASHES,
        interruption=INTERRUPTIONS,
        full=st.booleans(),
        dry=st.booleans(),
        patient=st.booleans(),
    )
    def vacuum(self, who, crash, interruption, full, dry, patient):
        keep = self.keep if patient else self.at_once
        quiet = dry and interruption is None and not self.world.late
        before = set(self.world.glass.list("")) if quiet else None
        self.run(
            who,
            lambda store: store.vacuum(TABLE, keep, full=full, dry_run=dry),
            crash,
            interruption,
        )
        assert before is None or before == set(self.world.glass.list(""))

    @rule(who=WHO)
    def renew_leases(self, who):
        self.stores[who]._leases.renew()
        self.stores[who]._snapshots.renew()

    # Some end when leases have just been renewed, some just before that.
    @rule(hours=st.sampled_from([0.01, 0.07, 0.1, 0.5, 1, 3.07, 24]))
    def time_goes_by(self, hours):
        self.pass_time(hours)

    def pass_time(self, hours):
        """As it does for live processes: their leases are renewed in the background."""
        end = self.world.now + int(hours * HOUR)
        for store in self.stores:
            store._leases.renew()
            store._snapshots.renew()
        while self.world.now < end:
            self.world.now = min(end, self.world.now + LEASE_MS // 4)
            for store in self.stores:
                store._leases.renew()
                store._snapshots.renew()

    @rule(minutes=st.sampled_from([6, 9]))
    def machines_sleep(self, minutes):
        """Nothing is renewed meanwhile; who has slept past its lease is protected no more."""
        self.world.now += minutes * HOUR // 60
        for who, store in enumerate(self.stores):
            for leases in (store._leases, store._snapshots):
                held = leases._held.get(TABLE)
                if held is None or self.world.now >= held.expires_ms:
                    self.lapse(who, leases)

    def lapse(self, who, leases):
        """What rested on a process's lease doesn't any more."""
        if leases is self.stores[who]._snapshots:
            self.snapshot_pins = [
                (other, reading, None if other == who else ms)
                for other, reading, ms in self.snapshot_pins
            ]
        else:
            self.pins = [one for one in self.pins if one[0] != who]
            self.leased = {one for one in self.leased if one[0] != who}

    @rule(hours=st.sampled_from([-48, -1, 2, 48]))
    def a_clock_jumps(self, hours):
        """Leases can't protect across that; what the newest version names is safe all the same."""
        self.world.now += hours * HOUR
        for who, store in enumerate(self.stores):
            for leases in (store._leases, store._snapshots):
                self.lapse(who, leases)
                # Forth and back again unnoticed: then nothing says that it lapsed.
                leases._held.clear()

    def named(self, version):
        """The files that a version names, as paths."""
        found = {one.path for one in version.segments.values()}
        root = self.world.files.uri("")
        chunks = {ref.name for state in version.cubes.values() for ref in state.refs}
        return {path.removeprefix(root) for path in found} | {
            f"tables/{TABLE}/chunks/{name}.jsonl" for name in chunks
        }

    @invariant()
    def no_file_that_somebody_needs_is_missing(self):
        there = set(self.world.glass.list(""))
        newest = self.looker().table(TABLE)
        assert self.named(newest) <= there
        self.ever |= self.named(newest)
        for _, version, named in self.pins:
            assert named <= there, f"version {version.number}"
            file = f"tables/{TABLE}/versions/v{version.number:020d}.json"
            assert version.number == 0 or file in there

    @invariant()
    def no_pinned_snapshot_may_expire(self):
        self.check_snapshot_pins(self.looker().oldest_snapshot_ms(TABLE), self.snapshot_pins)

    @invariant()
    def nothing_is_damaged(self):
        store = self.looker()
        for cube_id in store.table(TABLE).cubes:
            store.table(TABLE).of(cube_id)
        assert store.damages() == ()

    def teardown(self):
        try:
            self.check_quiescence()
        finally:
            self.world.close()
            for one in self.patches:
                one.stop()

    def check_quiescence(self):
        """Quiescence: everybody is dead, and time has gone by on every clock there was."""
        for readings in [*self.readings, *(reading for _, reading, _ in self.snapshot_pins)]:
            readings.close()
        self.world.land(list(self.world.late))
        self.world.now = max([self.world.now, *self.world.written.values(), 10**12]) + 200 * HOUR
        store = self.bystander()
        for _ in range(3):
            store.vacuum(TABLE, self.keep)
            self.world.now += 3 * HOUR
        # What a version made garbage needs no full vacuum, whoever was stopped while deleting it.
        assert self.ever & set(self.world.glass.list("")) <= self.named(store.table(TABLE))
        for _ in range(3):
            store.vacuum(TABLE, self.keep, full=True)
            self.world.now += 3 * HOUR
        registry = [path for path in self.world.glass.list("registry") if "/floors/" not in path]
        assert len(registry) == 1
        newest, there = store.table(TABLE), set(self.world.glass.list(f"tables/{TABLE}"))
        versions = {path for path in there if "/versions/" in path}
        floors = {path for path in there if "/floors/" in path}
        assert there - versions - floors == self.named(newest)
        # That of a vacuum that was stopped, or a late one, goes with the next that is made.
        assert len(floors) <= 2 + self.world.arrived
        assert len(versions) <= VERSIONS_WORTH + 2
        assert not leases_of(self.world.glass, TABLE)
        assert not leases_of(self.world.glass, TABLE, SNAPSHOTS)
        assert set(newest.cubes) <= store.registry().owned
        assert store.registry().bin == ()
