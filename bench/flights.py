"""Flights of a year, written by PyIceberg, and statements over them with new literals each time."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog

NAMESPACE = "fl"
FEW_ROWS = 1000
_FILES = 6
_CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "UA", "US", "VX", "WN")
_ORIGINS = ("EWR", "JFK", "LGA")
_AIRPORTS = tuple(f"{a}{b}{c}" for a in "ABCDM" for b in "AELST" for c in "ADLX")
_FIRST = dt.date(2013, 1, 1)
_MINUTE = 60_000_000

FEW = "SELECT carrier, count(*) AS n FROM fl.few WHERE flight_id >= {id} GROUP BY carrier"
STATEMENTS = (
    "SELECT carrier, count(*) AS n FROM fl.flights WHERE flight_id > {id} GROUP BY carrier",
    "SELECT origin, sum(distance) AS d FROM fl.flights WHERE flight_id < {id} GROUP BY origin",
    "SELECT * FROM fl.flights WHERE flight_id = {id}",
    "SELECT flight_id, dest FROM fl.flights WHERE flight_id IN ({id}, {other})",
    "SELECT count(*) AS n FROM fl.flights WHERE day = DATE'{day}'",
    "SELECT carrier, avg(distance) AS a FROM fl.flights WHERE day >= DATE'{day}' GROUP BY carrier",
    "SELECT day, count(*) AS n FROM fl.flights WHERE carrier = '{carrier}' GROUP BY day",
    "SELECT max(dep_delay) AS a, min(dep_delay) AS b FROM fl.flights WHERE day <= DATE'{day}'",
    "SELECT sum(distance) AS d FROM fl.flights WHERE origin = '{origin}' AND dest = '{dest}'",
    "SELECT count(DISTINCT tailnum) AS n FROM fl.flights WHERE dest = '{dest}'",
    "SELECT tailnum, count(*) AS n FROM fl.flights WHERE distance > {miles} GROUP BY tailnum"
    " ORDER BY n DESC, tailnum LIMIT 10",
    "SELECT dest, count(*) AS n FROM fl.flights WHERE dest LIKE '{letter}%' GROUP BY dest",
    "SELECT count(*) AS n FROM fl.flights WHERE tailnum = '{tail}'",
    "SELECT flight_id, dep_delay FROM fl.flights WHERE tailnum = '{tail}' ORDER BY flight_id",
    "SELECT cancelled, count(*) AS n FROM fl.flights WHERE distance < {miles} GROUP BY cancelled",
    "SELECT count(*) AS n FROM fl.flights WHERE dep_delay IS NULL AND flight_id > {id}",
    "SELECT carrier, sum(CASE WHEN dep_delay < {delay} THEN 1 ELSE 0 END) AS n FROM fl.flights"
    " GROUP BY carrier",
    "SELECT count(*) AS n FROM fl.flights WHERE arr_delay < {delay}",
    "SELECT origin, count(*) AS n FROM fl.flights WHERE dep_delay > {delay} GROUP BY origin",
    "SELECT count(*) AS n FROM fl.flights WHERE arr_delay BETWEEN {delay} AND {delay} + 5",
    "SELECT origin, dest, count(*) AS n FROM fl.flights WHERE day BETWEEN DATE'{day}' AND"
    " DATE'{later}' GROUP BY origin, dest",
    "SELECT c.name, count(*) AS n FROM fl.flights f JOIN fl.carriers c ON f.carrier = c.carrier"
    " WHERE f.day > DATE'{day}' GROUP BY c.name",
    "SELECT c.name, f.flight_id FROM fl.flights f JOIN fl.carriers c ON f.carrier = c.carrier"
    " WHERE f.flight_id BETWEEN {id} AND {id} + 20",
    "SELECT month(day) AS m, count(*) AS n, sum(distance) AS d FROM fl.flights"
    " WHERE carrier = '{carrier}' GROUP BY month(day)",
    "SELECT flight_id, departs FROM fl.flights WHERE departs < TIMESTAMP_NTZ'{day} 00:00:00'"
    " ORDER BY departs DESC, flight_id DESC LIMIT 20",
    "SELECT flight, count(*) AS n FROM fl.flights WHERE origin = '{origin}' AND"
    " distance > {miles} GROUP BY flight HAVING count(*) > 100",
    "SELECT carrier, dest, min(departs) AS d FROM fl.flights WHERE dest IN ('{dest}', '{more}')"
    " GROUP BY carrier, dest",
)


def literals(rng: random.Random, rows: int) -> dict[str, str | int | float]:
    """Draws new literals for one statement over so many rows."""
    day = _FIRST + dt.timedelta(days=rng.randrange(20, 340))
    return {
        "id": rng.randrange(rows),
        "other": rng.randrange(rows),
        "day": str(day),
        "later": str(day + dt.timedelta(days=6)),
        "carrier": rng.choice(_CARRIERS),
        "origin": rng.choice(_ORIGINS),
        "dest": rng.choice(_AIRPORTS),
        "more": rng.choice(_AIRPORTS),
        "letter": rng.choice("ABCDM"),
        "miles": rng.randrange(100, 3000),
        "tail": f"N{rng.randrange(4000)}",
        "delay": rng.randrange(-50, 400) / 4,
    }


def write(catalog: Catalog, rows: int, tell: Callable[[str], None]) -> None:
    """Makes the tables flights, of six files, few and carriers."""
    catalog.create_namespace(NAMESPACE)
    carriers = pa.table(
        {"carrier": _CARRIERS, "name": [f"{one} Airlines" for one in reversed(_CARRIERS)]}
    )
    catalog.create_table("fl.carriers", carriers.schema).append(carriers)
    few = _flights(0, FEW_ROWS, rows)
    catalog.create_table("fl.few", few.schema).append(few)
    table = catalog.create_table("fl.flights", few.schema)
    for number in range(_FILES):
        first, last = (rows * n // _FILES for n in (number, number + 1))
        table.append(_flights(first, last - first, rows))
        tell(f"{last:,} of {rows:,} flights")


def _flights(first: int, count: int, total: int) -> pa.Table:
    rng = np.random.default_rng([2013, first])
    ids = np.arange(first, first + count)
    days = ids * 365 // total
    minutes = rng.integers(300, 1440, count)
    epoch = (_FIRST - dt.date(1970, 1, 1)).days
    late = np.round(rng.exponential(25, count) - 12) / 4 * 4
    gone = rng.random(count) < 0.02

    def picked(values: tuple[str, ...]) -> pa.Array:
        return pa.array(np.array(values)[rng.integers(0, len(values), count)])

    def delay(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pa.Array:
        return pa.array(values, mask=gone)

    return pa.table(
        {
            "flight_id": pa.array(ids),
            "day": pa.array((epoch + days).astype(np.int32), pa.int32()).cast(pa.date32()),
            "departs": pa.array(((epoch + days) * 1440 + minutes) * _MINUTE).cast(
                pa.timestamp("us")
            ),
            "carrier": picked(_CARRIERS),
            "flight": pa.array(rng.integers(1, 6000, count).astype(np.int32)),
            "tailnum": pa.array([f"N{n}" for n in rng.integers(0, 4000, count)]),
            "origin": picked(_ORIGINS),
            "dest": picked(_AIRPORTS),
            "dep_delay": delay(late),
            "arr_delay": delay(late + np.round(rng.normal(-5, 15, count))),
            "air_time": delay(rng.integers(200, 6000, count) / 10),
            "distance": pa.array(rng.integers(80, 5000, count).astype(np.int32)),
            "cancelled": pa.array(gone),
        }
    )
