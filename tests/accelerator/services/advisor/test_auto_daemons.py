"""The advisor in daemons: two do nothing twice, one that is killed is gone on with."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import accelerator
from accelerator import Accelerator
from accelerator.store.journals import ledger
from accelerator.store.journals.ledger import AppliedAdvice
from tests.accelerator.services.advisor.asked_lake import BY_KIND, REGIONS, TOTAL, fill, log
from tests.accelerator.services.refresh.daemons import Daemon
from tests.support.pristine import catalog_of

pytestmark = pytest.mark.served


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("", "auto"), ("_EVERY_S", "0.5"), ("_STEPS_MAX", "2")):
        monkeypatch.setenv(f"ACCELERATOR_ADVISOR{name}", value)
    made = tmp_path / "wh"
    made.mkdir()
    catalog = catalog_of(made)
    fill(catalog)
    catalog.engine.dispose()
    return made


def entries(acc: Accelerator) -> tuple[AppliedAdvice, ...]:
    return ledger.read(acc.services.store.files).entries


def wait_made(acc: Accelerator, count: int) -> None:
    """Returns once so many cubes are made, and nothing is begun."""
    end = time.monotonic() + 60
    while [one.state for one in entries(acc)] != ["done"] * count:
        assert time.monotonic() < end, entries(acc)
        threading.Event().wait(0.02)


def test_of_two_daemons_one_makes_what_is_advised(root):
    with accelerator.open(root, advisor="manual", query_log=False) as acc:
        log(acc, (REGIONS, 50), (BY_KIND, 50), (TOTAL, 50))
        wanted = len(acc.analyze().recommendations)
        assert wanted == 3
        daemons = [Daemon(root), Daemon(root)]
        wait_made(acc, wanted)
        ends = [one.stop() for one in daemons]
        assert ends == [(0, ""), (0, "")]
        told = [one for daemon in daemons for one in daemon.told if "steps" in one]
        assert sum(len(one["steps"]) for one in told) == wanted
        assert {one["error"] for one in told} == {None}
        rows = acc.query("SHOW CUBES").arrow().to_pylist()
        assert [(row["status"], row["segments"]) for row in rows] == [("complete", 1)] * wanted


def test_a_kill_in_the_middle_is_gone_on_with(root):
    with accelerator.open(root, advisor="manual", query_log=False) as acc:
        log(acc, (REGIONS, 50), (BY_KIND, 50), (TOTAL, 50))
        for kills in (1, 2):
            daemon = Daemon(root)
            end = time.monotonic() + 60
            while len(entries(acc)) < kills:  # one is begun, or just done
                assert time.monotonic() < end
                threading.Event().wait(0.001)
            daemon.kill()
        last = Daemon(root)
        wait_made(acc, 3)
        code, errors = last.stop()
        assert (code, errors) == (0, "")
        records = acc.services.store.registry(fresh=True).cubes.values()
        assert {one.id for one in records} == {one.artifact_id for one in entries(acc)}
        rows = acc.query("SHOW CUBES").arrow().to_pylist()
        assert [(row["status"], row["segments"]) for row in rows] == [("complete", 1)] * 3
        for sql in (REGIONS, BY_KIND, TOTAL):
            assert acc.query(sql).metrics.cubes
