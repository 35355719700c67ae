"""A worker's sessions: one for each time zone, opened beside those that answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway.workers import sessions
from accelerator.gateway.workers.sessions import Sessions


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Sessions whose opening the test holds up by zone, and those that were opened and closed."""
    found = SimpleNamespace(opened=[], closed=[], gates={}, failing=set())

    def opened(config, source=None, private=()):
        assert private == ("users.toml",)
        zone = config.session_time_zone
        if zone in found.gates:
            assert found.gates[zone].wait(30)
        if zone in found.failing:
            raise OSError(zone)
        found.opened.append(zone)
        close = lambda: found.closed.append(zone)  # noqa: E731
        return SimpleNamespace(close=close, zone=zone, spark_started=False)

    monkeypatch.setattr(sessions, "open_loaded", opened)
    config = Config.load(None, warehouse=str(tmp_path), session_time_zone="UTC")
    found.sessions = Sessions(config, spark=False, private=["users.toml"], zones_max=2)
    return found


def test_others_are_answered_while_a_session_is_opened(made):
    with made.sessions.using() as session:
        assert session.zone == "UTC"
    made.gates["Asia/Tokyo"] = threading.Event()

    def in_tokyo():
        with made.sessions.using("Asia/Tokyo") as session:
            return session

    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(in_tokyo) for _ in range(2)]
        for _ in range(3):
            with made.sessions.using("UTC") as session:
                assert session.zone == "UTC"
        assert not made.sessions.spark_started
        made.gates["Asia/Tokyo"].set()
        assert waiting[0].result() is waiting[1].result(), "two who wait for one share it"
    assert made.opened == ["UTC", "Asia/Tokyo"]


def test_sessions_are_opened_one_after_the_other(made):
    made.gates = {zone: threading.Event() for zone in ("A", "B")}

    def used(zone):
        with made.sessions.using(zone):
            return True

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(used, "A")
        while not made.sessions._opening.locked():
            assert not first.done()
        second = threads.submit(used, "B")
        made.gates["B"].set()
        assert not second.done() and not made.opened
        made.gates["A"].set()
        assert first.result() and second.result()
    assert made.opened == ["A", "B"]


def test_the_one_not_used_for_longest_is_closed_once_nobody_uses_it(made):
    with made.sessions.using(), made.sessions.using("A"), made.sessions.using("B"):
        assert not made.closed, "A is used still"
    assert made.closed == ["A"]
    with made.sessions.using("A"):
        assert made.closed == ["A", "B"]
    for number in range(10):
        with made.sessions.using(f"+{number:02}:17"), made.sessions.using():
            pass
    assert made.opened.count("UTC") == 1, "whatever zones a client makes up"
    assert len(made.opened) - len(made.closed) == 2
    made.sessions.close()
    assert sorted(made.opened) == sorted(made.closed)


def test_one_that_cannot_be_opened_is_tried_again(made):
    made.failing.add("A")
    for _ in range(2):
        with pytest.raises(OSError, match="A"), made.sessions.using("A"):
            pass
    made.failing.clear()
    with made.sessions.using("A") as session:
        assert session.zone == "A"
