"""What a session's state makes of names and texts: USE, temporary views, settings, time zones.

Over the worlds of suites, by real Spark. Every answer is plain Spark's.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from accelerator.session.session import Accelerator
from tests.spark.differential import Differential
from tests.support.statements import Run, opened

pytestmark = pytest.mark.spark

HISTORY = "lake.d.named_history"


@contextmanager
def _live(suite: str, state: str, use: str = "") -> Iterator[tuple[Accelerator, Differential, Run]]:
    """A session of real Spark over a suite's world and store, in that namespace."""
    with opened(suite, state) as run:
        store = run.session.config.store
        with run.warehouse.live(store=store) as acc:
            if use:
                acc.spark.sql(f"USE {use}")
            yield acc, Differential(acc), run


def test_a_name_of_with_hides_the_table() -> None:
    """Were the table meant, there would be another answer."""
    with _live("nested", "made", "lake.d") as (_, both, _run):
        both.check(
            [
                "WITH nest_d AS (SELECT k AS dk, count(*) AS g FROM lake.d.nest_f GROUP BY k)"
                " SELECT max(g) FROM nest_d"
            ],
            rewritten=None,
        )


def test_columns_by_their_tables_path() -> None:
    with _live("names", "made", "lake.d") as (_, both, _run):
        short = ["SELECT lake.d.named.g, sum(d.named.v) FROM named GROUP BY named.g"]
        both.check(short, spark=short)


def test_a_temporary_view_hides_the_table() -> None:
    with _live("wrong_once", "appended", "lake.d") as (acc, both, _):
        query = "SELECT count(*) n FROM once"
        both.check([query])
        acc.spark.sql("CREATE TEMPORARY VIEW once AS SELECT 1 AS k")
        both.changed()
        both.check([query], rewritten=False, spark=[query])
    by_k = "SELECT k, sum(v) AS s FROM lake.d.{} GROUP BY k"
    with _live("tables_beside", "made", "lake.d") as (acc, both, _):
        acc.spark.sql("CREATE TEMPORARY VIEW beside_d AS SELECT 'a' AS dk, 70 AS w")
        join = f"SELECT k, w FROM ({by_k.format('beside_f')}) a JOIN {{}} ON k = dk"
        both.check([join.format("beside_d")], rewritten=None)
        both.check([join.format("d.beside_d")])
        first = acc.spark.sql(
            "SELECT snapshot_id FROM lake.d.beside_d.snapshots ORDER BY committed_at"
        ).first()
        assert first is not None
        both.check([join.format(f"lake.d.beside_d VERSION AS OF {first[0]}")], rewritten=None)
    with _live("partial", "made") as (acc, both, _):
        acc.spark.sql("CREATE TEMPORARY VIEW part_view AS SELECT * FROM lake.d.part_f")
        inner = by_k.format("part_f")
        both.check(
            [
                "WITH part_view AS (SELECT soundex(g) AS x FROM part_view) SELECT t.s, x"
                f" FROM part_view CROSS JOIN ({inner}) t",
                f"SELECT t.*, u.k FROM ({inner}) t, part_view u WHERE u.k = t.s",
            ],
            rewritten=False,
        )


def test_bare_names_of_a_view_are_those_of_where_it_was_made() -> None:
    """Another namespace has a table of the same name."""
    with _live("views", "made", "lake.d") as (acc, both, _):
        sql = acc.spark.sql
        sql("CREATE NAMESPACE IF NOT EXISTS lake.e")
        sql("CREATE TABLE lake.e.seen_f AS SELECT 'other' AS g, 1000 AS v")
        sql("CREATE VIEW lake.e.seen_here AS SELECT g, sum(v) AS s FROM seen_f GROUP BY g")
        acc.sql("USE lake.e")
        both.check(["SELECT g, s FROM seen_here", "SELECT max(s) FROM lake.e.seen_here"])
        sql("CREATE OR REPLACE TEMPORARY VIEW seen_here AS SELECT 'temporary' AS g, 1 AS s")
        both.changed()
        both.check(["SELECT g, s FROM seen_here"], rewritten=False)
        both.check(["SELECT g, s FROM lake.e.seen_here"])


_SETTINGS = {
    "spark.sql.groupByAliases": "SELECT g, count(*) n FROM {t} GROUP BY g",
    "spark.sql.groupByOrdinal": "SELECT count(*) n FROM {t}",
    "spark.sql.orderByOrdinal": "SELECT g, count(*) n FROM {t} GROUP BY g ORDER BY 1",
    "spark.sql.parser.escapedStringLiterals": r"SELECT count(*) n FROM {t} WHERE g = 'g\u0031'",
    "spark.sql.ansi.relationPrecedence": "SELECT count(*) n FROM {t}",
    "spark.sql.ansi.enforceReservedKeywords": "SELECT g, count(*) n FROM {t} GROUP BY g",
    "spark.sql.ansi.doubleQuotedIdentifiers": 'SELECT "g" z, count(*) n FROM {t} GROUP BY 1',
}


def test_settings_that_change_the_text() -> None:
    with _live("wrong_once", "appended") as (acc, _, _run):
        conf = acc.spark.conf
        for setting, text in _SETTINGS.items():
            before = conf.get(setting)
            conf.set(setting, "false" if before == "true" else "true")
            answer = acc.query(text.format(t="lake.d.once"))
            assert not answer.metrics.rewritten, setting
            assert "settings_unsupported" in (answer.metrics.fallback or ""), setting
            conf.set(setting, before)


@pytest.mark.parametrize("call", ["substring(g, 1, 1)", "string(k)"])
def test_a_function_of_the_sessions_own_under_sparks_name(call: str) -> None:
    with _live("wrong_once", "appended") as (acc, both, _):
        query = f"SELECT {call} s, count(*) n FROM lake.d.once GROUP BY {call}"
        both.check([query])
        acc.spark.udf.register(call.partition("(")[0], lambda *_: "mine")
        both.changed()
        both.check([query], rewritten=False, spark=[query])


def test_a_time_of_the_sessions_own() -> None:
    with _live("wrong_once", "appended") as (acc, both, _):
        query = (
            "SELECT g, count(*) n FROM lake.d.once WHERE curdate() > DATE '2020-01-01' GROUP BY g"
        )
        both.check([query])
        acc.spark.udf.register("curdate", lambda: datetime.date(1990, 1, 1), "date")
        both.changed()
        both.check([query], rewritten=False, spark=[query])


def _grouped(expr: str) -> str:
    return f"SELECT {expr} AS x, count(*) AS n, sum(v) AS s FROM lake.d.times GROUP BY {expr}"


def test_times_in_another_time_zone() -> None:
    """What was truncated in UTC is no answer where days begin at other times."""
    queries = [
        *map(_grouped, ("CAST(at AS DATE)", "date_trunc('MONTH', at)", "date_trunc('MONTH', day)")),
        *map(_grouped, ("hour(at)", "trunc(day, 'MM')")),
        "SELECT count(*) FROM lake.d.times WHERE at >= TIMESTAMP '2020-02-01 00:00:00'",
    ]
    with _live("times", "made") as (acc, both, _):
        for zone in ("America/New_York", "Asia/Kolkata"):
            acc.spark.conf.set("spark.sql.session.timeZone", zone)
            both.changed()
            both.check(queries, rewritten=None, where=zone)
        acc.spark.conf.set("spark.sql.session.timeZone", "UTC")
        both.changed()
        both.check(queries)


def test_time_travel_to_a_time() -> None:
    with _live("names", "appended") as (acc, both, _):
        times = acc.services.plain_table(
            "SELECT date_format(made_current_at, \"yyyy-MM-dd'T'HH:mm:ss.SSS\") t, date_format("
            "made_current_at + INTERVAL 5 HOURS 30 MINUTES, 'yyyy-MM-dd HH:mm:ss.SSS') z,"
            f" unix_millis(made_current_at) ms FROM {HISTORY}.history ORDER BY 1"
        ).to_pylist()
        assert len(times) == 3
        at = [f"TIMESTAMP AS OF '{each['t']}'" for each in times]
        at += [f"FOR SYSTEM_TIME AS OF TIMESTAMP'{each['t']}'" for each in times]
        at += [f"FOR TIMESTAMP AS OF '{each['z']}+05:30'" for each in times]
        at += [f"TIMESTAMP AS OF {each['ms'] // 1000 + 1}" for each in times]
        queries = [f"SELECT g, count(*) n FROM {HISTORY} {each} GROUP BY g" for each in at]
        queries += [f"SELECT g, count(*) n FROM {HISTORY} {at[1]} AS x GROUP BY x.g"]
        queries += [f"SELECT count(*) n FROM {HISTORY}.at_timestamp_{times[1]['ms']}"]
        first = acc.services.plain_table(f"SELECT snapshot_id FROM {HISTORY}.snapshots")[0][
            0
        ].as_py()
        queries += [f"SELECT g, count(*) s FROM {HISTORY}.snapshot_id_{first} GROUP BY g"]
        both.check(queries, spark=queries)
        acc.spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
        there = [
            f"SELECT g, count(*) n FROM {HISTORY} TIMESTAMP AS OF '{times[1]['z']}' GROUP BY g"
        ]
        both.check(there, spark=there, where="another time zone")
        acc.spark.conf.set("spark.sql.session.timeZone", "UTC")
        now = f"SELECT count(*) n FROM {HISTORY} TIMESTAMP AS OF current_timestamp()"
        both.check([now], rewritten=False)
        with pytest.raises(Exception, match=r"(?i)snapshot"):
            acc.query(f"SELECT count(*) n FROM {HISTORY} TIMESTAMP AS OF '2001-01-01'").arrow()
