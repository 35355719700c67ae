"""Joins whose conditions may raise: what is known of one constant says nothing of another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.errors import EngineError, RowRaisedError
from accelerator.planning.candidates import joins
from accelerator.query.runtime.services import Services
from cubes.states import SUM_LEAVES
from rewrite.render.expressions import RAISED
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


def test_what_raises_while_a_plan_runs_is_left_to_spark(acc: Accelerator) -> None:
    """Spark may never compute it, so it's no failure; the shape isn't tried again."""
    inner = "SELECT count(*) AS n, 1 / (count(*) - 3) AS q, sum(k) div 0 AS r FROM d.x"
    for _ in range(2):
        found = acc.query(f"SELECT a.n FROM ({inner}) a JOIN d.y b ON a.n = b.k")
        assert found.metrics.fallback is not None
        assert found.metrics.fallback.startswith("row_raised: An expression raised")
        assert "ivision by zero" in found.metrics.fallback
    assert acc.fallbacks == {}


@pytest.mark.parametrize(
    ("sql", "raised"),
    [
        ("SELECT CAST('x' AS INT)", True),
        ("SELECT 2147483647::INT + i::INT FROM range(3) t(i)", True),
        ("SELECT 1 // (i - 1) FROM range(3) t(i)", True),
        *((f"SELECT error('{text}')", True) for text in (*RAISED, SUM_LEAVES)),
        ("SELECT nothing", False),
        ("FROM read_parquet('{folder}/text.parquet')", False),
    ],
)
def test_errors_of_a_value(sql: str, raised: bool, tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no Parquet")
    engine = DuckDBEngine(threads=1, folders=[str(tmp_path)])
    with closing(engine), pytest.raises(EngineError) as found:
        engine.run(sql.format(folder=tmp_path), {}, tag="t")
    assert isinstance(found.value, RowRaisedError) is raised


def test_a_large_table_is_not_tested(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "_TESTED_MAX", 10)
    assert _asked(acc, 2)[0] == "spark"


def test_a_file_that_cannot_be_read_is_no_error_of_a_row(acc: Accelerator, lake: Path) -> None:
    (path,) = (p for p in lake.rglob("*.parquet") if b"two" not in p.read_bytes())
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    assert _asked(acc, 2) == ("spark", "engine_failed")
