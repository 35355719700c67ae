"""A run of tests with an end: `--within SECONDS` skips tests that haven't begun by then.

CI has a time limit, and machines differ by a factor of three. Files of tests come in the order that
the seed of `--again` gives, so that each run skips others. The number of skipped tests is printed.
"""

from __future__ import annotations

import os
import time
from random import Random

import pytest

_WHY, _UNTIL = "no time was left", "TESTS_UNTIL"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--within SECONDS`; 0: no end."""
    parser.addoption("--within", type=float, default=0.0, metavar="SECONDS")


def pytest_configure(config: pytest.Config) -> None:
    """Notes when the time is over; processes of xdist inherit the moment."""
    within = config.getoption("within")
    if within and not hasattr(config, "workerinput"):
        os.environ[_UNTIL] = str(time.time() + within)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Orders the files by the seed; tests of one file stay together and in their order."""
    if config.getoption("within"):
        seed = str(config.getoption("again", ""))
        rank = {item.path: Random(f"{seed} {item.path}").random() for item in items}
        items.sort(key=lambda item: rank[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips the test if the time is over, before anything is made for it."""
    if item.config.getoption("within") and time.time() > float(os.environ[_UNTIL]):
        pytest.skip(_WHY)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Reports how many tests weren't begun."""
    within = config.getoption("within")
    skipped = terminalreporter.stats.get("skipped", ())
    late = [one for one in skipped if isinstance(one.longrepr, tuple) and _WHY in one.longrepr[2]]
    if late:
        terminalreporter.write_line(f"{len(late)} tests weren't begun within {within:g} s")
