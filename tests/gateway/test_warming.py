"""Spark's start with the gateway: what fails is known, and nothing waits for it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from accelerator.errors import ConfigError
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.workers.pool.forks import NoWorkerError
from accelerator.gateway.workers.pool.pool import Frame
from accelerator.gateway.workers.pool.warming import Warming
from accelerator.gateway.workers.run_statement import StatementJob


class _Pool:
    """Gives frames, or raises, in a real pool's place."""

    def __init__(self, *frames, error=None):
        self.frames, self.error, self.jobs = frames, error, []

    async def run(self, job, *, again):
        self.jobs.append((job, again))
        if self.error is not None:
            raise self.error
        for frame in self.frames:
            yield frame


def _warmed(pool, caplog):
    warming = Warming(pool)
    with caplog.at_level(logging.INFO, "accelerator.gateway"):
        asyncio.run(warming.run())
    return warming.failed


def test_a_query_that_spark_alone_answers_is_asked_as_a_client_would(caplog):
    pool = _Pool(Frame("rows", {"metrics": {}}))
    assert _warmed(pool, caplog) == ""
    [(order, again)] = pool.jobs
    job = StatementJob.from_dict(order)
    assert again and not job.accelerate and isinstance(job.request, nodes.RunStatement)
    assert "Spark has started" in caplog.text


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (_Pool(Frame("error", {"error": {"message": "no Java\nhere", "hint": "get one"}})), "get"),
        (_Pool(error=NoWorkerError("no Java\nhere")), "no Java"),
        (_Pool(error=OSError("no Java\nhere")), "no Java"),
    ],
)
def test_a_start_that_fails_is_logged_and_shown(pool, words, caplog):
    failed = _warmed(pool, caplog)
    assert words in failed and "\n" not in failed
    [record] = caplog.records
    assert record.levelname == "ERROR" and failed in record.getMessage()


def test_the_setting_is_checked():
    assert GatewaySettings(spark="warm").spark == "warm"
    with pytest.raises(ConfigError, match="hot"):
        GatewaySettings(spark="hot")
