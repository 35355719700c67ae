"""What Spark calls outputs, asked once more: the names that `rewrite.output_name` is held to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark
LIVE = True
_FILE = Path(__file__).parents[1] / "rewrite" / "spark_names.json"
_TABLE = """SELECT CAST(1 AS INT) i, CAST(1 AS INT) j, 1L l, CAST(1.5 AS DECIMAL(10, 2)) m,
  CAST(1 AS FLOAT) f, 1D x, 'a' s, true b, DATE '2020-01-01' d,
  TIMESTAMP '2020-01-01 00:00:00' ts, TIMESTAMP_NTZ '2020-01-01 00:00:00' tn, 1 `odd name`,
  1 `weird ``name`"""


def test_spark_still_calls_them_so(spark_warehouse: Any) -> None:
    spark = spark_warehouse.spark
    spark.sql(_TABLE).createOrReplaceTempView("spark_names")
    try:
        for expr, name in json.loads(_FILE.read_text()):
            assert spark.sql(f"SELECT {expr} FROM spark_names t").columns == [name], expr
    finally:
        spark.catalog.dropTempView("spark_names")
