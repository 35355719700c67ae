"""Runs pytest with this module as a plugin: it tells how each test ended, and which lines it ran.

Does nothing unless told by the environment. `MUTANTS_TOLD` is a folder that gets a file of JSON
lines from each process: a test, its phase, outcome and seconds. Where coverage is measured
(`coverage_map.py` sees to that), each test is a context of its own, apart for its setup.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SETUP = "|setup"
CONTEXT = "MUTANTS_TEST"
_SAID_MAX = 400
_EXAMPLES = 10


class Teller:
    """Appends lines to this process' file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{os.getpid()}.jsonl"

    def tell(self, **what: Any) -> None:
        """One line, on disk when this returns."""
        with self._path.open("a") as file:
            file.write(json.dumps(what) + "\n")


class Contexts:
    """Tells coverage which test is run, here and in processes that the test starts."""

    def __init__(self, measured: Any) -> None:
        self._measured = measured

    def enter(self, name: str) -> None:
        """From here on it's that test, or none."""
        os.environ[CONTEXT] = name
        self._measured.switch_context(name)


_TELLER: list[Teller] = []
_CONTEXTS: list[Contexts] = []


def pytest_configure(config: pytest.Config) -> None:
    """Begins, in the processes that run tests."""
    if os.environ.get("MUTANTS_TOLD"):
        _TELLER.append(Teller(Path(os.environ["MUTANTS_TOLD"])))
    if os.environ.get("COVERAGE_PROCESS_START"):
        import coverage

        measured = coverage.Coverage.current()
        if measured is not None:
            _CONTEXTS.append(Contexts(measured))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests that were found, each with its marks and place, from whoever collects."""
    if _CONTEXTS:
        _draw_little(items)
    for teller in _TELLER:
        for place, item in enumerate(items):
            marks = [name for name in ("spark", "slow") if item.get_closest_marker(name)]
            live = bool(getattr(getattr(item, "module", None), "LIVE", False))
            live = live or "live_acc" in getattr(item, "fixturenames", ())
            teller.tell(found=item.nodeid, place=place, marks=marks, live=live)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """The context is the test's setup: it may be that of others of its file as well."""
    for teller in _TELLER:
        teller.tell(begun=item.nodeid, at=time.time())
    yield from _within(item.nodeid + SETUP)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """The context is the test."""
    yield from _within(item.nodeid)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """The end of a test may be the end of its file."""
    yield from _within(item.nodeid + SETUP)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """How a phase of a test ended."""
    said = "" if report.passed else str(report.longreprtext)[-_SAID_MAX:]
    for teller in _TELLER:
        teller.tell(
            test=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            seconds=round(report.duration, 4),
            said=said,
        )


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that can't be imported is told of as well."""
    if report.failed:
        for teller in _TELLER:
            teller.tell(
                test=report.nodeid,
                when="collect",
                outcome="failed",
                seconds=0.0,
                said=str(report.longreprtext)[-_SAID_MAX:],
            )


def pytest_sessionfinish() -> None:
    """What was measured is kept, however the process ends."""
    if _CONTEXTS:
        import coverage

        measured = coverage.Coverage.current()
        if measured is not None:
            measured.save()


def _draw_little(items: list[pytest.Item]) -> None:
    """Property tests draw a few examples while lines are recorded: nearly all run by then."""
    from hypothesis import Phase, settings

    few = settings(max_examples=_EXAMPLES, deadline=None, phases=[Phase.explicit, Phase.generate])
    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and own.max_examples > _EXAMPLES:
            shown = settings(own, max_examples=_EXAMPLES, phases=few.phases)
            test._hypothesis_internal_use_settings = shown


def _within(name: str) -> Iterator[None]:
    for contexts in _CONTEXTS:
        contexts.enter(name)
    try:
        return (yield)
    finally:
        for contexts in _CONTEXTS:
            contexts.enter("")


if __name__ == "__main__":
    # By its name, so that further processes of the run have it too.
    sys.exit(pytest.main(["-p", "tests.mutants.told", *sys.argv[1:]]))
