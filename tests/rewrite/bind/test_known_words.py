"""The words that are watched in a session: one that Spark's registry lacks leaves all to Spark."""

from __future__ import annotations

from rewrite.bind.calls.known_words import FUNCTIONS, GRAMMAR
from rewrite.text.spark_keywords import FUNCTIONS as OF_SPARK


def test_a_session_has_each_as_spark_s_own_function() -> None:
    assert [word for word in FUNCTIONS if word not in OF_SPARK] == []
    assert [word for word in GRAMMAR if word in OF_SPARK] == []
