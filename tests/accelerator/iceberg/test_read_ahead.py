"""A statement's tables are asked of their catalogs at once; the catalogs here are functions."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from textwrap import dedent
from typing import Any, cast

import pytest

from accelerator.iceberg import CatalogError, CatalogSettings, Lake
from accelerator.iceberg.pins.pin import Pin, States

Name = tuple[str, ...]
_WAIT_S = 60


class _Lake:
    """Catalogs that all take several requests at once."""

    def resolve(self, parts: Name) -> Name:
        return parts

    def takes_several(self, full: Name) -> bool:
        return True


def _pin(ask: Callable[[Name], None]) -> Pin:
    """A pin; `ask` is told the full name of each table that is asked for."""
    return Pin(cast(States, _Lake()), lambda full, _: ask(full))


def _names(count: int) -> list[Name]:
    return [("rest", "shop", f"t{number}") for number in range(count)]


def test_an_error_is_raised_where_its_table_is_asked_for() -> None:
    """Planning may never come to it, or may find another reason before."""
    asked: list[Name] = []

    def ask(full: Name) -> None:
        asked.append(full)
        if full[-1] == "t1":
            raise CatalogError("the catalog is down")

    pin = _pin(ask)
    first, second, third = _names(3)
    pin.read_ahead([first, second, third])
    assert (pin.table(first), pin.table(third)) == (None, None)
    with pytest.raises(CatalogError, match="is down"):
        pin.table(second)
    assert sorted(asked) == [first, second, third]


def test_catalogs_that_hang_keep_no_other_waiting() -> None:
    """As many statements wait for one as they like."""
    released, done = threading.Event(), threading.Event()

    def beside() -> None:
        pin = _pin(lambda full: None)
        pin.read_ahead(_names(2))
        pin.table(_names(1)[0])
        done.set()

    def hang(_: Name) -> None:
        released.wait()

    def hanging() -> None:
        pin = _pin(hang)
        pin.read_ahead(_names(8))
        pin.table(_names(1)[0])

    waiting = [threading.Thread(target=hanging, daemon=True) for _ in range(2)]
    try:
        for one in waiting:
            one.start()
        threading.Thread(target=beside, daemon=True).start()
        assert done.wait(_WAIT_S)
    finally:
        released.set()
    for one in waiting:
        one.join()


def test_after_an_error_no_further_table_is_asked_for() -> None:
    """A catalog that is down would be asked for hundreds, long after the statement has failed."""
    names, released, full_house = _names(40), threading.Event(), threading.Semaphore(0)
    asked: list[Name] = []

    def ask(full: Name) -> None:
        asked.append(full)
        if full == names[0]:
            raise CatalogError("the catalog is down")
        full_house.release()
        released.wait()

    before = set(threading.enumerate())
    pin = _pin(ask)
    pin.read_ahead(names)
    for _ in range(8):
        assert full_house.acquire(timeout=_WAIT_S)
    with pytest.raises(CatalogError, match="is down"):
        pin.table(names[0])
    released.set()
    for one in set(threading.enumerate()) - before:
        one.join()
    assert sorted(asked) == sorted(names[:9])


def test_a_process_without_threads_to_spare_asks_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    asked: list[Name] = []
    pin = _pin(asked.append)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        pin.read_ahead(_names(3))
        assert [pin.table(one) for one in _names(3)] == [None] * 3
    assert asked == _names(3)


_INTERRUPTED = """
    import signal, threading
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it behind &
    from accelerator.iceberg.pins.pin import Pin

    class Lake:
        def resolve(self, parts):
            return parts

        def takes_several(self, full):
            return True

    def hang(full, _):
        # CPython loses a signal that comes just before its thread begins to wait: again, then.
        while full == ("first",):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            threading.Event().wait(5)
        threading.Event().wait()

    pin = Pin(Lake(), hang)
    pin.read_ahead([("first",), ("second",)])
    pin.table(("first",))
"""


def test_ctrl_c_ends_a_process_whose_catalog_hangs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", dedent(_INTERRUPTED)],
        capture_output=True,
        text=True,
        timeout=_WAIT_S,
        check=False,
    )
    assert ended.returncode == -signal.SIGINT, ended.stderr
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")


def _lake(clock: Callable[[], float] = lambda: 0.0, **properties: str) -> Lake:
    catalogs = [CatalogSettings("rest", "rest", {"uri": "http://localhost", **properties})]
    return Lake(catalogs, "rest", lambda: ("shop",), metadata_max_age_s=5, clock=clock)


def test_a_table_that_is_known_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    lake, (name,) = _lake(lambda: now), _names(1)
    monkeypatch.setattr(lake.catalogs["rest"], "pointer", lambda *_: None)
    assert lake.takes_several(name)
    assert lake.newest(name, object()) is None
    assert not lake.takes_several(name)
    now += 6
    assert lake.takes_several(name)


@pytest.mark.parametrize(
    ("properties", "several"), [({}, True), ({"py-catalog-impl": "their.Catalog"}, False)]
)
def test_a_class_of_somebody_elses_is_asked_by_one_thread(
    properties: dict[str, Any], several: bool
) -> None:
    """Nobody has promised that it takes requests of several."""
    assert _lake(**properties).takes_several(_names(1)[0]) is several
