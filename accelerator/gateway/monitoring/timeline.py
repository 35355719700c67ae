"""Statements a second, their times and cached answers over the last hour, for the page's time line.

Of a piece of time durations are kept as counts by steps of a tenth, so that its percentiles are
right to one such step, and memory doesn't grow with the statements.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any

from msgspec import Struct, field

STEP_S = 5
"""Seconds of one piece."""
_KEPT = 720
_GROWTH = math.log(1.1)
_LEAST_MS = 0.1


class _TimelineSpan(Struct):
    at: int
    statements: int = 0
    failed: int = 0
    cached: int = 0
    running: int = 0
    durations: Counter[int] = field(default_factory=Counter)


class Timeline:
    """Of one gateway; belongs to its event loop."""

    def __init__(self) -> None:
        self._pieces: deque[_TimelineSpan] = deque(maxlen=_KEPT)

    def ended(self, now: float, elapsed_ms: float, *, failed: bool, cached: bool) -> None:
        """A statement ended at `now` (seconds since 1970); a failed one's time isn't counted."""
        piece = self._piece(now)
        piece.statements += 1
        piece.failed += failed
        piece.cached += cached
        if not failed:
            piece.durations[_step(elapsed_ms)] += 1

    def running(self, now: float, statements: int) -> None:
        """So many run at `now`; the most of a piece counts."""
        piece = self._piece(now)
        piece.running = max(piece.running, statements)

    def _piece(self, now: float) -> _TimelineSpan:
        """The newest, also where a clock was set back."""
        at = int(now) // STEP_S * STEP_S
        if not self._pieces or at > self._pieces[-1].at:
            self._pieces.append(_TimelineSpan(at))
        return self._pieces[-1]

    def to_dict(self, now: float, span_s: int) -> dict[str, list[Any]]:
        """Columns over the last `span_s` seconds, one place for each piece, the oldest first.

        `at` is a piece's beginning; `rate`, `failed` and `cached` are statements a second; `p50`
        and `p95` milliseconds, None without statements. The piece that isn't over isn't there.
        """
        end = int(now) // STEP_S * STEP_S
        begin = end - min(span_s, _KEPT * STEP_S) // STEP_S * STEP_S
        known = {one.at: one for one in self._pieces}
        pieces = [known.get(at, _TimelineSpan(at)) for at in range(begin, end, STEP_S)]
        return {
            "at": [one.at for one in pieces],
            "rate": [one.statements / STEP_S for one in pieces],
            "failed": [one.failed / STEP_S for one in pieces],
            "cached": [one.cached / STEP_S for one in pieces],
            "running": [one.running for one in pieces],
            "p50": [_percentile(one.durations, 0.5) for one in pieces],
            "p95": [_percentile(one.durations, 0.95) for one in pieces],
        }

    def summary(self, now: float, span_s: int) -> dict[str, Any]:
        """The same of the whole time: a rate a second, shares, percentiles."""
        recent = [one for one in self._pieces if one.at > now - span_s - STEP_S]
        durations: Counter[int] = Counter()
        for one in recent:
            durations.update(one.durations)
        statements = sum(one.statements for one in recent)
        passed = max(STEP_S, min(span_s, now - recent[0].at)) if recent else span_s
        return {
            "statements": statements,
            "rate": statements / passed,
            "failed": sum(one.failed for one in recent),
            "cached": sum(one.cached for one in recent),
            "p50": _percentile(durations, 0.5),
            "p95": _percentile(durations, 0.95),
        }


def _step(ms: float) -> int:
    return max(0, round(math.log(max(ms, _LEAST_MS) / _LEAST_MS) / _GROWTH))


def _percentile(durations: Counter[int], share: float) -> float | None:
    """The duration below or at which that share of them is; None of none."""
    rank = math.ceil(share * durations.total())
    for step in sorted(durations):
        rank -= durations[step]
        if rank <= 0:
            return float(f"{_LEAST_MS * math.exp(step * _GROWTH):.3g}")
    return None
