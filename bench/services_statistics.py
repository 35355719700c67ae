"""What BUILD STATISTICS costs beside Iceberg's own compute_table_stats, on SSB's lineorder.

Both make statistics of all columns of one snapshot, in turns, in a warm process each has been
asked in before; what was made is dropped before each turn. Time that goes into reading is that of
reading the same columns through the same readers, and throwing them away. Memory is what a process
of its own grows by at most, once what it works with is loaded.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

import accelerator
from accelerator.iceberg.rows.row_groups import GroupReader
from bench.report import Report
from bench.services_daemon import plain
from bench.ssb.generate import generate
from bench.ssb.queries import NAMESPACE
from bench.ssb.workspace import BUILD, Workspace
from rewrite.ir.expr import Column
from tests.accelerator.services.refresh.daemons import ROOT
from tests.support.pristine import catalog_of

_ROUNDS = 5
_TABLE = f"{NAMESPACE}.lineorder"
_GROWN = """
import sys
import pyarrow as pa
import accelerator, accelerator.services.statistics.ddl
from accelerator.iceberg.rows import row_groups
from accelerator.services.statistics.sketches.hashing import hashes

def told(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))

with accelerator.open(sys.argv[1]) as acc:
    acc.query(f"DROP STATISTICS ON {sys.argv[2]}")
    hashes(pa.array(["x"]), "string"), hashes(pa.array([1]), "long")  # compiled code is loaded
    before = told("VmRSS")
    acc.build_statistics(sys.argv[2])
    print(told("VmHWM") - before)
"""


def of_lineorder(options: argparse.Namespace, report: Report) -> None:
    """`statistics_s`, `statistics_read_share`, `statistics_mb`, `statistics_by_spark`."""
    warehouse = _loaded(options.scale)
    with accelerator.open(warehouse) as acc:

        def ours() -> None:
            built = acc.build_statistics(_TABLE)
            assert built.mode == "whole", built

        def theirs() -> None:
            acc.spark.sql(f"CALL lake.system.compute_table_stats('{_TABLE}')").collect()

        def reading() -> None:
            _read(acc)

        ways = {"ours": ours, "spark": theirs, "reading": reading}
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(_ROUNDS + 1):  # the first one warms up
            for name, way in ways.items():
                acc.query(f"DROP STATISTICS ON {_TABLE}")
                taken[name].append(_seconds(way))
        acc.query(f"DROP STATISTICS ON {_TABLE}")
        middle = {name: statistics.median(each[1:]) for name, each in taken.items()}
        built = acc.build_statistics(_TABLE)
        acc.query(f"DROP STATISTICS ON {_TABLE}")
    grown = _grown(warehouse)
    report.details["statistics"] = {
        "seconds": taken,
        "rows": built.rows_read,
        "columns": len(built.columns),
        "bytes_read": built.bytes_read,
        "bytes": built.bytes,
    }
    ratios = [a / b for a, b in zip(taken["ours"][1:], taken["spark"][1:], strict=True)]
    report.figures |= {
        "statistics_s": middle["ours"],
        "statistics_read_share": middle["reading"] / middle["ours"],
        "statistics_mb": grown,
        "statistics_by_spark": statistics.median(ratios),
    }


def _seconds(way: Callable[[], None]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


def _read(acc: accelerator.Accelerator) -> None:
    pinned = acc.services.lake.pin().pinned(("lake", *_TABLE.split(".")))
    assert pinned is not None
    columns = [Column(0, one.field_id, one.name, one.type) for one in pinned.facts.columns]
    reader = GroupReader(pinned, columns, lambda: None)
    for file in reader.open(pinned.live_files()):
        for group in range(len(file.groups)):
            file.sought(group, columns)


def _grown(warehouse: Path) -> float:
    """MB by which a process that only builds grows."""
    command = [sys.executable, "-c", _GROWN, str(warehouse), _TABLE]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return float(told.stdout)


def _loaded(scale: float) -> Path:
    """SSB's lineorder in a table of PyIceberg's."""
    workspace = Workspace.of(scale)
    generate(workspace.parquet, scale, report=lambda *_: None)
    warehouse = (BUILD / "bench" / f"services-statistics-{scale:g}").resolve()
    shutil.rmtree(warehouse, ignore_errors=True)
    warehouse.mkdir(parents=True)
    catalog = catalog_of(warehouse)
    catalog.create_namespace(NAMESPACE)
    files = sorted((workspace.parquet / "lineorder").glob("*.parquet"))
    rows = [plain(pq.read_table(path)) for path in files]
    loaded = catalog.create_table(_TABLE, rows[0].schema)
    for one in rows:
        loaded.append(one)
    catalog.engine.dispose()
    return warehouse
