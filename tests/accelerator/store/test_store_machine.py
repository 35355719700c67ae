"""The store against a dict, with crashes between any two of its steps.

Strategy: two `Store`s over one set of files take turns at creating, updating, dropping and
replacing cubes, adding, merging and removing segments, beginning and finishing jobs. Before any
step, a crash may be armed: the n-th file operation from then on kills the writer, before it acts
or just after it; a dead writer is replaced by a new `Store` that knows nothing.

Invariants: each surviving store sees exactly the model, at once; a crash leaves either the state
before the step or one that the step's commits led to, never anything else; no two segments of one
cube and level cover the same file; version numbers have no holes and every file among them is
sound; every job that began and didn't finish is listed.
"""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from accelerator.errors import CubeExistsError, CubeNotFoundError
from accelerator.store import Store
from accelerator.store.files.files import open_files
from accelerator.store.log.versioned_log import _open_envelope
from tests.accelerator.store.samples import TABLE, cube, segment
from tests.support.extent import sized

NAMES = st.sampled_from(["a", "b", "c"])
# When a step of several commits dies: after how many operations, and whether the last one took.
CRASHES = st.none() | st.tuples(st.integers(0, 6), st.booleans())
FILE_NUMBERS = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True)


class Crash(BaseException):
    """The end of a process: nothing of the store's may catch it."""


class Crashing:
    """Files that die at the armed operation, before or after it takes effect."""

    def __init__(self, files):
        self.files, self.left, self.after = files, None, False

    def arm(self, left, after):
        self.left, self.after = left, after

    def _do(self, operation, *arguments):
        if self.left is None:
            return operation(*arguments)
        self.left -= 1
        if self.left >= 0:
            return operation(*arguments)
        self.left = None
        if self.after:
            operation(*arguments)
        raise Crash

    def create(self, path, data):
        return self._do(self.files.create, path, data)

    def delete(self, paths):
        return self._do(self.files.delete, paths)

    def read(self, path):
        return self._do(self.files.read, path)

    def exists(self, path):
        return self._do(self.files.exists, path)

    def list(self, prefix):
        return self._do(self.files.list, prefix)

    def uri(self, path):
        return self.files.uri(path)

    def size(self, path):
        return self.files.size(path)


class StoreMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.files = open_files("memory:///")
        self.doors = [Crashing(self.files), Crashing(self.files)]
        self.stores = [Store(door) for door in self.doors]
        self.cubes, self.segments, self.jobs = {}, {}, {}
        self.ids = itertools.count(1)

    @initialize()
    def begin_some_jobs(self):
        for store in self.stores:
            job = store.begin_job(TABLE, "d" * 32)
            self.jobs = {**self.jobs, job.id: job}

    def do(self, who, steps):
        """Runs a step on one store; `steps` are the model's states after each of its commits."""
        before = (self.cubes, self.segments, self.jobs)
        try:
            result = steps[0](self.stores[who])
        except Crash:
            result = None
            allowed = [before, *(step(*before) for step in steps[1:])]
            self.doors[who] = Crashing(self.files)
            self.stores[who] = Store(self.doors[who])
            seen = self.seen(self.stores[who])
            assert seen in allowed
            self.cubes, self.segments, self.jobs = seen
        else:
            self.cubes, self.segments, self.jobs = steps[-1](*before)
        finally:
            self.doors[who].left = None
        return result

    def seen(self, store):
        jobs = {job.id: job for job in store.jobs(TABLE)}
        return dict(store.registry().cubes), dict(store.table(TABLE).segments), jobs

    def arm(self, who, crash):
        if crash is not None:
            self.doors[who].arm(*crash)

    def new_cube(self, name):
        return cube(name, f"{next(self.ids):032x}")

    @rule(who=st.integers(0, 1), left=st.integers(0, 6), after=st.booleans())
    def arm_a_crash(self, who, left, after):
        self.doors[who].arm(left, after)

    @rule(who=st.integers(0, 1), name=NAMES, replace=st.booleans(), crash=CRASHES)
    def create_cube(self, who, name, replace, crash):
        self.arm(who, crash)
        record = self.new_cube(name)
        if name in self.cubes and not replace:
            self.refused(who, CubeExistsError, lambda store: store.create_cube(record))
            return
        old = self.cubes[name].id if name in self.cubes else None

        def registered(cubes, segments, jobs):
            return {**cubes, name: record}, segments, jobs

        def forgotten(cubes, segments, jobs):
            return {**cubes, name: record}, without_cube(segments, old), jobs

        self.do(
            who,
            [lambda store: store.create_cube(record, replace=replace), registered, forgotten],
        )

    @rule(who=st.integers(0, 1), name=NAMES, crash=CRASHES)
    def drop_cube(self, who, name, crash):
        self.arm(who, crash)
        if name not in self.cubes:
            self.refused(who, CubeNotFoundError, lambda store: store.drop_cube(name))
            return
        old = self.cubes[name].id

        def unregistered(cubes, segments, jobs):
            return {key: one for key, one in cubes.items() if key != name}, segments, jobs

        def forgotten(cubes, segments, jobs):
            return unregistered(cubes, without_cube(segments, old), jobs)

        self.do(who, [lambda store: store.drop_cube(name), unregistered, forgotten])

    @precondition(lambda self: self.cubes)
    @rule(who=st.integers(0, 1), data=st.data(), published=st.sampled_from([None, "x", "y"]))
    def change_cube(self, who, data, published):
        old = self.cubes[data.draw(st.sampled_from(sorted(self.cubes)))]
        record = cube(old.name, old.id, published=published)
        self.do(
            who,
            [
                lambda store: store.change_cube(old.name, published=published),
                lambda cubes, segments, jobs: ({**cubes, old.name: record}, segments, jobs),
            ],
        )

    @rule(
        who=st.integers(0, 1),
        coverings=st.lists(FILE_NUMBERS, min_size=1, max_size=3),
        crash=CRASHES,
        data=st.data(),
    )
    def add_segments(self, who, coverings, crash, data):
        self.arm(who, crash)
        # A build may also end after its cube was dropped: then no cube owns what it brings.
        registered_ids = [one.id for one in self.cubes.values()]
        owner = data.draw(st.sampled_from([*registered_ids, "d" * 32]))
        # Job ids are random, so what is drawn may depend on how many there are, not on which.
        mine = [id for id, one in self.jobs.items() if one.cube_id == owner]
        job = [None, *mine][data.draw(st.integers(0, len(mine)))]
        offered = [segment(next(self.ids), *ones, cube_id=owner) for ones in coverings]
        replaces = data.draw(st.sets(st.sampled_from(sorted(self.segments) or [0]), max_size=2))
        kept, lost = naive_add(self.segments, offered, replaces)
        if job is not None and owner not in registered_ids:
            running = self.jobs[job]
            self.refused(
                who, CubeNotFoundError, lambda s: s.add_segments(TABLE, offered, job=running)
            )
            return

        def committed(cubes, segments, jobs):
            return cubes, kept, jobs

        def finished(cubes, segments, jobs):
            return cubes, kept, {key: one for key, one in jobs.items() if key != job}

        running = self.jobs.get(job)
        added = self.do(
            who,
            [
                lambda s: s.add_segments(TABLE, offered, replaces=replaces, job=running),
                committed,
                finished,
            ],
        )
        assert added is None or list(added.lost) == lost

    @precondition(lambda self: self.leaves())
    @rule(who=st.integers(0, 1), data=st.data())
    def merge_segments(self, who, data):
        inputs = data.draw(st.lists(st.sampled_from(self.leaves()), min_size=1, unique=True))
        ones = [self.segments[id] for id in inputs]
        ones = [one for one in ones if one.cube_id == ones[0].cube_id]
        numbers = sorted({file.sequence_number for one in ones for file in one.files})
        merged = segment(
            next(self.ids),
            *numbers,
            cube_id=ones[0].cube_id,
            inputs=tuple(one.id for one in ones),
        )
        kept, lost = naive_add(self.segments, [merged], ())
        added = self.do(
            who,
            [
                lambda store: store.add_segments(TABLE, [merged]),
                lambda cubes, segments, jobs: (cubes, kept, jobs),
            ],
        )
        assert added is None or list(added.lost) == lost

    @precondition(lambda self: self.leaves())
    @rule(who=st.integers(0, 1), data=st.data())
    def remove_segments(self, who, data):
        gone = data.draw(st.sets(st.sampled_from(sorted(self.segments)), max_size=3))
        kept = {id: one for id, one in self.segments.items() if id not in gone}
        self.do(
            who,
            [
                lambda store: store.remove_segments(TABLE, gone),
                lambda cubes, segments, jobs: (cubes, kept, jobs),
            ],
        )

    @rule(who=st.integers(0, 1), data=st.data())
    def begin_job(self, who, data):
        owners = [*(one.id for one in self.cubes.values()), "c" * 32]
        try:
            job = self.stores[who].begin_job(TABLE, data.draw(st.sampled_from(owners)))
        except Crash:
            self.doors[who] = Crashing(self.files)
            self.stores[who] = Store(self.doors[who])
            # The id was lost with the process; the log may have been written: that's its use.
            listed = {job.id: job for job in self.stores[who].jobs(TABLE)}
            assert self.jobs.items() <= listed.items()
            assert len(listed) <= len(self.jobs) + 1
            self.jobs = listed
        else:
            self.jobs = {**self.jobs, job.id: job}
        finally:
            self.doors[who].left = None

    @precondition(lambda self: self.jobs)
    @rule(who=st.integers(0, 1), data=st.data())
    def finish_job(self, who, data):
        owner = data.draw(st.sampled_from(sorted({one.cube_id for one in self.jobs.values()})))
        job = next(one for one in self.jobs.values() if one.cube_id == owner)
        self.do(
            who,
            [
                lambda store: store.finish_job(job),
                lambda cubes, segments, jobs: (
                    cubes,
                    segments,
                    {id: one for id, one in jobs.items() if id != job.id},
                ),
            ],
        )

    def leaves(self):
        return sorted(id for id, one in self.segments.items() if not one.inputs)

    def refused(self, who, error, step):
        def expect(store):
            try:
                step(store)
            except error:
                return
            raise AssertionError(f"expected {error.__name__}")

        self.do(who, [expect, lambda *model: model])

    @invariant()
    def both_stores_see_the_model(self):
        for door, store in zip(self.doors, self.stores, strict=True):
            armed, door.left = door.left, None
            assert self.seen(store) == (self.cubes, self.segments, self.jobs)
            door.left = armed

    @invariant()
    def no_rows_are_counted_twice(self):
        """Not by what is built; of merges none has just another's files, and a reader takes one."""
        taken = set()
        for one in self.segments.values():
            keys = [file.key for file in one.files]
            for claim in [frozenset(keys)] if one.inputs else keys:
                assert (one.cube_id, claim) not in taken
                taken.add((one.cube_id, claim))

    @invariant()
    def versions_have_no_holes_and_are_sound(self):
        for folder, kind in (("registry", "registry"), (f"tables/{TABLE}/versions", "table")):
            paths = self.files.list(folder)
            assert paths == [f"{folder}/v{n:020d}.json" for n in range(1, len(paths) + 1)]
            if paths:
                _open_envelope(self.files.read(paths[-1]), kind, len(paths), 3)


def without_cube(segments, cube_id):
    return {id: one for id, one in segments.items() if one.cube_id != cube_id}


def naive_add(segments, offered, replaces):
    """The rule in its plainest words, for segments of one form and at most one level of merging."""
    kept = {id: one for id, one in segments.items() if id not in replaces}
    lost = []
    for new in offered:
        rivals = (
            old
            for old in kept.values()
            if old.cube_id == new.cube_id
            and bool(old.inputs) == bool(new.inputs)
            and {f.key for f in old.files} & {f.key for f in new.files}
            and (not new.inputs or {f.key for f in new.files} <= {f.key for f in old.files})
        )
        if any(rivals):
            lost.append(new.id)
        else:
            kept[new.id] = new
    return kept, lost


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=sized(30, full=100), stateful_step_count=30, deadline=None
)
