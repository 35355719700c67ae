"""What a statement cost and how it was answered."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from accelerator.common.records.as_dict import as_dict


class Metrics(Struct, frozen=True):
    """One statement's figures.

    `files_total`: live data files of the fact table (of all tables for a plain statement 0).
    `files_read`: data files and segment files opened. `bytes_read`: of segment files the
    columns that the statement names, of data files that DuckDB reads itself too; of others, and
    where Spark reads, everything. What statistics leave out of columns, or a copy in memory spares,
    counts all the same; manifests don't. Of data files in S3 that DuckDB reads itself, only the
    bytes count that the store sent. Where the first
    rows of an order are read in process, only what was read counts, and `row_groups_read` tells of
    how many row groups. `planning_ms`:
    parse to plan, metadata included. `plan_cached`: the plan of this very statement was known, not
    just that of its shape. `manifests_here`, `manifests_by_spark`: manifests that were decoded for
    this statement's plan, in the driver or by a Spark job; `manifests_why`: why there, None where
    there were none. `execution_ms`: the engine. `all_rows`: where all rows were read in
    process, why no cube, index or metadata spared any, `code: sentence`. `fallback`: why the plain
    statement answered, as that, None where it was rewritten or nothing was considered.
    """

    rewritten: bool = False
    cubes: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    engine: str = "spark"
    files_total: int = 0
    files_read: int = 0
    row_groups_read: int = 0
    bytes_read: int = 0
    planning_ms: float = 0.0
    execution_ms: float = 0.0
    plan_cached: bool = False
    manifests_here: int = 0
    manifests_by_spark: int = 0
    manifests_why: str | None = None
    all_rows: str | None = None
    fallback: str | None = None

    def __repr__(self) -> str:
        """The engine, and what differs from the default."""
        plain = Metrics()
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name in self.__struct_fields__
            if name == "engine" or getattr(self, name) != getattr(plain, name)
        ]
        return f"Metrics({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return as_dict(self)
