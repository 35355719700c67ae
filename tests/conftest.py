"""What all tests share: none of them asserts how long something takes, hypothesis neither.

Suites of statements (`*.slt`) are collected here: a test for each statement and state.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import counting
from tests.support.extent import sized

pytest_plugins = ["tests.support.time_left"]
_EXAMPLES = int(os.environ.get("TESTS_EXAMPLES", "0")) or sized(40, full=100)
"""Of each property; `make check` tries half as many."""

settings.register_profile("untimed", deadline=None, max_examples=_EXAMPLES)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--again` asks Spark a random part of what is recorded; `--again=SEED` the same part."""
    # Processes of xdist read the same words anew, and inherit the seed.
    drawn = os.environ.setdefault("TESTS_AGAIN", secrets.token_hex(4))
    parser.addoption("--again", nargs="?", const=drawn, default="", metavar="SEED")


class _Failures:
    """Prints each failure's name and its first line as it comes: a long run may be stopped."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message if crash else report.longreprtext
            terminal.write_line(f"\nfailed: {report.nodeid}: {why.strip().partition(chr(10))[0]}")


def pytest_configure(config: pytest.Config) -> None:
    """Statements are counted where somebody wants to know."""
    counting.begin()
    config.pluginmanager.register(_Failures(config))
    if seed := config.getoption("again"):
        from tests.support.recording.again import AGAIN  # imports the product

        AGAIN.seed = str(seed)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """How the same records can be asked again."""
    if seed := config.getoption("again"):
        terminalreporter.write_line(f"a part of the records was asked again: --again={seed}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite of statements."""
    if file_path.suffix != ".slt":
        return None
    from tests.support.suites import SuiteFile  # imports the product

    return SuiteFile.from_parent(parent, path=file_path)
