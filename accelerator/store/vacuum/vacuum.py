"""The vacuum of one table: walks the garbage chain back and deletes what nobody needs any more.

Promises: no file that the newest version, a retained or a pinned one names is deleted, whatever
crashes and however many vacuums run; what was begun is gone on with; what tells of garbage goes
after it. It lists no folder but leases and jobs (and a dropped cube's), and opens versions without
garbage only to learn their age: some twenty of a million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from accelerator.errors import StoreError
from accelerator.store.files.files import StoreFiles
from accelerator.store.files.names import strays
from accelerator.store.leases import SNAPSHOTS, Lease, leases_of
from accelerator.store.log.chunks import ChunkRef, Chunks, Damaged
from accelerator.store.log.garbage import Garbage
from accelerator.store.log.table_version import TableVersion
from accelerator.store.log.versioned_log import PROBE_GAP_MAX_S, S, VersionedLog
from accelerator.store.records import BuildJob
from accelerator.store.vacuum.deleter import Deleter, Pace
from accelerator.store.vacuum.retention import Report, Retention

# A reader that knows version n asks whether n + 1 is there, for some minutes without listing.
VERSION_AGE_MS = int(2 * PROBE_GAP_MAX_S * 1000)
# So few old version files aren't worth a commit that says that they're gone.
VERSIONS_WORTH = 16
VERSIONS_LISTED = 1_000_000
"""More that are to go are listed, not counted."""
# What a vacuum remembers of garbage between finding and deleting it; more is read twice.
NAMES_MAX = 200_000
# After so many deletions the version files that named them go too, so that a rerun skips them.
CHECKPOINT = 20_000


class Mark(Struct, frozen=True):
    """A version with garbage. None where that would be too much to remember, but for its hash."""

    number: int
    committed_ms: int
    names: int
    cubes: int
    bytes: int
    hash: int
    garbage: Garbage | None


class VacuumContext(Struct, frozen=True):
    """What one vacuum works on. `now_ms` is when it began."""

    files: StoreFiles
    log: VersionedLog[TableVersion]
    chunks: Chunks
    table_uuid: str
    retention: Retention
    now_ms: int
    report: Report
    pace: Pace

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be changed."""
        return self.report.dry_run

    def is_old(self, time_ms: int, age_ms: int = 0) -> bool:
        """Whether something of that time is past the grace time."""
        return time_ms <= self.now_ms - max(self.retention.grace_ms, age_ms)

    def deleter(self) -> Deleter:
        """Deletes in this vacuum's batches, for a `with` block."""
        return Deleter(
            self.files,
            batch=self.retention.batch,
            threads=self.retention.threads,
            pace=self.pace,
            dry_run=self.dry_run,
        )


def newest(scene: VacuumContext) -> TableVersion:
    """The newest version; StoreError where it's damaged, since what it names is unknown."""
    version = scene.log.listed()
    if scene.log.damage:
        raise doubt(scene.log.damage)
    return version


def doubt(damage: object) -> StoreError:
    """Why nothing is deleted."""
    return StoreError(
        f"a file of the store is damaged, so nothing is deleted: {damage}",
        hint="restore it from a backup; if it's an old version file, delete it and run VACUUM FULL",
    )


def vacuum(scene: VacuumContext, version: TableVersion, jobs: Sequence[BuildJob]) -> None:
    """Deletes the garbage of versions that nobody needs, then what told of it.

    `version`, the newest one, was read before the leases are: a reader whose lease isn't listed
    reads the newest version once more after it was written, and that is this one or a later one.
    """
    leases = leases_of(scene.files, scene.table_uuid)
    live = [one for one in leases if not one.has_ended(scene.now_ms)]
    needed = _oldest_needed(scene, version, live)
    marks = _marks(scene, version)
    ready = _ready(scene, marks, needed)
    waiting = marks[len(ready) :]
    dead = dead_jobs(scene, jobs, live)
    scene.report.kept("job", "running, or younger than the grace time", len(jobs) - len(dead))
    scene.report.deleted("job", "its build is dead", len(dead))
    end_jobs(scene, dead)
    # Its garbage may be young though later versions are old, by other clocks.
    end = min([needed, *(mark.number for mark in waiting[:1])])
    floor = _delete(scene, version, ready, end)
    clean = ready[-1].number if ready else version.clean
    leases += leases_of(scene.files, scene.table_uuid, SNAPSHOTS)
    _end_leases(scene, [one for one in leases if one.has_ended(scene.now_ms)])
    worth = floor - version.floor >= VERSIONS_WORTH
    if not scene.dry_run and (clean > version.clean or worth):
        scene.log.commit(lambda table: table.vacuumed(floor, clean))
    elif not scene.dry_run and _is_idle(scene, waiting, live):
        scene.log.commit(lambda table: table.again())


def _is_idle(scene: VacuumContext, waiting: Sequence[Mark], live: Sequence[Lease]) -> bool:
    """Whether garbage waits only for its version not to be among the newest any more.

    On a table that nobody changes it never would; so each vacuum adds a version until it is.
    """
    if not waiting or not scene.is_old(waiting[0].committed_ms):
        return False
    return all(waiting[0].number <= one.version for one in live)


def _oldest_needed(scene: VacuumContext, version: TableVersion, live: Sequence[Lease]) -> int:
    retained = version.number - max(1, scene.retention.versions_min) + 1
    return max(0, min([retained, *(one.version for one in live)]))


def garbage_chain(scene: VacuumContext, version: TableVersion) -> Iterator[TableVersion]:
    """The versions with garbage that isn't deleted yet, newest first.

    One that is missing was deleted by a vacuum that was stopped; then all before it is done.
    """
    number = version.number if version.garbage else version.prev_garbage
    while number > version.clean:
        found = version if number == version.number else read_or_none(scene, scene.log, number)
        if found is None:
            return
        yield found
        number = found.prev_garbage


def read_or_none(scene: VacuumContext, log: VersionedLog[S], number: int) -> S | None:
    """A version; None where its file is gone. StoreError where it can't be trusted."""
    try:
        return log.read(number)
    except Damaged as error:
        path = log.path(number)
        if not scene.files.exists(path):
            return None
        raise doubt(f"{scene.files.uri(path)}: {error}") from error


def _marks(scene: VacuumContext, version: TableVersion) -> list[Mark]:
    """The versions with garbage, oldest first.

    Below a floor that another vacuum has set all garbage is gone; a file that is there may be one
    of a writer that was far behind, and what it calls garbage may be named by the newest version.
    """
    marks, left = [], NAMES_MAX
    for one in garbage_chain(scene, version):
        names = _count(one.garbage)
        left -= len(one.garbage.artifacts) + len(one.garbage.chunks) + 1
        garbage = one.garbage if left >= 0 else None
        cubes, size = len(one.garbage.cubes), one.garbage.bytes
        known = hash(one.garbage)
        marks.append(Mark(one.number, one.committed_ms, names, cubes, size, known, garbage))
    floor = scene.log.floor() if marks else 0
    return [mark for mark in reversed(marks) if mark.number >= floor]


def _ready(scene: VacuumContext, marks: Sequence[Mark], needed: int) -> list[Mark]:
    """The versions whose garbage may go, oldest first, up to the first that has to wait."""
    ready: list[Mark] = []
    waits = ""
    for mark in marks:
        if not waits and mark.number > needed:
            waits = "an older version is pinned or retained"
        if not waits and not scene.is_old(mark.committed_ms):
            waits = "younger than the grace time"
        if waits:
            scene.report.kept("artifact", waits, mark.names, mark.bytes)
            scene.report.kept("dropped cube", waits, mark.cubes)
        else:
            ready.append(mark)
    return ready


def _count(garbage: Garbage) -> int:
    return len(garbage.artifacts) + sum(ref.entries for ref in garbage.more)


def _delete(scene: VacuumContext, version: TableVersion, ready: Sequence[Mark], needed: int) -> int:
    """Sends garbage in the versions' order, and version files behind it; the new floor."""
    floor, sent = version.floor, 0
    with scene.deleter() as deleter:
        for mark in ready:
            garbage = mark.garbage
            if garbage is None:
                again = read_or_none(scene, scene.log, mark.number)
                # Else another vacuum was quicker, and a stray may be in its place.
                same = again is not None and hash(again.garbage) == mark.hash
                garbage = again.garbage if again and same else Garbage()
            sent += _delete_garbage(scene, garbage, deleter)
            old = scene.is_old(mark.committed_ms, VERSION_AGE_MS)
            if sent >= CHECKPOINT and mark.number < needed and old:
                deleter.flush()
                floor, sent = _delete_versions(scene, floor, mark.number + 1, deleter), 0
        deleter.flush()
        end = _old_versions_end(scene, floor, needed)
        if end - floor >= VERSIONS_WORTH or (ready and end > floor):
            floor = _delete_versions(scene, floor, end, deleter)
    if version.number >= floor:
        scene.report.kept("version", "retained, pinned or young", version.number - floor + 1)
    return floor


def _delete_garbage(scene: VacuumContext, garbage: Garbage, deleter: Deleter) -> int:
    """Sends one version's garbage to be deleted; how many files that are."""
    known = sum(_delete_artifact(scene, path, deleter) for path in garbage.artifacts)
    for ref in garbage.more:
        paths = listed(scene, ref) or ()  # none: a vacuum that was stopped had come so far
        known += sum(_delete_artifact(scene, path, deleter) for path in paths)
        # It tells of artifacts, so it must outlast them; a rerun takes its absence for "done".
        deleter.add_after(scene.chunks.path(ref.name))
    scene.report.deleted("artifact", "no version names it", 0, garbage.bytes if known else 0)
    for cube_id in garbage.cubes:
        for entry in scene.files.entries(f"tables/{scene.table_uuid}/cubes/{cube_id}"):
            scene.report.deleted("artifact", "its cube was dropped", 1, entry.bytes)
            deleter.add(entry.path)
            known += 1
    for name in garbage.chunks:
        deleter.add(scene.chunks.path(name))
    scene.report.deleted("chunk", "no version names it", len(garbage.chunks) + len(garbage.more))
    return known + len(garbage.chunks)


def listed(scene: VacuumContext, ref: ChunkRef) -> list[str] | None:
    """What a list of garbage names; None where it's gone, as it is once all of that is."""
    try:
        return scene.chunks.read_paths(ref)
    except Damaged as error:
        if not scene.files.exists(scene.chunks.path(ref.name)):
            return None
        raise doubt(error) from error


def _delete_artifact(scene: VacuumContext, path: str, deleter: Deleter) -> bool:
    """Only what lies where this table's builds write, whatever a record says."""
    inside = path.startswith(f"tables/{scene.table_uuid}/cubes/") and not strays(path)
    if inside:
        scene.report.deleted("artifact", "no version names it", 1)
        deleter.add(path)
    else:
        scene.report.kept("artifact", "it isn't under the store")
    return inside


def _delete_versions(scene: VacuumContext, floor: int, end: int, deleter: Deleter) -> int:
    """Deletes the version files from `floor` up to before `end`, which is the new floor.

    A floor file says so first, for a writer that was so far behind that it finds its number free.
    """
    if end > floor and not scene.dry_run:
        scene.log.raise_floor(end)
    numbers: Sequence[int] = range(floor, end)
    if len(numbers) > VERSIONS_LISTED:  # a newest file with a number that nobody has counted to
        numbers = [one for one in scene.log.numbers() if floor <= one < end]
    for number in numbers:
        deleter.add(scene.log.path(number))
    scene.report.deleted("version", "older than all that is needed", len(numbers))
    return max(floor, end)


def _old_versions_end(scene: VacuumContext, floor: int, needed: int) -> int:
    """The first version file that has to stay: needed, or too young; found by halving."""
    low, high = floor, max(floor, needed)
    if high - low < VERSIONS_WORTH:
        return high if high > low and _is_old_version(scene, high - 1) else low
    if _is_old_version(scene, high - 1):
        return high
    while low < high:
        middle = (low + high) // 2
        if _is_old_version(scene, middle):
            low = middle + 1
        else:
            high = middle
    return low


def _is_old_version(scene: VacuumContext, number: int) -> bool:
    try:
        version = scene.log.read(number)
    except Damaged:
        # Gone with a vacuum that was stopped, so it was old; torn: nothing is known of it.
        return not scene.files.exists(scene.log.path(number))
    return version.format == 1 or scene.is_old(version.committed_ms, VERSION_AGE_MS)


def _end_leases(scene: VacuumContext, ended: Sequence[Lease]) -> None:
    scene.report.deleted("lease", "it has ended", len(ended))
    with scene.deleter() as deleter:
        for one in ended:
            deleter.add(one.path)


def dead_jobs(
    scene: VacuumContext, jobs: Sequence[BuildJob], live: Sequence[Lease]
) -> list[BuildJob]:
    """The builds that no process with a lease runs, and that began before the grace time."""
    processes = {one.process for one in live}
    return [one for one in jobs if one.process not in processes and scene.is_old(one.started_ms)]


def end_jobs(scene: VacuumContext, dead: Sequence[BuildJob]) -> None:
    """Removes the logs of dead builds: should one live after all, its commit is refused."""
    with scene.deleter() as deleter:
        for one in dead:
            deleter.add(f"tables/{scene.table_uuid}/jobs/{one.id}.json")
