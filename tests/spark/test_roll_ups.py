"""Roll-ups in memory answer as the files do, whatever happened to the table.

Strategy: every file counts as large and every roll-up as worthwhile, from the first use on. One
table goes through appends, row deletes, a merge and an overwrite; at each state all queries are
asked until roll-ups answer, of now and of then, with full and with partial coverage.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.engines.duckdb import segment_cache
from accelerator.planning.sources import duckdb_text
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_QUERIES = (
    "SELECT g, sum(v) s, count(*) n FROM {t} GROUP BY g",
    "SELECT d, min(v) lo, max(v) hi, sum(c) c FROM {t} WHERE g = 'g1' GROUP BY d",
    "SELECT count(*) n, sum(v) s FROM {t}",
    "SELECT count(*) n, sum(v) s FROM {t} WHERE g = 'nothing'",
    "SELECT x, count(v) n, avg(c) a FROM {t} GROUP BY x",
    "SELECT count(DISTINCT g) n, count(DISTINCT d) m FROM {t} WHERE x <> 1",
    "SELECT g, sum(CASE WHEN d > 2 THEN v ELSE 0 END) s FROM {t} GROUP BY g HAVING count(*) > 3",
    "SELECT g, bool_or(v > 50) b, avg(v) a FROM {t} WHERE d IN (1, 2) GROUP BY g ORDER BY g"
    " LIMIT 3",
)


@pytest.fixture
def acc(
    spark_warehouse: SparkWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Accelerator]:
    monkeypatch.setattr(duckdb_text, "_COPIED_WHOLE", -1)
    monkeypatch.setattr(segment_cache, "_USES", 1)
    monkeypatch.setattr(segment_cache, "_FEWER", 0)
    with spark_warehouse.attach(store=str(tmp_path)) as session:
        yield session


def _copies(acc: Accelerator) -> int:
    for thread in threading.enumerate():
        if thread.name == "hot":
            thread.join(60)
    rows = acc.services.duckdb.run(
        "SELECT COUNT(*) AS n FROM duckdb_tables() WHERE database_name = 'hot'"
    )
    return int(rows["n"][0].as_py())


@pytest.mark.long
@pytest.mark.parametrize("version", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_roll_ups_answer_as_spark_does(
    spark_warehouse: SparkWarehouse, acc: Accelerator, version: int
) -> None:
    columns = "k INT, g STRING, d INT, x DOUBLE, v BIGINT, c DECIMAL(12,2)"
    table = "lake.d." + spark_warehouse.table(columns, version=version)
    both = Differential(acc)
    snapshots: list[int] = []

    def insert(start: int) -> None:
        spark_warehouse.sql(
            f"INSERT INTO {table} SELECT CAST(id AS INT),"
            " IF(id % 5 = 4, NULL, concat('g', id % 5)), IF(id % 7 = 0, NULL, CAST(id % 4 AS INT)),"
            " CASE id % 6 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D WHEN 3 THEN"
            " NULL ELSE 1.0D END, IF(id % 11 = 0, NULL, id - 50), CAST(id * 0.37 AS DECIMAL(12,2))"
            f" FROM range({start}, {start + 60}, 1, 1)"
        )
        snapshots.append(spark_warehouse.pinned(table.split(".")[-1]).facts.snapshot_id or 0)

    def ask(where: str, *, rewritten: bool | None = True) -> None:
        both.changed()
        then = f"{table} VERSION AS OF {snapshots[0]}"
        asked = [query.format(t=state) for query in _QUERIES for state in (table, then)]
        both.check(asked, rewritten=rewritten, where=f"{where}, from files")
        before = _copies(acc)
        both.check(asked, rewritten=rewritten, where=f"{where}, from {before} roll-ups")

    insert(0)
    insert(60)
    acc.query(
        "CREATE CUBE rolled AS SELECT g, d, x, count(*) n, sum(v) s, count(v) cv, min(v) lo, max(v)"
        " hi, sum(c) sc, count(c) cc, bool_or(v > 50) b, avg(v) av, avg(c) ac"
        f" FROM {table} GROUP BY g, d, x"
    )
    ask("built")
    assert _copies(acc) > 5
    acc.query("COMPACT CUBE rolled")
    ask("merged")
    insert(120)
    spark_warehouse.sql(f"DELETE FROM {table} WHERE k % 13 = 2 AND k < 60")
    ask("one file deleted from, one new", rewritten=None)
    acc.query("BUILD CUBE rolled")
    ask("built again")
    acc.query("COMPACT CUBE rolled")
    spark_warehouse.sql(f"INSERT OVERWRITE {table} SELECT * FROM {table} WHERE k > 90")
    ask("overwritten", rewritten=None)
    acc.query("BUILD CUBE rolled")
    ask("built after the overwrite")
