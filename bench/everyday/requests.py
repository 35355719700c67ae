"""The table `log.requests`: requests to a web shop, with structs and times of both kinds.

Its four weeks cross the night in which Berlin's clocks go forward. PyIceberg writes it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

NAMESPACE = "log"
FIRST = dt.datetime(2026, 3, 16)
DAYS = 28
HOSTS = 100
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
SERVICES = ("billing", "catalog", "checkout", "login", "search")
BROWSERS = ("Chrome", "Edge", "Firefox", "Safari", "curl")
FIRST_NAMES = ("Ann", "Ben", "Carla", "David", "Emma", "Farid", "Greta", "Hugo", "Ines", "Jan")
PLACES = {
    "DE": ("Berlin", 52.52, 13.405),
    "FR": ("Lyon", 45.764, 4.836),
    "GB": ("Leeds", 53.801, -1.549),
    "NL": ("Utrecht", 52.091, 5.122),
    "PL": ("Gdansk", 54.352, 18.646),
    "US": ("Austin", 30.267, -97.743),
}
_FILES, _USERS, _SECOND = 4, 5000, 1_000_000
_ZONES = ("eu-west", "us-east", "ap-south")
_LAST_NAMES = ("Miller", "Novak", "O'Hara", "Petit", "Rossi", "Schulz", "Visser")
_STATUSES = (200, 201, 204, 301, 304, 400, 401, 404, 429, 500, 503)
_STATUS_SHARES = (0.66, 0.06, 0.05, 0.03, 0.06, 0.03, 0.02, 0.05, 0.01, 0.02, 0.01)
_RATES = (0.01, 0.1, 0.25, 1.0)
_RESOURCES = ("items", "orders", "carts", "users", "offers")
_TEXTS = ("GET {} took {} ms", "upstream Timeout at {} after {} ms", "  retrying {}, {} ms left ")

Numbers = np.ndarray[Any, Any]


def rows_beside(flights: int) -> int:
    """Returns the number of requests beside so many flights: a quarter."""
    return max(flights // 4, 1)


def host(number: int) -> str:
    """Returns the name of a host, with its zone."""
    return f"web-{number:03d}.{_ZONES[number % len(_ZONES)]}.example"


def write(catalog: Catalog, rows: int, tell: Callable[[str], None]) -> None:
    """Makes the table, of four files, each a week's rows."""
    catalog.create_namespace(NAMESPACE)
    table = None
    for number in range(_FILES):
        first, last = (rows * n // _FILES for n in (number, number + 1))
        requests = _requests(first, last - first, rows)
        table = table or catalog.create_table(f"{NAMESPACE}.requests", requests.schema)
        table.append(requests)
        tell(f"{last:,} of {rows:,} requests")


def _requests(first: int, count: int, total: int) -> pa.Table:
    rng = np.random.default_rng([2026, first])
    ids = np.arange(first, first + count)
    begin = int(FIRST.replace(tzinfo=dt.UTC).timestamp()) * _SECOND
    at = begin + ids * (DAYS * 86_400 * _SECOND // total) + rng.integers(0, _SECOND, count)
    received = pa.array(at + rng.integers(0, 3 * _SECOND, count)).cast(pa.timestamp("us"))
    users = rng.integers(1, _USERS + 1, count)
    # In eighths, whose sums are exact: a rounded average doesn't depend on the order of rows.
    latency = np.round(rng.lognormal(4, 1, count) * 8) / 8
    load = np.where(rng.random(count) < 0.002, np.nan, rng.integers(0, 400, count) / 100)
    statuses = np.array(_STATUSES)[rng.choice(len(_STATUSES), count, p=_STATUS_SHARES)]
    paths = _paths(rng, count)

    def some(values: Any, missing: float) -> pa.Array:
        return pa.array(values, mask=rng.random(count) < missing)

    countries = np.array(list(PLACES))[rng.integers(0, len(PLACES), count)]
    typed = np.where(
        rng.random(count) < 0.02, np.char.add(np.char.lower(countries), " "), countries
    )
    return pa.table(
        {
            "request_id": pa.array(ids),
            "ts": some(at, 0.0005).cast(pa.timestamp("us", "UTC")),
            "received": received,
            "day_text": pc.strftime(received, "%Y-%m-%d"),
            "time_text": pc.strftime(received.cast(pa.timestamp("s"), safe=False), "%Y-%m-%d %T"),
            "level": _picked(rng, LEVELS, count, (0.2, 0.6, 0.15, 0.05)),
            "service": _picked(rng, SERVICES, count),
            "host": _picked(rng, [host(number) for number in range(HOSTS)], count),
            "path": pa.array(paths),
            "message": _messages(rng, paths, latency),
            "status": pa.array(statuses.astype(np.int32)),
            "status_text": pa.array(statuses.astype(str)),
            "ok": pa.array(statuses < 400),
            "latency_ms": some(latency, 0.01),
            "bytes": pa.array(rng.integers(200, 1_000_000, count)),
            "price": _money(some(rng.integers(99, 20_000, count), 0.6)),
            "sample_rate": pa.array(np.array(_RATES, np.float32)[rng.integers(0, 4, count)]),
            "cpu_load": pa.array(load),
            "user_id": some(users, 0.1),
            "email": some([_email(user) for user in users.tolist()], 0.2),
            "country": some(typed, 0.05),
            "client": _clients(rng, count),
            "geo": _places(rng, countries),
        }
    )


def _picked(
    rng: np.random.Generator,
    values: tuple[str, ...] | list[str],
    count: int,
    shares: tuple[float, ...] | None = None,
) -> pa.Array:
    return pa.array(np.array(values)[rng.choice(len(values), count, p=shares)])


def _paths(rng: np.random.Generator, count: int) -> list[str]:
    which, item = rng.integers(0, len(_RESOURCES), count), rng.integers(1, 2000, count)
    pairs = zip(which.tolist(), item.tolist(), strict=True)
    return [f"/api/v2/{_RESOURCES[resource]}/{number}" for resource, number in pairs]


def _messages(rng: np.random.Generator, paths: list[str], latency: Numbers) -> pa.Array:
    which = rng.choice(len(_TEXTS), len(paths), p=(0.9, 0.04, 0.06)).tolist()
    rows = zip(which, paths, latency.tolist(), strict=True)
    return pa.array([_TEXTS[text].format(path, ms) for text, path, ms in rows])


def _money(cents: pa.Array) -> pa.Array:
    whole = cents.cast(pa.int32()).cast(pa.decimal128(10, 0))
    return pc.multiply(whole, pa.scalar(Decimal("0.01"))).cast(pa.decimal128(10, 2))


def _email(user: int) -> str:
    first, last = FIRST_NAMES[user % len(FIRST_NAMES)], _LAST_NAMES[user % len(_LAST_NAMES)]
    return f"{first}.{last}{user}@{('example', 'mail', 'post')[user % 3]}.org"


def _clients(rng: np.random.Generator, count: int) -> pa.Array:
    ips = [f"10.{a}.{b}.{c}" for a, b, c in rng.integers(0, 64, (count, 3)).tolist()]
    agents = pa.StructArray.from_arrays(
        [_picked(rng, BROWSERS, count), pa.array(rng.integers(90, 140, count).astype(np.int32))],
        ["name", "version"],
    )
    secure = pa.array(rng.random(count) < 0.9)
    missing = pa.array(rng.random(count) < 0.03)
    fields = [pa.array(ips, mask=rng.random(count) < 0.02), agents, secure]
    return pa.StructArray.from_arrays(fields, ["ip", "agent", "secure"], mask=missing)


def _places(rng: np.random.Generator, countries: Numbers) -> pa.Array:
    cities, lats, lons = zip(*(PLACES[one] for one in countries.tolist()), strict=True)
    near = rng.integers(-20, 21, (2, len(countries))) / 200
    nowhere = rng.random(len(countries)) < 0.08
    return pa.StructArray.from_arrays(
        [
            pa.array(cities, mask=nowhere),
            pa.array(np.round(np.array(lats) + near[0], 3), mask=nowhere),
            pa.array(np.round(np.array(lons) + near[1], 3), mask=nowhere),
        ],
        ["city", "lat", "lon"],
    )
