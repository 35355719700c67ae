"""Spark answers the walk over the Trino door's allow-list as a real Trino did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from accelerator.gateway.trino.json.encode import encode
from tests.support.trino_answers import alike
from tests.support.trino_walk import Step, recorded, steps, view

pytestmark = pytest.mark.spark
LIVE = True
_BATCH = 40


@pytest.fixture(scope="module")
def session(spark_warehouse: Any) -> Iterator[Any]:
    found = spark_warehouse.live_session()
    found.sql(view(1)).createOrReplaceTempView("w")
    found.catalog.cacheTable("w")
    yield found
    found.catalog.dropTempView("w")


def _columns(session: Any, texts: Sequence[str]) -> list[list[Any]] | None:
    """What each of the statements answers; None if one of them raises.

    Statements over the same rows are asked as one, whose outputs are theirs.
    """
    outputs, rest = [], ""
    for at, text in enumerate(texts):
        output, _, rest = text.removeprefix("SELECT ").rpartition(" AS r FROM ")
        outputs.append(f"{output} AS r{at}")
    sql = texts[0] if len(texts) == 1 else f"SELECT {', '.join(outputs)} FROM {rest}"
    try:
        rows = orjson.loads(encode(session.sql(sql).toArrow()))
    except (PySparkException, Py4JJavaError):
        return None
    return [[row[at] for row in rows] for at in range(len(texts))]


def _answers(session: Any, batch: Sequence[tuple[Step, str]]) -> Iterator[tuple[Step, Any]]:
    found = _columns(session, [text for _, text in batch])
    if found is not None:
        yield from zip((step for step, _ in batch), found, strict=True)
    elif len(batch) == 1:
        yield batch[0][0], None
    else:
        middle = len(batch) // 2
        yield from _answers(session, batch[:middle])
        yield from _answers(session, batch[middle:])


def _difference(step: Step, ours: list[Any] | None) -> str | None:
    theirs = recorded_answers()[step.key]
    if ours is None:  # what raises hides nothing
        return None
    if "error" in theirs:
        return f"{ours} for the error {theirs['error']}"
    [type_], rows = theirs["types"], theirs["rows"]
    if len(ours) != len(rows):
        return f"{len(ours)} rows for {len(rows)}"
    pairs = [(one, row[0]) for one, row in zip(ours, rows, strict=True)]
    wrong = [pair for pair in pairs if not alike(*pair, type_)]
    return f"{wrong} as {type_}" if wrong else None


_recorded: dict[str, Any] = {}


def recorded_answers() -> dict[str, Any]:
    """Trino's answers, read once."""
    if not _recorded:
        _recorded.update(recorded())
    return _recorded


@pytest.mark.slow
def test_spark_answers_the_same(session: Any) -> None:
    answers = recorded_answers()
    batches: dict[tuple[str, str], list[tuple[Step, str]]] = defaultdict(list)
    for step in steps():
        if step.key in answers:
            text = answers[step.key]["spark"]
            batches[step.zone, text.rpartition(" FROM ")[2]].append((step, text))
    wrong: dict[str, str] = {}
    raised = []
    for (zone, _), some in batches.items():
        session.conf.set("spark.sql.session.timeZone", zone)
        for at in range(0, len(some), _BATCH):
            for step, ours in _answers(session, some[at : at + _BATCH]):
                if ours is None and "error" not in answers[step.key]:
                    raised.append(step.key)
                told = _difference(step, ours)
                if told is not None:
                    wrong[step.key] = told
    shown = "\n".join(f"{key}\n    {told}" for key, told in wrong.items())
    assert not wrong, shown + "\nraised:\n" + "\n".join(raised)
    assert len(raised) <= RAISED, "\n".join(raised)


RAISED = 0
"""Statements that Trino answers and Spark raises for, such as a division by zero."""
