"""Joins without a cube: rows and aggregates out of the fact's files that are left.

Strategy: a fact of many files in the order of its key, NULL and dangling keys among them, and two
dimensions; statements of all forms, with relate columns, with indexes of the key alone, and with
neither. Invariant: equal answers; files are left out where what a statement says of a dimension
leaves few of its keys.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_FILES = 6


@pytest.fixture(scope="module")
def names(spark_warehouse: SparkWarehouse) -> Iterator[dict[str, str]]:
    wh = spark_warehouse
    columns = {
        "f": "id BIGINT, k INT, day DATE, name STRING, v DECIMAL(9, 2), x DOUBLE",
        "d": "k INT, a STRING, y INT",
        "e": "day DATE, month INT",
    }
    found = {name: f"lake.d.{wh.table(text)}" for name, text in columns.items()}
    wh.sql(
        f"INSERT INTO {found['d']} SELECT CAST(id AS INT),"
        " IF(id % 9 = 0, NULL, concat('a', id % 5)), CAST(id DIV 10 AS INT)"
        " FROM range(60) UNION ALL VALUES (NULL, 'a1', 1)"
    )
    wh.sql(
        f"INSERT INTO {found['e']} SELECT date_add(DATE '2026-01-01', CAST(id AS INT)),"
        " CAST(id DIV 30 AS INT) FROM range(180)"
    )
    for number in range(_FILES):
        wh.sql(
            f"INSERT INTO {found['f']} SELECT /*+ COALESCE(1) */ id,"
            f" CAST(IF(id % 17 = 0, NULL, {number} * 12 + id % 13) AS INT),"
            f" date_add(DATE '2026-01-01', CAST({number} * 30 + id % 31 AS INT)),"
            f" concat('n', id % 7), id % 100 / 4, IF(id % 10 = 0, DOUBLE('NaN'), id / 8)"
            f" FROM range({number * 100}, {number * 100 + 100})"
        )
    yield found


_FEW = (
    "SELECT id, a FROM {f} JOIN {d} ON {f}.k = {d}.k WHERE y = 2",
    "SELECT f.*, d.a FROM {d} d, {f} f WHERE f.k = d.k AND d.y = 1 AND f.v > 3",
    "SELECT * FROM {f} f JOIN {d} d ON f.k = d.k WHERE d.y = 2 ORDER BY f.id DESC LIMIT 5",
    "SELECT id, name n, v w FROM {f} WHERE k IN (SELECT k FROM {d} WHERE y = 3)",
    "SELECT * FROM {f} LEFT SEMI JOIN {d} ON {f}.k = {d}.k AND y = 3",
    "SELECT a, sum(v), count(*) FROM {f} f JOIN {d} d USING (k) WHERE y = 1 GROUP BY a",
    "SELECT count(*) FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE d.k = f.k AND d.y = 4)",
    "SELECT min(id), max(x) FROM {f} f JOIN {e} e ON f.day = e.day WHERE month = 2",
    "SELECT id FROM {f} f JOIN {d} d ON f.k = d.k JOIN {e} e ON f.day = e.day"
    " WHERE d.y = 2 AND e.month = 1",
    "SELECT count(*) FROM {f} f JOIN {d} d ON f.k = d.k WHERE d.y = 999",
)
_ALL = (
    "SELECT id, a FROM {f} f LEFT JOIN {d} d ON f.k = d.k WHERE a IS NULL",
    "SELECT id, a FROM {f} f LEFT JOIN {d} d ON f.k = d.k AND d.y = 2",
    "SELECT id FROM {f} f LEFT ANTI JOIN {d} d ON f.k = d.k AND d.y = 2",
    "SELECT id FROM {f} WHERE k NOT IN (SELECT k FROM {d} WHERE y = 2 AND k IS NOT NULL)",
    "SELECT d.k, id FROM {d} d LEFT JOIN {f} f ON f.k = d.k WHERE d.y = 2",
    "SELECT DISTINCT a FROM {f} f JOIN {d} d ON f.k = d.k WHERE y < 3",
    "SELECT id, rank() OVER (ORDER BY id) r FROM {f} f JOIN {d} d ON f.k = d.k WHERE y = 2",
)


def _check(acc: Accelerator, names: dict[str, str], queries: tuple[str, ...]) -> list[str]:
    """Those that left out no file, and why; the answers are equal."""
    whole = []
    for query in queries:
        sql = query.format(**names)
        Differential(acc).check([sql], rewritten=None)
        metrics = acc.query(sql).metrics
        if not metrics.rewritten or metrics.files_read == metrics.files_total:
            whole.append(f"{sql}: {metrics.fallback}")
    return whole


def test_by_keys_of_the_dimension(acc: Accelerator, names: dict[str, str]) -> None:
    """Indexes of the fact's own keys; no relate column."""
    _check(acc, names, _FEW + _ALL)
    for column in ("k", "day"):
        acc.query(f"CREATE INDEX joined_{column} ON {names['f']} USING BITMAP ({column})")
    try:
        assert _check(acc, names, _FEW) == []
        _check(acc, names, _ALL)
    finally:
        for column in ("k", "day"):
            acc.query(f"DROP INDEX joined_{column}")


def test_by_relate_columns(acc: Accelerator, names: dict[str, str]) -> None:
    fact = names["f"]
    for dimension, key, attribute in (("d", "k", "y"), ("d", "k", "a"), ("e", "day", "month")):
        acc.query(
            f"ALTER TABLE {fact} ADD RELATE COLUMN {attribute} FROM {names[dimension]}.{attribute}"
            f" ON {fact}.{key} = {names[dimension]}.{key}"
        )
        acc.query(f"CREATE INDEX joined_{attribute} ON {fact} USING BITMAP ({attribute})")
    try:
        assert _check(acc, names, _FEW) == []
        _check(acc, names, _ALL)
        explained = acc.explain(_FEW[0].format(**names))
        assert f"relate column y, by {names['d']}" in explained
    finally:
        for attribute in ("y", "a", "month"):
            acc.query(f"ALTER TABLE {fact} DROP RELATE COLUMN {attribute}")
    assert acc.query(f"SHOW INDEXES ON {fact}").arrow().num_rows == 0
