"""What advised indexes spare, beside those that were made by hand, on the Star Schema Benchmark.

A copy of lineorder lies in forty files by its orders' dates, as days that are appended would. Rows
are looked up by the order's number and by the part, and found through a month, a region with a day,
and a category: each statement has literals of its own. By hand each key has a BLOOM, and the
relate columns that the benchmark's other parts have have bitmaps with rows. The advisor has the
times that statements take without indexes, and as many bytes as those made by hand. Stores take
turns, and of each statement the least of several runs counts: others work here too.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import numpy as np
from rich.console import Console

import accelerator
from accelerator import Accelerator
from bench.report import Report
from bench.services_advisor import log_of
from bench.ssb.dimensions import datekeys
from bench.ssb.queries import NAMESPACE
from bench.ssb.workspace import Workspace, open_loaded
from bench.steps import Steps, noise_into

NAME = "lineorder_by_day"
TABLE = f"{NAMESPACE}.{NAME}"
FILES, LITERALS, ROUNDS, ASKED = 40, 4, 4, 400
_DATES = f"{TABLE} JOIN {NAMESPACE}.dates ON lo_orderdate = d_datekey"
_SUPPLIER = f"{TABLE} JOIN {NAMESPACE}.supplier ON lo_suppkey = s_suppkey"
_PART = f"{TABLE} JOIN {NAMESPACE}.part ON lo_partkey = p_partkey"
_SHOWN = "lo_orderkey, lo_linenumber, lo_revenue"
Draw = Callable[[random.Random, Mapping[str, int]], str]
STATEMENTS: Mapping[str, Draw] = {
    "order": lambda r, most: (
        f"SELECT * FROM {TABLE} WHERE lo_orderkey = {r.randint(1, most['lo_orderkey'])}"
    ),
    "part": lambda r, most: (
        f"SELECT {_SHOWN} FROM {TABLE} WHERE lo_partkey = {r.randint(1, most['lo_partkey'])}"
    ),
    "month": lambda r, _: (
        f"SELECT {_SHOWN} FROM {_DATES} WHERE d_yearmonthnum = {r.randint(1992, 1997)}"
        f"{r.randint(1, 12):02d} AND lo_quantity = {r.randint(1, 50)}"
    ),
    "region": lambda r, _: (
        f"SELECT {_SHOWN} FROM {_SUPPLIER} WHERE s_region = 'ASIA'"
        f" AND lo_orderdate = {r.choice(datekeys().tolist()[:2_000])}"
    ),
    "category": lambda r, _: (
        f"SELECT {_SHOWN} FROM {_PART} WHERE p_category = 'MFGR#{r.randint(1, 5)}{r.randint(1, 5)}'"
        f" AND lo_orderkey = {r.randint(1, 100_000)}"
    ),
}
RELATES = {
    "d_year": ("dates", "lo_orderdate", "d_datekey"),
    "d_yearmonthnum": ("dates", "lo_orderdate", "d_datekey"),
    "s_region": ("supplier", "lo_suppkey", "s_suppkey"),
    "p_category": ("part", "lo_partkey", "p_partkey"),
}
KEYS = ("lo_orderkey", "lo_partkey")


def of_ssb(options: argparse.Namespace, report: Report) -> None:
    """`index_gain_share` and what goes with it."""
    workspace, steps = Workspace.of(options.scale), Steps(Console())
    with noise_into(workspace.root / "stderr.log"):
        loaded = open_loaded(workspace, steps)
        with steps.step(f"Copy lineorder to {FILES} files by days"):
            _copy(loaded)
        loaded.close()
    root = workspace.root / "indexes"
    shutil.rmtree(root, ignore_errors=True)
    with ExitStack() as ends:

        def session(name: str) -> Accelerator:
            store = str(root / name)
            return ends.enter_context(accelerator.open(workspace.warehouse, store=store))

        _measure(report, steps, session, options.seed)


def _copy(acc: Accelerator) -> None:
    acc.query(f"DROP TABLE IF EXISTS {TABLE}")
    acc.spark.sql(
        f"CREATE TABLE {TABLE} USING iceberg TBLPROPERTIES ('format-version' = '2',"
        f" 'write.distribution-mode' = 'none') AS SELECT /*+ REPARTITION_BY_RANGE({FILES},"
        f" lo_orderdate) */ * FROM {NAMESPACE}.lineorder"
    )


def _measure(
    report: Report, steps: Steps, session: Callable[[str], Accelerator], seed: int
) -> None:
    raw, advised, hand = session("raw"), session("advised"), session("hand")
    drawn = random.Random(seed)
    most = _most(raw)
    texts = {
        name: [draw(drawn, most) for _ in range(LITERALS)] for name, draw in STATEMENTS.items()
    }
    with steps.step("Measure the statements without indexes"):
        before = _measured({"raw": raw}, texts)["raw"]
    with steps.step("Advise indexes, and make them"):
        logged = [
            (name, STATEMENTS[name](drawn, most)) for name in STATEMENTS for _ in range(ASKED)
        ]
        log_of(advised, [(sql, before[name], "duckdb") for name, sql in logged])
        began = time.perf_counter()
        advice = advised.analyze(TABLE, bytes=1 << 30)
        seconds = time.perf_counter() - began
        mine = [one for one in advice.recommendations if "INDEX" in one.action]
        for one in mine:
            advised.apply(one.id)
    with steps.step("Build the indexes made by hand"):
        _by_hand(hand)
    with steps.step("Ask the statements over each store in turns"):
        found = _measured({"raw": raw, "advised": advised, "hand": hand}, texts)
    total = {name: sum(ms.values()) for name, ms in found.items()}
    sizes = {name: _bytes(one) for name, one in (("advised", advised), ("hand", hand))}
    spared = {name: total["raw"] - ms for name, ms in total.items()}
    report.figures |= {
        "index_gain_share": spared["advised"] / spared["hand"],
        "index_advised_spared_share": spared["advised"] / total["raw"],
        "index_hand_spared_share": spared["hand"] / total["raw"],
        "index_advised_bytes": sizes["advised"],
        "index_hand_bytes": sizes["hand"],
        "index_promised_bytes_share": sum(one.bytes for one in mine) / max(sizes["advised"], 1),
        "index_advisor_s": seconds,
        "advised_indexes": len(mine),
    }
    report.details["indexes"] = {
        "ms": found,
        "advised": [
            {"ddl": one.ddl, "bytes": one.bytes, "gain_share": one.gain_share, "why": one.reason}
            for one in advice.recommendations
        ],
        "promised_share": advice.served_ms / advice.total_ms if advice.total_ms else 0.0,
    }


def _by_hand(acc: Accelerator) -> None:
    there = acc.query(f"SHOW RELATE COLUMNS ON {TABLE}").arrow().column("name").to_pylist()
    for attribute, (table, mine, theirs) in RELATES.items():
        if attribute not in there:
            acc.query(
                f"ALTER TABLE {TABLE} ADD RELATE COLUMN {attribute}"
                f" FROM {NAMESPACE}.{table}.{attribute} ON {TABLE}.{mine} ="
                f" {NAMESPACE}.{table}.{theirs}"
            )
        acc.query(
            f"CREATE INDEX hand_{attribute} ON {TABLE} USING BITMAP ({attribute})"
            " WITH (rows = true)"
        )
    for key in KEYS:
        acc.query(f"CREATE INDEX hand_{key} ON {TABLE} USING BLOOM ({key})")


def _most(acc: Accelerator) -> dict[str, int]:
    shown = ", ".join(f"max({key}) AS {key}" for key in KEYS)
    (row,) = acc.query(f"SELECT {shown} FROM {TABLE}").arrow().to_pylist()
    return {key: int(value) for key, value in row.items()}


def _measured(
    sessions: Mapping[str, Accelerator], texts: Mapping[str, list[str]]
) -> dict[str, dict[str, float]]:
    """Milliseconds of each statement: the least of several rounds, the mean of its literals."""
    least: dict[tuple[str, str, int], float] = {}
    for number in range(ROUNDS + 1):
        for name, some in texts.items():
            for place, sql in enumerate(some):
                for which, acc in sessions.items():
                    began = time.perf_counter()
                    acc.query(sql).arrow()
                    ms = (time.perf_counter() - began) * 1000
                    if number:  # the first one reads metadata and files anew
                        key = which, name, place
                        least[key] = min(ms, least.get(key, np.inf))
    return {
        which: {
            name: statistics.fmean(least[which, name, place] for place in range(len(some)))
            for name, some in texts.items()
        }
        for which in sessions
    }


def _bytes(acc: Accelerator) -> int:
    return sum(row["bytes"] or 0 for row in acc.query("SHOW INDEXES").arrow().to_pylist())
