"""How many rows each SSB table has at a scale, and how many files the fact table is cut into."""

from __future__ import annotations

import math
from dataclasses import dataclass

DATE_ROWS = 2556


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows per table and the number of lineorder files."""

    lineorder: int
    customer: int
    supplier: int
    part: int
    lineorder_files: int
    dates: int = DATE_ROWS


def sizes_of(scale: float) -> Sizes:
    """The paper's cardinalities. Below scale 1, part shrinks with the scale as the others do.

    >>> sizes_of(10).part
    800000
    """
    if not scale > 0:
        raise ValueError(f"the scale must be above 0, not {scale}")
    part_factor = 1 + math.floor(math.log2(scale)) if scale >= 1 else scale
    return Sizes(
        lineorder=round(6_000_000 * scale),
        customer=max(1, round(30_000 * scale)),
        supplier=max(1, round(2_000 * scale)),
        part=max(1, round(200_000 * part_factor)),
        # Files grow with the data, and so does their number: 8 of 750,000 rows at scale 1,
        # 25 of 2.4 million at scale 10. Small tables keep 4, so that a demo has files to cover.
        lineorder_files=max(4, round(8 * math.sqrt(scale))),
    )
