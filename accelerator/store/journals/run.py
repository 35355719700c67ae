"""What was run of a task, and how far a run that goes on is, as the store has it.

Daemons, `SHOW CUBES` and whoever else asks read the same: the newest claim of the task's key.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, convert

from accelerator.common.records.as_dict import as_dict
from accelerator.common.records.bounds import Count, Int64
from accelerator.errors import StoreError
from accelerator.store.journals.claims import HOLD_MS, Claims, Seen, TaskProgress

Json = dict[str, Any]
REFRESH = "refresh-"
"""What keys of refreshes begin with."""
_ERROR_MAX = 2_000
_WAIT_S, _WAIT_MAX_S = 10.0, 3600.0
CANCELLED = "cancelled"
_DEATHS = 2
"""So many processes may die over a task before the next one waits: most are killed by others."""
AHEAD_MS = 120_000
"""An end that lies further ahead was told by a clock that's wrong, and delays nothing."""


class FinishedRun(Struct, frozen=True, kw_only=True):
    """A run that came to its end; times are Unix time in milliseconds, by its process's clock.

    `failures` counts runs that failed in a row, this one among them; `state` names what it worked
    on, so that a later one knows whether anything has changed. `done` are its units, data files
    for one; `twice` those of them that another process had been first with. `more`: it stopped at
    its budget, and goes on in another run. One that somebody has stopped has the code `CANCELLED`.
    """

    began_ms: Int64
    ended_ms: Int64
    state: str = ""
    done: Int64 = 0
    twice: Int64 = 0
    more: bool = False
    failures: Count = 0
    error: str | None = None
    code: str | None = None

    def to_json(self) -> Json:
        """The fields as JSON values; a long error is cut."""
        found = as_dict(self)
        if self.error is not None:
            found["error"] = self.error[:_ERROR_MAX]
        return found

    @classmethod
    def from_json(cls, raw: Json | None) -> FinishedRun | None:
        """The inverse; None for what is none."""
        if raw is None:
            return None
        try:
            return convert(raw, cls)
        except ValueError:
            return None


class TaskRuns(Struct, frozen=True):
    """What is known of a task: its last run, and the one that goes on.

    `deaths`: processes in a row that have died over it, and `died_ms` when the newest of them was
    heard of last. `running` is None where none does; None too where its process has died or hasn't
    been heard of.
    """

    last: FinishedRun | None = None
    running: TaskProgress | None = None
    deaths: int = 0
    died_ms: int | None = None

    def wait_s(self, state: str, now_ms: int) -> float:
        """Seconds until it may be tried again, after failures; 0: at once.

        It's twice as long after each run that failed on the same state, up to an hour; so after
        each process that died over it, from the third on. What somebody has stopped waits for an
        hour where the state is the same.
        """
        wait, last = 0.0, self.last
        if last is not None and last.failures:
            same = last.state == state
            pause = _WAIT_MAX_S if same and last.code == CANCELLED else None
            if pause is None:
                pause = _wait_s(last.failures - 1 if same else 0)
            wait = until_s(last, pause, now_ms)
        if self.deaths > _DEATHS and self.died_ms is not None:
            pause = _wait_s(self.deaths - _DEATHS - 1)
            wait = max(wait, _left_s(self.died_ms, pause, now_ms))
        return wait


def until_s(
    last: FinishedRun | None, pause_s: float, now_ms: int, *, since_began: bool = False
) -> float:
    """Seconds until so long has passed since a run ended, or began; 0: it has.

    Clocks that went back don't make it longer than that, but for what they may differ by.
    """
    if last is None:
        return 0.0
    return _left_s(last.began_ms if since_began else last.ended_ms, pause_s, now_ms)


def _left_s(at_ms: int, pause_s: float, now_ms: int) -> float:
    if at_ms > now_ms + AHEAD_MS:
        return 0.0
    return max(0.0, (at_ms - now_ms) / 1000 + pause_s)


def _wait_s(times: int) -> float:
    return float(min(_WAIT_S * 2 ** min(times, 20), _WAIT_MAX_S))


def runs_of(claims: Claims, key: str) -> TaskRuns:
    """What the store has of a key. StoreError where it can't be read."""
    return of_seen(claims, key, claims.seen(key))


def of_seen(claims: Claims, key: str, seen: Seen | None) -> TaskRuns:
    """The same, of what was read of it."""
    if seen is None:
        return TaskRuns()
    over = claims.may_begin(key, seen)
    deaths = seen.deaths + (0 if seen.ended else 1) if over else 0
    died_ms = seen.expires_ms - HOLD_MS if deaths and not seen.ended else None
    return TaskRuns(
        FinishedRun.from_json(seen.last), None if over else seen.progress, deaths, died_ms
    )


class Every:
    """What the store has of all keys that begin so; ends that were read are kept.

    Threads share it.
    """

    def __init__(self, claims: Claims, prefix: str) -> None:
        self._claims, self._prefix = claims, prefix
        self._before: dict[str, Seen] = {}

    def known(self) -> dict[str, TaskRuns]:
        """By key; none of a store that can't be read. One listing, and what is new is read."""
        try:
            seen = self._claims.seen_of(self._prefix, self._before)
        except (StoreError, ValueError):
            return {}
        self._before = seen
        return {key: of_seen(self._claims, key, one) for key, one in seen.items()}
