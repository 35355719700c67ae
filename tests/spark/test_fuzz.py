"""The query fuzz, in small: two hundred statements over random stars answer as plain Spark does.

The seed is fixed, so that what fails here fails again; `make fuzz` goes on from other ones.
"""

from __future__ import annotations

import pytest

from accelerator.session import Accelerator
from fuzz.run import Run

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_random_statements_answer_as_plain_spark_does(acc: Accelerator) -> None:
    told: list[str] = []
    outcome = Run(acc, "lake.d", seed=7, tell=told.append, queries=200).run()
    assert not outcome.differences, "\n".join(told)
    assert outcome.queries >= 200
    assert outcome.rewritten >= 0.4 * outcome.queries
