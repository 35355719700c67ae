"""Two comparisons of one column prove together what each proves alone, and more where an index can.

A range that is asked as one must not hide that every row of a file is in it: then its manifest
entry answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from accelerator.iceberg.pruning.predicates import judge, judge_rows
from accelerator.iceberg.statistics.file_statistics import ColumnStatistics
from indexes.bounds import ColumnBounds
from indexes.question import Compare, Question
from indexes.row_verdict import RowVerdict
from rewrite.ir.expr import Call, Column, Expr, Literal

COLUMN = Column(0, 1, "c", "bigint")
HOLDS = {
    "<": lambda value, at: value < at,
    "<=": lambda value, at: value <= at,
    ">": lambda value, at: value > at,
    ">=": lambda value, at: value >= at,
}


@dataclass(frozen=True)
class Files:
    """Files by the first and last of their values, all of which they have."""

    ends: Sequence[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ends)

    def column(self, field_id: int, type_: str) -> ColumnStatistics:
        assert (field_id, type_) == (1, "bigint")
        files = len(self.ends)
        lower, upper = (pa.array([e[i] for e in self.ends], pa.int64()) for i in (0, 1))
        rows = np.array([last - first + 1 for first, last in self.ends], dtype=np.int64)
        none, no = np.zeros(files, dtype=np.int64), np.zeros(files, dtype=bool)
        bounds = ColumnBounds(lower, upper, rows, none, none)
        return ColumnStatistics(bounds, ~no, no, contradicts=False, unproven=no)


def compared(op: str, at: int) -> Call:
    return Call(op, (COLUMN, Literal(str(at), "bigint")), "boolean")


ends = st.tuples(st.integers(-9, 9), st.integers(0, 6)).map(lambda e: (e[0], e[0] + e[1]))
sides = st.tuples(st.sampled_from(sorted(HOLDS)), st.integers(-10, 16))


@given(
    st.lists(ends, min_size=1, max_size=6), st.lists(sides, min_size=1, max_size=4), st.booleans()
)
@example(files=[(0, 5), (3, 9), (10, 12)], asked=[(">=", 3), ("<", 10)], nested=False)
@example(files=[(0, 5), (3, 9), (10, 12)], asked=[(">=", 3), ("<", 10)], nested=True)
def test_files_are_all_of_a_range_or_none(
    files: list[tuple[int, int]], asked: list[tuple[str, int]], nested: bool
) -> None:
    tests: Sequence[Expr] = [compared(*one) for one in asked]
    if nested and len(tests) > 1:
        tests = [Call("and", tuple(tests), "boolean")]
    found = judge(tests, Files(files))
    for place, (first, last) in enumerate(files):
        kept = [all(HOLDS[op](v, at) for op, at in asked) for v in range(first, last + 1)]
        assert found.all_true[place] == all(kept)
        if found.none_true[place]:
            assert not any(kept)
        each = (all(not HOLDS[o](v, at) for v in range(first, last + 1)) for o, at in asked)
        assert found.none_true[place] or not any(each)


def test_rows_of_a_range_that_is_not_told_as_one() -> None:
    """What both sides tell of rows stays."""
    sides = {">=": BitMap([1, 2, 3]), "<": BitMap([0, 1, 2])}

    def asked(_column: Column, question: Question) -> RowVerdict | None:
        if not isinstance(question, Compare):
            return None
        return RowVerdict.exactly(4, sides[question.op], BitMap())

    found = judge_rows([compared(">=", 1), compared("<", 3)], 4, asked)
    assert found.true.lower == found.true.upper == BitMap([1, 2])
