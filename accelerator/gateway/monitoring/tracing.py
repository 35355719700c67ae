"""Spans of statements for OpenTelemetry: one for each, which continues the client's trace.

Off, and nothing of OpenTelemetry imported, unless a setting or the environment names where spans
go. Promises: a statement never waits for a span, nor fails for one; a span has neither the text of
a statement nor its rows, and each of its texts is bounded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from accelerator.errors import ConfigError
from accelerator.gateway.monitoring.history import StatementRecord
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.headers import is_plain
from accelerator.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_NAME = "lakehouse-accelerator"
_NANO = 1_000_000_000
HEADERS = ("traceparent", "tracestate")
"""Those by which a client hands its trace on."""


class Tracing:
    """Of one gateway; belongs to its event loop."""

    def __init__(self, provider: TracerProvider) -> None:
        """Spans go where the provider sends them."""
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("accelerator.gateway", VERSION)
        self._propagator = TraceContextTextMapPropagator()
        self._spans: dict[str, Span] = {}

    @classmethod
    def of(cls, endpoint: str | None, env: Mapping[str, str] | None = None) -> Tracing | None:
        """By a setting, or OpenTelemetry's variables; None where neither asks for it.

        ConfigError where it's asked for and the packages are missing.
        """
        environment = os.environ if env is None else env
        if not _is_enabled(endpoint, environment):
            return None
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise ConfigError(
                f"tracing needs the package {error.name}",
                hint="pip install 'lakehouse-accelerator[otel]', or leave out tracing_endpoint"
                " and OTEL_EXPORTER_OTLP_ENDPOINT",
            ) from error
        named = "OTEL_SERVICE_NAME" in environment
        resource = Resource.create({} if named else {"service.name": _NAME})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter() if endpoint is None else OTLPSpanExporter(_traces(endpoint))
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return cls(provider)

    def began(self, statement: Statement, headers: Mapping[str, str]) -> None:
        """A statement has come, with its client's headers."""
        given = {one: headers[one] for one in HEADERS if is_plain(headers.get(one, "\n"))}
        from opentelemetry.trace import SpanKind

        self._spans[statement.id] = self._tracer.start_span(
            "statement",
            context=self._propagator.extract(given) if given else None,
            kind=SpanKind.SERVER,
            start_time=int(statement.figures.created * _NANO),
        )

    def ended(self, record: StatementRecord) -> None:
        """It's over."""
        span = self._spans.pop(record.id, None)
        if span is None:
            return
        if span.is_recording():
            for key, value in _attributes(record).items():
                span.set_attribute(key, value)
            if record.error:
                from opentelemetry.trace import StatusCode

                span.set_status(StatusCode.ERROR, record.error)
        span.end(int((record.created + record.elapsed_ms / 1000) * _NANO))

    def close(self) -> None:
        """Sends what is left, which may take some seconds."""
        for span in self._spans.values():
            span.end()
        self._spans.clear()
        self._provider.shutdown()


def _is_enabled(endpoint: str | None, env: Mapping[str, str]) -> bool:
    if env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if env.get("OTEL_TRACES_EXPORTER", "otlp") not in ("otlp", ""):
        return False
    return endpoint is not None or any(env.get(one) for one in _ENDPOINTS)


def _traces(endpoint: str) -> str:
    """The address for spans under that of a collector."""
    return endpoint if endpoint.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces"


def _attributes(record: StatementRecord) -> dict[str, Any]:
    """By OpenTelemetry's names where it has some."""
    found: dict[str, Any] = {
        "db.system.name": "trino",
        "db.response.returned_rows": record.rows,
        "enduser.id": record.user,
        "accelerator.statement.id": record.id,
        "accelerator.state": record.state.lower(),
        "accelerator.engine": "cache" if record.cached else record.engine or "none",
        "accelerator.cached": record.cached,
        "accelerator.rewritten": record.rewritten,
        "accelerator.queued_ms": record.queued_ms,
        "accelerator.planning_ms": record.planning_ms,
        "accelerator.execution_ms": record.execution_ms,
        "accelerator.bytes_read": record.bytes_read,
        "accelerator.bytes_given": record.bytes,
        "accelerator.files_total": record.files_total,
        "accelerator.files_read": record.files_read,
        "accelerator.cubes": list(record.cubes),
        "accelerator.indexes": list(record.indexes),
        "accelerator.tables": list(record.tables),
    }
    texts = {
        "db.namespace": ".".join(one for one in (record.catalog, record.schema) if one),
        "client.address": record.address,
        "accelerator.source": record.source,
        "accelerator.reason": record.reason.partition(":")[0],
        "error.type": record.error,
    }
    return found | {key: value for key, value in texts.items() if value}
