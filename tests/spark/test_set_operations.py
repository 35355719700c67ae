"""Set operations of SELECTs that cubes answer are put together in process, as plain Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from accelerator.plan import NestedPlan
from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F = "lake.d.set_f"
_SUMS = f"SELECT g, sum(v) AS s FROM {F} GROUP BY g"
_KEYS = f"SELECT g FROM {F} WHERE k > 3 GROUP BY g"
_PARITY = "CASE WHEN k IN (1, 3, 5) THEN 1 ELSE 0 END"
_ANSWERED = (
    f"{_SUMS} UNION ALL SELECT g, count(*) FROM {F} GROUP BY g",
    f"{_SUMS} UNION ALL {_SUMS} UNION ALL SELECT 'all', sum(v) FROM {F}",
    f"SELECT g FROM {F} GROUP BY g UNION SELECT 'g1' FROM {F} GROUP BY g",
    f"SELECT k FROM {F} GROUP BY k EXCEPT SELECT k FROM {F} WHERE k > 2 GROUP BY k",
    f"SELECT {_PARITY} AS p FROM {F} GROUP BY k EXCEPT ALL SELECT k FROM {F} WHERE k < 2"
    " GROUP BY k",
    f"SELECT g FROM {F} GROUP BY g MINUS {_KEYS}",
    f"{_KEYS} INTERSECT SELECT g FROM {F} GROUP BY g",
    f"SELECT {_PARITY} AS p FROM {F} GROUP BY k INTERSECT ALL SELECT {_PARITY} AS q FROM {F}"
    " GROUP BY k",
    f"{_KEYS} UNION ALL SELECT g FROM {F} GROUP BY g INTERSECT {_KEYS}",
    f"{_KEYS} UNION ALL {_KEYS} UNION {_KEYS}",
    f"{_KEYS} UNION {_KEYS} UNION ALL {_KEYS}",
    f"({_KEYS}) EXCEPT (({_KEYS}) EXCEPT ({_KEYS}))",
    f"{_SUMS} UNION ALL SELECT 'z', sum(k) FROM {F} ORDER BY s DESC, g LIMIT 3",
    f"{_SUMS} UNION ALL {_SUMS} ORDER BY 2, 1",
    f"WITH w AS ({_SUMS}) SELECT g, s FROM w UNION ALL SELECT g, s AS t FROM w ORDER BY s, g",
    f"SELECT g, sum(s) AS t FROM ({_SUMS} UNION ALL SELECT g, count(*) FROM {F} GROUP BY g)"
    " GROUP BY g HAVING sum(s) > 3",
    f"SELECT max(n) AS m FROM (SELECT count(*) AS n FROM {F} UNION SELECT sum(v) FROM {F}) AS u",
    f"WITH u AS ({_KEYS} UNION SELECT g FROM {F} GROUP BY g) SELECT count(*) AS n, max(g) FROM u",
    f"SELECT a.g, a.s FROM ({_SUMS} UNION ALL {_SUMS}) a JOIN ({_SUMS}) b ON a.g = b.g",
    f"SELECT sum(x) AS s FROM {F} UNION ALL SELECT avg(x) FROM {F}",
)
_BY_SPARK = (
    f"{_SUMS} UNION ALL SELECT g, CAST(sum(k) AS INT) FROM {F} GROUP BY g",  # of another type
    f"SELECT x FROM {F} GROUP BY x UNION SELECT x FROM {F} GROUP BY x",
    f"SELECT g, sum(v) AS g FROM {F} GROUP BY g UNION ALL {_SUMS}",
    f"{_SUMS} UNION ALL {_SUMS} LIMIT 100",
    f"{_SUMS} UNION ALL SELECT g, v FROM {F}",
    f"{_SUMS} UNION ALL {_SUMS} ORDER BY set_f.g",
)
_REFUSED = (
    f"{_SUMS} UNION ALL {_KEYS}",
    f"{_SUMS} UNION ALL SELECT g, sum(v) AS t FROM {F} GROUP BY g ORDER BY t",
)


@pytest.fixture(scope="module")
def sets(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    sql(
        f"CREATE TABLE {F} USING iceberg AS SELECT CAST(id AS INT) % 7 AS k, nullif(concat('g',"
        " id % 3), 'g2') AS g, nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id % 5 AS DOUBLE) / 8 -"
        " 0.25 AS x FROM range(0, 90, 1, 1)"
    )
    acc.query(
        f"CREATE CUBE set_c AS SELECT g, k, x, sum(v), sum(k), sum(x), count(*) FROM {F}"
        " GROUP BY g, k, x"
    )
    yield Differential(acc)
    acc.query("DROP CUBE set_c")
    sql(f"DROP TABLE {F}")


def test_set_operations(
    sets: Differential, spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    for query in _ANSWERED:
        assert isinstance(acc.plan(query)[0], NestedPlan), query
    sets.check(_ANSWERED, spark=(_ANSWERED[0], _ANSWERED[15]))
    sets.check(_BY_SPARK, rewritten=None)
    assert not any(isinstance(acc.plan(query)[0], NestedPlan) for query in _BY_SPARK)
    spark_warehouse.sql(f"DELETE FROM {F} WHERE k = 4")
    acc.query("BUILD CUBE set_c")
    spark_warehouse.sql(
        f"INSERT INTO {F} VALUES (9, NULL, NULL, -0D), (1, 'new', 8, double('NaN'))"
    )
    sets.changed()
    sets.check(_ANSWERED, where="changed")
    told = json.loads(acc.explain(_ANSWERED[0], format="json"))
    assert told["rewritten"] is True and "UNION ALL" in told["sql"]


@pytest.mark.parametrize("query", _REFUSED)
def test_what_spark_refuses(sets: Differential, acc: Accelerator, query: str) -> None:
    with pytest.raises(Exception, match=r"NUM_COLUMNS_MISMATCH|UNRESOLVED_COLUMN") as plain:
        acc.plain_table(query)
    with pytest.raises(type(plain.value), match=r"NUM_COLUMNS_MISMATCH|UNRESOLVED_COLUMN"):
        acc.query(query)
