"""What tests of the layer are given: lakes that are made once for a module."""

from __future__ import annotations

import pytest

from tests.support.pristine import Pristine


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Pristine:
    """Lakes of this module alone."""
    return Pristine(tmp_path_factory.mktemp("lakes"))


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Spark can be started."""
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    monkeypatch.setenv("SPARK_HOME", "")
