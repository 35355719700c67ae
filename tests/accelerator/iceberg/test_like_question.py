"""What indexes are asked for a LIKE: just its texts where it says so, else no fewer."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from accelerator.iceberg.pruning.predicates import like_question
from indexes.question import Like


def _found(question: Like, text: str) -> bool:
    """What a question means, as `Like` says it."""
    runs = ".*".join(re.escape(run) for run in question.runs)
    pattern = ("" if question.starts else ".*") + runs + ("" if question.ends else ".*")
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _like(pattern: str, text: str) -> bool:
    meant = {"%": ".*", "_": "."}
    return (
        re.fullmatch("".join(meant.get(c, re.escape(c)) for c in pattern), text, re.DOTALL)
        is not None
    )


@given(st.text("ab%_", max_size=5), st.text("ab", max_size=4))
@example("", "a")
@example("", "")
@example("%", "")
@example("%%", "a")
def test_a_pattern_and_its_question_find_the_same(pattern: str, text: str) -> None:
    question = like_question(pattern)
    if _like(pattern, text):
        assert _found(question, text)
    elif question.exact:
        assert not _found(question, text)
