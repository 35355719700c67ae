"""Sources of states, asked one after the other, without a table."""

from __future__ import annotations

import pytest

from accelerator.planning.plans.cover_value import INDEX, Share
from accelerator.planning.sources.compose import served
from accelerator.planning.sources.rows import RawRows
from accelerator.planning.sources.source import CoverResult, Unserved
from rewrite.reason import Declined


class _Source:
    """Gives what it's told to, and counts how often it's asked."""

    def __init__(self, found: CoverResult | Declined) -> None:
        self.found, self.asked = found, 0

    def serve(self, _left: Unserved) -> CoverResult | Declined:
        self.asked += 1
        return self.found


def test_each_is_asked_for_what_the_one_before_has_left() -> None:
    left = Unserved(())
    first, second = _Source(CoverResult((Share(INDEX, 3),), left)), _Source(CoverResult((), left))
    found = served([first, second, RawRows()], Unserved())
    assert isinstance(found, CoverResult)
    assert [(one.source, one.files) for one in found.shares] == [("index", 3), ("rows", 0)]


def test_one_that_forbids_it_ends_it() -> None:
    declined = Declined("metadata_lacks")
    last = _Source(CoverResult((), Unserved(())))
    assert served([_Source(declined), last], Unserved()) is declined
    assert last.asked == 0


def test_files_that_nobody_has_listed_are_not_taken_for_none() -> None:
    with pytest.raises(ValueError, match="before anybody has listed them"):
        RawRows().serve(Unserved())
