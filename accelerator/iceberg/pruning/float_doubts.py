"""Tests of floating columns for which plain Spark may miss rows, and what proves that it doesn't.

Spark compares −0.0 and 0.0 as one value, and NaN as one above all numbers. Iceberg orders −0.0
below 0.0 and looks past NaN. So plain Spark may miss rows of −0.0 under `x = 0`, and rows of NaN
under `x > 5` if they lie beside smaller numbers. One of these proofs settles a test:

- No row of NaN satisfies the statement's other conditions, e.g. `x BETWEEN 1 AND 5`.
- Bounds exclude zero, and manifests or an index count no NaN.
- The files' rows, read once, have no NaN, or no zero of the sign that is missed.
- Each row group with NaN has a greater number as well, so that Iceberg reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rewrite import types
from rewrite.ir.expr import NULL, Call, Column, Expr, Literal, columns, uncast, walk
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.pins.pinned_table import PinnedTable
    from accelerator.iceberg.rows.float_edges import FloatEdges
    from accelerator.iceberg.statistics.file_statistics import FileStatistics
    from indexes.bounds import ColumnBounds, Flags
    from rewrite.ir.block import Block

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AT_ZERO = frozenset({"=", "<=>", "in", ">="})
"""Of zero they are TRUE, where Iceberg may look no further: its −0.0 isn't 0.0, nor above it."""
_ABOVE = frozenset({">", ">="})
_BY_BOUNDS = frozenset({"count", "max", "min"})
"""The aggregates that Iceberg answers by counts and bounds."""
_SIMPLIFIED = frozenset({"case", "coalesce", "cast", "if"})
_INFINITY = Literal("Infinity", "double")
_NAN_FAILS, _NAN_PASSES = frozenset({"<", "<=", "=", "<=>"}), frozenset({">", ">=", "<>"})
"""What comparisons of NaN with a number are."""


class ScannedTable(Struct, frozen=True):
    """A table as Spark scans it for a statement.

    `own` are conditions on it alone that every row satisfies which the statement uses. `surveyed`
    are the statistics of its files, if they're known. Without `table` its rows can't be read.
    `name` is shown to people if there are several tables.
    """

    table: PinnedTable | None
    own: Sequence[Expr] = ()
    surveyed: FileStatistics | None = None
    name: str = ""

    def statistics(self) -> FileStatistics | None:
        """Returns the statistics of its live files; CatalogError."""
        if self.surveyed is not None or self.table is None:
            return self.surveyed
        return self.table.statistics()

    def oddities(self, column: Column) -> frozenset[str]:
        """Returns oddities of its partitions by the column; see `ColumnStatistics`."""
        if self.table is not None and column.field_id not in self.table.valued_fields:
            return frozenset()
        known = self.statistics()
        if known is None:
            return frozenset()
        return known.column(column.field_id, column.type or "").oddities


ScannedColumns = Callable[[Column], "Iterable[tuple[Column, ScannedTable]]"]
"""The columns of tables that a statement's column is, each with its table."""


def float_doubt(conditions: Sequence[Expr], scanned: ScannedColumns) -> Declined | tuple[str, ...]:
    """The reason why plain Spark may miss rows, or what was proven of files by reading them."""
    proofs: dict[str, None] = {}
    for test in _float_tests(conditions):
        for column, table in scanned(test.column):
            found = _settled(test, column, table)
            if isinstance(found, Declined):
                return found
            proofs.update(dict.fromkeys(found))
    return tuple(proofs)


def scanned_conditions(block: Block, table: PinnedTable) -> tuple[Expr, ...]:
    """Returns the conditions that Spark may test before it groups; `table` is the block's first.

    Iceberg computes a `max` from the files' upper bounds if the statement needs no rows. The bounds
    look past NaN, as `x > 'Infinity'` does.
    """
    calls, rows = block.aggregates, block.grouped or block.rows or len(block.occurrences) > 1
    if rows or any(_is_kept(expr, table.valued_fields) for expr in block.conjuncts):
        return block.tested
    if any(call.function not in _BY_BOUNDS or _is_kept(call.where, ()) for call in calls):
        return block.tested
    named = [(call.function, column) for call in calls for column in _own_columns(call.args)]
    if len(named) < sum(len(call.args) for call in calls):
        return block.tested
    floating = [c for function, c in named if function == "max" and c.type in types.FLOATING]
    bounded = [column for column in floating if _answers_by_bounds(table.statistics(), column)]
    return (*block.tested, *(Call(">", (one, _INFINITY), "boolean") for one in bounded))


def _is_kept(condition: Expr | None, valued_fields: Collection[int]) -> bool:
    """Reports if Spark surely tests the condition on rows: it may find others TRUE for all."""
    if not isinstance(condition, Call) or condition.op not in types.COMPARISONS:
        return False
    found = list(columns(condition))
    constants = [one for one in condition.args if isinstance(one, Literal)]
    if len(found) != 1 or len(constants) != 1 or found[0] not in condition.args:
        return False
    column, constant = found[0], constants[0]
    fits = constant.type == column.type or (column.type, constant.type) == ("bigint", "int")
    return fits and column.field_id not in valued_fields


def _own_columns(args: Sequence[Expr]) -> Iterator[Column]:
    """Yields the columns that arguments are, or that Spark may simplify them to."""
    for arg in args:
        if isinstance(arg, Column):
            yield arg
        elif isinstance(arg, Call) and arg.op in _SIMPLIFIED:
            yield from columns(arg)


def _answers_by_bounds(statistics: FileStatistics, column: Column) -> bool:
    """Returns True if Iceberg uses bounds: each file has one, no row is deleted, no NaN counted."""
    bounds = statistics.column(column.field_id, column.type or "").bounds
    if (bounds.nans > 0).any():  # `MaxAggregate` reads rows then
        return False
    unknown = ~bounds.always_null & bounds.upper.is_null().to_numpy(zero_copy_only=False)
    return not unknown.any() and bool((statistics.alive == statistics.rows).all())


def may_negate(calls: Sequence[Call]) -> bool:
    """Reports if Spark may deny an operator among a condition's calls; it isn't followed which.

    NOT isn't the only one that denies. `(x <= 5) = false` becomes `x > 5`. If x is never NULL,
    so does `CASE WHEN x <= 5 THEN false ELSE true END`.
    """
    return any(
        isinstance(arg, Call) and arg.type == "boolean"
        for call in calls
        if call.op not in ("and", "or")
        for arg in call.args
    )


class _FloatTest(Struct, frozen=True):
    """A comparison of a floating column with a constant.

    `zero`: rows of −0.0 may be missed; `any_zero`: those of 0.0 as well, since the constant may be
    −0.0. `nan`: rows of NaN may be missed under a constant up to `most`.
    """

    column: Column
    zero: bool
    any_zero: bool
    nan: bool
    most: float


def _float_tests(conditions: Sequence[Expr]) -> Iterator[_FloatTest]:
    equal = _EqualColumns.of(conditions)
    for condition in conditions:
        calls = [one for one in walk(condition) if isinstance(one, Call)]
        negated = may_negate(calls)
        for call in calls:
            if call.op in types.COMPARISONS or call.op == "in":
                for place in range(len(call.args)):
                    yield from _tests_of(call, place, equal, negated=negated)


def _tests_of(
    call: Call, place: int, equal: _EqualColumns, *, negated: bool
) -> Iterator[_FloatTest]:
    """The tests of the column at that place, and of each that conditions equate with it."""
    column = uncast(call.args[place])
    if not isinstance(column, Column):  # nearly all of a long list
        return
    others = [*call.args[:place], *call.args[place + 1 :]]
    if not any(map(equal.is_constant, others)):
        return
    op = FLIPPED.get(call.op, call.op) if place else call.op
    # NULL and NaN aren't handed on to Iceberg as bounds.
    known = [one for one in map(_number, others) if one is None or not math.isnan(one)]
    zero = any(one is None or one == 0 for one in known)
    any_zero = any(one is None or (one == 0 and math.copysign(1, one) < 0) for one in known)
    zero = zero and (op in _AT_ZERO or negated or any_zero)
    nan = op in _ABOVE or (negated and op in FLIPPED)
    most = max((math.inf if one is None else one for one in known), default=-math.inf)
    for same in equal.to(column):
        if same.type in types.FLOATING and (zero or nan):
            yield _FloatTest(same, zero, any_zero, nan, most)


class _EqualColumns(Struct, frozen=True):
    """Columns that conditions equate: Spark tests each as the other, or as the constant."""

    groups: Mapping[Column, frozenset[Column]]
    fixed: frozenset[Column]

    @classmethod
    def of(cls, conditions: Sequence[Expr]) -> _EqualColumns:
        groups: dict[Column, frozenset[Column]] = {}
        fixed = set[Column]()
        for call in (one for expr in conditions for one in walk(expr)):
            if not isinstance(call, Call) or call.op not in ("=", "<=>"):
                continue
            sides = [one for one in map(uncast, call.args) if isinstance(one, Column)]
            if len(sides) == 1 and not all(any(columns(one)) for one in call.args):
                fixed.update(sides)
            if len(sides) == len(call.args):
                together = frozenset[Column]().union(*(groups.get(one, {one}) for one in sides))
                groups.update(dict.fromkeys(together, together))
        fixed.update(*(group for group in groups.values() if not fixed.isdisjoint(group)))
        return cls(groups, frozenset(fixed))

    def to(self, column: Column) -> frozenset[Column]:
        """The columns that equal this one, itself among them."""
        return self.groups.get(column, frozenset({column}))

    def is_constant(self, expr: Expr) -> bool:
        """Returns True if Spark may find a constant in its place."""
        return self.fixed.issuperset(columns(expr))


def _number(expr: Expr) -> float | None:
    """The number that a constant is; None if that isn't known."""
    if expr == NULL:
        return math.nan
    if isinstance(expr, Call) and expr.op == "neg":
        inner = _number(expr.args[0])
        return None if inner is None else -inner
    if isinstance(expr, Call) and expr.op == "cast" and expr.type == "double":
        return _number(expr.args[0])
    if not isinstance(expr, Literal):
        return None
    try:
        return float(expr.value)
    except ValueError:
        return None


def _settled(test: _FloatTest, column: Column, scanned: ScannedTable) -> Declined | Iterator[str]:
    """The proofs that took reading rows, for people; Declined if there is a file without any."""
    statistics, table = scanned.statistics(), scanned.table
    if statistics is None:
        return _undecided(column, zero=test.zero)
    bounds = statistics.column(column.field_id, column.type or "").bounds
    valued = ~bounds.always_null
    zero = valued & may_be_zero(bounds) & test.zero
    nan = valued & (bounds.nans != 0) & test.nan
    if nan.any() and any(_at_nan(one, column) is False for one in scanned.own):
        nan = np.zeros_like(nan)
    if (zero | nan).any() and scanned.own:
        from accelerator.iceberg.pruning.predicates import judge

        none = judge(scanned.own, statistics).none_true
        zero, nan = zero & ~none, nan & ~none
    suspected = zero | nan
    if not suspected.any():
        return iter(())
    partitioned = column.field_id in statistics.source.partitioned
    if table is None or partitioned:
        return _undecided(column, zero=bool(zero.any()))
    places = np.flatnonzero(suspected)
    edges = table.float_edges(column, statistics.source.live(suspected))
    if edges is None:
        return _undecided(column, zero=bool(zero.any()))
    for place, found in zip(places.tolist(), edges, strict=True):
        if zero[place] and (found.negative_zero or (test.any_zero and found.positive_zero)):
            return _beside_zero(column)
        bound = _nan_bound(bounds, place, found)
        if nan[place] and found.nan and not test.most < bound:
            return _hidden(column, bound)
    label = f"{scanned.name}.{column.name}" if scanned.name else column.name
    return _proofs(label, zero, nan, edges)


def _nan_bound(bounds: ColumnBounds, place: int, found: FloatEdges) -> float:
    """Below which constants Iceberg prunes neither the file nor a row group of it with NaN."""
    if bounds.only_nan[place]:
        return -math.inf
    upper = bounds.upper[place].as_py()
    return found.nan_bound if upper is None else min(found.nan_bound, upper)


def _undecided(column: Column, *, zero: bool) -> Declined:
    if zero:
        return _beside_zero(column)
    detail = f"The column {column.name}, which may have NaN. An index USING BOUNDS counts it."
    return Declined("float_order", detail)


def _beside_zero(column: Column) -> Declined:
    return Declined("float_order", f"The column {column.name} beside zero.")


def _hidden(column: Column, bound: float) -> Declined:
    detail = f"The column {column.name} has NaN"
    if bound > -math.inf:
        detail += f". Constants below {bound} are answered here"
    return Declined("float_order", f"{detail}.")


def _proofs(label: str, zero: Flags, nan: Flags, edges: Sequence[FloatEdges]) -> Iterator[str]:
    """E.g. `x has no NaN in 6 files`."""
    suspected = np.flatnonzero(zero | nan).tolist()
    read = [one for place, one in zip(suspected, edges, strict=True) if nan[place]]
    shown = sum(one.nan for one in read)
    if len(read) > shown:
        yield f"{label} has no NaN in {_files(len(read) - shown)}"
    if shown:
        yield f"{label} has NaN in {_files(shown)}, which plain Spark reads"
    if zero.any():
        yield f"{label} has no zero that plain Spark misses in {_files(int(zero.sum()))}"


def _files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _at_nan(condition: Expr, column: Column) -> bool | None:
    """Evaluates the condition for a column of NaN; None if the result is unknown."""
    if not isinstance(condition, Call) or not condition.args:
        return None
    op, args = condition.op, condition.args
    if op in ("and", "or"):
        parts = [_at_nan(one, column) for one in args]
        settles = op == "or"
        if settles in parts:
            return settles
        return None if None in parts else not settles
    if op == "not":
        inner = _at_nan(args[0], column)
        return None if inner is None else not inner
    if op in types.COMPARISONS and _float_column(args[0]) != column:
        op, args = FLIPPED.get(op, op), args[::-1]
    known = [_number(one) for one in args[1:]]
    if _float_column(args[0]) != column or any(one is None or math.isnan(one) for one in known):
        return None
    if op in _NAN_FAILS or op == "in":
        return False
    return True if op in _NAN_PASSES else None


def _float_column(expr: Expr) -> Expr:
    """The floating column that the expression is, with NaN for NaN."""
    inner = uncast(expr)
    return inner if expr.type in types.FLOATING and inner.type in types.FLOATING else expr


def may_be_zero(bounds: ColumnBounds) -> Flags:
    """Files that may have a zero, by their bounds."""
    import pyarrow.compute as pc  # answers from cubes have no use for it

    from indexes.bounds import flags

    above, below = pc.greater(bounds.lower, 0.0), pc.less(bounds.upper, 0.0)
    found: Flags = ~(flags(pc.fill_null(above, False)) | flags(pc.fill_null(below, False)))
    return found
