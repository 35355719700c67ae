"""The log is tidied once in an interval, by one process of all."""

from __future__ import annotations

import threading
from pathlib import Path

from accelerator.services.maintenance.query_log_tidying import Tidying
from accelerator.services.runner import Runner
from accelerator.store.files.files import open_files
from accelerator.store.journals.claims import Claims


def _run(root: Path, done: list[int], *, once: bool) -> None:
    service = Tidying(lambda: done.append(1), 3600, once=once)
    stop = threading.Event()
    if not once:
        service = Tidying(lambda: (done.append(1), stop.set())[0], 3600, once=once)
        threading.Timer(2.0, stop.set).start()  # one that has nothing to do waits for the next time
    Runner((service,), Claims(open_files(str(root))), threads=1).run(stop, lambda: None)


def test_once_it_is_done_whoever_did_it_before(tmp_path: Path) -> None:
    done: list[int] = []
    for _ in range(2):
        _run(tmp_path, done, once=True)
    assert len(done) == 2


def test_a_second_process_leaves_it_to_the_first(tmp_path: Path) -> None:
    done: list[int] = []
    for _ in range(2):
        _run(tmp_path, done, once=False)
    assert len(done) == 1
