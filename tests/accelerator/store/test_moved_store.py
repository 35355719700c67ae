"""A store that was moved or copied: what it holds is used, built upon and vacuumed where it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.builds.segments.repair import _is_readable
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.errors import EngineError
from accelerator.store import Store
from tests.support.pristine import Pristine, catalog_of

_ROWS = pa.table({"k": pa.array(range(100), pa.int32()), "v": pa.array(range(100), pa.int64())})
_CUBE = "SELECT k, sum(v) AS total FROM d.t GROUP BY k"
_ONE_KEY = "SELECT v FROM d.t WHERE k = 7"


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", _ROWS.schema)
    table.append(_ROWS.slice(0, 50))
    table.append(_ROWS.slice(50))


@pytest.fixture
def lake(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(_fill, "moved")


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_it_serves_from_its_new_place(lake: Path, tmp_path: Path, how: str) -> None:
    old, new = tmp_path / "old", tmp_path / "deep" / "new one"
    with accelerator.open(lake, store=str(old)) as acc:
        acc.query(f"CREATE CUBE totals AS {_CUBE}")
        acc.query("CREATE INDEX keys ON d.t USING BITMAP (k) WITH (rows = true)")
        plan = acc.explain(_ONE_KEY)
    new.parent.mkdir()
    (shutil.move if how == "moved" else shutil.copytree)(old, new)
    kept = _files(old)
    with accelerator.open(lake, store=str(new)) as acc:
        answer = acc.query(_CUBE)
        assert answer.metrics.cubes == ("totals",)
        assert sorted(answer.arrow()["total"].to_pylist()) == list(range(100))
        assert acc.query(_ONE_KEY).arrow().to_pylist() == [{"v": 7}]
        assert acc.explain(_ONE_KEY) == plan
        catalog = catalog_of(lake)
        catalog.load_table("d.t").append(_ROWS)
        catalog.engine.dispose()
        acc.query("BUILD CUBE totals")
        acc.query("VACUUM d.t FULL RETAIN 0 HOURS")
        answer = acc.query(_CUBE)
        assert answer.metrics.cubes == ("totals",)
        assert sorted(answer.arrow()["total"].to_pylist()) == [2 * n for n in range(100)]
        acc.query("DROP CUBE totals")
        assert not acc.fallbacks
    assert _files(old) == kept


def test_nothing_in_it_tells_where_it_was(lake: Path, tmp_path: Path) -> None:
    with accelerator.open(lake, store=str(tmp_path / "here")) as acc:
        acc.query(f"CREATE CUBE totals AS {_CUBE}")
        acc.query("CREATE INDEX keys ON d.t USING BLOOM (k)")
        store: Store = acc.services.store
        assert store.is_local
    told = [
        path
        for path in (tmp_path / "here").rglob("*")
        if path.is_file() and str(tmp_path / "here").encode() in path.read_bytes()
    ]
    assert not told


def _files(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_an_artifact_that_is_a_pipe_or_has_no_possible_name(lake: Path, tmp_path: Path) -> None:
    """Whoever opens a pipe waits for ever."""
    with accelerator.open(lake, store=str(tmp_path / "a")) as acc:
        acc.query(f"CREATE CUBE totals AS {_CUBE}")
    (cells,) = (tmp_path / "a" / "tables").rglob("cells.parquet")
    cells.unlink()
    os.mkfifo(cells)
    with accelerator.open(lake, store=str(tmp_path / "a")) as acc:
        with pytest.raises(EngineError, match="Spark needs Java"):
            acc.query(_CUBE)
        assert acc.fallbacks == {"engine_failed": 1}
    duckdb = DuckDBEngine(threads=1)
    assert not _is_readable(duckdb, f"file:///{'x' * 5000}")
    duckdb.close()
