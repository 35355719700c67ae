"""The query fuzz, in small: statements over random stars answer as plain Spark does.

One seed is fixed, so that what fails there fails again. The other is new each time and told by a
failure; `--again=SEED` gives the same one, and `python -m fuzz --seed` as well.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

import accelerator
from fuzz.run import QUICK, Run
from tests.spark.conftest import SparkWarehouse
from tests.support.recording.again import AGAIN
from tests.support.recording.records import digest

pytestmark = pytest.mark.spark
LIVE = True


@pytest.mark.long
@pytest.mark.parametrize("seed", [9101, None], ids=["fixed", "new"])
def test_random_statements_answer_as_plain_spark_does(
    spark_warehouse: SparkWarehouse, tmp_path: Path, seed: int | None
) -> None:
    if seed is None:  # of one run the same
        seed = int(digest(AGAIN.seed or secrets.token_hex(4))[:8], 16) % 1_000_000
    told = [f"python -m fuzz --seed {seed}"]
    spark = spark_warehouse.spark.newSession()
    for setting, value in QUICK.items():
        spark.conf.set(setting, value)
    with accelerator.attach(spark, store=str(tmp_path)) as acc:
        outcome = Run(acc, "lake.d", seed=seed, tell=told.append, queries=80).run()
    assert not outcome.differences, "\n".join(told)
    assert outcome.queries >= 80
    if seed == 9101:
        assert outcome.rewritten >= 0.4 * outcome.queries
