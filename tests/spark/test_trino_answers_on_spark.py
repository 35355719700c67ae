"""Trino's answers, as recorded, are those of Spark to the translations of the same statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from pyspark.errors import PySparkException

from accelerator.gateway.trino.json.encode import encode
from tests.support.trino_answers import CASES, Case, alike, cases, recorded, view

pytestmark = pytest.mark.spark
LIVE = True


@pytest.fixture(scope="module")
def session(spark_warehouse: Any) -> Iterator[Any]:
    found = spark_warehouse.live_session()
    for table in CASES["tables"]:
        found.sql(view(table, 1)).createOrReplaceTempView(table)
    yield found
    for table in CASES["tables"]:
        found.catalog.dropTempView(table)


def _answer(session: Any, case: Case) -> list[list[Any]] | None:
    """The rows as a client gets them; None where Spark raises."""
    session.conf.set("spark.sql.session.timeZone", case.zone)
    try:
        table = session.sql(recorded()[case.key]["spark"]).toArrow()
    except PySparkException:
        return None
    rows: list[list[Any]] = orjson.loads(encode(table))
    return rows


def _told(session: Any, case: Case) -> str | None:
    theirs, ours = recorded()[case.key], _answer(session, case)
    if ours is None or "error" in theirs:
        return None if ours is None and "error" in theirs else f"{ours} for {theirs}"
    if len(ours) != len(theirs["rows"]):
        return f"{len(ours)} rows"
    for mine, row in zip(ours, theirs["rows"], strict=True):
        for one, other, type_ in zip(mine, row, theirs["types"], strict=True):
            if not alike(one, other, type_):
                return f"{one!r} for {other!r} at {row}"
    return None


@pytest.mark.long
def test_spark_answers_the_same(session: Any) -> None:
    wrong = {case.key: told for case in cases() if (told := _told(session, case)) is not None}
    assert not wrong, "\n".join(f"{key}\n    {told}" for key, told in wrong.items())
