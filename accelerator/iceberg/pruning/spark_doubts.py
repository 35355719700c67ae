"""Predicates of which plain Spark's answer depends on how Iceberg leaves out files for it.

- Spark compares −0.0 and 0.0 as one value, and NaN as one above all numbers. Iceberg orders −0.0
  below 0.0 and looks past NaN. So `x = 0` may miss files that have −0.0 alone, and `x > 5` those
  that have NaN beside smaller numbers.
- Of a partition of −0.0 it takes `x <> 0` for TRUE, where Spark has no test of its own left.
- Iceberg's `truncate` takes the least numbers of a type to the largest, and then looks for them
  there alone: `i < 0` misses them.
- It counts a partition's texts in code points and the prefix that is sought in UTF-16, so that
  `s LIKE '😀%'` may miss files.
- To Iceberg a partition that is NULL lies below all values and differs from each: `i <> 5 OR j = 3`
  gives its rows, where Spark has no test of its own left. A test for a prefix fails
  (`ResidualEvaluator`, `Evaluator`; 1.10, 1.12). A condition of its own is asked with NOT NULL.
- It truncates the constant as well: `i >= -2147483648` asks for the largest partitions alone.

What plain Spark answers then can't be had but by asking it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from rewrite import types
from rewrite.ir.expr import Call, Column, Expr, Literal, Parameter, uncast, walk
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.pins.pinned_table import PinnedTable
    from accelerator.iceberg.statistics.file_statistics import FileStatistics
    from indexes.bounds import ColumnBounds, Flags

Sources = Callable[[Column], "Iterable[tuple[Column, PinnedTable]]"]
"""The tables' columns that a column is, each with its table."""
_Files = Callable[[Column, bool], "Iterable[tuple[Column, FileStatistics]]"]
"""The same with what is known of the tables' files; where it says so, of partitioned columns."""

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AT_ZERO = frozenset({"=", "<=>", "in", ">="})
"""Of zero they are TRUE, where Iceberg may look no further: its −0.0 isn't 0.0, nor above it."""
_ABOVE = frozenset({">", ">="})
_BELOW = frozenset({"<", "<=", "<>"})
"""What Iceberg takes for TRUE of a partition that is NULL."""
_HALF = {"int": -(2**30), "bigint": -(2**62)}
_BASIC_PLANE = 0xFFFF


def pruning_doubt(conjuncts: Sequence[Expr], statistics: FileStatistics) -> Declined | None:
    """Why the files can't be chosen here: plain Spark may leave out a match, or fail."""
    return _doubt(conjuncts, lambda column, _: [(column, statistics)])


def joined_pruning_doubt(
    conditions: Sequence[Expr], pinned: Sequence[PinnedTable]
) -> Declined | None:
    """The same of several tables, any of whose files Spark may leave out; by occurrence."""
    return pruning_doubt_above(conditions, lambda column: [(column, pinned[column.occurrence])])


def pruning_doubt_above(conditions: Sequence[Expr], sources: Sources) -> Declined | None:
    """The same of predicates over answers, which Spark hands on to the tables that these are of."""

    def files(column: Column, partitioned: bool) -> Iterator[tuple[Column, FileStatistics]]:
        for own, table in sources(column):
            if not partitioned or own.field_id in table.valued_fields:
                yield own, table.statistics()

    return _doubt(conditions, files)


def may_be_doubtful(column: Column, table: PinnedTable) -> bool:
    """Whether some predicate of the column is doubtful."""
    valued = column.field_id in table.valued_fields
    if column.type not in types.FLOATING and not valued:
        return False
    told = table.statistics().column(column.field_id, column.type or "")
    if column.type not in types.FLOATING or told.oddities:
        return bool(told.oddities)
    bounds = told.bounds
    return bool((~bounds.always_null & (_may_be_zero(bounds) | (bounds.nans != 0))).any())


def _doubt(conditions: Sequence[Expr], files: _Files) -> Declined | None:
    return _of_floats(conditions, files) or _of_partitions(conditions, files)


def _of_floats(conditions: Sequence[Expr], files: _Files) -> Declined | None:
    for named, zero, nan in _doubtful(conditions):
        for column, statistics in files(named, False):
            bounds = statistics.column(column.field_id, column.type or "").bounds
            valued = ~bounds.always_null
            if zero and bool((valued & _may_be_zero(bounds)).any()):
                return _beside_zero(named)
            if nan and bool((valued & (bounds.nans != 0)).any()):
                return Declined("float_order", f"The column {named.name}, which may have NaN.")
    return None


def _of_partitions(conditions: Sequence[Expr], files: _Files) -> Declined | None:
    for condition in conditions:
        own = _positive(condition)
        nodes = [one for one in walk(condition) if isinstance(one, Call)]
        negated = any(one.op == "not" for one in nodes)
        for call in nodes:
            alone = call is own or call is condition
            named, odd = _doubted(call, alone=alone, negated=negated)
            if named is None or not odd:
                continue
            for column, statistics in files(named, True):
                found = odd & statistics.column(column.field_id, column.type or "").oddities
                if found:
                    return Declined("plain_pruning", f"The column {named.name}: {min(found)}.")
    return None


def _doubted(call: Call, *, alone: bool, negated: bool) -> tuple[Column | None, Set[str]]:
    """The column that's tested, and the oddities of its partitions that make plain Spark err.

    `alone`: it's a condition of its own, or denied as one, so that Spark asks for no NULL.
    """
    from accelerator.iceberg.statistics.file_statistics import (
        CUT_TEXTS,
        NULL_PARTITION,
        TRUNCATED,
        WRAPPED,
        ZERO_PARTITION,
    )

    columns, op, constants = _tested(call)
    if not columns:
        return None, set()
    column = columns[0]
    if call.op == "not" and column.type == "boolean":
        return column, set() if alone else {NULL_PARTITION}
    prefix = _prefix(call)
    if prefix is not None:
        cut = any(ord(char) > _BASIC_PLANE for char in prefix)
        return column, ({CUT_TEXTS} if cut else set()) | (set() if alone else {NULL_PARTITION})
    if not constants or (call.op not in types.COMPARISONS and call.op != "in"):
        return None, set()
    odd = {WRAPPED}
    if not alone and op != "<=>" and (negated or op in _BELOW):
        odd.add(NULL_PARTITION)
    if any(_is_least(one, column.type) for one in constants):
        odd.add(TRUNCATED)
    if column.type in types.FLOATING and any(_is_zero(one, "") for one in constants):
        odd.add(ZERO_PARTITION)
    return column, odd


def _tested(call: Call) -> tuple[list[Column], str, list[Literal | Parameter]]:
    """The columns that an operator tests, it as if they stood first, and its constants."""
    # Spark takes off a cast beside a constant.
    columns = [one for one in map(uncast, call.args) if isinstance(one, Column)]
    constants = [one for one in call.args if isinstance(one, (Literal, Parameter))]
    op = _FLIPPED.get(call.op, call.op) if call.args and call.args[0] in constants else call.op
    return columns, op, constants


def _is_least(constant: Literal | Parameter, type_: str | None) -> bool:
    """Whether truncating it may go round: it's within half the type's numbers of the least."""
    if isinstance(constant, Parameter) or type_ not in _HALF:
        return type_ in _HALF
    try:
        return Decimal(constant.value) < _HALF[type_]
    except InvalidOperation:
        return False


def _positive(condition: Expr) -> Expr:
    """What a condition denies, or itself."""
    if isinstance(condition, Call) and condition.op == "not":
        return condition.args[0]
    return condition


def _prefix(call: Call) -> str | None:
    """What Spark has Iceberg look for at the start of a text; None for another test."""
    if call.op not in ("like", "startswith") or not isinstance(call.args[1], Literal):
        return None
    sought = call.args[1].value
    if call.op == "startswith":
        return sought
    return re.split("[%_]", sought, maxsplit=1)[0] or None


def _beside_zero(column: Column) -> Declined:
    return Declined("float_order", f"The column {column.name} beside zero.")


def _doubtful(conjuncts: Sequence[Expr]) -> Iterator[tuple[Column, bool, bool]]:
    """Float columns beside constants, and whether zeros and NaN of theirs matter there."""
    for conjunct in conjuncts:
        calls = [one for one in walk(conjunct) if isinstance(one, Call)]
        # What NOT makes of an operator isn't followed: any may be meant.
        negated = any(one.op == "not" for one in calls)
        for call in calls:
            if call.op not in types.COMPARISONS and call.op != "in":
                continue
            columns, op, constants = _tested(call)
            for column in columns:
                if column.type in types.FLOATING and constants:
                    zero = any(_is_zero(one, "") for one in constants) and (
                        op in _AT_ZERO or negated or any(_is_zero(one, "-") for one in constants)
                    )
                    yield column, zero, op in _ABOVE or (negated and op in _FLIPPED)


def _is_zero(constant: Literal | Parameter, sign: str) -> bool:
    """Whether it's a zero of that sign, which a parameter may be."""
    if isinstance(constant, Parameter):
        return True
    try:
        return float(constant.value) == 0.0 and constant.value.startswith(sign)
    except ValueError:
        return False


def _may_be_zero(bounds: ColumnBounds) -> Flags:
    import pyarrow.compute as pc  # answers from cubes have no use for it

    from indexes.bounds import flags

    above, below = pc.greater(bounds.lower, 0.0), pc.less(bounds.upper, 0.0)
    found: Flags = ~(flags(pc.fill_null(above, False)) | flags(pc.fill_null(below, False)))
    return found
