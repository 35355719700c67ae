"""What is left of a table for a statement, step by step: files, row groups, rows, bytes.

For EXPLAIN: whoever plans or runs a statement needs none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelerator.indexing.probing import Skipped


@dataclass(frozen=True, slots=True)
class Funnel:
    """One table's share of a plan.

    `by_partition`: files that the predicates over partition columns leave out by themselves;
    `by_bounds`: more of them by all bounds and counts. `row_groups` and `rows` are those of the
    files that are left as (left, of so many), None where no sidecar tells; so are `bytes`, those
    left by the share of the rows in row groups that are left.
    """

    files: int
    by_partition: int
    by_bounds: int
    indexes: tuple[Skipped, ...]
    row_groups: tuple[int, int] | None
    rows: tuple[int, int] | None
    bytes: tuple[int, int]

    def lines(self) -> list[str]:
        """For people."""
        found = [
            f"  of {self.files} data files {self.by_partition} are left out by partition,"
            f" {self.by_bounds} more by bounds"
        ]
        for one in self.indexes:
            by = "coordinator" if one.blobs == "light" else "reader, by rows"
            found.append(f"  index {one.index} ({one.kind}, {by}): {one.files} more left out")
        if self.row_groups is not None and self.rows is not None:
            found.append(
                f"  {self.row_groups[0]} of {self.row_groups[1]} row groups are left,"
                f" {self.rows[0]:,} of {self.rows[1]:,} rows"
            )
        left, total = self.bytes
        return [*found, f"  {left:,} bytes may be read, {total - left:,} aren't"]
