"""Searches of a log: a trace id, an address, a word in English or Chinese, by all systems in turns.

The log has ten million lines in files by time. The lines of a trace stand close together, those of
an incident in some files, an address's anywhere. Names of jobs and of people are anywhere too, and
made of parts that stand in nearly all files: that is the worst for filters of grams, so their
figures stand apart. Each search is asked as it is, and for the last hundred lines of a time range.
Its literal is another one each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType, TimestamptzType

import accelerator
from bench.log_lines import CHINESE, ENGLISH, JOBS, NAMES, job, messages, person, with_incidents
from bench.made_table import column_bytes, hex_texts, make_table, mixed
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
from bench.stats import mean_ratio
from bench.steps import Steps

NAME = "log"
LINES = 100_000
_GROUP_LINES = 25_000
_ROUNDS = 2
_OF_A_TRACE = 5
_RARE = 1_000_000
_BUSY = 5_000
_FIRST_US = 1_772_323_200_000_000
_FILE_US = 600_000_000
_RANGE = 0.2  # of the whole time
_LEVELS = pa.array(["DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"])
_NAMES_OF_PARTS = ("job", "person")
_INDEXES = {
    "trace": ("trace", "BLOOM"),
    "ip": ("ip", "BLOOM"),
    "message": ("message", "NGRAM_BITMAP"),
    "token": ("message", "TOKEN_BLOOM"),
}
"""Of each index its column and kind."""
_OUTSIDE = r"[^\p{L}\p{Nd}]|\p{Han}"
_SCHEMA = Schema(
    NestedField(1, "ts", TimestamptzType()),
    NestedField(2, "level", StringType()),
    NestedField(3, "ip", StringType()),
    NestedField(4, "trace", StringType()),
    NestedField(5, "message", StringType()),
)
Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class Log:
    """The generator."""

    files: int
    paths: list[Path] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return self.files * LINES

    def make(self, folder: Path, tell: Callable[[str], None]) -> None:
        """The table `bench.log`."""
        self.paths = make_table(
            folder,
            NAME,
            _SCHEMA,
            self._file,
            files=self.files,
            group_rows=_GROUP_LINES,
            tell=tell,
        )

    def trace(self, number: int) -> str:
        """A trace id that has lines."""
        found: str = _traces(np.array([number % (self.lines // _OF_A_TRACE)]))[0].as_py()
        return found

    def _file(self, number: int) -> pa.Table:
        random = np.random.default_rng(number)
        times = np.sort(random.integers(0, _FILE_US, LINES)) + _FIRST_US + number * _FILE_US
        rare = _BUSY + random.integers(0, _RARE, LINES)
        client = np.where(random.random(LINES) < 0.3, rare, random.integers(0, _BUSY, LINES))
        near = np.arange(LINES) + random.integers(0, 200, LINES)
        traces = (number * LINES + np.minimum(near, LINES - 1)) // _OF_A_TRACE
        return pa.table(
            {
                "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "level": _LEVELS.take(pa.array(random.integers(0, len(_LEVELS), LINES))),
                "ip": addresses(client),
                "trace": _traces(traces),
                "message": with_incidents(messages(random, LINES), random),
            }
        )


def addresses(numbers: Numbers) -> pa.Array:
    """An address for each."""
    words = mixed(numbers.astype(np.uint64))
    parts = [
        pc.cast(pa.array(((words >> np.uint64(8 * at)) & np.uint64(255)).astype(np.int64)), "str")
        for at in range(4)
    ]
    found: pa.Array = pc.binary_join_element_wise(*parts, ".")
    return found


def _traces(numbers: Numbers) -> pa.Array:
    return hex_texts(mixed(numbers.astype(np.uint64) + np.uint64(1 << 41)))


@dataclass(frozen=True, slots=True)
class Search:
    """One statement: the index that's meant for it, its SQL, and DuckDB's where that is another."""

    index: str
    sql: str
    duckdb: str = ""


def predicates(log: Log, number: int) -> dict[str, tuple[str, str, str]]:
    """Of each search its index, its predicate and DuckDB's, with literals of that number."""
    rare = addresses(np.array([_BUSY + number * 7_919 % _RARE]))[0].as_py()
    english, chinese = ENGLISH[number % len(ENGLISH)], CHINESE[number % len(CHINESE)]
    told = {
        "trace": ("trace", f"trace = '{log.trace(number * 104_729)}'"),
        "ip": ("ip", f"ip = '{rare}'"),
        "english": ("message", f"message LIKE '%{english}%'"),
        "chinese": ("message", f"message LIKE '%{chinese}%'"),
        "job": ("message", f"message LIKE '%{job(number * 15_485_863 % JOBS)}%'"),
        "person": ("message", f"message LIKE '%{person(number * 32_452_843 % NAMES)}%'"),
    }
    found = {name: (index, text, text) for name, (index, text) in told.items()}
    words = " AND ".join(_has_word(word) for word in english.split())
    found["token"] = "token", f"match(message, '{english}')", words
    return found


def _has_word(word: str) -> str:
    """What DuckDB can ask instead of our own function."""
    return f"regexp_matches(message, '(?i)(^|{_OUTSIDE}){word}($|{_OUTSIDE})')"


def statements(log: Log, number: int) -> dict[str, Search]:
    """Each search, and each way of asking it."""
    span = log.files * _FILE_US
    begin = _FIRST_US + int(span * ((number * 0.37) % (1 - _RANGE)))
    ends = [
        f"TIMESTAMP '{np.datetime64(at, 'us').item():%Y-%m-%d %H:%M:%S}+00:00'"
        for at in (begin, begin + int(span * _RANGE))
    ]
    time = f"ts >= {ends[0]} AND ts < {ends[1]}"
    found = {}
    for name, (index, *ours_theirs) in predicates(log, number).items():
        whole = [f"SELECT * FROM {TABLE} WHERE {predicate}" for predicate in ours_theirs]
        found[name] = Search(index, *whole)
        last = [
            f"SELECT * FROM {TABLE} WHERE {time} AND {predicate} ORDER BY ts DESC LIMIT 100"
            for predicate in ours_theirs
        ]
        found[f"{name}_last"] = Search(index, *last)
    return found


def measure(
    acc: accelerator.Accelerator,
    folder: Path,
    log: Log,
    steps: Steps,
    report: Report,
    *,
    spark: bool,
) -> None:
    """Builds the indexes and searches by turns; the table is there."""
    with steps.step("Build the log's indexes"):
        for name, (column, kind) in _INDEXES.items():
            _build(acc, log, name, column, kind, report)
    if spark:
        with steps.step("Write the log with Parquet's own Bloom filters"):
            values = {"trace": _GROUP_LINES // _OF_A_TRACE, "ip": _GROUP_LINES // 2}
            copy_with_blooms(acc, NAME, values, _GROUP_LINES)
    turns = Turns(acc, folder, NAME, spark=spark)
    runs: dict[str, list[Ran]] = {}
    try:
        turns.keep_files(False)
        warm_up = statements(log, 0)
        for name in ("trace", "trace_last"):
            turns.run(warm_up[name].sql, cold=False)
        for number in range(1, _ROUNDS + 1):
            with steps.step(f"Search the log cold, round {number} of {_ROUNDS}") as tell:
                for name, search in statements(log, number).items():
                    tell(name)
                    order = [0] if "ORDER BY" in search.sql else []
                    found = turns.run(search.sql, cold=True, order_by=order, duckdb=search.duckdb)
                    runs.setdefault(name, []).extend(found)
            _tell(runs, report)
    finally:
        turns.close()


def _build(
    acc: accelerator.Accelerator, log: Log, name: str, column: str, kind: str, report: Report
) -> None:
    began = time.perf_counter()
    acc.query(f"CREATE INDEX log_{name} ON bench.{NAME} USING {kind} ({column})")
    took = time.perf_counter() - began
    shown = acc.query("SHOW INDEXES").arrow().to_pylist()
    size = next(one["bytes"] for one in shown if one["index"] == f"log_{name}")
    share = size / column_bytes(log.paths, column)
    report.figures[f"logs_index_bytes_share_{name}"] = share
    report.details[f"log_{name}"] = {"kind": kind, "build_s": took, "bytes": size}


def _tell(runs: dict[str, list[Ran]], report: Report) -> None:
    if not runs:
        return
    times = {name: medians_ms(each) for name, each in runs.items()}
    ours = {name: found[OURS] for name, found in times.items()}
    for rival in (SPARK, PARQUET_BLOOM, DUCKDB):
        theirs = {name: found[rival] for name, found in times.items() if rival in found}
        names = {name: ms for name, ms in theirs.items() if name.startswith(_NAMES_OF_PARTS)}
        words = {name: ms for name, ms in theirs.items() if name not in names}
        for figure, found in (("logs", words), ("logs_names", names)):
            if found:
                report.figures[f"{figure}_speedup_vs_{rival}"] = mean_ratio(found, ours)
    report.details["logs"] = {
        name: {
            "ms": times[name],
            "bytes": median_bytes(each),
            "rows": [one.rows for one in each if one.system == OURS],
            "ours": [_short(asdict(one)) for one in each if one.system == OURS],
        }
        for name, each in runs.items()
    }
    report.save()


def _short(ran: dict[str, Any]) -> dict[str, Any]:
    names = ("files_read", "row_groups_read", "bytes_read", "planning_ms", "execution_ms", "engine")
    told = {name: ran["told"].get(name) for name in names}
    return {"ms": ran["ms"], **told, "fallback": ran["told"].get("fallback")}
