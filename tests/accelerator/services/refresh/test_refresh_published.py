"""A published cube's table follows too, and is tried again after a failure, ever more seldom."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import accelerator
from accelerator import Accelerator
from accelerator.errors import BuildError
from accelerator.services import publish
from tests.accelerator.services.refresh.followed_lake import (
    CUBE,
    age,
    append,
    fill,
    key,
    refreshed,
    shown,
)
from tests.support.pristine import Pristine


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(fill), refresh_poll_s=0.05) as session:
        yield session
        assert not session.spark_started


class Published:
    """Stands for Spark's part: which snapshot the table is of, and whether it can be written."""

    def __init__(self) -> None:
        self.snapshot: str | None = None
        self.error: BuildError | None = None
        self.tries = 0

    def write(self, _services: object, target: object, _parts: object) -> None:
        self.tries += 1
        if self.error is not None:
            raise self.error
        self.snapshot = str(target.pinned[0].facts.snapshot_id)  # type: ignore[attr-defined]

    def is_behind(self, _services: object, record: object, target: object) -> bool:
        snapshot = str(target.pinned[0].facts.snapshot_id)  # type: ignore[attr-defined]
        return record.published is not None and self.snapshot != snapshot  # type: ignore[attr-defined]


@pytest.fixture
def published(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> Published:
    found = Published()
    monkeypatch.setattr(publish, "_write", found.write)
    monkeypatch.setattr(publish, "is_behind", found.is_behind)
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    acc.query("PUBLISH CUBE c")
    assert found.tries == 1
    return found


def test_a_failure_is_tried_again_without_a_commit(acc: Accelerator, published: Published) -> None:
    published.error = BuildError("lake.d.c_cube can't be written", hint="it's locked")
    append(acc, 100)
    (done,) = refreshed(acc)
    assert done.files == 1 and "can't be written" in str(done.error)
    assert published.tries == 2
    assert refreshed(acc) == [], "not at once"
    age(acc, 11, key(acc))
    (done,) = refreshed(acc)
    assert (done.files, done.error is None, published.tries) == (0, False, 3)
    age(acc, 11, key(acc))
    assert refreshed(acc) == [], "the second wait is longer"
    assert "can't be written" in str(shown(acc)["last_error"])
    published.error = None
    age(acc, 21, key(acc))
    (done,) = refreshed(acc)
    assert (done.error, published.tries) == (None, 4)
    assert shown(acc)["last_error"] is None
    assert refreshed(acc) == []


def test_a_table_that_is_not_behind_is_left_alone(acc: Accelerator, published: Published) -> None:
    assert refreshed(acc) == []
    append(acc, 100)
    assert [one.files for one in refreshed(acc)] == [1]
    assert (published.tries, refreshed(acc)) == (2, [])
    published.snapshot = None  # somebody has dropped it
    assert [one.files for one in refreshed(acc)] == [0]
    assert published.tries == 3
