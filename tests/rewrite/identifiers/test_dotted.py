"""Names of several parts as one text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.errors import StatementError
from rewrite.identifiers.qualified_name import joined, parts_of


@given(st.lists(st.text(st.sampled_from("a.` b\t\n-é"), max_size=6), min_size=1, max_size=4))
def test_what_is_joined_comes_apart_again(parts):
    assert parts_of(joined(tuple(parts))) == tuple(parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("orders", ("orders",)),
        ("lake.d.my-table", ("lake", "d", "my-table")),
        (" lake . `my.d` . t ", ("lake", "my.d", "t")),
        ("`a``.b`.c", ("a`.b", "c")),
        ("2020_t.x", ("2020_t", "x")),
    ],
)
def test_names_as_people_write_them(text, parts):
    assert parts_of(text) == parts


@pytest.mark.parametrize("text", ["", "a.", ".a", "a..b", "`a", "`a`b", "a.`b", "`a``"])
def test_what_is_no_name_is_refused_with_a_hint(text):
    with pytest.raises(StatementError) as raised:
        parts_of(text)
    assert "backticks" in str(raised.value.hint)


def test_plain_names_stay_as_they_are():
    assert joined(("lake", "d", "my-table")) == "lake.d.my-table"
    assert joined(("lake", "d.e", "t`t")) == "lake.`d.e`.`t``t`"
