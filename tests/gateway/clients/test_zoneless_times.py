"""Times without a zone, asked by clients in zones where hours and days are missing.

Spark runs these; what is wanted is computed by Python, whose times without a zone have none.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import trino

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from tests.support.pristine import catalog_of

pytestmark = pytest.mark.spark

_MISSING = (
    dt.datetime(2018, 11, 4, 0, 30, 7, 999_500),  # São Paulo's clocks go from midnight to one
    dt.datetime(2011, 12, 30, 12, 15, 59, 999_999),  # Samoa has no such day
    dt.datetime(2024, 3, 31, 2, 30, 0, 499),  # Berlin's clocks go from two to three
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_500),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_499),
    dt.datetime(1, 1, 1, 0, 0, 0, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59),
)
_ZONES = ("America/Sao_Paulo", "Pacific/Apia", "Europe/Berlin", "UTC")


def _times() -> list[dt.datetime]:
    some = random.Random(1)
    first = dt.datetime(1950, 1, 1)
    found = [first + dt.timedelta(microseconds=some.randrange(3 * 10**15)) for _ in range(200)]
    return [*_MISSING, *found]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.RunningGateway]:
    """One over a table of times."""
    root = tmp_path_factory.mktemp("times")
    catalog = catalog_of(root)
    catalog.create_namespace("shop")
    times = _times()
    rows = pa.table(
        {
            "id": pa.array(range(len(times)), pa.int64()),
            "z": pa.array(times, pa.timestamp("us")),
            "d": pa.array([one.date() for one in times], pa.date32()),
        }
    )
    catalog.create_table("shop.times", rows.schema).append(rows)
    catalog.engine.dispose()
    with serving.start(Config.load(None, warehouse=str(Path(root))), workers=1) as found:
        yield found


def _first(unit: str, day: dt.date) -> dt.date:
    if unit == "week":
        return day - dt.timedelta(days=day.weekday())
    if unit == "quarter":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return {"day": day, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[unit]


def _begun(unit: str) -> Callable[[dt.datetime], dt.datetime]:
    def begun(time: dt.datetime) -> dt.datetime:
        cut = {"minute": 0, "second": 0, "microsecond": 0}
        if unit in ("hour", "minute", "second"):
            kept = ("hour", "minute", "second")[: ("hour", "minute", "second").index(unit) + 1]
            return time.replace(**{key: 0 for key in cut if key not in kept})
        return dt.datetime.combine(_first(unit, time.date()), dt.time())

    return begun


def _rounded(time: dt.datetime) -> dt.datetime:
    """To the millisecond, half of one up."""
    more = time + dt.timedelta(microseconds=500)
    return more.replace(microsecond=more.microsecond // 1000 * 1000)


_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
_ASKED: list[tuple[str, Callable[[dt.datetime], Any]]] = [
    *((f"date_trunc('{unit}', z)", _begun(unit)) for unit in _UNITS),
    *(
        (f"date_trunc('{unit}', d)", lambda t, unit=unit: _first(unit, t.date()))
        for unit in _UNITS[3:]
    ),
    (
        "date_trunc('month', CAST(d AS timestamp))",
        lambda t: dt.datetime(t.year, t.month, 1),
    ),
    ("CAST(z AS timestamp)", _rounded),
    ("CAST(d AS timestamp)", lambda t: dt.datetime.combine(t.date(), dt.time())),
    ("date_trunc('minute', CAST(z AS timestamp))", lambda t: _begun("minute")(_rounded(t))),
    ("date_trunc('day', CAST(z AS timestamp))", lambda t: _begun("day")(_rounded(t))),
    ("day_of_week(d)", lambda t: t.isoweekday()),
    ("extract(dow FROM z)", lambda t: t.isoweekday()),
    ("week(z)", lambda t: t.isocalendar().week),
    ("date(z)", lambda t: t.date()),
    ("date_diff('day', DATE '2000-02-29', d)", lambda t: (t.date() - dt.date(2000, 2, 29)).days),
]


@pytest.mark.parametrize("zone", _ZONES)
def test_zoneless(gateway: serving.RunningGateway, zone: str) -> None:
    """No zone of a client's changes them."""
    shown = ", ".join(f"{sql} AS c{at}" for at, (sql, _) in enumerate(_ASKED))
    with closing(
        trino.dbapi.connect(
            host=gateway.url, user="ann", catalog="lake", schema="shop", timezone=zone
        )
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(f"SELECT {shown} FROM times ORDER BY id")
        rows = cursor.fetchall()
    for at, (sql, wanted) in enumerate(_ASKED):
        assert [row[at] for row in rows] == [wanted(time) for time in _times()], sql


@pytest.mark.parametrize("zone", _ZONES)
@pytest.mark.parametrize(
    ("sql", "days"),
    [("date_add('day', -7, d)", -7), ("date_add('week', 2, d)", 14), ("d + INTERVAL '1' DAY", 1)],
)
def test_moved(gateway: serving.RunningGateway, zone: str, sql: str, days: int) -> None:
    """A date and some days are a date."""
    with closing(
        trino.dbapi.connect(
            host=gateway.url, user="ann", catalog="lake", schema="shop", timezone=zone
        )
    ) as connection:
        cursor = connection.cursor()
        kept = "d >= DATE '0003-01-01' AND d < DATE '9000-01-01'"
        cursor.execute(f"SELECT {sql} FROM times WHERE {kept} ORDER BY id")
        found = [row[0] for row in cursor.fetchall()]
    wanted = [t.date() + dt.timedelta(days=days) for t in _times() if 2 < t.year < 9000]
    assert found == wanted
