"""Statements that take longer than they may: stopped in time, with an error, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import CancelledError, ConfigError, StatementTimeoutError
from tests.support.pristine import Pristine

_SLOW = "SELECT count(*) AS n FROM d.t a, d.t b, d.t c WHERE a.k + b.k < c.k * c.k"


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array(range(20_000), pa.int32())})
    catalog.create_table("d.t", rows.schema).append(rows)


@pytest.fixture(scope="module")
def acc(pristine: Pristine) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


def test_a_slow_statement_is_stopped_and_the_next_one_answers(acc: Accelerator) -> None:
    with pytest.raises(StatementTimeoutError, match=r"longer than 0\.5 s") as raised:
        acc.query(_SLOW, timeout_s=0.5)
    assert raised.value.code == "statement_timeout"
    assert not acc.fallbacks
    assert (
        acc.query("SELECT count(*) AS n FROM d.t", timeout_s=60).arrow()["n"][0].as_py() == 20_000
    )
    assert all(thread.name != "Timer" or not thread.is_alive() for thread in threading.enumerate())


def test_a_limit_is_that_of_its_own_thread(acc: Accelerator) -> None:
    stopped: list[BaseException] = []

    def slow() -> None:
        try:
            acc.query(_SLOW)
        except CancelledError as error:
            stopped.append(error)

    thread = threading.Thread(target=slow)
    thread.start()
    with pytest.raises(StatementTimeoutError):
        acc.query(_SLOW, timeout_s=0.2)
    assert thread.is_alive()
    while thread.is_alive():
        acc.cancel()
        thread.join(0.1)
    assert [type(error) for error in stopped] == [CancelledError]


def test_time_that_is_up_before_anything_runs(acc: Accelerator) -> None:
    with (
        pytest.raises(StatementTimeoutError),
        acc.services.cancellation.within(0.01),
    ):
        threading.Event().wait(0.2)
        with acc.services.cancellation.tracked():
            raise AssertionError("nothing begins once time is up")


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_limit_that_is_none(acc: Accelerator, seconds: float) -> None:
    with pytest.raises(ConfigError, match="timeout_s"):
        acc.query("SELECT 1 AS n FROM d.t", timeout_s=seconds)


def test_the_setting_holds_for_each_query(pristine: Pristine) -> None:
    with accelerator.open(pristine.lake(_fill), timeout_s=0.3) as session:
        with pytest.raises(StatementTimeoutError):
            session.query(_SLOW)
        assert session.query("SELECT count(*) AS n FROM d.t", timeout_s=0).arrow().num_rows == 1
