"""Daemons as processes: commits are covered, two do nothing twice, a kill loses nothing."""

from __future__ import annotations

import pytest

import accelerator
from tests.accelerator.services.refresh.daemons import (
    Daemon,
    answers_equal,
    commit,
    committer,
    killed_at_random,
    lacking,
    made,
    wait_covered,
)

pytestmark = pytest.mark.served


def test_what_another_process_commits_is_covered_by_one_of_two(tmp_path):
    root = made(tmp_path / "wh")
    daemons = [Daemon(root), Daemon(root)]
    with committer(root) as process, accelerator.open(root) as acc:
        for number in range(1, 9):
            commit(process, f"d.t{number % 2}", number)
        wait_covered(acc)
        ends = [one.stop() for one in daemons]
        assert ends == [(0, ""), (0, "")]
        done = [one for daemon in daemons for one in daemon.refreshed]
        assert not [one for one in done if one["error"]]
        assert sum(one["twice"] for one in done) == 0
        assert sum(one["files"] for one in done) == 8 * 2
        vacuumed = [one["table"] for daemon in daemons for one in daemon.told if "round" in one]
        assert len(vacuumed) == len(set(vacuumed)) == 2
        assert lacking(acc) == []
        answers_equal(acc, 2)
        commit(process, "d.t0", 9)
        assert len(lacking(acc)) == 2


def test_a_kill_at_any_moment_loses_nothing(tmp_path):
    root = made(tmp_path / "wh")
    found = killed_at_random(root, seed=len(str(tmp_path)))
    assert found["lost"] == 0 and found["kills"] == 2
