"""Names of outputs without an alias: Spark's own, or none.

`spark_names.json` has what Spark 4.1 called each expression; `tests/spark/test_output_names.py`
asks it again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlglot import exp
from sqlglot.errors import ParseError

from rewrite.bind.names.output_name import output_name
from rewrite.parse.parse import parse

_SAID: list[tuple[str, str]] = json.loads((Path(__file__).parent / "spark_names.json").read_text())
_KNOWN = 0.85
"""Of the names below; the others are those of doubles, times, intervals and other functions."""


def _named(expr: str) -> str | None:
    try:
        (item,) = parse(f"SELECT {expr} FROM t").expressions
    except ParseError:
        return None  # Spark is asked for the whole statement
    return output_name(item)


def test_a_name_is_sparks_or_none() -> None:
    found = {expr: _named(expr) for expr, _ in _SAID}
    wrong = {expr: found[expr] for expr, name in _SAID if found[expr] not in (None, name)}
    assert not wrong
    known = sum(one is not None for one in found.values())
    assert known >= len(_SAID) * _KNOWN


@pytest.mark.parametrize(
    ("expr", "name"),
    [
        ("sum(a.b)", "sum(b)"),
        ("a.b.c", "c"),
        ("count(DISTINCT a, b)", "count(DISTINCT a, b)"),
        ("count(if(a <> 1, b, NULL))", "count((IF((NOT (a = 1)), b, NULL)))"),
        ("STD(a) FILTER (WHERE b > 1)", "std(a) FILTER (WHERE (b > 1))"),
        ("var_samp(a) + variance(a)", "(var_samp(a) + variance(a))"),
        ("mean(DISTINCT a)", "mean(DISTINCT a)"),
        ("i < 1.5", None),
        ("-0.5 >= i", None),
        (
            "i IS NOT NULL /* not null */ AND NOT j IS NULL",
            "((i IS NOT NULL) AND (NOT (j IS NULL)))",
        ),
        ("'is not null' IS NULL", "(is not null IS NULL)"),
        ("theirs(i)", None),
        ("max(substr(s FROM 2))", "max(substring(s, 2, 2147483647))"),
        ("substr(upper(s) FROM 2 FOR 3)", "substring(upper(s), 2, 3)"),
        ("substr(s, 2)", "substr(s, 2, 2147483647)"),
        ("to_date(s, 'yyyy')", "to_date(s, yyyy)"),
        ("to_timestamp(s)", None),
        ("max(bigint(i))", None),
        ("DATE '2020-02-30'", None),
        ("9" * 40 + ".5", "9" * 40 + ".5"),
        ("0.0000005", None),
        ("0.0000050", "0.0000050"),
        ("0.000005", "0.000005"),
        ("0.10000000", "0.10000000"),
        ("trunc(trunc(d, 'MM'), 'year')", "trunc(trunc(d, MM), year)"),
        ("extract(Year FROM trunc(d, 'mon'))", "extract(Year FROM trunc(d, mon))"),
        ("CAST(CAST(i AS INT) AS BIGINT)", "CAST(CAST(i AS INT) AS BIGINT)"),
    ],
)
def test_names(expr: str, name: str | None) -> None:
    assert _named(expr) == name


def test_a_long_chain_is_balanced_without_recursion_over_its_length() -> None:
    chain = " AND ".join(f"a{i}" for i in range(5_000))
    found = _named(chain)
    assert found is not None
    assert found.count("(") == found.count(")") == 4_999


def test_a_comment_that_looks_like_a_mark_is_none() -> None:
    with pytest.raises(ParseError):
        parse("SELECT i /*\0said:is not null*/ FROM t")


def test_a_tree_that_was_not_read_has_no_marks() -> None:
    tree = exp.Not(this=exp.Is(this=exp.column("i"), expression=exp.Null()))
    assert output_name(tree) == "(NOT (i IS NULL))"
