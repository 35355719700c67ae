"""A session in which the advisor runs by itself, once at each call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import accelerator
from accelerator import Accelerator
from accelerator.services.advisor.apply.auto import AutoRun
from accelerator.services.advisor.report import Advised
from accelerator.services.runner import Reported
from accelerator.session.commands import execute
from accelerator.store.journals import ledger
from accelerator.store.journals.ledger import AppliedAdvice

AT_ONCE = {"advisor_trial_days": 0, "advisor_trial_statements": 10}


@contextmanager
def opened(lake: Path, **settings) -> Iterator[Accelerator]:
    with accelerator.open(lake, **{"advisor": "auto", "query_log": False, **settings}) as session:
        yield session
        assert not session.spark_started


def own_execute(acc: Accelerator):
    return lambda one: execute(one, acc.services, {})


def run(acc: Accelerator, own=None, stop: threading.Event | None = None) -> Advised:
    given = own or own_execute(acc)
    return AutoRun(acc.services, given, Reported(), stop or threading.Event()).run()


def entries(acc: Accelerator) -> tuple[AppliedAdvice, ...]:
    return ledger.read(acc.services.store.files).entries


def results(acc: Accelerator, on: str = "") -> list[dict]:
    return acc.query(f"SHOW ADVICE RESULTS{on}").arrow().to_pylist()


def cubes(acc: Accelerator) -> set[str]:
    return set(acc.services.store.registry(fresh=True).cubes)


class Died(BaseException):
    """The process is gone."""
