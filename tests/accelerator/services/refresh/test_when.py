"""When something is refreshed: the words, their bounds, and where each stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.common.config import refresh_schedule
from accelerator.common.config.config import Config
from accelerator.common.config.refresh_schedule import MANUAL, ON_COMMIT, When
from accelerator.errors import ConfigError, StatementError
from accelerator.query.statements.nodes import SetCubeRefresh, SetIndexRefresh
from accelerator.query.statements.parse import parse_statement


@given(st.integers(refresh_schedule.SECONDS_MIN, refresh_schedule.SECONDS_MAX))
def test_a_text_means_what_it_was_made_of(seconds):
    found = When(True, seconds)
    assert refresh_schedule.parsed(found.text) == found
    said = parse_statement(f"ALTER CUBE c SET REFRESH = EVERY '{found.text}'")
    assert said == SetCubeRefresh("c", found.text)


@given(st.text(max_size=30))
def test_any_other_text_is_an_error_that_helps(text):
    try:
        assert refresh_schedule.parsed(
            refresh_schedule.parsed(text).text
        ) == refresh_schedule.parsed(text)
    except StatementError as error:
        assert error.hint


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10 minutes", 600),
        (" 1  DAY ", 86_400),
        ("90 second", 90),
        ("3hours", 10_800),
        ("10 seconds", 10),
        ("365 days", 365 * 86_400),
    ],
)
def test_intervals(text, found):
    assert refresh_schedule.every(text) == When(True, found)


@pytest.mark.parametrize(
    "text",
    [
        *("", "9 seconds", "0 days", "366 days", "999999999999 days", "10", "ten minutes"),
        *("1.5 hours", "-10 minutes", "10 minutess", "10 weeks", "٣٠ minutes", "manual", "10 s"),
        "1 hour 30 minutes",
    ],
)
def test_what_is_no_interval(text):
    with pytest.raises(StatementError) as raised:
        refresh_schedule.every(text)
    assert "365 days" in str(raised.value.hint)
    with pytest.raises(StatementError) as raised:
        parse_statement(f"ALTER CUBE c SET REFRESH = EVERY '{text}'")
    assert "line 1" in raised.value.message


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("ALTER CUBE c SET REFRESH = ON COMMIT", SetCubeRefresh("c", "on_commit")),
        ("alter cube `my c` set refresh = manual;", SetCubeRefresh("my c", "manual")),
        ("ALTER CUBE c SET REFRESH = EVERY '600 seconds'", SetCubeRefresh("c", "10 minutes")),
        ("ALTER INDEX i SET REFRESH = ON COMMIT", SetIndexRefresh("i", "on_commit")),
        ('ALTER INDEX i SET REFRESH = EVERY "2 hours"', SetIndexRefresh("i", "2 hours")),
    ],
)
def test_statements(sql, found):
    assert parse_statement(sql) == found


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER CUBE",
        "ALTER CUBE c",
        "ALTER CUBE c SET",
        "ALTER CUBE c SET REFRESH",
        "ALTER CUBE c SET REFRESH ON COMMIT",
        "ALTER CUBE c SET REFRESH = COMMIT",
        "ALTER CUBE c SET REFRESH = EVERY 10 minutes",
        "ALTER CUBE c SET REFRESH = EVERY ten",
        "ALTER CUBE c SET REFRESH = EVERY",
        "ALTER CUBE c SET REFRESH = ON COMMIT NOW",
        "ALTER CUBE a.b SET REFRESH = MANUAL",
        "ALTER INDEX i SET REFRESH = MANUAL MANUAL",
    ],
)
def test_malformed_statements_say_what_was_expected(sql):
    with pytest.raises(StatementError) as raised:
        parse_statement(sql)
    kind = "CUBE" if "CUBE" in sql else "INDEX"
    assert re.search(f"ALTER {kind} .* SET REFRESH", str(raised.value.hint))


def test_the_setting_counts_where_a_record_says_nothing():
    assert refresh_schedule.of(None, "manual") == MANUAL and refresh_schedule.of(
        None, "10 minutes"
    ) == When(True, 600)
    assert refresh_schedule.of("on_commit", "manual") == ON_COMMIT
    assert refresh_schedule.of("manual", "on_commit") == MANUAL
    assert refresh_schedule.of("at full moon", "on_commit") == MANUAL  # a later release's words
    with pytest.raises(ConfigError):
        refresh_schedule.of(None, "at full moon")


def test_the_setting_is_checked():
    assert Config().refresh == "manual"
    assert Config(refresh="ON_COMMIT").refresh == "on_commit"
    assert Config.load(env={"ACCELERATOR_REFRESH": "120 seconds"}).refresh == "2 minutes"
    for text in ("often", "5 seconds", ""):
        with pytest.raises(ConfigError, match="refresh"):
            Config(refresh=text)
