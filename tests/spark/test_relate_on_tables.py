"""Relate columns on random stars: whatever was built and changed since, answers are plain Spark's.

Strategy: a star of `relate_world`, indexes of random kinds on its relate columns, random statements
in which the fact is joined; then random changes of facts and dimensions, some followed by a build,
and statements again, some of them over earlier states. Invariants: each answer is plain Spark's,
nothing fails inside, and a fair share of the statements has left files out, so that the others
prove something.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.relate_world import World

pytestmark = pytest.mark.spark

_PRUNED_SHARE = 0.25


def play(
    wh: SparkWarehouse,
    store: Path,
    seed: int,
    *,
    steps: int = 2,
    asked: int = 8,
    rows_max: int | None = None,
) -> Counter:
    """One star's life; counts what was asked and what has left files out.

    Dimensions of more than `rows_max` rows are joined by Spark, which is real for that.
    """
    r = Random(seed)
    told: Counter[str] = Counter()
    engine = r.choice(("duckdb", "auto", "spark"))
    settings = {"store": str(store), "engine": engine, "relate_lookup_rows_max": rows_max}
    with wh.attach(**settings) if rows_max is None else wh.live(**settings) as acc:
        world = World(wh, acc, r)
        world.make()
        both = Differential(acc)
        history = [f"seed {seed}, engine {engine}"]
        for step in range(steps + 1):
            if step:
                history.append(world.change())
                if r.random() < 0.5:
                    world.build()
                    history.append("build")
            both.changed()
            queries = [world.query(travel=step > 0) for _ in range(asked)]
            both.check(queries, rewritten=None, spark=queries[:1], where=", ".join(history))
            for query in queries:
                metrics = acc.query(query).metrics
                told["asked"] += 1
                told["rewritten"] += metrics.rewritten
                told["pruned"] += metrics.rewritten and metrics.files_read < metrics.files_total
    return told


@pytest.mark.long
def test_a_star(spark_warehouse: SparkWarehouse, tmp_path: Path) -> None:
    told = play(spark_warehouse, tmp_path / "store", 2, steps=1)
    assert told["pruned"] >= _PRUNED_SHARE * told["asked"] > 0, told


@pytest.mark.slow
def test_a_star_of_large_dimensions(spark_warehouse: SparkWarehouse, tmp_path: Path) -> None:
    told = play(spark_warehouse, tmp_path / "store", 3, steps=1, asked=4, rows_max=0)
    assert told["pruned"] >= _PRUNED_SHARE * told["asked"] > 0, told


@pytest.mark.slow
@pytest.mark.parametrize("rows_max", [None, 0, 30])
def test_random_stars(
    spark_warehouse: SparkWarehouse, tmp_path: Path, rows_max: int | None
) -> None:
    told: Counter[str] = Counter()

    @settings(
        max_examples=6,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32))
    def lives(seed: int) -> None:
        told.update(play(spark_warehouse, tmp_path / str(seed), seed, rows_max=rows_max))

    lives()
    assert told["pruned"] >= _PRUNED_SHARE * told["asked"] > 0, told
