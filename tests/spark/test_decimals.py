"""Arithmetic of decimals is Spark's: from sums in cubes, and computed row by row in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException

from accelerator.errors import AcceleratorError
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


W = "lake.d.decimals_w"
# Spark has 38 digits for each of these, where 49 would be needed.
_TAXED = "e * (1 - d) * (1 + t)"
_WIDE_FACTS = (
    "SELECT nullif(concat('g', id % 3), 'g2') AS g, id % 7 AS k,"
    " CAST(nullif(id % 5, 3) * 12345678901.23 - id AS DECIMAL(15,2)) AS e,"
    " CAST(id % 11 / 100 AS DECIMAL(15,2)) AS d, CAST(id % 9 * 11111111.11 AS DECIMAL(15,2)) AS t"
    " FROM range({0}, {1}, 1, 1)"
)
_OF_WIDE = (
    f"SELECT g, sum({_TAXED}) AS a, count(*) AS n FROM {W} WHERE k < 5 GROUP BY g",
    f"SELECT g, min({_TAXED}) AS a, max({_TAXED}) AS b, count({_TAXED}) AS n FROM {W} GROUP BY g",
    f"SELECT k, sum({_TAXED}) / 3 AS a, sum({_TAXED}) - max({_TAXED}) AS b FROM {W} GROUP BY k",
    f"SELECT g, sum({_TAXED}) AS a FROM {W} GROUP BY g HAVING sum({_TAXED}) > 1.5 ORDER BY a",
    f"SELECT sum({_TAXED}) AS a FROM {W} WHERE g = 'none'",
    f"SELECT sum({_TAXED}) FILTER (WHERE k > 2) AS a, sum(CASE WHEN k = 1 THEN {_TAXED} END) AS b"
    f" FROM {W}",
)


@pytest.fixture(scope="module")
def wide(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    """A cube of products that are clipped; a row of group g9 has too many digits for them."""
    spark_warehouse.sql(
        f"CREATE TABLE {W} USING iceberg TBLPROPERTIES ('format-version'='2') AS"
        f" {_WIDE_FACTS.format(0, 60)}"
    )
    acc.query(
        f"CREATE CUBE wide_decimals AS SELECT g, k, count(*), sum({_TAXED}), min({_TAXED}),"
        f" max({_TAXED}), count({_TAXED}) FROM {W} GROUP BY g, k"
    )
    yield Differential(acc)
    acc.query("DROP CUBE wide_decimals")
    spark_warehouse.sql(f"DROP TABLE {W}")


def test_products_of_more_than_38_digits(wide: Differential, acc: Accelerator) -> None:
    wide.check(_OF_WIDE[:2] + _OF_WIDE[3:], spark=_OF_WIDE[:2] + _OF_WIDE[3:])
    wide.check(_OF_WIDE[2:3], rewritten=None, spark=_OF_WIDE[2:3])
    acc.spark.sql(f"INSERT INTO {W} {_WIDE_FACTS.format(60, 90)}")
    wide.changed()
    wide.check(_OF_WIDE[:2] + _OF_WIDE[3:], spark=_OF_WIDE[:2])
    wide.check([f"SELECT g, {_TAXED} AS p, count(*) FROM {W} GROUP BY 1, 2"], rewritten=None)


def test_a_product_that_has_too_many_digits(wide: Differential, acc: Accelerator) -> None:
    big = "CAST(9999999999999.99 AS DECIMAL(15,2))"
    acc.spark.sql(f"INSERT INTO {W} SELECT 'g9', 1L, {big}, -{big}, {big}")
    wide.changed()
    try:
        raising = f"SELECT sum({_TAXED}) AS a FROM {W}"
        for ask in (acc.plain_table, lambda sql: acc.query(sql).arrow()):
            with pytest.raises(PySparkException, match="NUMERIC_VALUE_OUT_OF_RANGE"):
                ask(raising)
        with pytest.raises(AcceleratorError, match="NUMERIC_VALUE_OUT_OF_RANGE"):
            acc.query("BUILD CUBE wide_decimals")
        raised = dict(acc.fallbacks)
        wide.check([f"SELECT sum({_TAXED}) AS a FROM {W} WHERE k = 2"])
        assert dict(acc.fallbacks) == raised
    finally:
        acc.spark.sql(f"DELETE FROM {W} WHERE g = 'g9'")


def test_sums_of_more_than_38_digits(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    """Each product fits, two of them don't: Spark's sum raises, and so does ours."""
    table = spark_warehouse.table("k INT, a DECIMAL(30,2), b DECIMAL(30,2)")
    one = "CAST(3000000000000000 AS DECIMAL(30,2))"
    spark_warehouse.sql(f"INSERT INTO lake.d.{table} VALUES (1, {one}, {one} * 200), (2, 1, 2)")
    acc.query(
        f"CREATE CUBE wide_sums AS SELECT k, count(*), sum(a * b) FROM lake.d.{table} GROUP BY k"
    )
    try:
        checked = Differential(acc)
        asked = f"SELECT sum(a * b) AS s FROM lake.d.{table}"
        checked.check([asked], spark=[asked])
        spark_warehouse.sql(
            f"INSERT INTO lake.d.{table} SELECT 3 + id, {one} * 600, {one} FROM range(2)"
        )
        acc.query("BUILD CUBE wide_sums")
        with pytest.raises(PySparkException, match="Overflow in sum of decimals"):
            acc.plain_table(asked)
        with pytest.raises(PySparkException, match="Overflow in sum of decimals"):
            acc.query(asked)
    finally:
        acc.query("DROP CUBE wide_sums")


def test_minus_of_more_than_34_digits(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    """Spark rounds such a number to 34 digits when it negates it."""
    table = f"lake.d.{spark_warehouse.table('k INT, c DECIMAL(38,2)')}"
    values = ("123456789012345678901234567890123456.78", "-7.25")
    for value in values:
        spark_warehouse.sql(f"INSERT INTO {table} VALUES (1, CAST('{value}' AS DECIMAL(38,2)))")
    acc.query(f"CREATE CUBE minus AS SELECT k, c, count(*), max(c) FROM {table} GROUP BY k, c")
    try:
        asked = (
            f"SELECT -c AS z, count(*) FROM {table} GROUP BY 1",
            f"SELECT k, -max(c) AS z FROM {table} GROUP BY k",
            f"SELECT k, max(-c) AS z FROM {table} GROUP BY k",
        )
        Differential(acc).check(asked, rewritten=None)
    finally:
        acc.query("DROP CUBE minus")
