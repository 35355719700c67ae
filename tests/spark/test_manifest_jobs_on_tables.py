"""Answers over manifests that Spark jobs decoded, against plain Spark.

Strategy: as in `test_manifest_answers`, but with nothing kept, so that every plan needs a job. Most
jobs run in this process, over pickled values; some run in Spark's workers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelerator.errors import CancelledError
from accelerator.iceberg.manifests.job import JobRule, ManifestJobs
from accelerator.session.session import Accelerator
from tests.accelerator.iceberg.jobs import LocalJobs
from tests.spark.asked import COLUMNS, Asked, append

pytestmark = pytest.mark.spark
LIVE = True


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    store = str(tmp_path / "store")
    acc = spark_warehouse.attach(store=store, manifest_jobs="always")
    yield acc
    acc.close()


def _ordered(asked: Asked, number: int) -> None:
    for _ in range(number):
        where = asked.statement().partition(" WHERE ")[2].partition(" GROUP BY ")[0]
        sql = f"SELECT a, s FROM {asked.table}" + (f" WHERE {where}" if where else "")
        asked.ask(f"{sql} ORDER BY a, s LIMIT {asked.random.choice([1, 7, 500])}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "clauses"),
    [
        pytest.param(2, "PARTITIONED BY (o, s)", marks=pytest.mark.slow),
        pytest.param(2, "PARTITIONED BY (months(d), bucket(4, a))", marks=pytest.mark.slow),
        (3, "PARTITIONED BY (c, truncate(1, s))"),
    ],
)
def test_statements_through_changes(spark_warehouse, acc, version: int, clauses: str) -> None:
    wh, jobs = spark_warehouse, LocalJobs()
    acc.services.lake.use_jobs(ManifestJobs(JobRule("always"), jobs))
    name = wh.table(COLUMNS, version=version, clauses=clauses)
    asked = Asked(wh, acc, f"lake.d.{name}", version * 10 + len(clauses))
    asked.some(1)
    for first in (0, 40, 200):
        append(asked, first, nulls=first // 100)
    asked.some(8)
    _ordered(asked, 4)
    changes = [
        f"DELETE FROM {asked.table} WHERE a BETWEEN 200 AND 202",
        f"ALTER TABLE {asked.table} ADD COLUMN z INT",
        f"UPDATE {asked.table} SET b = NULL WHERE a = 50",
        f"ALTER TABLE {asked.table} ADD PARTITION FIELD a",
        f"INSERT INTO {asked.table} SELECT * FROM {asked.table} WHERE a < 10",
    ]
    for change in changes:
        wh.sql(change)
        asked.some(4)
        _ordered(asked, 2)
        asked.ask(f"SELECT count(*) AS n FROM {asked.table}")
    assert asked.answered >= asked.asked / 4
    assert len(jobs.ran) > asked.asked / 5
    assert acc.fallbacks == {}


def test_sparks_workers_decode(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    name = wh.table(COLUMNS, clauses="PARTITIONED BY (d)")
    asked = Asked(wh, acc, f"lake.d.{name}", 7)
    for first in (0, 40, 200):
        append(asked, first)
    sql = f"SELECT count(*) AS n, max(a) AS hi FROM {asked.table} WHERE a >= 60"
    metrics = asked.ask(sql)
    assert (metrics.manifests_by_spark, metrics.manifests_here) == (3, 0)
    assert metrics.manifests_why == "manifest_jobs is `always`"
    assert metrics.files_total == 12
    text = acc.explain(sql)
    assert "manifests  3 of " in text
    assert "decoded by a Spark job of" in text
    (tried,) = json.loads(acc.explain(sql, format="json"))["considered"]
    assert tried["decoding"]["by"] == "spark"
    assert tried["decoding"]["left"] < tried["decoding"]["entries"] == 12
    again = asked.ask(sql)  # its plan is known
    assert (again.manifests_by_spark, again.manifests_why) == (0, None)
    asked.ask(f"SELECT a, b FROM {asked.table} WHERE a < 100 ORDER BY a DESC LIMIT 4")
    assert acc.fallbacks == {}


def test_a_failed_job_is_counted_and_made_up_for(
    spark_warehouse, acc, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS)}", 7)
    append(asked, 0)
    append(asked, 100)
    engine = acc.services.engine
    run = type(engine).run_tasks

    def broken(self: Any, task: Any, items: Any, tag: str) -> Any:
        return run(self, _fails, items, tag)

    monkeypatch.setattr(type(engine), "run_tasks", broken)
    sql = f"SELECT count(*) AS n FROM {asked.table} WHERE a >= 100"
    metrics = asked.ask(sql)
    assert metrics.rewritten
    assert (metrics.manifests_by_spark, metrics.manifests_here) == (0, 2)
    assert "a worker is broken" in str(metrics.manifests_why)
    assert acc.fallbacks == {"manifest_job_failed": 1}
    assert "since the Spark job failed" in acc.explain(sql)


def _fails(_: Any) -> Any:
    raise ValueError("[X] a worker is broken")


def test_a_job_that_is_cancelled_cancels_its_statement(
    spark_warehouse, acc, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS)}", 7)
    append(asked, 0)

    def cancelled(*_: Any) -> Any:
        raise CancelledError("the statement was cancelled")

    monkeypatch.setattr(type(acc.services.engine), "run_tasks", cancelled)
    with pytest.raises(CancelledError):
        acc.query(f"SELECT count(*) AS n FROM {asked.table}")
    assert acc.fallbacks == {}


def test_a_session_that_was_stopped_decodes_here(
    spark_warehouse, acc, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = spark_warehouse
    asked = Asked(wh, acc, f"lake.d.{wh.table(COLUMNS)}", 7)
    append(asked, 0)
    append(asked, 100)
    acc.query(f"SELECT count(*) AS n FROM {asked.table}")
    monkeypatch.setattr(wh.spark.sparkContext, "_jsc", None)
    answer = acc.query(f"SELECT count(*) AS n FROM {asked.table} WHERE a >= 100")
    monkeypatch.undo()
    assert answer.arrow().to_pylist() == [{"n": 40}]
    assert "was stopped" in str(answer.metrics.manifests_why)
    assert acc.fallbacks == {"manifest_job_failed": 1}
