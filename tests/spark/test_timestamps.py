"""Predicates over timestamps against plain Spark: zones, skipped and doubled hours, old years.

Strategy: texts of all forms, good and bad, are read both ways in several zones; then predicates
over both timestamp types are asked of a table of one file a row, so that each wrong bound shows,
of one whose rows DuckDB reads, and of a cube. How often either answered is counted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from pyspark.errors import PySparkException

from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from rewrite.ir.timestamps import _AGREED, _REGION, micros_of, midnight, moment

pytestmark = pytest.mark.spark
LIVE = True

ZONES = ("UTC", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "+05:30")
_ZONE = "spark.sql.session.timeZone"
_DAYS = (
    *("2024-03-10", "2024-11-03", "2018-11-04", "2018-02-18", "2024-04-07", "2024-10-06"),
    *("2000-01-01", "2037-12-31", "1999-12-31", "1500-02-28", "1582-10-10", "0001-01-01"),
    *("1969-12-31", "9999-12-31", "2024-02-30", "2024-1-2", "10000-01-01", "0000-01-01"),
)
_TIMES = ("", " 00:00:00", "T02:15:30.5", " 01:45", " 00:30:00.1234569", " 23:59:59.999999")
_OFFSETS = ("", "Z", "+01:00", "-18:00", "+18:30", " UTC", "z")
_TEXTS = tuple(day + time + offset for day in _DAYS for time in _TIMES for offset in _OFFSETS)


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    before = acc.spark.conf.get(_ZONE)
    yield acc
    acc.spark.conf.set(_ZONE, before)
    acc.close()


@pytest.mark.parametrize("zone", ZONES)
def test_texts(spark_warehouse, acc: Accelerator, zone: str) -> None:
    """What is read here Spark reads, and alike."""
    wh = spark_warehouse
    wh.spark.conf.set(_ZONE, zone)
    frame = wh.spark.createDataFrame([(text,) for text in _TEXTS], "t STRING")
    rows = frame.selectExpr(
        "t",
        "unix_micros(try_cast(t AS TIMESTAMP)) AS ts",
        "unix_micros(CAST(concat(try_cast(t AS TIMESTAMP_NTZ), 'Z') AS TIMESTAMP)) AS n",
        "unix_micros(CAST(try_cast(t AS DATE) AS TIMESTAMP)) AS d",
    ).collect()
    read = 0
    for row in rows:
        mine = moment(row.t, "timestamp", zone), moment(row.t, "timestamp_ntz", zone)
        for text, theirs in zip(mine, (row.ts, row.n), strict=True):
            assert text is None or micros_of(text) == theirs, row
            read += text is not None
        if row.t in _DAYS and len(row.t) == 10 and row.t[0] != "0" and "02-30" not in row.t:
            day = midnight(row.t, "timestamp", zone)
            assert day is None or micros_of(day) == row.d, row
    assert read > len(rows) / 3


def test_zones_are_javas(spark_warehouse) -> None:
    """In the years that are trusted, over all zones, the offsets change at the same times."""
    java = spark_warehouse.spark._jvm.java.time
    first, end = (datetime(y, 1, 1, tzinfo=UTC) for y in (_AGREED.start, _AGREED.stop))
    compared = 0
    for name in sorted(java.ZoneId.getAvailableZoneIds()):
        if not _REGION.fullmatch(name) or name.startswith("SystemV/"):
            continue
        try:
            mine = ZoneInfo(name)
        except ZoneInfoNotFoundError:
            continue
        rules = java.ZoneId.of(name).getRules()
        at = java.Instant.ofEpochSecond(int(first.timestamp()))
        assert first.astimezone(mine).utcoffset() == _offset(rules.getOffset(at)), name
        while (change := rules.nextTransition(at)) is not None:
            at = change.getInstant()
            when = datetime.fromtimestamp(at.getEpochSecond(), UTC)
            if when >= end:
                break
            compared += 1
            assert when.astimezone(mine).utcoffset() == _offset(change.getOffsetAfter()), name
            earlier = (when - timedelta(seconds=1)).astimezone(mine)
            assert earlier.utcoffset() == _offset(change.getOffsetBefore()), name
    assert compared > 5000


def _offset(offset) -> timedelta:
    return timedelta(seconds=offset.getTotalSeconds())


_ROWS = (
    *("0001-01-01 00:00:00Z", "1500-02-28 12:00:00Z", "1969-12-31 23:59:59.999999Z"),
    *("2018-11-04 03:00:00Z", "2018-11-04 04:00:00Z", "2024-03-10 07:30:00Z"),
    *("2024-11-03 05:30:00Z", "2024-11-03 06:30:00Z", "2024-11-03 06:30:00.000001Z"),
    *("2024-12-31 00:00:00Z", "9999-12-31 23:59:59.999999Z"),
)
_CONSTANTS = (
    *("'2024-03-10 02:30:00'", "'2024-11-03 01:30:00'", "'2018-11-04'", "DATE '2018-11-04'"),
    *("TIMESTAMP '2024-11-03 01:30:00.000001'", "TIMESTAMP '2024-11-03 06:30:00.0000019Z'"),
    *("TIMESTAMP_NTZ '2024-11-03 06:30:00'", "'2024-11-03 06:30:00Z'", "DATE '2024-12-31'"),
    *("'1500-02-28 12:00:00Z'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'", "NULL"),
    *("TIMESTAMP '0001-01-01 00:00:00Z'", "CAST('2024-11-03' AS TIMESTAMP)", "'1969-12-31'"),
    *("TIMESTAMP_LTZ '2018-11-04 00:30:00'", "CAST('2018-11-04' AS TIMESTAMP_NTZ)"),
)
_OPERATORS = ("=", "<", "<=", ">", ">=", "<>", "<=>")


@pytest.fixture(scope="module")
def tables(spark_warehouse) -> tuple[str, str]:
    """One file a row; and one file for all rows but those of NULL."""
    wh = spark_warehouse
    columns = "k INT, ts TIMESTAMP, n TIMESTAMP_NTZ, d DATE"
    apart, together = (f"lake.d.{wh.table(columns)}" for _ in range(2))
    rows = []
    for k, text in enumerate(_ROWS):
        n = f"TIMESTAMP_NTZ '{text[:-1]}'"
        rows.append(f"SELECT {k}, TIMESTAMP '{text}', {n}, CAST({n} AS DATE)")
    for row in rows:
        wh.sql(f"INSERT INTO {apart} {row}")
    wh.sql(f"INSERT INTO {together} SELECT /*+ COALESCE(1) */ * FROM ({' UNION ALL '.join(rows)})")
    for table in (apart, together):
        wh.sql(f"INSERT INTO {table} VALUES (99, NULL, NULL, NULL)")
    return apart, together


@pytest.fixture(scope="module")
def table(tables: tuple[str, str]) -> str:
    return tables[0]


def _predicates(seed: int) -> list[str]:
    r = random.Random(seed)
    found = []
    for column in ("ts", "n", "d"):
        for constant in _CONSTANTS:
            op = r.choice(_OPERATORS)
            found.append(f"{column} {op} {constant}")
            found.append(f"NOT ({constant} {r.choice(_OPERATORS)} {column})")
        for _ in range(6):
            low, high = r.sample(_CONSTANTS, 2)
            found.append(f"{column} BETWEEN {low} AND {high}")
            found.append(f"{column} IN ({low}, {high}, '2024-12-31 00:00:00')")
    return r.sample(found, 30)


@pytest.mark.long
@pytest.mark.parametrize("zone", ZONES[:3])
def test_predicates(spark_warehouse, acc: Accelerator, tables: tuple[str, str], zone: str) -> None:
    wh = spark_warehouse
    wh.spark.conf.set(_ZONE, zone)
    pruned = read = 0
    asked = [(p, table) for p in _predicates(len(zone)) for table in tables]
    for predicate, table in asked:
        sql = f"SELECT count(*) AS c, min(k) AS lo, max(k) AS hi FROM {table} WHERE {predicate}"
        try:
            plain = wh.spark.sql(sql).toArrow()
        except PySparkException:
            with pytest.raises(PySparkException):
                acc.query(sql)
            continue
        mine = acc.query(sql)
        assert differ(mine.arrow(), plain) == [], (zone, predicate)
        pruned += mine.metrics.rewritten and mine.metrics.files_read == 0
        read += mine.metrics.engine == "duckdb" and mine.metrics.files_read == 1
    assert pruned > 5 and read > 5
    assert not acc.fallbacks


def test_the_zone_belongs_to_the_plan(spark_warehouse, acc: Accelerator, table: str) -> None:
    wh = spark_warehouse
    sql = f"SELECT count(*) AS c FROM {table} WHERE ts >= '2024-11-03 02:00:00'"
    for _ in range(2):
        for zone, count in (("UTC", 5), ("America/New_York", 2), ("UTC", 5)):
            wh.spark.conf.set(_ZONE, zone)
            mine = acc.query(sql)
            assert mine.metrics.rewritten
            assert mine.arrow().to_pylist() == [{"c": count}]


def test_texts_that_are_no_time_raise(acc: Accelerator, table: str) -> None:
    """Though no file would be read for the rest of it."""
    for predicate in ("ts = 'x'", "n > '2024-02-30'", "ts IN ('2024-01-01', '')"):
        with pytest.raises(PySparkException):
            acc.query(f"SELECT count(*) FROM {table} WHERE k < 0 AND {predicate}")


def test_cubes(spark_warehouse, acc: Accelerator, table: str) -> None:
    """A range inside the cube's own, in both engines; a cube's times are of its session's zone."""
    wh = spark_warehouse
    wh.spark.conf.set(_ZONE, "America/New_York")
    acc.query(
        f"CREATE CUBE times AS SELECT ts, n, count(*) c, sum(k) s FROM {table}"
        " WHERE ts >= '2018-11-03' AND n < '9000-01-01' GROUP BY ts, n"
    )
    try:
        asked = f"SELECT sum(k) AS s FROM {table} WHERE ts >= '{{}}' AND n < '2024-12-31 00:00:00'"
        for text in ("2018-11-03", "2024-11-03 01:30:00.000001", "2018-11-03 00:00:01"):
            sql = asked.format(text)
            for _ in range(2):
                answer = acc.query(sql)
                assert answer.metrics.cubes == ("times",), answer.metrics.fallback
                assert answer.metrics.engine == "duckdb"
                assert differ(answer.arrow(), wh.spark.sql(sql).toArrow()) == [], text
            assert differ(acc.sql(sql).toArrow(), wh.spark.sql(sql).toArrow()) == [], text
        assert not acc.query(asked.format("2018-11-02 23:59:59")).metrics.cubes
        wh.spark.conf.set(_ZONE, "Australia/Lord_Howe")
        sql = asked.format("2018-11-03")
        answer = acc.query(sql)
        assert differ(answer.arrow(), wh.spark.sql(sql).toArrow()) == []
    finally:
        acc.query("DROP CUBE times")
