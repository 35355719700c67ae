"""Real processes on a real disk: racing writers, killed ones, and vacuums beside others' work.

Strategy: children run this very file with a command; who vacuums goes on until a file says that all
others are done. Invariants: each number has one winner, no acknowledged commit is lost, nothing
torn is left, and the next writer goes on as if nothing were. Of UNDROP and a vacuum at the end of
the bin's time one wins, and a cube is whole or gone; a build beside full vacuums loses no file.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.extent import sized

pytestmark = pytest.mark.served

HOME = Path(__file__).parents[3]
PROCESSES = sized(4, full=8)
COMMITS_EACH = 8
KILLS = sized(8, full=25)
CUBES = sized(10, full=25)
BUILDS_EACH = sized(8, full=15)


def child(command, root, number):
    return subprocess.Popen(
        [sys.executable, __file__, command, str(root), str(number)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HOME)},
    )


def test_racing_processes_lose_nothing_and_share_no_number(tmp_path):
    from accelerator.store import Store
    from tests.accelerator.store.samples import TABLE

    children = [child("race", tmp_path, number) for number in range(PROCESSES)]
    won = [int(line) for one in children for line in one.communicate(timeout=120)[0].split()]
    assert [one.returncode for one in children] == [0] * PROCESSES
    total = PROCESSES * COMMITS_EACH
    assert sorted(won) == list(range(1, total + 1))
    assert len(Store.open(str(tmp_path)).table(TABLE).segments) == total


def test_a_killed_writer_leaves_a_sound_store(tmp_path):
    from accelerator.store import Store
    from tests.accelerator.store.samples import TABLE, segment

    pick, acknowledged = random.Random(7), set()
    for round_number in range(KILLS):
        writer = child("write", tmp_path, round_number)
        assert writer.stdout.readline() == "ready\n"
        time.sleep(pick.uniform(0, 0.02))
        writer.send_signal(signal.SIGKILL)
        # Not `communicate`: it loses what came together with "ready".
        acknowledged |= {int(line) for line in writer.stdout.read().split()}
        writer.wait(60)
        store = Store.open(str(tmp_path))
        present = set(store.table(TABLE).segments)
        assert acknowledged <= present
        assert store.damages() == ()
        # Another writer goes on at once, whatever the dead one left.
        own = 10**9 + round_number
        store.add_segments(TABLE, [segment(own, own)])
        acknowledged.add(own)
    # At most the one commit that was under way per kill is there without having been reported.
    assert len(present - acknowledged) <= KILLS
    names = sorted(path.name for path in (tmp_path / "tables" / TABLE / "versions").glob("*.json"))
    assert names == [f"v{number:020d}.json" for number in range(1, len(names) + 1)]


def vacuuming(root, full):
    """Two processes that vacuum by now, full or not."""
    vacuums = [child("vacuum", root, full) for _ in range(2)]
    assert [one.stdout.readline() for one in vacuums] == ["ready\n"] * 2
    return vacuums


def finished(children, vacuums, root):
    """What the children printed, by line, once they and then the vacuums have ended well."""
    try:
        lines = [line for one in children for line in one.communicate(timeout=120)[0].splitlines()]
        (root / "stop").touch()
        rounds = [int(one.communicate(timeout=120)[0] or 0) for one in vacuums]
    finally:
        for one in (*children, *vacuums):
            one.kill()
    assert [one.returncode for one in (*children, *vacuums)] == [0] * len((*children, *vacuums))
    assert min(rounds) > 0
    return lines


def left(root):
    """The segments that stand after the last vacuum, and whether just their artifacts do."""
    from accelerator.store import Retention, Store
    from tests.accelerator.store.samples import TABLE

    store = Store.open(str(root))
    for _ in range(3):
        store.vacuum(TABLE, Retention(0, versions_min=1), full=True)
    segments = store.table(TABLE).segments
    there = {f"file://{path}" for path in (root / "tables" / TABLE / "cubes").rglob("*.parquet")}
    assert store.damages() == ()
    assert there == {one.path for one in segments.values()}
    return set(segments)


def test_of_an_undrop_and_a_vacuum_at_the_end_of_the_bins_time_one_wins(tmp_path):
    from accelerator.store import Store

    vacuums = vacuuming(tmp_path, 0)
    lines = finished([child("undrop", tmp_path, number) for number in range(2)], vacuums, tmp_path)
    assert len(lines) == 2 * CUBES
    kept = {int(line.split()[1]) for line in lines if line.startswith("kept")}
    registry = Store.open(str(tmp_path)).registry()
    assert {one.id for one in registry.cubes.values()} == {f"{one:032x}" for one in kept}
    assert registry.bin == ()
    assert left(tmp_path) == kept


def test_builds_beside_full_vacuums_lose_nothing(tmp_path):
    from accelerator.store import Store
    from tests.accelerator.store.samples import cube

    Store.open(str(tmp_path)).create_cube(cube())
    vacuums = vacuuming(tmp_path, 1)
    lines = finished([child("build", tmp_path, number) for number in range(2)], vacuums, tmp_path)
    # Each build replaces the one before it.
    assert left(tmp_path) == {int(line) for line in lines[BUILDS_EACH - 1 :: BUILDS_EACH]}


def write(store, owner, id):
    """One segment with its artifact, by a build."""
    from tests.accelerator.store.samples import TABLE, segment

    with store.reading():
        job = store.begin_job(TABLE, owner)
        store._files.create(store._relative(f"{job.uri}/{id}.parquet"), b"rows")
        made = segment(id, id, cube_id=owner, path=f"{job.uri}/{id}.parquet")
        store.add_segments(TABLE, [made], replaces=[id - 1], job=job)


def vacuum(store, root, full):
    from accelerator.store import Retention
    from tests.accelerator.store.samples import TABLE

    store.vacuum(TABLE, Retention(0, versions_min=1), full=bool(full))
    print("ready", flush=True)
    rounds = 0
    while not (Path(root) / "stop").exists():
        store.vacuum(TABLE, Retention(0, versions_min=1), full=bool(full))
        rounds += 1
    print(rounds)


def build(store, root, number):
    for id in range(1000 * number + 1, 1000 * number + 1 + BUILDS_EACH):
        write(store, "c" * 32, id)
        print(id)


def undrop(store, root, number):
    """Each cube goes to the bin for no time, so a vacuum may end it, and comes back at once."""
    from accelerator.errors import CubeNotFoundError
    from tests.accelerator.store.samples import cube

    for step in range(CUBES):
        id = (number * CUBES + step) * 2 + 2  # none replaces another
        store.create_cube(cube(f"c{id}", f"{id:032x}"))
        write(store, f"{id:032x}", id)
        store.recycle_cube(f"c{id}", 0)
        try:
            store.undrop_cube(f"c{id}")
        except CubeNotFoundError:
            print("gone", id)
        else:
            print("kept", id)


def main(command, root, number):
    from accelerator.store import Store
    from tests.accelerator.store.samples import TABLE, segment

    store = Store.open(root)
    others = {"vacuum": vacuum, "undrop": undrop, "build": build}
    if command in others:
        others[command](store, root, number)
        store.close()
        return
    if command == "race":
        for step in range(COMMITS_EACH):
            id = number * COMMITS_EACH + step + 1
            print(store.add_segments(TABLE, [segment(id, id)]).version.number, flush=True)
        return
    print("ready", flush=True)
    for step in range(10**6):
        id = number * 10**6 + step + 1
        store.add_segments(TABLE, [segment(id, id)])
        os.write(1, f"{id}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
