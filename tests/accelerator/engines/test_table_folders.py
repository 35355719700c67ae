"""DuckDB reads tables in checked folders of their own, which may be named while it's open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from accelerator.engines.duckdb import table_folders
from accelerator.engines.duckdb.engine import DuckDBEngine, parquet_scan, text_literal
from accelerator.engines.duckdb.object_file_system import ObjectFileSystem
from accelerator.engines.duckdb.object_scans import PROTOCOL
from accelerator.engines.duckdb.segment_cache import Copy
from accelerator.engines.duckdb.table_folders import TableFolders
from accelerator.errors import EngineError

_OWN_TEST = "acc_has_token('a b', 'b')"


def _written(folder: Path, value: int, rows: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "x.parquet"
    duckdb.sql(f"COPY (SELECT {value} AS a FROM range({rows})) TO {text_literal(str(path))}")
    return path


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDBEngine]:
    (tmp_path / "store").mkdir()
    (tmp_path / "spill").mkdir()
    made = DuckDBEngine(
        threads=1,
        folders=[str(tmp_path / "store")],
        private=[str(tmp_path / "store"), str(tmp_path / "gateway" / "users.toml")],
        spill_folder=str(tmp_path / "spill"),
        cache_bytes=1 << 20,
    )
    yield made
    made.close()
    assert list((tmp_path / "spill").iterdir()) == []


def _value(engine: DuckDBEngine, path: Path) -> int:
    (row,) = engine.run(f"SELECT any_value(a) AS a FROM {parquet_scan([str(path)])}").to_pylist()
    value: int = row["a"]
    return value


def test_tables_are_allowed_while_it_is_open(engine: DuckDBEngine, tmp_path: Path) -> None:
    paths = [_written(tmp_path / f"ns [{n}]*" / "t", n) for n in range(3)]
    engine.run("SELECT 1")
    for n, path in enumerate(paths):
        with pytest.raises(EngineError, match="disabled"):
            _value(engine, path)
        files = engine.files_of([str(path.parent)])
        assert files.may_read(str(path)) and files.refused is None
        assert _value(engine, path) == n
    assert [_value(engine, path) for path in paths] == [0, 1, 2]


def test_a_table_reads_no_other_tables_files(engine: DuckDBEngine, tmp_path: Path) -> None:
    mine, other = (_written(tmp_path / name / "t", 1) for name in "ab")
    assert engine.files_of([other.parent.as_uri()]).may_read(str(other))
    files = engine.files_of([str(mine.parent), "s3://bucket/t"])
    assert files.may_read(str(mine)) and files.may_read(f"{mine.parent}/p=1/q=2/x.parquet")
    for odd in (other, f"{mine.parent}/../../b/t/x.parquet", f"{mine.parent}-more/x.parquet"):
        assert not files.may_read(str(odd))
    assert not files.may_read(f"{mine.parent}/" + "a/" * 5000 + "x.parquet")


def test_what_runs_meanwhile_goes_on(engine: DuckDBEngine, tmp_path: Path) -> None:
    """A stream, with a function of ours, an idle thread, and a copy in memory."""
    first = _written(tmp_path / "first", 1, 300_000)
    engine.files_of([str(first.parent)])
    scan = parquet_scan([str(first)])
    stream = engine.stream(f"SELECT a FROM {scan} WHERE {_OWN_TEST}")
    rows = next(stream).num_rows
    copy = Copy("SELECT 1 AS a", 1, 1, source=pa.table({"a": [1]}))
    while engine.hot.table(copy) is None:
        pass
    second = _written(tmp_path / "second", 2)
    engine.files_of([str(second.parent)])
    assert engine.hot.table(copy) is None
    assert _value(engine, second) == 2
    assert engine.run(f"SELECT {_OWN_TEST} AS t").to_pylist() == [{"t": True}]
    assert rows + sum(batch.num_rows for batch in stream) == 300_000
    while (table := engine.hot.table(copy)) is None:
        pass
    assert engine.run(f"SELECT a FROM {table}").to_pylist() == [{"a": 1}]
    stream = engine.stream(f"SELECT a FROM {scan}")
    next(stream)
    engine.files_of([str(_written(tmp_path / "third", 3).parent)])
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        next(stream)


def test_threads_that_name_tables_at_once(engine: DuckDBEngine, tmp_path: Path) -> None:
    paths = [_written(tmp_path / f"t{n}", n, 1000) for n in range(24)]
    wrong: list[object] = []

    def ask(which: list[int]) -> None:
        for n in which:
            try:
                assert engine.files_of([str(paths[n].parent)]).may_read(str(paths[n]))
                text = f"SELECT a FROM {parquet_scan([str(paths[n])])} WHERE {_OWN_TEST}"
                found = pa.Table.from_batches(engine.stream(text))
                assert set(found.column("a").to_pylist()) == {n} and found.num_rows == 1000
                assert _value(engine, paths[n]) == n
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask, args=([*range(n, 24, 4), n],)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def _why(host: Path, location: str) -> str:
    private = [str(host / "store"), str(host / "gateway" / "users.toml")]
    folders = TableFolders([str(host / "store")], private)
    files, is_more = folders.of([location])
    assert is_more is (files.refused is None) and len(folders.tables) == is_more
    if files.refused is None:
        return ""
    assert files.refused.code == "location_refused"
    assert not files.may_read(f"{location}/x.parquet")
    return files.refused.detail


def test_folders_that_are_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "people" / "ann"
    monkeypatch.setattr(table_folders, "homes", lambda: (str(home),))
    host = tmp_path / "host"
    host.mkdir()
    (host / "link").symlink_to("/etc")
    (host / "round").symlink_to(host)
    assert _why(host, f"{home}/lake/t") == ""
    assert _why(host, str(host / "gateway" / "t")) == ""
    for location, why in {
        "/": "root of the file system",
        "": "absolute",
        "lake/t": "absolute",
        f"{host}/a/../t": "absolute",
        str(home): "home",
        str(home.parent): "home",
        str(home / ".ssh"): "hidden",
        "/home": "home",
        "/home/bob": "home",
        "/home/bob/.cache/t": "hidden",
        "/lake/\0": "isn't a path",
        "/lake/\ud800": "isn't a path",
        "/etc/ssl": "system's",
        "/proc/self": "system's",
        str(host / "link" / "ssl"): "system's",
        str(host): "contains files of the accelerator",
        str(host / "round"): "contains files of the accelerator",
        str(host / "gateway"): "contains files of the accelerator",
        f"file://{host}/store/t": "is the accelerator's",
        str(host / "store"): "contains files of the accelerator",
    }.items():
        assert why in _why(host, location), location


def test_a_private_file_is_no_data_file(tmp_path: Path) -> None:
    folders = TableFolders([str(tmp_path)], [str(tmp_path / "users.toml"), str(tmp_path / "logs")])
    files, _ = folders.of([str(tmp_path / "t")])
    assert files.may_read(str(tmp_path / "t" / "x.parquet"))
    for path in ("users.toml", "logs", "logs/x.parquet"):
        assert not files.may_read(str(tmp_path / path))


def test_objects_are_served_though_a_folder_is_added_just_then(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, once = engine._open, [1]

    def open_and_add() -> duckdb.DuckDBPyConnection:
        root = opened()
        if once and once.pop():
            engine.files_of([str(tmp_path / "t")])
            opened()
        return root

    monkeypatch.setattr(engine, "_open", open_and_add)
    engine._serve_objects(ObjectFileSystem(engine._objects))
    assert PROTOCOL in opened().list_filesystems()


def test_a_folder_behind_a_link_is_the_one_that_it_leads_to(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    path = _written(tmp_path / "disk" / "t", 5)
    (tmp_path / "lake").symlink_to(tmp_path / "disk")
    seen = tmp_path / "lake" / "t" / path.name
    assert engine.files_of([str(seen.parent)]).may_read(str(seen))
    assert _value(engine, seen) == 5
    _written(tmp_path / "elsewhere" / "t", 6)
    (tmp_path / "lake").unlink()
    (tmp_path / "lake").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EngineError, match="disabled"):  # until the table is looked at again
        _value(engine, seen)
    assert engine.files_of([str(seen.parent)]).may_read(str(seen))
    assert _value(engine, seen) == 6


def test_links_that_are_swapped_in_lead_nowhere(engine: DuckDBEngine, tmp_path: Path) -> None:
    path = _written(tmp_path / "t" / "data" / "p=1", 1)
    secret = _written(tmp_path / "secret", 9)
    locations = [str(tmp_path / "t")]
    files = engine.files_of(locations)
    assert files.may_read(str(path)) and _value(engine, path) == 1
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(EngineError, match="disabled"):
        _value(engine, path)
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(secret.parent)
    with pytest.raises(EngineError, match="disabled"):
        _value(engine, path)
    assert not engine.files_of(locations).may_read(str(path))
    (tmp_path / "t").rename(tmp_path / "was")
    (tmp_path / "t").symlink_to(tmp_path)
    with pytest.raises(EngineError, match="disabled"):
        _value(engine, tmp_path / "t" / "secret" / "x.parquet")
    assert engine.files_of(locations).refused is not None


def test_a_store_above_the_warehouse_takes_no_table_away(tmp_path: Path) -> None:
    store, lake = str(tmp_path), str(tmp_path / "lake")
    files, is_more = TableFolders([store, lake], [store]).of([f"{lake}/t"])
    assert files.may_read(f"{lake}/t/x.parquet") and not is_more


def test_folders_are_not_collected_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_folders, "FOLDERS_MAX", 2)
    folders = TableFolders([])
    found = [folders.of([f"{tmp_path}/{n}"])[0].refused is None for n in (1, 2, 3, 1)]
    assert found == [True, True, False, True]
