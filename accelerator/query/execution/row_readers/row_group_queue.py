"""Row groups in the order of their first places; files are opened when their turn comes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence, Set
from itertools import count, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from pyroaring import BitMap

from accelerator.iceberg import LiveFile
from accelerator.iceberg.pruning.predicates import BoundsAlone, judge
from accelerator.iceberg.rows.position_deletes import Positions
from accelerator.iceberg.rows.readable import check_readable
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile
from accelerator.planning.candidates.ordered_rows import bounded_keys
from accelerator.planning.plans import RowsPlan
from indexes.order import FileOrderKey, Place
from rewrite.ir.expr import Column
from rewrite.types import decimal_parts

_OPENED = 8
"""Files opened side by side; where any rows will do one at first, then two, and so on."""
_FEW = 2
"""Where so many times fewer rows may pass than a row group has, the others go no further."""
Places = tuple[Place, ...]


class Group(Struct, frozen=True):
    """One row group that may be read; `chosen`: the numbers of its rows that may pass, if known."""

    file: OpenFile
    number: int
    chosen: BitMap | None = None

    @property
    def rows(self) -> int:
        """Its rows, deleted ones included."""
        return self.file.groups[self.number]

    def sought(self, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        """Those columns of the rows that may pass, and the numbers of these."""
        table, numbers = self.file.sought(self.number, columns)
        if self.chosen is None:
            return table, numbers
        kept = np.zeros(self.rows, dtype=bool)
        kept[np.array(self.chosen.to_array(), dtype=np.int64)] = True
        kept = kept[numbers]
        return table.filter(pa.array(kept)), numbers[kept]

    def those(self, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        """Those columns of the rows of these numbers, of which none is deleted."""
        if len(numbers) == self.rows:
            return self.sought(columns)[0]
        return self.file.rows(self.number, columns, numbers)


class GroupPosition:
    """Where rows come from: two columns beside those that were read, under names that are free."""

    def __init__(self, columns: Sequence[Column]) -> None:
        taken = {column.name.lower() for column in columns}
        self.group, self.number = _free("#group", taken), _free("#number", taken)

    def read(self, group: Group, place: int, columns: Sequence[Column]) -> pa.Table:
        """Those columns of a group's rows, and where each row stands: in group `place`, at n."""
        table, numbers = group.sought(columns)
        places = pa.array(np.full(len(numbers), place))
        table = table.append_column(self.group, places)
        return table.append_column(self.number, pa.array(numbers))


def _free(name: str, taken: Set[str]) -> str:
    """The name, or a longer one that no column of the table has; DuckDB knows no case."""
    return name if name not in taken else _free(f"{name}#", taken)


class GroupQueue:
    """What is left of a plan's reading. Row groups without a row that passes are passed over."""

    def __init__(self, plan: RowsPlan, reader: GroupReader) -> None:
        self._reading, self._reader, self._pinned = plan.reading, reader, plan.pinned[0]
        self._conjuncts = plan.block.conjuncts
        self._keys = bounded_keys(plan.block)
        self._waiting: list[tuple[Places, int, Group]] = []
        self._order = count()
        self._opened = 0
        self._at_once = 1 if plan.block.is_any else _OPENED

    def first(self, may_hold: Callable[[Places], bool]) -> Places | None:
        """Where no row that is left comes before; None where none is, or none may be wanted.

        `may_hold` says of a first place whether a row there may be wanted: it's False for every
        place behind one for which it is False.
        """
        while self._opened < len(self._reading):
            end = self._opened
            while end < min(len(self._reading), self._opened + self._at_once):
                place = self._reading.first(end)
                waits = bool(self._waiting) and self._waiting[0][0] <= place
                if waits or not may_hold(place):
                    break
                end += 1
            if end == self._opened:
                break
            self._open(self._opened, end)
        if not self._waiting or not may_hold(self._waiting[0][0]):
            return None
        return self._waiting[0][0]

    def pop(self) -> Group:
        """The row group whose first place `first` has told."""
        return heapq.heappop(self._waiting)[2]

    def _open(self, begin: int, end: int) -> None:
        files: list[LiveFile] = self._reading.live(begin, end)
        check_readable(self._pinned, files)
        firsts = [self._reading.first(place) for place in range(begin, end)]
        self._opened, self._at_once = end, min(2 * self._at_once, _OPENED)
        for file, first in zip(self._reader.open(files), firsts, strict=True):
            self._add(file, first)

    def _add(self, file: OpenFile, file_first: Places) -> None:
        passing = ~judge(self._conjuncts, _GroupStatistics(file)).none_true
        keys = [FileOrderKey(file.bounds(column), direction) for column, direction in self._keys]
        selection = self._reading.selection
        rows = None if selection is None else selection.of(file.file)
        chosen: list[BitMap | None] = [None] * len(file.groups)
        if rows is not None:
            spans = list(pairwise(np.cumsum([0, *file.groups]).tolist()))
            counts = [rows.range_cardinality(*span) for span in spans]
            passing &= np.array(counts, dtype=bool)
            for number, (first, after) in enumerate(spans):
                if 0 < counts[number] * _FEW <= after - first:
                    chosen[number] = (rows & BitMap(range(first, after))).shift(-first)
        for number in np.flatnonzero(passing).tolist():
            firsts = zip(keys, file_first, strict=True)
            first = tuple(max(whole, key.first(number)) for key, whole in firsts)
            group = Group(file, number, chosen[number])
            heapq.heappush(self._waiting, (first, next(self._order), group))


class _GroupStatistics:
    """What a file's footer says of its row groups, for predicates to be judged by."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def __len__(self) -> int:
        return len(self._file.groups)

    def column(self, field_id: int, type_: str) -> BoundsAlone:
        """The column in each group."""
        return BoundsAlone(self._file.bounds(Column(0, field_id, "", type_)))


class RowPlaces:
    """Places of rows, by the columns of a table that hold the sort keys that bounds tell of."""

    def __init__(self, plan: RowsPlan) -> None:
        self._keys = bounded_keys(plan.block)
        # With every key among them rows that tie may stand for each other.
        self.is_whole_order = len(self._keys) == len(plan.block.order)

    def of(self, table: pa.Table, row: int) -> Places:
        """The place of a row; key i is the column `k{i}`."""
        return tuple(
            direction.place(_bound(table.column(f"k{i}")[row], column.type or ""))
            for i, (column, direction) in enumerate(self._keys)
        )


def _bound(scalar: pa.Scalar, type_: str) -> Any:
    """A value as `ColumnStatistics` keeps bounds."""
    if not scalar.is_valid:
        return None
    parts = decimal_parts(type_)
    if parts is not None:
        return int(scalar.as_py().scaleb(parts[1]))
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        return scalar.value
    value = scalar.as_py()
    return value.encode() if isinstance(value, str) else value
