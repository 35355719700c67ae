"""DuckDB reads and writes the store's folder and its spill folder, and nothing else at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from accelerator.engines.duckdb.engine import DuckDBEngine, parquet_scan, text_literal
from accelerator.errors import EngineError


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder of Parquet, odd characters in its name, and a link that leads out of it."""
    (tmp_path / "secret").mkdir()
    folder = tmp_path / "the [store]'s*"
    folder.mkdir()
    for path in (folder, tmp_path / "secret"):
        duckdb.sql(f"COPY (SELECT 7 AS a) TO {text_literal(f'{path}/x.parquet')}")
    (folder / "link").symlink_to(tmp_path / "secret")
    return folder


@pytest.fixture
def engine(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DuckDBEngine]:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    made = DuckDBEngine(threads=1, folders=[str(store)], memory=100_000_000, spill_bytes=50_000_000)
    yield made
    made.close()
    assert list((tmp_path / "work").iterdir()) == []


def test_its_statements_and_what_it_draws_are_in_utc_wherever_the_machine_is() -> None:
    """A process of its own, since DuckDB asks for the machine's zone once."""
    probe = """
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.common.display import table_text
engine = DuckDBEngine(threads=1)
row = engine.run("SELECT hour(to_timestamp(0)) AS h, current_setting('TimeZone') AS z").to_pylist()
drawn = table_text(engine.run("SELECT to_timestamp(0) AS t"))
print(row, "1970-01-01 00:00:00+00" in drawn)
"""
    ran = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "[{'h': 0, 'z': 'UTC'}] True\n", ran.stderr


def test_what_is_in_its_folder_is_read_and_written(engine: DuckDBEngine, store: Path) -> None:
    engine.execute(f"COPY (SELECT 8 AS a) TO {text_literal(f'{store}/y.parquet')}")
    scan = parquet_scan([f"{store}/x.parquet", f"{store}/y.parquet"])
    assert engine.run(f"SELECT sum(a) AS a FROM {scan}").to_pylist() == [{"a": 15}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_parquet('{outside}/x.parquet')",
        "SELECT * FROM '{outside}/x.parquet'",
        "SELECT * FROM read_parquet('{inside}/../secret/x.parquet')",
        "SELECT * FROM read_parquet('{inside}/link/x.parquet')",
        "SELECT * FROM read_parquet('{inside}-more/x.parquet')",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM glob('{outside}/*')",
        "COPY (SELECT 1) TO '{outside}/y.parquet'",
        "COPY (SELECT 1) TO 'y.csv'",
        "EXPORT DATABASE '{outside}/all'",
        "ATTACH '{outside}/z.db'",
        "ATTACH 'z.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{inside}/x.parquet'",
        "CREATE PERSISTENT SECRET s (TYPE http)",
        "SELECT * FROM read_parquet('https://127.0.0.1:9/x.parquet')",
        "SELECT * FROM read_parquet('s3://b/x.parquet')",
        "SET enable_external_access = true",
        "SET memory_limit = '90GB'",
        "SET allowed_directories = ['/']",
        "RESET lock_configuration",
        "PRAGMA temp_directory = '/'",
        "SELECT * FROM rows_of_python",
        "SELECT 1; SELECT 2",
    ],
)
def test_anything_else_is_refused(engine: DuckDBEngine, store: Path, sql: str) -> None:
    rows_of_python = pa.table({"a": [1]})
    inside = str(store).replace("'", "''")
    text = sql.format(inside=inside, outside=store.parent / "secret")
    before = sorted(store.parent.rglob("*"))
    with pytest.raises(EngineError, match="DuckDB"):
        engine.run(text)
    with pytest.raises(EngineError, match="DuckDB"):
        engine.execute(text)
    assert sorted(store.parent.rglob("*")) == before
    assert rows_of_python.num_rows == 1


def test_a_semicolon_in_a_text_is_no_end(engine: DuckDBEngine) -> None:
    assert engine.run("SELECT 'a;b' AS a;").to_pylist() == [{"a": "a;b"}]


_MANY = (
    "SELECT count(*) AS n FROM (SELECT DISTINCT hash(i) AS h, repeat(CAST(i AS VARCHAR), {width})"
    " AS t FROM range(1000000) r(i))"
)


def test_it_spills_to_a_folder_of_its_own_under_a_limit(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spill").mkdir()
    made = DuckDBEngine(
        threads=1,
        memory=40_000_000,
        spill_folder=str(tmp_path / "spill"),
        spill_bytes=1_000_000_000,
    )
    assert made.run(_MANY.format(width=2)).to_pylist() == [{"n": 1_000_000}]
    (own,) = (tmp_path / "spill").iterdir()
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    made.close()
    assert list((tmp_path / "spill").iterdir()) == []
    small = DuckDBEngine(
        threads=1, memory=40_000_000, spill_folder=str(tmp_path / "spill"), spill_bytes=1_000_000
    )
    with pytest.raises(EngineError, match="max_temp_directory_size"):
        small.run(_MANY.format(width=9))
    small.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["secret", "spill", "the [store]'s*"]


def test_a_spill_folder_that_cant_be_made_is_an_error() -> None:
    made = DuckDBEngine(spill_folder="/nonexistent/folder")
    with pytest.raises(EngineError, match="intermediate results") as caught:
        made.run("SELECT 1")
    assert "duckdb_spill_folder" in (caught.value.hint or "")
    made.close()


_ENDS = """
from accelerator.engines.duckdb.engine import DuckDBEngine
engine = DuckDBEngine(threads=1)
print(engine.run("SELECT 1 AS a").to_pylist())
"""


def test_a_process_leaves_no_spill_folder_behind(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _ENDS], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[{'a': 1}]\n"
    assert list(tmp_path.iterdir()) == []
    assert tempfile.gettempdir() != str(tmp_path)
