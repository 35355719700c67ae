"""Aggregates of a statement from a cube's states: the table of `docs/rewriting.md`, section 4.

Each derivation says in its comment why the states give the answer; each has a property test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cubes import kll
from cubes.definition import CubeDefinition, effective_filter, stored_measure
from cubes.match.occurrence_view import OccurrenceView
from cubes.match_result import Final, StateSlot
from cubes.measures import ROWS, sketch_size
from cubes.states import STATES
from rewrite import types
from rewrite.functions.aggregates import ROW_AGGREGATES
from rewrite.ir.block import Block
from rewrite.ir.expr import (
    NULL,
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    canonical,
    columns,
    exact_digits,
    walk,
)
from rewrite.reason import Declined, DeclinedError
from rewrite.render.readable import words

_NOT_STORED = Declined("aggregate_not_in_cube")
_WIDENABLE = frozenset({"count", "sum", "min", "max"})
_LINEAR_DIGITS = 27
"""Of a value and what it's multiplied with or added to; 10¹⁰ such products add up to 37 digits."""
_WEIGHTED_DIGITS = 19
"""A value of so many digits times a number of rows fits 38 digits, by Spark's rule for products."""


class Deriver:
    """Collects the slots that the block's aggregates need; `finals` is the whole answer."""

    def __init__(self, cube: CubeDefinition, view: OccurrenceView, block: Block, fact: int) -> None:
        self._cube, self._expressed, self._block, self._fact = cube, view.expressed, block, fact
        self._find, self._states = view.classes.find, view.states
        self._places: dict[StateSlot, int] = {}
        self.bounded: list[tuple[int, int, str]] = []
        self._rows = self._states["rows", None, None]

    @property
    def slots(self) -> tuple[StateSlot, ...]:
        """The slots that the aggregates need so far, each once."""
        return tuple(self._places)

    def finals(self) -> tuple[Final, ...]:
        """One `Final` per distinct aggregate call of outputs, HAVING and ORDER BY."""
        finals = tuple(self._final(aggregate) for aggregate in self._block.aggregates)
        unsigned = unsigned_calls(self._cube, finals, self.slots)
        if unsigned:
            for expr in self._block.results:
                _check_signs(expr, unsigned)
        return finals

    def _key(self, expr: Expr | None) -> Expr | None:
        return None if expr is None else canonical(expr, self._find)

    def _final(self, aggregate: Aggregate) -> Final:
        if aggregate.function in ROW_AGGREGATES:
            raise DeclinedError(_NOT_STORED.code, f"Here: {words(aggregate)}.")
        measure = stored_measure(aggregate)
        if aggregate.distinct and measure is not ROWS and len(aggregate.args) == 1:
            distinct = self._distinct_dimension(aggregate)
            if distinct is not None:
                return distinct
        if measure is None:
            raise DeclinedError("aggregate_unsupported", f"The function {aggregate.function}.")
        argument = None if measure is ROWS else aggregate.args[0]
        where = effective_filter(aggregate)
        wanted = sketch_size(measure, aggregate)
        try:
            slots = tuple(self._slot(kind, argument, where, wanted) for kind in measure.states)
        except DeclinedError as error:
            if error.declined != _NOT_STORED:
                raise
            raise DeclinedError(_NOT_STORED.code, f"Here: {words(aggregate)}.") from None
        return Final(aggregate, measure, slots)

    def _distinct_dimension(self, aggregate: Aggregate) -> Final | None:
        """count(distinct d): its values stand in the cells; counted once, over all sources."""
        argument = aggregate.args[0]
        if aggregate.function != "count":
            return None
        if not columns(argument):
            # Spark pushes COUNT(DISTINCT 1) down to Iceberg as COUNT(*): its answer is its own.
            raise DeclinedError("aggregate_unsupported", "A distinct count of a constant.")
        try:
            cube = self._expressed.expression(argument)
            where = None if aggregate.where is None else self._expressed.predicate(aggregate.where)
        except DeclinedError:
            return None
        if argument.type is None or where is not None:
            return None
        return Final(
            aggregate, None, (self._add(StateSlot("key", argument, None, cube, argument.type)),)
        )

    def _slot(self, kind: str, argument: Expr | None, where: Expr | None, wanted: int) -> int:
        """The slot of a state: stored as such, under a filter on dimensions, or derived."""
        stored = self._states.get((kind, self._key(argument), self._key(where)))
        type_ = STATES[kind].stored(None if argument is None else argument.type) or "bigint"
        size = self._size(kind, argument, stored, wanted) if STATES[kind].sized else 0
        if stored is not None:
            column = self._cube.state_column(stored)
            return self._add(StateSlot(kind, argument, where, column, type_, size))
        if where is not None:
            # A condition on dimensions is true for all rows of a cell or for none.
            condition = self._expressed.predicate(where)
            inner = self._cube_value(kind, argument)
            cube: Expr = Call("case", (condition, inner, NULL), type_)
        else:
            cube = self._cube_value(kind, argument)
        type_ = self._slot_type(kind, cube, type_)
        return self._add(StateSlot(kind, argument, where, cube, type_, size))

    def _size(self, kind: str, argument: Expr | None, stored: int | None, wanted: int) -> int:
        """The size of the stored sketch, which must be as fine as the statement asks."""
        if stored is None:
            stored = self._states.get((kind, self._key(argument), None))
        if stored is None:
            raise DeclinedError(_NOT_STORED.code)
        size = self._cube.states[stored].size
        if size < wanted:
            mine, theirs = kll.accuracy_of(wanted), kll.accuracy_of(size)
            raise DeclinedError(
                "aggregate_not_in_cube", f"Its sketch has the accuracy {theirs}, not {mine}."
            )
        return size

    @staticmethod
    def _slot_type(kind: str, cube: Expr, type_: str) -> str:
        return cube.type if kind == "sum" and cube.type is not None else type_

    def _add(self, slot: StateSlot) -> int:
        return self._places.setdefault(slot, len(self._places))

    def _cube_value(self, kind: str, argument: Expr | None) -> Expr:
        stored = self._states.get((kind, self._key(argument), None))
        if stored is not None:
            return self._cube.state_column(stored)
        if argument is None:
            return self._cube.state_column(self._rows)
        value = self._over_dimension(kind, argument)
        if value is None and kind == "sum":
            value = self._sum_of_sums(argument)
        if value is None and kind in ("sum", "count"):
            value = self._linear(kind, argument)
        if value is None:
            value = self._of_widened(kind, argument)
        if value is None:
            value = self._of_case(kind, argument)
        if value is None:
            raise DeclinedError(_NOT_STORED.code)
        return value

    def _over_dimension(self, kind: str, argument: Expr) -> Expr | None:
        """Aggregates of a dimension: its value holds for all n rows of the cell."""
        if isinstance(argument, Column) and self._expressed.lacks(argument):
            return None
        try:
            value = self._expressed.expression(argument)
        except DeclinedError:
            return None
        rows = self._cube.state_column(self._rows)
        if kind in ("min", "max"):
            return value
        if kind == "count":
            return Call("case", (Call("is_null", (value,), "boolean"), NULL, rows), "bigint")
        if kind == "sum":
            parts = types.decimal_parts(argument.type)
            if argument.type in types.EXACT or (parts and parts[0] <= _WEIGHTED_DIGITS):
                return Call("weighted", (value, rows), _wide_sum(argument.type))
        return None

    def _of_widened(self, kind: str, argument: Expr) -> Expr | None:
        """A cast that keeps values' order, and their sum but for a double's last digits."""
        match argument:
            case Call(op="cast", args=(inner, Literal())) if kind in _WIDENABLE and types.widens(
                inner.type, argument.type
            ):
                return self._as_state(kind, self._cube_value(kind, inner), argument.type)
        return None

    def _linear(self, kind: str, argument: Expr) -> Expr | None:
        """sum(c·x) = c·Σx and sum(x ± e) = Σx ± e·n, c and e constants or fixed by dimensions.

        Decimals alone: their type says that no row's product or sum is rounded or too large.
        """
        if not isinstance(argument, Call) or argument.op not in ("+", "-", "*"):
            return None
        parts = types.decimal_parts(argument.type)
        for place, inner in enumerate(argument.args):
            fixed = argument.args[1 - place]
            exact, own = exact_digits(fixed), exact_digits(inner)
            if parts is None or exact is None or own is None:
                return None
            if exact[0] + own[0] > _LINEAR_DIGITS:
                return None
            try:
                factor = self._expressed.expression(fixed)
                value = self._cube_value(kind, inner)
                shifts = kind == "sum" and argument.op != "*"
                rows = self._cube_value("count", inner) if shifts else value
            except DeclinedError:
                continue
            if kind == "count":
                return Call("case", (Call("is_null", (factor,), "boolean"), NULL, value), "bigint")
            wide = f"decimal(38,{parts[1]})"
            if argument.op == "*":
                return Call("scaled", (value, factor), wide)
            sign = Literal("-" if argument.op == "-" and place == 0 else "+", "operator")
            first = Literal("-" if argument.op == "-" and place == 1 else "+", "operator")
            return Call("shifted", (value, factor, rows, first, sign), wide)
        return None

    def _of_case(self, kind: str, argument: Expr) -> Expr | None:
        """CASE with conditions over dimensions: all rows of a cell take the same branch.

        So the state is that branch's own; where the branch is NULL, the cell adds nothing.
        """
        if not isinstance(argument, Call) or argument.op != "case":
            return None
        args = list(argument.args)
        for index, arg in enumerate(args):
            if index % 2 == 0 and index < len(args) - 1:
                args[index] = self._expressed.predicate(arg)
            elif arg.type != "void":
                args[index] = self._as_state(kind, self._cube_value(kind, arg), argument.type)
        return Call("case", tuple(args), self._state_type(kind, argument.type))

    def _as_state(self, kind: str, value: Expr, argument: str | None) -> Expr:
        """The value in the type that this state has for an argument of that type."""
        type_ = self._state_type(kind, argument)
        return value if value.type == type_ else Call("as_state", (value,), type_)

    @staticmethod
    def _state_type(kind: str, argument: str | None) -> str | None:
        return _wide_sum(argument) if kind == "sum" else STATES[kind].stored(argument)

    def _sum_of_sums(self, argument: Expr) -> Expr | None:
        """sum(a ± b) = Σa ± Σb where neither is NULL and no a ± b overflows, by the bounds."""
        match argument:
            case Call(op="+" | "-" as op, args=(Column() as a, Column() as b)) if (
                a.type in types.EXACT and b.type in types.EXACT and a.occurrence == b.occurrence
            ):
                stored = [self._states.get(("sum", self._key(c), None)) for c in (a, b)]
                fact = a.occurrence not in self._block.null_supplied
                if None in stored or not fact or a.occurrence != self._fact:
                    return None
                self.bounded.append((a.field_id, b.field_id, f"{op}{argument.type}"))
                left, right = (self._cube.state_column(i) for i in stored if i is not None)
                wide = "decimal(38,0)"
                return Call("widened", (left, right, Literal(op, "operator")), wide)
        return None


def unsigned_calls(
    cube: CubeDefinition, finals: Iterable[Final], slots: Sequence[StateSlot]
) -> frozenset[Aggregate]:
    """Returns min and max that read a floating dimension, whose zeros have lost their sign."""
    dimensions = {
        cube.dimension_column(i)
        for i, dimension in enumerate(cube.dimensions)
        if dimension.expr.type in types.FLOATING
    }
    if not dimensions:
        return frozenset()
    return frozenset(
        final.aggregate
        for final in finals
        if final.aggregate.function in ("min", "max")
        and any(not dimensions.isdisjoint(walk(slots[place].cube)) for place in final.slots)
    )


def _check_signs(expr: Expr, unsigned: frozenset[Aggregate]) -> bool:
    """Returns whether the value is an `unsigned` aggregate's; DeclinedError if it shows the sign.

    A comparison can't tell -0.0 from 0.0, arithmetic gives zeros again, a text has the sign.
    """
    if not isinstance(expr, Call):
        return expr in unsigned
    given = [_check_signs(arg, unsigned) for arg in expr.args]
    if not any(given) or expr.op in types.COMPARISONS or expr.op in ("in", "is_null"):
        return False
    if expr.op == "case":
        given = [*given[1:-1:2], given[-1]]
    if any(given) and expr.type not in types.FLOATING:
        if types.is_numeric(expr.type):
            return False
        raise DeclinedError("expression_not_proven", "The sign of a floating dimension's zero.")
    return any(given)


def _wide_sum(argument: str | None) -> str | None:
    """A type in which a cell's sum can't overflow before Spark's own sum does."""
    exact = types.as_decimal(argument)
    return types.sum_type(argument) if exact is None else f"decimal(38,{exact[1]})"
