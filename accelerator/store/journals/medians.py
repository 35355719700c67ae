"""Medians of run times, how far one run can move them, and what a shape's runs spare by them. Pure.

Promise: the bounds stay true without any one run, and with any other time of one run. So one run
that stalled changes no verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

RUNS_MIN = 20
"""The runs of one shape that a verdict needs, of those before and of those since."""


class MedianRange(Struct, frozen=True):
    """The median of so many run times, and the times beside it in their order.

    Without any one run, or with any one run of another time, the median is within `low` and `high`.
    """

    runs: int
    low: float
    middle: float
    high: float

    @property
    def is_firm(self) -> bool:
        """True if a verdict may rest on it."""
        return self.runs >= RUNS_MIN


def median_range(times: Iterable[float]) -> MedianRange | None:
    """The median of these times; of an even number the lower one. None without a time.

    >>> median_range([4.0, 1.0, 3.0, 2.0])
    MedianRange(runs=4, low=1.0, middle=2.0, high=3.0)
    """
    ordered = sorted(times)
    if not ordered:
        return None
    place = (len(ordered) - 1) // 2
    around = ordered[max(place - 1, 0)], ordered[place], ordered[min(place + 1, len(ordered) - 1)]
    return MedianRange(len(ordered), *around)


class SparedTime(Struct, frozen=True):
    """The milliseconds that one shape's runs spare: by medians, at least, and at most.

    Verdicts use `at_least` and `at_most`, which no single run can change. Too few runs for a median
    spare their earlier time at most, and nothing for sure.
    """

    ms: float
    at_least: float
    at_most: float


def spared_time(
    before: MedianRange, since: MedianRange | None, shares: float, largest: float
) -> SparedTime:
    """Compares the runs since with those before.

    `shares` is the sum of what belongs to one artifact of each run since, `largest` the greatest.

    >>> runs = MedianRange(50, 9.0, 10.0, 11.0)
    >>> spared_time(runs, MedianRange(50, 1.0, 2.0, 3.0), 50.0, 1.0)
    SparedTime(ms=400.0, at_least=294.0, at_most=500.0)
    """
    ms = 0.0 if since is None else (before.middle - since.middle) * shares
    if since is None or not since.is_firm:
        return SparedTime(ms, min(ms, 0.0), before.high * shares)
    fewer = max(shares - largest, 0.0)  # without one of these runs
    least, most = before.low - since.high, before.high - since.low
    return SparedTime(
        ms,
        least * (fewer if least > 0 else shares),
        most * (shares if most > 0 else fewer),
    )


def first_runs(rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The ids of the log's rows that are the first statement of a process.

    A process pays for its start with that. Rows need `id`, `started`, `process` and `worker`.
    """
    found: set[str] = set()
    of_workers: dict[tuple[str, int], list[tuple[Any, str]]] = defaultdict(list)
    for row in rows:
        id, worker = row["id"], row["worker"]
        if row["process"] == "session":
            if id.endswith("-0"):  # a session counts its process's statements
                found.add(id)
        elif worker is not None:
            gateway = id.rpartition("_")[2]
            of_workers[gateway, worker].append((row["started"], id))
    return frozenset(found) | {min(some)[1] for some in of_workers.values()}
