"""Leases of frames that are over, where one of them can't be ended."""

from __future__ import annotations

import logging
from contextlib import ExitStack

import pytest
from py4j.protocol import Py4JError

from accelerator.engines.spark import dataframe_leases
from accelerator.engines.spark.dataframe_leases import HeldFrames, _LeasedFrame


def _fails() -> None:
    raise Py4JError("the JVM is gone")


def test_a_query_has_its_answer_though_a_lease_cannot_be_ended(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dataframe_leases, "_SWEPT_AFTER_S", 0.0)
    monkeypatch.setattr(dataframe_leases, "_is_over", lambda _: True)
    monkeypatch.setattr(HeldFrames, "_any_collected", lambda _: True)
    ended: list[str] = []
    held = HeldFrames()
    held._queue = object()
    for end in (lambda: ended.append("before"), _fails, lambda: ended.append("after")):
        leases = ExitStack()
        leases.callback(end)
        held._held.append(_LeasedFrame(leases))
    with caplog.at_level(logging.WARNING, "accelerator"):
        held.sweep_in_passing()
    assert sorted(ended) == ["after", "before"]
    assert len(held) == 0
    assert "the JVM is gone" in caplog.text
