"""Each of a newcomer's mistakes is told in two sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mistakes import Mistake, Places, mistakes, places, said

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with places(tmp_path_factory.mktemp("mistakes")) as found:
        yield found


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda one: one.name)
def test_it_is_told_in_two_sentences(mistake: Mistake, at: Places, tmp_path: Path) -> None:
    found = said(mistake, at, tmp_path)
    assert not found, found
