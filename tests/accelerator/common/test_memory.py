"""One memory budget: who has which share, what happens where it is too small, the peak."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.common.config import memory_budget
from accelerator.common.config.memory_budget import machine_bytes, shared_out
from accelerator.engines.duckdb.engine import NO_MAX, DuckDBEngine
from accelerator.engines.duckdb.result_limit import HeldRound, HeldRows
from accelerator.errors import ConfigError, MemoryExceededError
from accelerator.query.runtime.services import Services
from tests.support.pristine import Pristine

_MIB = 1024**2
_ROWS = 1_500_000
_JOIN = "SELECT t.k AS k, t.s AS s, d.name AS name FROM d.t t JOIN d.dims d ON t.id = d.id"


def test_the_shares_are_the_whole() -> None:
    for total in (128 * _MIB, 512 * _MIB, 64 * 1024 * _MIB):
        found = shared_out(total, 512 * _MIB, 512 * _MIB)
        assert found.rows == total // 4
        assert found.cache == found.manifest_cache == min(512 * _MIB, total // 8)
        given = found.duckdb + found.rows + found.cache + found.manifest_cache
        assert given == total - total // 8  # what allocators keep
        assert found.duckdb >= 3 * total // 8


def test_caches_that_are_smaller_leave_more_to_duckdb() -> None:
    none, some = shared_out(_MIB * 1024, 0, 0), shared_out(_MIB * 1024, _MIB, _MIB)
    assert none.duckdb == some.duckdb + 2 * _MIB


def test_without_a_setting_it_is_a_share_of_the_machine() -> None:
    found = shared_out(0, 0, 0)
    assert found.rows == int(int(machine_bytes() * 0.7) / 4)


@pytest.mark.parametrize("text", ["max", "", "1073741824", "a lie"])
def test_a_container_may_have_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    everything = machine_bytes()
    limit = tmp_path / "memory.max"
    limit.write_text(f"{text}\n")
    monkeypatch.setattr(memory_budget, "_CGROUPS", (limit, tmp_path / "none"))
    assert machine_bytes() == (1024**3 if text.isdigit() else everything)


def test_too_little_is_an_error() -> None:
    with pytest.raises(ConfigError, match="memory_bytes_max is 1,000 bytes") as raised:
        shared_out(1_000, 0, 0)
    assert "134,217,728" in raised.value.hint


def test_rows_count_while_their_work_goes_on() -> None:
    held = HeldRows(100)
    held.hold("nobody", 1_000)  # a build has a bound of its own
    with held.holding("a"), held.holding("b"):
        held.hold("a", 60)
        with held.holding("a"):
            held.hold("b", 40)
        with pytest.raises(MemoryExceededError, match="70 bytes of memory, and 40 are held"):
            held.hold("a", 10)
        held.hold("b", -30)
        held.hold("a", 30)
        rounds = HeldRound(held, "b")
        with pytest.raises(MemoryExceededError):
            rounds.hold(1)
        held.hold("a", -50)
        rounds.hold(20)
        rounds.hold(20)
        rounds.begin(5)
        assert held.bytes == 40 + 10 + 5
    assert held.bytes == 0


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    keys = np.random.default_rng(1).permutation(_ROWS)
    rows = pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "id": pa.array(keys % 3, pa.int32()),
            "s": pa.array(["a text of some forty letters, of the same value"] * _ROWS),
        }
    )
    catalog.create_table("d.t", rows.schema).append(rows)
    names = pa.table({"id": pa.array([0, 1, 2], pa.int32()), "name": ["a", "b", None]})
    catalog.create_table("d.dims", names.schema).append(names)


@pytest.fixture
def acc(pristine: Pristine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accelerator]:
    """With little memory; Spark answers one row."""
    monkeypatch.setattr(Services, "plain_table", lambda *_: pa.table({"plain": [1]}))
    with accelerator.open(pristine.lake(_fill), memory_bytes_max=128 * _MIB) as session:
        yield session


@pytest.mark.parametrize(
    "sql",
    [
        _JOIN,
        f"{_JOIN} ORDER BY t.k LIMIT 1400000",
        "SELECT k, s FROM d.t ORDER BY k",
        "SELECT k, s FROM d.t ORDER BY s DESC, k LIMIT 1400000",
        "SELECT k, max(s) AS s FROM d.t GROUP BY k",
        "SELECT g.k AS k, g.s AS s FROM (SELECT k, max(s) AS s FROM d.t GROUP BY k) g",
    ],
)
def test_what_does_not_fit_is_answered_by_spark(acc: Accelerator, sql: str) -> None:
    for _ in range(2):
        answer = acc.query(sql)
        assert answer.fetchall() == [(1,)]
        assert (answer.metrics.fallback or "").startswith("memory_exceeded"), sql
    assert not acc.fallbacks  # it's no failure
    assert acc.services.duckdb.held.bytes == 0
    # Less of the same is answered here.
    assert acc.query("SELECT k FROM d.t ORDER BY k LIMIT 2").fetchall() == [(0,), (1,)]


def test_a_stream_of_what_does_not_fit(acc: Accelerator) -> None:
    assert acc.query(_JOIN).metrics.engine == "spark"
    assert sum(batch.num_rows for batch in acc.stream(_JOIN)) == _ROWS
    assert acc.services.duckdb.held.bytes == 0


def test_what_duckdb_has_no_memory_for() -> None:
    engine = DuckDBEngine(memory=20_000_000, spill_bytes=1_000_000, threads=1)
    many = "SELECT i % 900000 AS k, count(*) AS n, max(i::VARCHAR) AS s FROM range(2000000) t(i)"
    for bytes_max in (None, NO_MAX):
        with pytest.raises(MemoryExceededError, match="DuckDB: Out of Memory"):
            engine.run(f"{many} GROUP BY 1", bytes_max=bytes_max)
    engine.close()


_SCRIPT = """
import pathlib, re, sys
import pyarrow as pa
import accelerator
from accelerator.query.runtime.services import Services

def peak():
    # Not getrusage: what it says begins with the peak of the process that started this one.
    said = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", said)[1]) * 1024

Services.plain_table = lambda *_: pa.table({"plain": [1]})
join = sys.argv[3]
with accelerator.open(sys.argv[1], memory_bytes_max=int(sys.argv[2])) as acc:
    acc.query("SELECT id, count(*) AS n FROM d.t GROUP BY id").arrow()
    before = peak()
    wide = "concat(" + ", ".join(["t.s"] * 8) + ")"
    for sql in (
        join,
        f"{join} ORDER BY t.s, t.k LIMIT 1400000",
        "SELECT k, s FROM d.t ORDER BY k",
        f"SELECT k, max({wide}) AS s FROM d.t GROUP BY k",
        f"SELECT k, max({wide}) AS s FROM d.t JOIN d.dims ON t.id = dims.id GROUP BY k",
    ):
        acc.query(sql).arrow()
    for sql in (join, "SELECT k, count(*) AS n FROM d.t GROUP BY k"):
        assert sum(batch.num_rows for batch in acc.stream(sql)) == 1500000
    print(peak() - before)
"""


def _peak(lake: Path, bytes_max: int) -> int:
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(lake), str(bytes_max), _JOIN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout)


@pytest.mark.served
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak isn't told here")
def test_the_peak_of_the_process(pristine: Pristine) -> None:
    """Beside what it had before; the same statements need more where they may have it."""
    lake = pristine.lake(_fill)
    little = 256 * _MIB
    found = [_peak(lake, little), _peak(lake, 4096 * _MIB)]
    fixed = 96 * _MIB  # threads, modules that a first statement imports, open files
    assert found[0] <= little + fixed < found[1], found
