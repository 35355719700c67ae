"""Which patterns get a time limit in Spark; and what becomes of a JVM whose tasks nothing stops."""

from __future__ import annotations

import os
import random
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelerator
from accelerator.common.config.config import Config
from accelerator.errors import SparkElsewhereError, StatementTimeoutError
from accelerator.gateway import serving
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.parse import request
from accelerator.gateway.workers.backtracking import _LINEAR, PATTERN_HINT, may_backtrack
from accelerator.gateway.workers.run_statement import Asking, StatementJob, Telling
from tests.gateway.ordinary_clients import asked, path_of, sent, until
from tests.gateway.support import made_warehouse


@pytest.mark.parametrize(
    "where",
    [
        "a LIKE 'x'",
        "a LIKE 'x%'",
        "a LIKE '%x'",
        "a LIKE '%x%'",
        "a LIKE 'x%y%'",
        "a ILIKE '%x%'",
        "a RLIKE 'x'",
        r"a RLIKE '^\\d{3}-[a-z]+$'",
        "regexp_like(a, '(?i)^ab*c')",
        "regexp_extract_all(a, '[0-9]+') = array('1')",
        "regexp_replace(a, '[^a-z]', '') = 'x'",
        "size(split(a, ',')) = 2",
        r"size(split(a, '\\|')) = 2",
        "str_to_map(a, ',', ':') = map()",
        "b = 'a likely regexp'",
        "parse_url(a, 'HOST') = 'x'",
        "parse_url(a, 'QUERY', 'key') = 'x'",
        "try_parse_url(a, 'QUERY', 'key_1') = 'x'",
        "size(builtin.split(a, ',')) = 2",
        "system.builtin.upper(a) = 'LIKE'",
    ],
)
def test_linear_patterns_are_left_alone(where):
    assert not may_backtrack(f"SELECT count(*) FROM t WHERE {where}")


@pytest.mark.parametrize(
    "where",
    [
        "a LIKE '%x%y'",
        "a LIKE '%x%y%'",
        "a LIKE 'x%y%z'",
        "a LIKE b",
        "a LIKE concat('%', 'x')",
        "a LIKE ANY ('x', 'y')",
        "NOT a ILIKE '%a%a%b' ESCAPE '/'",
        "a RLIKE '(a+)+b'",
        "a RLIKE '(a|aa)b'",
        "a RLIKE 'x*y'",
        "a RLIKE '[0-9]+$'",
        "a RLIKE '^a*b*c'",
        "a RLIKE '(?m)^x*y'",
        r"a RLIKE '(a)\\1'",
        "a RLIKE b",
        "a REGEXP 'x*y'",
        "regexp(a, 'x*y')",
        "regexp_extract(a, 'x*y') = ''",
        "regexp_extract_all(a, 'x*y') = array()",
        "regexp_replace(a, 'x*y', '') = ''",
        "regexp_count(a, 'x*y') = 0",
        "regexp_instr(a, 'x*y') = 0",
        "regexp_substr(a, 'x*y') = 0",
        "size(split(a, 'x*y')) = 2",
        "str_to_map(a, 'x*y', ':') = map()",
        "str_to_map(a, ':', 'x*y') = map()",
        "a IN (SELECT b FROM u WHERE b LIKE '%a%a')",
        "a LIKE ((",
        "size(builtin.split(a, '(a+)+$')) = 2",
        "size(builtin.`split`(a, '(a+)+$')) = 2",
        "system.builtin.regexp_replace(a, '(a+)+$', '') = ''",
        "system.builtin.regexp_extract_all(a, '(a+)+$') = array()",
        "builtin.regexp_count(a, '(a+)+$') = 1",
        "builtin.regexp_like(a, '(a+)+$')",
        "builtin.parse_url(a, 'QUERY', '(a+)+$') = ''",
        "parse_url(a, 'QUERY', '(a+)+$') = ''",
        "parse_url(a, 'QUERY', b) = ''",
        "try_parse_url(a, 'QUERY', '(a+)+$') = ''",
        "reflect('java.util.regex.Pattern', 'matches', '(a+)+$', a)",
        "java_method('java.util.regex.Pattern', 'matches', '(a+)+$', a) = 'true'",
        "size(IDENTIFIER('spl' || 'it')(a, '(a+)+$')) = 2",
    ],
)
def test_others_are_limited(where):
    assert may_backtrack(f"SELECT count(*) FROM t WHERE {where}")


SLOW = "city LIKE '%a%a%a%b'"
OURS = (
    "EXPLAIN ANALYZE SELECT count(*) FROM sales WHERE {}",
    "EXPLAIN ANALYZE (FORMAT JSON) SELECT count(*) FROM sales WHERE {}",
    "VERIFY SELECT count(*) FROM sales WHERE {}",
    "EXPLAIN CREATE CUBE c AS SELECT k, count(*) AS n FROM sales WHERE {} GROUP BY k",
)


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    """Asks a session that needs Spark for everything; returns whether the patterns may be slow."""
    with accelerator.open(str(made_warehouse(tmp_path_factory.mktemp("weighed")))) as session:
        session.query(
            f"CREATE CUBE slow AS SELECT k, count(*) AS n FROM shop.sales WHERE {SLOW} GROUP BY k"
        )
        asking = Asking({"version": "1"})
        client = nodes.ClientSession(user="x", catalog="lake", schema="shop")

        def elsewhere(*_given):
            raise SparkElsewhereError("not here")

        def weighed(sql):
            job = StatementJob(
                request(sql, client), client, UserAccess.all(), telling=Telling(True), log_of="x"
            )
            with pytest.MonkeyPatch.context() as patch, pytest.raises(SparkElsewhereError) as found:
                patch.setattr(session, "answered", elsewhere)
                patch.setattr(type(session.queries.explainer), "shown", elsewhere)
                asking.answer(session, job)
            return found.value.may_backtrack

        yield weighed


@pytest.mark.parametrize("sql", OURS)
def test_statements_of_ours_that_run_a_query_are_limited(weighed, sql):
    assert weighed(sql.format(SLOW))
    assert not weighed(sql.format("city LIKE 'a%'"))


def test_builds_and_statements_without_patterns_are_not_limited(weighed):
    for sql in (
        "BUILD CUBE slow",
        "COMPACT CUBE slow",
        "PUBLISH CUBE slow",
        f"CREATE CUBE c AS SELECT k, count(*) AS n FROM sales WHERE {SLOW} GROUP BY k",
        "VACUUM sales",
        "OPTIMIZE sales SORT BY (k)",
        "CREATE INDEX likely ON sales USING BLOOM (k)",
    ):
        assert not weighed(sql)


def test_statements_of_ours_stop_at_the_limit_of_patterns(tmp_path, monkeypatch):
    with accelerator.open(str(made_warehouse(tmp_path))) as session:
        client = nodes.ClientSession(user="x", catalog="lake", schema="shop")
        asked = request(OURS[2].format(SLOW), client)
        job = StatementJob(
            asked, client, UserAccess.all(), timeout_s=0.3, telling=Telling(True), log_of="x"
        )
        job = replace(job, for_patterns=True)
        sales = ", ".join(f"lake.shop.sales {one}" for one in "abcd")
        endless = f"SELECT count(*) FROM {sales} WHERE a.id > b.id"
        original = session.answered
        monkeypatch.setattr(
            session,
            "answered",
            lambda *_given: original(session.queries.read(endless, None), endless, 0.0),
        )
        with pytest.raises(StatementTimeoutError) as found:
            Asking({"version": "1"}).answer(session, job)
    assert found.value.hint == PATTERN_HINT


def _steps(pattern: str, text: str) -> int:
    """Counts the attempts of a search that backtracks: each character that an element is tried on.

    `pattern` consists of letters, dots, quantifiers and anchors.
    """
    found = re.findall(r"[ab.][*+?]?|\^|\$", pattern)
    count = 0

    def matches(at: int, place: int) -> bool:
        nonlocal count
        count += 1
        if at == len(found):
            return True
        element, times = found[at][0], found[at][1:]
        if element == "^":
            return place == 0 and matches(at + 1, place)
        if element == "$":
            return place == len(text) and matches(at + 1, place)
        most = 1 if times in ("", "?") else len(text)
        end = place
        while end < len(text) and end - place < most and element in (text[end], "."):
            count += 1
            end += 1
        least = place + (times in ("", "+"))
        return any(matches(at + 1, stop) for stop in range(end, least - 1, -1))

    any(matches(0, begin) for begin in range(len(text) + 1))
    return count


@given(st.text("ab.*+?^$", max_size=8), st.integers(0, 10_000))
def test_a_pattern_that_passes_takes_linear_steps(pattern, seed):
    if _LINEAR.fullmatch(pattern) is None:
        return
    drawn = random.Random(seed)
    for text in ("a" * 200, "".join(drawn.choices("ab", k=200)), "a" * 199 + "b"):
        assert _steps(pattern, text) <= (len(pattern) + 3) * 3 * (len(text) + 1)


@pytest.mark.slow
@pytest.mark.spark
def test_a_jvm_whose_matcher_goes_on_is_replaced(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    settings = GatewaySettings(
        port=0,
        workers=1,
        maintenance=False,
        cache_bytes=0,
        worker_silence_s=5.0,
        pattern_timeout_s=10.0,
    )
    plain = {"session": "accelerate=false"}
    quick = "SELECT count(*) FROM sales WHERE city LIKE 'x%'"
    slow = "SELECT count(*) FROM sales WHERE rpad(city, 3000, 'a') LIKE '%a%a%a%a%a%a%b'"
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, settings) as running:
        pool = running.gateway.pool
        assert asked(running, quick, **plain) == [0]
        first = pool._spark.result()
        assert os.getpriority(os.PRIO_PROCESS, first.pid) > 0
        message = asked(running, slow, **plain)
        assert "longer than 10 s" in message and "pattern_timeout_s" in message
        until(first.dead.is_set)

        # A client that goes away, once its tasks run.
        assert asked(running, quick, **plain) == [0]
        second = pool._spark.result()
        assert second.pid != first.pid
        for seconds in range(1, 10):
            if not second.gone.is_set():
                found = sent(running, "POST", "/v1/statement", slow, **plain)
                time.sleep(seconds)
                sent(running, "DELETE", path_of(found), **plain)
                time.sleep(settings.worker_silence_s)
        until(second.dead.is_set)
        assert asked(running, "SELECT count(*) FROM sales WHERE k = 3")
