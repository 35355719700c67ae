"""SELECTs of the query log in process: what they answer, which files they read, whose rows."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import accelerator
from accelerator.errors import StatementError, UnknownColumnError
from accelerator.planning.plans.virtual import VirtualTable
from accelerator.query.early_errors.check import check
from accelerator.query.early_errors.lake_tables import LakeTables
from accelerator.query.virtual_tables import log_table
from accelerator.query.virtual_tables.log_table import TYPES, is_named
from accelerator.query.virtual_tables.log_times import span_of, with_now
from accelerator.query.virtual_tables.spark_views import log_viewed
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.record import COLUMNS, arrow_type
from accelerator.store.journals.query_log.time_span import ALL, Span
from accelerator.store.journals.query_log.visibility import shown_to
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog
from rewrite.client import ClientContext
from rewrite.parse.parse import parse
from tests.accelerator.store.query_log.log_samples import DAY_US, record

LOG = "system.runtime.query_log"


def _us(text):
    return int(datetime.fromisoformat(text).timestamp() * 1_000_000)


@pytest.fixture(scope="module")
def acc(pristine):
    """Statements of three days, a file each; two of ann's by the gateway, one that says so."""
    root = pristine.lake(lambda catalog: catalog.create_namespace("d"))
    now_us = time.time_ns() // 1000
    with accelerator.open(root, query_log=False) as session:
        files = open_files(session.config.store_root)
        for number, days in enumerate((3, 1, 0)):
            log = QueryLog(
                files, Limits.of(session.config), now_us=lambda d=days: now_us - d * DAY_US
            )
            began = now_us - days * DAY_US
            log.add(record(3 * number, started_us=began - 2, user="ann", rows=number, cubes=("c",)))
            log.add(record(3 * number + 1, started_us=began - 1, user="bob", bytes_read=10))
            log.add(record(3 * number + 2, started_us=began, user="ann", process="session"))
            assert log.close()
        yield session
        assert not session.spark_started


def rows(acc, sql):
    return acc.query(sql).arrow().to_pylist()


def test_rows_and_groups(acc):
    assert rows(acc, f"SELECT id, rows FROM {LOG} WHERE rows >= 1 ORDER BY id LIMIT 5") == [
        {"id": "q3", "rows": 1},
        {"id": "q6", "rows": 2},
    ]
    found = acc.query(
        f"SELECT user, count(*) AS n, sum(bytes_read) AS b FROM {LOG} q GROUP BY user ORDER BY user"
    )
    assert found.arrow().to_pylist() == [
        {"user": "ann", "n": 6, "b": None},
        {"user": "bob", "n": 3, "b": 30},
    ]
    assert (found.metrics.engine, found.metrics.rewritten) == ("duckdb", False)
    assert (found.metrics.fallback, found.metrics.files_read) == (None, 3)


def test_all_columns_in_their_types(acc):
    found = acc.query(f"SELECT * FROM {LOG}").arrow()
    assert found.num_rows == 9
    assert found.schema == pa.schema([(one.name, arrow_type(one.kind)) for one in COLUMNS])
    whole = {one["id"]: one for one in acc.query_log().to_pylist()}
    assert {one["id"]: one for one in found.to_pylist()} == whole


def test_joins_of_it_with_itself_and_selects_over_selects(acc):
    assert rows(
        acc,
        f"WITH ann AS (SELECT * FROM {LOG} WHERE user = 'ann'), n AS (SELECT user, count(*) AS n"
        f" FROM {LOG} GROUP BY user) SELECT ann.id, n.n, ann.cubes FROM ann JOIN n"
        " ON ann.user = n.user WHERE ann.process = 'gateway' ORDER BY ann.id",
    ) == [{"id": one, "n": 6, "cubes": ["c"]} for one in ("q0", "q3", "q6")]
    sql = (
        f"SELECT a.id FROM {LOG} a LEFT ANTI JOIN {LOG} b ON a.user = b.user AND b.id = 'q0'"
        " WHERE started > now() - INTERVAL 1 HOUR ORDER BY a.id"
    )
    plan, _ = acc.plan(sql)
    assert plan.refused() is not None or rows(acc, sql) == [{"id": "q7"}]
    found = acc.query(
        f"SELECT a.id, b.cubes AS c FROM {LOG} a LEFT JOIN {LOG} b ON a.id = b.id"
        " AND b.user = 'ann' WHERE a.id IN ('q0', 'q1')"
    )
    by_id = {one["id"]: one["c"] for one in found.arrow().to_pylist()}
    assert by_id == {"q0": ["c"], "q1": None}
    assert found.metrics.files_read == 3  # once, though it's named twice


@pytest.mark.parametrize(
    ("where", "ids", "files"),
    [
        ("started >= now() - INTERVAL 1 HOUR", "q6 q7 q8", 1),
        ("q.started > current_timestamp() - INTERVAL '36' HOURS AND user = 'bob'", "q4 q7", 2),
        ("started BETWEEN now() - INTERVAL 2 DAYS AND now() - INTERVAL 1 MINUTE", "q3 q4 q5", 1),
        ("started < now() - INTERVAL 2 DAYS", "q0 q1 q2", 1),
        ("started < TIMESTAMP '2020-01-01 00:00:00'", "", 0),
        ("DATE '2020-01-01' <= started AND started < '2021-01-01'", "", 0),
        ("started < now() - INTERVAL 2 DAYS OR user = 'bob'", "q0 q1 q2 q4 q7", 3),
    ],
)
def test_files_of_other_times_are_not_read(acc, where, ids, files):
    found = acc.query(f"SELECT id FROM {LOG} q WHERE {where} ORDER BY id")
    assert [one["id"] for one in found.arrow().to_pylist()] == ids.split()
    assert found.metrics.files_read == files
    assert found.metrics.fallback is None


def test_more_than_the_most_is_told(acc, monkeypatch):
    monkeypatch.setattr(log_table, "ROWS_MAX", 4)
    found = acc.query(f"SELECT id FROM {LOG} ORDER BY id")
    assert [one["id"] for one in found.arrow().to_pylist()] == ["q5", "q6", "q7", "q8"]
    assert found.metrics.all_rows.startswith("log_cut: ")
    whole = acc.query(f"SELECT id FROM {LOG} WHERE started > now() - INTERVAL 1 HOUR")
    assert (whole.num_rows, whole.metrics.all_rows) == (3, None)


def test_who_may_see_their_own_sees_nobody_elses(acc):
    """What embedded sessions say of their user is no proof: it's in nobody's rows."""
    with shown_to("ann"):
        assert [one["id"] for one in rows(acc, f"SELECT id FROM {LOG} ORDER BY id")] == [
            *("q0", "q3", "q6"),
        ]
        assert rows(acc, f"SELECT count(*) AS n FROM {LOG} WHERE user = 'bob'") == [{"n": 0}]
        assert [one["id"] for one in rows(acc, "SHOW QUERIES")] == ["q6", "q3", "q0"]
        assert "own statements" in str(acc.explain(f"SELECT id FROM {LOG}"))
    with shown_to("a" * 300):
        assert rows(acc, f"SELECT id FROM {LOG}") == []
    assert acc.query_log().num_rows == 9


def test_explanations_say_what_is_read(acc):
    told = acc.explain(f"SELECT count(*) FROM {LOG} WHERE started >= '2026-01-01 00:00:00'")
    assert "the query log" in told and "DuckDB in process" in told
    assert "columns started, from 2026-01-01 00:00:00+00:00" in told


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (f"SELECT mode(elapsed_ms) FROM {LOG}", "expression_unsupported"),
        (f"SELECT explode(cubes) AS c FROM {LOG}", "expression_unsupported"),
        (f"SELECT id FROM {LOG} WHERE cubes IS NULL", "expression_unsupported"),
        (f"SELECT cubes, count(*) FROM {LOG} GROUP BY cubes", "expression_unsupported"),
        (f"SELECT id, cubes FROM {LOG} ORDER BY cubes LIMIT 1", "expression_unsupported"),
        (f"SELECT DISTINCT tables FROM {LOG}", "expression_unsupported"),
        (f"SELECT id FROM {LOG} VERSION AS OF 1", "table_unknown"),
        (f"SELECT id FROM {LOG} UNION ALL SELECT id FROM {LOG}", "block_unsupported"),
        (f"SELECT q.id FROM {LOG} q JOIN d.t ON q.id = t.id", "table_unknown"),
        (f"SELECT q.n FROM (SELECT count(*) AS n FROM {LOG}) q, d.t", "log_alone"),
        (f"SELECT nothing FROM {LOG}", "column_unknown"),
    ],
)
def test_what_is_left_to_spark_has_a_reason(acc, sql, code):
    plan, _ = acc.plan(sql)
    assert plan.refused().code == code


def test_names_that_are_not_the_logs():
    assert is_named(f"SELECT 1 FROM {LOG}", ["lake"])
    assert is_named("SELECT 1 FROM `system`.RUNTIME.`Query_Log` VERSION AS OF 1", ["lake"])
    for own in ("system", "System"):
        assert not is_named(f"SELECT 1 FROM {own}.runtime.query_log", ["lake", own])
    for other in (
        "SELECT query_log, system FROM d.t",
        "SELECT 'system.runtime.query_log'",
        "SELECT 1 FROM runtime.query_log -- system",
        "SELECT 1 FROM lake.system.runtime.query_log",
        "SELECT 1 FROM `system.runtime.query_log`",
        "SELECT 1 WHERE system.runtime.query_log > now() - INTERVAL -1 HOUR",
    ):
        assert not is_named(other, ["lake"]), other


def _span(where, zone="UTC", now="2026-03-29 12:00:00+00:00", source=f"{LOG} q"):
    tree = parse(f"SELECT 1 FROM {source} WHERE {where}")
    tree = with_now(tree, datetime.fromisoformat(now), zone)
    table = next(one for one in tree.find_all(exp.Table) if one.name == "query_log")
    return span_of(table, "started", zone)


def test_spans_of_predicates():
    noon = _us("2026-03-29 12:00:00+00:00")
    hour = 3_600_000_000
    assert _span("started >= now() - INTERVAL 90 MINUTES") == Span(since_us=noon - 3 * hour // 2)
    assert _span("now() <= q.started") == Span(since_us=noon)
    assert _span("(q.started <= now()) AND rows > 1") == Span(until_us=noon + 1)
    assert _span("started = '2026-03-29 12:00:00'") == Span(noon, noon + 1)
    assert _span("started > '2026-03-29 14:00:00'", "Europe/Berlin") == Span(since_us=noon)
    # The clock went forward that night: a day before was 25 hours of it, which is left to Spark.
    assert _span("started > now() - INTERVAL 1 DAY", "Europe/Berlin") == ALL
    assert _span("started > now() - INTERVAL 1 HOUR", "Europe/Berlin") == Span(since_us=noon - hour)
    assert _span("started > now() + (INTERVAL '-3600' SECOND)") == Span(since_us=noon - hour)
    trinos = "TIMESTAMP_MICROS(UNIX_MICROS(now()) + -CAST(3600000000 AS BIGINT))"
    assert _span(f"started > {trinos}", "Europe/Berlin") == Span(since_us=noon - hour)
    for other in (
        "started >= rows",
        "NOT started < now()",
        "started > now() OR true",
        "started <> now()",
        "x.started > now()",
        "coalesce(started, now()) > now()",
        "started > CAST(q.sql AS TIMESTAMP)",
        "started > now() - INTERVAL '1:30' HOUR TO MINUTE",
        "started > 'yesterday'",
    ):
        assert _span(other) == ALL, other
    for source in (
        f"(SELECT now() AS started, 1 AS k) x LEFT ANTI JOIN {LOG} q ON x.k = q.rows",
        f"(SELECT now() AS started, 1 AS k) x LEFT SEMI JOIN {LOG} q ON x.k = q.rows",
        f"{LOG} TABLESAMPLE (1 PERCENT) q",
    ):
        assert _span("started > now()", source=source) == ALL, source
    for kind in ("LEFT", "RIGHT", "FULL", "INNER", "CROSS"):
        joined = f"(SELECT 1 AS k) x {kind} JOIN {LOG} q" + (" ON true" if kind != "CROSS" else "")
        assert _span("started > now()", source=joined) == Span(since_us=noon), kind


@given(
    st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)),
    st.integers(0, 200_000),
    st.sampled_from(["SECOND", "MINUTES", "HOUR", "days"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "+05:30", "Nowhere/At_All"]),
)
def test_folded_times_are_what_a_clock_says(now, number, unit, zone):
    """Where it's folded at all, it's the elapsed time, by an offset that hasn't changed between."""
    now = now.replace(tzinfo=UTC)
    found = _span(f"started >= now() - INTERVAL {number} {unit}", zone, now.isoformat(" "))
    seconds = {"SECOND": 1, "MINUTES": 60, "HOUR": 3600, "days": 86400}[unit] * number
    wanted = now - timedelta(seconds=seconds)
    assert found in (ALL, Span(since_us=max(0, _us(wanted.isoformat(" ")))))
    if zone == "UTC" and wanted.year >= 1970:
        assert found != ALL or wanted == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_trinos_times_bound_the_files_too(acc, zone):
    """As the gateway's worker has them: constants of the statement, in the client's zone."""
    where = {"catalog": "system", "schema": "runtime", "time_zone": zone}
    client = ClientContext(**where, user="ann", now=datetime.now(UTC))
    sql = (
        "SELECT id FROM query_log WHERE started > current_timestamp - interval '36' hour"
        " AND started <= date_add('minute', 1, now()) ORDER BY id"
    )
    text = acc.queries.read(sql, "trino", client).bare
    found = acc.query(text)
    assert [one["id"] for one in found.arrow().to_pylist()] == ["q3", "q4", "q5", "q6", "q7", "q8"]
    assert (found.metrics.files_read, found.metrics.fallback) == (2, None)


def test_rows_may_be_computed_with(acc):
    sql = f"SELECT elapsed_ms / 1000 AS s, bytes_read / 1024 / 1024 AS m FROM {LOG} WHERE id = 'q1'"
    found = acc.query(sql)
    assert found.arrow().to_pylist() == [{"s": None, "m": 10 / 1024 / 1024}]
    assert found.metrics.fallback is None
    assert acc.plan(sql.replace("/ 1000", "/ 0"))[0].refused().code == "may_raise"


def test_an_unknown_column_is_told_at_once(acc):
    tables = LakeTables(acc.services.lake, acc.config.catalog_name)
    check(acc.queries.read(f"SELECT elapsed_ms FROM {LOG}", "spark"), tables)
    with pytest.raises(UnknownColumnError) as raised:
        check(acc.queries.read(f"SELECT elapsd_ms FROM {LOG}", "spark"), tables)
    assert "elapsed_ms" in raised.value.suggestions


def test_every_column_has_a_type():
    assert list(TYPES) == [one.name for one in COLUMNS]


ZONE = {"time_zone": "UTC"}


def _viewed(sql, settings=ZONE):
    log = VirtualTable("the query log", TYPES, lambda _columns, _span: pytest.fail("rows are read"))
    return log_viewed(sql, "v", log, settings)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            f"SELECT query_log.id FROM {LOG} WHERE started > now() - INTERVAL -1 HOUR",
            "SELECT query_log.id FROM v AS `query_log` WHERE started > now() - INTERVAL -1 HOUR",
        ),
        (
            f"SELECT a.id FROM {LOG} a, `system`.RUNTIME.`query_log` AS b"
            " WHERE a.started < now() + INTERVAL '1 day' AND true",
            "SELECT a.id FROM v a, v AS b WHERE a.started < now() + INTERVAL '1 day' AND true",
        ),
        (f"TABLE {LOG}", "TABLE v"),
    ],
)
def test_what_only_spark_can_parse_knows_the_log_too(sql, text):
    """Nothing is known of such a text but where the name stands: all is read."""
    assert is_named(sql, ["lake"])
    read, viewed = _viewed(sql)
    assert (viewed, read.columns, read.span) == (text, tuple(TYPES), ALL)


def test_sparks_way_reads_the_columns_and_times_that_are_named():
    sql = f"SELECT explode(cubes) AS c FROM {LOG} WHERE started < '1970-01-01 00:00:01'"
    read, text = _viewed(sql)
    assert set(read.columns) == {"id", "user", "catalog", "schema", "cubes", "started"}
    assert read.span == Span(until_us=1_000_000)
    assert text == sql.replace(LOG, "v AS `query_log`")


@pytest.mark.parametrize(
    "setting",
    [{"unusual": "spark.sql.parser.quotedRegexColumnNames"}, {"ansi": "false"}, {"extended": "x"}],
)
def test_where_words_mean_something_else_nothing_is_left_out(setting):
    """`(sql|state)` may be two columns, "state" no text, and a time one of another zone."""
    read, _ = _viewed(f"SELECT `(sql|state)` FROM {LOG} WHERE started > now()", ZONE | setting)
    assert (read.columns, read.span) == (tuple(TYPES), ALL)


@pytest.mark.parametrize("state", ["VERSION AS OF 1", "TIMESTAMP AS OF '2026-01-01'"])
def test_the_log_has_no_earlier_states(state):
    with pytest.raises(StatementError, match="no earlier states"):
        _viewed(f"SELECT id FROM {LOG} {state}")
