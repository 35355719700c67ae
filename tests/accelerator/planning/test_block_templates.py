"""Statements of one shape, whose files depend on constants, answer as each does by itself."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.planning.candidates.search import CubeSearch

_FIRST = dt.datetime(2026, 3, 27, tzinfo=dt.UTC)
_HOURS = 24 * 6
_CONSTANTS = {
    "int": ("5", "007", "40", "2147483647", "2147483648", "0"),
    "decimal": ("1.5", "9.5", "22.125", "3", "99999999999.5"),
    "double": ("0.5", "7", "0", "30.25"),
    "text": ("'a3'", "'a11'", "''", "'2026-03-28'", "'Zürich'"),
    "date": ("'2026-03-28'", "'2026-03-30'", "'2026-02-30'", "'x'", "'9999-12-31'"),
    "time": (
        *("'2026-03-29 01:30:00'", "'2026-03-29 02:30:00'", "'2026-03-28'", "'2026-03-30 10:11'"),
        *("'2026-03-29T00:00:00Z'", "'nothing'", "'2026-03-31 00:00:00.000001'"),
    ),
}
_CONDITIONS = (
    "n > {int}",
    "n BETWEEN {int} AND {int}",
    "{int} <= n",
    "n IN ({int}, {int}, 3)",
    "n <=> {int}",
    "c < {decimal}",
    "c = {decimal} OR n = {int}",
    "x >= {double}",
    "x < {double} AND n <> {int}",
    "s = {text}",
    "s >= {text} AND s < 'b'",
    "s <> {text} AND n > {int}",
    "day = {date}",
    "day >= DATE {date}",
    "day BETWEEN DATE{date} AND {date}",
    "at >= TIMESTAMP {time}",
    "at >= TIMESTAMP{time} AND at < {time}",
    "at > {date}",
    "clock BETWEEN TIMESTAMP_NTZ {time} AND TIMESTAMP_NTZ {time}",
    "clock <= {time}",
    "at >= TIMESTAMP {time} - INTERVAL 3 HOURS AND n < {int}",
)
_SELECTS = (
    "SELECT s, count(*) AS k, sum(c) AS t, max(x) AS m FROM d.t WHERE {} GROUP BY s ORDER BY s",
    "SELECT n, day, x FROM d.t WHERE {} ORDER BY n",
    "SELECT n FROM d.t WHERE {} ORDER BY at DESC, n LIMIT 7",
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of six files, a day each, around the night in which Berlin's clocks go forward."""
    folder = tmp_path_factory.mktemp("templates")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=str(folder))
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", _rows(0).schema)
    for day in range(_HOURS // 24):
        table.append(_rows(day))
    catalog.close()
    return folder


def _rows(day: int) -> pa.Table:
    numbers = range(24 * day, 24 * (day + 1))
    times = [_FIRST + dt.timedelta(hours=n) for n in numbers]
    columns = {
        "n": pa.array(numbers, pa.int32()),
        "c": pa.array([Decimal(n) / 4 if n % 7 else None for n in numbers], pa.decimal128(9, 3)),
        "x": pa.array([n / 4 if n % 5 else None for n in numbers], pa.float64()),
        "s": pa.array([f"a{n % 13}" if n % 11 else None for n in numbers]),
        "day": pa.array([one.date() for one in times]),
        "at": pa.array(times, pa.timestamp("us", tz="UTC")),
        "clock": pa.array([one.replace(tzinfo=None) for one in times], pa.timestamp("us")),
    }
    return pa.table(columns)


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def acc(warehouse: Path, request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    zone = {"spark.sql.session.timeZone": request.param}
    with accelerator.open(warehouse, spark_conf=zone) as session:
        yield session


def _said(acc: Accelerator, sql: str) -> tuple[object, ...]:
    """The answer in process with what was read for it, or why it's Spark's."""
    plan = acc.queries.plan(acc.queries.read(sql, "spark"))[0]
    if plan.engine == "spark":
        return ("spark",)
    answer = acc.query(sql)
    metrics = answer.metrics
    return repr(answer.arrow().to_pylist()), metrics.files_read, metrics.files_total


@pytest.mark.parametrize("condition", _CONDITIONS)
def test_a_template_answers_as_the_statement_alone(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    draw = random.Random(condition)
    planned: list[object] = []
    plan_block = CubeSearch.plan_block

    def spied(search: CubeSearch, *args: object) -> object:
        planned.append(args)
        return plan_block(search, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(CubeSearch, "plan_block", spied)
    for select in _SELECTS:
        for _ in range(9):
            given = {kind: draw.choice(texts) for kind, texts in _CONSTANTS.items()}
            sql = select.format(condition.format(**given))
            assert _said(acc, sql) == _said(acc, f"{sql} -- alone"), sql
    assert planned or "INTERVAL" in condition
