"""What all tests share: none of them asserts how long something takes, hypothesis neither.

Suites of statements (`*.slt`) are collected here: a test for each statement and state.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import counting

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Statements are counted where somebody wants to know."""
    counting.begin()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite of statements."""
    if file_path.suffix != ".slt":
        return None
    from tests.support.suites import SuiteFile  # imports the product

    return SuiteFile.from_parent(parent, path=file_path)
