"""Does one predicate follow from others? Domains of single subjects, compared.

Theory: docs/rewriting.md, 2.3 and 3.3.

Only implications that hold in three-valued logic are claimed: a row on which every given conjunct
is TRUE makes the wanted one TRUE. Floating subjects are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from msgspec import Struct

from rewrite.ir.expr import Call, Column, Expr, Literal, canonical
from rewrite.types import EXACT, TIMESTAMPS, common, decimal_parts

Representative = Callable[[Column], Column]


class Domain(Struct, frozen=True):
    """Non-null values that a subject may have: listed, or between bounds (None is open)."""

    values: frozenset[Any] | None = None
    low: Any = None
    low_open: bool = False
    high: Any = None
    high_open: bool = False

    def contains(self, value: Any) -> bool:
        """Whether the value is in the domain."""
        if self.values is not None:
            return value in self.values
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        return not (
            self.high is not None and (value > self.high or (self.high_open and value == self.high))
        )

    def within(self, other: Domain) -> bool:
        """Whether every value of this domain is in the other.

        >>> Domain(low=3, high=5).within(Domain(low=3)), Domain(low=3).within(Domain(high=5))
        (True, False)
        """
        if self.values is not None:
            return all(other.contains(v) for v in self.values)
        if other.values is not None:
            return False
        return self._low_within(other) and self._high_within(other)

    def _low_within(self, other: Domain) -> bool:
        if other.low is None:
            return True
        if self.low is None or self.low < other.low:
            return False
        return self.low > other.low or not other.low_open or self.low_open

    def _high_within(self, other: Domain) -> bool:
        if other.high is None:
            return True
        if self.high is None or self.high > other.high:
            return False
        return self.high < other.high or not other.high_open or self.high_open

    def intersect(self, other: Domain) -> Domain:
        """The values in both."""
        if self.values is not None:
            return Domain(frozenset(v for v in self.values if other.contains(v)))
        if other.values is not None:
            return other.intersect(self)
        low, high = self, self
        if (
            self.low is None
            or (other.low is not None and other.low > self.low)
            or (other.low == self.low and other.low_open)
        ):
            low = other
        if (
            self.high is None
            or (other.high is not None and other.high < self.high)
            or (other.high == self.high and other.high_open)
        ):
            high = other
        return Domain(None, low.low, low.low_open, high.high, high.high_open)


def domain_of(conjunct: Expr) -> tuple[Expr, Domain] | None:
    """Subject and domain of a comparison with constants; None for any other predicate."""
    match conjunct:
        case Call(op="in", args=(subject, *items)):
            values = [_value(i, subject) for i in items]
            if any(v is None for v in values):
                return None
            return subject, Domain(frozenset(values))
        case Call(op="=" | "<" | "<=" | ">" | ">=" as found, args=(left, right)):
            op: str = found
            if isinstance(left, Literal):
                left, right = right, left
                op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
            value = _value(right, left)
            if value is None or isinstance(left, Literal):
                return None
            return left, _comparison(op, value)
        case Call(op="not", args=(Call(op="is_null", args=(subject,)),)):
            return subject, Domain()
    return None


def _comparison(op: str, value: Any) -> Domain:
    if op == "=":
        return Domain(frozenset({value}))
    if op in ("<", "<="):
        return Domain(high=value, high_open=op == "<")
    return Domain(low=value, low_open=op == ">")


def _value(expr: Expr, subject: Expr) -> Any:
    """The constant in the subject's order; None where comparing them takes a cast."""
    if not isinstance(expr, Literal):
        return None
    exact = EXACT
    if (subject.type in exact or decimal_parts(subject.type)) and (
        expr.type in exact or decimal_parts(expr.type)
    ):
        # Where the digits of both don't fit one type, Spark rounds before it compares.
        fits = common([subject.type, expr.type]) is not None
        return Decimal(expr.value) if fits else None
    if subject.type == expr.type == "date":
        return date.fromisoformat(expr.value)
    if subject.type == expr.type and expr.type in TIMESTAMPS:
        return expr.value  # of one width, so that texts are in the order of time
    # Spark orders strings by their UTF-8 bytes, which is the order of code points, as Python's.
    return expr.value if subject.type == expr.type == "string" else None


def implies(given: Iterable[Expr], wanted: Expr, representative: Representative) -> bool:
    """Whether `wanted` is TRUE on every row on which all of `given` are TRUE."""
    given = list(given)
    aim = domain_of(wanted)
    if aim is None:
        if isinstance(wanted, Call) and wanted.op == "or":
            return any(implies(given, branch, representative) for branch in wanted.args)
        return False
    subject = canonical(aim[0], representative)
    domain, found = Domain(), False
    for conjunct in given:
        mine = domain_of(conjunct)
        if mine is not None and canonical(mine[0], representative) == subject:
            domain, found = domain.intersect(mine[1]), True
        elif aim[1] == Domain() and _rejects_null(conjunct, subject, representative):
            found = True
    return found and domain.within(aim[1])


def _rejects_null(conjunct: Expr, subject: Expr, representative: Representative) -> bool:
    """An equality or comparison is never TRUE where one side is NULL."""
    if not isinstance(conjunct, Call) or conjunct.op not in ("=", "<", "<=", ">", ">=", "<>"):
        return False
    return any(canonical(a, representative) == subject for a in conjunct.args)
