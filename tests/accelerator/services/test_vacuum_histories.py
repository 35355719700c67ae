"""Random histories ask alone, without Spark, whether a table may be vacuumed.

No file that a snapshot of another table names is deleted; where no folder is shared every planted
orphan is, and no other table's snapshot is read; nothing is refused without need.

    TESTS_FULL=1 python -m pytest tests/accelerator/services/test_vacuum_histories.py
"""

from __future__ import annotations

from collections import Counter

import pytest

from accelerator.errors import VacuumRefusedError
from accelerator.iceberg.tables.footprints import Footprints
from accelerator.services.vacuum.shared_files import SharedFiles
from tests.support.extent import sized
from tests.support.table_histories import Lake, canonical, is_under

HISTORIES = sized(200, full=2000)


def vacuumed(lake, name, outcomes):
    """Vacuums the table as the procedures would, if the decision lets it; as it's promised."""
    others = [one for one in lake.entries if one != name]
    needed = set().union(*(lake.named(one) for one in others))
    folder = canonical(lake.location(name))
    orphan = f"{folder}/data/planted.parquet"
    files = {canonical(one) for one in lake.disk if is_under(canonical(one), folder)} | {orphan}
    orphans = files - lake.named(name)
    shared, proven = False, True
    for one in others:
        entry = lake.entries[one]
        overlaps = any(is_under(x, folder) or is_under(folder, x) for x in entry.ever)
        shared |= overlaps or (entry.is_view and is_under(canonical(entry.pointer), folder))
        proven &= lake.has_whole_log(one) and not entry.doubtful
    lake.read.clear()
    try:
        SharedFiles(lake, Footprints(lake), ("lake", "d", name)).check_folder(lake.location(name))
    except VacuumRefusedError:
        writes = {x for one in others for x in _written(lake, one) if is_under(x, folder)}
        assert writes or any(is_under(x, folder) for x in needed), "refused without need"
        outcomes["refused"] += 1
    else:
        assert not orphans & needed
        assert orphan in orphans
        outcomes["shared, none needed" if shared else "not shared"] += 1
    if not shared and proven:
        assert not lake.read
        outcomes["nothing read"] += 1


def expired(lake, name, outcomes):
    """Expires all snapshots but the newest, if the decision lets it."""
    ids = lake.snapshot_ids(name)
    gone = set(ids[:-1])
    if not gone:
        return
    others = [one for one in lake.entries if one != name]
    needed = set().union(*(lake.named(one) for one in others))
    going = lake.of_snapshots(name, gone) - lake.of_snapshots(name, {ids[-1]})
    try:
        SharedFiles(lake, Footprints(lake), ("lake", "d", name)).check_snapshots(gone)
    except VacuumRefusedError:
        assert going & needed, "refused without need"
        outcomes["expiry refused"] += 1
    else:
        assert not going & needed
        outcomes["expired"] += 1


@pytest.mark.parametrize("rare", [False, True], ids=["plain", "rare"])
def test_no_file_that_another_table_names_is_deleted(rare):
    outcomes = Counter()
    for seed in range(HISTORIES // 2):
        lake = Lake(seed, rare=rare)
        for name, entry in lake.entries.items():
            if not entry.is_view:
                try:
                    vacuumed(lake, name, outcomes)
                    expired(lake, name, outcomes)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}, table {name}, rare {rare}") from error
    wanted = {"refused", "shared, none needed", "not shared", "nothing read", "expired"}
    wanted |= {"expiry refused"} if rare else set()
    assert all(outcomes[one] >= HISTORIES // 100 for one in wanted), outcomes


@pytest.mark.parametrize("rare", [False, True], ids=["plain", "rare"])
def test_what_cant_be_read_is_named_or_not_needed(rare):
    """A table whose lists of manifests are gone stops only vacuums that depend on it."""
    outcomes = Counter()
    for seed in range(HISTORIES // 4):
        lake = Lake(seed, rare=rare)
        for name, entry in lake.entries.items():
            if entry.is_view:
                continue
            others = [one for one in lake.entries if one != name]
            lake.unreadable = {
                one["manifest-list"]
                for other in others
                for one in lake.metadata_files[lake.entries[other].pointer].get("snapshots", [])
            }
            folder = lake.location(name)
            try:
                SharedFiles(lake, Footprints(lake), ("lake", "d", name)).check_folder(folder)
            except VacuumRefusedError as error:
                assert any(f"lake.d.{one} " in error.message for one in others)
                outcomes["named" if "can't be read" in error.message else "refused"] += 1
            else:
                outcomes["not needed"] += 1
    assert set(outcomes) == {"named", "refused", "not needed"}


def _written(lake, name):
    metadata = lake.metadata_files[lake.entries[name].pointer]
    paths = (value for key, value in metadata["properties"].items() if key.endswith(".path"))
    return set(map(canonical, (metadata["location"], *paths)))
