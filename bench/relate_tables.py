"""The tables of the bench `relate`: SSB's fact with relate columns, clustered by them and not.

`clustered` lies in the order of relate columns, `scattered` as it was loaded, and `few` has almost
no row, so that what it takes is what a statement takes whatever it reads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import accelerator
from bench.ssb.load import data_files
from bench.ssb.queries import NAMESPACE
from bench.ssb.workspace import BUILD, Workspace
from bench.steps import Steps

CLUSTERED, SCATTERED, FEW = "lineorder_clustered", "lineorder_scattered", "lineorder_few"
_FEW_ROWS = 1_000
_PATHS = {
    "customer": ("lo_custkey", "c_custkey", ("c_region", "c_nation", "c_city")),
    "supplier": ("lo_suppkey", "s_suppkey", ("s_region", "s_nation", "s_city")),
    "part": ("lo_partkey", "p_partkey", ("p_mfgr", "p_category", "p_brand1")),
    "dates": ("lo_orderdate", "d_datekey", ("d_year", "d_yearmonth")),
}
ORDER = ("s_region", "c_region", "p_category")
FILE_MB, ROW_GROUP_MB = 4, 1
"""Some forty files at scale 1, each of a few row groups; at a larger scale more files."""
OPTIMIZE = (
    f"OPTIMIZE {NAMESPACE}.{CLUSTERED} HILBERT BY ({', '.join(ORDER)})"
    f" WITH (target_file_size_mb = {FILE_MB}, row_group_mb = {ROW_GROUP_MB})"
)


@dataclass(frozen=True, slots=True)
class RelateWorkspace(Workspace):
    """The files that `ssb` generates, in a warehouse where there are no cubes."""

    @classmethod
    def of(cls, scale: float, build: Path = BUILD) -> RelateWorkspace:
        """The workspace of a scale."""
        return cls(scale, Workspace.of(scale, build).root)

    @property
    def warehouse(self) -> Path:
        """Beside that of `ssb`."""
        return self.root / "relate"


def make_tables(acc: accelerator.Accelerator, steps: Steps) -> dict[str, float]:
    """What isn't there yet; the seconds of what was made."""
    seconds: dict[str, float] = {}
    known = {row.tableName for row in acc.spark.sql(f"SHOW TABLES IN {NAMESPACE}").collect()}
    for name in (SCATTERED, CLUSTERED, FEW):
        if name in known:
            continue
        limit = f" LIMIT {_FEW_ROWS}" if name == FEW else ""
        with steps.step(f"Copy lineorder to {name}"):
            acc.spark.sql(
                f"CREATE TABLE {NAMESPACE}.{name} USING iceberg TBLPROPERTIES"
                f" ('format-version' = '2', 'write.distribution-mode' = 'none')"
                f" AS SELECT * FROM {NAMESPACE}.lineorder{limit}"
            )
    for name in (SCATTERED, CLUSTERED):
        _relate(acc, name)
    work = {
        "cluster_s": OPTIMIZE,
        "build_clustered_s": f"BUILD ALL ON {NAMESPACE}.{CLUSTERED}",
        "build_scattered_s": f"BUILD ALL ON {NAMESPACE}.{SCATTERED}",
    }
    for name, statement in work.items():
        begin = time.perf_counter()
        with steps.step(statement):
            acc.query(statement)
        seconds[name] = time.perf_counter() - begin
    return seconds


def _relate(acc: accelerator.Accelerator, name: str) -> None:
    """Relate columns for every attribute that the queries filter by, with a bitmap each."""
    table = f"{NAMESPACE}.{name}"
    shown = acc.query(f"SHOW RELATE COLUMNS ON {table}").arrow().column("name").to_pylist()
    for dimension, (key, own, attributes) in _PATHS.items():
        for attribute in attributes:
            if attribute not in shown:
                acc.query(
                    f"ALTER TABLE {table} ADD RELATE COLUMN {attribute}"
                    f" FROM {NAMESPACE}.{dimension}.{attribute} ON {key} = {own}"
                )
            acc.query(
                f"CREATE INDEX IF NOT EXISTS {name}_{attribute} ON {table}"
                f" USING BITMAP ({attribute}) DEFERRED"
            )


def column_bytes(acc: accelerator.Accelerator, table: str, columns: set[str]) -> int:
    """Bytes of those columns' chunks in all of the table's files, as they're stored."""
    total = 0
    for path in data_files(acc.spark, table):
        metadata = pq.read_metadata(path)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            chunks = (group.column(i) for i in range(group.num_columns))
            total += sum(c.total_compressed_size for c in chunks if c.path_in_schema in columns)
    return total
