"""Copies and roll-ups of segment files in memory: made at the third use, bounded, never needed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace

from accelerator.engines.duckdb.engine import DuckDBEngine, parquet_scan, text_literal
from accelerator.engines.duckdb.segment_cache import Copy
from accelerator.errors import CancelledError, EngineError
from accelerator.planning.plans import DuckDBRun
from accelerator.query.execution.cover_runner import Read, _answer


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDBEngine]:
    """An engine with room for three files of a thousand bytes."""
    made = DuckDBEngine(cache_bytes=9_000, folders=[str(tmp_path)])
    yield made
    made.close()


def _file(engine: DuckDBEngine, folder: Path, number: int) -> DuckDBRun:
    path = str(folder / f"{number}.parquet")
    select = f"SELECT i, i % 7 AS d0, {number} AS n FROM range(5000) r(i)"
    engine.execute(f"COPY ({select}) TO {text_literal(path)} (FORMAT parquet)")
    scan = parquet_scan([path])
    sql = f"SELECT d0, SUM(i) AS s, MAX(n) AS n FROM {scan} GROUP BY d0 ORDER BY d0"
    return DuckDBRun(sql, (), ((scan, Copy(f"FROM {scan}", 1_000, 5_000)),))


def _rolled(run: DuckDBRun, column: str = "d0", size: int = 1_000_000) -> DuckDBRun:
    """The same statement, whose file counts as large: a roll-up to the column may answer."""
    ((scan, _),) = run.copies
    select = f"SELECT {column}, SUM(i) AS i, MAX(n) AS n FROM {scan} GROUP BY {column}"
    cells = f"SELECT approx_count_distinct({column}) FROM {scan}"
    return replace(run, copies=((scan, Copy(select, size, 5_000, cells)),))


def _tables(engine: DuckDBEngine) -> int:
    rows = engine.run("SELECT COUNT(*) AS n FROM duckdb_tables() WHERE database_name = 'hot'")
    return int(rows["n"][0].as_py())


def _wait_for_copies() -> None:
    for thread in threading.enumerate():
        if thread.name == "hot":
            thread.join(30)


def _hot(engine: DuckDBEngine, run: DuckDBRun) -> str | None:
    ((_, copy),) = run.copies
    return engine.hot.table(copy)


def test_the_copy_answers_as_the_file_does(engine: DuckDBEngine, tmp_path: Path) -> None:
    run = _file(engine, tmp_path, 1)
    answers = [_answer(run, engine, Read({}, {}, {}, None), "") for _ in range(3)]
    _wait_for_copies()
    assert _hot(engine, run) is not None
    (tmp_path / "1.parquet").unlink()  # only the copy is left
    assert all(
        _answer(run, engine, Read({}, {}, {}, None), "").equals(answer) for answer in answers
    )


def test_a_dropped_copy_gives_way_to_the_file(engine: DuckDBEngine, tmp_path: Path) -> None:
    run = _file(engine, tmp_path, 1)
    before = _answer(run, engine, Read({}, {}, {}, None), "")
    for _ in range(2):
        _answer(run, engine, Read({}, {}, {}, None), "")
    _wait_for_copies()
    engine.execute(f"DROP TABLE {_hot(engine, run)}")
    assert _answer(run, engine, Read({}, {}, {}, None), "").equals(before)


def test_copies_stay_within_the_budget(engine: DuckDBEngine, tmp_path: Path) -> None:
    runs = [_file(engine, tmp_path, number) for number in range(5)]
    for run in runs:
        for _ in range(3):
            _answer(run, engine, Read({}, {}, {}, None), "")
        _wait_for_copies()
    assert _tables(engine) == 3
    assert _hot(engine, runs[0]) is None and _hot(engine, runs[-1]) is not None


def test_no_budget_makes_no_copy(tmp_path: Path) -> None:
    cold = DuckDBEngine(cache_bytes=0, folders=[str(tmp_path)])
    run = _file(cold, tmp_path, 1)
    for _ in range(5):
        assert _hot(cold, run) is None
    cold.close()


def test_a_missing_file_is_an_error_of_the_statement_alone(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    run = _file(engine, tmp_path, 1)
    (tmp_path / "1.parquet").unlink()
    for _ in range(5):
        with pytest.raises(EngineError):
            _answer(run, engine, Read({}, {}, {}, None), "")
    _wait_for_copies()
    assert _hot(engine, run) is None


def test_a_roll_up_answers_as_the_file_does(engine: DuckDBEngine, tmp_path: Path) -> None:
    run = _rolled(_file(engine, tmp_path, 1))
    answers = [_answer(run, engine, Read({}, {}, {}, None), "") for _ in range(3)]
    _wait_for_copies()
    table = _hot(engine, run)
    assert engine.run(f"SELECT COUNT(*) AS n FROM {table}")["n"][0].as_py() == 7
    (tmp_path / "1.parquet").unlink()  # only the roll-up is left
    assert all(
        _answer(run, engine, Read({}, {}, {}, None), "").equals(answer) for answer in answers
    )


def test_a_roll_up_that_leaves_most_cells_is_not_made(engine: DuckDBEngine, tmp_path: Path) -> None:
    run = _rolled(_file(engine, tmp_path, 1), "i // 2")
    for _ in range(5):
        assert _hot(engine, run) is None
        _wait_for_copies()
    assert _tables(engine) == 0


def test_roll_ups_stay_within_the_budget(engine: DuckDBEngine, tmp_path: Path) -> None:
    small, large = (
        _rolled(_file(engine, tmp_path, number), size=size)
        for number, size in ((1, 1_000_000), (2, 10_000_000))
    )
    for run in (small, large):
        for _ in range(4):
            _hot(engine, run)
            _wait_for_copies()
    assert _hot(engine, small) is not None and _hot(engine, large) is None


def test_what_was_forgotten_while_it_was_copied_is_dropped(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    run = _file(engine, tmp_path, 1)
    with engine.hot._one_at_a_time:
        for _ in range(3):
            _hot(engine, run)
        for number in range(300):
            engine.hot.table(Copy(f"FROM other{number}", 1, 1))
    _wait_for_copies()
    assert _tables(engine) == 0


def test_closing_ends_a_long_copy(tmp_path: Path) -> None:
    engine = DuckDBEngine(cache_bytes=1_000_000)
    endless = Copy("SELECT SUM(a.i * b.i) AS s FROM range(9000000) a(i), range(9000000) b(i)", 1, 1)
    for _ in range(3):
        engine.hot.table(endless)
    while engine.hot._loader is None:
        threading.Event().wait(0.01)
    closing = threading.Thread(target=engine.close)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()


_ENDS_EARLY = """
import time
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.duckdb.segment_cache import Copy

engine = DuckDBEngine(cache_bytes=10**9)
many = "SELECT i % 1000003 AS d, SUM(i) AS s FROM range(2000000000) r(i) GROUP BY d"
for _ in range(3):
    engine.hot.table(Copy(many, 10, 10**9, "SELECT 1"))
while engine.hot._loader is None:
    time.sleep(0.01)
print("the end")
"""


def test_a_process_may_end_while_a_copy_is_made() -> None:
    """A session that was never closed once ended its process by SIGABRT."""
    done = subprocess.run(
        [sys.executable, "-c", _ENDS_EARLY], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")


_FORKS = """
import os, threading, time
from accelerator.engines.duckdb import engine as duckdb

engine = duckdb.DuckDBEngine()
endless = "SELECT SUM(a.i * b.i) AS s FROM range(10000000) a(i), range(1000000) b(i)"

def run():
    try:
        engine.run(endless)
    except duckdb.CancelledError:
        pass

threading.Thread(target=run, daemon=True).start()
while not engine._running:
    time.sleep(0.01)
child = os.fork()
if child:
    os.waitpid(child, 0)
    print("the end", flush=True)
else:
    engine.end = lambda: print("would wait", flush=True)
"""


@pytest.mark.served
def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "the end\n")


_ASKS_ON = """
import threading, time
from accelerator.engines.duckdb import engine as duckdb

engine = duckdb.DuckDBEngine()

def run():
    while True:
        try:
            engine.run("SELECT COUNT(*) FROM range(1000000)")
        except duckdb.CancelledError:
            pass

for _ in range(2):
    threading.Thread(target=run, daemon=True).start()
while not engine._running:
    time.sleep(0.01)
"""


@pytest.mark.served
def test_a_process_may_end_while_threads_ask_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASKS_ON], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_closing_stops_what_runs_in_other_threads() -> None:
    engine = DuckDBEngine()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            engine.run("SELECT SUM(a.i * b.i) AS s FROM range(10000000) a(i), range(1000000) b(i)")
        except CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not engine._running:
        thread.join(0.01)
    engine.close()
    thread.join(30)
    assert len(raised) == 1


def _table(engine: DuckDBEngine) -> tuple[dict[str, pa.Table], dict[str, Copy]]:
    table = pa.table({"k": [1, 2, 3], "g": ["x", "y", None]})
    return {"raw_1": table}, {"raw_1": Copy("a name", table.nbytes, 3, source=table)}


def test_a_table_in_memory_is_copied_too(engine: DuckDBEngine) -> None:
    run = DuckDBRun("SELECT g, k FROM raw_1 AS t1 ORDER BY k")
    tables, copies = _table(engine)
    answers = [_answer(run, engine, Read(tables, {}, copies, None), "") for _ in range(3)]
    _wait_for_copies()
    assert engine.hot.table(copies["raw_1"]) is not None
    gone = {"raw_1": tables["raw_1"].slice(0, 0)}  # only the copy has rows
    assert all(
        _answer(run, engine, Read(gone, {}, copies, None), "").equals(answer) for answer in answers
    )


def test_a_text_that_reads_like_the_table_stays(engine: DuckDBEngine) -> None:
    run = DuckDBRun("SELECT 'raw_1 AS t1' AS said, count(*) AS n FROM raw_1 AS t1")
    tables, copies = _table(engine)
    for _ in range(4):
        answer = _answer(run, engine, Read(tables, {}, copies, None), "")
        _wait_for_copies()
        assert answer.to_pylist() == [{"said": "raw_1 AS t1", "n": 3}]
