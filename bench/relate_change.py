"""What a change of a dimension costs: the files that are built again, and those that had to be.

One in a hundred customers moves, once spread over all of them and once where they live in few
cities. Which files hold their keys is counted by Spark, apart from everything of ours.
"""

from __future__ import annotations

import time
from typing import Any

import accelerator
from bench.relate_tables import CLUSTERED
from bench.ssb.queries import NAMESPACE

_FACT, _DIMENSION = f"{NAMESPACE}.{CLUSTERED}", f"{NAMESPACE}.customer"
_SPREAD = "c_custkey % 100 = 7"
_INDEX = f"{CLUSTERED}_c_city"


def measure_changes(acc: accelerator.Accelerator, details: dict[str, Any]) -> dict[str, Any]:
    """The figures; the dimension is afterwards as it was."""
    figures: dict[str, Any] = {}
    excess = 0
    for name, where in (("spread", _SPREAD), ("cities", _cities(acc))):
        told = _changed(acc, where)
        details[f"rebuild_{name}"] = told
        excess += told["built"] - told["needed"]
        suffix = "" if name == "spread" else "_cities"
        figures[f"rebuild_share{suffix}"] = told["built"] / told["files"]
        figures[f"rebuild_s{suffix}"] = told["seconds"]
    return {"rebuild_excess_files": excess, **figures}


def _cities(acc: accelerator.Accelerator) -> str:
    """A predicate for about one customer in a hundred, all of them of a few cities."""
    rows = acc.spark.sql(
        f"SELECT c_city, count(*) n FROM {_DIMENSION} GROUP BY c_city ORDER BY c_city"
    ).collect()
    wanted, found, total = list[str](), 0, sum(row.n for row in rows)
    for row in rows:
        if found * 100 < total:
            wanted.append(row.c_city)
            found += row.n
    return f"c_city IN ({', '.join(repr(city) for city in wanted)})"


def _changed(acc: accelerator.Accelerator, where: str) -> dict[str, Any]:
    before = acc.spark.sql(
        f"SELECT snapshot_id FROM {_DIMENSION}.refs WHERE name = 'main'"
    ).collect()[0][0]
    files = acc.spark.sql(f"SELECT count(*) FROM {_FACT}.files").collect()[0][0]
    needed = acc.spark.sql(
        f"SELECT count(DISTINCT _file) FROM {_FACT} WHERE lo_custkey IN"
        f" (SELECT c_custkey FROM {_DIMENSION} WHERE {where})"
    ).collect()[0][0]
    try:
        acc.spark.sql(f"UPDATE {_DIMENSION} SET c_city = 'ELSEWHERE0' WHERE {where}")
        begin = time.perf_counter()
        (row,) = acc.query(f"BUILD INDEX {_INDEX}").arrow().to_pylist()
        seconds = time.perf_counter() - begin
    finally:
        acc.spark.sql(f"CALL lake.system.rollback_to_snapshot('{_DIMENSION}', {before})").collect()
        acc.query(f"BUILD INDEX {_INDEX}")
    return {
        "where": where,
        "files": files,
        "needed": needed,
        "built": row["files"],
        "seconds": seconds,
    }
