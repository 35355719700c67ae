"""What is kept of small tables in memory: one name never stands for two contents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.artifacts.relate.dimensions import Dimensions
from accelerator.engines.duckdb.table_cache import KeptRows
from accelerator.iceberg import CatalogSettings, Lake, PinnedTable
from tests.support.pristine import catalog_of, properties_of


def _lake(root: Path) -> Lake:
    return Lake([CatalogSettings("lake", "sql", properties_of(root))], "lake", lambda: ("d",))


def _pinned(root: Path) -> PinnedTable:
    found = _lake(root).pin().pinned(("lake", "d", "t"))
    assert found is not None
    return found


def test_other_names_in_files_without_ids_are_other_columns(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    rows = pa.table({"a": pa.array([1, 2], pa.int64()), "b": pa.array([10, 10], pa.int64())})
    table = catalog.create_table(("d", "t"), rows.schema)
    path = f"{tmp_path}/old.parquet"
    pq.write_table(rows, path)
    table.add_files([path])
    kept = KeptRows(1 << 20)
    dimensions = Dimensions(_lake(tmp_path), _nothing, _nothing, 100)
    before = _pinned(tmp_path)
    assert kept.of(before, ["a", "b"])[0].column("a").to_pylist() == [1, 2]
    assert kept.of(before, ["a", "b"])[1] == 0  # from memory
    assert dimensions.unique(before, frozenset({1}))
    swapped = [{"field-id": 1, "names": ["b"]}, {"field-id": 2, "names": ["a"]}]
    with table.transaction() as change:
        change.set_properties({"schema.name-mapping.default": json.dumps(swapped)})
    with table.transaction() as change:
        change.set_properties({"another": "property"})
    catalog.engine.dispose()
    after = _pinned(tmp_path)
    assert after.facts.snapshot_id == before.facts.snapshot_id
    assert kept.of(after, ["a", "b"])[0].column("a").to_pylist() == [10, 10]
    assert not dimensions.unique(after, frozenset({1}))


def _nothing() -> NoReturn:
    raise AssertionError("no engine is needed")
