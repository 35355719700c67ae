"""A claim of a task, its prolongation and its end: damaged ones stop nobody, and are no run.

Whatever stands there, a claim can be made or another one holds; what's made can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from accelerator.errors import StoreError
from accelerator.store.journals.claims import Claims, TaskProgress
from accelerator.store.journals.run import FinishedRun, of_seen
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from tests.accelerator.store.runner.claim_world import KEY, Memory

_NOW_MS = 1_764_254_400_000
_RUN = FinishedRun(
    began_ms=_NOW_MS, ended_ms=_NOW_MS, state="s", failures=1, error="no", code="error"
)


def _claims(files: Any) -> Claims:
    return Claims(files, now_ms=lambda: _NOW_MS, process="p", gone=lambda _: False)


def _samples() -> Sequence[Input]:
    """Each file of a key whose newest claim holds, and of one whose newest has ended."""
    found = list[Input]()
    for ended in (False, True):
        files = Memory()
        for last in (True, ended):
            claim = _claims(files).claim(KEY)
            if claim is None or not claim.prolong(TaskProgress(3, 12)):
                raise WrongError("a claim that isn't had")
            if last:
                claim.end(_RUN.to_json())
        for path, data in files.held.items():
            found.append(Input(data, context=(path, dict(files.held))))
    return found


def _steps(given: Input) -> Iterable[Step]:
    yield partial(_used, given)


def _used(given: Input) -> Any:
    path, held = given.context
    files = Memory()
    files.held = {**held, path: given.data}
    claims = _claims(files)
    seen = claims.seen(KEY)
    told = of_seen(claims, KEY, seen)
    claim = claims.claim(KEY)
    if claim is None:
        return told
    again = claims.seen(KEY)
    if not claim.held or again is None or not again.readable or again.epoch != claim.epoch:
        raise WrongError("a claim that was made can't be read")
    return told


FORMATS = (Format("claim", _samples, _steps, (StoreError,), text=True),)
