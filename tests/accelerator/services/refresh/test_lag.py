"""Since when something is behind: of commits of a table, of deletes, and of dimensions."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from accelerator.services.refresh.lag import Commits, lag_s, of_cube

COMMITS = [(1, 100), (2, 200), (4, 400), (7, 700)]  # sequence numbers and times


def table(commits=COMMITS, uuid="t", snapshot=None) -> Any:
    snapshots = [
        SimpleNamespace(snapshot_id=n * 10, sequence_number=n, timestamp_ms=at) for n, at in commits
    ]
    newest = commits[-1] if commits else (0, None)
    return SimpleNamespace(
        metadata=SimpleNamespace(snapshots=snapshots, last_updated_ms=1000),
        snapshot_ms=newest[1],
        facts=SimpleNamespace(uuid=uuid, snapshot_id=snapshot or newest[0] * 10),
    )


@dataclasses.dataclass
class File:
    path: str
    sequence_number: int
    deletes_key: str = ""
    deletes: tuple[Any, ...] = ()

    @property
    def key(self):
        return self.path, self.sequence_number


def segment(*files, dimensions=()):
    return SimpleNamespace(files=files, dimensions=dimensions)


@pytest.mark.parametrize(
    ("number", "at"), [(1, 100), (2, 200), (3, 400), (7, 700), (8, 700), (0, 700), (None, 700)]
)
def test_when_a_commit_was(number, at):
    assert Commits(table()).at(number) == at


def test_what_came_after_a_snapshot():
    commits = Commits(table())
    assert [commits.after(one) for one in (10, 20, 70, 99, None)] == [200, 400, 700, 100, 100]
    assert Commits(table([])).after(None) == 1000 == Commits(table([])).at(5)


def test_of_files_that_were_never_covered_the_oldest_commit_counts():
    target: Any = SimpleNamespace(pinned=(table(),))
    assert of_cube(target, [], []) is None
    assert of_cube(target, [File("b", 7), File("a", 2)], [segment(File("a", 1))]) == 200


def test_of_files_that_were_covered_what_changed_since_counts():
    dim = table([(1, 50), (2, 350)], "d")
    target: Any = SimpleNamespace(pinned=(table(), dim))
    delete = SimpleNamespace(sequence_number=4)
    deleted = File("a", 1, "x", (delete,))
    assert of_cube(target, [deleted], [segment(File("a", 1))]) == 400
    moved = segment(File("b", 1), dimensions=((1, "d", 10),))
    assert of_cube(target, [File("b", 1)], [moved]) == 350
    same = segment(File("c", 1), dimensions=((1, "d", 20),))  # a column has another type, say
    assert of_cube(target, [File("c", 1)], [same]) == 1000
    assert of_cube(target, [File("c", 1), deleted, File("b", 1)], [same, moved]) == 100


def test_a_clock_that_went_back_gives_no_negative_age():
    assert (lag_s(None, 5), lag_s(4000, 5500), lag_s(6000, 5500)) == (0, 1.5, 0)
