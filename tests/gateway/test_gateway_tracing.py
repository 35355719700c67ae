"""Spans of statements: one for each, in the client's trace, and none where nobody asks for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from accelerator.errors import ConfigError
from accelerator.gateway.access.login.users import User
from accelerator.gateway.monitoring.history import History
from accelerator.gateway.monitoring.tracing import Tracing
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.errors import trino_error
from accelerator.gateway.trino.requests.nodes import ClientSession

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}


@pytest.fixture
def traced():
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    yield tracing, exporter
    tracing.close()


def run(tracing, headers=None, error=None, **metrics):
    client = ClientSession(user="ann", source="bi", catalog="lake", schema="shop")
    one = Statement("SELECT 'hush'", client, User("ann"), "ann", 1, "10.0.0.1")
    history = History(10)
    history.record(one)
    tracing.began(one, headers or {})
    one.figures.state = "FINISHED" if error is None else "FAILED"
    one.figures.ended, one.figures.metrics = one.figures.created + 2, metrics
    one.error = None if error is None else trino_error(error)
    tracing.ended(history.ended(one))
    return one


def test_a_span_for_a_statement(traced):
    tracing, exporter = traced
    one = run(tracing, engine="duckdb", cubes=["c"], bytes_read=9, files_total=4, planning_ms=1.5)
    (span,) = exporter.get_finished_spans()
    assert span.name == "statement" and span.parent is None and span.status.is_unset
    assert span.end_time - span.start_time == pytest.approx(2e9, rel=1e-3)
    known = span.attributes
    assert known["accelerator.statement.id"] == one.id and known["enduser.id"] == "ann"
    assert known["db.system.name"] == "trino" and known["db.namespace"] == "lake.shop"
    assert known["accelerator.engine"] == "duckdb" and known["accelerator.cubes"] == ("c",)
    assert known["accelerator.bytes_read"] == 9 and known["accelerator.planning_ms"] == 1.5
    assert "hush" not in str(dict(known))


def test_the_clients_trace_goes_on(traced):
    tracing, exporter = traced
    run(tracing, PARENT)
    (span,) = exporter.get_finished_spans()
    assert f"{span.context.trace_id:032x}" == TRACE and span.parent.is_remote
    run(tracing, {"traceparent": f"00-{TRACE}-b7ad6b7169203331-00"})  # the client has no span of it
    assert len(exporter.get_finished_spans()) == 1


@pytest.mark.parametrize("header", ["", "nonsense", "00-0-0-01", "\ud800", "x" * 10**5])
def test_a_header_that_is_none(traced, header):
    tracing, exporter = traced
    run(tracing, {"traceparent": header, "tracestate": header})
    (span,) = exporter.get_finished_spans()
    assert span.parent is None


def test_what_failed(traced):
    tracing, exporter = traced
    run(tracing, error=ValueError("with 'hush' in it"))
    (span,) = exporter.get_finished_spans()
    assert not span.status.is_ok and not span.status.is_unset
    assert span.attributes["error.type"] == "GENERIC_INTERNAL_ERROR"
    assert "hush" not in f"{dict(span.attributes)} {span.status.description}"


def test_one_that_never_ended_is_told_at_the_end(traced):
    tracing, exporter = traced
    client = ClientSession(user="ann")
    tracing.began(Statement("SELECT 1", client, User("ann"), "ann", 1), {})
    tracing.close()
    assert len(exporter.get_finished_spans()) == 1


@pytest.mark.parametrize(
    ("env", "asked"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
    ],
)
def test_who_asks_for_it(env, asked):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    found = Tracing.of(None, env)
    assert (found is not None) == asked
    if found is not None:
        found.close()


def test_a_setting_asks_for_it():
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    found = Tracing.of("http://127.0.0.1:9", {})
    assert found is not None
    found.close()


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match="opentelemetry"):
        Tracing.of("http://127.0.0.1:9", {})
    assert Tracing.of(None, {}) is None


@pytest.mark.served
def test_nothing_of_it_is_loaded_where_nobody_asks():
    code = (
        "import sys, accelerator.gateway.http.trino_server\n"
        "from accelerator.gateway.monitoring.tracing import Tracing\n"
        "assert Tracing.of(None, {}) is None\n"
        "assert not [one for one in sys.modules if one.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
