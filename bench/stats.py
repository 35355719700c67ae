"""The three numbers that benches report: medians, geometric means, and ratios of the two."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence


def geometric_mean(values: Iterable[float]) -> float:
    """The mean that treats a ratio and its inverse alike.

    >>> geometric_mean([1, 100])
    10.0
    """
    return round(math.exp(statistics.fmean(math.log(value) for value in values)), 9)


def medians(samples: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each name's samples; names without any are left out."""
    return {name: statistics.median(values) for name, values in samples.items() if values}


def mean_ratio(over: Mapping[str, float], under: Mapping[str, float]) -> float:
    """Geometric mean of the ratios `over / under` of the names that both have.

    >>> mean_ratio({"a": 100.0, "b": 400.0}, {"a": 1.0, "b": 1.0})
    200.0
    """
    return geometric_mean(over[name] / under[name] for name in over if name in under)
