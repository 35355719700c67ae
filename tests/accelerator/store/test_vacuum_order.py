"""The order of a vacuum's requests, and what rests on it.

Strategy: a store in memory. A vacuum dies at each of its requests in turn, or somebody else comes
in between at each of them; then whoever was behind goes on, or the next vacuum does.
"""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from accelerator.errors import StoreConflictError
from accelerator.store import Retention
from tests.accelerator.store.doors import HOUR, Crash, Door
from tests.accelerator.store.samples import TABLE, cube, segment
from tests.accelerator.store.vacuum_table import CUBE, Table


@pytest.mark.parametrize(("commits", "earlier"), [(2, False), (5, False), (5, True)])
@pytest.mark.parametrize("how", ["before", "after", "torn"])
def test_a_writer_that_was_behind_fills_no_number_that_a_vacuum_freed(how, commits, earlier):
    """No clock tells it: it finds the number after its own free, and what it made nobody reads."""
    holes = 0
    for at in itertools.count():
        table = Table()
        table.add(1)
        slow = table.another()
        behind = slow.table(TABLE).number
        kept = table.add(1)
        for _ in range(commits - 1):
            kept = table.add(1, replaces=kept)
        table.later(1)
        if earlier:
            table.vacuum()
            kept = table.add(1, replaces=kept)
            table.later(1)
        door = Door(table.world)
        door.arm(at, how)
        ended = table.vacuum(door=door)
        holes += not table.exists(behind + 1)
        late = table.add(1, store=slow)
        assert set(table.another().table(TABLE).segments) == {1, *kept, *late}
        assert set(slow.table(TABLE).segments) == {1, *kept, *late}
        if ended:
            break
    assert holes > 1


def test_a_writer_that_was_behind_removes_what_it_did_not_know():
    """To what it knew there's nothing to do."""
    table = Table()
    table.add(1)
    slow = table.another()
    behind = slow.table(TABLE).number
    table.add(1)
    last = table.add(1)
    table.store.remove_segments(TABLE, [1])
    table.later(1)
    table.vacuum()
    assert not table.exists(behind + 1)
    assert set(slow.remove_segments(TABLE, last).segments) == {2}
    assert set(table.another().table(TABLE).segments) == {2}


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("how", ["before", "after", "torn"])
def test_a_list_of_garbage_outlasts_what_it_names(how, batch, monkeypatch):
    """Else a vacuum that died in between leaves artifacts that only a full one finds."""
    monkeypatch.setattr("accelerator.store.log.table_version.GARBAGE_INLINE_MAX", 1)
    monkeypatch.setattr("accelerator.store.log.table_version.GARBAGE_CHUNK_MAX", 2)
    retention = Retention(0, versions_min=1, batch=batch, threads=1)
    for at in itertools.count():
        table = Table()
        table.store.remove_segments(TABLE, table.add(9))
        kept = table.add(1)
        table.later(1)
        door = Door(table.world)
        door.arm(at, how)
        ended = table.vacuum(retention, door=door)
        table.vacuum(retention)
        assert table.artifacts == set(kept)
        assert table.world.files.list(f"tables/{TABLE}/chunks") == []
        if ended:
            break
    assert at > 10


@pytest.mark.parametrize("checkpoint", [4, 20_000])
@pytest.mark.parametrize("batch", [4, 5])
def test_a_version_file_outlasts_the_garbage_that_it_names(batch, checkpoint, monkeypatch):
    """Else a vacuum takes the one that is missing for the end of what there was to do."""
    monkeypatch.setattr("accelerator.store.vacuum.vacuum.CHECKPOINT", checkpoint)
    retention = Retention(0, versions_min=1, batch=batch, threads=1)
    for at in itertools.count():
        table = Table()
        kept = table.add(3)
        for _ in range(5):
            kept = table.add(3, replaces=kept)
        table.later(1)
        door = Door(table.world)
        door.arm(at, "torn")
        ended = table.vacuum(retention, door=door)
        table.vacuum(retention)
        assert table.artifacts == set(kept)
        if ended:
            break
    assert at > 10


def test_a_version_waits_for_its_garbage():
    """One with garbage that isn't old yet, by whatever clock, stays, and so do all behind it."""
    table = Table()
    kept = table.add(1, replaces=table.add(1))
    table.later(48)  # of one writer, whose clock is ahead
    kept = table.add(1, replaces=kept)
    table.later(-48)
    for _ in range(20):
        kept += table.add(1)
    table.later(1)
    table.vacuum()
    assert 1 not in table.artifacts and 2 in table.artifacts
    table.later(48)
    table.vacuum()
    assert table.artifacts == set(kept)
    assert not table.exists(table.another().table(TABLE).floor - 1)


def test_a_cube_that_is_made_while_a_vacuum_ends_another_keeps_its_segments():
    """What nobody owns is asked anew for the very version that the vacuum changes."""
    for at in itertools.count():
        table = Table()
        table.store.create_cube(cube("half", "d" * 32))
        table.store.add_segments(TABLE, [segment(50, 50, cube_id="d" * 32)])
        table.store._registry.commit(lambda registry: registry.without_cube("half"))
        door, made = Door(table.world), []

        def meanwhile(table=table, made=made):
            table.store.create_cube(cube("new", "e" * 32))
            table.store.add_segments(TABLE, [segment(60, 60, cube_id="e" * 32)])
            made.append(60)

        door.interrupt_in, door.interruption = at, meanwhile
        table.vacuum(door=door)
        assert list(table.another().table(TABLE).segments) == made
        if not made:
            break
    assert at > 10


@pytest.mark.parametrize("full", [False, True])
def test_who_begins_to_read_while_a_vacuum_runs_keeps_what_it_has_seen(full):
    """Its version is the newest one only until somebody replaces what it names."""
    for at in itertools.count():
        table = Table()
        table.add(1)
        gone = table.add(3, replaces=[1])
        reader, seen = table.another(), []
        door = Door(table.world)

        def meanwhile(table=table, reader=reader, seen=seen, gone=gone):
            seen.extend(reader.table(TABLE).segments)
            table.add(1, replaces=gone)

        door.interrupt_in, door.interruption = at, meanwhile
        with reader.reading():
            table.vacuum(door=door, full=full)
            assert set(seen) <= table.artifacts
        if not seen:
            break
    assert at > 10


def refused(path, data):
    """The end of who would write."""
    raise Crash


@pytest.mark.parametrize("vacuumed", [False, True])
def test_an_artifact_that_is_garbage_has_no_segment_again(vacuumed):
    """A build may put another record over an old one's file: not once that one is gone."""
    table = Table()
    (kept, gone) = table.add(2)
    builder = table.another()
    old = builder.table(TABLE).segments
    job = builder.begin_job(TABLE, CUBE)
    over = [replace(old[kept], id=98), replace(old[gone], id=99)]
    table.store.remove_segments(TABLE, [gone])
    if vacuumed:
        table.later(1)
        table.vacuum(Retention(2 * HOUR, versions_min=1))
    with pytest.raises(StoreConflictError, match="any more"):
        builder.add_segments(TABLE, over, replaces=[kept, gone], job=job)
    builder.add_segments(TABLE, over[:1], replaces=[kept], job=job)
    table.later(1)
    table.vacuum()
    assert set(table.another().table(TABLE).segments) == {98}
    assert table.artifacts == {kept}


def test_a_lost_list_of_garbage_costs_no_pinned_version_a_file(monkeypatch):
    """What's on it is an orphan to all that can be read, though somebody may read it."""
    monkeypatch.setattr("accelerator.store.log.table_version.GARBAGE_INLINE_MAX", 1)
    table, reader = Table(), None
    gone = table.add(9)
    table.later(2)
    reader = table.another()
    with reader.reading():
        assert set(reader.table(TABLE).segments) == set(gone)
        table.store.remove_segments(TABLE, gone)
        (lost,) = table.world.files.list(f"tables/{TABLE}/chunks")
        table.world.files.delete([lost])
        table.vacuum(full=True)
        assert table.artifacts == set(gone)
    reader.close()
    table.vacuum(full=True)
    assert table.artifacts == set()


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("dies", [False, True])
def test_a_full_vacuum_takes_anothers_deletions_for_no_damage(dies, dry_run, monkeypatch):
    """Lists of garbage go that it was about to read, and chunks of what was the newest version."""
    monkeypatch.setattr("accelerator.store.log.table_version.INLINE_BYTES_MAX", 1500)
    monkeypatch.setattr("accelerator.store.log.table_version.GARBAGE_INLINE_MAX", 1)
    monkeypatch.setattr("accelerator.store.log.cube_state.DEAD_ENTRIES_MAX", 6)
    for at in itertools.count():
        table = Table()
        gone = table.add(30)
        table.later(2)
        table.store.remove_segments(TABLE, gone[:3])
        door, ran = Door(table.world), []

        def meanwhile(table=table, gone=gone, ran=ran):
            table.add(4, replaces=gone[3:28])  # all chunks are written anew
            other = Door(table.world)
            if dies:
                other.create = refused
            ran.append(table.vacuum(door=other))

        door.interrupt_in, door.interruption = at, meanwhile
        table.vacuum(Retention(HOUR, versions_min=1, threads=1), door, full=True, dry_run=dry_run)
        assert ran in ([], [not dies])
        table.vacuum(Retention(HOUR, versions_min=1, threads=1), full=True)
        assert set(table.another().table(TABLE).segments) <= table.artifacts
        table.later(2)
        table.vacuum(full=True)
        assert table.artifacts == set(table.another().table(TABLE).segments)
        if not ran:
            break
    assert at > 10


def test_what_is_built_while_a_full_vacuum_runs_is_kept_or_refused():
    """By a process that the vacuum takes for dead: it has no lease, and there's no grace time."""
    refused = 0
    for begins, waits in itertools.product(range(40), (0, 1, 2, 4, 8)):
        table = Table()
        kept = table.add(1)
        builder, doing = table.another(), []
        orphan = f"tables/{TABLE}/cubes/{CUBE}/dead/99.parquet"
        Door(table.world).create(orphan, b"rows")
        door = Door(table.world)

        def commit(builder=builder, doing=doing):
            job, made = doing
            try:
                builder.add_segments(TABLE, [made], job=job)
            except StoreConflictError:
                doing.append("refused")
            else:
                doing.append("kept")

        def begin(table=table, builder=builder, doing=doing, door=door, waits=waits, commit=commit):
            job = builder.begin_job(TABLE, CUBE)
            path = f"tables/{TABLE}/cubes/{CUBE}/{job.id}/7.parquet"
            Door(table.world).create(path, b"rows")
            doing.extend((job, segment(7, 7, path=table.world.files.uri(path))))
            door.interrupt_in, door.interruption = waits, commit

        door.interrupt_in, door.interruption = begins, begin
        table.vacuum(door=door, full=True)
        if len(doing) == 2:
            commit()
        segments = set(table.another().table(TABLE).segments)
        assert segments <= table.artifacts
        assert segments == {*kept, *([7] if "kept" in doing else [])}
        refused += "refused" in doing
        assert not table.world.files.exists(orphan)
    assert refused > 5
