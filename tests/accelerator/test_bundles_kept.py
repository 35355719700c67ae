"""A bundle is garbage once all of its data files are gone; a cube's segment once one of them is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from accelerator.services.vacuum.dead_segments import LakeGarbage
from tests.accelerator.store.samples import TABLE, file, segment


class Lake:
    """A lake with one table, whose snapshots hold data files of these numbers."""

    def __init__(self, *numbers: int) -> None:
        keys = [(one.path, one.sequence_number) for one in map(file, numbers)]
        self._pinned = SimpleNamespace(
            facts=SimpleNamespace(uuid=TABLE), newest_sequence_number=9, held=lambda without: keys
        )

    def pin(self, **_):
        return SimpleNamespace(described=lambda _: self._pinned)


@pytest.mark.parametrize(
    ("held", "gone"),
    [((1, 2, 3), []), ((1, 2), [12]), ((1,), [11, 12]), ((3,), [10, 11]), ((), [10, 11, 12])],
)
def test_a_bundle_stays_while_one_of_its_files_is_held(held, gone):
    bundle = segment(10, 1, 2, facts={"bundle": {}})
    merged, other_bundle = segment(11, 1, 2), segment(12, 3, facts={"bundle": {}})
    assert bundle.is_bundle and not merged.is_bundle
    garbage = LakeGarbage(Lake(*held), ("lake", "d", "t"), TABLE)
    assert sorted(garbage.unusable([bundle, merged, other_bundle])) == gone
