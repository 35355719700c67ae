"""Files that a cube lacks, through what happens to them: each answer is plain Spark's.

Strategy: a cube over the first file; files after it with and without bitmaps, from which rows go by
position and by value, under a schema that changes meanwhile. Invariant: whichever source a file
has, the cells of all of them merge to the plain answer.
"""

from __future__ import annotations

import json

import pytest

from accelerator.services.verification.compare import differ
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark

_ASKED = (
    "SELECT count(*) AS n FROM {t}",
    "SELECT count(*) AS n, min(v) AS lo, max(v) AS hi, count(v) AS c FROM {t}",
    "SELECT g, count(*) AS n FROM {t} GROUP BY g",
    "SELECT g, k, count(*) AS n, max(v) AS hi FROM {t} GROUP BY g, k",
    "SELECT count(*) AS n FROM {t} WHERE g = 'g1'",
    "SELECT k, count(*) AS n FROM {t} WHERE g <> 'g1' GROUP BY k",
    "SELECT count(DISTINCT g) AS n FROM {t} WHERE k > 2",
    "SELECT count(*) AS n FROM {t} WHERE g IS NULL OR k = 100",
    "SELECT g, count(*) AS n FROM {t} GROUP BY ROLLUP (g)",
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "clauses"),
    [(2, ""), (3, "PARTITIONED BY (g)"), (3, "PARTITIONED BY (truncate(5, k))")],
)
def test_deletes_and_schemas(spark_warehouse, acc, version: int, clauses: str) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, g STRING, v INT", version=version, clauses=clauses)
    table, sources = f"lake.d.{name}", set()
    rows = "CAST(id % 9 AS INT), nullif(concat('g', id % 4), 'g3'), nullif(CAST(id % 7 AS INT), 5)"

    def append(first: int, last: int) -> None:
        wh.sql(f"INSERT INTO {table} SELECT {rows} FROM range({first}, {last}, 1, 1)")

    def check() -> None:
        for sql in (one.format(t=table) for one in _ASKED):
            mine = acc.query(sql)
            assert differ(mine.arrow(), wh.spark.sql(sql).toArrow()) == [], sql
            assert not (mine.metrics.fallback or "").startswith("planning_failed"), sql
            told = json.loads(acc.explain(sql, format="json")).get("sources", {})
            sources.add("+".join(sorted(told)))

    append(0, 40)
    acc.execute(
        f"CREATE CUBE filled_{name} AS SELECT g, k, count(*), min(v), max(v), count(v)"
        f" FROM {table} GROUP BY g, k"
    )
    append(40, 80)
    wh.sql(f"INSERT INTO {table} VALUES (100, 'g1', 1), (100, 'g1', 2)")
    check()
    for column in "gkv":
        acc.execute(
            f"CREATE INDEX {name}_{column} ON {table} USING BITMAP ({column}) WITH (rows = true)"
        )
    append(80, 120)  # without bitmaps
    check()
    wh.sql(f"DELETE FROM {table} WHERE k = 4 AND v > 2")
    check()
    write_equality_delete(wh, name, [2, 100])
    check()
    append(120, 130)  # rows of keys that were deleted come again
    acc.execute(f"BUILD INDEX {name}_g")
    check()
    wh.sql(f"ALTER TABLE {table} ALTER COLUMN v TYPE BIGINT")
    wh.sql(f"INSERT INTO {table} VALUES (7, 'g1', 5000), (8, NULL, NULL)")
    check()
    acc.execute(f"BUILD CUBE filled_{name}")
    wh.sql(f"INSERT INTO {table} VALUES (7, 'g1', -5000000000)")
    check()
    assert any("segment" in one and ("manifest" in one or "index" in one) for one in sources)
