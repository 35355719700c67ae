"""Predicates for which plain Spark's answer depends on how Iceberg prunes files for it.

- Of floating columns it may miss rows of −0.0 and NaN (`float_doubts.py`).
- Of a partition of −0.0 it takes `x <> 0` for TRUE, where Spark has no test of its own left.
- Iceberg's `truncate` takes the least numbers of a type to the largest, and then looks for them
  there alone: `i < 0` misses them.
- It counts a partition's texts in code points and the prefix that is sought in UTF-16, so that
  `s LIKE '😀%'` may miss files.
- To Iceberg a partition that is NULL lies below all values and differs from each: `i <> 5 OR j = 3`
  gives its rows, where Spark has no test of its own left. A test for a prefix fails
  (`ResidualEvaluator`, `Evaluator`; 1.10, 1.12). Spark adds NOT NULL to a condition of its own.
- It truncates the constant as well: `i >= -2147483648` asks for the largest partitions alone.
- ORC's reader in Spark skips stripes by their statistics. It counts days before the year 1583 in
  another calendar, and rounds times before 1970 (`rows/orc/orc_file.py`).
- A manifest of ORC files doesn't count a struct's field as NULL where the struct is: `s.f IS NULL`
  misses these rows.

What plain Spark answers then can't be had but by asking it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.iceberg.pruning.float_doubts import (
    FLIPPED,
    ScannedColumns,
    ScannedTable,
    float_doubt,
    may_be_zero,
    may_negate,
    scanned_conditions,
)
from rewrite import types
from rewrite.ir.expr import (
    Call,
    Column,
    Expr,
    Literal,
    Parameter,
    columns,
    occurrences,
    uncast,
    walk,
)
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.pins.pinned_table import PinnedTable
    from rewrite.ir.block import Block

Sources = Callable[[Column], "Iterable[tuple[Column, PinnedTable]]"]
"""The tables' columns that a column is, each with its table."""

_BELOW = frozenset({"<", "<=", "<>"})
"""What Iceberg takes for TRUE of a partition that is NULL."""
_ORC_SOUND = {
    "date": (date(1583, 1, 1) - date(1970, 1, 1)).days,
    "timestamp": 1_000_000,
    "timestamp_ntz": 1_000_000,
}
"""From which days or microseconds since 1970 on ORC's statistics are sound."""
_HALF = {"int": -(2**30), "bigint": -(2**62)}
_BASIC_PLANE = 0xFFFF


def pruning_doubt(conjuncts: Sequence[Expr], scanned: ScannedTable) -> Declined | tuple[str, ...]:
    """Why the files can't be chosen here: plain Spark may leave out a match, or fail.

    Else what was proven of them by reading rows, for people.
    """
    return _doubt(conjuncts, lambda column: [(column, scanned)])


def joined_pruning_doubt(block: Block, pinned: Sequence[PinnedTable]) -> Declined | tuple[str, ...]:
    """The same of a block's tables, any of whose files Spark may leave out; by occurrence."""

    def scanned(column: Column) -> Iterator[tuple[Column, ScannedTable]]:
        place = column.occurrence
        table, inner = pinned[place], place not in block.null_supplied
        own = [c for c in block.conjuncts if occurrences(c) == {place}] if inner else []
        name = table.facts.name if len(pinned) > 1 else ""
        yield column, ScannedTable(table, own, name=name)

    return _doubt(scanned_conditions(block, pinned[0]), scanned)


def pruning_doubt_above(conditions: Sequence[Expr], sources: Sources) -> Declined | tuple[str, ...]:
    """The same of predicates over answers, which Spark hands on to the tables that these are of."""

    def scanned(column: Column) -> Iterator[tuple[Column, ScannedTable]]:
        for own, table in sources(column):
            yield own, ScannedTable(table)

    return _doubt(conditions, scanned)


def may_be_doubtful(column: Column, table: PinnedTable) -> bool:
    """Whether some predicate of the column is doubtful."""
    valued = column.field_id in table.valued_fields
    if column.type not in types.FLOATING and not valued:
        return False
    told = table.statistics().column(column.field_id, column.type or "")
    if column.type not in types.FLOATING or told.oddities:
        return bool(told.oddities)
    bounds = told.bounds
    return bool((~bounds.always_null & (may_be_zero(bounds) | (bounds.nans != 0))).any())


def _doubt(conditions: Sequence[Expr], scanned: ScannedColumns) -> Declined | tuple[str, ...]:
    # Floats last: they may take reading rows.
    return (
        _of_partitions(conditions, scanned)
        or _of_orc_times(conditions, scanned)
        or _of_orc_fields(conditions, scanned)
        or float_doubt(conditions, scanned)
    )


def _of_orc_times(conditions: Sequence[Expr], scanned: ScannedColumns) -> Declined | None:
    for call in (one for condition in conditions for one in walk(condition)):
        if not isinstance(call, Call) or call.op not in (*types.COMPARISONS, "in"):
            continue
        for named in _tested(call)[0]:
            sound = _ORC_SOUND.get(named.type or "")
            sources = () if sound is None else scanned(named)
            if any(_has_orc_before(column, table, sound or 0) for column, table in sources):
                text = f"The column {named.name}: Spark's reader of ORC may skip early times."
                return Declined("plain_pruning", text)
    return None


def _of_orc_fields(conditions: Sequence[Expr], scanned: ScannedColumns) -> Declined | None:
    for named in (one for condition in conditions for one in columns(condition) if one.path):
        if any(_has_orc(table) for _, table in scanned(named)):
            text = f"The field {named.name}: Spark may miss ORC files in which its struct is NULL."
            return Declined("plain_pruning", text)
    return None


def _has_orc(table: ScannedTable) -> bool:
    known = table.statistics()
    return known is not None and "orc" in known.source.formats


def _has_orc_before(column: Column, table: ScannedTable, sound: int) -> bool:
    """Reports if the table has ORC files, and some value of it may lie before the sound ones."""
    known = table.statistics()
    if known is None or "orc" not in known.source.formats:
        return False
    bounds = known.column(column.field_id, column.type or "").bounds
    lower = np.asarray(bounds.lower.fill_null(sound - 1).cast(pa.int64()))
    return bool((~bounds.always_null & (lower < sound)).any())


def _of_partitions(conditions: Sequence[Expr], scanned: ScannedColumns) -> Declined | None:
    for condition in conditions:
        own = _positive(condition)
        nodes = [one for one in walk(condition) if isinstance(one, Call)]
        negated = may_negate(nodes)
        for call in nodes:
            alone = call is own or call is condition
            named, odd = _doubted(call, alone=alone, negated=negated)
            if named is None or not odd:
                continue
            for column, table in scanned(named):
                found = odd & table.oddities(column)
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
    op = FLIPPED.get(call.op, call.op) if call.args and call.args[0] in constants else call.op
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


def _is_zero(constant: Literal | Parameter, sign: str) -> bool:
    """Whether it's a zero of that sign, which a parameter may be."""
    if isinstance(constant, Parameter):
        return True
    try:
        return float(constant.value) == 0.0 and constant.value.startswith(sign)
    except ValueError:
        return False
