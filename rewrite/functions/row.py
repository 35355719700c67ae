"""A row of the function table: a function's words, the parser's nodes for it, and its forms.

A signature lists the kinds of arguments, Spark's type of the result, and the text by which DuckDB
computes the same. If only Spark can compute a value, the text raises `LEFT` for that row, and the
plain statement answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from rewrite import types

LEFT, BY_ZERO = "left to Spark", "division by zero"
"""Errors of a value of which only Spark knows the function's result, and of a zero divisor."""
RAISE, RAISE_BY_ZERO = (f"error('{text}')" for text in (LEFT, BY_ZERO))
"""DuckDB's texts that raise them."""


class BoundArgument(Protocol):
    """A bound expression."""

    @property
    def type(self) -> str | None:
        """Spark's type, if it's known."""
        ...


Arguments = Sequence[BoundArgument]
Gives = Callable[[Arguments], str | None]
Writes = Callable[[Arguments, Sequence[str]], str]


class Signature(Struct, frozen=True):
    """One way in which a function is called.

    `takes` has a kind for each argument (`is_of_kind`); the last may stand more often if `repeats`.
    `gives` is Spark's type of the result, None for arguments that aren't proven after all.
    `duckdb` is a text with `{0}`, `{1}`, … for the arguments, or a function that writes one. Spark
    raises for some values if `raises`.
    """

    takes: tuple[str, ...]
    gives: str | Gives
    duckdb: str | Writes
    raises: bool = False
    repeats: bool = False

    def kinds(self, count: int) -> tuple[str, ...] | None:
        """The kind of each of so many arguments; None if the form takes fewer or more."""
        if self.repeats and count > len(self.takes):
            return self.takes + self.takes[-1:] * (count - len(self.takes))
        return self.takes if count == len(self.takes) else None

    def type_of(self, args: Arguments) -> str | None:
        """Spark's type of the call; None if the form isn't of such arguments."""
        kinds = self.kinds(len(args))
        if kinds is None or not all(map(is_of_kind, args, kinds)):
            return None
        return self.gives if isinstance(self.gives, str) else self.gives(args)

    def text(self, args: Arguments, texts: Sequence[str]) -> str:
        """DuckDB's text of the call over the texts of its arguments."""
        if isinstance(self.duckdb, str):
            return self.duckdb.format(*texts)
        return self.duckdb(args, texts)


class SparkFunction(Struct, frozen=True):
    """A function: `op` names it in bound expressions, and is a word of Spark's.

    `nodes` are the parser's classes for it, `slots` their arguments in Spark's order, and `flags`
    what else such a node may have. Without nodes the parser knows no such function. No statement
    calls a `hidden` one: it's Spark's function in one form, or in one time zone. Spark names a
    call by its word unless `named` has another, and writes `behind` for a missing last argument.
    `spark` is its text for Spark with `{0}`, …, if it isn't `op(…)`.
    """

    op: str
    forms: tuple[Signature, ...]
    words: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    slots: tuple[str, ...] = ("this",)
    flags: frozenset[str] = frozenset()
    hidden: bool = False
    named: tuple[tuple[str, str], ...] = ()
    behind: str = ""
    spark: str = ""

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words by which statements call it."""
        return () if self.hidden else self.words or (self.op,)

    def form(self, args: Arguments) -> Signature | None:
        """The signature for such arguments; None if none is proven."""
        return next((form for form in self.forms if form.type_of(args) is not None), None)


def is_of_kind(arg: BoundArgument, kind: str) -> bool:
    """Decides whether the argument is of a kind: a type, a group of types, `=` a constant of one.

    `as double` is what Spark casts to DOUBLE without loss of order, and `as text` what it casts to
    STRING. `as date` is a date; the binder casts timestamps to one.

    >>> from rewrite.ir.expr import Column, Literal
    >>> is_of_kind(Column(0, 1, "x", "decimal(9,2)"), "as double"), is_of_kind(
    ...     Literal("5", "int"), "=whole")
    (True, True)
    """
    if kind.startswith("="):
        return constant(arg) is not None and is_of_kind(arg, kind[1:])
    type_ = arg.type
    if kind == "whole":
        return type_ in types.EXACT
    if kind == "decimal":
        return types.decimal_parts(type_) is not None
    if kind == "as double":
        return type_ == "double" or types.widens(type_, "double")
    if kind == "as date":
        return type_ == "date"
    if kind == "as text":
        known = ("string", "double", "date", "boolean", *types.EXACT)
        return type_ in known or is_of_kind(arg, "decimal")
    return type_ is not None and kind in ("any", type_)


def constant(arg: BoundArgument) -> str | None:
    """The text of a constant; None for what isn't one, or isn't looked at."""
    found = getattr(arg, "value", None)
    return found if isinstance(found, str) else None


def number(arg: BoundArgument) -> int:
    """The whole number that a constant is."""
    return int(constant(arg) or "0")


def same(args: Arguments) -> str | None:
    """The type of the first argument."""
    return args[0].type


def checked(test: str, text: str) -> str:
    """The text if the test is TRUE or NULL; else it raises, and Spark answers."""
    return f"CASE WHEN NOT ({test}) THEN {RAISE} ELSE {text} END"
