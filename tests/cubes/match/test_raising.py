"""Which parts of expressions prove, by raising for no row of one table, that nothing raises."""

from __future__ import annotations

import pytest

from cubes.may_raise import may_raise, proving_parts
from rewrite.bind.expressions import bind
from rewrite.bind.names.scopes import ColumnScope
from rewrite.facts import At, ColumnFacts, TableFacts
from rewrite.ir.block import Occurrence
from rewrite.ir.expr import Expr
from rewrite.parse.parse import parse

_COLUMNS = {"a": "int", "b": "int", "s": "string"}
_FACTS = tuple(ColumnFacts(i, n, t, False) for i, (n, t) in enumerate(_COLUMNS.items(), start=1))
_NAMES = ColumnScope(
    [
        Occurrence(n, (name,), (name,), TableFacts(name, name, 1, 0, _FACTS), At())
        for n, name in enumerate("fd")
    ]
)


def _bound(text: str) -> Expr:
    return bind(parse(f"SELECT {text}").expressions[0], _NAMES)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("f.a > d.b", []),
        ("f.a % f.b = 0", ["f.a % f.b = 0"]),
        ("f.a % f.b = d.a", ["f.a % f.b"]),
        ("f.a % f.b = d.a % d.b", ["f.a % f.b", "d.a % d.b"]),
        ("f.a % f.b = 0 OR f.a = d.a", ["f.a % f.b = 0"]),
        ("f.a % f.b = 0 OR f.a % f.b = d.a", ["f.a % f.b = 0", "f.a % f.b"]),
        ("CASE WHEN f.b > 0 THEN f.a % f.b END = 1", ["CASE WHEN f.b > 0 THEN f.a % f.b END = 1"]),
        ("CASE WHEN d.b > 0 THEN f.a % f.b END = 1", ["f.a % f.b"]),
        ("coalesce(d.b, f.a % f.b) = 1", ["f.a % f.b"]),
        ("f.s = 1", ["f.s = 1"]),
        ("f.s = f.a", ["f.s = f.a"]),
        ("f.a % d.b = 0", None),
        ("f.a + d.b > 0", None),
        ("f.s = d.a", None),
        ("5 % 0 = f.a", None),
        ("f.a % f.b = 0 AND f.a % d.b = 0", None),
    ],
)
def test_the_largest_parts_of_one_table(text: str, parts: list[str] | None) -> None:
    found = proving_parts([_bound(text)], lambda _: False)
    assert found == (None if parts is None else tuple(map(_bound, parts)))
    assert may_raise([_bound(text)]) == (found != ())


def test_what_is_known_to_raise_nothing_is_not_tested() -> None:
    assert proving_parts([_bound("f.a + d.b > 0")], lambda call: call.op == "+") == ()


def test_each_part_is_tested_once() -> None:
    exprs = [_bound("f.a % f.b = d.a"), _bound("f.a % f.b < d.b")]
    assert proving_parts(exprs, lambda _: False) == (_bound("f.a % f.b"),)


def test_rows_that_a_left_join_pads_are_not_of_the_table() -> None:
    exprs = [_bound("5 % coalesce(d.b, 0) = 0")]
    assert proving_parts(exprs, lambda _: False, {1}) is None
    assert proving_parts(exprs, lambda _: False, {0}) == tuple(exprs)
