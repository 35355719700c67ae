"""Statements over tables in S3, beside DuckDB over PyArrow's dataset of the same files.

Each statement is asked nine times, by turns and with new literals. The dataset is opened once, so
that it keeps footers as a session does. Rivals are DuckDB over the dataset, which pushes columns
and filters into it, and over the table that the dataset gives; the quicker one counts. Once each
time, as `uncached`, no range of a column is in memory, and requests and bytes are those of it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from msgspec import Struct
from pyarrow.fs import S3FileSystem
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.iceberg.objects import object_file
from bench.s3_server import KEYS, S3Server, Served, s3_server
from bench.stats import geometric_mean
from bench.steps import Tell

_BUCKET, _RUNS, _SEED = "everywhere", 9, 11
_ROWS = 2_000_000
_CARRIERS = ("AA", "AS", "B6", "DL", "UA", "WN")


class Statement(Struct, frozen=True):
    """A statement over one table; `text` and `filter` take the run's number."""

    name: str
    table: str
    columns: tuple[str, ...]
    text: Callable[[int], str]
    filter: Callable[[int], ds.Expression] | None = None


def _key(run: int) -> int:
    return 123_457 * (run + 1) % _ROWS


_ID, _DISTANCE = ds.field("id"), ds.field("distance")
STATEMENTS = (
    Statement(
        "count_by_column",
        "flights",
        ("carrier",),
        lambda n: f"SELECT carrier, count(*) AS n, {n} AS asked FROM {{}} GROUP BY carrier",
    ),
    Statement(
        "sums_by_column",
        "flights",
        ("carrier", "distance", "delay"),
        lambda n: (
            "SELECT carrier, avg(delay) AS a, sum(distance) AS d FROM {}"
            f" WHERE distance > {n * 10} GROUP BY carrier"
        ),
        lambda n: n * 10 < _DISTANCE,
    ),
    Statement(
        "needle",
        "flights",
        ("id", "origin", "distance"),
        lambda n: f"SELECT id, origin, distance FROM {{}} WHERE id = {_key(n)}",
        lambda n: _key(n) == _ID,
    ),
    Statement(
        "needle_sum",
        "flights",
        ("id", "distance"),
        lambda n: f"SELECT sum(distance) AS s FROM {{}} WHERE id = {_key(n)}",
        lambda n: _key(n) == _ID,
    ),
    Statement(
        "range",
        "flights",
        ("id", "carrier", "distance"),
        lambda n: (
            "SELECT carrier, sum(distance) AS s FROM {}"
            f" WHERE id BETWEEN {_key(n)} AND {_key(n) + 50_000} GROUP BY carrier"
        ),
        lambda n: (_key(n) <= _ID) & (_key(n) + 50_000 >= _ID),
    ),
    Statement(
        "top_n",
        "flights",
        ("id", "origin"),
        lambda n: f"SELECT id, origin FROM {{}} WHERE id < {_key(n)} ORDER BY id DESC LIMIT 20",
        lambda n: _key(n) > _ID,
    ),
    Statement(
        "top_n_of_any_order",
        "flights",
        ("delay", "id"),
        lambda n: f"SELECT delay, id FROM {{}} WHERE id > {n} ORDER BY delay DESC, id LIMIT 20",
        lambda n: n < _ID,
    ),
    Statement(
        "three_of_wide",
        "wide",
        ("c1", "c2", "c3"),
        lambda n: f"SELECT sum(c2) AS a, max(c3) AS b FROM {{}} WHERE c1 > {n * 1_000}",
        lambda n: ds.field("c1") > n * 1_000,
    ),
    Statement(
        "small_files",
        "small",
        ("carrier", "distance"),
        lambda n: (
            f"SELECT carrier, sum(distance) AS s FROM {{}} WHERE distance > {n} GROUP BY carrier"
        ),
        lambda n: n < _DISTANCE,
    ),
    Statement(
        "needle_in_small_files",
        "small",
        ("id", "origin"),
        lambda n: f"SELECT id, origin FROM {{}} WHERE id = {_key(n) % 200_000}",
        lambda n: _key(n) % 200_000 == _ID,
    ),
    Statement(
        "many_groups",
        "large",
        ("carrier", "distance"),
        lambda n: (
            f"SELECT carrier, sum(distance) AS s FROM {{}} WHERE distance > {n} GROUP BY carrier"
        ),
        lambda n: n < _DISTANCE,
    ),
    Statement(
        "needle_in_many_groups",
        "large",
        ("id", "delay"),
        lambda n: f"SELECT sum(delay) AS s FROM {{}} WHERE id = {_key(n) % 1_000_000}",
        lambda n: _key(n) % 1_000_000 == _ID,
    ),
)


class _Sample(Struct, frozen=True):
    """One answer: its time, what the server sent for it, and its rows."""

    seconds: float
    served: Served
    rows: list[tuple[Any, ...]]


_Way = Callable[[Statement, int], list[tuple[Any, ...]]]


def measure(folder: Path, tell: Tell) -> dict[str, float]:
    """Times, requests and bytes over those of the dataset, and how many answers differ."""
    home = folder / "s3"
    home.mkdir()
    with s3_server(_BUCKET) as server:
        properties = {**server.properties, "warehouse": f"s3://{_BUCKET}/lake"}
        address = f"sqlite:///{home / 'catalog.db'}"
        catalog = SqlCatalog("lake", uri=address, **properties)
        tell("writes the tables")
        _write(catalog)
        opened: dict[str, Any] = {
            "catalog_uri": address,
            "catalog_name": "lake",
            "catalog_properties": properties,
            "store": str(home / "store"),
            "engine": "duckdb",
        }
        with accelerator.open(**opened) as session:
            return _measured(session, _datasets(catalog, server), server, tell)


def _measured(
    session: accelerator.Accelerator,
    datasets: dict[str, ds.Dataset],
    server: S3Server,
    tell: Tell,
) -> dict[str, float]:
    connection = duckdb.connect()

    def ours(one: Statement, run: int) -> list[tuple[Any, ...]]:
        result = session.query(one.text(run).format(f"s.{one.table}"))
        if result.metrics.engine != "duckdb":
            raise RuntimeError(f"{one.name}: {result.metrics}")
        return result.fetchall()

    def uncached(one: Statement, run: int) -> list[tuple[Any, ...]]:
        for key in list(object_file._RANGES._values):
            if key[1] is not None:  # type: ignore[index]  # else it's a footer
                object_file._RANGES.pop(key)
        return ours(one, run)

    def over_dataset(one: Statement, run: int) -> list[tuple[Any, ...]]:
        connection.register("rival", datasets[one.table])
        return connection.execute(one.text(run).format("rival")).fetchall()

    def over_table(one: Statement, run: int) -> list[tuple[Any, ...]]:
        chosen = None if one.filter is None else one.filter(run)
        rows = datasets[one.table].to_table(columns=list(one.columns), filter=chosen)
        connection.register("rival", rows)
        return connection.execute(one.text(run).format("rival")).fetchall()

    ways: dict[str, _Way] = {
        "uncached": uncached,
        "ours": ours,
        "dataset": over_dataset,
        "table": over_table,
    }
    samples: dict[tuple[str, str], list[_Sample]] = {}
    different = 0
    for run in range(_RUNS):
        for one in STATEMENTS:
            tell(f"{one.name}, {run + 1} of {_RUNS}")
            literal = {"uncached": run + _RUNS}  # of its own, so that its plan isn't cached
            asked = {
                name: _sample(way, one, literal.get(name, run), server)
                for name, way in ways.items()
            }
            other = over_table(one, run + _RUNS)
            different += _differ(other, asked["uncached"].rows)
            for name, sample in asked.items():
                samples.setdefault((one.name, name), []).append(sample)
            right = asked["table"].rows
            different += any(_differ(right, asked[name].rows) for name in ("ours", "dataset"))
    return {**_figures(samples), "differences": different}


def _sample(way: _Way, one: Statement, run: int, server: S3Server) -> _Sample:
    server.served()
    since = time.perf_counter()
    rows = way(one, run)
    seconds = time.perf_counter() - since
    return _Sample(seconds, server.served(), rows)


def _differ(left: Sequence[tuple[Any, ...]], right: Sequence[tuple[Any, ...]]) -> bool:
    if len(left) != len(right):
        return True
    pairs = zip(sorted(left, key=repr), sorted(right, key=repr), strict=True)
    return any(
        a != b and not (isinstance(a, float) and abs(a - b) <= 1e-9 * max(1.0, abs(a)))
        for one, other in pairs
        for a, b in zip(one, other, strict=True)
    )


def _figures(samples: dict[tuple[str, str], list[_Sample]]) -> dict[str, float]:
    found: dict[str, float] = {}
    ratios: dict[str, list[float]] = {"time": [], "uncached": [], "requests": [], "bytes": []}
    for one in STATEMENTS:
        median = {
            way: statistics.median(s.seconds for s in samples[one.name, way])
            for way in ("ours", "uncached", "dataset", "table")
        }
        rival = min(("dataset", "table"), key=median.__getitem__)
        found[f"s3_{one.name}_ms"] = median["ours"] * 1000
        found[f"s3_{one.name}_over_pyarrow_dataset"] = median["ours"] / median[rival]
        found[f"s3_{one.name}_uncached_over_pyarrow_dataset"] = median["uncached"] / median[rival]
        ratios["time"].append(median["ours"] / median[rival])
        ratios["uncached"].append(median["uncached"] / median[rival])
        for figure in ("requests", "bytes"):
            mine, other = (
                statistics.median(getattr(s.served, figure) for s in samples[one.name, way])
                for way in ("uncached", rival)
            )
            found[f"s3_{one.name}_{figure}_over_pyarrow"] = mine / other
            ratios[figure].append(mine / other)
    found["s3_over_pyarrow_dataset"] = geometric_mean(ratios["time"])
    found["s3_over_pyarrow_dataset_max"] = max(ratios["time"])
    found["s3_uncached_over_pyarrow_dataset"] = geometric_mean(ratios["uncached"])
    found["s3_uncached_over_pyarrow_dataset_max"] = max(ratios["uncached"])
    found["s3_requests_over_pyarrow"] = max(ratios["requests"])
    found["s3_bytes_over_pyarrow"] = max(ratios["bytes"])
    return found


def _write(catalog: SqlCatalog) -> None:
    catalog.create_namespace("s")
    draw, sixth = np.random.default_rng(_SEED), _ROWS // 6
    groups = {"write.parquet.row-group-limit": "100000"}
    _append(catalog, "flights", groups, (_flights(draw, n * sixth, sixth) for n in range(6)))
    _append(catalog, "small", {}, (_flights(draw, n * 2_000, 2_000) for n in range(100)))
    groups = {"write.parquet.row-group-limit": "20000"}
    _append(catalog, "large", groups, [_flights(draw, 0, 1_000_000)])
    wide = {f"c{n}": draw.integers(0, 1_000_000, 20_000) for n in range(500)}
    _append(catalog, "wide", {}, [pa.table(wide)])


def _append(catalog: SqlCatalog, name: str, properties: dict[str, str], files: Any) -> None:
    table = None
    for rows in files:
        table = table or catalog.create_table(f"s.{name}", rows.schema, properties=properties)
        table.append(rows)


def _flights(draw: np.random.Generator, first: int, count: int) -> pa.Table:
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "carrier": pa.array(draw.choice(_CARRIERS, count)),
            "origin": pa.array(draw.choice([f"A{n:03}" for n in range(300)], count)),
            "distance": draw.integers(50, 3_000, count),
            "delay": draw.normal(5, 20, count),
            "arrived": draw.integers(0, 10**15, count),
            "note": pa.array(draw.integers(0, 10**12, count).astype(str)),
        }
    )


def _datasets(catalog: SqlCatalog, server: S3Server) -> dict[str, ds.Dataset]:
    host = server.endpoint.removeprefix("http://")
    system = S3FileSystem(
        access_key=KEYS["aws_access_key_id"],
        secret_key=KEYS["aws_secret_access_key"],
        endpoint_override=host,
        scheme="http",
        region="us-east-1",
    )
    found = {}
    for name in ("flights", "small", "large", "wide"):
        tasks = catalog.load_table(f"s.{name}").scan().plan_files()
        paths = sorted(task.file.file_path.removeprefix("s3://") for task in tasks)
        found[name] = ds.dataset(paths, filesystem=system, format="parquet")
    return found


if __name__ == "__main__":
    import json
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(measure(Path(made), lambda _: None), indent=1))
