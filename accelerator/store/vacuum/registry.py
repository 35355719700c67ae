"""Old versions of the registry, which a full vacuum of any table deletes.

Each version holds the whole state, so none of them makes garbage and nobody pins one.
Promises: the newest versions stay, and every one that a reader may look for yet, since it asks for
the number after its own; numbers are free below the floor only, where a writer that was far behind
can't take one; that holds whatever crashes and however many vacuums run. Where the newest version
is damaged, nothing is deleted.
"""

from __future__ import annotations

from itertools import takewhile

from accelerator.store.files.entries import FileEntry, is_draft
from accelerator.store.log.registry import FOLDER, RegistryVersion
from accelerator.store.log.versioned_log import VersionedLog, number_of
from accelerator.store.vacuum.vacuum import VERSION_AGE_MS, VacuumContext, read_or_none

_WHY = "older than all that is needed"


def vacuum_registry(scene: VacuumContext, log: VersionedLog[RegistryVersion]) -> None:
    """Deletes old versions, and old drafts of killed writers; their age is by the storage's clock.

    What comes after the listing isn't touched, so the newest listed version is what counts.
    """
    versions: dict[int, FileEntry] = {}
    drafts: list[FileEntry] = []
    for entry in scene.files.entries(FOLDER):
        number = number_of(entry.path)
        if number is not None:
            versions[number] = entry
        elif is_draft(entry.path.rpartition("/")[2]) and _is_old(scene, entry):
            drafts.append(entry)
    # None: so much was committed since that another vacuum has deleted it; the next one goes on.
    if not versions or read_or_none(scene, log, max(versions)) is None:
        return
    _delete(scene, log, versions, drafts)


def _delete(
    scene: VacuumContext,
    log: VersionedLog[RegistryVersion],
    versions: dict[int, FileEntry],
    drafts: list[FileEntry],
) -> None:
    numbers = sorted(versions)
    unneeded = numbers[: -max(1, scene.retention.versions_min)]
    old = list(takewhile(lambda number: _is_old(scene, versions[number]), unneeded))
    if old and not scene.dry_run:
        log.raise_floor(numbers[len(old)])
    with scene.deleter() as deleter:
        for number in old:
            entry = versions[number]
            scene.report.deleted("registry version", _WHY, 1, entry.bytes)
            deleter.add(entry.path)
        for entry in drafts:
            scene.report.deleted("draft", "an orphan of a dead writer", 1, entry.bytes)
            deleter.add(entry.path)
    for number in numbers[len(old) :]:
        scene.report.kept("registry version", "retained or young", 1, versions[number].bytes)


def _is_old(scene: VacuumContext, entry: FileEntry) -> bool:
    return scene.is_old(entry.modified_ms, VERSION_AGE_MS)
