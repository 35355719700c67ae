"""Refreshes leave few segments, and write no cell again for little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelerator
from accelerator import Accelerator
from accelerator.builds.segments import compaction
from accelerator.builds.segments.compaction import MANY, worth_merging
from accelerator.errors import EngineError
from accelerator.store import local_path
from tests.accelerator.services.refresh.followed_lake import CUBE, append, fill, refreshed
from tests.support.pristine import Pristine


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(fill), refresh_poll_s=0.05) as session:
        yield session
        assert not session.spark_started


SQL = "SELECT g, count(*) AS n, sum(k) AS s FROM d.f GROUP BY g ORDER BY g"


@dataclass(frozen=True)
class Segment:
    rows: int


def _segments(acc: Accelerator) -> list[int]:
    """How many data files each segment has by which a statement is answered."""
    builder, store = acc.services.builder, acc.services.store
    target = builder.target(store.registry(fresh=True).cubes["c"])
    return sorted(len(one.files) for one in builder.coverage(target).segments)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MANY", 4)


def test_many_small_segments_become_one(acc: Accelerator, few: None) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    counts = []
    for number in range(1, 12):
        append(acc, 100 * number)
        (done,) = refreshed(acc)
        assert (done.files, done.error) == (1, None)
        counts.append(len(_segments(acc)))
    assert max(counts) < 4
    assert sum(_segments(acc)) == 12
    found = acc.query(SQL)
    assert (found.metrics.cubes, found.metrics.files_read) == (("c",), len(_segments(acc)))
    assert found.arrow()["n"].to_pylist() == [48, 36, 36]
    assert sum(found.arrow()["s"].to_pylist()) == sum(range(10)) * 12 + 10 * 100 * sum(range(12))


def test_a_merge_that_fails_fails_no_refresh(
    acc: Accelerator, few: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100, 200, 300)

    def fail(*_args: object) -> None:
        raise EngineError("out of memory", hint="more of it")

    with monkeypatch.context() as patched:
        patched.setattr(type(acc.services.builder), "_merge", fail)
        assert [(one.files, one.error) for one in refreshed(acc)] == [(3, None)]
    assert "can't be merged" in caplog.text
    assert _segments(acc) == [1, 1, 1, 1]
    append(acc, 400)
    assert [(one.files, one.error) for one in refreshed(acc)] == [(1, None)]
    assert _segments(acc) == [5]


def test_an_altered_segment_is_not_merged(acc: Accelerator, few: None) -> None:
    """It's forgotten, and built again by the run after."""
    acc.query(CUBE)
    acc.query("ALTER CUBE c SET REFRESH = ON COMMIT")
    append(acc, 100, 200)
    refreshed(acc)
    store = acc.services.store
    record = store.registry(fresh=True).cubes["c"]
    path = Path(local_path(store.table(record.table_uuid).of(record.id)[0].path))
    data = bytearray(path.read_bytes())
    data[20] ^= 0xFF
    path.unlink()
    path.write_bytes(bytes(data))
    append(acc, 300)
    refreshed(acc)
    refreshed(acc)
    assert sum(_segments(acc)) == 4
    assert acc.query(SQL).arrow()["n"].to_pylist() == [16, 12, 12]


@given(st.lists(st.integers(0, 10**7), max_size=80))
def test_what_is_merged_is_many_of_one_size(sizes: list[int]) -> None:
    segments = [Segment(rows) for rows in sizes]
    found = worth_merging(segments)
    assert not found or len(found) >= MANY
    left = sorted(one.rows for one in segments)[len(found) :]
    assert sorted([one.rows for one in found] + left) == sorted(sizes)
    assert all(one.rows <= rows for one in found for rows in left)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=400))
def test_there_are_never_many_and_little_is_written_again(sizes: list[int]) -> None:
    """Segments come one by one; merged ones have all cells of theirs, which is the most."""
    segments: list[Segment] = []
    written = 0
    for rows in sizes:
        segments.append(Segment(rows))
        found = worth_merging(segments)
        if found:
            whole = sum(one.rows for one in found)
            written += whole
            ids = {id(one) for one in found}
            segments = [one for one in segments if id(one) not in ids] + [Segment(whole)]
        assert not worth_merging(segments)
    tiers_at_most = 2 + sum(sizes).bit_length()
    assert len(segments) < MANY * tiers_at_most
    assert written <= sum(sizes) * tiers_at_most
