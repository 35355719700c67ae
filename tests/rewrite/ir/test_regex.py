"""What `reading_of` says of patterns, against Python's `re` over texts that match them.

Strategy: patterns are put together of what is understood, and of random characters; texts are made
from the pattern, so that most match. Whether Java agrees is asked in tests/spark.

Invariants: the runs stand in each text that matches, in their order and none over another; case
counts unless it's said that it doesn't; what is understood is a pattern of Python's as well.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewrite.ir.regex_literals import LiteralRuns, reading_of
from tests.rewrite.patterns import LETTERS, PATTERNS, holds, in_python
from tests.support.extent import sized


@pytest.mark.parametrize(
    ("pattern", "reading"),
    [
        ("abc", LiteralRuns(("abc",))),
        ("", LiteralRuns(())),
        ("^abc$", LiteralRuns(("abc",), starts=True)),
        ("^^abc", LiteralRuns(("abc",))),
        ("^a?bc", LiteralRuns(("bc",))),
        ("^a+bc", LiteralRuns(("a", "bc"), starts=True)),
        ("(?m)^abc", LiteralRuns(("abc",))),
        ("(?i)Abc", LiteralRuns(("Abc",), folded=True)),
        ("(?si)^a.b", LiteralRuns(("a", "b"), starts=True, folded=True)),
        ("abc|abd", LiteralRuns(())),
        ("^ab|c", LiteralRuns(())),
        ("ab(c|d)ef", LiteralRuns(("ab", "ef"))),
        ("ab(cd)ef", LiteralRuns(("abcdef",))),
        ("(?:ab)?cd(?<n>ef){1}g", LiteralRuns(("cdef", "g"))),
        ("ab(?=cd)e(?!f)", LiteralRuns(("ab", "e"))),
        (r"user=\d+ ip=[0-9.]+\.example\.com", LiteralRuns(("user=", " ip=", ".example.com"))),
        ("ab*cd{0,2}ef{2}g", LiteralRuns(("a", "c", "ef", "g"))),
        ("ab*?cd++e??f", LiteralRuns(("a", "cd", "f"))),
        (r"\Qa.(b\E?c", LiteralRuns(("a.(", "c"))),
        (r"a\Q*b", LiteralRuns(("a*b",))),
        (r"[.]a[^b]c[d]", LiteralRuns((".a", "cd"))),
        (r"a[b-d]e[f-]g[\w.]h[\]]", LiteralRuns(("a", "e", "g", "h]"))),
        (r"\ta\x41\u4e2d\/", LiteralRuns(("\taA中/",))),
        ("a\ufffdb", LiteralRuns(("a", "b"))),
        ("^\ufffdb", LiteralRuns(("b",))),
        ("a]}", LiteralRuns(("a]}",))),
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


@settings(max_examples=sized(150, full=600), deadline=None)
@given(PATTERNS, st.data())
def test_each_text_that_matches_holds_the_runs(pattern, data):
    reading = reading_of(pattern)
    assume(reading is not None)
    compiled = in_python(pattern)
    assume(compiled is not None)
    text = data.draw(st.one_of(st.from_regex(compiled), st.text(LETTERS, max_size=12)))
    assert not compiled.search(text) or holds(text, reading), (pattern, text, reading)
