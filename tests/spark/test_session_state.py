"""The session's state is asked while a statement runs, and a change is never overlooked."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import ParseException

import accelerator
from accelerator.engines.session_settings import HARMLESS, JUDGED_APART, is_judged
from accelerator.engines.spark.jvm.classes import Jvm
from accelerator.engines.spark.jvm.errors import Java
from accelerator.engines.spark.jvm.pipelined_calls import PipelinedCalls
from accelerator.planning.plans import PlainPlan
from accelerator.session.session import Accelerator
from rewrite.parse.parse import parse
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

_ANSI = "spark.sql.ansi.enabled"


@pytest.fixture(scope="module")
def query(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[str]:
    """A statement over a table with a cube."""
    name = spark_warehouse.table("k INT, v BIGINT")
    spark_warehouse.sql(f"INSERT INTO lake.d.{name} SELECT id % 5, id FROM range(100)")
    acc.query(f"CREATE CUBE state_{name} AS SELECT k, sum(v) s FROM lake.d.{name} GROUP BY k")
    yield f"SELECT k, sum(v) s FROM lake.d.{name} GROUP BY k ORDER BY k"
    acc.query(f"DROP CUBE state_{name} FORCE")


def test_attach_says_what_it_found(
    spark_warehouse: SparkWarehouse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = spark_warehouse.spark.newSession()
    store = str(tmp_path / "store")
    with caplog.at_level(logging.INFO, "accelerator"):
        accelerator.attach(session, store=store).close()
    (told,) = caplog.messages
    assert "catalogs lake; " in told
    assert f"store {store}; ANSI on; " in told
    caplog.clear()
    session.conf.set(_ANSI, "false")
    accelerator.attach(session, store=store).close()
    (warned,) = [one.message for one in caplog.records if one.levelname == "WARNING"]
    assert warned.startswith("nothing is accelerated while this Spark session is as it is: ")
    assert "spark.sql.ansi.enabled is off" in warned


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.legacy.setopsPrecedence.enabled", "true"),
        ("spark.sql.legacy.parser.havingWithoutGroupByAsWhere", "true"),
        ("spark.sql.legacy.literal.pickMinimumPrecision", "false"),
        ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "true"),
        ("spark.sql.stableDerivedColumnAlias.enabled", "true"),
        ("spark.sql.crossJoin.enabled", "false"),
        ("spark.sql.decimalOperations.allowPrecisionLoss", "false"),
        ("spark.sql.nobodyKnows", "1"),
    ],
)
def test_a_setting_that_may_change_the_meaning_leaves_it_to_spark(
    live_acc: Accelerator, query: str, name: str, value: str
) -> None:
    conf = live_acc.spark.conf
    assert live_acc.query(query).metrics.rewritten
    usual = conf.get(name, None)
    conf.set(name, value)
    assert (live_acc.query(query).metrics.fallback or "").startswith("settings_unsupported")
    if usual is not None:
        conf.set(name, usual)  # as it is by default, said aloud
        assert live_acc.query(query).metrics.rewritten
    conf.unset(name)
    conf.set("spark.sql.shuffle.partitions", "3")
    assert live_acc.query(query).metrics.rewritten


def test_harmless_settings_are_ones_that_spark_has(live_acc: Accelerator) -> None:
    """A name that is misspelt, or that Spark has no more, would let another pass."""
    internal = live_acc.spark._jvm.org.apache.spark.sql.internal
    entries = getattr(getattr(internal, "SQLConf$"), "MODULE$").getConfigEntries().toArray()
    known = {str(entry.key()) for entry in entries}
    known |= {"spark.sql.catalog.lake", "spark.sql.iceberg.vectorization.enabled"}
    unmatched = [one for one in HARMLESS if not any(name.startswith(one) for name in known)]
    assert unmatched == []
    judged = [name for name in known if is_judged(name)]
    assert 100 < len(judged) < len(known)
    assert {name for name in known if name.startswith("spark.sql.legacy.")} <= {
        *judged,
        *JUDGED_APART,
    }


def test_a_call_between_a_question_and_its_answer_disturbs_neither(
    spark_warehouse: SparkWarehouse,
) -> None:
    gateway = spark_warehouse.spark.sparkContext._gateway
    line, list_ = PipelinedCalls(gateway), gateway.jvm.java.util.ArrayList()
    for size in range(5):
        answer = line.ask(list_, "size")
        list_.add("more")  # by py4j's own connection of this thread
        assert answer() in (size, size + 1)
    line.close()
    assert line.ask(list_, "size")() == 5


def test_a_question_whose_answer_nobody_fetched_gives_its_line_up(
    spark_warehouse: SparkWarehouse,
) -> None:
    gateway = spark_warehouse.spark.sparkContext._gateway
    line, list_ = PipelinedCalls(gateway), gateway.jvm.java.util.ArrayList()
    line.ask(list_, "isEmpty")
    assert line.ask(list_, "size")() == 0


def test_what_java_throws_comes_out(spark_warehouse: SparkWarehouse) -> None:
    gateway = spark_warehouse.spark.sparkContext._gateway
    empty = gateway.jvm.java.util.ArrayDeque()
    line = PipelinedCalls(gateway)
    with pytest.raises(Exception, match="NoSuchElement"):
        line.ask(empty, "removeFirst")()
    assert line.ask(empty, "size")() == 0


def test_a_change_between_two_statements_is_seen(acc: Accelerator, query: str) -> None:
    for _ in range(3):
        assert acc.query(query).metrics.rewritten
        acc.spark.conf.set(_ANSI, "false")
        try:
            refused = acc.query(query).metrics
        finally:
            acc.spark.conf.unset(_ANSI)
        assert not refused.rewritten and "settings_unsupported" in (refused.fallback or "")
    assert acc.query(query).metrics.rewritten


def test_other_threads_see_it_too(acc: Accelerator, query: str) -> None:
    found: list[bool] = []

    def work() -> None:
        found.extend(acc.query(query).metrics.rewritten for _ in range(10))

    def all_threads() -> list[bool]:
        found.clear()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    assert all_threads() == [True] * 40
    acc.spark.conf.set(_ANSI, "false")
    try:
        assert all_threads() == [False] * 40
    finally:
        acc.spark.conf.unset(_ANSI)
    assert all_threads() == [True] * 40


def test_a_broken_line_costs_no_answer(
    acc: Accelerator, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = acc.query(query).fetchall()
    before = dict(acc.fallbacks)
    made: list[PipelinedCalls] = []
    real = Jvm.line

    def line(self: Jvm, first: Java) -> PipelinedCalls:
        made.append(real(self, first))
        return made[-1]

    monkeypatch.setattr(Jvm, "line", line)
    answers = []

    def work() -> None:
        for _ in range(4):
            answers.append(acc.query(query).fetchall())
            connection = made[-1]._connection
            if connection is not None:
                connection.socket.shutdown(2)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made and answers == [wanted] * 4
    assert acc.query(query).fetchall() == wanted
    assert acc.fallbacks == before


def test_a_line_is_made_anew_under_the_session(acc: Accelerator, query: str) -> None:
    """A new thread of the JVM has no active session, and another catalog then counts as current."""
    acc.query(query)
    state = acc.services.context._state()
    assert state is not None
    ask = state.watch()
    for _ in range(3):
        assert ask()()
        state._lines.line.close()


def test_sparks_own_parser_is_asked_once_for_each_shape(
    live_acc: Accelerator, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where everything of ours would let a statement pass."""
    planner, context, asked = live_acc.services.planner, live_acc.services.context, list[str]()
    real = context.parses

    def parses(sql: str) -> bool:
        asked.append(sql)
        return real(sql)

    monkeypatch.setattr(context, "parses", parses)
    table = query.split(" FROM ")[1].split(maxsplit=1)[0]
    shown = f"SELECT k, sum(v) AS s FROM {table} WHERE k > %d GROUP BY k"
    for number in (1, 2, 3, 2):
        assert live_acc.query(shown % number).metrics.rewritten
    assert asked == [shown % 1]
    refused, taken = f"SELECT k, sum(v) FROM {table} GROUP BY k LIMIT 2 BY k", shown % 7
    monkeypatch.setattr(planner, "_parse", lambda _: parse(taken))
    for _ in range(2):
        plan, _ = live_acc.plan(refused)
        assert isinstance(plan, PlainPlan) and plan.declined.code == "parse_failed"
    assert asked[1:] == [refused]
    with pytest.raises(ParseException):
        live_acc.query(refused)
