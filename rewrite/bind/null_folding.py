"""Statements that plain Spark fails inside for: a NULL that its optimiser made stands as a value.

Spark turns `l = 1.5`, of a whole number l, into `l IS NULL AND NULL`. As a condition that is FALSE;
as a value, `(l = 1.5) IS NULL`, it's handed to the table's scan, which takes no bare NULL under AND
(`V2ExpressionBuilder`, Spark 4.1). Which of its rules comes first can't be told for certain here,
so what may become such a value declines. One pass over the expressions, however deep they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal, InvalidOperation
from enum import Enum, auto

from rewrite import types
from rewrite.functions import table as functions
from rewrite.ir.expr import (
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    below_casts,
    canonical,
    children,
    uncast,
    walk,
)
from rewrite.ir.integer_ranges import RAISING, WHOLE, compares_by_cast, raises_nothing
from rewrite.reason import DeclinedError

_TREE = frozenset({"and", "or", "not"})
_ORDERING = frozenset({"<", "<=", ">", ">="})
_COMPARED = frozenset({"=", "<>", "in", *_ORDERING})
_EXACT = Context(prec=100)


class _Place(Enum):
    """What Spark does with a NULL there."""

    CONDITION = auto()
    """It's as good as FALSE."""
    DENIED = auto()
    """As a condition, but below NOT: there Spark takes the conditions of CASE for values."""
    COMPUTED = auto()
    """A value, but that conditions of CASE in it are conditions."""
    VALUE = auto()
    """A value throughout: Spark may push what is around a CASE into it."""


_TESTED = (_Place.CONDITION, _Place.DENIED)


def check_folded(conditions: Iterable[Expr], computed: Iterable[Expr]) -> None:
    """DeclinedError where plain Spark may fail inside; `computed` are keys and arguments."""
    tests = list(conditions)
    stack = [(expr, _Place.CONDITION) for expr in tests]
    stack += [(expr, _Place.COMPUTED) for expr in computed]
    told = _NullFacts(_equalled(tests))
    while stack:
        expr, place = stack.pop()
        if isinstance(expr, Aggregate):
            stack += [(arg, _Place.COMPUTED) for arg in expr.args]
        if not isinstance(expr, Call):
            continue
        if place in _TESTED or expr.op not in _TREE:
            if place not in _TESTED and told.may_hold_null(expr):
                raise DeclinedError("folded_null")
            stack += _operands(expr, place, told)
            continue
        leaves = _leaves(expr)
        several = expr.op != "not" or len(leaves) > 1
        if several and (any(map(told.may_be_null, leaves)) or told.repeats(leaves)):
            raise DeclinedError("folded_null")
        stack += [(leaf, place) for leaf in leaves]


def check_constants(computed: Iterable[Expr], tested: Iterable[Expr] = ()) -> None:
    """DeclinedError if Spark may raise while it computes constants.

    Its ConstantFolding does so before it reads a row. A plan of ours may never compute them: where
    no row passes, or where a FILTER became a CASE, whose constants Spark leaves for the rows. Of
    the conditions only functions are looked at: operators of constants decline in planning.
    """
    nodes = [node for expr in computed for node in walk(expr)]
    nodes += [
        node
        for expr in tested
        for node in walk(expr)
        if isinstance(node, Call) and node.op in functions.RAISING
    ]
    if any(isinstance(node, Call) and _may_raise_folded(node) for node in nodes):
        raise DeclinedError("may_raise", "Spark computes its constants before any row.")


def _may_raise_folded(call: Call) -> bool:
    if compares_by_cast(call):
        return any(arg.type == "string" and _is_constant(arg) for arg in call.args)
    if call.op == "cast":
        spared = call.type == "string" or call.args[0].type == "void"
    elif call.op in ("/", "div", "%"):
        spared = _is_nonzero(call.args[1])
    elif call.op in functions.RAISING:
        spared = False
    else:
        spared = call.op not in RAISING or not types.is_numeric(call.type)
    return not spared and _is_constant(call) and not raises_nothing(call)


def _is_constant(expr: Expr) -> bool:
    return not any(isinstance(node, (Column, Aggregate)) for node in walk(expr))


def _is_nonzero(expr: Expr) -> bool:
    try:
        return isinstance(expr, Literal) and Decimal(expr.value) != 0
    except InvalidOperation:
        return False


def _operands(call: Call, place: _Place, told: _NullFacts) -> list[tuple[Expr, _Place]]:
    if call.op == "case" and place is not _Place.VALUE:
        last = len(call.args) - 1
        given = _Place.VALUE if place in _TESTED else place
        compared = place is _Place.DENIED or (
            place is _Place.CONDITION and told.compares_condition(call)
        )
        tested = _Place.VALUE if compared else _Place.CONDITION
        return [
            (arg, given if i % 2 or i == last else _tested(arg, place, tested))
            for i, arg in enumerate(call.args)
        ]
    if place in _TESTED:
        denied = _Place.DENIED if call.op == "not" else place
        place = denied if call.op in _TREE else _Place.VALUE
    elif call.op in types.BOOLEAN_OPERATORS or call.op == "coalesce":
        place = _Place.VALUE
    return [(arg, place) for arg in call.args if isinstance(arg, (Call, Aggregate))]


def _tested(condition: Expr, place: _Place, tested: _Place) -> _Place:
    """Returns the place of a CASE's condition; a CASE inside one that is computed is computed."""
    nested = isinstance(condition, Call) and condition.op == "case"
    return place if nested and place is _Place.COMPUTED else tested


def _leaves(expr: Call) -> list[Expr]:
    """What stands below its AND, OR and NOT."""
    found, stack = list[Expr](), list[Expr]([expr])
    while stack:
        one = stack.pop()
        if isinstance(one, Call) and one.op in _TREE:
            stack += one.args
        else:
            found.append(one)
    return found


def _equalled(tests: Iterable[Expr]) -> Mapping[Column, Literal]:
    """Columns that a condition of its own equals to a constant, which Spark puts in their place."""
    found: dict[Column, Literal] = {}
    for test in tests:
        if isinstance(test, Call) and test.op == "=":
            sides = [uncast(arg) for arg in test.args]
            for one, other in (sides, sides[::-1]):
                if isinstance(one, Column) and isinstance(other, Literal):
                    found[one] = other
    return found


class _NullFacts:
    """What is known of expressions, each looked at once."""

    def __init__(self, equalled: Mapping[Column, Literal]) -> None:
        self._equalled = equalled
        self._seen: dict[int, tuple[bool, bool]] = {}

    def _of(self, expr: Expr) -> tuple[bool, bool]:
        """Whether no column or aggregate stands in it, and whether a NULL does."""
        stack = [expr]
        while stack:
            one = stack[-1]
            if id(one) in self._seen:
                stack.pop()
                continue
            below = children(one)
            waiting = [arg for arg in below if id(arg) not in self._seen]
            if waiting:
                stack += waiting
                continue
            known = [self._seen[id(arg)] for arg in below]
            constant = not isinstance(one, (Column, Aggregate)) and all(k[0] for k in known)
            null = isinstance(one, Literal) and one.type == "void"
            self._seen[id(one)] = constant, null or any(k[1] for k in known)
            stack.pop()
        return self._seen[id(expr)]

    def may_be_null(self, leaf: Expr) -> bool:
        """Whether it may come to NULL, or to a constant, whatever the row."""
        if isinstance(leaf, Literal):
            return leaf.type != "boolean"
        return any(self._of(leaf))

    def compares_condition(self, case: Call) -> bool:
        """Returns whether Spark may make `c <=> TRUE` of CASE WHEN c: c is a value then.

        Spark does so if of two branches one is TRUE and the other FALSE.
        """
        open_ = [one for one in case.args[:-1:2] if not self._of(one)[0]]
        if case.type != "boolean" or len(open_) > 1:
            return False
        given = (*case.args[1:-1:2], case.args[-1])
        return sum(map(self._may_be_constant, given)) > 1

    def _may_be_constant(self, value: Expr) -> bool:
        """Returns whether Spark may simplify a boolean to TRUE or to FALSE."""
        stack = [value]
        while stack:
            one = stack.pop()
            if self._of(one)[0]:
                return True
            if not isinstance(one, Call):
                continue
            if one.op in _TREE or one.op in ("case", "coalesce"):
                if one.op != "not" and self.repeats(_leaves(one)):
                    return True
                stack += one.args
            elif (
                one.op == "is_null"
                or (one.op in types.COMPARISONS and len(set(one.args)) == 1)
                or self.may_hold_null(one)
            ):  # a required column
                return True
        return False

    def may_hold_null(self, call: Call) -> bool:
        """Whether Spark may make of a comparison an AND or OR that has a bare NULL below it."""
        if call.op not in _COMPARED:
            return False
        constants = [arg for arg in call.args if self._of(arg)[0]]
        values = [arg for arg in call.args if not self._of(arg)[0]]
        if constants and any(self._gives_null(uncast(value)) for value in values):
            return True
        own = {one.type for value in values for one in below_casts(value)}
        beside = [any(_is_beside(call.op, type_, one) for type_ in own) for one in constants]
        if all(beside) if call.op == "in" and constants else any(beside):
            return True  # Spark takes out of IN what no value is, and leaves the others
        bare = [one for one in map(uncast, values) if isinstance(one, Column)]
        equalled = [self._equalled[one] for one in bare if one in self._equalled]
        return any(_is_beside(call.op, type_, one) for one in equalled for type_ in own)

    def _gives_null(self, value: Expr) -> bool:
        """Whether it's a CASE of constants, NULL among them, in whose branches Spark compares."""
        if not isinstance(value, Call) or value.op != "case":
            return False
        constants = [a for a in (*value.args[1:-1:2], value.args[-1]) if self._of(a)[0]]
        return len(constants) > 1 and any(self._of(one)[1] for one in constants)

    def repeats(self, leaves: Iterable[Expr]) -> bool:
        """Whether a test is among them twice, maybe denied: `a AND NOT a` is FALSE, or NULL."""
        seen = set[Expr]()
        try:
            for leaf in leaves:
                test = _test_of(leaf)
                if test in seen:
                    return True
                seen.add(test)
        except RecursionError:  # so deep a test isn't compared
            return True
        return False


def _test_of(leaf: Expr) -> Expr:
    """The test in a form that its denial has as well, and whatever Spark takes for the same."""
    if not isinstance(leaf, Call):
        return leaf
    op, args = leaf.op, leaf.args
    if op == "in":
        own = {one.type for one in below_casts(args[0])}
        inside = [one for one in args[1:] if not any(_is_beside(op, type_, one) for type_ in own)]
        args = (args[0], *inside)
    args = tuple(_plain(arg) for arg in args)
    if op == "in" and len(args) == 2:
        op = "="
    if op == "like" and isinstance(args[1], Literal):
        head = args[1].value.removesuffix("%")
        if not {"%", "_", "\\"} & set(head):
            op = "=" if head == args[1].value else "startswith"
            args = (args[0], Literal(head, "string"))
    found = canonical(Call(op, args, "boolean"))
    if isinstance(found, Call) and found.op == "<>":
        return Call("=", found.args, "boolean")
    if isinstance(found, Call) and found.op == "<=":  # there is no > or >= in this form
        return Call("<", found.args[::-1], "boolean")
    return found


def _plain(expr: Expr) -> Expr:
    """Without casts around it; a number by its value alone."""
    expr = uncast(expr)
    if isinstance(expr, Literal) and types.is_numeric(expr.type):
        return Literal(str(Decimal(expr.value).normalize(_EXACT)), "number")
    return expr


def _is_beside(op: str, type_: str | None, constant: Expr) -> bool:
    """Whether Spark may find that no value of the type is the constant, or that all are beside."""
    given = constant.type
    if type_ == given or given in ("void", "string", None):
        return False
    if type_ == "date":
        return given in types.TIMESTAMPS
    if type_ not in WHOLE and type_ != "float" and types.decimal_parts(type_) is None:
        return False
    if (type_, given) == ("bigint", "int"):
        return False
    if not isinstance(constant, Literal) or type_ == "float":
        return True
    number, (least, most, step) = Decimal(constant.value), _extent(type_ or "")
    if op in _ORDERING:
        return not least < number < most
    return not (least <= number <= most and _EXACT.remainder(number, step) == 0)


def _extent(type_: str) -> tuple[Decimal, Decimal, Decimal]:
    """The least and the most that the type holds, and the step between its values."""
    if type_ in WHOLE:
        least, most = WHOLE[type_]
        return Decimal(least), Decimal(most), Decimal(1)
    precision, scale = types.decimal_parts(type_) or (0, 0)
    most_ = Decimal(10**precision - 1).scaleb(-scale)
    return -most_, most_, Decimal(1).scaleb(-scale)
