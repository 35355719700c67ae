"""The KLL sketch behind approx_percentile: how large it must be for an accuracy.

A sketch of size k (DataSketches' own word) answers any percentage, so k is all that a cube keeps of
the aggregate. Its error is random: within `rank_error` for 99 of 100 sketches, never for sure.
"""

from __future__ import annotations

from bisect import bisect_left

SIZE_MIN, SIZE_MAX = 8, 65535
"""What DataSketches and Spark take for k."""


def rank_error(size: int) -> float:
    """The normalized rank error of one quantile, single-sided, at 99 % confidence.

    DataSketches' own fit: `get_normalized_rank_error(k, pmf = false)` in `kll_sketch_impl.hpp` of
    github.com/apache/datasketches-cpp; a test holds the two equal.

    >>> round(rank_error(200), 4)
    0.0133
    """
    return float(2.296 / size**0.9723)


def size_for(accuracy: int) -> int | None:
    """The smallest k whose error is at most 1/accuracy; None where no k is that fine.

    >>> size_for(1), size_for(100), size_for(10000), size_for(1000000)
    (8, 269, 30565, None)
    """
    sizes = range(SIZE_MIN, SIZE_MAX + 1)
    place = bisect_left(sizes, -1 / accuracy, key=lambda size: -rank_error(size))
    return sizes[place] if place < len(sizes) else None


def accuracy_of(size: int) -> int:
    """The finest accuracy that a sketch of that size keeps.

    >>> accuracy_of(8), accuracy_of(269), accuracy_of(65535)
    (3, 100, 20993)
    """
    return int(1 / rank_error(size))
