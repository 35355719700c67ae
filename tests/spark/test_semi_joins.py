"""Semi joins, IN and EXISTS answered from cubes of inner joins, equal to plain Spark.

Strategy: a fact with NULL, dangling and repeated keys; a dimension with unique keys beside two
NULLs, a smaller one on it, and a table whose key stands twice. What is unique is counted.
Invariant: equal answers; rewritten where the right side's key is unique, plain where it isn't.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@dataclass
class Star:
    """The tables' names, and the cubes over them."""

    warehouse: SparkWarehouse
    tables: dict[str, str]

    def sql(self, text: str) -> None:
        self.warehouse.sql(text.format(**self.tables))

    def texts(self, queries: tuple[str, ...]) -> list[str]:
        return [q.format(**self.tables) for q in queries]


_TABLES = {
    "f": "k INT, i INT, g STRING, v INT, b BOOLEAN",
    "d": "k INT, ok INT, region STRING",
    "o": "ok INT, land STRING",
    "t": "k INT, tag STRING",
}


@pytest.fixture(scope="module")
def star(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Star]:
    tables = {name: f"lake.d.{spark_warehouse.table(c)}" for name, c in _TABLES.items()}
    made = Star(spark_warehouse, tables)
    made.sql(
        "INSERT INTO {d} SELECT id, id % 3, if(id = 4, NULL, concat('r', id % 2)) FROM range(6)"
        " UNION ALL VALUES (NULL, 0, 'r0'), (NULL, 1, 'r1')"
    )
    made.sql("INSERT INTO {o} VALUES (0, 'x'), (1, 'y')")
    made.sql("INSERT INTO {t} VALUES (0, 'a'), (0, 'b'), (1, 'a'), (NULL, 'a')")
    for start in (0, 60):
        insert(made, start)
    acc.query(
        "CREATE CUBE semi_i AS SELECT f.k, f.i, g, b, region, d.ok, count(*) n, sum(v) s,"
        " count(DISTINCT v) c FROM {f} f JOIN {d} d ON f.k = d.k"
        " GROUP BY f.k, f.i, g, b, region, d.ok".format(**tables)
    )
    acc.query(
        "CREATE CUBE semi_o AS SELECT f.i, g, region, land, count(*) n, sum(v) s FROM {f} f"
        " LEFT JOIN {d} d ON f.k = d.k JOIN {o} o ON d.ok = o.ok"
        " GROUP BY f.i, g, region, land".format(**tables)
    )
    yield made
    for name in ("semi_i", "semi_o"):
        acc.query(f"DROP CUBE {name}")


def insert(star: Star, start: int) -> None:
    """A file of 60 rows."""
    star.sql(
        "INSERT INTO {f} SELECT nullif(CAST(id % 9 AS INT), 8), CAST(id % 4 AS INT),"
        " concat('g', id % 2), if(id % 7 = 0, NULL, id % 13), if(id % 5 = 0, NULL, id % 5 = 1)"
        f" FROM range({start}, {start + 60}, 1, 1)"
    )


_ANSWERED = (
    "SELECT g, count(*) n, sum(v) s FROM {f} f LEFT SEMI JOIN {d} d ON f.k = d.k GROUP BY g",
    "SELECT k, count(*) n FROM {f} f SEMI JOIN {d} d USING (k) GROUP BY k",
    "SELECT g, count(DISTINCT v) c FROM {f} f LEFT SEMI JOIN {d} d ON d.k = f.k AND region = 'r1'"
    " AND f.i < 3 GROUP BY g",
    "SELECT count(*) n FROM {f} f LEFT SEMI JOIN {d} d ON f.k = d.k AND region IS NULL",
    "SELECT g, sum(v) s FROM {f} WHERE k IN (SELECT k FROM {d}) GROUP BY g",
    "SELECT i, count(*) n FROM {f} WHERE b AND k IN (SELECT DISTINCT x.k FROM {d} x WHERE"
    " region = 'r0' OR x.ok = 2) AND g <> 'g1' GROUP BY i",
    "SELECT g, sum(v) s FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE d.k = f.k) GROUP BY g",
    "SELECT g, sum(v) s FROM {f} d WHERE (EXISTS (SELECT *, NULL FROM {d} f WHERE d.k = f.k AND"
    " region = 'r1' AND ok < 2)) GROUP BY g HAVING count(*) > 1 ORDER BY g DESC LIMIT 1",
    "SELECT EXISTS (SELECT 1 FROM {f} WHERE k IN (SELECT k FROM {d} WHERE region = 'none')) e",
    "SELECT region, count(*) n FROM {f} f LEFT JOIN {d} d ON f.k = d.k LEFT SEMI JOIN {o} o"
    " ON o.ok = d.ok GROUP BY region",
    "SELECT region, sum(v) s FROM {f} f LEFT JOIN {d} d ON f.k = d.k WHERE d.ok IN"
    " (SELECT ok FROM {o} WHERE land = 'x') GROUP BY region",
    "SELECT region, sum(v) s FROM {d} d RIGHT JOIN {f} f ON f.k = d.k WHERE EXISTS"
    " (SELECT land FROM {o} WHERE ok = d.ok) GROUP BY region",
)
_PLAIN = (
    "SELECT g, count(*) n FROM {f} f LEFT SEMI JOIN {t} t ON f.k = t.k GROUP BY g",
    "SELECT g, count(*) n FROM {f} f LEFT ANTI JOIN {d} d ON f.k = d.k GROUP BY g",
    "SELECT count(*) n FROM {f} WHERE k NOT IN (SELECT k FROM {d} WHERE k > 1)",
    "SELECT count(*) n FROM {f} WHERE b OR k IN (SELECT k FROM {d})",
    "SELECT count(*) n FROM {f} f WHERE NOT EXISTS (SELECT 1 FROM {d} d WHERE f.k = d.k)",
    "SELECT count(*) n FROM {f} WHERE i IN (SELECT ok FROM {d})",
    "SELECT count(*) n FROM {f} f WHERE EXISTS (SELECT count(*) FROM {d} d WHERE f.k = d.k)",
    "SELECT count(*) n FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} d WHERE f.k = d.k LIMIT 0)",
    "SELECT count(*) n FROM {f} f WHERE EXISTS (SELECT 1 FROM {d} f WHERE f.k = k)",
)


def test_semi_joins(acc: Accelerator, star: Star) -> None:
    answered = star.texts(_ANSWERED)
    Differential(acc).check(answered, spark=answered, where="cubes")
    Differential(acc).check(star.texts(_PLAIN), rewritten=False, where="plain")
    shape = (
        "SELECT g, count(*) n FROM {{f}} WHERE i > {} AND k IN (SELECT k FROM {{d}} WHERE ok < {})"
    )
    constants = [(0, 1), (1, 1), (0, 2), (2, 2), (0, 1)]
    alike = star.texts(tuple(shape.format(*two) + " GROUP BY g" for two in constants))
    Differential(acc).check(alike, where="of one shape")
    fallback = acc.query(star.texts(_PLAIN)[0]).metrics.fallback
    assert fallback is not None
    assert fallback.startswith("semi_not_unique: ")


_FROM = (
    "{f} f",
    "{f} f LEFT SEMI JOIN {d} d ON f.k = d.k",
    "{f} f LEFT SEMI JOIN {t} t ON f.k = t.k",
    "{f} f JOIN {d} d ON f.k = d.k LEFT SEMI JOIN {o} o ON o.ok = d.ok AND land = 'x'",
    "{f} f LEFT JOIN {d} d ON f.k = d.k LEFT SEMI JOIN {o} d2 ON d.ok = d2.ok",
    "{f} f LEFT SEMI JOIN {d} d ON f.k = d.k AND d.ok = f.i LEFT JOIN {t} t ON t.k = f.k",
)
_TERMS = (
    "f.k IN (SELECT k FROM {d})",
    "f.k IN (SELECT k FROM {d} WHERE region = 'r1' OR region IS NULL)",
    "f.i IN (SELECT ok FROM {o} WHERE land = 'x')",
    "f.k IN (SELECT k FROM {t} WHERE tag = 'a')",
    "EXISTS (SELECT 1 FROM {d} x WHERE x.k = f.k AND ok = f.i)",
    "EXISTS (SELECT * FROM {o} WHERE ok = i)",
    "EXISTS (SELECT tag FROM {t} f2 WHERE f2.k = f.k AND tag = f.g)",
    "f.b",
    "(f.g = 'g1' OR f.v > 3)",
)


@given(from_=st.sampled_from(_FROM), terms=st.lists(st.sampled_from(_TERMS), max_size=3))
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_random_statements(acc: Accelerator, star: Star, from_: str, terms: list[str]) -> None:
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    sql = f"SELECT f.g, count(*) n, sum(f.v) s FROM {from_}{where} GROUP BY f.g"
    Differential(acc).check(star.texts((sql,)), rewritten=None)


def test_files_and_dimensions_change(acc: Accelerator, star: Star) -> None:
    answered = star.texts(_ANSWERED)
    insert(star, 120)
    Differential(acc).check(answered, spark=answered[::3], where="beside raw rows")
    star.sql("INSERT INTO {d} VALUES (3, 2, 'r0')")
    for cube in ("semi_i", "semi_o"):
        acc.query(f"BUILD CUBE {cube}")
    whole = [q for q in answered[:9] if "DISTINCT x.k" not in q]  # that SELECT is answered alone
    Differential(acc).check(whole, rewritten=False, where="a key that stands twice")
    Differential(acc).check(answered[:9], rewritten=None, where="a key that stands twice")
    star.sql("DELETE FROM {d} WHERE k = 3 AND ok = 2")
    Differential(acc).check(answered, rewritten=None, where="unique again")
    for cube in ("semi_i", "semi_o"):
        acc.query(f"BUILD CUBE {cube}")
    Differential(acc).check(answered, where="built again")


def test_a_cube_is_of_no_semi_join(acc: Accelerator, star: Star) -> None:
    sql = "SELECT g, count(*) n FROM {f} f LEFT SEMI JOIN {d} d ON f.k = d.k GROUP BY g"
    with pytest.raises(Exception, match="each key once"):
        acc.query(f"CREATE CUBE semi_x AS {sql.format(**star.tables)}")
