"""What a store tells of all tasks at once, in few requests; and epochs that nobody has counted."""

from __future__ import annotations

import json
import threading

import pytest

from accelerator.store.files.files import open_files
from accelerator.store.journals.claims import FOLDER, Claims, TaskProgress, path_of
from accelerator.store.journals.run import Every, FinishedRun, runs_of


class Counted:
    """Files of a store, whose requests are counted."""

    def __init__(self, files):
        self._files, self.asked = files, []

    def __getattr__(self, name):
        found = getattr(self._files, name)

        def counted(*args):
            self.asked.append(name)
            return found(*args)

        return counted


@pytest.fixture
def files(tmp_path):
    return Counted(open_files(str(tmp_path)))


def _ran(claims, key, done):
    claim = claims.claim(key)
    claim.prolong(TaskProgress(1, 2))
    claim.end(FinishedRun(began_ms=1, ended_ms=2, done=done).to_json())


def test_many_tasks_take_one_listing_and_a_read_each(files):
    claims = Claims(files)
    for number in range(30):
        _ran(claims, f"refresh-{number}", number)
    _ran(claims, "vacuum-x", 1)
    running = claims.claim("refresh-runs")
    running.prolong(TaskProgress(3, 9))
    every = Every(Claims(files), "refresh-")
    files.asked.clear()
    found = every.known()
    assert files.asked.count("list") == 1 and len(files.asked) == 1 + 30 + 2
    assert {key: one.last.done for key, one in found.items() if one.last} == {
        f"refresh-{number}": number for number in range(30)
    }
    assert found["refresh-runs"].running == TaskProgress(3, 9)
    assert found == {key: runs_of(Claims(files), key) for key in found}
    files.asked.clear()
    _ran(claims, "refresh-7", 70)
    files.asked.clear()
    assert every.known()["refresh-7"].last.done == 70
    assert len(files.asked) == 1 + 1 + 2, "what had ended before isn't read again"


def test_many_tasks_are_read_at_once(files):
    """A bucket takes its time for each: none of eight reads ends before all have begun."""
    claims = Claims(files)
    for number in range(8):
        _ran(claims, f"refresh-{number}", number)
    begun = threading.Barrier(8, timeout=60)

    class Slow(Counted):
        def read_range(self, *args):
            begun.wait()
            return self._files.read_range(*args)

    found = Every(Claims(Slow(files._files)), "refresh-").known()
    assert sorted(one.last.done for one in found.values()) == [*range(8)]


def test_a_damaged_claim_takes_nothing_from_its_end(files, tmp_path):
    claims = Claims(files)
    _ran(claims, "refresh-a", 7)
    (tmp_path / path_of("refresh-a", 1)).write_text("{")
    seen = claims.seen("refresh-a")
    assert (seen.ended, seen.last["done"], seen.began_ms, seen.by) == (True, 7, 0, "")
    assert claims.claim("refresh-a") is not None


def test_one_that_cannot_be_read_hides_no_other(files, tmp_path):
    claims = Claims(files)
    _ran(claims, "refresh-a", 1)
    _ran(claims, "refresh-b", 2)
    for path in (tmp_path / FOLDER / "refresh-a").glob("*-end.json"):
        path.write_text("{")
    (tmp_path / FOLDER / "refresh-c").mkdir()
    (tmp_path / FOLDER / "refresh-c" / "notes.txt").write_text("hello")
    found = Every(claims, "refresh-").known()
    assert found["refresh-b"].last.done == 2
    assert found["refresh-a"].last is None
    assert set(found) == {"refresh-a", "refresh-b"}


@pytest.mark.parametrize("epoch", [10**12 - 1, 10**12, 10**18 - 1, 10**20 - 1])
@pytest.mark.parametrize("text", ["{", ""])
def test_no_name_locks_a_task_up_for_ever(files, epoch, text):
    """Somebody's file of an epoch that can't be followed: another try, at most, and it's free."""
    path = f"{FOLDER}/k/{epoch:020d}.json"
    assert files.create(path, text.encode())
    claims = Claims(files)
    claim = claims.claim("k") or claims.claim("k")
    assert claim is not None and claim.held and claim.epoch == 1
    assert claims.claim("k") is None
    claim.end({"began_ms": 5})
    assert claims.claim("k").last == {"began_ms": 5}


def test_the_last_epoch_is_let_end(files):
    """It counts as any other while it's held, and then epochs begin anew."""
    first, last = Claims(files, process="x"), 10**12 - 1
    now_ms = first.times()[0]
    value = {
        "format": 1,
        "token": "a" * 32,
        "process": "other",
        "began_ms": now_ms,
        "expires_ms": now_ms + 100_000,
        "last": None,
        "deaths": 0,
    }
    files.create(path_of("k", last), json.dumps(value).encode())
    assert first.claim("k") is None
    assert files.exists(path_of("k", last))
    end = {"format": 1, "token": "a" * 32, "last": {"began_ms": 7}}
    files.create(path_of("k", last, "end"), json.dumps(end).encode())
    assert first.claim("k") is None
    assert first.claim("k").epoch == 1
