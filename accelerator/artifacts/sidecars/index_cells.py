"""Answers from indexes alone: the cells of data files whose bitmaps tell them.

Theory: `docs/rewriting.md`, 1, the source *index*. A file serves where the rows that pass are known
exactly, where no equality delete is among its deletes, and where bitmaps keep every column that is
grouped by or counted. What can't be read serves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from msgspec import Struct
from pyroaring import BitMap

from accelerator.artifacts.sidecars.probe import (
    UNREADABLE,
    HeavyIndex,
    Skipped,
    TableIndexes,
    probed,
)
from accelerator.common.arrow.spark_types import typed
from accelerator.iceberg import LiveFile
from accelerator.iceberg.rows.position_deletes import Positions
from cubes.definition import CubeDefinition
from indexes.bounds import Flags
from indexes.inverted.cells import ColumnCells, cells_of
from indexes.row_verdict import Certainty
from rewrite.ir.expr import Column, Expr
from rewrite.types import FLOATING

_ENDS = frozenset({"min", "max"})


class Fixed(Struct, frozen=True):
    """Of each file whether all its rows have one value of a column, and that value."""

    files: Flags
    values: pa.Array | None


class IndexCellsOfFile(Struct, frozen=True):
    """What is known of a file: its cells, or that no row of it passes; else it must be read."""

    cells: pa.Table | None = None
    empty: bool = False


_NOTHING = IndexCellsOfFile()


class IndexAnswers:
    """The cells of one statement's cube, as the bitmaps of each file tell them."""

    def __init__(
        self,
        indexes: TableIndexes,
        conjuncts: Sequence[Expr],
        cube: CubeDefinition | None,
        fixed: Sequence[Fixed | None],
        deleted: Callable[[], Callable[[LiveFile], Positions]],
    ) -> None:
        """Without `cube` only files are told of of which no row passes.

        `fixed` has an item for each of its dimensions; `deleted` gives what tells the positions
        that are deleted of a file.
        """
        self._selection = indexes.selection(conjuncts)
        self._conjuncts, self._cube, self._fixed = conjuncts, cube, fixed
        self._keeps: dict[Expr, HeavyIndex] = {}
        if cube is not None:
            for column in _columns(cube):
                found = indexes.holding(column)
                if found is not None:
                    self._keeps[column] = found
            if not self._may_tell(cube):
                self._cube = None
        self._deleted = deleted() if self.able and self._cube is not None else None

    def _may_tell(self, cube: CubeDefinition) -> bool:
        """Whether bitmaps or partitions may know of each of the cube's columns."""
        fixed = (one is not None and bool(one.files.any()) for one in self._fixed)
        keys = zip(cube.dimensions, fixed, strict=True)
        return all(d.expr in self._keeps or known for d, known in keys) and all(
            state.argument is None or state.argument in self._keeps for state in cube.states
        )

    @property
    def able(self) -> bool:
        """Whether anything can be told of any file."""
        return self._selection is not None or (self._cube is not None and bool(self._keeps))

    def of(
        self, files: Sequence[LiveFile], numbers: Sequence[int], whole: Sequence[bool]
    ) -> list[IndexCellsOfFile]:
        """What is told of each file.

        `numbers` are theirs in what `fixed` tells of; `whole`: of which files all rows that aren't
        deleted pass.
        """
        selected = () if self._selection is None else self._selection.heavy
        return probed(self._of, (*selected, *self._keeps.values()), files, numbers, whole)

    def said(self, told: Sequence[IndexCellsOfFile]) -> Skipped:
        """That so many files were told of."""
        files = sum(one is not _NOTHING for one in told)
        own = [] if self._selection is None else self._selection.heavy
        used = {one.record.name: one.record.kind for one in (*own, *self._keeps.values())}
        return Skipped(", ".join(used), ", ".join(dict.fromkeys(used.values())), "heavy", files)

    def _of(self, file: LiveFile, number: int, whole: bool) -> IndexCellsOfFile:
        chosen: BitMap | None = None
        if not whole:
            verdict = None if self._selection is None else self._selection.verdict(file)
            if verdict is None:
                return _NOTHING
            if not verdict.true.upper:
                return IndexCellsOfFile(empty=True)
            if verdict.certainty is not Certainty.EXACT:
                return _NOTHING
            chosen = verdict.true.upper
        cube = self._cube
        if cube is None or self._deleted is None or file.deleted_by_value:
            return _NOTHING
        if file.deletes:
            rows = BitMap(range(file.record_count)) if chosen is None else chosen
            chosen = rows - BitMap(self._deleted(file).tolist())
            if not chosen:
                return IndexCellsOfFile(empty=True)
        try:
            return IndexCellsOfFile(self._cells(cube, file, number, chosen))
        except UNREADABLE as error:
            for index in self._keeps.values():
                index.failed(file.key, error)
        except _UntoldError:
            pass
        return _NOTHING

    def _cells(
        self, cube: CubeDefinition, file: LiveFile, number: int, chosen: BitMap | None
    ) -> pa.Table:
        """_UntoldError where it can't be said."""
        keys: list[tuple[Expr, ColumnCells | pa.Array]] = []
        for dimension, fixed in zip(cube.dimensions, self._fixed, strict=True):
            if fixed is not None and fixed.files[number]:
                none = pa.nulls(1) if fixed.values is None else fixed.values.slice(number, 1)
                keys.append((dimension.expr, none))
            else:
                keys.append((dimension.expr, self._cells_of(dimension.expr, file)))
        states = [
            (s.kind, None if s.argument is None else self._cells_of(s.argument, file))
            for s in cube.states
        ]
        held = [one for _, one in keys if isinstance(one, ColumnCells)]
        cells = cells_of(held, states, file.record_count, chosen)
        if cells is None:
            raise _UntoldError
        made: dict[str, pa.Array] = {}
        rows = len(cells.states[0])
        told = iter(cells.keys)
        try:
            for place, (expr, one) in enumerate(keys):
                if isinstance(one, ColumnCells):
                    made[f"d{place}"] = typed(next(told), expr.type)
                else:
                    made[f"d{place}"] = typed(one, expr.type).take(pa.array([0] * rows))
            for place, (state, values) in enumerate(zip(cube.states, cells.states, strict=True)):
                # A zero may have been a negative one, which bitmaps don't keep apart.
                if state.kind in _ENDS and state.type in FLOATING and 0.0 in values.to_pylist():
                    raise _UntoldError
                made[f"s{place}"] = typed(values, state.type)
        except pa.ArrowInvalid:  # texts that aren't UTF-8, of which only Spark knows what to show
            raise _UntoldError from None
        return pa.table(made)

    def _cells_of(self, column: Expr, file: LiveFile) -> ColumnCells:
        index = self._keeps.get(column)
        found = None if index is None else index.held(file.key)
        if found is None:
            raise _UntoldError
        return found


class _UntoldError(Exception):
    """The bitmaps of a file don't tell what was asked."""


def _columns(cube: CubeDefinition) -> list[Column]:
    wanted = (*(d.expr for d in cube.dimensions), *(s.argument for s in cube.states))
    return [one for one in wanted if isinstance(one, Column)]
