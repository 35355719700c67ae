"""A cube whose cells are wrong is found by sampling and switched off; no query sees it any more."""

from __future__ import annotations

import pytest

from tests.spark.conftest import SparkWarehouse
from tests.spark.spoiled import spoil_cube

pytestmark = pytest.mark.spark


@pytest.fixture
def sampled(spark_warehouse: SparkWarehouse, tmp_path):
    store = str(tmp_path / "store")
    with spark_warehouse.attach(store=store, verify_sample=1.0) as session:
        yield session


def test_equal_answers_are_counted(sampled, spark_warehouse: SparkWarehouse) -> None:
    table = f"lake.d.{spark_warehouse.table('k INT, v INT')}"
    spark_warehouse.sql(f"INSERT INTO {table} SELECT id % 3, id FROM range(0, 30, 1, 1)")
    sampled.query(f"CREATE CUBE fine AS SELECT k, sum(v) FROM {table} GROUP BY k")
    for sql in (f"SELECT k, sum(v) FROM {table} GROUP BY k", f"SELECT sum(v) FROM {table}"):
        assert sampled.query(sql).metrics.rewritten
    sampled.query(f"SELECT k, avg(v) FROM {table} GROUP BY k HAVING rand() < 2")  # plain: not drawn
    sampled.sampling.wait()
    assert dict(sampled.sampling.counts) == {"equal": 2}
    assert not sampled.sampling.found


_OPEN = (
    # ties under a limit of the whole, which are judged
    "SELECT k, count(*) AS n FROM {t} GROUP BY k ORDER BY n LIMIT 5",
    "SELECT k, sum(v) AS s FROM {t} GROUP BY k LIMIT 7",
    "SELECT k % 5 AS m, count(*) AS n FROM {t} GROUP BY 1 ORDER BY count(DISTINCT k) LIMIT 2",
    "SELECT k FROM {t} GROUP BY k UNION ALL SELECT max(v) FROM {t} LIMIT 4",
    "SELECT n, k + 1 AS k FROM (SELECT k, count(*) AS n FROM {t} GROUP BY k) ORDER BY n LIMIT 6",
)
_UNDECIDED = (
    # ties inside
    "SELECT sum(s) AS x FROM (SELECT k, sum(v) AS s FROM {t} GROUP BY k ORDER BY count(*) LIMIT 5)",
    "SELECT k, row_number() OVER (ORDER BY count(*)) AS r FROM {t} GROUP BY k",
    "SELECT k, lag(k) OVER (ORDER BY count(*)) AS r FROM {t} GROUP BY k",
    # what nothing determines
    "SELECT k, n, rand() AS r FROM (SELECT k, count(*) AS n FROM {t} GROUP BY k)",
    "SELECT uuid() AS u, n FROM (SELECT count(*) AS n FROM {t})",
    "SELECT current_timestamp() AS c, n FROM (SELECT count(*) AS n FROM {t})",
)


def test_answers_that_aren_t_determined_switch_nothing_off(
    sampled, spark_warehouse: SparkWarehouse
) -> None:
    table = f"lake.d.{spark_warehouse.table('k INT, v INT')}"
    for first in (0, 60):
        spark_warehouse.sql(
            f"INSERT INTO {table} SELECT id, id * 7 % 1000 FROM range({first}, {first + 60})"
        )
    sampled.query(f"CREATE CUBE right AS SELECT k, count(*), sum(v) FROM {table} GROUP BY k")
    for sql in _OPEN:
        found = sampled.verify(sql.format(t=table))
        assert found.rewritten and found.equal, (sql, found)
    undecided = {sql: sampled.verify(sql.format(t=table)) for sql in _UNDECIDED}
    for sql, found in undecided.items():
        assert found.rewritten and found.equal is not False, (sql, found)
    assert [found.equal for found in undecided.values()].count(None) >= 3
    sampled.sampling.wait()
    for sql in (*_OPEN, *_UNDECIDED):
        sampled.query(sql.format(t=table))
        sampled.sampling.wait()
    assert sampled.sampling.counts["different"] == 0
    assert sampled.sampling.counts["failed"] == 0
    assert not sampled.sampling.found
    assert sampled.services.store.registry().cubes["right"].disabled is None


def test_floating_sums_are_no_verdict(sampled, spark_warehouse: SparkWarehouse) -> None:
    """What stands beside them is compared all the same."""
    table = f"lake.d.{spark_warehouse.table('k INT, x DOUBLE')}"
    spark_warehouse.sql(f"INSERT INTO {table} SELECT id % 3, id / 8 FROM range(0, 30, 1, 1)")
    sampled.query(f"CREATE CUBE floats AS SELECT k, sum(x), count(*) FROM {table} GROUP BY k")
    spoil_cube(sampled, "floats", "s0 + 1 AS s0, s1 + 1 AS s1")
    for what in ("sum(x) AS s", "max(k) AS m, sum(x) AS s", "sum(x) > 17.5 AS s"):
        found = sampled.verify(f"SELECT k, {what} FROM {table} GROUP BY k")
        assert (found.equal, found.undecided) == (None, "Only floating values differ."), what
    having = f"SELECT k FROM {table} GROUP BY k HAVING sum(x) > 16.9"
    assert sampled.verify(having).undecided.startswith("Floating sums have a part")
    found = sampled.verify(f"SELECT k, count(*) AS n, sum(x) AS s FROM {table} GROUP BY k")
    assert found.equal is False


def test_a_wrong_cube_is_switched_off(sampled, spark_warehouse: SparkWarehouse) -> None:
    table = f"lake.d.{spark_warehouse.table('k INT, v INT')}"
    spark_warehouse.sql(f"INSERT INTO {table} SELECT id % 3, id FROM range(0, 30, 1, 1)")
    sampled.query(f"CREATE CUBE off AS SELECT k, sum(v) FROM {table} GROUP BY k")
    spoil_cube(sampled, "off", "s1 + 1 AS s1")
    sql = f"SELECT k, sum(v) AS s FROM {table} GROUP BY k ORDER BY k"
    wrong = sampled.query(sql)
    assert wrong.metrics.rewritten
    assert wrong.arrow().to_pylist()[0] == {"k": 0, "s": 136}
    sampled.sampling.wait()
    assert sampled.sampling.counts["different"] == 1
    (found,) = sampled.sampling.found
    assert (found.sql, found.disabled) == (sql, ("cube off",))
    assert found.accelerated["cube"] == "off"
    assert "Physical Plan" in found.plain
    answer = sampled.query(sql)
    assert answer.arrow().to_pylist()[0] == {"k": 0, "s": 135}
    assert answer.metrics.all_rows.startswith("cube_disabled")
    (shown,) = sampled.query("SHOW CUBES").arrow().to_pylist()
    assert shown["status"].startswith("disabled: An answer differed")
    with spark_warehouse.attach(store=sampled.config.store_root) as other:
        assert other.query(sql).metrics.all_rows is not None
    sampled.query(f"CREATE OR REPLACE CUBE off AS SELECT k, sum(v) FROM {table} GROUP BY k")
    assert sampled.query(sql).metrics.rewritten
    sampled.sampling.wait()
    assert sampled.sampling.counts["equal"] == 2  # of all rows, and of the cube made anew
