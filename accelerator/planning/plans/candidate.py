"""What a search has tried for a statement, and the text that DuckDB runs of what it has found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.common.records.as_dict import as_dict
from accelerator.engines.duckdb.segment_cache import Copy
from accelerator.planning.plans.explain_tree import size
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.manifests.job import Decoding

MANIFESTS = "table metadata"
"""What they are called where cubes have their names."""

ALL_ROWS = "all rows"
"""What answers where neither cubes nor indexes nor metadata spare a single file."""

CELLS = "manifest_cells"
"""The name under which a plan's text reads the cells of manifests."""


class Attempt(Struct, frozen=True):
    """One candidate of the search: a cube, and its cost in bytes or why it isn't used.

    `decoding` says where manifests were decoded, where these were tried.
    """

    cube: str
    declined: Declined | None
    bytes: int = 0
    segments: int = 0
    uncovered: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    decoding: Decoding | None = None

    @property
    def is_cube(self) -> bool:
        """Whether it's a cube that is asked, neither manifests nor an index switched off."""
        switched_off = self.declined is not None and self.declined.code == "index_disabled"
        return self.cube not in (MANIFESTS, ALL_ROWS) and not switched_off

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "cube": self.cube,
            "code": self.declined.code if self.declined else None,
            "reason": self.declined.sentence if self.declined else None,
            "bytes": self.bytes,
            "segments": self.segments,
            "files_raw": self.uncovered,
            "segments_refused": dict(self.refused),
            "decoding": None if self.decoding is None else as_dict(self.decoding),
        }


class DuckDBRun(Struct, frozen=True):
    """SQL for DuckDB; `raw` names the Arrow tables that it reads beside segment files.

    `copies` has parts of it that read segment files, and what may stand in memory in their place.
    `tests` have the beginnings of SELECTs over all rows of an occurrence, by its number: where none
    of them raises an error, nothing does in the text.
    """

    sql: str
    raw: tuple[tuple[str, int], ...] = ()
    copies: tuple[tuple[str, Copy], ...] = ()
    tests: tuple[tuple[int, str], ...] = ()


def decoding_of(tried: Sequence[Attempt]) -> Decoding | None:
    """Where the manifests were decoded; None where none were tried."""
    return next((one.decoding for one in tried if one.decoding is not None), None)


def decoding_line(decoding: Decoding) -> str:
    """Where manifests were decoded, and why."""
    what = f"{decoding.manifests:,} of {size(decoding.bytes)}"
    if decoding.by == "spark":
        return (
            f"{what} decoded by a Spark job of {decoding.tasks} tasks, which left"
            f" {decoding.left} of {decoding.entries} entries: {decoding.why}"
        )
    if decoding.failed is not None:
        return f"{what} decoded here, since the Spark job failed: {decoding.failed}"
    return f"{what} decoded here: {decoding.why}"
