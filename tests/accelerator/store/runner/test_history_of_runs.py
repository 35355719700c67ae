"""Runs that are stopped by somebody else, and what is kept of runs that have ended."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.errors import CancelledError
from accelerator.services.runner import DueTasks, Outcome, Runner
from accelerator.store.journals import run_history
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run import FinishedRun, TaskRuns
from accelerator.store.journals.run_history import RunHistory, id_of, parts_of_id
from tests.accelerator.store.runner.claim_world import Memory


class Once:
    """A service of one task, which runs until it's stopped; `is_due` False: it never is."""

    at_once, key, group, priority, since, state = 1, "refresh-x", "g", 0, 0.0, "s"

    def __init__(self, *, wanted=True, ends=False):
        self.begun, self.outcome, self.is_over = threading.Event(), "none", False
        self._wanted, self._ends = wanted, ends

    def due(self):
        return DueTasks(() if self.is_over else (self,), is_over=self.is_over)

    def is_due(self, last, deaths):
        return self._wanted

    def run(self, report, stop):
        report(1, 3)
        self.begun.set()
        if self._ends:
            return Outcome(done=3)
        assert stop.wait(30)
        raise CancelledError("stopped")

    def ended(self, outcome):
        self.outcome, self.is_over = outcome, True


def run(claims, service, *, by=""):
    began = []
    runner = Runner((service,), claims, by=by, began=began.append, keep_s=0.01)
    runner.run(threading.Event())
    return began[0]


def stopped(claims, by="ann"):
    """The claim of a task that another process has stopped."""
    service, began = Once(), []
    runner = Runner((service,), claims, began=began.append, keep_s=0.01)
    thread = threading.Thread(target=runner.run, args=(threading.Event(),))
    thread.start()
    assert service.begun.wait(30)
    other = Claims(claims.files, process="other", gone=lambda _: False)
    assert not other.ask_to_stop("refresh-x", began[0].epoch + 1, by)
    assert other.ask_to_stop("refresh-x", began[0].epoch, by)
    thread.join(30)
    assert not thread.is_alive()
    assert isinstance(service.outcome.error, CancelledError)
    return began[0]


def test_another_process_stops_a_task_and_it_is_told_who_did():
    claims = Claims(Memory())
    claim = stopped(claims)
    entry = RunHistory(claims.files).find("refresh-x", claim.epoch)
    assert (entry.run.code, entry.run.error) == ("cancelled", "it was stopped by ann")
    assert entry.run.more
    assert entry.run.failures == 1
    seen = claims.seen("refresh-x")
    assert seen.ended
    assert FinishedRun.from_json(seen.last) == entry.run
    # What asked it to stop has gone with its end, and stops nobody else.
    assert not any("stop" in path for path in claims.files.held)
    assert not claims.ask_to_stop("refresh-x", claim.epoch, "ann")
    assert run(claims, Once(ends=True)).epoch == claim.epoch + 1


def test_what_somebody_has_stopped_waits_until_something_changes():
    last = FinishedRun(began_ms=0, ended_ms=0, state="s", failures=1, error="e", code="cancelled")
    assert TaskRuns(last).wait_s("s", 0) == 3600
    assert TaskRuns(last).wait_s("other", 0) == 10


def test_a_request_to_stop_outlasts_a_prolongation():
    claims = Claims(Memory())
    claim = claims.claim("refresh-x")
    assert claims.ask_to_stop("refresh-x", 1, "ann")
    assert claim.prolong(history_progress := claims.seen("refresh-x").progress)
    assert history_progress.total == 0
    assert claim.asked_to_stop() == "ann"


def test_the_history_has_who_asked_and_nothing_of_what_was_not_due():
    claims = Claims(Memory())
    claim = run(claims, Once(ends=True), by="ann")
    first = claims.seen("refresh-x")
    assert first.by == "ann"
    run(claims, Once(wanted=False))
    second = claims.seen("refresh-x")
    assert second.last == first.last and second.began_ms >= first.began_ms > 0
    (found,) = [entry for _, entry in RunHistory(claims.files).newest()]
    assert (found.id, found.by, found.run.done) == (f"refresh-x:{claim.epoch}", "ann", 3)


def test_the_history_is_bounded_in_order_and_read_page_by_page(monkeypatch):
    monkeypatch.setattr(run_history, "KEPT", 20)
    monkeypatch.setattr(run_history, "_TIDY_EVERY", 2)
    files = Memory()
    kept = RunHistory(files)
    for number in range(1, 60):
        kept.add("k", number, FinishedRun(began_ms=number, ended_ms=number))
    assert 20 <= len(files.held) <= 22
    pages, before = [], ""
    while True:
        page = [found for found, _ in zip(kept.newest(before), range(7), strict=False)]
        if not page:
            break
        before = page[-1][0]
        pages += [entry.epoch for _, entry in page]
    assert pages == sorted(pages, reverse=True)
    assert pages[:20] == list(range(59, 39, -1))
    assert kept.find("k", 59).run.ended_ms == 59
    assert kept.find("k", 1) is None
    assert kept.find("other", 59) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"format":1,"by":3,"run":{}}'])
def test_what_is_damaged_is_left_out(data):
    files = Memory()
    kept = RunHistory(files)
    kept.add("k", 1, FinishedRun(began_ms=1, ended_ms=1))
    files.create(f"{run_history.FOLDER}/{2:013d}-{2:020d}-k.json", data)
    files.create(f"{run_history.FOLDER}/notes.txt", data)
    files.create(f"{run_history.FOLDER}/{2:013d}-{2:020d}-.k.json", data)
    assert [entry.epoch for _, entry in kept.newest()] == [1]
    assert kept.find("k", 2) is None


def test_the_files_are_of_their_format():
    """Other bytes need another version, and a line in docs/formats/services.md."""
    claims = Claims(Memory(), now_ms=lambda: 1_750_000_000_000, process="p", gone=lambda _: False)
    claims.claim("refresh-x")
    claims.ask_to_stop("refresh-x", 1, "ann")
    run = FinishedRun(began_ms=1, ended_ms=2, state="s", failures=1, error="e", code="cancelled")
    RunHistory(claims.files).add("refresh-x", 1, run, "ann")
    files = claims.files.held
    stop = json.loads(files["services/v1/refresh-x/00000000000000000001-stop.json"])
    assert stop.pop("token")
    assert stop == {"at_ms": 1_750_000_000_000, "by": "ann", "format": 1}
    name = "services/history/v1/0000000000002-00000000000000000001-refresh-x.json"
    assert files[name] == (
        b'{"by": "ann", "format": 1, "run": {"began_ms": 1, "code": "cancelled", "done": 0,'
        b' "ended_ms": 2, "error": "e", "failures": 1, "more": false, "state": "s", "twice": 0}}\n'
    )


@given(st.text())
def test_no_text_is_an_id_that_leads_elsewhere(text):
    found = parts_of_id(text)
    if found is not None:
        assert id_of(*found) == text
        assert "/" not in text
        assert not text.startswith(".")
