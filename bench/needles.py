"""Needles: a value out of a table of many files, in each of which any value may stand.

Values are scattered over files and over their whole domain, so that bounds leave out nothing. Each
stands in some three rows. Those that are asked for are known beforehand with their row groups, so
it's known which files must be read, and which bytes of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestamptzType

import accelerator
from accelerator.planning.plans import RowsPlan
from bench.made_table import Words, column_bytes, group_bytes, hex_texts, make_table, mixed
from bench.report import Report
from bench.rivals import (
    DUCKDB,
    OURS,
    PARQUET_BLOOM,
    SPARK,
    TABLE,
    Ran,
    Turns,
    copy_with_blooms,
    median_bytes,
    medians_ms,
)
from bench.steps import Steps
from indexes.question import Among

NAME = "needle"
ROWS = 20_000
_TIMES = 3  # that a value stands in the table
_KNOWN = 1_000  # needles of each column
_TIMED = 16
_TIMED_WARM = 4
_PLANNED = 200
_PROBED = 500
_BITS = 20
_FIRST_US = 1_772_323_200_000_000
_SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "trace", StringType()),
    NestedField(3, "ts", TimestamptzType()),
    NestedField(4, "price", DoubleType()),
    NestedField(5, "place", StringType()),
    NestedField(6, "note", StringType()),
)
_WORDS = pa.array(["parcel", "left", "depot", "customs", "held", "returned", "paid", "in", "cash"])


@dataclass(slots=True)
class Needles:
    """The generator. `where`: of each known needle of a column, the files and row groups."""

    files: int
    rows: int = ROWS
    group_rows: int = ROWS
    where: dict[str, dict[int, list[tuple[int, int]]]] = field(
        default_factory=lambda: {"id": {}, "trace": {}}
    )
    paths: list[Path] = field(default_factory=list)

    def make(self, folder: Path, tell: Callable[[str], None]) -> None:
        """The table `bench.needle`."""
        self.paths = make_table(
            folder,
            NAME,
            _SCHEMA,
            self._file,
            files=self.files,
            group_rows=self.group_rows,
            tell=tell,
        )

    def literal(self, column: str, number: int) -> str:
        """A needle as SQL has it."""
        (word,) = _words(column, np.array([number], dtype=np.uint64))
        if column == "trace":
            return f"'{int(word):016x}'"
        return str(int(word.astype(np.int64)))

    def _file(self, number: int) -> pa.Table:
        random = np.random.default_rng(number)
        drawn = {
            column: random.integers(0, max(1, self.files * self.rows // _TIMES), self.rows)
            for column in self.where
        }
        for column, found in drawn.items():
            for row in np.flatnonzero(found < _KNOWN).tolist():
                groups = self.where[column].setdefault(int(found[row]), [])
                if (number, row // self.group_rows) not in groups:
                    groups.append((number, row // self.group_rows))
        words = [_WORDS.take(pa.array(random.integers(0, len(_WORDS), self.rows))) for _ in "12345"]
        times = _FIRST_US + random.integers(0, 30 * 86_400_000_000, self.rows)
        return pa.table(
            {
                "id": pa.array(_words("id", drawn["id"].astype(np.uint64)).view(np.int64)),
                "trace": hex_texts(_words("trace", drawn["trace"].astype(np.uint64))),
                "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "price": pa.array(random.random(self.rows) * 1_000),
                "place": hex_texts(mixed(random.integers(0, 1 << 60, self.rows).astype(np.uint64))),
                "note": _joined(words, random),
            }
        )


def _words(column: str, numbers: Words) -> Words:
    return mixed(numbers + np.uint64(0 if column == "id" else 1 << 40))


def _joined(words: Sequence[pa.Array], random: np.random.Generator) -> pa.Array:
    rows = len(words[0])
    number = pc.cast(pa.array(random.integers(0, 1 << 40, rows)), pa.string())
    return pc.binary_join_element_wise(*words, number, " ")


def measure(
    acc: accelerator.Accelerator,
    folder: Path,
    needles: Needles,
    steps: Steps,
    report: Report,
    *,
    spark: bool,
) -> None:
    """Builds the indexes, and asks by turns; the table is there."""
    with steps.step("Build BLOOM over two columns of the needles' table"):
        began = time.perf_counter()
        for column in needles.where:
            acc.query(f"CREATE INDEX needle_{column} ON bench.{NAME} USING BLOOM ({column})")
        report.details["needle_build_s"] = time.perf_counter() - began
        _sizes(acc, needles, report)
    if spark:
        with steps.step("Write the same with Parquet's own Bloom filters"):
            values = dict.fromkeys(needles.where, needles.group_rows)
            copy_with_blooms(acc, NAME, values, needles.group_rows)
    turns = Turns(acc, folder, NAME, spark=spark)
    drawn = _drawn(needles)
    try:
        for cold, count in ((True, _TIMED), (False, _TIMED_WARM)):
            with steps.step(f"Ask for {count} needles {'cold' if cold else 'warm'}"):
                turns.keep_files(not cold)
                _asked(turns, needles, drawn, count, report, cold=cold)
                report.save()
    finally:
        turns.close()
    with steps.step(f"Plan {_PLANNED} needles"):
        report.figures["needle_files_skipped"] = _skipped(acc, needles, drawn, report)
        report.figures["probe_1000_files_ms"] = _probe_ms(acc, report)
    with steps.step(f"The same with {_BITS} bits for each value"):
        for column in needles.where:
            acc.query(
                f"CREATE OR REPLACE INDEX needle_{column} ON bench.{NAME} USING BLOOM ({column})"
                f" WITH (bits_per_value = {_BITS})"
            )
        found = _skipped(acc, needles, drawn, report)
        report.figures[f"needle_files_skipped_{_BITS}bit"] = found
        report.details[f"needle_{_BITS}bit"] = _ours_alone(acc, needles, drawn)
    report.save()


def _drawn(needles: Needles) -> Iterator[tuple[str, int]]:
    """Needles that weren't asked for before, of one column and then of the other."""
    for pair in zip(*(sorted(found) for found in needles.where.values()), strict=False):
        yield from zip(needles.where, pair, strict=True)


def _sql(needles: Needles, column: str, number: int) -> str:
    return f"SELECT * FROM {TABLE} WHERE {column} = {needles.literal(column, number)}"


def _ideal(needles: Needles, column: str, number: int) -> int:
    return sum(group_bytes(needles.paths[f], [g]) for f, g in needles.where[column][number])


def _asked(
    turns: Turns,
    needles: Needles,
    drawn: Iterator[tuple[str, int]],
    count: int,
    report: Report,
    *,
    cold: bool,
) -> None:
    for column in needles.where:  # plans of shapes, classes of the JVM, connections
        turns.run(_sql(needles, *_next(drawn, column)), cold=False)
    runs: list[Ran] = []
    ours = ideal = 0
    for _ in range(count):
        column, number = next(drawn)
        found = turns.run(_sql(needles, column, number), cold=cold)
        runs += found
        _check(found, column)
        ours += next(int(one.told["bytes_read"]) for one in found if one.system == OURS)
        ideal += _ideal(needles, column, number)
    times, way = medians_ms(runs), "" if cold else "_warm"
    for rival in (SPARK, PARQUET_BLOOM, DUCKDB):
        if rival in times:
            report.figures[f"needle{way}_speedup_vs_{rival}"] = times[rival] / times[OURS]
    report.figures[f"needle{way}_ms"] = times[OURS]
    if cold:
        report.figures["needle_bytes_over_ideal"] = ours / ideal
    report.details[f"needle{way}"] = {
        "ms": times,
        "bytes": median_bytes(runs),
        "our_bytes": ours,
        "ideal_bytes": ideal,
        "files_read": [one.told["files_read"] for one in runs if one.told],
        "planning_ms": [one.told["planning_ms"] for one in runs if one.told],
        "all_ms": {name: [r.ms for r in runs if r.system == name] for name in times},
    }


def _next(drawn: Iterator[tuple[str, int]], column: str) -> tuple[str, int]:
    return next(one for one in drawn if one[0] == column)


def _check(found: Sequence[Ran], column: str) -> None:
    ours = next(one for one in found if one.system == OURS)
    if not ours.rows or not ours.told["rewritten"]:
        raise SystemExit(f"a needle of {column} wasn't found by an index: {ours}")


def _ours_alone(
    acc: accelerator.Accelerator, needles: Needles, drawn: Iterator[tuple[str, int]]
) -> dict[str, Any]:
    """Times and bytes of more needles without the others, warm."""
    times, ours, ideal = [], 0, 0
    for _ in range(_TIMED):
        column, number = next(drawn)
        began = time.perf_counter()
        result = acc.query(_sql(needles, column, number).replace(TABLE, f"bench.{NAME}"))
        result.arrow()
        times.append((time.perf_counter() - began) * 1000)
        ours += result.metrics.bytes_read
        ideal += _ideal(needles, column, number)
    return {"ms": statistics.median(times), "bytes_over_ideal": ours / ideal}


def _plan(acc: accelerator.Accelerator, sql: str) -> RowsPlan:
    plan, _ = acc.plan(sql)
    if not isinstance(plan, RowsPlan):
        raise SystemExit(f"no plan of rows: {plan}: {sql}")
    return plan


def _skipped(
    acc: accelerator.Accelerator,
    needles: Needles,
    drawn: Iterator[tuple[str, int]],
    report: Report,
) -> float:
    """The share of files without a match that a plan leaves out; it opens none."""
    left_out = without = 0
    planning = []
    for _ in range(min(_PLANNED, max(1, needles.files))):
        column, number = next(drawn)
        matching = {f"file://{needles.paths[f]}" for f, _ in needles.where[column][number]}
        sql = _sql(needles, column, number).replace(TABLE, f"bench.{NAME}")
        began = time.perf_counter()
        plan = _plan(acc, sql)
        planning.append((time.perf_counter() - began) * 1000)
        kept = {file.path for file in plan.reading.live(0, len(plan.reading))}
        if not matching <= kept:
            raise SystemExit(f"files with matches were left out: {sql}")
        left_out += needles.files - len(kept)
        without += needles.files - len(matching)
    report.details.setdefault("needle_plan_ms", []).append(statistics.median(planning))
    return left_out / without


def _probe_ms(acc: accelerator.Accelerator, report: Report) -> float:
    """One literal asked of all files: rows of the bundles read and judged, nothing remembered."""
    plan = _plan(acc, f"SELECT * FROM bench.{NAME} WHERE id = 1")
    over = plan.reading.known.survey.indexes
    if over is None:
        raise SystemExit("the table has no index")
    (index,) = over.by_field[1]
    times = []
    for value in range(_PROBED):
        began = time.perf_counter()
        absent = index.absent(Among((value,)))
        times.append((time.perf_counter() - began) * 1000)
        if absent is None:
            raise SystemExit("the index says nothing")
    report.details["probe_ms"] = {"median": statistics.median(times), "worst": max(times)}
    return statistics.median(times)


def _sizes(acc: accelerator.Accelerator, needles: Needles, report: Report) -> None:
    shown = acc.query("SHOW INDEXES").arrow().to_pylist()
    for one in shown:
        if one["index"].startswith("needle_"):
            stored = column_bytes(needles.paths, one["column"])
            kind = f"index_bytes_share_{one['kind'].lower()}_{one['column']}"
            report.figures[kind] = one["bytes"] / stored
            report.details[one["index"]] = {
                "bytes": one["bytes"],
                "bits_per_row": one["bits_per_row"],
                "measured_rate": one["false_positive_rate"],
            }
