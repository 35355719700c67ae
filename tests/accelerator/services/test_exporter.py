"""The daemon's figures: by a real scrape, as documented, for as long as it runs."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

import accelerator
from accelerator.cli.main import main
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import ConfigError, StoreError
from accelerator.services.maintenance.daemon import FinishedRound, Schedule, Vacuumed
from accelerator.services.maintenance.prometheus import Exporter, _parsed, served
from accelerator.store import Store, VacuumLine
from tests.accelerator.store.samples import TABLE, cube, segment
from tests.support.extent import sized

HOME = Path(__file__).parents[3]
NAME = "accelerator_maintenance_"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def scrape(port: int) -> dict[tuple[str, ...], float]:
    """Samples by name and label values, those of when they were made left out."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as reply:
        text = reply.read().decode()
    return {
        (one.name.removeprefix(NAME), *(one.labels[label] for label in sorted(one.labels))): value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if not one.name.endswith("_created")
        for value in (one.value,)
    }


def fill(root: Path) -> Store:
    """Garbage of a table with a cube, and a cube in the bin."""
    store = Store.open(str(root))
    store.create_cube(cube(table="lake.shop.`my.sales`"))
    store.create_cube(cube("other", "d" * 32))
    store.recycle_cube("other", 10**9)
    path = root / "tables" / TABLE / "cubes" / ("c" * 32) / "j" / "1.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"rows")
    store.add_segments(TABLE, [segment(1, 1, path=f"file://{path}")])
    store.add_segments(TABLE, [segment(2, 2, path=f"file://{path}2")], replaces=[1])
    return store


def opened(folder: Path) -> accelerator.Accelerator:
    return accelerator.open(folder, create=True, vacuum_versions_min=1, vacuum_retain_hours=0)


def test_figures_of_good_and_failed_rounds(tmp_path, monkeypatch):
    fill(tmp_path / ".accelerator")
    port, stop, real = free_port(), threading.Event(), Store.vacuum
    told: list[Vacuumed] = []
    seen: list[dict[tuple[str, ...], float]] = []

    def vacuum(self, uuid, retention, **how):
        if len(told) == 1:
            raise StoreError("the disk is gone")
        if len(told) == 2:  # the second round has ended
            seen.append(scrape(port))
        return real(self, uuid, retention, **how)

    monkeypatch.setattr(Store, "vacuum", vacuum)
    with opened(tmp_path) as acc:
        acc.maintain(Schedule(0, 0), told.append, stop=stop, rounds=3, metrics=str(port))
    found = seen[0]
    table = "lake.shop.`my.sales`"
    assert [one.code for one in told] == [None, "store_unavailable", None]
    assert told[0].table == table and "report" not in as_dict(told[0])
    assert (found["rounds_total", "good"], found["rounds_total", "failed"]) == (1, 1)
    assert found["round_duration_seconds_count",] == 2
    assert round(found["round_duration_seconds_sum",], 3) >= told[0].seconds
    assert found["failures_total", "store_unavailable"] == 1
    assert found["deleted_total", "artifact", table] == 1
    assert found["freed_bytes_total", "artifact", table] == 512 == told[0].bytes
    assert found["requests_total", table] == told[0].requests
    assert (found["tables",], found["recycle_bin_cubes",]) == (1, 1)
    deleted = sum(value for key, value in found.items() if key[0] == "deleted_total")
    assert deleted == told[0].files
    with pytest.raises(urllib.error.URLError):
        scrape(port)


def test_the_time_of_the_last_good_round():
    exporter = Exporter(now_s=lambda: 1_750_000_000.5)
    last = f"{NAME}last_good_round_timestamp_seconds"
    exporter.ended(FinishedRound(1, failed=True))
    assert exporter.registry.get_sample_value(last) == 0
    exporter.ended(FinishedRound(1, failed=False, tables=2, binned=3))
    exporter.ended(FinishedRound(1, failed=True))
    assert exporter.registry.get_sample_value(last) == 1_750_000_000.5
    assert exporter.registry.get_sample_value(f"{NAME}tables") == 2


def test_files_are_counted_not_lines():
    exporter, done = Exporter(), Vacuumed(0, "t", full=False, requests=4)
    for _ in range(2):
        exporter.vacuumed(done, (VacuumLine("deleted", "chunk", "why", 3, 0),))
    value = exporter.registry.get_sample_value
    assert value(f"{NAME}deleted_total", {"table": "t", "kind": "chunk"}) == 6
    assert value(f"{NAME}freed_bytes_total", {"table": "t", "kind": "chunk"}) is None
    assert value(f"{NAME}requests_total", {"table": "t"}) == 8


def test_what_is_documented_is_what_is_exported():
    page = (HOME / "docs/reference/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", page, re.MULTILINE)
    documented = {
        (name, kind, tuple(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels in rows
        if name.startswith("accelerator_maintenance_")
    }
    exported = {
        (one._name + "_total" * (one._type == "counter"), one._type, tuple(one._labelnames))
        for one in vars(Exporter()).values()
        if hasattr(one, "_labelnames")
    }
    assert documented == exported
    names = {one.name for one in Exporter().registry.collect()}
    assert {name.removesuffix("_total") for name, _, _ in documented} == names


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost", ""])
def test_a_port_in_use_stops_it_before_the_first_round(tmp_path, host):
    fill(tmp_path / ".accelerator")
    told: list[Vacuumed] = []
    with socket.socket() as other, opened(tmp_path) as acc:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"{host}:{other.getsockname()[1]}".removeprefix(":")
        with pytest.raises(ConfigError, match="can't be served") as raised:
            acc.maintain(
                Schedule(0, 0), told.append, stop=threading.Event(), rounds=1, metrics=address
            )
        assert "free port" in str(raised.value.hint)
        assert not told
        command = ["serve-maintenance", "--warehouse", str(tmp_path), "--once", "--metrics"]
        found = CliRunner().invoke(main, [*command, address])
    assert found.exit_code == 1 and "error [config_invalid]" in found.stderr


@pytest.mark.parametrize(
    "address", ["", "0", "65536", "host", "a:b", ":9464", "1:2:3", "[::1]", "9464 ", "-1", "x y:1"]
)
def test_addresses_that_are_none(address):
    with pytest.raises(ConfigError), served(address):
        raise AssertionError("it listens")


# Either signal ends the command: test_maintenance.
@pytest.mark.served
@pytest.mark.parametrize("number", sized([signal.SIGTERM], full=[signal.SIGTERM, signal.SIGINT]))
def test_the_server_of_the_command_ends_with_it(tmp_path, number):
    fill(tmp_path / ".accelerator")
    accelerator.open(tmp_path, create=True).close()
    port = free_port()
    command = ["-m", "accelerator.cli.main", "serve-maintenance", "--json", "--metrics", str(port)]
    process = subprocess.Popen(
        [sys.executable, *command, "--warehouse", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # the first round's only table
    assert scrape(port)["requests_total", "lake.shop.`my.sales`"] > 0
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert not errors


@pytest.mark.served
def test_nothing_of_it_is_imported_unasked(tmp_path):
    probe = f"""
import sys, threading, accelerator
from accelerator.services.maintenance.daemon import Schedule
with accelerator.open({str(tmp_path)!r}, create=True) as acc:
    acc.maintain(Schedule(0, 0), print, stop=threading.Event(), rounds=1)
assert "prometheus_client" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_without_a_host_only_this_machine_is_told():
    assert _parsed("9464") == ("127.0.0.1", 9464)
    assert _parsed("[::1]:9464") == ("::1", 9464)
    assert _parsed("0.0.0.0:1") == ("0.0.0.0", 1)


def reply(port: int, *headers: str, version: str = "HTTP/1.1") -> tuple[int, str]:
    """Status and body of a request for the figures with these headers."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
        text = "".join(f"{header}\r\n" for header in headers)
        one.sendall(f"GET /metrics {version}\r\n{text}Connection: close\r\n\r\n".encode())
        shown = b"".join(iter(lambda: one.recv(65536), b"")).decode()
    head, _, body = shown.partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_figures_are_for_hosts_of_the_server_alone():
    port = free_port()
    with served(f"0.0.0.0:{port}", ["metrics.example"]):
        for good in ("127.0.0.1", f"127.0.0.1:{port}", "LOCALHOST", "[::1]", "metrics.example."):
            status, body = reply(port, f"Host: {good}")
            assert status == 200 and "rounds_total" in body, good
        assert reply(port, version="HTTP/1.0")[0] == 200
        for bad in ("evil.example", "metrics.example.evil", "192.0.2.1", "a b", "localhost, b"):
            status, body = reply(port, f"Host: {bad}")
            assert status == 421 and "rounds_total" not in body, bad
        assert "hosts in [gateway]" in reply(port, "Host: evil.example")[1]
        assert reply(port)[0] == 421
        assert reply(port, "Host: localhost", "Host: evil.example")[0] == 421


def test_the_command_takes_the_hosts_of_the_gateway(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(
        "accelerator.session.session.Accelerator.maintain",
        lambda self, *args, **how: given.append(how["hosts"]),
    )
    fill(tmp_path / ".accelerator")
    accelerator.open(tmp_path, create=True).close()
    settings = tmp_path / "settings.toml"
    settings.write_text('[gateway]\nhosts = ["metrics.example"]\n')
    words = ["serve-maintenance", "--warehouse", str(tmp_path), "--config", str(settings), "--once"]
    for more in ([], ["--metrics", "9464"]):
        assert CliRunner().invoke(main, [*words, *more]).exit_code == 0
    assert given == [(), ("metrics.example",)]
