"""The store: our versioned metadata of cubes and segments, the one truth of what each covers.

Layout and guarantees are in `docs/formats/store.md`. Reads never fail for want of a store: a root
that isn't there is an empty one. Artifacts are written by others under a job's prefix; a record
is committed only after its artifact is whole.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import convert
from msgspec.structs import replace

from accelerator.common.redaction import redacted
from accelerator.errors import (
    UNFIT,
    CubeNotFoundError,
    StoreConflictError,
    StoreError,
)
from accelerator.store.add_segments import Added, add_segments, holds
from accelerator.store.files.copies import LocalCopies, is_remote
from accelerator.store.files.entries import is_draft
from accelerator.store.files.files import StoreFiles, local_folders, local_path, open_files
from accelerator.store.files.names import strays
from accelerator.store.leases import SNAPSHOTS, Leases, leases_of
from accelerator.store.log.chunks import read_json
from accelerator.store.log.registry import FOLDER, RegistryCodec, RegistryVersion
from accelerator.store.log.table_log import TableLog
from accelerator.store.log.table_version import TableVersion
from accelerator.store.log.versioned_log import VersionedLog
from accelerator.store.records import (
    BuildJob,
    CubeRecord,
    IndexRecord,
    SegmentRecord,
    artifacts_prefix,
)
from accelerator.store.vacuum.retention import CountedFiles, Report, Retention

if TYPE_CHECKING:
    from accelerator.store.vacuum.expiry import Unusable

_FETCHES = 8  # artifacts that are copied side by side
_Ended = TypeVar("_Ended", CubeRecord, IndexRecord, CubeRecord | None, IndexRecord | None)


class Store:
    """Cubes and segments under one root; threads may share it, and processes the root."""

    def __init__(
        self,
        files: StoreFiles,
        *,
        max_age_s: float = 0.0,
        read_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        now_ms: Callable[[], int] | None = None,
        copies: LocalCopies | None = None,
    ) -> None:
        self._files, self._read_only, self._copies = files, read_only, copies
        self._max_age_s, self._clock, self._sleep = max_age_s, clock, sleep
        self._now_ms = now_ms or _now_ms
        self._registry = VersionedLog(
            files,
            FOLDER,
            RegistryCodec(),
            RegistryVersion(),
            max_age_s=max_age_s,
            clock=clock,
            sleep=sleep,
        )
        self._leases = Leases(files, self._now_ms, writable=not read_only)
        self._snapshots = Leases(
            files,
            self._now_ms,
            writable=not read_only,
            folder=SNAPSHOTS,
            process=self._leases.process,
        )
        self._tables: dict[str, TableLog] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        root: str,
        *,
        options: Mapping[str, str] | None = None,
        max_age_s: float = 0.0,
        read_only: bool = False,
        now_ms: Callable[[], int] | None = None,
        copies: tuple[Path, int] | None = None,
    ) -> Store:
        """The store under a path or URI; makes nothing, and asks nothing, until it's used.

        `copies`: in which folder copies of an object store's segments are, and their bytes at most.
        """
        files, held = open_files(root, options), None
        if copies is not None and is_remote(files):
            folder, bytes_max = copies
            held = LocalCopies(files, Path(os.path.realpath(folder)), bytes_max)
        return cls(files, max_age_s=max_age_s, read_only=read_only, now_ms=now_ms, copies=held)

    @property
    def files(self) -> StoreFiles:
        """Its files, for what stands beside the versions: the query log."""
        return self._files

    # Reading

    def registry(self, *, fresh: bool = False) -> RegistryVersion:
        """All cubes, as of now; with `fresh` whatever the age of what is known."""
        return self._registry.listed() if fresh else self._registry.current()

    def table(self, table_uuid: str) -> TableVersion:
        """All segments over a fact table, as of now; inside `reading` their files stay."""
        log = self._table(table_uuid)
        version = log.current()
        if self._leases.must_ask_again(table_uuid, version.number):
            version = log.listed()
            self._leases.asked(table_uuid, version.number)
        return version

    def tables(self) -> tuple[str, ...]:
        """The uuids of all tables that have something here, those without a cube too."""
        return self._files.folders("tables")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Until its end no vacuum, of whatever process, deletes what versions seen inside name.

        Nor does one expire snapshots of the lake that are pinned inside.
        """
        with self._leases.reading(), self._snapshots.reading():
            yield

    def pin_snapshot(self, table_uuid: str, snapshot_ms: int | None) -> None:
        """Inside `reading`: data files of a table's snapshot of that time are going to be read.

        No vacuum of the lake's tables expires it, or a later one, until then. One that had begun
        before may: whoever finds a file missing asks Spark, as for any failure. None is no pin.
        """
        if snapshot_ms is None:
            return
        if self._snapshots.must_ask_again(table_uuid, snapshot_ms):
            self._snapshots.asked(table_uuid, snapshot_ms)

    def oldest_snapshot_ms(self, table_uuid: str) -> int | None:
        """The time of the oldest snapshot of the table that any process has pinned."""
        self._snapshots.narrow(table_uuid)
        now_ms = self._now_ms()
        found = leases_of(self._files, table_uuid, SNAPSHOTS)
        return min((one.version for one in found if not one.has_ended(now_ms)), default=None)

    def close(self) -> None:
        """Ends this process's leases; the store may be used on."""
        self._leases.close()
        self._snapshots.close()

    def damages(self) -> tuple[str, ...]:
        """What is wrong with version files that were read; older ones serve in their place."""
        found = [self._registry.damage] if self._registry.damage else []
        for log in self._tables.copy().values():
            found += log.damages
        return tuple(found)

    # Changing cubes

    def create_cube(self, record: CubeRecord, *, replace: bool = False) -> RegistryVersion:
        """Registers a cube; a name in use raises CubeExistsError unless `replace` is given.

        A replaced cube's segments are forgotten, as in `drop_cube`.
        """
        version, _ = self._commit(
            lambda registry: registry.with_cube(record, replace_old=replace),
            lambda registry: registry.cubes.get(record.name),
        )
        return version

    def change_cube(self, name: str, cube_id: str = "", **changes: str | None) -> RegistryVersion:
        """Changes the given facts of a cube and keeps those that other processes have changed.

        CubeNotFoundError if there's none of that name, or it isn't the one of the id given.
        """
        self.check_writable()
        return self._registry.commit(lambda one: one.with_cube_change(name, cube_id, **changes))

    def rename_cube(self, name: str, new_name: str, *, cube_id: str) -> CubeRecord | None:
        """Puts the cube of that id in the place of another, by one commit; returns the other.

        The other's segments are forgotten, as in `drop_cube`. CubeNotFoundError as of that.
        """
        _, replaced = self._commit(
            lambda registry: registry.with_cube_renamed(name, new_name, cube_id),
            lambda registry: registry.cubes.get(new_name),
        )
        return replaced

    def drop_cube(self, name: str, *, cube_id: str = "") -> CubeRecord:
        """Removes a cube and forgets its segments; the artifacts are left for running queries.

        A crash between the two commits leaves segments that no cube owns: nothing reads them, and
        the next vacuum forgets them. CubeNotFoundError as of `recycle_cube`.
        """
        _, dropped = self._commit(
            lambda registry: registry.without_cube(name),
            lambda registry: registry.named(name, cube_id),
        )
        return dropped

    def recycle_cube(self, name: str, keep_ms: int, *, cube_id: str = "") -> CubeRecord:
        """Moves a cube to the recycle bin, by one commit; its segments stay for so long.

        CubeNotFoundError where there's none of that name, or it isn't the one of the id given.
        """
        self.check_writable()
        now_ms = self._now_ms()
        version = self._registry.commit(
            lambda one: one.with_recycled(name, now_ms, now_ms + keep_ms, cube_id)
        )
        return version.dropped(name).cube

    def undrop_cube(self, name: str, new_name: str = "") -> CubeRecord:
        """Brings the newest cube of that name back from the bin, with all of its segments."""
        self.check_writable()
        wanted = new_name or name
        version = self._registry.commit(lambda registry: registry.with_undropped(name, wanted))
        return version.cubes[wanted]

    # Changing indexes

    def create_index(self, record: IndexRecord) -> RegistryVersion:
        """Registers an index; a name in use raises IndexExistsError."""
        self.check_writable()
        return self._registry.commit(lambda registry: registry.with_index(record))

    def change_index(self, name: str, index_id: str = "", **changes: str | None) -> RegistryVersion:
        """Changes only these facts of an index, whatever others have changed; as of a cube."""
        self.check_writable()
        return self._registry.commit(lambda one: one.with_index_change(name, index_id, **changes))

    def rename_index(self, name: str, new_name: str) -> RegistryVersion:
        """Puts an index in the place of another, by one commit; the other's artifacts are garbage.

        IndexNotFoundError where there's none of that name.
        """
        version, _ = self._commit(
            lambda registry: registry.with_index_renamed(name, new_name),
            lambda registry: registry.indexes.get(new_name) if new_name != name else None,
        )
        return version

    def drop_index(self, name: str, *, index_id: str = "") -> IndexRecord:
        """Removes an index; what it had built is garbage at once, as in `drop_cube`.

        IndexNotFoundError where there's none of that name, or it isn't the one of the id given.
        """
        _, dropped = self._commit(
            lambda registry: registry.without_index(name),
            lambda registry: registry.index(name, index_id),
        )
        return dropped

    def _commit(
        self,
        change: Callable[[RegistryVersion], RegistryVersion],
        ended: Callable[[RegistryVersion], _Ended],
    ) -> tuple[RegistryVersion, _Ended]:
        """Commits a change of the registry, then forgets what the record had built that it ends."""
        self.check_writable()
        gone: list[_Ended] = []

        def noted(registry: RegistryVersion) -> RegistryVersion:
            gone[:] = [ended(registry)]
            return change(registry)

        version = self._registry.commit(noted)
        if gone[0] is not None:
            self._forget(gone[0])
        return version, gone[0]

    # Changing segments

    def add_segments(
        self,
        table_uuid: str,
        segments: Iterable[SegmentRecord],
        *,
        replaces: Iterable[int] = (),
        job: BuildJob | None = None,
    ) -> Added:
        """Commits segments, all in one version, and removes those that they replace.

        Of two builders of one file the first wins; the other's ids come back as `lost`. With
        `job` given, they're taken only while its transaction log and its cube stand, so nothing
        comes back that a vacuum or a DROP has seen as garbage; the log is removed afterwards. A
        segment over an artifact of an earlier build needs one of its cube that still names it.
        """
        self.check_writable()
        offered, replaced = tuple(segments), tuple(replaces)
        lost: tuple[int, ...] = ()
        brought: tuple[SegmentRecord, ...] = ()

        def change(table: TableVersion) -> TableVersion:
            nonlocal lost, brought
            if any(holds(table, one) for one in brought):
                return table  # the try before stood, and a vacuum went past it since
            if job is not None:
                self._check_job(job)
                self._check_files(table, offered, job)
            added = add_segments(table, offered, replaced)
            lost = added.lost
            brought = tuple(one for one in offered if not holds(table, one))
            return added.version

        version = self._table(table_uuid).commit(change)
        if job is not None:
            self._check_owner(job)
            self.finish_job(job)
        return Added(version, lost)

    def remove_segments(self, table_uuid: str, ids: Iterable[int]) -> TableVersion:
        """Forgets segments by id; ids that aren't there are no error."""
        self.check_writable()
        gone = tuple(ids)
        return self._table(table_uuid).commit(lambda table: table.without(gone))

    # Jobs and artifacts

    def begin_job(self, table_uuid: str, cube_id: str) -> BuildJob:
        """Writes the transaction log of a build, then hands out the prefix it may write under."""
        self.check_writable()
        job_id = uuid.uuid4().hex
        process = self._leases.process
        job = BuildJob(job_id, table_uuid, cube_id, "", self._now_ms(), process)
        job = replace(job, uri=self._files.uri(job.prefix))
        self.table(table_uuid)  # a build that reads holds a lease, by which it's known to live
        data = json.dumps(job.to_json(), sort_keys=True).encode()
        # Were the path taken, then by this very request, tried again after a lost reply.
        self._files.create(_job_path(table_uuid, job_id), data)
        return job

    def finish_job(self, job: BuildJob) -> None:
        """Removes a build's transaction log; twice is no error."""
        self.check_writable()
        self._files.delete([_job_path(job.table_uuid, job.id)])

    def jobs(self, table_uuid: str) -> tuple[BuildJob, ...]:
        """The builds that have begun and not finished, killed ones included."""
        found = (self._job(path) for path in self._files.list(f"tables/{table_uuid}/jobs"))
        return tuple(sorted((job for job in found if job), key=lambda job: job.started_ms))

    def artifacts(self, job: BuildJob) -> dict[str, int]:
        """URI → bytes of every file that a job has written so far; one listing."""
        # Not a size per name: a vacuum that took the build for dead may delete them meanwhile.
        return self._artifacts(self._relative(job.uri))

    def artifacts_of(self, table_uuid: str, cube_id: str) -> tuple[str, dict[str, int]]:
        """A cube's or an index's folder as a URI, and the same of all its builds; one listing."""
        prefix = artifacts_prefix(table_uuid, cube_id)
        return self._files.uri(f"{prefix}/"), self._artifacts(prefix)

    def _artifacts(self, folder: str) -> dict[str, int]:
        found = self._files.entries(folder)
        whole = {one.path: one.bytes for one in found if not is_draft(one.path)}
        return {self._files.uri(path): whole[path] for path in sorted(whole)}

    @property
    def is_local(self) -> bool:
        """Whether its artifacts lie on this machine's disks."""
        return self._files.uri("").startswith("file://")

    def check_inside(self, uris: Iterable[str]) -> None:
        """StoreError where an artifact isn't under the root, by whatever name and over any links.

        Records may name any file, and Spark would read it with its session's rights.
        """
        start = self._files.uri("")
        folders = local_folders(start)
        for uri in uris:
            if not folders:
                self._relative(uri)
                continue
            path = local_path(uri)
            root = f"{folders[0].rstrip('/')}/"
            odd = "://" in path or "\0" in path
            if odd or not os.path.realpath(path).startswith(root):
                raise StoreError(
                    f"{uri} isn't under the store {redacted(start, {})}",
                    hint="somebody else's record names it: drop the cube, and create it again",
                )

    def holds(self, uri: str) -> bool:
        """Whether an artifact's name is one under the root, by any of the root's own names."""
        try:
            self._relative(uri)
        except StoreError:
            try:
                self.check_inside([uri])
            except StoreError:
                return False
        return True

    @property
    def uri(self) -> str:
        """Its root."""
        return self._files.uri("").rstrip("/")

    @property
    def options(self) -> Mapping[str, str]:
        """An object store's, in obstore's names."""
        return self._files.options if is_remote(self._files) else {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The local folders in which engines find artifacts, without a link on the way."""
        own = local_folders(self._files.uri(""))
        return own if self._copies is None else (str(self._copies.folder),)

    def local(self, uri: str) -> str:
        """The local path of an artifact; of an object store's that of its copy, `fetch`ed or not.

        StoreError if it isn't under the root.
        """
        if self._copies is None:
            return local_path(uri)
        return str(self._copies.path(self._relative(uri)))

    def fetch(self, uris: Iterable[str], check: Callable[[], None] = lambda: None) -> list[str]:
        """The local paths of artifacts, each once and sorted; copies that lack are made first.

        StoreError if one can't be copied, and errors of `check`, which any thread may call.
        """
        copies = self._copies
        if copies is None:
            return sorted({local_path(uri) for uri in uris})
        paths = sorted({self._relative(uri) for uri in uris})
        if not paths:
            return []
        with ThreadPoolExecutor(min(_FETCHES, len(paths)), "fetch") as pool:
            sizes = dict(zip(paths, pool.map(copies.size, paths), strict=True))
            copies.check_room(sizes)
            made = pool.map(lambda path: copies.fetch(path, sizes[path], check), paths)
            return sorted(map(str, made))

    @contextmanager
    def writing(self, uri: str) -> Iterator[str]:
        """A local path to write a new artifact to; it's in the store once the block has ended."""
        self.check_writable()
        if self._copies is None:
            path = Path(local_path(uri))
            path.parent.mkdir(parents=True, exist_ok=True)
            yield str(path)
            return
        with self._copies.writing(self._relative(uri)) as draft:
            yield str(draft)

    def forget_copy(self, uri: str) -> bool:
        """Deletes the local copy of an object store's artifact; whether there was one."""
        return self._copies is not None and self._copies.forget(self._relative(uri))

    def artifact_size(self, uri: str) -> int:
        """The bytes of an artifact; FileNotFoundError where it's gone."""
        return self._files.size(self._relative(uri))

    def read_range(self, uri: str, offset: int, length: int) -> bytes:
        """So many bytes of an artifact; fewer where it ends before, FileNotFoundError if gone."""
        return self._files.read_range(self._relative(uri), offset, length)

    def write_artifact(self, job: BuildJob, name: str, data: bytes) -> str:
        """Writes a whole file under a job's prefix; its URI. A name is written once."""
        self.check_writable()
        uri = f"{job.uri}/{name}"
        if not self._files.create(self._relative(uri), data):
            raise StoreError(f"{uri} is there already", hint="begin another job")
        return uri

    def delete_artifacts(self, uris: Iterable[str]) -> None:
        """Deletes artifacts; the caller knows that no committed record and no query needs them."""
        self.check_writable()
        self._files.delete([self._relative(uri) for uri in uris])

    def vacuum(
        self,
        table_uuid: str,
        retention: Retention,
        *,
        full: bool = False,
        dry_run: bool = False,
        unusable: Unusable | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Report:
        """Deletes one table's garbage; see `store/vacuum/vacuum.py`.

        With `full` orphans of dead writers too, and old versions of the registry. `unusable` tells
        which segments no snapshot of the table can use: they're forgotten first. `check` is called
        before each request, in any thread; what it raises ends the vacuum as a failed request does.
        """
        # Statements don't vacuum: a first answer would wait for these imports.
        from accelerator.store.vacuum.deleter import Pace
        from accelerator.store.vacuum.expiry import expire
        from accelerator.store.vacuum.orphans import sweep
        from accelerator.store.vacuum.registry import vacuum_registry
        from accelerator.store.vacuum.vacuum import VacuumContext, vacuum

        if not dry_run:
            self.check_writable()
            self._leases.narrow(table_uuid)
        report = Report(table_uuid, dry_run)
        files = CountedFiles(self._files, report, check)
        # Eyes of its own: nothing that this process remembers decides what goes.
        own = Store(files, clock=self._clock, sleep=self._sleep, now_ms=self._now_ms)
        log = own._table_log(table_uuid)
        pace = Pace(retention.deletes_per_s, self._clock, self._sleep)
        now_ms = self._now_ms()
        scene = VacuumContext(
            files, log.log, log.chunks, table_uuid, retention, now_ms, report, pace
        )
        vacuum(scene, expire(scene, own._registry, unusable), own.jobs(table_uuid))
        if full:
            sweep(scene, lambda: own.jobs(table_uuid))
            vacuum_registry(scene, own._registry)
        return report

    # Helpers

    def _table(self, table_uuid: str) -> VersionedLog[TableVersion]:
        return self._table_log(table_uuid).log

    def _table_log(self, table_uuid: str) -> TableLog:
        log = self._tables.get(table_uuid)
        if log is None:
            with self._lock:
                log = self._tables.setdefault(table_uuid, self._new_table_log(table_uuid))
        return log

    def _new_table_log(self, table_uuid: str) -> TableLog:
        return TableLog(
            self._files,
            table_uuid,
            self._relative_or_not,
            max_age_s=self._max_age_s,
            clock=self._clock,
            sleep=self._sleep,
            now_ms=self._now_ms,
        )

    def _forget(self, cube: CubeRecord | IndexRecord) -> None:
        self._table(cube.table_uuid).commit(lambda table: table.without_cube(cube.id))

    def _check_job(self, job: BuildJob) -> None:
        """The errors of a build whose segments nobody wants any more.

        A vacuum removes a log, then commits, then deletes: so its commit takes the number that
        ours wants and this is asked again, or it comes after ours and sees what we brought.
        """
        if not self._files.exists(_job_path(job.table_uuid, job.id)):
            raise StoreConflictError(
                f"build {job.id} was taken for dead by a full vacuum, which removed what it wrote",
                hint="build again; if it was only slow, give the vacuum a longer retention",
            )
        registry = self._registry.listed()
        if job.cube_id not in registry.building:
            raise _dropped(recycled=job.cube_id in registry.owned)

    def _check_files(
        self, table: TableVersion, offered: Iterable[SegmentRecord], job: BuildJob
    ) -> None:
        """The error of a segment over an artifact of another build, which is garbage by now."""
        root = self._files.uri(f"tables/{job.table_uuid}/cubes/")
        for one in offered:
            if one.path.startswith(root) and not one.path.startswith(f"{job.uri}/"):
                state = table.cubes.get(one.cube_id)
                if state is None or one.path not in state.load().by_path:
                    raise StoreConflictError(
                        f"{one.path} isn't in the store any more",
                        hint="build again; another build or a vacuum was first",
                    )

    def _check_owner(self, job: BuildJob) -> None:
        """Forgets what was just committed if its cube is gone since it was asked for.

        A DROP leaves the registry, then forgets the cube's segments: so it sees ours, or we see
        here that the cube is gone. One that went to the recycle bin keeps all of its segments.
        """
        if job.cube_id not in self._registry.listed().owned:
            self._table(job.table_uuid).commit(lambda table: table.without_cube(job.cube_id))
            raise _dropped()

    def _job(self, path: str) -> BuildJob | None:
        """The job of a log file; None for one that ended meanwhile or isn't whole."""
        try:
            raw = read_json(self._files.read(path).decode())
            job = convert(raw | {"uri": ""}, BuildJob)
        except (FileNotFoundError, *UNFIT):
            return None
        # Its name says whose log it is; what it says of another's would end that one.
        is_own = path == _job_path(job.table_uuid, job.id)
        return replace(job, uri=self._files.uri(job.prefix)) if is_own else None

    def _relative(self, uri: str) -> str:
        """The path under the root; what isn't under it is none of the store's files."""
        start = self._files.uri("")
        for text in (uri, f"file://{local_path(uri)}"):
            if text.startswith(start) and not strays(text):
                return text.removeprefix(start)
        raise StoreError(f"{uri} isn't under the store {redacted(start, {})}")

    def _relative_or_not(self, uri: str) -> str:
        """The path under the root; where it's elsewhere, the URI, so that nobody deletes it."""
        try:
            return self._relative(uri)
        except StoreError:
            return uri

    def check_writable(self) -> None:
        """StoreError where the store was opened read-only."""
        if self._read_only:
            raise StoreError(
                "the store was opened read-only",
                hint="open it without read_only, or set `store` to a place you may write to",
            )


def segment_id() -> int:
    """A new segment id: random, positive, 63 bits, so that builders needn't agree on it."""
    return secrets.randbits(63) or 1


def _dropped(*, recycled: bool = False) -> CubeNotFoundError:
    again = "UNDROP CUBE and BUILD CUBE go on" if recycled else "create it again"
    return CubeNotFoundError(
        "the cube or index was dropped while it was built", hint=f"if it's wanted, {again}"
    )


def _now_ms() -> int:
    return int(time.time() * 1000)


def _job_path(table_uuid: str, job_id: str) -> str:
    return f"tables/{table_uuid}/jobs/{job_id}.json"
