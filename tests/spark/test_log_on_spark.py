"""Queries of the query log: in process as by Spark over a view of the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.query.virtual_tables import log_table
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog
from tests.accelerator.store.query_log.log_samples import NOW_US, record
from tests.support.warehouse import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

LOG = "system.runtime.query_log"
IN_PROCESS = (
    f"SELECT * FROM {LOG}",
    f"SELECT id, started, cubes AS c, snapshots, rewritten, elapsed_ms AS ms FROM {LOG} q"
    " WHERE q.started > TIMESTAMP '2025-11-27 14:40:01' AND sql LIKE '%b = %'",
    f"SELECT user, state, count(*) AS n, sum(rows), avg(elapsed_ms) AS a, max(started) FROM {LOG}"
    " GROUP BY user, state HAVING count(*) > 1",
    f"SELECT a.id, b.tables FROM {LOG} a LEFT JOIN {LOG} b ON a.id = b.id AND b.rows > 2",
    f"WITH q AS (SELECT user, count(*) AS n FROM {LOG} GROUP BY user)"
    f" SELECT q.n, l.id FROM q JOIN {LOG} l ON l.user = q.user",
    f"SELECT date_trunc('hour', started) AS h, count(DISTINCT user) AS u FROM {LOG} GROUP BY 1",
    f"SELECT count(*) AS n FROM {LOG} WHERE started > current_timestamp() - INTERVAL 2 HOURS",
)
BY_SPARK = {
    f"SELECT explode(cubes) AS c, count(*) AS n FROM {LOG} GROUP BY 1 ORDER BY n": [("c", 3)],
    f"SELECT size(tables) AS s, user FROM {LOG} WHERE user = 'u1' AND id = 'q1'": [(1, "u1")],
    f"SELECT count(*) AS n FROM {LOG} JOIN range(2) r ON rows = r.id": [(2,)],
    f"SELECT max(id) AS m FROM (SELECT id FROM {LOG} UNION ALL SELECT id FROM {LOG})": [("q7",)],
    # The parser reads these otherwise than they're written.
    f"SELECT max(query_log.id) AS m FROM {LOG} WHERE started < now() - INTERVAL -1 HOUR": [("q7",)],
    f"SELECT min(q.id) AS m FROM {LOG} q WHERE started < now() + INTERVAL '1 day' AND rows > 2": [
        ("q3",)
    ],
}


@pytest.fixture(scope="module")
def logged(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Accelerator]:
    """A session that isn't logged, over a log of eight statements."""
    store = str(tmp_path_factory.mktemp("store"))
    with spark_warehouse.attach(store=store, query_log=False) as session:
        log = QueryLog(session.services.store.files, Limits.of(session.config))
        for number in range(8):
            given = {
                "user": f"u{number % 3}" if number else None,
                "rows": number,
                "cubes": ("c",) if number % 3 == 0 else (),
                "tables": ("lake.d.t",),
                "snapshots": (number,),
                "elapsed_ms": number / 8,
                "started_us": NOW_US + number * 1_000_000,
            }
            log.add(record(number, **given))
        assert log.close()
        yield session


@pytest.mark.parametrize("sql", IN_PROCESS)
def test_duckdb_answers_as_spark_does(logged: Accelerator, sql: str) -> None:
    here = logged.query(sql)
    assert here.metrics.engine == "duckdb", logged.plan(sql)[0].refused()
    there = logged.query(sql.replace("SELECT", "SELECT /*+ PLAIN */", 1))
    if sql.startswith("WITH"):
        there = logged.query(f"SELECT /*+ PLAIN */ * FROM ({sql})")
    assert there.metrics.engine == "spark"
    assert differ(here.arrow(), there.arrow()) == []


@pytest.mark.parametrize("sql", BY_SPARK)
def test_spark_reads_a_view_of_it(logged: Accelerator, sql: str) -> None:
    found = logged.query(sql)
    assert found.metrics.engine == "spark"
    assert found.metrics.fallback is not None
    assert [tuple(one.values()) for one in found.arrow().to_pylist()] == BY_SPARK[sql]
    catalog = logged.spark._jsparkSession.sessionState().catalog()
    assert catalog.listLocalTempViews("acc_*").isEmpty()


def test_a_frame_of_it(logged: Accelerator) -> None:
    assert logged.sql(f"SELECT id FROM {LOG} WHERE rows = 3").collect() == [("q3",)]


def test_spark_is_given_every_column_that_a_setting_may_mean(logged: Accelerator) -> None:
    logged.sql("SET spark.sql.parser.quotedRegexColumnNames = true")
    try:
        found = logged.query(f"SELECT `(rows|dialect|id)` FROM {LOG} WHERE rows = 3")
    finally:
        logged.sql("RESET spark.sql.parser.quotedRegexColumnNames")
    assert found.arrow().to_pylist() == [{"id": "q3", "rows": 3, "dialect": "spark"}]


def test_sparks_answer_tells_that_rows_were_left_out(
    logged: Accelerator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_table, "ROWS_MAX", 4)
    sql = f"SELECT explode(snapshots) AS s FROM {LOG} ORDER BY s"
    found = logged.query(sql)
    assert found.arrow()["s"].to_pylist() == [4, 5, 6, 7]
    assert found.metrics.all_rows is not None
    assert found.metrics.all_rows.startswith("log_cut: ")
    assert logged.sql(sql).count() == 4
    assert "log_cut" in caplog.text
