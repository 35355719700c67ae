"""A cube whose cells are wrong is found by sampling and switched off; no query sees it any more."""

from __future__ import annotations

import duckdb
import pytest

import accelerator
from accelerator.store import local_path
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark


@pytest.fixture
def sampled(spark_warehouse: SparkWarehouse, tmp_path):
    store = str(tmp_path / "store")
    with accelerator.attach(spark_warehouse.spark, store=store, verify_sample=1.0) as session:
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


def test_a_wrong_cube_is_switched_off(sampled, spark_warehouse: SparkWarehouse) -> None:
    table = f"lake.d.{spark_warehouse.table('k INT, v INT')}"
    spark_warehouse.sql(f"INSERT INTO {table} SELECT id % 3, id FROM range(0, 30, 1, 1)")
    sampled.query(f"CREATE CUBE off AS SELECT k, sum(v) FROM {table} GROUP BY k")
    record = sampled.store.registry().cubes["off"]
    (segment,) = sampled.store.table(record.table_uuid).of(record.id)
    path = local_path(segment.path)
    with duckdb.connect() as connection:
        cells = connection.execute(
            f"SELECT * REPLACE (s1 + 1 AS s1) FROM '{path}'"
        ).to_arrow_table()
        connection.register("cells", cells)
        connection.execute(f"COPY cells TO '{path}' (FORMAT parquet)")
    sql = f"SELECT k, sum(v) AS s FROM {table} GROUP BY k ORDER BY k"
    wrong = sampled.query(sql)
    assert wrong.metrics.rewritten
    assert wrong.arrow().to_pylist()[0] == {"k": 0, "s": 136}
    sampled.sampling.wait()
    assert sampled.sampling.counts["different"] == 1
    (found,) = sampled.sampling.found
    assert (found.sql, found.disabled) == (sql, ("off",))
    assert found.accelerated["cube"] == "off"
    assert "Physical Plan" in found.plain
    answer = sampled.query(sql)
    assert answer.arrow().to_pylist()[0] == {"k": 0, "s": 135}
    assert answer.metrics.fallback.startswith("cube_disabled")
    (shown,) = sampled.query("SHOW CUBES").arrow().to_pylist()
    assert shown["status"].startswith("disabled: An answer differed")
    with accelerator.attach(spark_warehouse.spark, store=sampled.config.store_root) as other:
        assert not other.query(sql).metrics.rewritten
    sampled.query(f"CREATE OR REPLACE CUBE off AS SELECT k, sum(v) FROM {table} GROUP BY k")
    assert sampled.query(sql).metrics.rewritten
    sampled.sampling.wait()
    assert sampled.sampling.counts["equal"] == 1
