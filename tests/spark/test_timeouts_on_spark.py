"""Statements that Spark runs for longer than they may: their jobs are stopped, and nothing else."""

from __future__ import annotations

import pytest

from accelerator.errors import StatementTimeoutError
from accelerator.session.session import Accelerator

pytestmark = pytest.mark.spark
LIVE = True
_SLOW = "SELECT count(*) AS n FROM range(0, 1000000000000, 1, 2) WHERE sqrt(id) % 7 = 3"


def test_sparks_jobs_are_stopped(acc: Accelerator) -> None:
    before = dict(acc.fallbacks)
    for sql in (
        _SLOW,
        f"CREATE OR REPLACE TEMP VIEW slow AS {_SLOW}",
        "SELECT n + 1 AS n FROM slow",
    ):
        if sql.startswith("CREATE"):
            acc.query(sql, timeout_s=60)
            continue
        with pytest.raises(StatementTimeoutError):
            acc.query(sql, timeout_s=1)
    assert acc.fallbacks == before
    assert acc.query("SELECT 5 AS n FROM range(1)", timeout_s=60).arrow().to_pylist() == [{"n": 5}]
    assert not acc.spark.sparkContext.statusTracker().getActiveJobsIds()
