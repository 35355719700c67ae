"""Patterns put together of what `reading_of` understands, and of random characters."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from rewrite.ir.regex_literals import LiteralRuns

LETTERS = "abAB. é中\U0001f600"


def _pieces() -> st.SearchStrategy[str]:
    character = st.sampled_from(LETTERS).map(lambda one: "\\." if one == "." else one)
    atoms = st.one_of(
        *[st.text("abA é中", min_size=1, max_size=4)] * 3,
        character,
        st.sampled_from(
            [".", "[ab]", "[^a]", "[.]", "[a-b.]", r"\d", r"\W", r"\.", r"\x61", r"\\"]
        ),
        st.sampled_from(["^", "$", r"\b", r"\B", r"\A"]),
    )
    quantifiers = ["", "", "", "", "?", "*", "+", "{0,2}", "{2}", "{1,}", "??", "+?", "*+", "{0}"]

    def more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        wrapped = st.tuples(
            st.sampled_from(["({})", "(?:{})", "({})?", "(?={})", "(?!{})", "{}"]), inner
        ).map(lambda pair: pair[0].format(pair[1]))
        chain = st.lists(inner, min_size=2, max_size=4).map("".join)
        return st.one_of(chain, chain, wrapped, st.tuples(inner, inner).map("|".join))

    quantified = st.tuples(atoms, st.sampled_from(quantifiers)).map("".join)
    return st.recursive(quantified, more, max_leaves=8)


PATTERNS = st.one_of(
    st.tuples(st.sampled_from(["", "", "", "(?i)", "(?m)", "(?s)"]), _pieces()).map("".join),
    st.text("abA.*+?{}[]()|^$\\dQE012,-:=! é", max_size=12),
)


def in_python(pattern: str) -> re.Pattern[str] | None:
    """With ASCII's case and classes, which are Java's. None for what means another thing here."""
    if re.search(r"\\[QEaeZzuB]", pattern.replace(r"\\\\", "")):
        return None
    return re.compile(pattern, re.ASCII)


def holds(text: str, reading: LiteralRuns) -> bool:
    """Whether the text has all that the pattern's matches are said to have."""
    runs = reading.runs
    if reading.folded:
        text, runs = text.lower(), tuple(run.lower() for run in runs)
    if reading.starts and not text.startswith(runs[0]):
        return False
    at = 0
    for run in runs:
        found = text.find(run, at)
        if found < 0:
            return False
        at = found + len(run)
    return True
