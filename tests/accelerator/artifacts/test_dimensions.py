"""What is kept of a relate column's dimensions, whatever their size.

Strategy: lookups that are counted, in place of those that read tables.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from accelerator.artifacts.relate.dimensions import Dimensions
from accelerator.artifacts.relate.lookup import Keys, Lookup
from accelerator.artifacts.relate.path import Path
from accelerator.errors import RelateKeyError


def _path(snapshot: int) -> Path:
    """As much of a path as names a lookup."""
    column = SimpleNamespace(id=-1, path=(), columns=((1, 2),))
    made = SimpleNamespace(column=column, snapshots=(("uuid-d", snapshot),), types=("string",))
    return cast(Path, made)


@pytest.mark.parametrize(
    ("values", "told"), [(["a", "b"], True), (["a", None], False), (None, False)]
)
def test_whether_each_key_has_a_value_is_asked_once_for_a_state(
    monkeypatch: pytest.MonkeyPatch, values: list[str | None] | None, told: bool
) -> None:
    """Of a lookup too large to be kept too, and of a key that stands twice."""
    read = []

    def lookup(self: Dimensions, path: Path) -> Lookup:
        read.append(path.snapshots)
        if values is None:
            raise RelateKeyError("twice", hint="once")
        return Lookup(Keys((pa.array([1, 2]),)), pa.array(values))

    monkeypatch.setattr(Dimensions, "lookup", lookup)
    dimensions = Dimensions(*[cast(Any, None)] * 3, rows_max=9)
    for snapshot in (7, 7, 8, 7):
        assert dimensions.never_null(_path(snapshot)) is told
    assert len(read) == 2


def test_states_with_a_key_that_stands_twice_are_compared_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []

    def twice(self: Dimensions, path: Path, before: object) -> Keys:
        compared.append(before)
        raise RelateKeyError("twice", hint="once")

    monkeypatch.setattr(Dimensions, "_compared", twice)
    dimensions = Dimensions(*[cast(Any, None)] * 3, rows_max=9)
    for snapshot in (5, 5, 6):
        assert dimensions.changed(_path(7), (("uuid-d", snapshot),)) is None
    assert len(compared) == 2
