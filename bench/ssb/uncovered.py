"""Files that a cube lacks: how many of them are answered without reading a row of them.

A copy of lineorder lies in forty files, of which a cube covers all but the last four; bitmaps of
its relate columns are of all. Eight statements are asked, and every answer is compared with plain
Spark's: count, min, max, counts by two attributes, and three joins that one attribute filters.
"""

from __future__ import annotations

import json

import accelerator
from bench.compare import Answer, difference
from bench.report import Report
from bench.ssb.queries import NAMESPACE
from bench.steps import Steps

_NAME = "lineorder_uncovered"
_TABLE = f"{NAMESPACE}.{_NAME}"
_FILES, _UNCOVERED = 40, 4
_CUBE = "ssb_uncovered"
_RELATES = {
    "d_year": ("dates", "lo_orderdate = d_datekey"),
    "s_region": ("supplier", "lo_suppkey = s_suppkey"),
    "p_category": ("part", "lo_partkey = p_partkey"),
}
_JOINED = " ".join(f"JOIN {NAMESPACE}.{table} ON {on}" for table, on in _RELATES.values())
STATEMENTS = {
    "count": f"SELECT count(*) AS n FROM {_TABLE}",
    "min": f"SELECT min(lo_orderdate) AS lo FROM {_TABLE}",
    "max": f"SELECT max(lo_orderdate) AS hi FROM {_TABLE}",
    **{
        f"count_by_{attribute}": f"SELECT {attribute}, count(*) AS n FROM {_TABLE}"
        f" JOIN {NAMESPACE}.{table} ON {on} GROUP BY {attribute}"
        for attribute, (table, on) in list(_RELATES.items())[:2]
    },
    **{
        f"count_of_{attribute}": f"SELECT count(*) AS n FROM {_TABLE}"
        f" JOIN {NAMESPACE}.{_RELATES[attribute][0]} ON {_RELATES[attribute][1]}"
        f" WHERE {attribute} = {value}"
        for attribute, value in (
            ("d_year", "1994"),
            ("s_region", "'ASIA'"),
            ("p_category", "'MFGR#12'"),
        )
    },
}


def measure_uncovered(acc: accelerator.Accelerator, report: Report, steps: Steps) -> int:
    """Makes the copy, asks, compares; the number of answers that differ."""
    _make(acc, steps)
    differences: dict[str, str] = {}
    read: dict[str, int] = {}
    with steps.step(f"{len(STATEMENTS)} statements over {_UNCOVERED} files without cells"):
        for name, sql in STATEMENTS.items():
            plan = json.loads(acc.explain(sql, format="json"))
            read[name] = min(_UNCOVERED, plan.get("files_raw", _UNCOVERED))
            found = difference(
                Answer.of(acc.spark.sql(sql).toArrow()), Answer.of(acc.query(sql).arrow())
            )
            if found is not None:
                differences[name] = found
    whole = _UNCOVERED * len(STATEMENTS)
    report.figures |= {
        "uncovered_without_rows_share": (whole - sum(read.values())) / whole,
        "uncovered_differences": len(differences),
    }
    report.details["uncovered"] = {"files_read": read, "differences": differences}
    report.save()
    return len(differences)


def _make(acc: accelerator.Accelerator, steps: Steps) -> None:
    """The copy with its cube and bitmaps, anew: what is built of it goes by what it has."""
    for statement in (f"DROP CUBE IF EXISTS {_CUBE} FORCE", f"DROP TABLE IF EXISTS {_TABLE}"):
        acc.query(statement)
    covered = _FILES - _UNCOVERED
    with steps.step(f"Copy lineorder to {covered} files, with bitmaps and a cube"):
        acc.spark.sql(
            f"CREATE TABLE {_TABLE} USING iceberg TBLPROPERTIES ('format-version' = '2',"
            f" 'write.distribution-mode' = 'none') AS {_rows('<', covered)}"
        )
        for attribute, (table, on) in _RELATES.items():
            mine, _, theirs = on.partition(" = ")
            acc.query(
                f"ALTER TABLE {_TABLE} ADD RELATE COLUMN {attribute}"
                f" FROM {NAMESPACE}.{table}.{attribute} ON {mine} = {theirs}"
            )
        acc.query(
            f"CREATE CUBE {_CUBE} AS SELECT {', '.join(_RELATES)}, count(*) AS n,"
            " min(lo_orderdate) AS lo, max(lo_orderdate) AS hi"
            f" FROM {_TABLE} {_JOINED} GROUP BY {', '.join(_RELATES)}"
        )
    with steps.step(f"Append {_UNCOVERED} files, and build their bitmaps alone"):
        acc.spark.sql(f"INSERT INTO {_TABLE} {_rows('>=', _UNCOVERED)}")
        for attribute in _RELATES:
            acc.query(
                f"CREATE OR REPLACE INDEX {_NAME}_{attribute} ON {_TABLE}"
                f" USING BITMAP ({attribute}) WITH (rows = true)"
            )


def _rows(side: str, files: int) -> str:
    """The lines of orders on one side of the last tenth, in so many files."""
    bound = _FILES - _UNCOVERED
    return (
        f"SELECT /*+ REPARTITION({files}) */ * FROM {NAMESPACE}.lineorder"
        f" WHERE pmod(lo_orderkey, {_FILES}) {side} {bound}"
    )
