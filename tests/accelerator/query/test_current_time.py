"""Statements that ask for the time are answered in process, at one moment each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.query import translation
from accelerator.session.session import Accelerator
from tests.support.pristine import Pristine

_ZONE = "Europe/Berlin"
_NOW = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
"""Clocks in Berlin show 2:30 now, and again an hour later."""
_DAYS = [_NOW.date() - timedelta(days=day) for day in range(-3, 40)]
_TIMES = [_NOW + timedelta(minutes=20 * step) for step in range(-50, 50)]


class _Clock(datetime):
    """The machine's clock, stopped."""

    at = _NOW

    @classmethod
    def now(cls, tz: object = None) -> datetime:
        return cls.at


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    days = pa.table({"day": pa.array(_DAYS, pa.date32()), "n": range(len(_DAYS))})
    times = pa.table({"ts": pa.array(_TIMES, pa.timestamp("us", "UTC"))})
    clocks = pa.table({"current_date": pa.array(_DAYS[:5], pa.date32()), "n": range(5)})
    for name, rows in {"days": days, "times": times, "clocks": clocks}.items():
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture
def acc(pristine: Pristine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accelerator]:
    monkeypatch.setattr(_Clock, "at", _NOW)
    monkeypatch.setattr(translation, "datetime", _Clock)
    with accelerator.open(pristine.lake(_fill), session_time_zone=_ZONE) as session:
        yield session
        assert not session.spark_started


def _one(acc: Accelerator, sql: str) -> object:
    return acc.query(sql).arrow().column(0)[0].as_py()


def test_days_are_those_of_the_sessions_zone(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    week = "SELECT count(*) AS n FROM lake.d.days WHERE day > current_date() - 7"
    for moment in (_NOW, datetime(2026, 10, 23, 21, 59, tzinfo=UTC), _NOW + timedelta(days=1)):
        monkeypatch.setattr(_Clock, "at", moment)
        today = moment.astimezone(ZoneInfo(_ZONE)).date()
        assert _one(acc, week) == sum(day > today - timedelta(days=7) for day in _DAYS)
        assert _one(acc, week.replace("()", "")) == _one(acc, week)


def test_a_moment_that_clocks_show_twice(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    past = "SELECT count(*) AS n FROM lake.d.times WHERE ts <= now()"
    for moment in (_NOW, _NOW + timedelta(hours=1)):
        monkeypatch.setattr(_Clock, "at", moment)
        assert _one(acc, past) == sum(at <= moment for at in _TIMES)
        with acc.stream(past) as reader:
            assert reader.read_all().column(0)[0].as_py() == _one(acc, past)


def test_a_column_of_that_name_is_meant(acc: Accelerator) -> None:
    own = "SELECT n FROM lake.d.clocks WHERE current_date = DATE '2026-10-28'"
    assert "2026-10-25" not in str(acc.explain(own))
    assert _one(acc, own.replace("current_date", "`current_date`")) == 0
    assert _one(acc, "SELECT n FROM lake.d.clocks WHERE `current_date` = current_date()") == 3


def test_explain_shows_the_moment(acc: Accelerator) -> None:
    sql = "SELECT count(*) AS n FROM lake.d.days WHERE day = current_date()"
    assert "2026-10-25" in str(acc.explain(sql))
    assert _one(acc, sql) == 1
