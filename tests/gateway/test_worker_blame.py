"""What is left of a worker decides which statements may have ended it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from accelerator.gateway.workers import blame
from accelerator.gateway.workers.blame import Death, Fate, fates
from accelerator.gateway.workers.ledger import Note, Notes, StatementLedger, crashed_thread
from accelerator.gateway.workers.pool.worker_handle import Worker

_U, _I, _S, _C = Fate.UNTOUCHED, Fate.INNOCENT, Fate.SUSPECT, Fate.CULPRIT
_RAN = {1: Note(0x11, 101), 2: Note(0x22, 102)}
_SEGV = "Fatal Python error: Segmentation fault\n\nThread 0x1 (most\n\nCurrent thread 0x{:x} (most"
_ABRT = "Fatal Python error: Aborted\n\nCurrent thread 0x11 (most"


@pytest.mark.parametrize(
    ("death", "expected"),
    [
        (Death(signal.SIGKILL, sent=(1, 2, 3), ran=_RAN), (_I, _I, _U)),
        (Death(signal.SIGTERM, sent=(1, 2, 3), ran=_RAN), (_I, _I, _U)),
        (Death(signal.SIGKILL, sent=(1, 2, 3), ran=_RAN, out_of_memory=True), (_S, _S, _U)),
        (Death(signal.SIGSEGV, sent=(1, 2, 3), ran=_RAN), (_S, _S, _U)),
        (Death(signal.SIGSEGV, _SEGV.format(0x22), (1, 2, 3), _RAN), (_I, _C, _U)),
        (Death(signal.SIGSEGV, _SEGV.format(0x99), (1, 2, 3), _RAN), (_I, _I, _S)),
        (Death(signal.SIGSEGV, _SEGV.format(0x99), (1, 2), _RAN), (_I, _I)),
        (Death(signal.SIGABRT, _ABRT, (1, 2, 3), _RAN), (_S, _S, _U)),
        (Death(signal.SIGABRT, _ABRT, (1, 3), _RAN), (_C, None, _U)),
        (Death(signal.SIGKILL, sent=(1, 2, 3), ran=_RAN, hung={2}), (_I, _C, _U)),
        (Death(signal.SIGKILL, sent=(1, 2, 3), ran=_RAN, hung=set()), (_S, _S, _U)),
        (Death(signal.SIGKILL, sent=(1, 3), ran=_RAN, hung={7}), (_C, None, _U)),
        (Death(signal.SIGKILL, sent=(3,), ran={}, hung=set()), (None, None, _S)),
        (Death(signal.SIGKILL, sent=(1, 2), ran=_RAN, hung=set(), stopped=True), (_I, _I)),
        (Death(1 << 8, sent=(1, 2, 3), ran=_RAN), (_S, _S, _U)),
        (Death(None, sent=(1, 3), ran=_RAN), (_C, None, _U)),
        (Death(None, sent=(3,), ran={}), (None, None, _S)),
        (Death(signal.SIGKILL), ()),
    ],
)
def test_fates(death, expected):
    assert fates(death) == {n: fate for n, fate in enumerate(expected, 1) if fate is not None}
    assert death.words


def test_the_busiest_threads_are_busy():
    before = {1: 5.0, 2: 1.0, 3: 0.0}
    assert blame.busy(before, {1: 5.2, 2: 1.19, 3: 0.05, 4: 9.0}) == {1, 2}
    assert blame.busy(before, {1: 5.05, 2: 1.0}) == set()
    assert blame.busy({}, {1: 3.0}) == set()


def test_a_thread_that_computes_is_seen():
    over, noted = threading.Event(), {}

    def work():
        noted[1] = Note(threading.get_ident(), threading.get_native_id())
        while not over.is_set():
            sum(range(1000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while not noted:
            pass
        before = blame.busy_seconds(os.getpid(), noted)
        while not blame.busy(before, blame.busy_seconds(os.getpid(), noted)):
            over.wait(0.05)
    finally:
        over.set()
        thread.join()
    assert not blame.is_stopped(os.getpid())
    assert blame.busy_seconds(os.getpid(), {1: Note(0, 2**22 + 1)}) == {}


def test_a_ledger_outlives_its_worker():
    ledger = StatementLedger(threads=2)
    code = (
        "import ctypes, sys\n"
        "from accelerator.gateway.workers.ledger import Notes, report_overflows\n"
        f"notes = Notes({ledger.fd})\n"
        "report_overflows()\n"
        "with notes.noted(6):\n    pass\n"
        "with notes.noted(7):\n    ctypes.string_at(0)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], pass_fds=(ledger.fd,), check=False)
    assert ended.returncode == -signal.SIGSEGV
    (number,) = ledger.running()
    assert number == 7
    assert crashed_thread(ledger.report()) == ledger.running()[7].ident
    ledger.close()
    ledger.close()
    assert ledger.running() == {} and ledger.report() == ""


def test_more_threads_than_notes_are_no_fault(monkeypatch):
    monkeypatch.setattr("faulthandler.enable", lambda **_given: None)
    monkeypatch.setattr("faulthandler.register", lambda *_given, **_more: None)
    ledger = StatementLedger(threads=1)
    notes = Notes(os.dup(ledger.fd))
    many = 1 + ledger._size // 24
    barrier = threading.Barrier(many)
    seen = []

    def work(number):
        with notes.noted(number):
            barrier.wait(30)
            seen.append(len(ledger.running()))
            barrier.wait(30)

    threads = [threading.Thread(target=work, args=(n + 1,)) for n in range(many)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert set(seen) == {many - 1} and not ledger.running()
    ledger.close()


@pytest.mark.parametrize(
    ("silence_s", "answers", "replaced"),
    [(0.0, False, True), (0.0, True, False), (60.0, False, False)],
)
def test_a_worker_that_ignores_the_stop_of_a_left_statement_is_replaced(
    silence_s, answers, replaced
):
    """Its client has gone, so no time limit of the statement ends it; it answers pings."""

    async def run():
        worker = Worker(1, None, None, spark=False, silence_s=silence_s)
        worker.ready.set_result(None)
        frames = worker.run(7, {"op": "run"})
        asked = asyncio.ensure_future(anext(frames))
        await asyncio.sleep(0)
        worker._take({"kind": "rows", "id": 7}, b"")
        await asked
        await frames.aclose()
        assert worker.load == 1
        if answers:
            worker._take({"kind": "error", "id": 7}, b"")
        await asyncio.sleep(0.01)
        worker.look(0.0)
        assert (worker.gone.is_set(), worker.load) == (replaced, 0 if answers else 1)

    asyncio.run(run())
