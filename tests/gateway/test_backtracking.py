"""Which patterns get a time limit in Spark; and what becomes of a JVM whose tasks nothing stops."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.config import Config
from accelerator.gateway import serving
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.workers.backtracking import _LINEAR, may_backtrack
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
    ],
)
def test_others_are_limited(where):
    assert may_backtrack(f"SELECT count(*) FROM t WHERE {where}")


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


@pytest.mark.long
@pytest.mark.spark
def test_a_jvm_whose_matcher_goes_on_is_replaced(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    settings = GatewaySettings(
        port=0,
        workers=1,
        maintenance=False,
        cache_bytes=0,
        worker_silence_s=2.0,
        pattern_timeout_s=3.0,
    )
    plain = {"session": "accelerate=false"}
    quick = "SELECT count(*) FROM sales WHERE city LIKE 'x%'"
    slow = "SELECT count(*) FROM sales WHERE rpad(city, 3000, 'a') LIKE '%a%a%a%a%a%a%b'"
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, settings) as running:
        pool = running.gateway.pool
        assert asked(running, quick, **plain) == [0]
        first = pool._spark.result()
        message = asked(running, slow, **plain)
        assert "longer than 3 s" in message and "pattern_timeout_s" in message
        until(first.dead.is_set)

        # A client that goes away, before the limit.
        assert asked(running, quick, **plain) == [0]
        second = pool._spark.result()
        assert second.pid != first.pid
        found = sent(running, "POST", "/v1/statement", slow, **plain)
        time.sleep(1)
        sent(running, "DELETE", path_of(found), **plain)
        until(second.dead.is_set)
        assert asked(running, "SELECT count(*) FROM sales WHERE k = 3")
