"""Joins whose conditions may raise: what is known of one constant says nothing of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator, joined_search
from accelerator.engines.duckdb import DuckDBEngine
from accelerator.services import Services
from tests.support.pristine import Pristine, catalog_of


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    facts = pa.table({"k": pa.array([1, 2, 3], pa.int32()), "a": pa.array([1, 2, 4], pa.int32())})
    dims = pa.table({"k": pa.array([1, 2], pa.int32()), "n": ["one", "two"]})
    for name, rows in (("x", facts), ("y", dims)):
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture
def lake(pristine: Pristine) -> Path:
    return pristine.lake(_fill)


@pytest.fixture
def acc(lake: Path, no_java: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accelerator]:
    monkeypatch.setattr(Services, "plain_table", lambda *_: pa.table({"plain": [1]}))
    with accelerator.open(lake) as session:
        yield session


def _asked(acc: Accelerator, constant: int) -> tuple[str, str]:
    sql = "SELECT count(*) AS n FROM d.x x JOIN d.y y ON x.k = y.k"
    found = acc.query(f"{sql} WHERE 100 / (x.a * x.a - {constant}) > 1")
    return found.metrics.engine, (found.metrics.fallback or "").partition(":")[0]


def test_a_constant_that_raises_leaves_others_as_they_are(acc: Accelerator) -> None:
    asked = [_asked(acc, constant) for constant in (2, 16, 3, 16, 2, 1)]
    plain = ("spark", "may_raise")
    assert asked == [("duckdb", ""), plain, ("duckdb", ""), plain, ("duckdb", ""), plain]
    assert not acc.fallbacks


def test_it_is_tested_once_for_a_state_of_the_table(
    acc: Accelerator, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, run = list[str](), DuckDBEngine.run

    def counted(self: DuckDBEngine, sql: str, *args: Any, **named: Any) -> pa.Table:
        ran.append(sql)
        return run(self, sql, *args, **named)

    monkeypatch.setattr(DuckDBEngine, "run", counted)
    for _ in range(3):
        assert _asked(acc, 2) == ("duckdb", "")
    assert sum("bit_xor" in sql for sql in ran) == 1
    catalog = catalog_of(lake)
    more = pa.table({"k": pa.array([9], pa.int32()), "a": pa.array([None], pa.int32())})
    catalog.load_table("d.x").append(more)
    assert _asked(acc, 2) == ("duckdb", "")
    assert sum("bit_xor" in sql for sql in ran) == 2
    raising = pa.table({"k": pa.array([9], pa.int32()), "a": pa.array([10], pa.int32())})
    catalog.load_table("d.x").append(raising)
    catalog.engine.dispose()
    assert _asked(acc, 100) == ("spark", "may_raise")


def test_a_large_table_is_not_tested(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_search, "_TESTED_MAX", 10)
    assert _asked(acc, 2)[0] == "spark"


def test_a_file_that_cannot_be_read_is_no_error_of_a_row(acc: Accelerator, lake: Path) -> None:
    (path,) = (p for p in lake.rglob("*.parquet") if b"two" not in p.read_bytes())
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    assert _asked(acc, 2) == ("spark", "engine_failed")
