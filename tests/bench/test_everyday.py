"""The 300 everyday statements, which nobody edits, and what becomes of a statement's replies."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
import sqlglot

from bench.everyday.statements import KINDS, SQL, statements

STATEMENTS = statements()
ROWS = 2_000_000
DIGEST = "7a801f097172d7f71f21feb7275a30797dbefe6ae023cccdd6ae42910c3a6f50"
"""Of the statements and their literals in four rounds. They were written before the work that they
measure and are never edited, so this line isn't either."""
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def test_there_are_15_kinds_of_20() -> None:
    assert Counter(one.kind for one in STATEMENTS) == dict.fromkeys(KINDS, 20)
    assert len(KINDS) == 15
    assert sorted(path.stem for path in SQL.iterdir()) == sorted(KINDS)


def test_no_statement_comes_twice() -> None:
    assert len({" ".join(one.template.lower().split()) for one in STATEMENTS}) == 300
    assert len({one.name for one in STATEMENTS}) == 300


def test_nobody_edits_the_statements() -> None:
    digest = hashlib.sha256()
    for one in STATEMENTS:
        for run in range(4):
            digest.update(f"{one.name}\n{one.zone}\n{one.text(run, ROWS)}\n".encode())
    assert digest.hexdigest() == DIGEST


@EVERY_KIND
def test_statements_parse_and_draw_literals(kind: str) -> None:
    for one in (one for one in STATEMENTS if one.kind == kind):
        texts = [one.text(run, ROWS) for run in range(10)]
        assert texts == [one.text(run, ROWS) for run in range(10)], one.name
        assert len(set(texts)) > 1 or "{" not in one.template, one.name
        for text in texts:
            assert sqlglot.parse_one(text, dialect="spark").selects, one.name


def test_half_of_the_clock_times_are_berlins() -> None:
    zones = Counter(one.zone for one in STATEMENTS if one.kind == "clock_times")
    assert zones == {"UTC": 10, "Europe/Berlin": 10}
    assert {one.zone for one in STATEMENTS} == set(zones)


def test_a_limit_has_an_order() -> None:
    for one in STATEMENTS:
        tree = sqlglot.parse_one(one.text(0, ROWS), dialect="spark")
        assert not tree.args.get("limit") or tree.args.get("order"), one.name
