"""SHOW QUERIES, `Accelerator.query_log` and the settings, through a session without a JVM."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

import accelerator
from accelerator.cli.main import main
from accelerator.common.config.config import Config
from accelerator.errors import QueryLogError, StatementError
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog
from tests.accelerator.store.query_log.log_samples import record


@pytest.fixture
def folder(pristine):
    return pristine.lake(lambda catalog: catalog.create_namespace("d"))


@pytest.fixture
def acc(folder):
    with accelerator.open(folder, query_log=False) as session:
        yield session
        assert not session.spark_started


@pytest.fixture
def asked(acc):
    """Three statements: one two days old, one that failed an hour ago, one of now."""
    now_us = time.time_ns() // 1000
    log = QueryLog(open_files(acc.config.store_root), Limits.of(acc.config))
    log.add(record(1, started_us=now_us - 48 * 3_600_000_000))
    log.add(
        record(
            2,
            started_us=now_us - 3_600_000_123,
            state="FAILED",
            error_code="table_unknown",
            error_message="no \x1b[2J table",
            sql="SELECT * FROM x WHERE password = 'hunter2'",
        )
    )
    log.add(record(3, started_us=now_us, user="ann", tables=("lake.d.t",), rows=7, rewritten=True))
    assert log.close()


def rows(acc, sql):
    return acc.query(sql).arrow().to_pylist()


def test_a_store_without_a_log_shows_nothing(acc):
    assert rows(acc, "SHOW QUERIES") == []
    assert acc.query_log().num_rows == 0


def test_the_newest_come_first_within_bounds(acc, asked):
    assert [one["id"] for one in rows(acc, "SHOW QUERIES")] == ["q3", "q2", "q1"]
    assert [one["id"] for one in rows(acc, "SHOW QUERIES SINCE 24 HOURS")] == ["q3", "q2"]
    assert [one["id"] for one in rows(acc, "SHOW QUERIES SINCE 0.5 HOURS")] == ["q3"]
    assert [one["id"] for one in rows(acc, "SHOW QUERIES LIMIT 1")] == ["q3"]
    assert rows(acc, "SHOW QUERIES LIMIT 0") == []


def test_rows_tell_of_the_statement(acc, asked):
    newest, failed, _ = rows(acc, "SHOW QUERIES")
    assert (newest["user"], newest["tables"], newest["rows"]) == ("ann", ["lake.d.t"], 7)
    assert (newest["rewritten"], newest["error"]) == (True, None)
    assert failed["error"] == "table_unknown: no \x1b[2J table"
    assert failed["sql"] == "SELECT * FROM x WHERE password = '***'"
    assert abs(newest["started"] - datetime.now(UTC)) < timedelta(hours=1)


def test_the_table_has_all_columns(acc, asked):
    since = datetime.now(UTC) - timedelta(hours=24)
    assert acc.query_log(since=since)["id"].to_pylist() == ["q3", "q2"]
    assert acc.query_log(until=since)["id"].to_pylist() == ["q1"]
    assert "bytes_given" in acc.query_log(limit=1).column_names
    with pytest.raises(QueryLogError):
        acc.query_log(limit=-1)


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW QUERIES SINCE HOURS",
        "SHOW QUERIES SINCE 2",
        "SHOW QUERIES LIMIT 1.5",
        "SHOW QUERIES LIMIT -1",
        "SHOW QUERIES LIMIT 1 SINCE 2 HOURS",
        "SHOW QUERIES FROM t",
        f"SHOW QUERIES LIMIT {'9' * 5000}",
        f"SHOW QUERIES SINCE {'9' * 400} HOURS",
        "SHOW QUERIES SINCE 999999999 HOURS",
        "SHOW QUERIES LIMIT 100001",
    ],
)
def test_what_is_wrong_is_told(acc, sql):
    with pytest.raises(StatementError) as found:
        acc.query(sql)
    assert found.value.hint


def test_the_command_escapes_what_a_terminal_may_not_have(folder, acc, asked):
    found = CliRunner().invoke(main, ["queries", "--hours", "2", "--warehouse", str(folder)])
    assert found.exit_code == 0
    assert "\x1b" not in found.output
    assert "2 rows" in found.output


def test_limits_are_those_of_the_settings():
    config = Config(query_log_days=2, query_log_bytes_max=1_000_000, query_log_interval_s=0)
    limits = Limits.of(config)
    assert (limits.log_days, limits.log_bytes_max) == (2, 1_000_000)
    assert limits.interval_s > 0  # a thread that never waits would take a core
