"""SELECTs in a statement are answered on their own where Spark answers the rest, as plain Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F, D = "lake.d.part_f", "lake.d.part_d"
_FACTS = (
    "SELECT nullif(CAST(id AS INT) % 7, 6) AS k, nullif(concat('g', id % 3), 'g2') AS g,"
    " CAST(id AS INT) % 5 AS v, CAST(id AS DECIMAL(9,2)) / 4 AS c, CAST(id % 5 AS DOUBLE) / 8 AS x,"
    " date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS d,"
    " TIMESTAMP_NTZ '2024-03-10 02:30:00' + make_interval(0, 0, 0, id % 3) AS z"
    " FROM range({0}, {1}, 1, 1)"
)
_BY_G = f"SELECT g, count(*) AS n, sum(v) AS s, sum(c) AS c FROM {F} GROUP BY g"
_BY_K = f"SELECT k, sum(v) AS s FROM {F} GROUP BY k"
_ANSWERED = (
    # windows above blocks
    f"SELECT g, n, rank() OVER (ORDER BY n DESC, g) AS r, sum(s) OVER () AS t FROM ({_BY_G})",
    f"WITH w AS ({_BY_G}) SELECT *, lag(n) OVER (ORDER BY g) AS l FROM w ORDER BY g",
    # set operations, their branches and their ends
    f"{_BY_K} UNION ALL SELECT v, count(*) FROM {F} GROUP BY v ORDER BY 1, 2 LIMIT 9",
    f"SELECT k FROM ({_BY_K}) EXCEPT SELECT v FROM (SELECT v, count(*) FROM {F} GROUP BY v)",
    f"SELECT count(*) AS n FROM {F} UNION SELECT max(v) FROM {F} UNION SELECT 1",
    f"SELECT count(*), 'a' FROM {F} UNION ALL SELECT count(*), 'b' FROM {D}",
    # scalar subqueries, IN and EXISTS
    f"SELECT g, d, v FROM {F} WHERE d = (SELECT max(d) FROM {F}) ORDER BY v",
    f"SELECT g, count(*) AS n, (SELECT sum(v) FROM {F}) AS t FROM {F} GROUP BY g",
    f"SELECT k, name FROM {D} WHERE k IN (SELECT k FROM {F} GROUP BY k HAVING sum(v) > 20)",
    f"SELECT k, name FROM {D} WHERE k NOT IN (SELECT k FROM {F} WHERE k > 3 GROUP BY k)",
    f"SELECT k FROM {D} WHERE EXISTS (SELECT count(*) FROM {F} HAVING count(*) > 10)",
    f"SELECT k, max(v) AS a FROM {F} GROUP BY k HAVING max(v) > (SELECT max(v) FROM {F}) - 2",
    # joins of derived tables with tables, the same one too
    f"SELECT name, s FROM {D} JOIN ({_BY_K}) t ON t.k = part_d.k",
    f"SELECT d.name, t.s FROM {D} AS d LEFT JOIN ({_BY_K}) AS t USING (k)",
    f"SELECT f.g, f.v, t.n FROM {F} f JOIN ({_BY_G}) t ON f.g = t.g WHERE f.v > 3",
    f"SELECT part_f.v, t.n FROM {F} JOIN ({_BY_G}) t ON part_f.g = t.g WHERE {F}.d > '2024-03-01'",
    # what is not understood above them, or beside them
    f"SELECT explode(array(n, s)) AS e FROM ({_BY_G})",
    f"SELECT g, e FROM ({_BY_G}) LATERAL VIEW explode(sequence(1, n)) AS e",
    f"SELECT soundex(string(m)) AS x, z, m FROM (SELECT z, max(z) AS m FROM {F} GROUP BY z)",
    f"SELECT * FROM ({_BY_K}) PIVOT (sum(s) FOR k IN (1, 2, 3))",
    f"SELECT soundex(g) AS x, transform(array(n), y -> y + 1) AS a FROM ({_BY_G})",
    f"WITH a AS ({_BY_K}), b AS (SELECT k, max(s) AS m FROM a GROUP BY k)"
    " SELECT a.k, b.m, percent_rank() OVER (ORDER BY a.s) AS p FROM a JOIN b USING (k)",
    f"SELECT concat_ws('-', collect_set(g)) AS x FROM ({_BY_G} ORDER BY g LIMIT 1)",
    # windows over groups of their own SELECT
    f"SELECT g, sum(v) AS s, rank() OVER (ORDER BY sum(v) DESC) AS r FROM {F} GROUP BY g"
    " ORDER BY g",
    "SELECT part_f.g, v, sum(c), sum(sum(c)) OVER (PARTITION BY g), sum(c) * 100 / sum(sum(c))"
    f" OVER (PARTITION BY v) FROM {F} WHERE k > 0 GROUP BY {F}.g, v HAVING count(*) > 1"
    " ORDER BY 4, g, v",
    "SELECT grouping(g) + grouping(v) AS l, g, v, rank() OVER (PARTITION BY grouping(g)"
    " + grouping(v), CASE WHEN grouping(v) = 0 THEN g END ORDER BY sum(k) DESC, g, v) AS r"
    f" FROM {F} GROUP BY ROLLUP (g, v) ORDER BY l DESC, CASE WHEN l = 0 THEN g END, r, g, v",
    f"SELECT count(*) AS n, sum(count(*)) OVER () AS m FROM {F}",
    "SELECT upper(g) AS g, row_number() OVER (ORDER BY count(*), part_f.g) AS r"
    f" FROM {F} GROUP BY g ORDER BY g, r",
    "WITH w AS (SELECT g, v, rank() OVER (PARTITION BY g ORDER BY count(*), v) AS r, sum(k) AS s"
    f" FROM {F} GROUP BY g, v) SELECT a.g, a.s - b.s AS x FROM w a JOIN w b"
    " ON a.g = b.g AND a.r = b.r - 1",
    f"SELECT name, max(v) FILTER (WHERE v < 3) AS m, lag(max(v)) OVER (ORDER BY name) AS l FROM {F}"
    f" JOIN {D} ON {F}.k = part_d.k GROUP BY name",
)
_PLAIN = (
    f"SELECT count(*) <= 90 AS b FROM ({_BY_K}) TABLESAMPLE (3 ROWS) CROSS JOIN {D}",
    f"SELECT g, sum(v) OVER (PARTITION BY g) AS s FROM {F} WHERE d = '2024-01-28'",
    f"SELECT g, soundex(g), rank() OVER (ORDER BY count(*)) AS r FROM {F} GROUP BY g",
    f"SELECT g, rank() OVER w AS r FROM {F} GROUP BY g WINDOW w AS (ORDER BY sum(v))",
    f"SELECT DISTINCT rank() OVER (ORDER BY count(*)) AS r FROM {F} GROUP BY g",
    f"SELECT k, (SELECT count(*) FROM {F} f WHERE f.k = o.k) AS n FROM {D} o",
    # sums of doubles that Spark would compare with its own
    f"SELECT k, sum(x) AS s FROM {F} GROUP BY k HAVING sum(x) ="
    f" (SELECT max(s) FROM (SELECT k, sum(x) AS s FROM {F} GROUP BY k))",
    f"SELECT k, sum(x) AS s FROM {F} GROUP BY k"
    f" EXCEPT SELECT k, sum(x) + 0 * max(length(soundex(g))) AS s FROM {F} GROUP BY k",
    # names of which the state that is read can't be said
    f"SELECT t.n, count(soundex(f.g)) AS m FROM {F}.branch_main f CROSS JOIN (SELECT count(*) AS n"
    f" FROM {F}) t GROUP BY t.n",
    f"SELECT t.n, count(soundex(g)) AS m FROM IDENTIFIER('{F}') CROSS JOIN (SELECT count(*) AS n"
    f" FROM {F}) t GROUP BY t.n",
    f"WITH part_view AS (SELECT soundex(g) AS x FROM part_view) SELECT t.s, x FROM part_view"
    f" CROSS JOIN ({_BY_K}) t",
    # words that are names
    f"SELECT 1L AS v UNION ALL SELECT sum(v) AS v FROM {F} AS offset WHERE v > 3",
    f"SELECT 1L AS v UNION ALL SELECT sum(v) AS v FROM {F} limit WHERE v > 3",
    f"SELECT 1, (SELECT count(*) FROM {F} |> LIMIT 1) FROM {D}",
    f"SELECT k FROM {D} o WHERE EXISTS (SELECT 1 FROM {F} f WHERE f.k = o.k AND f.v > o.k)",
    f"SELECT t.*, u.k FROM ({_BY_G}) t, part_view u WHERE u.k = t.n",
)
_REFUSED = (
    f"{_BY_K} LIMIT 1 UNION ALL {_BY_K}",
    f"SELECT zzz FROM ({_BY_G}) CROSS JOIN {D}",
    f"SELECT k, name FROM {D} WHERE k = (SELECT k, sum(v) FROM {F} GROUP BY k)",
    f"SELECT k, name FROM {D} WHERE k = (SELECT k FROM {F} GROUP BY k)",
    f"SELECT g, n FROM ({_BY_G}) UNION ALL SELECT g FROM ({_BY_G})",
)


@pytest.fixture(scope="module")
def parts(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    sql(f"CREATE TABLE {F} USING iceberg AS {_FACTS.format(0, 90)}")
    sql(f"CREATE TABLE {D} AS SELECT CAST(id AS INT) AS k, concat('n', id) AS name FROM range(9)")
    sql(f"CREATE TEMPORARY VIEW part_view AS SELECT * FROM {F}")
    acc.query(
        f"CREATE CUBE part_f AS SELECT k, g, v, d, z, count(*), sum(v), sum(c), avg(x) FROM {F}"
        " GROUP BY k, g, v, d, z"
    )
    yield Differential(acc)
    acc.query("DROP CUBE part_f")
    sql("DROP VIEW part_view")
    for name in (F, D):
        sql(f"DROP TABLE {name}")


def test_answers(parts: Differential) -> None:
    parts.check(_ANSWERED, spark=[q for q in _ANSWERED if "ORDER BY" not in q])
    parts.check(_PLAIN, rewritten=False)


def test_one_state_for_all(parts: Differential, acc: Accelerator) -> None:
    """A table that Spark reads as well is of the snapshot that the answers are of."""
    plan = json.loads(acc.explain(_ANSWERED[6], format="json"))
    snapshot = plan["snapshots"][F]
    assert f"FROM {F} VERSION AS OF {snapshot} WHERE d = (" in plan["sql"]


def test_what_spark_refuses_is_refused(parts: Differential, acc: Accelerator) -> None:
    for sql in _REFUSED:
        with pytest.raises((PySparkException, Py4JError)) as plain:
            acc.spark.sql(sql).collect()
        with pytest.raises(type(plain.value)):
            acc.query(sql)


def test_after_changes(parts: Differential, acc: Accelerator) -> None:
    acc.spark.sql(f"INSERT INTO {F} {_FACTS.format(90, 120)}")
    parts.changed()
    parts.check(_ANSWERED, rewritten=None)
    acc.spark.sql(f"ALTER TABLE {F} ADD COLUMN late INT")
    star = f"SELECT f.*, t.n FROM {F} f JOIN ({_BY_G}) t ON f.g = t.g"
    parts.check([star], rewritten=None)
    assert "late" in acc.query(star).arrow().column_names


def test_explain(parts: Differential, acc: Accelerator) -> None:
    text = acc.explain(_ANSWERED[0])
    assert text.startswith("1 SELECT on its own; the rest by Spark, as it's written\n1. ")
    metrics = acc.query(_ANSWERED[0]).metrics
    assert (metrics.engine, metrics.cubes) == ("spark", ("part_f",))
    assert acc.query(_ANSWERED[0]).metrics.plan_cached
    assert acc.verify(_ANSWERED[1]).equal
