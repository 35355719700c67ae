"""Joins as people write them: USING, RIGHT JOIN, commas beside JOIN … ON, against plain Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def star(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[tuple[str, str, str]]:
    """A fact with dangling and NULL keys, two dimensions, an inner and a left cube."""
    wh = spark_warehouse
    f, d, o = (
        wh.table(columns)
        for columns in (
            "k INT, g STRING, v INT",
            "k INT, ok INT, region STRING",
            "ok INT, land STRING",
        )
    )
    wh.sql(f"INSERT INTO lake.d.{d} SELECT id, id % 3, concat('r', id % 2) FROM range(6)")
    wh.sql(f"INSERT INTO lake.d.{o} VALUES (0, 'x'), (1, 'y'), (2, NULL)")
    for start in (0, 40):
        wh.sql(
            f"INSERT INTO lake.d.{f} SELECT nullif(CAST(id % 9 AS INT), 8), concat('g', id % 2), id"
            f" FROM range({start}, {start + 40})"
        )
    f, d, o = (f"lake.d.{name}" for name in (f, d, o))
    acc.query(
        f"CREATE CUBE forms_i AS SELECT k, d.ok, region, land, g, count(*) n, sum(v) s FROM {f} f"
        f" JOIN {d} d USING (k) JOIN {o} o USING (ok) GROUP BY k, d.ok, region, land, g"
    )
    acc.query(
        f"CREATE CUBE forms_l AS SELECT f.k, d.k dk, region, g, count(*) n, sum(v) s FROM {d} d"
        f" RIGHT JOIN {f} f ON d.k = f.k GROUP BY f.k, d.k, region, g"
    )
    acc.query(
        f"CREATE CUBE forms_u AS SELECT k, region, g, count(*) n, sum(v) s FROM {f} f"
        f" LEFT JOIN {d} d USING (k) GROUP BY k, region, g"
    )
    yield f, d, o
    for name in ("forms_i", "forms_l", "forms_u"):
        acc.query(f"DROP CUBE {name}")


_ANSWERED = [
    "SELECT k, land, sum(v) FROM {f} f JOIN {d} d USING (k) JOIN {o} o USING (ok) GROUP BY k, land",
    "SELECT K, ok, count(*) FROM {f} f JOIN {d} d USING (K) JOIN {o} USING (OK) GROUP BY k, ok"
    " ORDER BY k, ok",
    "SELECT f.k a, d.k b, o.ok c, count(*) n FROM {f} f JOIN {d} d USING (k) JOIN {o} o USING (ok)"
    " GROUP BY f.k, d.k, o.ok",
    "SELECT k, region, count(*) n FROM {f} f LEFT JOIN {d} d USING (k) GROUP BY k, region",
    "SELECT k, d.k dk, sum(v) s FROM {f} f LEFT JOIN {d} d USING (k) GROUP BY k, d.k",
    "SELECT k, f.k fk, d.k dk, sum(v) s FROM {d} d RIGHT JOIN {f} f USING (k) GROUP BY k, f.k, d.k",
    "SELECT k, sum(v) s FROM {d} d RIGHT OUTER JOIN {f} f USING (k) WHERE k > 2 GROUP BY k",
    "SELECT region, count(*) n, count(k) c FROM {d} d RIGHT JOIN {f} f USING (k) GROUP BY region",
    "SELECT region, sum(v) s FROM {d} d RIGHT JOIN {f} f ON f.k = d.k GROUP BY region",
    "SELECT land, sum(v) s FROM {f} f, {o} o JOIN {d} d ON f.k = d.k AND d.ok = o.ok GROUP BY land",
    "SELECT land, sum(v) s FROM {f} f JOIN {d} d ON f.k = d.k, {o} o WHERE d.ok = o.ok"
    " GROUP BY land",
    "SELECT land, sum(v) s FROM {d} d CROSS JOIN {o} o JOIN {f} f ON f.k = d.k AND d.ok = o.ok"
    " GROUP BY land",
    "WITH z AS (SELECT g AS a, v AS b FROM {f}) SELECT a, sum(b) s FROM z GROUP BY a",
]
_PLAIN = [
    "SELECT count(*) n FROM {f} f RIGHT JOIN {d} d USING (k)",
    "SELECT k, count(*) n FROM {f} f FULL JOIN {d} d USING (k) GROUP BY k",
    "SELECT count(*) n FROM {f} f LEFT SEMI JOIN {d} d USING (k)",
    "SELECT count(*) n FROM {f} f NATURAL JOIN {d} d",
    "SELECT count(*) n FROM {f} f, {d} e JOIN {d} d USING (k)",
    "SELECT count(*) n FROM {d} d RIGHT JOIN {f} f USING (k) JOIN {o} o ON d.ok = o.ok",
    "SELECT g, sum(v) s FROM (SELECT * FROM {f}) x GROUP BY g",
]


def test_join_forms(acc: Accelerator, star: tuple[str, str, str]) -> None:
    f, d, o = star
    answered = [q.format(f=f, d=d, o=o) for q in _ANSWERED]
    Differential(acc).check(answered, spark=answered)
    Differential(acc).check([q.format(f=f, d=d, o=o) for q in _PLAIN], rewritten=False)


def test_join_forms_over_raw_rows(
    spark_warehouse: SparkWarehouse, acc: Accelerator, star: tuple[str, str, str]
) -> None:
    f, d, o = star
    spark_warehouse.sql(f"INSERT INTO {f} VALUES (1, 'g0', 7), (77, 'g1', 8), (NULL, 'g9', 9)")
    answered = [q.format(f=f, d=d, o=o) for q in _ANSWERED]
    Differential(acc).check(answered, spark=answered)
