"""Random expressions and predicates over columns: templates, as `schema` has them.

Shape and constants come of two sources, so that a statement can be asked again with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from random import Random
from typing import Any

from fuzz import values
from fuzz.schema import Column
from fuzz.values import literal


@dataclass(frozen=True)
class Expr:
    """A template with its type, and values that it may have."""

    text: str
    type: str
    pool: tuple[Any, ...]

    @classmethod
    def of(cls, column: Column) -> Expr:
        """The bare column."""
        return cls(f"{{{column.id}}}", column.type, tuple(column.pool))


@dataclass(frozen=True)
class Dice:
    """Where shape comes from, and where constants do."""

    shape: Random
    constants: Random

    def constant(self, expr: Expr) -> Any:
        """A value of the expression, mostly; else one just beside."""
        value = self.constants.choice(expr.pool)
        beside = self.constants.random() < 0.15
        if beside and isinstance(value, int) and not isinstance(value, bool):
            return value + 1 if value < 2**31 - 1 else value - 1
        return "none" if beside and isinstance(value, str) else value

    def written(self, expr: Expr) -> str:
        """A constant of it as SQL: finite floats as literals, at times a date as a text."""
        value = self.constant(expr)
        text = literal(value, expr.type)
        if isinstance(value, float) and "n" not in str(value):
            return self.shape.choice((f"{value:e}", f"{value}D", f"{value}"))
        if isinstance(value, date) and not isinstance(value, datetime):
            return f"'{value}'" if self.shape.random() < 0.2 else text
        return text


def derived(dice: Dice, expr: Expr) -> Expr:
    """A function of the expression, of any type."""
    r, text, type_ = dice.shape, expr.text, expr.type
    forms: list[Expr] = [_case(dice, expr), Expr(f"({text} IS NULL)", "BOOLEAN", (True, False))]
    if type_ == "DATE":
        years, months = (2019, 2020, 2021), (1, 2, 3, 12)
        forms += [
            Expr(f"year({text})", "INT", years),
            Expr(f"month({text})", "INT", months),
            Expr(f"quarter({text})", "INT", (1, 2, 4)),
            Expr(f"day({text})", "INT", (1, 29, 31)),
            Expr(f"date_trunc('MONTH', {text})", "TIMESTAMP", (datetime(2020, 1, 1),)),
            Expr(f"trunc({text}, 'YEAR')", "DATE", (date(2020, 1, 1),)),
        ]
    elif type_ in values.TIMES:
        forms += [
            Expr(f"date_trunc('DAY', {text})", type_, (datetime(2020, 2, 28),)),
            Expr(f"date_trunc('HOUR', {text})", type_, (datetime(2020, 2, 28, 12),)),
            Expr(f"CAST({text} AS DATE)", "DATE", (date(2020, 2, 28), date(2020, 3, 1))),
            Expr(f"year({text})", "INT", (2019, 2020)),
        ]
    elif type_ == "STRING":
        forms += [
            Expr(f"upper({text})", "STRING", ("A", "AB", "SS", "É")),
            Expr(f"length({text})", "INT", (0, 1, 2)),
            Expr(f"substring({text}, 1, 1)", "STRING", ("a", "", "é")),
            Expr(f"coalesce({text}, '?')", "STRING", ("?", "a", "")),
            Expr(f"concat({text}, '-')", "STRING", ("-", "a-")),
        ]
    elif type_ in values.INTEGERS:
        forms += [
            Expr(f"{text} % 3", type_, (0, 1, 2, -1)),
            Expr(f"{text} + 1", type_, (1, 2, 5)),
            Expr(f"coalesce({text}, 0)", type_, expr.pool),
            Expr(f"CAST({text} AS BIGINT)", "BIGINT", expr.pool),
            Expr(f"CAST({text} AS STRING)", "STRING", ("0", "1", "-1")),
        ]
    elif values.is_number(type_):
        forms.append(Expr(f"coalesce({text}, 0)", "DOUBLE", (0.0, 1.5)))
    return r.choice(forms)


def _case(dice: Dice, expr: Expr) -> Expr:
    first, second = leaf(dice, expr), leaf(dice, expr)
    other = dice.shape.choice((" ELSE 'other'", "", " ELSE NULL"))
    text = f"CASE WHEN {first} THEN 'one' WHEN {second} THEN 'two'{other} END"
    return Expr(text, "STRING", ("one", "two", "other"))


def leaf(dice: Dice, expr: Expr, others: Sequence[Expr] = ()) -> str:
    """A comparison of it with constants, or with another expression of its type."""
    r, x = dice.shape, expr.text
    one, two = dice.written(expr), dice.written(expr)
    forms = [
        *(f"{x} = {one}",) * 3,
        *(f"{x} {op} {one}" for op in ("<", "<=", ">", ">=", "<>", "<=>")),
        f"{one} = {x}",
        f"{x} IN ({one}, {two})",
        f"{x} NOT IN ({one}, {two})",
        f"{x} NOT IN ({one}, NULL)",
        f"{x} IN ({one}, NULL)",
        f"{x} BETWEEN {one} AND {two}",
        f"NOT ({x} BETWEEN {one} AND {two})",
        f"{x} IS NULL",
        f"{x} IS NOT NULL",
        f"coalesce({x} = {one}, FALSE)",
        f"CASE WHEN {x} > {one} THEN TRUE WHEN {x} = {two} THEN FALSE END",
    ]
    if expr.type == "STRING":
        text = dice.constant(expr).replace("_", "\\\\_").replace("%", "\\\\%")
        forms += [f"{x} LIKE '{text}%'", f"{x} NOT LIKE '%{text}'", f"{x} LIKE '_%{text}%'"]
        forms += [f"contains({x}, {one})", f"startswith({x}, {one})", f"{x} LIKE ''"]
    if expr.type == "BOOLEAN":
        forms += [x, f"NOT {x}", f"{x} IS TRUE", f"{x} IS NOT FALSE"] * 2
    if values.is_number(expr.type) and expr.type not in values.FLOATS:
        forms += [f"{x} = {dice.constants.randrange(5)}.0", f"{x} > -1", f"{x} <= 2.5D"]
    if r.random() < 0.03:
        forms = _odd(dice, expr, one)
    alike = [o for o in others if o.type == expr.type and o.text != x]
    if alike and r.random() < 0.1:
        return f"{x} {r.choice(('=', '<', '<>', '<=>'))} {r.choice(alike).text}"
    return r.choice(forms)


def _odd(dice: Dice, expr: Expr, one: str) -> list[str]:
    """What the parser could lose, and comparisons that need a cast."""
    x = expr.text
    forms = [f"({x}, {x}) IN (({one}, {one}))", f"({x}, 1) = ({one}, 1)", f"({x}) IN (({one}))"]
    if values.is_number(expr.type):
        whole = dice.constants.randrange(5)
        forms += [f"+{x} = {one}", f"{x} = +({one})", f"{x} = '{whole}'", f"{x} < ' {whole} '"]
        forms += [f"{x} IN ('{whole}', '7')", f"{x} = 'x'"]
    if expr.type == "STRING":
        forms += [f"+{x} = {one}", f"{x} = {dice.constants.randrange(5)}", f"{x} IN (0, 1)"]
    if expr.type == "DATE":
        forms += [f"{x} = 'none'", f"{x} >= '2020'", f"{x} < TIMESTAMP'2020-03-01 00:00:01'"]
    return forms


def predicate(dice: Dice, exprs: Sequence[Expr], depth: int = 2) -> str:
    """A tree of AND, OR, NOT over comparisons of these."""
    r = dice.shape
    shape = r.random()
    if not depth or shape < 0.55:
        return leaf(dice, r.choice(exprs), exprs)
    if shape < 0.65:
        return f"NOT ({predicate(dice, exprs, depth - 1)})"
    if shape < 0.69:
        return f"({predicate(dice, exprs, depth - 1)}) IS NOT TRUE"
    if shape < 0.72:
        return f"({predicate(dice, exprs, depth - 1)} OR NULL)"
    word = " OR " if shape < 0.88 else " AND "
    return word.join(f"({predicate(dice, exprs, depth - 1)})" for _ in range(2))
