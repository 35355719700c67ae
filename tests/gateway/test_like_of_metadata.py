"""LIKE over virtual tables: as a regular expression has it, in time that no pattern can stretch."""

from __future__ import annotations

import re
import time
from random import Random

import pytest

from accelerator.errors import StatementError
from accelerator.gateway.catalog.predicate import like


def _by_regex(pattern: str, text: str) -> bool:
    letters = ({"%": ".*", "_": "."}.get(one, re.escape(one)) for one in pattern)
    return re.fullmatch("".join(letters), text, re.DOTALL) is not None


def test_it_matches_what_a_regular_expression_matches() -> None:
    r = Random(47)
    seen = set()
    for _ in range(20_000):
        pattern = "".join(r.choice("ab%%_\n") for _ in range(r.randrange(7)))
        text = "".join(r.choice("ab\n") for _ in range(r.randrange(8)))
        wanted = _by_regex(pattern, text)
        assert like(pattern)(text) is wanted, (pattern, text)
        seen.add(wanted)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "pattern", ["%a" * 40 + "%b", "%a_" * 40 + "%b", "%" * 5_000 + "b", "_%" * 40 + "b"]
)
def test_a_pattern_that_a_regular_expression_takes_back_for_ever_is_done_at_once(
    pattern: str,
) -> None:
    began = time.thread_time()
    assert not like(pattern)("a" * 2_000)
    assert time.thread_time() - began < 10


def test_escapes_stand_for_the_letters_alone() -> None:
    assert like("a!_%!!", "!")("a_x!") and not like("a!_%!!", "!")("abx!")
    assert like("%!%", "!")("50%") and not like("%!%", "!")("50")
    for pattern in ("a!b", "a!"):
        with pytest.raises(StatementError):
            like(pattern, "!")
