"""Strays: version files that a writer which was far behind put where a vacuum had deleted others.

Strategy: a store in memory. A vacuum dies at each of its requests in turn, then a writer that knows
an old version does at each of its own, or its last put arrives late. The next vacuum must take
nothing that such a file says for true. Then the opposite: a commit that stood, and that everybody
went past before its writer went on.
"""

from __future__ import annotations

import itertools

import pytest

from accelerator.errors import StoreConflictError, StoreError
from tests.accelerator.store.doors import Crash, Door
from tests.accelerator.store.samples import TABLE, segment
from tests.accelerator.store.vacuum_table import CUBE, Table
from tests.support.extent import FULL


def named(table):
    """The files that the newest version names."""
    version, root = table.another().table(TABLE), table.world.files.uri("")
    chunks = {ref.name for state in version.cubes.values() for ref in state.refs}
    return {one.path.removeprefix(root) for one in version.segments.values()} | {
        f"tables/{TABLE}/chunks/{name}.jsonl" for name in chunks
    }


def is_whole(table):
    """Whether all of them are there."""
    return all(map(table.world.files.exists, named(table)))


INLINE = "accelerator.store.log.table_version.INLINE_BYTES_MAX"


def requests(at, count):
    """All of them, or every second one, each time the others: the squares of a chessboard."""
    return range(count) if FULL else range(at % 2, count, 2)


def left_behind(at, chunks, patches):
    """A table, a writer that knows an old version of it, its way to the files, and a vacuum's end.

    The vacuum dies at a request, and perhaps has deleted the writer's next version, which had
    garbage; True where it ended before. With `chunks` a change by the writer merges the table's.
    """
    table = Table()
    patches.setattr(INLINE, 100 if chunks else 16_384)
    table.add(3)
    patches.setattr(INLINE, 16_384)
    gone = table.add(1)
    door = Door(table.world)
    slow = table.another(door)
    slow.table(TABLE)  # the next one has garbage
    table.add(1, replaces=gone)
    table.add(1)
    table.later(1)
    dying = Door(table.world)
    dying.arm(at, "after")
    ended = table.vacuum(door=dying)
    patches.setattr(INLINE, 100 if chunks else 16_384)
    return table, slow, door, ended


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize(
    ("how", "names_max"), [("after", 1), ("after", 200_000), ("late", 200_000)]
)
def test_what_a_stray_calls_garbage_stays(how, names_max, chunks, monkeypatch):
    """It's of a state that was old: the newest version may name it yet."""
    monkeypatch.setattr("accelerator.store.vacuum.vacuum.NAMES_MAX", names_max)
    monkeypatch.setattr("accelerator.store.log.cube_state.FAN", 2)
    strays, ended = 0, False
    for at in itertools.count():
        for request in requests(at, 8):
            table, slow, door, ended = left_behind(at, chunks, monkeypatch)
            number = slow.table(TABLE).number + 1
            if ended or table.exists(number):
                break
            door.arm(request, how)
            door.delay = 0
            try:
                slow.remove_segments(TABLE, [1])
            except (Crash, StoreError):
                table.world.land(list(table.world.late))
            strays += table.exists(number)
            table.later(1)
            table.vacuum()
            assert is_whole(table), f"{at}, {request}"
            table.vacuum(full=True)
            assert is_whole(table), f"{at}, {request}"
        if ended:
            break
    assert strays > 1


def test_a_stray_that_comes_while_a_vacuum_runs_is_none_of_its_versions(monkeypatch):
    """What it doesn't remember of garbage it reads again: another vacuum may be done by then."""
    monkeypatch.setattr("accelerator.store.vacuum.vacuum.NAMES_MAX", 1)
    for at in itertools.count():
        table, slow, door, _ = left_behind(0, False, monkeypatch)
        door.arm(1, "after")
        first, came = Door(table.world), []

        def meanwhile(table=table, slow=slow, came=came):
            table.vacuum()
            with pytest.raises(Crash):
                slow.remove_segments(TABLE, [1])
            came.append(table.exists(slow.table(TABLE).number))

        first.interrupt_in, first.interruption = at, meanwhile
        table.vacuum(door=first)
        assert is_whole(table), at
        if not came:
            break
    assert at > 10


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("goes", [(), (50,), (50, 51)])
def test_a_commit_that_everybody_went_past_is_taken_for_no_stray(goes, dies):
    """Its writer slept before it asked for the floor, and its build was taken for dead."""
    for at in range(4, 9):
        for request in requests(at, 30) if dies else (0,):
            table = Table()
            kept = table.add(1)
            door, died = Door(table.world), []
            builder = table.another(door)
            job = builder.begin_job(TABLE, CUBE)
            made = []
            for id in (50, 51):
                path = f"tables/{TABLE}/cubes/{CUBE}/{job.id}/{id}.parquet"
                Door(table.world).create(path, b"rows")
                made.append(segment(id, id, path=table.world.files.uri(path)))

            def meanwhile(table=table, request=request, died=died, kept=kept):
                table.store.remove_segments(TABLE, goes)
                table.add(1, replaces=table.add(1, replaces=kept))
                table.later(1)
                other = Door(table.world)
                if dies:
                    other.arm(request, "after")
                died.append(not table.vacuum(door=other, full=True))

            door.interrupt_in, door.interruption = at, meanwhile
            try:
                builder.add_segments(TABLE, made, job=job)
            except StoreConflictError:  # as a build does
                builder.delete_artifacts(builder.artifacts(job))
                builder.finish_job(job)
            assert is_whole(table), f"{at}, {request}"
            table.later(2)
            table.vacuum()
            assert is_whole(table), f"{at}, {request}"
            if died != [True]:
                break
