"""Copies of segment files in memory: made at the third use, bounded, never needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.engines.duckdb import DuckDBEngine, parquet_scan, text_literal
from accelerator.errors import EngineError
from accelerator.plan import DuckDBRun
from accelerator.running import _answer


@pytest.fixture
def engine() -> Iterator[DuckDBEngine]:
    """An engine with room for three files of a thousand bytes."""
    made = DuckDBEngine(cache_bytes=9_000)
    yield made
    made.close()


def _file(engine: DuckDBEngine, folder: Path, number: int) -> DuckDBRun:
    path = str(folder / f"{number}.parquet")
    select = f"SELECT i, i % 7 AS d0, {number} AS n FROM range(5000) r(i)"
    engine.execute(f"COPY ({select}) TO {text_literal(path)} (FORMAT parquet)")
    scan = parquet_scan([path])
    sql = f"SELECT d0, SUM(i) AS s, MAX(n) AS n FROM {scan} GROUP BY d0 ORDER BY d0"
    return DuckDBRun(sql, (), scan, (path,), 1_000)


def _wait_for_copies() -> None:
    for thread in threading.enumerate():
        if thread.name == "hot":
            thread.join(30)


def _hot(engine: DuckDBEngine, run: DuckDBRun) -> str | None:
    return engine.hot.table(run.paths, run.bytes, run.scan)


def test_the_copy_answers_as_the_file_does(engine: DuckDBEngine, tmp_path: Path) -> None:
    run = _file(engine, tmp_path, 1)
    answers = [_answer(run, engine, {}, "") for _ in range(3)]
    _wait_for_copies()
    assert _hot(engine, run) is not None
    Path(run.paths[0]).unlink()  # only the copy is left
    assert all(_answer(run, engine, {}, "").equals(answer) for answer in answers)


def test_a_dropped_copy_gives_way_to_the_file(engine: DuckDBEngine, tmp_path: Path) -> None:
    run = _file(engine, tmp_path, 1)
    before = _answer(run, engine, {}, "")
    for _ in range(2):
        _answer(run, engine, {}, "")
    _wait_for_copies()
    engine.execute(f"DROP TABLE {_hot(engine, run)}")
    assert _answer(run, engine, {}, "").equals(before)


def test_copies_stay_within_the_budget(engine: DuckDBEngine, tmp_path: Path) -> None:
    runs = [_file(engine, tmp_path, number) for number in range(5)]
    for run in runs:
        for _ in range(3):
            _answer(run, engine, {}, "")
        _wait_for_copies()
    count = engine.run("SELECT COUNT(*) AS n FROM duckdb_tables() WHERE database_name = 'hot'")
    assert count["n"][0].as_py() == 3
    assert _hot(engine, runs[0]) is None and _hot(engine, runs[-1]) is not None


def test_no_budget_makes_no_copy(tmp_path: Path) -> None:
    cold = DuckDBEngine(cache_bytes=0)
    run = _file(cold, tmp_path, 1)
    for _ in range(5):
        assert _hot(cold, run) is None
    cold.close()


def test_a_missing_file_is_an_error_of_the_statement_alone(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    run = _file(engine, tmp_path, 1)
    Path(run.paths[0]).unlink()
    for _ in range(5):
        with pytest.raises(EngineError):
            _answer(run, engine, {}, "")
    _wait_for_copies()
    assert _hot(engine, run) is None
