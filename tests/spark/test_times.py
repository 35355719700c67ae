"""Parts and truncations of times, in cubes and over them, equal plain Spark's; also at the edges.

Every day and hour here is one at which some engine counts otherwise: before 1970 and before the
calendars changed, leap days, the first and the last week of a year, the last microsecond.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

T = "lake.d.times"
_DAYS = (
    *("0001-01-01", "0004-02-29", "1500-03-01", "1582-10-04", "1582-10-15", "1900-02-28"),
    *("1969-12-31", "1970-01-01", "2000-02-29", "2019-12-30", "2020-01-31", "2020-02-01"),
    *("2020-02-29", "2020-03-01", "2020-04-01", "2020-12-31", "2021-01-03", "2021-01-04"),
    *("2024-03-10", "9999-12-31"),
)
_CLOCKS = ("00:00:00", "00:00:00.000001", "06:59:59.5", "12:30:00", "23:59:59.999999")
_PARTS = ("year", "quarter", "month", "weekofyear", "day", "dayofyear", "dayofweek")
_CUBES = {
    "whole": "day, at, clock",
    "months": "trunc(day, 'MM'), date_trunc('MON', at)",
    "days": "CAST(at AS DATE), date_trunc('WEEK', day), CAST(clock AS DATE)",
    "hours": "date_trunc('HOUR', at), year(day), month(day)",
}


@pytest.fixture(scope="module")
def times(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    spark_warehouse.sql(f"CREATE TABLE {T} (day DATE, at TIMESTAMP, clock TIMESTAMP_NTZ, v INT)")
    rows = [f"(DATE '{d}', TIMESTAMP '{d} {c}', TIMESTAMP_NTZ '{d} {c}', {i})"
            for i, (d, c) in enumerate((d, c) for d in _DAYS for c in _CLOCKS)]  # fmt: skip
    spark_warehouse.sql(f"INSERT INTO {T} VALUES {', '.join(rows)}, (NULL, NULL, NULL, 7)")
    for name, keys in _CUBES.items():
        acc.query(
            f"CREATE CUBE times_{name} AS SELECT {keys}, count(*), sum(v) FROM {T} GROUP BY {keys}"
        )
    yield Differential(acc)
    for name in _CUBES:
        acc.query(f"DROP CUBE times_{name}")
    spark_warehouse.sql(f"DROP TABLE {T}")


def _grouped(expr: str) -> str:
    return f"SELECT {expr} AS x, count(*) AS n, sum(v) AS s FROM {T} GROUP BY {expr}"


def test_in_process(times: Differential) -> None:
    """DuckDB's parts and truncations are Spark's, of each type."""
    calls = [f"{part}({x})" for part in _PARTS for x in ("day", "at", "clock")]
    calls += [f"{part}({x})" for part in ("hour", "minute", "second") for x in ("at", "clock")]
    calls += [f"trunc({x}, '{u}')" for u in ("yy", "QUARTER", "Mon", "WEEK") for x in ("day", "at")]
    units = ("YEAR", "quarter", "MM", "WEEK", "DD", "hour", "MINUTE", "SECOND")
    calls += [f"date_trunc('{u}', {x})" for u in units for x in ("day", "at", "clock")]
    calls += [f"extract({p} FROM at)" for p in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR")]
    calls += [
        "CAST(at AS DATE)",
        "to_date(clock)",
        "date(at)",
        "date_trunc('MONTH', CAST(at AS DATE))",
    ]
    queries = [_grouped(call) for call in calls]
    times.check(queries)
    engines = {times.acc.query(query).metrics.engine for query in queries}
    assert engines == {"duckdb"}


def test_words_that_spark_has_not(times: Differential) -> None:
    """The parser writes these units out, to Spark they are none."""
    calls = [
        "trunc(day, 'W')",
        "trunc(day, 'Y')",
        "trunc(day, 'DAY')",
        "date_trunc('Q', at)",
        "date_trunc('H', at)",
    ]
    times.check(map(_grouped, calls), rewritten=False)


def test_buckets_answer_what_lies_in_them(times: Differential) -> None:
    r = random.Random(5)
    subjects = [
        ("day", "DATE"),
        ("at", "TIMESTAMP"),
        ("clock", "TIMESTAMP_NTZ"),
        ("CAST(at AS DATE)", "DATE"),
    ]
    asked, queries = ("months", "days", "hours"), []
    for _ in range(60):
        subject, type_ = r.choice(subjects)
        clock = "" if type_ == "DATE" else " " + r.choice((*["00:00:00"] * 3, _CLOCKS[-1]))
        ends = [f"{type_} '{r.choice(_DAYS)}{clock}'" for _ in range(2)]
        where = r.choice((
            f"{subject} {r.choice(('<', '<=', '>', '>='))} {ends[0]}",
            f"{ends[0]} {r.choice(('<', '>='))} {subject}",
            f"{subject} >= {ends[0]} AND {subject} < {ends[1]}",
            f"NOT ({subject} BETWEEN {ends[0]} AND {ends[1]})",
            f"({subject} < {ends[0]}) IS NOT TRUE OR month(day) = 2",
            f"year(at) > 1900 AND {subject} > {ends[0]}",
        ))  # fmt: skip
        queries.append(f"SELECT count(*), sum(v) FROM {T} WHERE {where}")
    queries += [
        _grouped(call)
        for call in (
            "year(day)",
            "quarter(day)",
            "trunc(at, 'QUARTER')",
            "date_trunc('DAY', at)",
            "weekofyear(at)",
        )
    ]
    acc = times.acc
    times.acc.query("DROP CUBE times_whole")
    try:
        times.check(queries, rewritten=None)
        answered = sum(acc.query(query).metrics.rewritten for query in queries)
        assert answered > len(queries) // 4, answered
        cubes = {cube for query in queries for cube in acc.query(query).metrics.cubes}
        assert cubes == {f"times_{name}" for name in asked}
    finally:
        times.acc.query(
            f"CREATE CUBE times_whole AS SELECT {_CUBES['whole']}, count(*), sum(v) FROM {T}"
            f" GROUP BY {_CUBES['whole']}"
        )


def test_explain_says_what_was_proven(times: Differential) -> None:
    text = times.acc.explain(
        f"SELECT month(at), sum(v) FROM {T} WHERE day < '2020-02-01' GROUP BY 1"
    )
    assert "rests on: times truncated in UTC" in text
    assert "of its cells those where (`" in text


def test_another_time_zone(times: Differential) -> None:
    """What was truncated in UTC is no answer where days begin at other times."""
    acc = times.acc
    setting = "spark.sql.session.timeZone"
    before = acc.spark.conf.get(setting)
    queries = [
        _grouped(call)
        for call in (
            "CAST(at AS DATE)",
            "date_trunc('MONTH', at)",
            "date_trunc('MONTH', day)",
            "hour(at)",
            "trunc(day, 'MM')",
        )
    ]
    queries += [f"SELECT count(*) FROM {T} WHERE at >= TIMESTAMP '2020-02-01 00:00:00'"]
    try:
        for zone in ("America/New_York", "Asia/Kolkata"):
            acc.spark.conf.set(setting, zone)
            times.changed()
            times.check(queries, rewritten=None, where=zone)
    finally:
        acc.spark.conf.set(setting, before)
        times.changed()
    times.check(queries)
