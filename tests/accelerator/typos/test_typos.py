"""Each typo is told at once: with its class, its place and the closest name, and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import accelerator
from accelerator.common.config.config import Config
from accelerator.errors import AcceleratorError
from accelerator.session.early_check import check_early
from accelerator.session.session import Accelerator
from tests.support.typos import Typo, typos, warehouse


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouse(tmp_path_factory.mktemp("typos") / "warehouse")


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Accelerator]:
    with accelerator.open(folder) as found:
        yield found


@pytest.fixture(autouse=True)
def _no_spark(no_java: None) -> None:
    """Whoever asks Spark fails with another error."""


def _check(error: AcceleratorError, typo: Typo) -> None:
    assert (error.error_class or error.code) == typo.kind, error
    assert (error.line, error.column) == (typo.line, typo.column), error
    if typo.closest:
        assert error.suggestions[0] == typo.closest, error
        assert typo.closest in error.hint
    shown, mark = error.located.splitlines()
    word = typo.at.split()[0]
    assert shown[mark.index("^") :].startswith(word), error
    assert len(mark.strip()) <= len(typo.at)


@pytest.mark.parametrize("typo", typos(), ids=lambda one: one.name)
def test_it_is_told_at_once(session: Accelerator, typo: Typo) -> None:
    with pytest.raises(AcceleratorError) as raised:
        session.query(typo.sql)
    _check(raised.value, typo)
    assert not session.spark_started


@pytest.mark.parametrize("typo", typos(), ids=lambda one: one.name)
def test_a_command_needs_no_session_for_most(folder: Path, typo: Typo) -> None:
    """What it raises is what the session raises."""
    try:
        check_early(Config.load(warehouse=str(folder)), typo.sql)
    except AcceleratorError as error:
        _check(error, typo)
    else:
        assert typo.opens, "a session was opened for it"


def test_a_frame_and_a_comparison_are_told_at_once(session: Accelerator) -> None:
    for ask in (session.sql, session.verify, session.stream):
        with pytest.raises(AcceleratorError, match=r"there is no table shop\.salse"):
            ask("SELECT * FROM shop.salse")
    with pytest.raises(AcceleratorError, match="no statement begins with VACUM"):
        session.sql("VACUM shop.sales")
    assert not session.spark_started


def test_explain_and_why_not_name_the_closest(session: Accelerator) -> None:
    sql = "SELECT regoin, sum(amount) AS s FROM shop.sales GROUP BY regoin"
    for told in (session.explain(sql), *(row["reason"] for row in session.why_not(sql))):
        assert "o table here has a column regoin; did you mean region?" in told
        assert "deterministic" not in told
