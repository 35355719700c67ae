"""Outputs that may raise, under conditions, limits and queries that may drop the rows that raise.

Spark computes some outputs before a later filter drops their rows, and so fails; others it never
computes. Ours has to fail if and only if Spark does. Sums are of integers and decimals alone, so
that nothing depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzz import values
from fuzz.expressions import Dice, Expr
from fuzz.select import Output

GENERATOR = "raising"
_OF_GROUPS = (
    "sum({x}) / sum({x} - {x})",
    "sum({x}) / sum({y})",
    "avg({x}) / max({y})",
    "sum({x}) % min({y})",
    "max({x}) / (count(*) - 3)",
    "count(*) / count({y})",
    "count({x}) div (count(*) - count({y}))",
    "CAST(sum({x}) AS TINYINT)",
    "CAST(max({x}) AS DECIMAL(3,1))",
    "CAST(avg({x}) * 1000 AS SMALLINT)",
    "count(*) * 9223372036854775807",
    "CAST(count(*) AS INT) * 500000000",
    "element_at(array(1, 2), CAST(count(*) AS INT))",
    "if(count(*) > 2, 1 / (count({y}) - 1), 0)",
)
_OF_ROWS = (
    "1 / {x}",
    "{x} % {y}",
    "CAST({x} AS TINYINT)",
    "{x} / ({x} - {y})",
    "CAST({x} AS INT) * 2000000000",
)
_OF_TEXTS = ("CAST({x} AS INT)", "CAST({x} AS DATE)", "1 / length({x})")
_HAVING = (
    *("count(*) < 0", "count(*) > 1000000", "count(*) >= 2", "count(*) = 1", "max({x}) IS NULL"),
    *("sum({y}) <> 0", "min({y}) > 0", "count({y}) > 1", "sum({x}) IS NOT NULL", "1 = 0"),
)
_AROUND = (
    "SELECT * FROM ({{}}) z WHERE {0} IS NULL",
    "SELECT * FROM ({{}}) z WHERE {0} IS NOT NULL",
    "SELECT count(*) AS n FROM ({{}}) z",
    "SELECT z.{0} FROM ({{}}) z",
    "SELECT z.{0} FROM ({{}}) z WHERE z.{1} > 0",
    "SELECT max(z.{0}) AS top FROM ({{}}) z",
    "SELECT * FROM ({{}}) z LIMIT 0",
    "SELECT * FROM ({{}}) z ORDER BY {0} LIMIT 1",
    "SELECT * FROM ({{}}) z WHERE 1 = 0",
    "SELECT a.{0} FROM ({{}}) a JOIN ({{}}) b ON a.{0} = b.{0}",
    "SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM ({{}}) z)",
    "WITH q AS ({{}}) SELECT {0} FROM q WHERE {0} IS NULL UNION ALL SELECT {0} FROM q",
)
"""The places are the first output's name and that of one that may raise."""
_FOLDED = (
    *("if({c}, false, true)", "CASE WHEN {c} THEN FALSE ELSE TRUE END", "coalesce({c}, TRUE)"),
    *("NOT ({c})", "({c}) IS NULL", "nullif({c}, TRUE) IS NULL", "({c}) <=> TRUE"),
    *("nvl2({c}, FALSE, TRUE)", "if({c} IS NULL, TRUE, {c})", "({c}) IN (TRUE, NULL)"),
    *("if({c}, {c}, NULL)", "if({b}, {c}, TRUE)", "CASE {b} WHEN TRUE THEN {c} ELSE FALSE END"),
)
_FOLDS = ("{i} = 2147483648", "{i} > 3000000000", "{i} <=> -2147483649", "{i} IN (4000000000)")


def raising_output(dice: Dice, columns: Sequence[Expr], *, grouped: bool) -> Output | None:
    """An output that may raise; None if there's no number among the columns."""
    r = dice.shape
    numbers = [c for c in columns if values.is_number(c.type) and c.type not in values.FLOATS]
    texts = [c for c in columns if c.type == "STRING"]
    if not numbers:
        return None
    form, of = r.choice(_OF_GROUPS if grouped else _OF_ROWS), numbers
    if texts and r.random() < 0.2:
        form, of = r.choice(_OF_TEXTS), texts
        form = form.replace("{x}", "max({x})") if grouped else form
    return Output(form.format(x=r.choice(of).text, y=r.choice(of).text), "bad", exact=False)


def dropping_condition(dice: Dice, columns: Sequence[Expr]) -> str:
    """A condition of HAVING that drops many groups or all of them."""
    r = dice.shape
    numbers = [c for c in columns if values.is_number(c.type)] or list(columns)
    form = r.choice(_HAVING if any(values.is_number(c.type) for c in columns) else _HAVING[:4])
    return form.format(x=r.choice(numbers).text, y=r.choice(numbers).text)


def around(dice: Dice, names: Sequence[str]) -> str:
    """A query over the statement, which may drop rows or outputs that raise."""
    return dice.shape.choice(_AROUND).format(names[0], names[-1])


def folding_condition(dice: Dice, columns: Sequence[Expr]) -> str | None:
    """A comparison that Spark folds to a constant, inside another test; None without an INT."""
    r = dice.shape
    whole = [c for c in columns if c.type == "INT"]
    if not whole:
        return None
    flags = [c.text for c in columns if c.type == "BOOLEAN"]
    column = r.choice(whole).text
    tests = {"c": r.choice(_FOLDS).format(i=column), "b": r.choice([*flags, f"{column} > 1"])}
    return r.choice(_FOLDED).format(**tests)
