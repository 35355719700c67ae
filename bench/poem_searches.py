"""Searches of real Chinese text: poems, by pieces of verses and by words, by all systems in turns.

Indexes of pieces (LIKE) and of words (`match`) over the same texts. DuckDB has no word for `match`:
those searches are compared with Spark alone, which runs our function without an index.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

import accelerator
from bench.made_table import column_bytes, make_table
from bench.report import Report
from bench.rivals import DUCKDB, OURS, SPARK, TABLE, Ran, Turns, medians_ms
from bench.stats import mean_ratio
from bench.steps import Steps

NAME = "poems"
FILES = 16
_GROUP_ROWS = 4_096
_KINDS = ("NGRAM_BLOOM", "TOKEN_BLOOM", "NGRAM_BITMAP", "TOKEN_BITMAP")
_VERSES = ("床前看月光", "春眠不覺曉", "白日依山盡", "千山鳥飛絕", "紅豆生南國", "離離原上草")
_WORDS = ("夕陽 黃昏", "鸚鵡 洲", "琵琶 潯陽", "葡萄 美酒", "寒山 寺", "黃鶴樓 煙花")
_SCHEMA = Schema(
    *(
        NestedField(number, name, StringType())
        for number, name in enumerate(("id", "author", "title", "text"), start=1)
    )
)


def make(folder: Path, poems: pa.Table) -> list[Path]:
    """The table `bench.poems`."""
    each = -(-poems.num_rows // FILES)

    def file(number: int) -> pa.Table:
        return poems.slice(number * each, each)

    return make_table(folder, NAME, _SCHEMA, file, files=FILES, group_rows=_GROUP_ROWS)


def measure(
    acc: accelerator.Accelerator,
    folder: Path,
    paths: list[Path],
    steps: Steps,
    report: Report,
) -> None:
    """Builds each kind and searches; stock Spark must be there."""
    told: dict[str, Any] = {}
    with steps.step("Build the indexes of the poems"):
        for kind in _KINDS:
            began = time.perf_counter()
            acc.query(f"CREATE INDEX poems_{kind} ON bench.{NAME} USING {kind} (text)")
            told[kind] = {"build_s": time.perf_counter() - began}
        for one in acc.query("SHOW INDEXES").arrow().to_pylist():
            kind = one["index"].removeprefix("poems_")
            share = one["bytes"] / column_bytes(paths, "text")
            told[kind] |= {"bytes": one["bytes"], "share": share}
    turns = Turns(acc, folder, NAME, spark=True, blooms=False)
    found: dict[str, list[Ran]] = {}
    try:
        turns.keep_files(False)
        turns.run(f"SELECT * FROM {TABLE} WHERE text LIKE '%無此句也%'", cold=False)
        with steps.step("Search the poems cold"):
            for verse in _VERSES:
                sql = f"SELECT * FROM {TABLE} WHERE text LIKE '%{verse}%'"
                found[verse] = turns.run(sql, cold=True)
            for words in _WORDS:
                sql = f"SELECT * FROM {TABLE} WHERE match(text, '{words}')"
                found[words] = turns.run(sql, cold=True, without=(DUCKDB,))
    finally:
        turns.close()
    times = {name: medians_ms(runs) for name, runs in found.items()}
    for rival in (SPARK, DUCKDB):
        theirs = {name: ms[rival] for name, ms in times.items() if rival in ms}
        ours = {name: ms[OURS] for name, ms in times.items()}
        report.figures[f"poems_speedup_vs_{rival}"] = mean_ratio(theirs, ours)
    told["searches"] = {
        name: {"ms": times[name], "rows": runs[0].rows, "ours": runs[0].told}
        for name, runs in found.items()
    }
    report.details["poems"] = told
    report.save()
