"""The query fuzz, in small: two hundred statements over random stars answer as plain Spark does.

The seed is fixed, so that what fails here fails again; `make fuzz` goes on from other ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import accelerator
from fuzz.run import QUICK, Run
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True


def test_random_statements_answer_as_plain_spark_does(
    spark_warehouse: SparkWarehouse, tmp_path: Path
) -> None:
    told: list[str] = []
    spark = spark_warehouse.spark.newSession()
    for setting, value in QUICK.items():
        spark.conf.set(setting, value)
    with accelerator.attach(spark, store=str(tmp_path)) as acc:
        outcome = Run(acc, "lake.d", seed=9101, tell=told.append, queries=200).run()
    assert not outcome.differences, "\n".join(told)
    assert outcome.queries >= 200
    assert outcome.rewritten >= 0.4 * outcome.queries
