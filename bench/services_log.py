"""What the query log costs beside the statements that it keeps.

Two sessions over one small cube answer the same statements, each with a constant of its own, in
turns; one of them writes the log. What the log takes is the difference in the CPU time of the whole
process, the thread that writes included.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.paths import FOLDER
from bench.report import Report

_ASKED, _TURN = 10_000, 1_000
_STORES = 500
_CUBE = "SELECT store, sum(amount) AS total, count(*) AS n FROM shop.sales GROUP BY store"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this part."""
    parser.add_argument("--asked", type=int, default=_ASKED, help="statements of each session")


def log(options: argparse.Namespace, report: Report) -> None:
    """`log_ms_per_query`: what the log takes of a statement, in CPU time of the process."""
    with tempfile.TemporaryDirectory() as folder:
        _measure_log(Path(folder), options.asked, report)


def _measure_log(folder: Path, asked: int, report: Report) -> None:
    _fill(folder)
    numbers = count()
    with (
        accelerator.open(folder) as on,
        accelerator.open(folder, query_log=False) as off,
    ):
        for session in (on, off):
            _ask(session, numbers, _TURN)
        spent: dict[str, list[float]] = {"on": [], "off": []}
        turns = max(1, asked // _TURN)
        for turn in range(turns):
            pair = [("on", on), ("off", off)]
            for name, session in pair if turn % 2 else reversed(pair):
                began = time.process_time()
                _ask(session, numbers, _TURN)
                if name == "on":
                    on.query_log(limit=0)  # what waits is written within its own turn
                spent[name].append((time.process_time() - began) * 1000 / _TURN)
    sizes = [one.bytes for one in open_files(str(folder / ".accelerator")).entries(FOLDER)]
    differences = [a - b for a, b in zip(spent["on"], spent["off"], strict=True)]
    report.figures |= {
        "log_ms_per_query": statistics.median(differences),
        "log_ms_per_query_mean": statistics.fmean(differences),
        "query_ms": statistics.median(spent["off"]),
        "log_bytes_per_query": sum(sizes) / (turns * _TURN + _TURN),
        "log_files": len(sizes),
    }
    report.details["log"] = spent


def _ask(session: accelerator.Accelerator, numbers: count[int], times: int) -> None:
    for _ in range(times):
        number = next(numbers)
        sql = (
            "SELECT store, sum(amount) AS total FROM shop.sales"
            f" WHERE store >= {number % _STORES} AND store <> {number + _STORES} GROUP BY store"
        )
        if not session.query(sql).metrics.cubes:
            raise SystemExit("not answered from the cube")


def _fill(folder: Path) -> None:
    with accelerator.open(folder, create=True):
        pass
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("shop")
    stores = [number % _STORES for number in range(20 * _STORES)]
    rows = pa.table({"store": stores, "amount": list(range(len(stores)))})
    catalog.create_table("shop.sales", rows.schema).append(rows)
    with accelerator.open(folder, query_log=False) as session:
        session.query(f"CREATE CUBE totals AS {_CUBE}")
