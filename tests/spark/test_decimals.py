"""Arithmetic of decimals is Spark's: from sums in cubes, and computed row by row in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F = "lake.d.decimals_f"
_FACTS = (
    "SELECT nullif(concat('g', id % 3), 'g2') AS g, nullif(CAST(id AS INT) % 5 - 2, 1) AS i,"
    " CAST(id % 4 AS DECIMAL(3,2)) / 8 AS r, nullif(CAST(id - 30 AS DECIMAL(9,2)), 7) AS c,"
    " CAST((id - 20) * 99999999999.1234 AS DECIMAL(18,4)) AS p,"
    " CAST((id - 9) * 10101010.0123456789 AS DECIMAL(24,10)) AS q, id * 1000000007 AS w"
    " FROM range({0}, {1}, 1, 1)"
)
_OF_SUMS = (
    f"SELECT g, sum(c * 1.1) AS a, sum(2 * c) AS b, sum(-0.001 * c) AS d FROM {F} GROUP BY g",
    f"SELECT g, sum(c + 1) AS a, sum(1.5 - c) AS b, avg(c - 0.25) AS d FROM {F} GROUP BY g",
    f"SELECT sum(c * 1.1 + 3) AS a, sum(2 * (c - 1.5)) AS b, sum((1 - c) * i) AS d FROM {F}",
    f"SELECT g, sum(c * i) AS a, sum(c + i) AS b, avg(i - c) AS d, sum(c * r) AS e FROM {F}"
    " WHERE i IS NULL OR i < 2 GROUP BY g",
    f"SELECT i, sum(p * 3) AS a, sum(p - 0.5) AS b, sum(CASE WHEN i > 0 THEN c * 2 ELSE 1 END) AS d"
    f" FROM {F} GROUP BY i",
    f"SELECT g, sum(c * 1.1) FILTER (WHERE i > 0) AS a, count(c + i) AS n FROM {F} GROUP BY g"
    " HAVING sum(c + i) > -1000 ORDER BY a, g",
    f"SELECT g, sum(c * 2) AS a FROM {F} WHERE g = 'none' GROUP BY g",
    f"SELECT sum(c * 2) AS a, sum(c + 1) AS b FROM {F} WHERE g = 'none'",
)
_OF_ROWS = (
    f"SELECT g, sum(c * r) AS a, sum(c * (1 - r)) AS b, sum(c * (1 - r) * (1 + r)) AS d FROM {F}"
    " WHERE r > 0 GROUP BY g",
    f"SELECT g, max(p * c) AS a, min(q - p) AS b, max(-q) AS d, max(c * w) AS e FROM {F}"
    " WHERE r > 0 GROUP BY g",
    f"SELECT g, sum(p + q) AS a, max(r * r * r) AS b, min(i * c - r) AS d FROM {F} WHERE r > 0"
    " GROUP BY g",
)


@pytest.fixture(scope="module")
def facts(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    spark_warehouse.sql(f"CREATE TABLE {F} USING iceberg AS {_FACTS.format(0, 60)}")
    acc.query(
        f"CREATE CUBE decimals AS SELECT g, i, r, count(*), sum(c), count(c), sum(p), count(p)"
        f" FROM {F} GROUP BY g, i, r"
    )
    acc.query(f"CREATE INDEX decimals_r ON {F} USING BITMAP (r)")
    acc.query("BUILD INDEX decimals_r")
    yield Differential(acc)
    acc.query("DROP INDEX decimals_r")
    acc.query("DROP CUBE decimals")
    spark_warehouse.sql(f"DROP TABLE {F}")


def test_sums_and_rows(facts: Differential, acc: Accelerator) -> None:
    facts.check(_OF_SUMS, spark=_OF_SUMS[:5])
    facts.check(_OF_ROWS, rewritten=None, spark=_OF_ROWS)
    acc.spark.sql(f"INSERT INTO {F} {_FACTS.format(60, 90)}")
    facts.changed()
    facts.check(_OF_SUMS, spark=_OF_SUMS[:2])
    facts.check(_OF_ROWS, rewritten=None)
