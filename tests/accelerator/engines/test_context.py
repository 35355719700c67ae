"""What is known of a session, where Spark is asked while a statement runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from accelerator.common.config.config import Config
from accelerator.engines.session_settings import SessionContext, refusal, time_zone
from accelerator.engines.spark.session.settings import SparkSettings, embedded_conf
from accelerator.engines.spark.session.trusted_extensions import KNOWN
from accelerator.iceberg import CatalogSettings
from rewrite.identifiers.quoting import SUBSTITUTION

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_RULES = "org.apache.spark.sql.catalyst.optimizer"


class _State:
    """A session's state whose answers the test gives."""

    conf: Any = None

    def __init__(self) -> None:
        self.answer: Callable[[], bool] = lambda: True
        self.waits = 0
        self.conf = self

    def active(self) -> AbstractContextManager[None]:
        return nullcontext()

    def watch(self) -> Callable[[], Callable[[], bool]]:
        return lambda: self._wait

    def _wait(self) -> bool:
        self.waits += 1
        return self.answer()

    def views(self) -> list[str]:
        return []

    def replaced(self) -> str:
        return ""

    def changed(self, _asked: Callable[[str], bool]) -> list[str]:
        return []

    def extended(self, _trusted: Sequence[str]) -> str:
        return ""

    def hiding(self) -> str:
        return "match"

    def catalog(self) -> str:
        return "lake"

    def namespace(self) -> tuple[str, ...]:
        return ()

    def getConfString(self, _name: str, usual: str) -> str:
        return usual

    def ansiEnabled(self) -> bool:
        return True

    def caseSensitiveAnalysis(self) -> bool:
        return False

    def sessionLocalTimeZone(self) -> str:
        return "UTC"


def test_words_for_others_functions_decline() -> None:
    settings = {"hiding": "match"}
    for sql in ("SELECT Match(s, 'a') FROM t", "SELECT `match`(s, 'a') FROM t"):
        declined = refusal(settings, sql)
        assert declined is not None and declined.code == "settings_unsupported"
    assert refusal(settings, "SELECT has_token(s, 'rematch') FROM t") is None
    assert refusal({"hiding": ""}, "SELECT match(s, 'a') FROM t") is None


def test_rules_that_may_mask_decline_before_anything_else() -> None:
    declined = refusal({"extended": "a.B", "hiding": "match", "ansi": "false"}, "SELECT match(s)")
    assert declined is not None and declined.code == "session_extended"
    assert declined.detail == "Here: a.B."


def test_an_embedded_session_tells_of_its_extensions_before_it_starts() -> None:
    mine = {"spark.sql.extensions": f"{KNOWN[0]}, com.acme.Rules"}
    context = SessionContext(Config(spark_conf=mine), lambda: None)
    assert context.settings()["extended"] == "com.acme.Rules"
    trusting = Config(spark_conf=mine, trusted_extensions=("com.acme",))
    assert SessionContext(trusting, lambda: None).settings()["extended"] == ""
    assert SessionContext(Config(), lambda: None).settings()["extended"] == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.legacy.integerGroupingId", "TRUE"),
        ("spark.sql.groupByOrdinal", "false"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
        ("spark.sql.legacy.setopsPrecedence.enabled", "true"),
        ("spark.sql.parser.escapedStringLiterals", "True"),
        (_EXCLUDED, f"{_RULES}.LimitPushDown,{_RULES}.DecimalAggregates"),
        (_EXCLUDED, "com.acme.LimitPushDown"),
    ],
)
def test_settings_by_which_a_text_means_something_else(name: str, value: str) -> None:
    """Before Spark starts they're known from the configuration, then from its session."""
    settings = SessionContext(Config(spark_conf={name: value}), lambda: None).settings()
    assert settings["unusual"] == name
    declined = refusal(settings)
    assert declined is not None and declined.code == "settings_unsupported"


def test_settings_that_are_as_usual() -> None:
    usual = {"spark.sql.groupByOrdinal": "TRUE", "spark.sql.shuffle.partitions": "7"}
    usual[_EXCLUDED] = f" {_RULES}.LimitPushDown, {_RULES}.OptimizeIn,"
    assert SessionContext(Config(spark_conf=usual), lambda: None).settings()["unusual"] == ""


@pytest.mark.parametrize("value", ["true", "false"])
def test_spark_may_replace_variables_or_not(value: str) -> None:
    """Only a text with `${` means something else, and the parser refuses that."""
    config = Config(spark_conf={SUBSTITUTION: value})
    assert refusal(SessionContext(config, lambda: None).settings()) is None


def test_a_session_of_our_own_replaces_no_variables() -> None:
    catalog = CatalogSettings(
        "lake", "sql", {"uri": "sqlite:////no/c.db", "warehouse": "file:///no/"}
    )
    assert embedded_conf([catalog], SparkSettings())[SUBSTITUTION] == "false"
    own = SparkSettings(conf={SUBSTITUTION: "true"})
    assert embedded_conf([catalog], own)[SUBSTITUTION] == "true"


@pytest.fixture
def state() -> _State:
    return _State()


@pytest.fixture
def context(state: _State) -> SessionContext:
    made = SessionContext(Config(warehouse="/nowhere"), lambda: state)  # type: ignore[arg-type, return-value]
    assert made.catalog() == "lake"
    return made


def test_an_interrupted_wait_isnt_begun_again(context: SessionContext, state: _State) -> None:
    """Ctrl-C broke the line: who asked it once more would raise that instead."""

    def interrupted() -> bool:
        if state.waits > 1:
            raise ValueError("I/O operation on closed file.")
        raise KeyboardInterrupt

    state.answer = interrupted
    with pytest.raises(KeyboardInterrupt), context.assumed() as holds:
        holds()
    state.answer = lambda: True
    with context.assumed() as holds:
        assert holds() and context.catalog() == "lake"


def test_the_zone_is_the_one_that_spark_will_have() -> None:
    """Before it starts too, where both settings name one."""
    spark_conf = {"spark.sql.session.timeZone": "Asia/Tokyo"}
    assert time_zone(Config(session_time_zone="Europe/Paris")) == "Europe/Paris"
    both = Config(session_time_zone="Europe/Paris", spark_conf=spark_conf)
    assert time_zone(both) == "Asia/Tokyo"
    given = SessionContext(both, lambda: None).settings()
    assert given["time_zone"] == "Asia/Tokyo"
