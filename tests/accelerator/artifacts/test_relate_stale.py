"""What of a relate column's index holds is said of the files that were asked about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from accelerator.artifacts.relate.index_validity import PinnedRelate
from accelerator.store import SegmentRecord


class _Statistics:
    """So many files, each with its number."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)


def test_each_set_of_files_has_flags_of_its_own(monkeypatch) -> None:
    """A statement asks about all files of a fact, and about those that a cube lacks."""

    def without(keys: Any, columns: Any, statistics: _Statistics, light: Any) -> np.ndarray:
        return np.array([number % 2 == 0 for number in statistics.numbers])

    monkeypatch.setattr("accelerator.artifacts.relate.index_validity.without", without)
    monkeypatch.setattr(
        "accelerator.artifacts.relate.index_validity.key_columns", lambda path, fact: []
    )
    dimensions = SimpleNamespace(changed=lambda path, before: [1])
    path = SimpleNamespace(snapshots=(("d", 2),))
    relate = PinnedRelate(cast(Any, path), cast(Any, None), cast(Any, dimensions))
    record = SegmentRecord(1, "i", "p", 1, 1, (), dimensions=((1, "d", 1),))
    every, some, others = _Statistics(1, 2, 3, 4, 5), _Statistics(2, 3), _Statistics(3, 2)
    for one in (every, some, others, every):
        found = relate.holds(record, cast(Any, one), {})
        assert found.tolist() == [number % 2 == 0 for number in one.numbers]
    assert relate.stale == 3
