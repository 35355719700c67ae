"""Bound expressions: small immutable trees by which statements are compared.

A `Column` is identified by table occurrence and Iceberg field id alone, so a renamed column is the
same column. Types are Spark's texts; None means that the type isn't known here, which is never an
error: such an expression may be compared and sent to Spark, but no in-process engine evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from rewrite import types

CUBE = -1
"""The occurrence of a cube's own stored columns, as against the columns of tables."""


class _Node(Struct, frozen=True, eq=False):
    """A record that is compared by its own `__eq__`: without types, which follow from the rest."""

    def __ne__(self, other: object) -> bool:
        return not self == other  # Struct's own would ask whether it's the same object


class Column(_Node, frozen=True, eq=False):
    """A column of one table occurrence; of the cube's rows where `occurrence` is `CUBE`.

    A struct's field is one, too, under its full name; `path` are the names that lead to it.
    """

    occurrence: int
    field_id: int
    name: str
    type: str | None
    path: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Column
            and self.occurrence == other.occurrence
            and self.field_id == other.field_id
        )

    def __hash__(self) -> int:
        return hash((self.occurrence, self.field_id))


TYPE, UNIT, ZONE = "type", "unit", "zone"
NAMING = frozenset({TYPE, UNIT, ZONE})
"""Types of literals that are no values: what a cast makes, what is truncated to, and where."""


class Literal(Struct, frozen=True):
    """A constant: its text and Spark type (`void` for NULL, or one of `NAMING`)."""

    value: str
    type: str


NULL = Literal("NULL", "void")


class Parameter(Struct, frozen=True):
    """A constant that isn't looked at: any one of its type. `is_date`: its text is a date."""

    index: int
    type: str
    is_date: bool = False


class Call(_Node, frozen=True, eq=False):
    """An operator or deterministic function, by the names listed in `rewrite.types.OPERATORS`."""

    op: str
    args: tuple[Expr, ...]
    type: str | None

    def __eq__(self, other: object) -> bool:
        return type(other) is Call and self.op == other.op and self.args == other.args

    def __hash__(self) -> int:
        return hash((self.op, self.args))


class Aggregate(_Node, frozen=True, eq=False):
    """An aggregate call; `where` is its FILTER."""

    function: str
    args: tuple[Expr, ...]
    distinct: bool
    where: Expr | None
    type: str | None

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Aggregate
            and self.function == other.function
            and self.args == other.args
            and self.distinct == other.distinct
            and self.where == other.where
        )

    def __hash__(self) -> int:
        return hash((self.function, self.args, self.distinct, self.where))


Expr = Column | Literal | Parameter | Call | Aggregate

_COMMUTATIVE = frozenset({"and", "or", "=", "<>", "<=>", "+", "*"})
_FLIPPED = {">": "<", ">=": "<="}
_OF_NULL = frozenset({"and", "or", "coalesce"})
"""NULL where all operands are."""
_NULL_OF_ANY = frozenset(
    {
        *("=", "<>", "<", "<=", ">", ">=", "not", "+", "-", "*", "/", "div", "%", "neg"),
        "cast",
        *("like", "ilike", "rlike", "contains", "startswith", "endswith", "concat", "substring"),
        *("upper", "lower", "length", "year", "month", "day", "quarter", "weekofyear"),
        *("dayofweek", "dayofyear", "date_trunc", "trunc", "hour", "minute", "second"),
    }
)
"""NULL where any operand is."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands, a FILTER included."""
    if isinstance(expr, Call):
        return expr.args
    if isinstance(expr, Aggregate):
        return (*expr.args, expr.where) if expr.where is not None else expr.args
    return ()


def is_struct(expr: Expr) -> bool:
    """Decides whether it is a table's whole struct, which in process is only tested for NULL."""
    is_stored = isinstance(expr, Column) and expr.occurrence == CUBE
    return isinstance(expr, Column) and not is_stored and (expr.type or "").startswith("struct<")


def walk(expr: Expr) -> Iterator[Expr]:
    """The tree's nodes, parents first; without recursion, since IN lists are long."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        if type(node) is Call:
            stack.extend(node.args[::-1])
        elif type(node) is Aggregate:
            stack.extend(reversed(children(node)))


def transform(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The tree with every topmost node that `change` answers replaced by the answer."""
    changed = change(expr)
    if changed is not None:
        return changed
    if isinstance(expr, Call):
        return Call(expr.op, tuple([transform(a, change) for a in expr.args]), expr.type)
    if isinstance(expr, Aggregate):
        where = None if expr.where is None else transform(expr.where, change)
        return replace(expr, args=tuple(transform(a, change) for a in expr.args), where=where)
    return expr


def columns(expr: Expr) -> set[Column]:
    """Every column named in the tree."""
    kind = type(expr)
    if kind is Column:
        return {cast(Column, expr)}
    if kind is Literal:
        return set()
    return {node for node in walk(expr) if type(node) is Column}


def occurrences(expr: Expr) -> set[int]:
    """The table occurrences that the tree names."""
    return {column.occurrence for column in columns(expr)}


def has_aggregate(expr: Expr) -> bool:
    """Whether an aggregate call stands anywhere in the tree."""
    if type(expr) is Column or type(expr) is Literal:
        return False
    return any(type(node) is Aggregate for node in walk(expr))


def exact_digits(expr: Expr) -> tuple[int, int] | None:
    """Precision and scale of an exact number: of an integer constant its own, else its type's.

    >>> exact_digits(Literal("-12", "int")), exact_digits(Column(0, 1, "x", "int"))
    ((2, 0), (10, 0))
    """
    if isinstance(expr, Literal) and expr.type in types.EXACT:
        return (len(expr.value.lstrip("-")), 0)
    return types.as_decimal(expr.type)


def below_casts(expr: Expr) -> Iterator[Expr]:
    """The expression, and what stands below each of the casts around it."""
    yield expr
    while isinstance(expr, Call) and expr.op == "cast":
        expr = expr.args[0]
        yield expr


def uncast(expr: Expr) -> Expr:
    """The expression without the casts around it."""
    *_, inner = below_casts(expr)
    return inner


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of nested ANDs, left to right.

    >>> a, b = Literal("true", "boolean"), Literal("false", "boolean")
    >>> conjuncts(Call("and", (a, Call("and", (b, a), "boolean")), "boolean")) == (a, b, a)
    True
    """
    if expr is None:
        return ()
    if isinstance(expr, Call) and expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def canonical(expr: Expr, representative: Callable[[Column], Column] = lambda c: c) -> Expr:
    """A form that is equal for expressions that differ only in operand order or equal columns.

    For comparing only: what is emitted keeps the statement's own order.

    >>> x, one = Column(0, 1, "x", "int"), Literal("1", "int")
    >>> a, b = Call(">", (x, one), "boolean"), Call("<", (one, x), "boolean")
    >>> canonical(a) == canonical(b)
    True
    """
    if isinstance(expr, Column):
        return representative(expr)
    if isinstance(expr, (Literal, Parameter)):
        return expr
    args = tuple([a if isinstance(a, Literal) else canonical(a, representative) for a in expr.args])
    if isinstance(expr, Aggregate):
        where = None if expr.where is None else canonical(expr.where, representative)
        return replace(expr, args=args, where=where)
    op = expr.op
    if op in _FLIPPED:
        op, args = _FLIPPED[op], args[::-1]
    elif op in _COMMUTATIVE:
        args = tuple(sorted(args, key=_sort_key))
    elif op == "in":
        args = (args[0], *sorted(set(args[1:]), key=_sort_key))
    return Call(op, args, expr.type)


def canonical_op(op: str) -> str:
    """The operator that a call has in its canonical form."""
    return _FLIPPED.get(op, op)


def is_null_where(expr: Expr, null: Callable[[Column], bool]) -> bool:
    """Whether the expression is surely NULL on a row in which those columns are.

    >>> x, y = Column(0, 1, "x", "int"), Column(1, 1, "y", "int")
    >>> is_null_where(Call("+", (x, y), "int"), lambda c: c == y)
    True
    >>> is_null_where(Call("coalesce", (x, y), "int"), lambda c: c == y)
    False
    """
    if isinstance(expr, Column):
        return null(expr)
    if isinstance(expr, Literal):
        return expr.type == "void"
    if not isinstance(expr, Call):
        return False
    if expr.op == "case":
        return all(is_null_where(one, null) for one in (*expr.args[1:-1:2], expr.args[-1]))
    operands = expr.args[:1] if expr.op == "in" else expr.args
    told = (is_null_where(one, null) for one in operands)
    if expr.op in _NULL_OF_ANY or expr.op == "in":
        return any(told)
    return expr.op in _OF_NULL and all(told)


def _sort_key(expr: Expr) -> tuple[Any, ...]:
    """Some total order of expressions; the first item keeps unlike kinds from being compared."""
    if isinstance(expr, Column):
        return (0, expr.occurrence, expr.field_id)
    if isinstance(expr, Literal):
        return (1, expr.type, expr.value)
    if isinstance(expr, Parameter):
        return (4, expr.index, expr.type)
    if isinstance(expr, Call):
        return (2, expr.op, len(expr.args), *map(_sort_key, expr.args))
    return (3, repr(expr))
