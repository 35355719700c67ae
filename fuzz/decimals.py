"""Aggregates of decimals: plain, DISTINCT, under FILTER, over arithmetic, in HAVING and windows.

Spark averages small decimals through DOUBLE and sums them through BIGINT, so each precision may
have an answer of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzz import values
from fuzz.cubes import Aggregate
from fuzz.expressions import Dice, Expr, leaf
from fuzz.select import Output

_FORMS = ("avg(?)", "avg(?)", "avg(?)", "sum(?)", "sum(?)", "avg(DISTINCT ?)", "sum(DISTINCT ?)")
_ARITHMETIC = ("? + 1", "? * 2", "? - 0.5", "? * 0.01", "coalesce(?, 0.05)", "-?", "abs(?)")
_WINDOWS = (
    "avg({0}) OVER ({1})",
    "sum({0}) OVER ({1})",
    "avg({0}) OVER ({1} ORDER BY {0})",
    "rank() OVER ({1} ORDER BY {0})",
)


def decimals_of(columns: Sequence[Expr]) -> list[Expr]:
    """The decimals among the columns."""
    return [one for one in columns if values.is_decimal(one.type)]


def decimal_aggregate(dice: Dice, argument: Expr, dimensions: Sequence[Expr]) -> Aggregate:
    """One of any form, at times over arithmetic or under a condition over dimensions."""
    r = dice.shape
    if r.random() < 0.15:
        text = r.choice(_ARITHMETIC).replace("?", argument.text)
        argument = replace(argument, text=f"({text})")
    found = Aggregate(r.choice(_FORMS), argument)
    if dimensions and r.random() < 0.2:
        return replace(found, filter=leaf(dice, r.choice(dimensions)))
    return found


def decimal_having(dice: Dice, one: Aggregate) -> str:
    """A condition on the aggregate: near its values, or how its digits round."""
    value = dice.constant(one.argument)
    return dice.shape.choice(
        (
            f"{one.text} > {values.literal(value)}",
            f"{one.text} <= {values.literal(value)}",
            f"{one.text} = {values.literal(value)}",
            f"{one.text} % 0.001 = 0",
            f"round({one.text}, 2) <> {one.text}",
            f"{one.text} BETWEEN -1 AND 1",
        )
    )


def decimal_window(dice: Dice, keys: Sequence[Expr], one: Aggregate) -> Output:
    """A window over the groups' values of an aggregate."""
    r = dice.shape
    over = f"PARTITION BY {r.choice(keys).text}" if keys and r.random() < 0.5 else ""
    return Output(r.choice(_WINDOWS).format(one.text, over), "w")
