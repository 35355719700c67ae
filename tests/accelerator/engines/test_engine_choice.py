"""Which engine reads what: by the machine's measured rate and Spark's cores, or a limit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.common.config.config import Config
from accelerator.engines import choice as engines_choice
from accelerator.engines.choice import EngineChoice, Estimate, measured_rate
from tests.support.pristine import Pristine

_GIB = 1024**3
_HERE: Any = [SimpleNamespace(location="file:///w/d/t")]
_ELSEWHERE: Any = [*_HERE, SimpleNamespace(location="s3://w/d/t")]


def _choice(cores: int | None = None, **settings: Any) -> EngineChoice:
    """With a Spark of so many cores that runs, on a machine that reads 500 MB/s on each core."""
    spark = SimpleNamespace(
        started=cores is not None, engine=lambda: SimpleNamespace(parallelism=cores)
    )
    made = EngineChoice(Config(duckdb_threads=2, **settings), cast(Any, spark), None)
    made._rate = 500e6
    return made


def test_what_is_small_is_read_here() -> None:
    assert _choice(1000).in_process(256 * 1024**2, _HERE)
    assert _choice(1000).estimate(256 * 1024**2) is None


@pytest.mark.parametrize("cores", [None, 1, 2, 12])
def test_a_spark_of_few_cores_reads_nothing_faster(cores: int | None) -> None:
    assert _choice(cores).in_process(10**15, _HERE)


def test_many_cores_read_more_faster() -> None:
    # 1 GB/s here; 500 / 6 MB/s on each of 120 cores, which is 10 GB/s after 0.2 s: even at 222 MB.
    choice = _choice(120)
    assert not choice.in_process(_GIB, _HERE)
    assert choice.estimate(10**10) == Estimate(10**10, 10.0, 1.2, 120)
    # 18 cores read 1.5 GB/s after 0.2 s: even at 0.6 GB.
    few = _choice(18)
    assert few.in_process(590_000_000, _HERE)
    assert not few.in_process(610_000_000, _HERE)


def test_a_spark_elsewhere_that_is_not_started_has_to_start_first() -> None:
    choice = _choice(None, spark_master="spark://there:7077")
    assert choice.in_process(10 * _GIB, _HERE)
    assert not choice.in_process(20 * _GIB, _HERE)


def test_rows_from_elsewhere_are_held_in_memory() -> None:
    assert _choice().in_process(2 * _GIB, _ELSEWHERE)
    assert not _choice().in_process(2 * _GIB + 1, _ELSEWHERE)


def test_settings_come_first() -> None:
    assert _choice(1000, engine="duckdb").in_process(10**15, _ELSEWHERE)
    assert not _choice(engine="spark").in_process(1, _HERE)
    assert _choice(1000, duckdb_bytes_max=10**12).in_process(10**12, _ELSEWHERE)
    assert not _choice(duckdb_bytes_max=10).in_process(11, _HERE)
    for engine in ("duckdb", "spark"):
        assert _choice(engine=engine).estimate(10**12) is None
    assert _choice(duckdb_bytes_max=10).estimate(10**12) is None


def test_the_rate_is_measured_once_for_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = iter([5e8])
    monkeypatch.setattr(engines_choice, "measured_rate", lambda: next(measured))
    spark = cast(Any, SimpleNamespace(started=False))
    for _ in range(2):
        assert EngineChoice(Config(), spark, tmp_path / "cache").rate() == 5e8


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[" * 100_000,
        "[]",
        '{"format": 2}',
        *(f'{{"format":1,"machine":"M","rate":{rate}}}' for rate in ("1", "NaN", "1e99", "true")),
        '{"format":1,"machine":"other","rate":5e8}',
        "x" * 10_000_000,
    ],
)
def test_what_is_kept_and_cannot_be_a_rate_is_measured_again(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines_choice, "measured_rate", lambda: 7e8)
    spark = cast(Any, SimpleNamespace(started=False))
    EngineChoice(Config(), spark, tmp_path).rate()
    file = tmp_path / "machine.json"
    machine = json.loads(file.read_text())["machine"]
    file.write_text(kept.replace('"M"', json.dumps(machine)))
    monkeypatch.setattr(engines_choice, "measured_rate", lambda: 6e8)
    assert EngineChoice(Config(), spark, tmp_path).rate() == 6e8


def test_a_folder_that_cannot_be_written_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(engines_choice, "measured_rate", lambda: 6e8)
    spark = cast(Any, SimpleNamespace(started=False))
    assert EngineChoice(Config(), spark, tmp_path / "file" / "cache").rate() == 6e8


def test_a_rate_is_one_of_a_machine() -> None:
    low, high = engines_choice._RATES
    assert low < measured_rate() < high


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array(range(1000), pa.int32())})
    catalog.create_table("d.t", rows.schema).append(rows)


def test_explain_tells_what_was_compared(
    pristine: Pristine, no_java: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines_choice, "measured_rate", lambda: 1e6)
    monkeypatch.setattr(engines_choice, "_SURE", 10)
    with accelerator.open(pristine.lake(_fill), duckdb_threads=2) as acc:
        text = acc.explain("SELECT sum(k) AS s FROM d.t")
        assert "s by DuckDB in this process, " in text
        told = json.loads(acc.explain("SELECT sum(k) AS s FROM d.t", format="json"))
        assert set(told["estimate"]) == {"size", "duckdb_s", "spark_s", "spark_cores"}
        assert (Path(acc.config.store_root) / "cache" / "machine.json").is_file()


def test_what_cannot_be_measured_is_assumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> float:
        raise OSError("no space left")

    monkeypatch.setattr(engines_choice, "measured_rate", full)
    spark = cast(Any, SimpleNamespace(started=False))
    assert EngineChoice(Config(), spark, tmp_path).rate() == engines_choice._ASSUMED
    assert not list(tmp_path.iterdir())


def test_planted_links_and_folders_are_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines_choice, "measured_rate", lambda: 6e8)
    cache, victim = tmp_path / "cache", tmp_path / "victim"
    cache.mkdir()
    victim.write_text("mine")
    (cache / f"machine.json.{os.getpid()}").symlink_to(victim)
    (cache / "machine.json").mkdir()
    spark = cast(Any, SimpleNamespace(started=False))
    assert EngineChoice(Config(), spark, cache).rate() == 6e8
    assert victim.read_text() == "mine"
    assert len(list(cache.iterdir())) == 2
