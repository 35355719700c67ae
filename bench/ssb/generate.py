"""Writes the SSB tables of a scale as Parquet files; the same scale and seed give the same bytes.

The rules are the paper's (O'Neil, O'Neil, Chen: Star Schema Benchmark, rev. 3). Memory stays
bounded by one chunk of lineorder. A file appears under its name only when it is whole, so an
interrupted run goes on where it stopped; the marker is written last and names what was made.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.ssb import dimensions, lineorder
from bench.ssb.sizes import Sizes, sizes_of

# Raise this whenever the generated data changes, so that cached data is made again.
GENERATOR_VERSION = 1
SEED = 1992
TABLES = ("dates", "customer", "supplier", "part", "lineorder")
MARKER = "complete.json"
# Hears a table's name, its rows made so far, and its rows in all.
Report = Callable[[str, int, int], None]


def generate(
    target: Path,
    scale: float,
    seed: int = SEED,
    report: Report = lambda _table, _done, _total: None,
) -> Sizes:
    """Makes `target/<table>/*.parquet` unless they are there; `report` hears how far it is."""
    sizes = sizes_of(scale)
    wanted = {"version": GENERATOR_VERSION, "seed": seed, "sizes": asdict(sizes)}
    if _read_json(target / MARKER) == wanted:
        return sizes
    if _read_json(target / "started.json") != wanted:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (target / "started.json").write_text(json.dumps(wanted))
    for name, table in _dimension_tables(sizes, seed):
        _write(target / name / f"{name}-000.parquet", [table], table.schema)
        report(name, table.num_rows, table.num_rows)
    _write_lineorder(target, sizes, seed, report)
    (target / MARKER).write_text(json.dumps(wanted))
    return sizes


def _dimension_tables(sizes: Sizes, seed: int) -> Iterable[tuple[str, pa.Table]]:
    def stream(number: int) -> np.random.Generator:
        return np.random.default_rng([seed, number])

    yield "dates", dimensions.dates()
    yield "customer", dimensions.customer(sizes.customer, stream(1))
    yield "supplier", dimensions.supplier(sizes.supplier, stream(2))
    yield "part", dimensions.part(sizes.part, stream(3))


def _write_lineorder(target: Path, sizes: Sizes, seed: int, report: Report) -> None:
    schema = next(lineorder.chunks(sizes, seed, 0, 1)).schema
    for number, (start, end) in enumerate(lineorder.file_bounds(sizes)):
        path = target / "lineorder" / f"lineorder-{number:03d}.parquet"
        if not path.exists():
            _write(path, lineorder.chunks(sizes, seed, start, end), schema)
        report("lineorder", end, sizes.lineorder)


def _write(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")
    # Without the Arrow schema in the footer a reader sees plain strings, not our dictionaries.
    with pq.ParquetWriter(half, schema, compression="zstd", store_schema=False) as writer:
        for table in tables:
            writer.write_table(table)
    half.rename(path)


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
