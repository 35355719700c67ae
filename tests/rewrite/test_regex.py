"""What `reading_of` says of patterns, against Python's `re` over texts that match them.

Strategy: patterns are put together of what is understood, and of random characters; texts are made
from the pattern, so that most match. Whether Java agrees is asked in tests/spark.

Invariants: the runs stand in each text that matches, in their order and none over another; case
counts unless it's said that it doesn't; what is understood is a pattern of Python's as well.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewrite.regex import Reading, reading_of

LETTERS = "abAB. é中\U0001f600"


@pytest.mark.parametrize(
    ("pattern", "reading"),
    [
        ("abc", Reading(("abc",))),
        ("", Reading(())),
        ("^abc$", Reading(("abc",), starts=True)),
        ("^^abc", Reading(("abc",))),
        ("^a?bc", Reading(("bc",))),
        ("^a+bc", Reading(("a", "bc"), starts=True)),
        ("(?m)^abc", Reading(("abc",))),
        ("(?i)Abc", Reading(("Abc",), folded=True)),
        ("(?si)^a.b", Reading(("a", "b"), starts=True, folded=True)),
        ("abc|abd", Reading(())),
        ("^ab|c", Reading(())),
        ("ab(c|d)ef", Reading(("ab", "ef"))),
        ("ab(cd)ef", Reading(("abcdef",))),
        ("(?:ab)?cd(?<n>ef){1}g", Reading(("cdef", "g"))),
        ("ab(?=cd)e(?!f)", Reading(("ab", "e"))),
        (r"user=\d+ ip=[0-9.]+\.example\.com", Reading(("user=", " ip=", ".example.com"))),
        ("ab*cd{0,2}ef{2}g", Reading(("a", "c", "ef", "g"))),
        ("ab*?cd++e??f", Reading(("a", "cd", "f"))),
        (r"\Qa.(b\E?c", Reading(("a.(", "c"))),
        (r"a\Q*b", Reading(("a*b",))),
        (r"[.]a[^b]c[d]", Reading((".a", "cd"))),
        (r"a[b-d]e[f-]g[\w.]h[\]]", Reading(("a", "e", "g", "h]"))),
        (r"\ta\x41\u4e2d\/", Reading(("\taA中/",))),
        ("a\ufffdb", Reading(("a", "b"))),
        ("^\ufffdb", Reading(("b",))),
        ("a]}", Reading(("a]}",))),
    ],
)
def test_readings(pattern, reading):
    assert reading_of(pattern) == reading


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "*a",
            "a**",
            "a{",
            "a{x}",
            "a{2,1}",
            "{2}",
            "(a",
            "a)",
            "(?a)",
            "[a",
            "[]",
            "[]a]",
            "a\\",
        ),
        *(r"\1", r"\y", r"\G", r"\E", r"\p{L}", r"\x4", r"\cA", r"\011", r"[\Qa\E]", r"\Q\E", "^*"),
        *("(ab)*", "(ab)+", "(a|b){2}", "(?>a)", "(?<=a)b", "(?<!a)b", "(?<a>b)(?<a>c)", "(?i:a)"),
        *("a(?i)b", "(?x)a b", "(?u)a", "(?iu)a", "(?-i)a", "(?i)*", "[a&&b]", "[a[b]]", "[b-a]"),
        *("[-a]", "[a-\\d]", "(" * 40 + ")" * 40, "a" * 5_000, "a{1001}", "a{2}{3}", "(?=a)*"),
        *("\ud800", r"\ud83d\ude00", r"[\ud83d\ude00]"),
    ],
)
def test_what_is_not_understood(pattern):
    assert reading_of(pattern) is None


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


def holds(text: str, reading: Reading) -> bool:
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


@settings(max_examples=600, deadline=None)
@given(PATTERNS, st.data())
def test_each_text_that_matches_holds_the_runs(pattern, data):
    reading = reading_of(pattern)
    assume(reading is not None)
    compiled = in_python(pattern)
    assume(compiled is not None)
    text = data.draw(st.one_of(st.from_regex(compiled), st.text(LETTERS, max_size=12)))
    assert not compiled.search(text) or holds(text, reading), (pattern, text, reading)
