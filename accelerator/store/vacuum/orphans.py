"""The full vacuum: files that no version names, left by writers that died.

Promises: nothing that a version names or a running build writes is deleted, whatever the clocks
say. In this order: list; list the builds and their leases; remove the logs of dead builds; commit
(the fence); compare with what was committed; delete. A build whose log is gone can't commit any
more, a commit that was under way meets a taken number and writes its chunks anew, and what is begun
after the fence isn't in the listing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from accelerator.store.files.entries import FileEntry, is_draft
from accelerator.store.leases import leases_of
from accelerator.store.log.chunks import Damaged
from accelerator.store.log.table_version import TableVersion
from accelerator.store.records import BuildJob
from accelerator.store.vacuum.vacuum import (
    VERSION_AGE_MS,
    VacuumContext,
    dead_jobs,
    doubt,
    end_jobs,
    garbage_chain,
    listed,
    newest,
    read_or_none,
)

_WHY = "an orphan of a dead writer"
Live = Callable[[str, str], bool]


class _Named(Struct):
    """What versions name: artifacts by path, whole cubes, chunks."""

    artifacts: set[str] = field(default_factory=set)
    cubes: set[str] = field(default_factory=set)
    chunks: set[str] = field(default_factory=set)

    def has(self, path: str, live: Live) -> bool:
        """Whether a version names the file; `live` answers for the newest one's artifacts."""
        _, _, folder, *rest = path.split("/")
        if folder == "chunks":
            return rest[-1].removesuffix(".jsonl") in self.chunks
        return path in self.artifacts or rest[0] in self.cubes or live(rest[0], path)


def sweep(scene: VacuumContext, jobs: Callable[[], Sequence[BuildJob]]) -> None:
    """Deletes what no version names and is older than the grace time; see above."""
    version = newest(scene)
    drafts, candidates = _candidates(scene, version)
    running = jobs()
    leases = leases_of(scene.files, scene.table_uuid)
    live = [one for one in leases if not one.has_ended(scene.now_ms)]
    dead = dead_jobs(scene, running, live)
    ids = {one.id for one in dead}
    alive = {f"{one.cube_id}/{one.id}" for one in running if one.id not in ids}
    candidates = [one for one in candidates if not _is_of(one.path, alive)]
    if candidates or dead:
        end_jobs(scene, dead)
        fence = version if scene.dry_run else scene.log.commit(lambda table: table.again())
        candidates = _unnamed(scene, fence, candidates)
    _delete(scene, drafts, candidates)


def _candidates(
    scene: VacuumContext, version: TableVersion
) -> tuple[list[FileEntry], list[FileEntry]]:
    """Old drafts and version files below the floor, and old files that no newest version names."""
    version, live = _readable(scene, version)
    chunks = set(_chunk_names(version))
    drafts, candidates = [], []
    root = f"tables/{scene.table_uuid}/"
    for entry in scene.files.entries(root.rstrip("/")):
        folder, _, rest = entry.path.removeprefix(root).partition("/")
        draft = is_draft(entry.path.rpartition("/")[2]) and folder != "cubes"
        # Only its age tells a dead writer's draft from one that a writer is about to link.
        if not scene.is_old(entry.modified_ms, VERSION_AGE_MS if draft else 0):
            scene.report.kept("file", "younger than the grace time", 1, entry.bytes)
        elif draft:
            drafts.append(entry)
        elif folder == "versions" and entry.path < scene.log.path(version.floor):
            drafts.append(entry)  # a writer's that filled a hole, or a stopped vacuum's
        elif folder == "chunks":
            candidates += [entry] if rest.removesuffix(".jsonl") not in chunks else []
        elif folder == "cubes" and not live(rest.partition("/")[0], entry.path):
            candidates.append(entry)
    return drafts, candidates


def _readable(scene: VacuumContext, version: TableVersion) -> tuple[TableVersion, Live]:
    """The version, or a later one if its chunks have become garbage meanwhile and are gone.

    With it whether it names an artifact; every cube must be readable to say so. What the first one
    names and the later one doesn't is garbage of a version in between, or deleted already.
    """
    while True:
        try:
            for state in version.cubes.values():
                state.load()
        except Damaged as error:
            later = newest(scene)
            if later.number <= version.number:
                raise doubt(error) from error
            version = later
        else:
            return version, _live(scene, version)


def _live(scene: VacuumContext, version: TableVersion) -> Live:
    """Whether the version, which has been read whole, names an artifact."""
    known: dict[str, set[str]] = {}

    def live(cube_id: str, path: str) -> bool:
        state = version.cubes.get(cube_id)
        if state is None:
            return False
        if scene.files.uri(path) in state.load().by_path:
            return True
        if cube_id not in known:
            known[cube_id] = {_tail(scene, uri) for uri in state.load().by_path}
        return path in known[cube_id]

    return live


def _tail(scene: VacuumContext, uri: str) -> str:
    """The path under the root, though the root be spelled otherwise now, or have been moved."""
    marker = f"tables/{scene.table_uuid}/"
    _, found, rest = uri.rpartition(marker)
    return found + rest


def _chunk_names(version: TableVersion) -> Iterable[str]:
    return (ref.name for state in version.cubes.values() for ref in state.refs)


def _unnamed(
    scene: VacuumContext, fence: TableVersion, candidates: list[FileEntry]
) -> list[FileEntry]:
    """The candidates that neither the fence nor an older version that is still there names.

    Where a list of garbage is gone, another vacuum is at work, or died; what waits on its list is
    then not known, so artifacts are left to the next one.
    """
    fence, live = _readable(scene, fence)
    named, whole = _Named(), True
    named.chunks.update(_chunk_names(fence))
    for version in garbage_chain(scene, fence):
        garbage = version.garbage
        named.artifacts.update(_tail(scene, path) for path in garbage.artifacts)
        named.cubes.update(garbage.cubes)
        named.chunks.update(garbage.chunks, (ref.name for ref in garbage.more))
        for ref in garbage.more:
            paths = listed(scene, ref)
            named.artifacts.update(_tail(scene, path) for path in paths or ())
            whole = whole and paths is not None
    named.artifacts.update(_of_first_format(scene, fence))
    found = [one for one in candidates if not named.has(one.path, live)]
    if whole:
        return found
    chunks = [one for one in found if one.path.split("/")[2] == "chunks"]
    why = "another vacuum was deleting garbage"
    scene.report.kept("artifact", why, len(found) - len(chunks))
    return chunks


def _of_first_format(scene: VacuumContext, fence: TableVersion) -> Iterable[str]:
    """Artifacts of versions of format 1 that are kept: what they lost later isn't recorded."""
    for number in range(fence.floor, fence.number):
        version = read_or_none(scene, scene.log, number)
        if version is None:
            continue
        if version.format != 1:
            return
        for segment in version.segments.values():
            yield _tail(scene, segment.path)


def _is_of(path: str, jobs: set[str]) -> bool:
    """Whether the artifact is of one of the builds, given as `cube id/build id`."""
    parts = path.split("/")
    return parts[2] == "cubes" and "/".join(parts[3:5]) in jobs


def _delete(
    scene: VacuumContext, drafts: Sequence[FileEntry], orphans: Sequence[FileEntry]
) -> None:
    with scene.deleter() as deleter:
        for entry in drafts:
            what = "draft" if is_draft(entry.path.rpartition("/")[2]) else "version"
            scene.report.deleted(what, _WHY, 1, entry.bytes)
            deleter.add(entry.path)
        for entry in orphans:
            what = "artifact" if entry.path.split("/")[2] == "cubes" else "chunk"
            scene.report.deleted(what, _WHY, 1, entry.bytes)
            deleter.add(entry.path)
