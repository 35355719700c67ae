"""The cache of what was used last: its number, its weight, and what goes first."""

from __future__ import annotations

import pytest

from accelerator.common.lru_cache import Recent, by_text, text_weight


def test_what_was_used_longest_ago_goes_first() -> None:
    known: Recent[int] = Recent(2)
    known.put("a", 1)
    known.put("b", 2)
    assert known.get("a") == 1
    known.put("c", 3)
    assert [known.get(key) for key in "abc"] == [1, None, 3]
    assert known.get_or("a", lambda: 9) == 1
    assert known.get_or("d", lambda: 4) == 4


def test_heavy_ones_leave_room_for_fewer_and_the_newest_stays() -> None:
    known: Recent[str] = Recent(9, lambda _, value: len(value), 10)
    for key in "abc":
        known.put(key, "x" * 4)
    assert [known.get(key) for key in "abc"] == [None, "x" * 4, "x" * 4]
    known.put("b", "y")
    known.put("d", "x" * 5)
    assert [known.get(key) for key in "bcd"] == ["y", "x" * 4, "x" * 5]
    known.put("e", "x" * 99)
    assert [bool(known.get(key)) for key in "bcde"] == [False, False, False, True]
    known.put("f", "")
    assert known.get("e") is None and known.get("f") == ""


def test_what_leaves_is_gone_even_if_nobody_can_take_it() -> None:
    taken: list[str] = []

    def take(key: str, _value: str) -> None:
        taken.append(key)
        raise OSError

    known: Recent[str] = Recent(9, lambda _, value: len(value), 10, take)
    known.put("a", "x" * 6)
    for key in "bc":
        with pytest.raises(OSError):
            known.put(key, "x" * 6)
        assert known.get(key) and known.weight == 6
    assert taken == ["a", "b"]


def test_texts_weigh_what_they_are_long() -> None:
    known: Recent[int] = Recent(512, text_weight, 100)
    for number in range(9):
        known.put((f"{number}" + "x" * 49, 7), number)
    assert sum(known.get((f"{number}" + "x" * 49, 7)) is not None for number in range(9)) == 2
    assert [text_weight(key, 0) for key in ("ab", ("ab", 1, "c"), 7, None)] == [2, 3, 0, 0]


def test_shapes_weigh_what_their_texts_are_long() -> None:
    """A shape's key has its texts one level further in."""
    assert text_weight(((("SELECT ", " x"), ("int",)), 7, "lake"), 0) == 16
    known: Recent[int] = by_text()
    for number in range(5):
        known.put(((("x" * 1_000_000,), ("int",)), number), number)
    assert known.get(((("x" * 1_000_000,), ("int",)), 0)) is None
