"""The bench's figures from its samples; what each means is told in docs/benchmarks.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.ssb.queries import QUERIES
from bench.ssb.turns import Samples
from bench.stats import geometric_mean, mean_ratio, medians


def figures_of(samples: Samples, cached_plans: Sequence[float]) -> dict[str, float | int]:
    """All that the warm runs so far allow to say; nothing after the warm-up alone."""
    accelerated = medians(samples.times("accelerated"))
    if not accelerated:
        return {}
    spark, duckdb = medians(samples.times("spark")), medians(samples.times("duckdb_raw"))
    figures: dict[str, float | int] = {
        "speedup_vs_spark": mean_ratio(spark, accelerated),
        "speedup_vs_duckdb_raw": mean_ratio(duckdb, accelerated),
        "queries_from_cube": sum(samples.from_cube(query.name) for query in QUERIES),
        "queries_equal": sum(samples.equal(query.name) for query in QUERIES),
        "accelerated_ms_median": _median_of_all(samples, "accelerated"),
        "accelerated_ms_geomean": geometric_mean(accelerated.values()),
        "spark_ms_geomean": geometric_mean(spark.values()),
        "duckdb_raw_ms_geomean": geometric_mean(duckdb.values()),
    }
    if plans := samples.metrics("planning_ms"):
        figures["uncached_plan_ms"] = statistics.median(plans)
    if cached_plans:
        figures["cached_plan_ms"] = statistics.median(cached_plans)
    if any(samples.times("scale_1").values()):
        of_scale_1 = _median_of_all(samples, "scale_1")
        figures["accelerated_ms_median_scale_1"] = of_scale_1
        figures["growth_vs_scale_1"] = figures["accelerated_ms_median"] / of_scale_1
    return figures


def _median_of_all(samples: Samples, system: str) -> float:
    """The median over every warm run of every query."""
    return statistics.median(ms for times in samples.times(system).values() for ms in times)
