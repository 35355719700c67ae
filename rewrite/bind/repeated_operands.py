"""The bound on operands that a bound expression contains several times.

`nullif(a, b)` is a CASE that names `a` twice, BETWEEN names its value twice, and `CASE a WHEN …`
names it for each branch. So each level of such calls within calls doubles the expression.
"""

from __future__ import annotations

from itertools import islice

from rewrite.ir.expr import Expr, walk
from rewrite.reason import DeclinedError

_PARTS_MAX = 5_000


def check_repeated(operand: Expr, times: int = 2) -> None:
    """DeclinedError if so many copies of the operand have too many parts together.

    A column or a constant may be repeated without end: the text of the statement bounds it.
    """
    parts = sum(1 for _ in islice(walk(operand), _PARTS_MAX))
    if parts > 1 and parts * times > _PARTS_MAX:
        raise DeclinedError("expression_unsupported", "Calls within calls that repeat an operand.")
