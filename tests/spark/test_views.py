"""Statements over Iceberg's views are answered as their SELECTs are, as plain Spark.

Also after a view, or a table under it, has changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.plan import PlainPlan
from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F, D = "lake.d.seen_f", "lake.d.seen_d"
_VIEWS = {
    "seen_sums": f"(who COMMENT 'a name', total) AS SELECT g, sum(v) FROM {F} GROUP BY g",
    "seen_all": f"AS SELECT * FROM {F} WHERE v >= 1 -- all but these",
    "seen_both": f"AS SELECT f.g, f.v, f.c, name, f.d FROM {F} f JOIN {D} ON k = dk",
    "seen_qualified": f"AS SELECT f.* FROM {F} f",
    "seen_newer": f"AS SELECT g, v, parse_json('1') AS j FROM {F}",
    "seen_named": f"(one, two) AS SELECT g, v FROM {F}",
    "seen_deep": "AS SELECT who, total FROM lake.d.seen_sums WHERE total > 2",
    "seen_star": f"AS SELECT * FROM {F} f JOIN {D} ON k = dk",
    "seen_with": f"AS WITH x AS (SELECT g, v + 1 AS w FROM {F}) SELECT g, w FROM x",
    "seen_windows": f"AS SELECT g, rank() OVER (ORDER BY v) AS r FROM {F}",
    "seen_union": f"AS SELECT g FROM {F} UNION ALL SELECT name FROM {D}",
}
_ANSWERED = (
    "SELECT who, total FROM lake.d.seen_sums",
    "SELECT * FROM lake.d.seen_sums ORDER BY total DESC",
    "SELECT s.total AS t FROM lake.d.seen_sums AS s WHERE who = 'g1'",
    "SELECT max(seen_sums.total) AS m FROM lake.d.seen_sums",
    "SELECT g, sum(v) AS s FROM lake.d.seen_all WHERE v < 4 GROUP BY g",
    "SELECT name, month(d) AS m, sum(c), count(*) FROM lake.d.seen_both GROUP BY name, month(d)",
    "SELECT j.name, sum(j.v) AS s FROM lake.d.seen_both j WHERE j.g = 'g0' GROUP BY j.name"
    " HAVING sum(j.v) > 3 ORDER BY s",
    "SELECT one, sum(two) AS s FROM lake.d.seen_named GROUP BY one",
    "SELECT count(*) AS n FROM lake.d.seen_deep",
    "SELECT name, sum(v) FROM lake.d.seen_star GROUP BY name",
    "WITH s AS (SELECT * FROM lake.d.seen_sums) SELECT max(total) AS m FROM s",
    "SELECT who, rank() OVER (ORDER BY total) AS r FROM lake.d.seen_sums",
    f"SELECT g, count(*) AS n FROM {F} WHERE v > (SELECT min(total) FROM lake.d.seen_sums)"
    " GROUP BY g",
    "SELECT who FROM lake.d.seen_sums UNION ALL SELECT g FROM lake.d.seen_all WHERE v = 1",
    "SELECT g, sum(v) AS s FROM lake.d.seen_qualified GROUP BY g",
    "SELECT g, rank() OVER (ORDER BY g) AS r, (SELECT max(total) FROM lake.d.seen_deep) AS m"
    " FROM lake.d.seen_qualified WHERE k = 1",
    "SELECT g, v FROM lake.d.seen_all WHERE v > 3 ORDER BY v DESC, g LIMIT 2",
)
_PLAIN = (
    "SELECT g, max(r) AS m FROM lake.d.seen_windows GROUP BY g",
    "SELECT g, count(*) AS n FROM lake.d.seen_union GROUP BY g",
    "SELECT g, count(*) AS n FROM lake.d.seen_newer GROUP BY g",
    "SELECT d.seen_sums.who FROM lake.d.seen_sums",
)


@pytest.fixture(scope="module")
def seen(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    sql(
        f"CREATE TABLE {F} USING iceberg AS SELECT CAST(id AS INT) % 7 AS k, nullif(concat('g',"
        " id % 3), 'g2') AS g, nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id AS DECIMAL(9,2)) / 4"
        " AS c, date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS d FROM range(0, 90, 1, 1)"
    )
    sql(
        f"CREATE TABLE {D} AS SELECT CAST(id AS INT) AS dk, concat('n', id % 4) AS name"
        " FROM range(6)"
    )
    for name, text in _VIEWS.items():
        sql(f"CREATE VIEW lake.d.{name} {text}")
    acc.query(
        f"CREATE CUBE seen_cube AS SELECT g, v, name, month(d), sum(v), sum(c), count(*) FROM {F}"
        f" JOIN {D} ON k = dk GROUP BY g, v, name, month(d)"
    )
    acc.query(f"CREATE CUBE seen_fact AS SELECT g, v, sum(v), count(*) FROM {F} GROUP BY g, v")
    yield Differential(acc)
    for name in ("seen_cube", "seen_fact"):
        acc.query(f"DROP CUBE {name}")
    for name in reversed(_VIEWS):
        sql(f"DROP VIEW lake.d.{name}")
    for name in (F, D):
        sql(f"DROP TABLE {name}")


def test_views_are_answered(seen: Differential, spark_warehouse: SparkWarehouse) -> None:
    seen.check(_ANSWERED, spark=_ANSWERED[3:6])
    seen.check(_PLAIN, rewritten=False)
    spark_warehouse.sql(f"INSERT INTO {F} SELECT k, g, v + 1, c, d FROM {F} WHERE k < 3")
    seen.changed()
    seen.check(_ANSWERED, rewritten=None)


def test_bare_names_are_those_of_where_the_view_was_made(
    seen: Differential, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    """Another namespace has a table of the same name."""
    sql = spark_warehouse.sql
    sql("CREATE NAMESPACE IF NOT EXISTS lake.e")
    sql("CREATE TABLE lake.e.seen_f AS SELECT 'other' AS g, 1000 AS v")
    acc.sql("USE lake.d")
    try:
        sql("CREATE VIEW lake.e.seen_here AS SELECT g, sum(v) AS s FROM seen_f GROUP BY g")
        acc.sql("USE lake.e")
        seen.changed()
        seen.check(["SELECT g, s FROM seen_here", "SELECT max(s) FROM lake.e.seen_here"])
        sql("CREATE OR REPLACE TEMPORARY VIEW seen_here AS SELECT 'temporary' AS g, 1 AS s")
        seen.changed()
        seen.check(["SELECT g, s FROM seen_here"], rewritten=False)
        seen.check(["SELECT g, s FROM lake.e.seen_here"])
    finally:
        acc.sql("USE spark_catalog.default")
        sql("DROP VIEW IF EXISTS seen_here")
        sql("DROP VIEW IF EXISTS lake.e.seen_here")
        sql("DROP TABLE lake.e.seen_f")


def test_another_view_of_the_same_name(
    seen: Differential, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    """Plans are cached: a statement asks whether its views are as they were."""
    sql, query = spark_warehouse.sql, "SELECT max(s) AS m FROM lake.d.seen_new"
    for text in ("sum(v)", "min(v) + 100", "count(*)"):
        sql(f"CREATE OR REPLACE VIEW lake.d.seen_new AS SELECT g, {text} AS s FROM {F} GROUP BY g")
        for _ in range(2):
            seen.changed()
            seen.check([query])
    sql("DROP VIEW lake.d.seen_new")
    sql("CREATE TABLE lake.d.seen_new AS SELECT -5 AS s")
    seen.changed()
    seen.check([query], rewritten=None)
    sql("DROP TABLE lake.d.seen_new")


def test_a_table_under_a_view_has_other_columns(
    seen: Differential, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    """Spark takes a view's columns by their places, and refuses another type."""
    sql = spark_warehouse.sql
    sql("CREATE TABLE lake.d.seen_wide AS SELECT 'a' AS g, 1 AS v UNION ALL SELECT 'b', 2")
    sql("CREATE VIEW lake.d.seen_row AS SELECT * FROM lake.d.seen_wide")
    sql("CREATE VIEW lake.d.seen_distinct AS SELECT DISTINCT * FROM lake.d.seen_wide")
    acc.query("CREATE CUBE seen_c AS SELECT g, sum(v), count(*) FROM lake.d.seen_wide GROUP BY g")
    query = "SELECT g, sum(v) AS s FROM lake.d.seen_row GROUP BY g"
    rows = "SELECT count(*) AS n FROM lake.d.seen_distinct"
    try:
        seen.check([query])
        sql("ALTER TABLE lake.d.seen_wide ADD COLUMN w INT")
        sql("INSERT INTO lake.d.seen_wide VALUES ('a', 1, 7), ('a', 1, 8)")
        seen.changed()
        seen.check([query, rows], rewritten=None)
        sql("ALTER TABLE lake.d.seen_wide ALTER COLUMN v TYPE BIGINT")
        for one in (query, "SELECT g FROM lake.d.seen_row GROUP BY g"):
            plan = acc.plan(one)[0]
            assert isinstance(plan, PlainPlan) and plan.declined.code == "view_unsupported"
            with pytest.raises(Exception, match="CANNOT_UP_CAST_DATATYPE"):
                acc.query(one)
    finally:
        acc.query("DROP CUBE seen_c")
        sql("DROP VIEW lake.d.seen_row")
        sql("DROP VIEW lake.d.seen_distinct")
        sql("DROP TABLE lake.d.seen_wide")
