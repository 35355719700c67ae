"""Predicates of a statement, judged by what the manifests say of each data file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Context, Decimal
from functools import reduce
from operator import and_, or_
from typing import Any, Protocol

from indexes.bounds import ColumnBounds, Verdict, compare, is_null
from rewrite import types
from rewrite.expr import Call, Column, Expr, Literal
from rewrite.instant import micros_of

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_EPOCH = date(1970, 1, 1).toordinal()
_ITEMS_MAX = 100
"""Items of a list that are compared one by one with every file's bounds."""
_UNSURE: Any = object()
_EXACTLY = Context(prec=64)
"""Wider than any constant: Python's own context rounds to 28 digits."""


class Told(Protocol):
    """One column in n files."""

    @property
    def bounds(self) -> ColumnBounds:
        """Its counts and bounds."""
        ...


class Statistics(Protocol):
    """What is known of n files, or of n row groups."""

    def __len__(self) -> int: ...

    def column(self, field_id: int, type_: str) -> Told:
        """The column of that Spark type."""
        ...


def judge(conjuncts: Sequence[Expr], statistics: Statistics) -> Verdict:
    """What is proven of the conjunction in each file; every column is of the one table."""
    files = len(statistics)
    verdicts = (_judged(c, statistics) for c in conjuncts)
    return reduce(and_, verdicts, Verdict.constant(files, True))


def _judged(expr: Expr, statistics: Statistics) -> Verdict:
    files = len(statistics)
    match expr:
        case Literal(value=value, type="boolean"):
            return Verdict.constant(files, value == "true")
        case Literal(type="void"):
            return Verdict.constant(files, None)
        case Call(op="and", args=args):
            return reduce(and_, (_judged(a, statistics) for a in args))
        case Call(op="or", args=args):
            return reduce(or_, (_judged(a, statistics) for a in args))
        case Call(op="not", args=(inner,)):
            return ~_judged(inner, statistics)
        case Call(op="is_null", args=(Column() as column,)):
            return is_null(_statistics(column, statistics).bounds)
        case Call(op="in", args=(Column() as column, *items)):
            if len(items) > _ITEMS_MAX:
                return _among(column, items, statistics)
            return reduce(or_, (_compared(column, "=", item, statistics) for item in items))
        case Call(op="<>", args=(left, right)):
            return ~_judged(Call("=", (left, right), "boolean"), statistics)
        case Call(op=op, args=(Column() as column, Literal() as literal)) if op in _FLIPPED:
            return _compared(column, op, literal, statistics)
        case Call(op=op, args=(Literal() as literal, Column() as column)) if op in _FLIPPED:
            return _compared(column, _FLIPPED[op], literal, statistics)
    return Verdict.unknown(files)


def _among(column: Column, items: Sequence[Expr], statistics: Statistics) -> Verdict:
    """A long list by its smallest and its largest item alone: which files have none of them."""
    values = [
        _value(item, column.type or "") if isinstance(item, Literal) else _UNSURE for item in items
    ]
    files = len(statistics)
    if any(value is _UNSURE for value in values):
        return Verdict.unknown(files)
    bounds = _statistics(column, statistics).bounds
    between = compare(bounds, ">=", min(values)) & compare(bounds, "<=", max(values))
    no = Verdict.unknown(files).all_true
    return Verdict(no, between.all_false, between.none_true, no)


def _statistics(column: Column, statistics: Statistics) -> Told:
    return statistics.column(column.field_id, column.type or "unknown")


def _compared(column: Column, op: str, item: Expr, statistics: Statistics) -> Verdict:
    files = len(statistics)
    if isinstance(item, Literal) and item.type == "void":
        return Verdict.constant(files, None)
    value = _value(item, column.type or "") if isinstance(item, Literal) else _UNSURE
    if value is _UNSURE:
        return Verdict.unknown(files)
    return compare(_statistics(column, statistics).bounds, op, value)


def _value(literal: Literal, type_: str) -> Any:
    """The constant as the column's bounds are kept; `_UNSURE` where comparing takes a cast."""
    exact = literal.type in types.EXACT or types.decimal_parts(literal.type) is not None
    parts = types.decimal_parts(type_)
    if exact and (type_ in types.EXACT or parts is not None):
        scaled = Decimal(literal.value).scaleb(parts[1] if parts is not None else 0, _EXACTLY)
        whole = int(scaled)
        return whole if whole == scaled and abs(whole) < 2**63 else _UNSURE
    if type_ == "date" and literal.type == "date":
        return date.fromisoformat(literal.value).toordinal() - _EPOCH
    if type_ == literal.type and type_ in types.TIMESTAMPS:
        return micros_of(literal.value)
    if type_ == "string" and literal.type == "string":
        return literal.value.encode()
    if type_ == "double" and literal.type == "double":
        return float(literal.value)
    return _UNSURE
