"""Each of a newcomer's mistakes is told in two sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.base_install import Outcome
from tests.support.mistakes import Mistake, Places, judged, mistakes, outcomes, places, said

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with places(tmp_path_factory.mktemp("mistakes")) as found:
        yield found


@pytest.fixture(scope="module")
def answers(at: Places) -> dict[str, Outcome]:
    return outcomes(at)


def test_there_are_forty() -> None:
    assert len({one.name for one in mistakes()}) == len(mistakes()) >= 40


@pytest.mark.parametrize(
    "mistake", [one for one in mistakes() if one.sql], ids=lambda one: one.name
)
def test_a_statement_is_told_at_once(mistake: Mistake, answers: dict[str, Outcome]) -> None:
    found = judged(mistake, answers[mistake.sql])
    assert not found, found


@pytest.mark.parametrize(
    "mistake", [one for one in mistakes() if not one.sql], ids=lambda one: one.name
)
def test_it_is_told_in_two_sentences(mistake: Mistake, at: Places, tmp_path: Path) -> None:
    found = said(mistake, at, tmp_path)
    assert not found, found
