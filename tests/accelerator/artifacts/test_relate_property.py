"""A relate column as a table property: kept whole, read back, and no harm where it's damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.artifacts.relate.declaration import (
    PREFIX,
    Field,
    Join,
    RelateColumn,
    RelateKeyColumn,
    from_property,
    relate_columns,
    to_property,
)
from rewrite.rules.push_through_joins import Related, RelateKey, RelateStep

_CHAIN = RelateColumn(
    "land",
    -7,
    (
        Join(("lake", "d", "a"), "uuid-a", (RelateKeyColumn(0, Field(1, "k"), Field(2, "a k")),)),
        Join(
            ("lake", "d", "o"),
            "uuid-o",
            (
                RelateKeyColumn(1, Field(3, "ok"), Field(1, "k")),
                RelateKeyColumn(1, Field(4, "p"), Field(5, "q")),
            ),
        ),
    ),
    Field(6, "land"),
)
_GOOD: dict[str, Any] = json.loads(to_property(_CHAIN))


def test_the_property_is_as_documented() -> None:
    assert _GOOD == {
        "version": 1,
        "id": -7,
        "path": [
            {
                "table": ["lake", "d", "a"],
                "uuid": "uuid-a",
                "keys": [
                    {"of": 0, "other": {"id": 1, "name": "k"}, "own": {"id": 2, "name": "a k"}}
                ],
            },
            {
                "table": ["lake", "d", "o"],
                "uuid": "uuid-o",
                "keys": [
                    {"of": 1, "other": {"id": 3, "name": "ok"}, "own": {"id": 1, "name": "k"}},
                    {"of": 1, "other": {"id": 4, "name": "p"}, "own": {"id": 5, "name": "q"}},
                ],
            },
        ],
        "attribute": {"id": 6, "name": "land"},
    }


def test_what_rewriting_knows_of_it() -> None:
    first = RelateStep("uuid-a", (RelateKey(0, 1, 2),))
    second = RelateStep("uuid-o", (RelateKey(1, 3, 1), RelateKey(1, 4, 5)))
    assert _CHAIN.related == Related(-7, "land", (first, second), 6)


_FIELDS = st.builds(Field, st.integers(1, 2**31 - 1), st.text())


@given(st.data(), st.text(), st.integers(-(2**30), -1), _FIELDS)
def test_it_comes_back_as_it_was(
    data: st.DataObject, name: str, number: int, attribute: Field
) -> None:
    path = []
    for place in range(data.draw(st.integers(1, 3))):
        keys = st.builds(RelateKeyColumn, st.integers(min(place, 1), place), _FIELDS, _FIELDS)
        some = data.draw(st.lists(keys, min_size=1, max_size=2))
        table = tuple(data.draw(st.lists(st.text(), min_size=1, max_size=3)))
        path.append(Join(table, data.draw(st.text()), tuple(some)))
    column = RelateColumn(name, number, tuple(path), attribute)
    assert from_property(name, to_property(column)) == column
    assert relate_columns({PREFIX + name: to_property(column), "write.x": "1"}) == (column,)


def _changed(**changes: Any) -> str:
    return json.dumps({**_GOOD, **changes})


def _keyed(**changes: Any) -> str:
    """With another key in the second join."""
    key = {**_GOOD["path"][1]["keys"][0], **changes}
    return _changed(path=[_GOOD["path"][0], {**_GOOD["path"][1], "keys": [key]}])


_DAMAGED = [
    "",
    "7",
    "[]",
    "{}",
    "null",
    '"x"',
    "{",
    to_property(_CHAIN)[:-9],
    _changed(version=2),
    _changed(version=None),
    _changed(id=7),
    _changed(id=0),
    _changed(id="x"),
    _changed(id=None),
    _changed(path=[]),
    _changed(path=None),
    _changed(path=[7]),
    _changed(path=[{}]),
    _changed(path=[{**_GOOD["path"][0], "keys": []}]),
    _changed(path=[{**_GOOD["path"][0], "table": None}]),
    _changed(attribute={}),
    _changed(attribute=None),
    _changed(attribute={"id": "x", "name": "y"}),
    _keyed(of=None),
    _keyed(other=None),
    _keyed(own={"id": 1}),
    # places that aren't before the join
    _keyed(of=2),
    _keyed(of=9),
    _keyed(of=-1),
    # only the first dimension is reached from the fact, and only from there
    _keyed(of=0),
    _changed(path=[_GOOD["path"][1]]),
]


@pytest.mark.parametrize("text", _DAMAGED)
def test_a_damaged_one_has_a_problem_and_no_path(text: str) -> None:
    found = from_property("land", text)
    assert (found.name, found.path, found.id) == ("land", (), 0)
    assert found.problem
    good = to_property(_CHAIN)
    both = relate_columns({PREFIX + "land": good, PREFIX + "bad": text})
    assert [(one.name, bool(one.problem)) for one in both] == [("bad", True), ("land", False)]
