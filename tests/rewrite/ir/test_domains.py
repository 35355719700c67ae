"""Domains and implication against brute force over a few integers and NULL."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rewrite.ir.expr import Call, Column, Expr, Literal
from rewrite.ir.implication import Domain, implies
from tests.support.extent import sized

_VALUES = range(-1, 6)
_A, _B = Column(0, 1, "a", "int"), Column(0, 2, "b", "int")

_bounds = st.none() | st.integers(0, 4)
_domains = st.builds(Domain, st.none(), _bounds, st.booleans(), _bounds, st.booleans()) | st.builds(
    Domain, st.frozensets(st.integers(0, 4))
)


def _members(domain: Domain) -> set[int]:
    return {v for v in _VALUES if domain.contains(v)}


@given(_domains, _domains)
def test_intersect_is_exact(a: Domain, b: Domain) -> None:
    assert _members(a.intersect(b)) == _members(a) & _members(b)


@given(_domains, _domains)
def test_within_is_never_wrong(a: Domain, b: Domain) -> None:
    if a.within(b):
        assert _members(a) <= _members(b)


@given(_domains)
def test_a_domain_is_within_itself_and_in_the_open_one(a: Domain) -> None:
    assert a.within(a)
    assert a.within(Domain())


def _literal(value: int | None) -> Literal:
    return Literal("NULL", "void") if value is None else Literal(str(value), "int")


def _atom(r: Random) -> Call:
    def literal() -> Literal:
        return _literal(r.choice((None, 0, 1, 2, 3, 4)))

    column, kind = r.choice((_A, _B)), r.random()
    if kind < 0.6:
        args = column, r.choice((_A, _B)) if r.random() < 0.25 else literal()
        op = r.choice(("=", "<", "<=", ">", ">=", "<>", "<=>"))
        return Call(op, args if r.random() < 0.5 else args[::-1], "boolean")
    if kind < 0.85:
        return Call("in", (column, *(literal() for _ in range(r.randint(1, 3)))), "boolean")
    return Call("is_null", (column,), "boolean")


def _predicate(r: Random, leaves: int = 4) -> Expr:
    """One of so many atoms at most, some of them negated."""
    if leaves < 2 or r.random() < 0.5:
        atom = _atom(r)
        return Call("not", (atom,), "boolean") if r.random() < 0.3 else atom
    inner = r.randint(2, min(leaves, 3))
    args = tuple(_predicate(r, leaves // inner) for _ in range(inner))
    return Call(r.choice(("and", "or")), args, "boolean")


def _value(expr: Expr, row: dict[Column, int | None]) -> Any:
    """Three-valued evaluation: True, False or None."""
    if isinstance(expr, Column):
        return row[expr]
    if isinstance(expr, Literal):
        return None if expr.type == "void" else int(expr.value)
    assert isinstance(expr, Call)
    args = [_value(a, row) for a in expr.args]
    if expr.op == "is_null":
        return args[0] is None
    if expr.op == "not":
        return None if args[0] is None else not args[0]
    if expr.op == "<=>":
        return args[0] == args[1]
    if expr.op == "and":
        return False if False in args else None if None in args else True
    if expr.op == "or":
        return True if True in args else None if None in args else False
    if expr.op == "in":
        if args[0] is None:
            return None
        return True if args[0] in args[1:] else None if None in args else False
    left, right = args
    if left is None or right is None:
        return None
    return {
        "=": left == right,
        "<>": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[expr.op]


def test_implies_is_never_wrong() -> None:
    """Of random predicates, drawn plainly: hypothesis would take a hundred times as long."""
    r, implied = Random(11), 0
    for _ in range(sized(15_000, full=150_000)):
        given_, wanted = [_predicate(r) for _ in range(r.randrange(4))], _predicate(r)
        if not implies(given_, wanted, lambda c: c):
            continue
        implied += 1
        for a, b in product((None, *_VALUES), repeat=2):
            row = {_A: a, _B: b}
            if all(_value(g, row) is True for g in given_):
                assert _value(wanted, row) is True, (given_, wanted, row)
    assert implied > sized(150, full=1_500)


def _call(op: str, *args: Expr) -> Call:
    return Call(op, args, "boolean")


def _implied(given_: list[Expr], wanted: Expr) -> bool:
    return implies(given_, wanted, lambda c: c)


def test_implications_that_must_hold() -> None:
    one, two, three = (Literal(str(n), "int") for n in (1, 2, 3))
    assert _implied([_call(">", _A, two)], _call(">=", _A, two))
    assert _implied([_call("<", two, _A)], _call(">", _A, one))
    assert _implied([_call("=", _A, two)], _call("in", _A, one, two, three))
    assert _implied(
        [_call(">=", _A, one), _call("<=", _A, one)], _call(">", _A, Literal("0", "int"))
    )
    assert _implied([_call("=", _A, _B)], _call("not", _call("is_null", _A)))
    assert _implied([_call("=", _A, two)], _call("or", _call("=", _B, one), _call(">", _A, one)))
    assert _implied([_call("=", _A, Literal("1.50", "decimal(3,2)"))], _call(">", _A, one))


def test_implications_that_must_not() -> None:
    one, two = Literal("1", "int"), Literal("2", "int")
    text, day = Column(0, 3, "s", "string"), Column(0, 4, "d", "date")
    floating = Column(0, 5, "x", "double")
    assert not _implied([], _call("not", _call("is_null", _A)))
    assert not _implied([_call(">=", _A, one)], _call(">", _A, one))
    assert not _implied([_call("is_null", _A)], _call("<", _A, two))
    assert not _implied([_call("=", _B, one)], _call("=", _A, one))
    assert not _implied([_call("<=>", _A, _B)], _call("not", _call("is_null", _A)))
    assert not _implied([_call("=", text, one)], _call("=", text, Literal("1", "string")))
    assert not _implied(
        [_call(">", day, Literal("2020-1-5", "string"))],
        _call(">", day, Literal("2020-01-01", "date")),
    )
    assert not _implied([_call(">", floating, one)], _call(">", floating, Literal("0", "int")))


def test_a_comparison_that_spark_rounds_has_no_domain() -> None:
    """An int and 36 digits behind the point don't fit one type: Spark's constant is 1 there."""
    long = "1." + "0" * 35 + "1"
    for constant, claimed in ((Literal(long, "decimal(37,36)"), False), (_literal(2), True)):
        given_ = [Call("<=", (_A, _literal(1)), "boolean")]
        wanted = Call("<", (_A, constant), "boolean")
        assert implies(given_, wanted, lambda c: c) is claimed
