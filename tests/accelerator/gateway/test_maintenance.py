"""The maintenance daemon: rounds over every table, failures apart, an orderly end."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

import accelerator
from accelerator.cli.main import main
from accelerator.common.config.config import Config
from accelerator.errors import StoreError
from accelerator.services.maintenance.daemon import Schedule, Vacuum, Vacuumed, maintain
from accelerator.services.vacuum.vacuum import retention_of
from accelerator.store import Retention, Store
from tests.accelerator.store.samples import TABLE, cube, segment

NOTHING = Retention(0, versions_min=1)
OTHER = "22222222-2222-4333-8444-555555555555"


def _filled(root: Path) -> Store:
    """A table with a cube and garbage, and one that no cube is over any more."""
    store = Store.open(str(root))
    store.create_cube(cube())
    store.create_cube(cube("other", "d" * 32, table_uuid=OTHER))
    for table, cube_id in ((TABLE, "c" * 32), (OTHER, "d" * 32)):
        for number in (1, 2):
            path = root / "tables" / table / "cubes" / cube_id / "j" / f"{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"rows")
            made = segment(number, number, cube_id=cube_id, path=f"file://{path}")
            store.add_segments(table, [made], replaces=[number - 1] if number > 1 else ())
    store.drop_cube("other")
    return store


def _of(store: Store) -> Vacuum:
    return lambda uuid, _name, full: store.vacuum(uuid, NOTHING, full=full)


def _rounds(store: Store, count: int, schedule: Schedule = Schedule(0, 0)) -> list[Vacuumed]:  # noqa: B008
    told: list[Vacuumed] = []
    maintain(store, _of(store), schedule, told.append, stop=threading.Event(), rounds=count)
    return told


def test_every_table_is_vacuumed_those_without_a_cube_too(tmp_path: Path) -> None:
    store = _filled(tmp_path)
    first = _rounds(store, 1)
    assert {one.table for one in first} == {"lake.shop.sales", OTHER}
    assert all(one.files and not one.error for one in first)
    left = {path.name for path in tmp_path.rglob("*.parquet")}
    assert left == {"2.parquet"} and len(list(tmp_path.rglob("*.parquet"))) == 1


def test_a_table_whose_cubes_are_all_in_the_bin_has_a_name(tmp_path: Path) -> None:
    """By its name it's found in the lake, so that its segments go with its snapshots."""
    store = _filled(tmp_path)
    store.recycle_cube("sales", 3_600_000)
    assert {one.table for one in _rounds(store, 1)} == {"lake.shop.sales", OTHER}


def test_each_so_manieth_round_is_a_full_one(tmp_path: Path) -> None:
    store = _filled(tmp_path)
    told = _rounds(store, 5, Schedule(0, 0, full_every=2))
    assert sorted({(one.round, one.full) for one in told}) == [
        *((0, True), (1, False), (2, True), (3, False), (4, True)),
    ]
    assert not any(one.full for one in _rounds(store, 2, Schedule(0, 0, full_every=0)))


def test_a_table_that_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _filled(tmp_path)
    real = Store.vacuum

    def vacuum(self, uuid, retention, **how):
        if uuid == TABLE:
            raise StoreError("the disk is gone")
        return real(self, uuid, retention, **how)

    monkeypatch.setattr(Store, "vacuum", vacuum)
    told = {one.table: one.error for one in _rounds(store, 1)}
    assert told[OTHER] is None and "the disk is gone" in str(told["lake.shop.sales"])


def test_a_store_out_of_reach_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _filled(tmp_path)
    failures = [StoreError("no network")]
    real = Store.tables

    def tables(self):
        if failures:
            raise failures.pop()
        return real(self)

    monkeypatch.setattr(Store, "tables", tables)
    told = _rounds(store, 2)
    assert [one.error for one in told if one.error] == ["no network"]
    assert len(told) == 3


def test_a_store_that_is_not_there_yet_is_no_error(tmp_path: Path) -> None:
    assert _rounds(Store.open(str(tmp_path / "none")), 2) == []


def test_rounds_come_within_the_jitter() -> None:
    pauses = [Schedule(100, 0.2).pause_s(random.Random(seed)) for seed in range(200)]
    assert 80 <= min(pauses) < 90 and 110 < max(pauses) <= 120


def test_it_stops_within_a_round_and_between_rounds(tmp_path: Path) -> None:
    store, stop = _filled(tmp_path), threading.Event()
    told: list[Vacuumed] = []

    def tell(done: Vacuumed) -> None:
        told.append(done)
        stop.set()

    maintain(store, _of(store), Schedule(3600), tell, stop=stop)
    assert len(told) == 1
    stop.clear()
    told.clear()
    between = threading.Timer(0, stop.set)

    def start(_done: Vacuumed) -> None:
        if not between.is_alive():
            _start(between)

    maintain(store, _of(store), Schedule(3600), start, stop=stop)
    between.join()


def _start(timer: threading.Timer) -> None:
    if not timer.ident:
        timer.start()


def test_several_at_once_do_no_harm(tmp_path: Path) -> None:
    _filled(tmp_path)
    told: list[Vacuumed] = []
    threads = [
        threading.Thread(target=lambda: told.extend(_rounds(Store.open(str(tmp_path)), 5)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [one.error for one in told if one.error]
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["2.parquet"]


def test_once_by_the_command(tmp_path: Path) -> None:
    _filled(tmp_path / "wh" / ".accelerator")
    accelerator.open(tmp_path / "wh", create=True).close()
    asked = ["serve-maintenance", "--warehouse", str(tmp_path / "wh"), "--once"]
    found = CliRunner().invoke(main, [*asked, "--json"])
    assert found.exit_code == 0, found.output
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert {one["table"] for one in lines} == {"lake.shop.sales", OTHER}
    again = CliRunner().invoke(main, asked)
    assert "0 files deleted" in again.stdout


@pytest.mark.served
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    _filled(tmp_path / "wh" / ".accelerator")
    accelerator.open(tmp_path / "wh", create=True).close()
    command = ["-m", "accelerator.cli.main", "serve-maintenance", "--json"]
    process = subprocess.Popen(
        [sys.executable, *command, "--warehouse", str(tmp_path / "wh")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]  # the first round
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert all(json.loads(line)["error"] is None for line in lines)


OWNS_THE_LOCK = """
import signal, threading
from accelerator.cli.maintenance import stopped_by_signals

stop = threading.Event()
with stopped_by_signals(stop):
    with stop._cond:  # as `stop.wait` does for a moment
        signal.raise_signal(signal.SIGTERM)
    assert stop.wait(30)
"""


@pytest.mark.served
def test_a_signal_finds_the_event_locked() -> None:
    subprocess.run([sys.executable, "-c", OWNS_THE_LOCK], check=True, timeout=60)


def test_every_setting_of_the_vacuum_reaches_it() -> None:
    config = Config(
        vacuum_retain_hours=2,
        vacuum_versions_min=5,
        vacuum_min_batch_delete_size=10,
        vacuum_delete_threads=7,
        vacuum_deletes_per_second=80,
    )
    assert retention_of(config) == Retention(7_200_000, 5, 10, 7, 80)
    assert retention_of(config, 0.5).grace_ms == 1_800_000
