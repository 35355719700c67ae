"""Values of JSON damaged by chance: other types, other numbers, hostile text, great depth.

As in `mutations.py` all is drawn from the dice that are given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from fuzz.bytes.mutations import HUGE, SMALL, damaged

HOSTILE = (
    "",
    "0",
    "-1",
    "1e999",
    "NaN",
    "99999999999999999999999",
    "zz",
    "\x00",
    "\ud800",
    "../../../etc/passwd",
    "x`, (SELECT max(s) FROM lake.d.secret) AS `y",
    'x", (SELECT 1) AS "y',
    "1); COPY (SELECT 1) TO 'acc_hostile'; SELECT (1",
    "decimal(99999999999,2)",
    "1" * 5_000,
    "a" * 5_000,
)
_ODD: tuple[Any, ...] = (None, True, False, 1.5, -0.0, float("inf"), float("nan"), [], {}, [[]])
_DEPTHS = (10, 300)
_DEEP_TEXT = 50_000
_DEPTH_MAX = 40
Place = tuple[Any, ...]


def damaged_json(r: Random, value: Any) -> Any:
    """The value with one place or some places changed."""
    found = json.loads(json.dumps(value))  # a copy
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        places = list(_places(found))
        if not places:
            return deepcopy(r.choice(_ODD))
        found = _changed(r, found, r.choice(places))
    return found


def damaged_text(r: Random, text: str, others: tuple[bytes, ...] = ()) -> str:
    """A text of JSON changed as a value, or as bytes."""
    if r.random() < 0.01:  # deeper than values can be copied
        at = r.randrange(len(text) + 1)
        return text[:at] + r.choice(("[", '{"a":')) * _DEEP_TEXT + text[at:]
    if r.random() < 0.85:
        try:
            return json.dumps(damaged_json(r, json.loads(text)), ensure_ascii=r.random() < 0.5)
        except (ValueError, RecursionError):
            return text
    return damaged(r, text.encode(errors="replace"), others)[0].decode(errors="replace")


def _places(value: Any) -> Iterator[Place]:
    """Every place below the value, of lists and objects too, but for the deepest."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    while waiting:
        path, one = waiting.pop()
        items: Any = ()
        if isinstance(one, dict):
            items = one.items()
        elif isinstance(one, list):
            items = enumerate(one)
        for key, inner in items:
            place = (*path, key)
            yield place
            if len(path) < _DEPTH_MAX:
                waiting.append((place, inner))


def _changed(r: Random, value: Any, place: Place) -> Any:
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    last = place[-1]
    before = inner[last]
    what = r.randrange(10)
    if what == 0:
        del inner[last]
    elif what == 1 and isinstance(inner, list):
        inner.insert(r.randrange(len(inner) + 1), before)
    elif what == 1:
        inner[r.choice(HOSTILE)] = before
    elif what == 2 and isinstance(inner, list):
        r.shuffle(inner)
    else:
        inner[last] = _other(r, before)
    return value


def _other(r: Random, before: Any) -> Any:
    """Another value in a place: mostly of its type, so that it's looked at."""
    if r.random() < 0.25:
        odd = r.choice((*_ODD, _deep(r), r.choice(HOSTILE), r.choice(HUGE), before, [before]))
        return deepcopy(odd)  # what is put in may be changed next
    if isinstance(before, bool):
        return not before
    if isinstance(before, int):
        near = (before + 1, before - 1, -before, 2 * before, str(before), float(before % 2**60))
        return r.choice((r.choice(near), r.choice(HUGE), -r.choice(HUGE), r.choice(SMALL), -1))
    if isinstance(before, str):
        if before.lstrip("-").isdigit() and r.random() < 0.7 and len(before) < 30:
            return str(_other(r, int(before)))
        return r.choice((r.choice(HOSTILE), before + "x", before[:-1], before.upper(), before * 3))
    if isinstance(before, float):
        return r.choice((float("nan"), float("inf"), -1.0, 0.0, 1e308, before * 2))
    if isinstance(before, list):
        return r.choice((before[:-1], before[1:], before * 2, before[::-1], []))
    if isinstance(before, dict):
        return r.choice(({}, list(before), dict(list(before.items())[1:])))
    return r.choice(HOSTILE)


def _deep(r: Random) -> Any:
    found: Any = 1
    for _ in range(r.choice(_DEPTHS)):
        found = [found]
    return found
