"""The audit log: lines that can't be forged, lost ones that are counted, files that rotate."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.errors import ConfigError
from accelerator.gateway.access import audit
from accelerator.gateway.access.audit import Audit, Decision

ONE = Decision("alice", "10.0.0.1", "read", "table lake.d.t", True, "q1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.log"


def _lines(path):
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def test_a_line_for_each_decision(path):
    log = Audit(path, clock=lambda: 1_800_000_000.25)
    log.record(ONE)
    log.record(Decision("bob", "::1", "kill", "user alice", False))
    log.close()
    assert _lines(path) == [
        {
            "time": "2027-01-15T08:00:00.250Z",
            "user": "alice",
            "address": "10.0.0.1",
            "action": "read",
            "object": "table lake.d.t",
            "allowed": True,
            "statement": "q1",
        },
        {
            "time": "2027-01-15T08:00:00.250Z",
            "user": "bob",
            "address": "::1",
            "action": "kill",
            "object": "user alice",
            "allowed": False,
            "statement": "",
        },
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


TEXT = st.text(st.characters(), max_size=40) | st.sampled_from(
    ['"}\n{"user":"root', "\r\n", "\x7f\x1b[2J", "\u2028\x85\x00", "\ud800", "x" * 100_000]
)


@given(TEXT, TEXT, TEXT, TEXT, TEXT, st.booleans(), st.floats(0, 2e9), st.integers(0, 2**63))
def test_whatever_stands_in_it_a_line_is_one_line(user, address, action, object, id, ok, at, lost):
    line = Decision(user, address, action, object, ok, id).line(at, lost)
    assert line.endswith(b"\n")
    assert all(32 <= byte < 127 for byte in line[:-1])
    assert len(line) < 40_000
    told = json.loads(line)
    assert told["user"] == user or (len(user) > 512 and told["user"].endswith("…"))
    assert set(told) - {"dropped"} == {
        *("time", "user", "address", "action", "object", "allowed", "statement")
    }


def test_files_rotate(path):
    length = len(ONE.line(0, 0))
    log = Audit(path, bytes_max=3 * length, files=3)
    for number in range(20):
        log.record(Decision("alice", "10.0.0.1", "read", "table lake.d.t", True, f"{number:02}"))
    log.close()
    files = sorted(path.parent.iterdir())
    assert [one.name for one in files] == ["audit.log", "audit.log.1", "audit.log.2"]
    told = [line["statement"] for one in reversed(files) for line in _lines(one)]
    assert told == [f"{number:02}" for number in range(12, 20)]
    assert all(one.stat().st_size <= 3 * length for one in files)
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in files)


def test_only_one_file_may_be_kept(path):
    log = Audit(path, bytes_max=1, files=1)
    for _ in range(3):
        log.record(ONE)
    log.close()
    assert [one.name for one in path.parent.iterdir()] == ["audit.log"]
    assert len(_lines(path)) == 1


def test_it_goes_on_where_it_was_and_a_cut_line_is_ended(path):
    Audit(path).close()
    path.write_bytes(b'{"cut')
    path.chmod(0o644)
    log = Audit(path)
    log.record(ONE)
    log.close()
    cut, line = path.read_text().splitlines()
    assert cut == '{"cut'
    assert json.loads(line)["user"] == "alice"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_links_and_folders_are_no_logs(path, tmp_path):
    target = tmp_path / "target"
    target.write_text("")
    path.symlink_to(target)
    for one in (path, tmp_path, tmp_path / "none" / "audit.log"):
        with pytest.raises(ConfigError, match="can't be written"):
            Audit(one)
    assert target.read_text() == ""


def test_a_full_queue_loses_lines_and_tells_how_many(path, monkeypatch):
    monkeypatch.setattr(audit, "_WAITING_MAX", 2)
    gate, entered = threading.Event(), threading.Event()
    write = os.write

    def waiting(descriptor, data):
        entered.set()
        gate.wait(10)
        return write(descriptor, data)

    monkeypatch.setattr(audit.os, "write", waiting)
    log = Audit(path)
    log.record(ONE)
    assert entered.wait(10)
    for _ in range(5):
        log.record(ONE)  # two wait, three are lost
    assert log.dropped == 3
    gate.set()
    log.flush()
    log.record(ONE)
    log.close()
    told = [line.get("dropped") for line in _lines(path)]
    assert len(told) == 4
    assert sum(one or 0 for one in told) == 3


def test_a_full_disk_takes_nothing_down(path, monkeypatch):
    full, write = True, os.write

    def half(descriptor, data):
        if not full:
            return write(descriptor, data)
        if len(data) % 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(audit.os, "write", half)
    monkeypatch.setattr(audit, "_RETRY_S", 0.0)
    log = Audit(path)
    for number in range(6):
        log.record(Decision("alice", "", "read", "x" * number, True))
        log.flush()
    assert log.dropped == 6
    full = False
    log.record(ONE)
    log.record(ONE)
    log.close()
    first, second = _lines(path)
    assert first["dropped"] == 6
    assert "dropped" not in second


def test_while_it_cannot_be_opened_nobody_tries_each_time(path, monkeypatch):
    log = Audit(path)
    path.parent.chmod(0o700)
    tries, opened = [], os.open

    def failing(name, *more):
        tries.append(name)
        raise OSError(errno.ENOSPC, "No space left on device")

    def no_write(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(audit.os, "write", no_write)
    monkeypatch.setattr(audit.os, "open", failing)
    for _ in range(10):
        log.record(ONE)
    log.flush()
    monkeypatch.setattr(audit.os, "open", opened)
    log.close()
    assert log.dropped == 10
    assert len(tries) == 1
