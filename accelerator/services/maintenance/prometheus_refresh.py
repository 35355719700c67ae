"""The refreshes' figures for Prometheus, beside those of vacuums.

Promise: few series; of more artifacts than `ARTIFACTS_MAX` the ones furthest behind are told.
`docs/reference/metrics.md` says what each figure means.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest

from prometheus_client import CollectorRegistry, Counter, Gauge

from accelerator.services.refresh.service import Refreshed

ARTIFACTS_MAX = 200
_PREFIX = "accelerator_refresh"


class RefreshFigures:
    """A `RefreshWatch` that keeps the figures in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"{_PREFIX}_{name}", what, labels, registry=registry)

        self._lag = Gauge(
            f"{_PREFIX}_lag_seconds",
            "Age of the oldest commit that isn't all covered.",
            ("artifact",),
            registry=registry,
        )
        self._runs = counter("runs", "Runs that ended.", "outcome")
        for outcome in ("good", "failed"):
            self._runs.labels(outcome)
        self._failures = counter("failures", "Runs that failed.", "code")
        self._files = counter("files", "Data files that were built.")
        self._twice = counter("built_twice", "Data files that another process had built first.")
        self._told: set[str] = set()

    def refreshed(self, done: Refreshed) -> None:
        """See `RefreshWatch.refreshed`."""
        self._runs.labels("good" if done.error is None else "failed").inc()
        if done.code is not None:
            self._failures.labels(done.code).inc()
        self._files.inc(done.files)
        self._twice.inc(done.twice)

    def lags(self, lags: Mapping[str, float]) -> None:
        """See `RefreshWatch.lags`."""
        most = dict(nlargest(ARTIFACTS_MAX, lags.items(), key=lambda one: one[1]))
        for gone in self._told - most.keys():
            self._lag.remove(gone)
        for artifact, seconds in most.items():
            self._lag.labels(artifact).set(seconds)
        self._told = set(most)
