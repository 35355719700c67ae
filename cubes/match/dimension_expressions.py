"""Expressions of a statement over a cube's dimensions (`docs/rewriting.md`, 3.5 and 3.6).

Sound because a cell's dimension values are those of each of its rows: a function of dimensions is
constant in a cell. Floating dimensions serve only bare, and in =, <>, IN and IS NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from cubes.definition import CubeDefinition
from cubes.match.time_dimensions import TimeDimensions
from rewrite.ir.block import Classes
from rewrite.ir.expr import (
    CUBE,
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    canonical,
    occurrences,
    transform,
    walk,
)
from rewrite.ir.integer_ranges import CAST_LIKE, RAISING, compares_by_cast
from rewrite.reason import DeclinedError
from rewrite.types import FLOATING, widens

_FLOAT_SAFE = frozenset({"=", "<>", "in", "is_null"})


class Expressed:
    """Rewrites block expressions to the columns `d0…` of a cube.

    `dimensions` are the cube's, in the block's occurrences; `classes` are equalities that hold on
    every row of the cube, so any member of a class may stand for another. Columns of the `delta`'s
    occurrences, whose rows are joined to cells, stay as they are.
    """

    def __init__(
        self,
        cube: CubeDefinition,
        dimensions: list[Expr],
        classes: Classes,
        delta: Set[int] = frozenset(),
    ) -> None:
        self._classes, self._delta = classes, delta
        self._columns = {
            canonical(expr, classes.find): cube.dimension_column(index)
            for index, expr in reversed(list(enumerate(dimensions)))
        }
        self._composite = any(not isinstance(d, Column) for d in dimensions)
        columns = map(cube.dimension_column, range(len(dimensions)))
        self._times = TimeDimensions(zip(dimensions, columns, strict=True), classes)

    def dimension(self, expr: Expr) -> Column | None:
        """The dimension equal to the whole expression, if there is one."""
        if isinstance(expr, Column):
            return self._columns.get(self._classes.find(expr))
        return self._columns.get(canonical(expr, self._classes.find)) if self._composite else None

    def lacks(self, column: Column) -> bool:
        """Whether `expression` declines the column."""
        return column.occurrence not in self._delta and self.dimension(column) is None

    def expression(self, expr: Expr) -> Expr:
        """The expression over dimensions; DeclinedError names what the cube lacks."""
        bare = self.dimension(expr)
        if bare is not None:
            return bare

        def change(node: Expr) -> Expr | None:
            found: Expr | None = None
            if isinstance(node, (Column, Call)):
                found = self.dimension(node)
            if found is None and self._times and isinstance(node, Call):
                found = self._times.expression(node) or self._compared(node)
            if found is not None:
                return found
            if isinstance(node, Column) and node.occurrence in self._delta:
                return node
            if isinstance(node, Column):
                raise DeclinedError("column_not_in_cube", f"The column {node.name}.")
            if isinstance(node, Aggregate):
                raise DeclinedError("aggregate_not_in_cube", "An aggregate inside an expression.")
            return None

        changed = transform(expr, change)
        _check_floats(changed)
        return changed

    def _compared(self, call: Call) -> Expr | None:
        """A comparison over buckets of its operand, where the operand itself isn't told."""
        over = self._times.predicate(call)
        if over is None:
            return None
        try:
            for operand in call.args:
                self.expression(operand)
        except DeclinedError:
            return over
        return None

    def predicate(self, expr: Expr) -> Expr:
        """As `expression`, for a condition on rows: one that can raise isn't moved to cells."""
        changed = self.expression(expr)
        if any(
            isinstance(n, Call) and (n.op in RAISING or compares_by_cast(n)) for n in walk(changed)
        ):
            raise DeclinedError("may_raise")
        return changed


def check_delta(conditions: Iterable[Expr], delta: Set[int]) -> None:
    """DeclinedError where a condition on rows of the `delta` may raise.

    Spark may test these rows after others have left them out, or before.
    """
    if not delta:
        return
    for condition in conditions:
        if occurrences(condition).isdisjoint(delta):
            continue
        for node in walk(condition):
            if isinstance(node, Call) and (_raises(node) or compares_by_cast(node)):
                raise DeclinedError("may_raise")


def _raises(call: Call) -> bool:
    if call.op == "cast" and widens(call.args[0].type, call.type):
        return False
    return call.op in RAISING | CAST_LIKE


def _check_floats(expr: Expr) -> None:
    """A cell of −0.0 and 0.0 is one; only equality can't tell them apart."""
    if isinstance(expr, Call):
        for arg in expr.args:
            of_cells = isinstance(arg, Column) and arg.occurrence == CUBE
            if of_cells and arg.type in FLOATING and expr.op not in _FLOAT_SAFE:
                raise DeclinedError("expression_not_proven", "A function of a floating dimension.")
            if not isinstance(arg, Literal):
                _check_floats(arg)
