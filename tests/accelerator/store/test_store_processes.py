"""Real processes on a real disk: racing writers, and writers killed in the middle of a commit.

Strategy: children run this very file with a command. Invariants: each number has one winner, no
acknowledged commit is lost, nothing torn is left, and the next writer goes on as if nothing were.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
HOME = HERE.parents[2]
PROCESSES = 8
COMMITS_EACH = 8
KILLS = 25


def child(command, root, number):
    path = os.pathsep.join([str(HOME), str(HERE)])
    return subprocess.Popen(
        [sys.executable, __file__, command, str(root), str(number)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_racing_processes_lose_nothing_and_share_no_number(tmp_path):
    from samples import TABLE

    from accelerator.store import Store

    children = [child("race", tmp_path, number) for number in range(PROCESSES)]
    won = [int(line) for one in children for line in one.communicate(timeout=120)[0].split()]
    assert [one.returncode for one in children] == [0] * PROCESSES
    total = PROCESSES * COMMITS_EACH
    assert sorted(won) == list(range(1, total + 1))
    assert len(Store.open(str(tmp_path)).table(TABLE).segments) == total


def test_a_killed_writer_leaves_a_sound_store(tmp_path):
    from samples import TABLE, segment

    from accelerator.store import Store

    pick, acknowledged = random.Random(7), set()
    for round_number in range(KILLS):
        writer = child("write", tmp_path, round_number)
        assert writer.stdout.readline() == "ready\n"
        time.sleep(pick.uniform(0, 0.02))
        writer.send_signal(signal.SIGKILL)
        acknowledged |= {int(line) for line in writer.communicate(timeout=60)[0].split()}
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


def main(command, root, number):
    from samples import TABLE, segment

    from accelerator.store import Store

    store = Store.open(root)
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
