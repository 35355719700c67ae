"""The closest names to one that isn't known: what was meant, if anything is near enough.

Promises: case doesn't count, the nearest comes first, ties by name; the cost is bounded, whatever
names there are; a control in a name is escaped, since names come from warehouses.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rewrite.text.printable import one_line

_NAMES_MAX = 10_000
_MEASURED_MAX = 200
_LETTERS_MAX = 128
_APART_MAX = 3


def closest(name: str, names: Iterable[str], at_most: int = 3) -> tuple[str, ...]:
    """The nearest of the names: a third of its letters may differ, three at most.

    Swapped neighbours count as one.

    >>> closest("regoin", ["store", "Region", "reason", "regions"])
    ('Region', 'regions')
    """
    return closest_of(name, ((one, one) for one in names), at_most)


def closest_of(name: str, names: Iterable[tuple[str, str]], at_most: int = 3) -> tuple[str, ...]:
    """The same of pairs: what is compared, and what is given for it."""
    wanted = name.lower()
    allowed = min(_APART_MAX, max(1, len(wanted) // 3))
    if len(wanted) > _LETTERS_MAX:
        return ()
    letters = set(wanted)
    likely: list[tuple[int, str, str]] = []
    for key, shown in islice(names, _NAMES_MAX):
        if abs(len(key) - len(wanted)) > allowed:
            continue
        one = key.lower()
        others = set(one)
        apart = max(len(letters - others), len(others - letters))
        if apart <= allowed:
            likely.append((apart, one, shown))
    likely.sort()
    found = {
        (distance, shown)
        for _, one, shown in likely[:_MEASURED_MAX]
        if (distance := _distance(wanted, one, allowed)) <= allowed
    }
    nearest = dict.fromkeys(shown for _, shown in sorted(found))
    return tuple(map(one_line, nearest))[:at_most]


def did_you_mean(names: tuple[str, ...]) -> str:
    """The question for a hint; empty where there are none.

    >>> did_you_mean(("a", "b", "c"))
    'did you mean a, b or c?'
    """
    if not names:
        return ""
    *others, last = names
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


def _distance(one: str, other: str, most: int) -> int:
    """Letters put in, left out, changed, or swapped with a neighbour; `most` + 1 for more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        earlier, before, row = before, row, [place]
        for at, against in enumerate(other, 1):
            cost = min(before[at] + 1, row[-1] + 1, before[at - 1] + (letter != against))
            swapped = place > 1 < at and letter == other[at - 2] and one[place - 2] == against
            row.append(min(cost, earlier[at - 2] + 1) if swapped else cost)
        if min(row) > most:
            return most + 1
    return row[-1]
