"""Files that others wrote and a table took over: what Iceberg's specification hasn't is Spark's."""

from __future__ import annotations

import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_ROWS = """SELECT CAST(id AS INT) AS k, IF(id = 3, TIMESTAMP '9999-12-31 01:02:03',
    timestamp_seconds(1700000000 + id)) AS t FROM range(9)"""


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"])
def test_times_of_other_writers(spark_warehouse: SparkWarehouse, acc: Accelerator, kind) -> None:
    """Spark 3, Hive and Impala write INT96, which Arrow wraps outside 1677 to 2262."""
    wh = spark_warehouse
    name = wh.table("k INT, t TIMESTAMP")
    folder = wh.root / f"foreign_{kind}"

    def written(engine) -> None:
        conf = "spark.sql.parquet.outputTimestampType"
        usual = engine.session.conf.get(conf)
        engine.session.conf.set(conf, kind)
        try:
            engine.session.sql(_ROWS).coalesce(1).write.parquet(str(folder), "overwrite")
        finally:
            engine.session.conf.set(conf, usual)

    wh.step(f"{kind} of {_ROWS} under {folder.name}", written)
    wh.sql(
        f"CALL lake.system.add_files(table => 'd.{name}', source_table => '`parquet`.`{folder}`')"
    )
    queries = [
        f"SELECT k, t FROM lake.d.{name} WHERE k = 3",
        f"SELECT max(t) AS m, count(*) AS n FROM lake.d.{name} WHERE k > 2",
        f"SELECT k FROM lake.d.{name} WHERE t > TIMESTAMP '2024-01-01' ORDER BY k LIMIT 3",
        f"SELECT year(t) AS y, count(*) AS n FROM lake.d.{name} GROUP BY 1",
    ]
    Differential(acc).check(queries, rewritten=None, spark=queries)
    acc.query(f"CREATE INDEX foreign_{kind} ON lake.d.{name} USING RANGE (k)")
    acc.query(f"CREATE CUBE foreign_{kind} AS SELECT k, max(t) FROM lake.d.{name} GROUP BY k")
    Differential(acc).check(queries, rewritten=None, spark=queries)
