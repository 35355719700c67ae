"""A small warehouse of the Star Schema Benchmark, made by PyIceberg: `lake.ssb`.

Beside the benchmark's five tables there is `calendar`, whose rows are the days of `dates` as
dates and as times: tools draw by these.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.ssb.generate import TABLES, generate
from tests.support.pristine import catalog_of


def filled(root: Path, scale: float = 0.001) -> Path:
    """The folder, with the tables of that scale."""
    root.mkdir(parents=True, exist_ok=True)
    made = root / "made"
    generate(made, scale)
    catalog = catalog_of(root)
    catalog.create_namespace("ssb")
    for name in TABLES:
        tables = [pq.read_table(one) for one in sorted((made / name).glob("*.parquet"))]
        table = catalog.create_table(f"ssb.{name}", tables[0].schema)
        for one in tables:
            table.append(one)
    days = calendar(pq.read_table(next((made / "dates").glob("*.parquet"))))
    catalog.create_table("ssb.calendar", days.schema).append(days)
    catalog.engine.dispose()
    return root


def calendar(dates: pa.Table) -> pa.Table:
    """A row for each of `dates`: its key, the date, and a time of that day."""
    keys = dates["d_datekey"].to_pylist()
    days = [dt.date(key // 10_000, key // 100 % 100, key % 100) for key in keys]
    times = [
        dt.datetime.combine(day, dt.time(number % 24, number * 7 % 60, number * 11 % 60))
        for number, day in enumerate(days)
    ]
    return pa.table(
        {
            "c_datekey": dates["d_datekey"].combine_chunks(),
            "c_date": pa.array(days, pa.date32()),
            "c_at": pa.array(times, pa.timestamp("us")),
        }
    )
