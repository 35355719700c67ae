"""Records from JSON: what each annotation accepts and refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from msgspec import Struct

from accelerator.common.records.json_checks import count
from accelerator.common.records.json_codec import Later, at_most, matching, read_as


class Part(Struct, frozen=True):
    name: Annotated[str, partial(at_most, 3)]


class Whole(Struct, frozen=True):
    id: Annotated[str, partial(matching, re.compile("[a-f]+"))]
    kind: Literal["a", "b"]
    number: Annotated[int, count]
    share: float
    flag: bool
    note: str | None
    parts: Annotated[tuple[Part, ...], partial(at_most, 2)]
    pair: tuple[str, int]
    counts: Mapping[str, int]
    anything: Any
    more: Later[Annotated[tuple[str, ...], partial(at_most, 1)]] = ()


SOUND: dict[str, Any] = {
    "id": "abc",
    "kind": "a",
    "number": 0,
    "share": 1,
    "flag": False,
    "note": None,
    "parts": [{"name": "x"}, {"name": "y", "later": 1}],
    "pair": ["x", 1],
    "counts": {"x": 1},
    "anything": [None],
}


def test_what_is_sound_is_read():
    found = read_as(Whole, SOUND | {"of a later release": 1})
    assert found == Whole(
        "abc", "a", 0, 1.0, False, None, (Part("x"), Part("y")), ("x", 1), {"x": 1}, [None]
    )
    assert read_as(Whole, SOUND | {"more": ["x"], "note": "y"}).more == ("x",)


@pytest.mark.parametrize("name", SOUND)
def test_what_is_missing_is_refused(name):
    with pytest.raises(LookupError):
        read_as(Whole, {key: value for key, value in SOUND.items() if key != name})


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "id": ["", "xyz", 1, None, ["abc"]],
        "kind": ["c", 1, None, [], {}],
        "number": [-1, 2**63, True, 1.0, "1", None],
        "share": [-0.1, float("nan"), float("inf"), True, "1", None],
        "flag": [0, 1, "true", None],
        "note": [1, [], False],
        "parts": [{}, "x", None, [1], [{"name": "long"}], [{}], [{"name": "x"}] * 3],
        "pair": [["x"], ["x", 1, 1], [1, "x"], "x1", {"x": 1}],
        "counts": [[], {"x": "y"}, {"x": True}, None, [["x", 1]]],
        "more": [["x", "y"], [1], "x", None],
    }.items(),
)
def test_what_is_of_another_type_or_size_is_refused(name, values):
    for value in values:
        with pytest.raises((LookupError, TypeError, ValueError)):
            read_as(Whole, SOUND | {name: value})


@pytest.mark.parametrize("value", [None, 1, "x", [], [["id", "abc"]], True])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(TypeError):
        read_as(Whole, value)
