"""The advisor's figures for Prometheus, beside those of vacuums and refreshes.

Promise: a dozen series, whatever is advised. `docs/reference/metrics.md` says what each means.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from accelerator.services.advisor.report import Advised

_PREFIX = "accelerator_advisor"


class AdvisorFigures:
    """Hears of runs, and keeps the figures in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"{_PREFIX}_{name}", what, labels, registry=registry)

        def gauge(name: str, what: str) -> Gauge:
            return Gauge(f"{_PREFIX}_{name}", what, registry=registry)

        self._runs = counter("runs", "Runs that ended.", "outcome")
        for outcome in ("good", "failed"):
            self._runs.labels(outcome)
        self._failures = counter("failures", "Runs, or steps of them, that failed.", "code")
        self._applied = counter("applied", "Recommendations that were applied.", "action")
        self._promised = gauge("promised_ms_per_day", "What was promised of what is in use.")
        self._gained = gauge("gain_ms_per_day", "What that spares, by the query log.")
        self._in_use = gauge("in_use", "What was applied and is in use.")
        self._bytes = gauge("bytes", "What that takes.")

    def advised(self, done: Advised) -> None:
        """A run ended."""
        self._runs.labels("good" if done.error is None else "failed").inc()
        failed = {step.code for step in done.steps if step.code is not None}
        for step in done.steps:
            if step.code is not None:
                self._failures.labels(step.code).inc()
            else:
                self._applied.labels(step.action).inc()
        if done.code is not None and done.code not in failed:
            self._failures.labels(done.code).inc()
        if done.in_use is not None:
            self._promised.set(done.promised_ms or 0.0)
            self._gained.set(done.gain_ms or 0.0)
            self._in_use.set(done.in_use)
            self._bytes.set(done.bytes or 0)
