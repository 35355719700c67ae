"""Figures for Prometheus: few series, right counts, and each of them in the reference."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed_open
from prometheus_client.parser import text_string_to_metric_families as parsed

from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.login.users import User
from accelerator.gateway.admission.admission import Admission
from accelerator.gateway.monitoring.history import History
from accelerator.gateway.monitoring.prometheus import Monitoring, resident
from accelerator.gateway.statements.answer_cache import AnswerCache
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.errors import trino_error
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.gateway.workers.pool.pool import WorkerState

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def a_gateway(**more):
    """What of a gateway figures are read from."""
    states = [WorkerState(1, False, 2, 0.0), WorkerState(2, True, 0, 0.0)]
    parts = {
        "started": 1000.0,
        "history": History(100),
        "admission": Admission(),
        "cache": AnswerCache(10**6, 0, None, 10**6),
        "pool": SimpleNamespace(
            states=lambda: states, restarts=3, retries=1, ends={"died": 3}, deadly=2
        ),
        "broken_files": lambda: {"users": False, "policy": True},
        "tls": SimpleNamespace(days_left=2.0),
        "maintenance": None,
    }
    return SimpleNamespace(**(parts | more))


def ended(monitoring, number=0, user="me", state="FINISHED", error=None, cached=False, **metrics):
    history = History(10)
    one = Statement("SELECT 1", ClientSession(user=user), User(user), user, number)
    history.record(one)
    figures = one.figures
    figures.state, figures.cached, figures.metrics = state, cached, metrics
    figures.ended, figures.rows = figures.created + 0.5, 7
    one.error = None if error is None else trino_error(error)
    monitoring.ended(history.ended(one))


def values(monitoring):
    """Each sample by its name and labels."""
    text = monitoring.text("")[0].decode()
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in parsed(text)
        for sample in family.samples
    }


def test_what_statements_cost():
    monitoring = Monitoring(a_gateway())
    ended(monitoring, engine="duckdb", files_total=10, files_read=2, bytes_read=500, planning_ms=4)
    ended(monitoring, engine="duckdb", files_total=3, files_read=9, bytes_read=1)
    ended(monitoring, cached=True, engine="duckdb", bytes_read=10**9, files_total=10)
    ended(monitoring, engine="spark", fallback="float_order: What plain Spark answers, depends.")
    ended(monitoring, state="FAILED", error=AccessDeniedError("no"))
    found = values(monitoring)
    prefix = "accelerator_gateway"
    assert found[f"{prefix}_statements_total", "duckdb", "finished"] == 2
    assert found[f"{prefix}_statements_total", "cache", "finished"] == 1
    assert found[f"{prefix}_statements_total", "failed", "none"] == 1
    assert found[f"{prefix}_errors_total", "PERMISSION_DENIED"] == 1
    assert found[f"{prefix}_fallbacks_total", "float_order"] == 1
    assert (
        found[f"{prefix}_files_total", "read"] == 5
        and found[f"{prefix}_files_total", "spared"] == 8
    )
    assert found[f"{prefix}_read_bytes_total",] == 501 and found[f"{prefix}_rows_total",] == 35
    assert found[f"{prefix}_statement_duration_seconds_sum", "duckdb"] == pytest.approx(
        1.0, abs=0.01
    )
    assert found[f"{prefix}_user_statements_total", "me"] == 5


def test_what_others_know():
    gateway = a_gateway()
    gateway.cache.hits = 6
    found = values(Monitoring(gateway))
    prefix = "accelerator_gateway"
    assert found[f"{prefix}_workers", "in_process"] == found[f"{prefix}_workers", "spark"] == 1
    assert found[f"{prefix}_worker_restarts_total",] == 3 and found[f"{prefix}_retries_total",] == 1
    assert found[f"{prefix}_worker_ends_total", "died"] == 3
    assert found[f"{prefix}_deadly_statements_total",] == 2
    assert found[f"{prefix}_cache_lookups_total", "hit"] == 6
    assert found[f"{prefix}_file_broken", "policy"] == 1
    assert found[f"{prefix}_file_broken", "users"] == 0
    assert found[f"{prefix}_certificate_seconds_left",] == 2 * 86_400
    assert found[f"{prefix}_start_time_seconds",] == 1000


def test_users_beyond_some_are_others():
    monitoring = Monitoring(a_gateway())
    for number in range(200):
        ended(monitoring, number, user=f"user {number}")
    ended(monitoring, 200, user="user 7")
    users = {
        key[1]: count
        for key, count in values(monitoring).items()
        if "user_statements_total" in key[0]
    }
    assert len(users) == 51 and users["other"] == 150 and users["user 7"] == 2


@given(st.text(st.characters(codec=None), max_size=80), st.text(max_size=40))
def test_whatever_a_name_holds_the_text_can_be_read(user, reason):
    monitoring = Monitoring(a_gateway())
    ended(monitoring, user=user, engine=reason, fallback=reason)
    assert values(monitoring)
    open_text, kind = monitoring.text("application/openmetrics-text; version=1.0.0")
    assert "openmetrics" in kind and list(parsed_open(open_text.decode()))


class LateLoop:
    """An event loop that comes to its work as late as it's told."""

    def __init__(self):
        self.now, self.asked = 100.0, []

    def time(self):
        return self.now

    def call_at(self, when, callback, *arguments):
        self.asked.append((when, callback, arguments))
        return SimpleNamespace(cancel=self.asked.clear)


def test_the_event_loops_lag():
    monitoring, loop = Monitoring(a_gateway()), LateLoop()
    monitoring.start(loop)
    for late in (0.0, 2.0):
        ((when, callback, arguments),) = loop.asked
        loop.asked.clear()
        loop.now = when + late
        callback(*arguments)
        assert monitoring.lag_s == pytest.approx(late)
    found = values(monitoring)
    assert found["accelerator_gateway_event_loop_lag_seconds_sum",] == pytest.approx(2.0)
    assert found["accelerator_gateway_event_loop_lag_seconds_count",] == 2
    monitoring.close()
    assert not loop.asked


def test_memory_of_a_process_that_is_gone():
    assert resident(2**22 + 1) == 0


def test_each_figure_is_in_the_reference():
    monitoring = Monitoring(a_gateway())
    told_of = PAGE.read_text(encoding="utf-8")
    names = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in monitoring.registry.collect()
    }
    listed = set(re.findall(r"`(accelerator_gateway_\w+)`", told_of))
    assert names == listed
