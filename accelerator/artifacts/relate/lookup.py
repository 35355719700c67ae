"""What a fact's keys mean: the value of a relate column for each key, out of its dimensions' rows.

A path of dimensions becomes one table: the keys that fact rows have, and the value at the path's
end. Keys are compared as Spark's `=` compares columns of one type: a NULL equals nothing. Arrow
only; workers of a build use it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from accelerator.errors import RelateKeyError

TWICE_SHOWN = 5
"""So many keys that stand twice are shown."""
_NUMBERS = frozenset((pa.int32().id, pa.int64().id, pa.date32().id))
_CLOSE, _SMALL = 8, 4_096
"""Numbers of which so many times fewer are missing in their range have a table, small ones too."""


class _Numbers(Struct, frozen=True):
    """Distinct whole numbers to be looked up: by a table where they lie close, else by search."""

    first: int
    table: npt.NDArray[np.int32] | None
    ordered: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: npt.NDArray[np.int64]) -> _Numbers:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        first, width = int(ordered[0]), int(ordered[-1]) - int(ordered[0]) + 1
        table: npt.NDArray[np.int32] | None = None
        if width <= _CLOSE * len(values) + _SMALL:
            table = np.full(width, -1, dtype=np.int32)
            table[values - first] = np.arange(len(values), dtype=np.int32)
        return cls(first, table, ordered, order)

    def places(self, column: pa.Array) -> pa.Array:
        """Where each of the column's values stands; NULL for one that doesn't."""
        values = _as_numbers(column)
        if self.table is not None:
            inside = (values >= self.first) & (values < self.first + len(self.table))
            found = self.table[np.where(inside, values - self.first, 0)]
            missing = ~inside | (found < 0)
        else:
            at = np.minimum(np.searchsorted(self.ordered, values), len(self.ordered) - 1)
            found, missing = self.order[at].astype(np.int32), self.ordered[at] != values
        if column.null_count:
            missing |= column.is_null().to_numpy(zero_copy_only=False)
        return pa.array(found, pa.int32(), mask=missing)


def _is_number(type_: pa.DataType) -> bool:
    return type_.id in _NUMBERS or pa.types.is_timestamp(type_)


def _as_numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Its values, of any number where it's NULL."""
    whole = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    filled = whole.cast(pa.int64()).fill_null(0)
    values: npt.NDArray[np.int64] = filled.to_numpy(zero_copy_only=False)
    return values


class Keys(Struct, frozen=True, dict=True):
    """Distinct keys of one or several columns, to be looked up; none has a NULL in it."""

    columns: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def places(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Where each of those keys stands among these; NULL for one that doesn't (int32)."""
        if self._numbers is not None:
            return self._numbers.places(columns[0])
        first, further = self._sets
        found = pc.index_in(columns[0], value_set=first)
        for column, (values, pairs) in zip(columns[1:], further, strict=True):
            found = pc.index_in(_paired(found, column, values), value_set=pairs)
        return found

    @cached_property
    def _numbers(self) -> _Numbers | None:
        """The keys as numbers, where they are: Arrow would make its table of them for each call."""
        if len(self.columns) > 1 or not len(self) or not _is_number(self.columns[0].type):
            return None
        return _Numbers.of(_as_numbers(self.columns[0]))

    @cached_property
    def _sets(self) -> tuple[pa.Array, list[tuple[pa.Array, pa.Array]]]:
        """The first column's values; of each further one its values, and the pairs with before.

        Pairs are numbered anew at each column, so that no number grows beyond 64 bits.
        """
        first = pc.unique(self.columns[0]) if len(self.columns) > 1 else self.columns[0]
        found, further = pc.index_in(self.columns[0], value_set=first), []
        for column in self.columns[1:]:
            values = pc.unique(column)
            paired = _paired(found, column, values)
            pairs = pc.unique(paired)
            further.append((values, pairs))
            found = pc.index_in(paired, value_set=pairs)
        return first, further


def _paired(before: pa.Array, column: pa.Array, values: pa.Array) -> pa.Array:
    code = pc.index_in(column, value_set=values).cast(pa.int64())
    return pc.add(pc.multiply(before.cast(pa.int64()), max(1, len(values))), code)


class Lookup(Struct, frozen=True):
    """The relate column's value of each key."""

    keys: Keys
    values: pa.Array

    def of(self, columns: Sequence[pa.Array]) -> pa.Array:
        """The value of each key; NULL where it has no partner."""
        return self.values.take(self.keys.places(columns))

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return sum(int(one.nbytes) for one in (*self.keys.columns, self.values))


class Rows(Struct, frozen=True):
    """A dimension's rows: the columns of its key, and what the path wants of it by field id."""

    name: str
    key_names: tuple[str, ...]
    keys: tuple[pa.Array, ...]
    columns: dict[int, pa.Array]

    def keyed(self) -> Rows:
        """Without those that have a NULL in their key.

        RelateKeyError where a key stands twice, which shows some.
        """
        table = pa.table({f"k{i}": key for i, key in enumerate(self.keys)})
        whole = np.ones(table.num_rows, dtype=bool)
        for key in self.keys:
            whole &= key.is_valid().to_numpy(zero_copy_only=False)
        counted = table.filter(pa.array(whole)).group_by(table.column_names)
        counts = counted.aggregate([([], "count_all")])
        twice = counts.filter(pc.greater(counts.column("count_all"), 1))
        if twice.num_rows:
            raise not_unique(self.name, self.key_names, twice, twice.num_rows)
        if whole.all():
            return self
        kept = pa.array(whole)
        return replace(
            self,
            keys=tuple(key.filter(kept) for key in self.keys),
            columns={field: column.filter(kept) for field, column in self.columns.items()},
        )


def not_unique(name: str, key: Sequence[str], twice: pa.Table, count: int) -> RelateKeyError:
    """The error that says so of a dimension: the first of `count` keys, behind each how often."""
    shown = [
        f"({', '.join(str(v) for v in list(row.values())[:-1])}) × {list(row.values())[-1]}"
        for row in twice.slice(0, TWICE_SHOWN).to_pylist()
    ]
    more = f" and {count - TWICE_SHOWN} more" if count > TWICE_SHOWN else ""
    return RelateKeyError(
        f"the key ({', '.join(key)}) of {name} isn't unique: {', '.join(shown)}{more}",
        hint="a relate column needs a key that each row of the dimension has for itself",
    )


class DimensionLink(Struct, frozen=True):
    """How a path's dimension is reached: for each key column, the place of a dimension and a field.

    The first dimension's are empty: fact rows have its key.
    """

    rows: Rows
    others: tuple[tuple[int, int], ...] = ()


def composed(links: Sequence[DimensionLink], attribute: int) -> Lookup:
    """The lookup through the whole path. RelateKeyError where a key stands twice."""
    keys, (values,) = reached(links, [(len(links), attribute)])
    return Lookup(keys, values)


def reached(
    links: Sequence[DimensionLink], fields: Sequence[tuple[int, int]]
) -> tuple[Keys, list[pa.Array]]:
    """The first dimension's keys, and for each what the path has in these fields.

    A field stands behind the place of its dimension, from 1 on; NULL where there's no partner.
    RelateKeyError where a key stands twice.
    """
    first = links[0].rows.keyed()
    found: list[tuple[Rows, pa.Array | None]] = [(first, None)]
    for link in links[1:]:
        rows = link.rows.keyed()
        wanted = [_reached(found[place], field) for place, field in link.others]
        found.append((rows, Keys(rows.keys).places(wanted)))
    return Keys(first.keys), [_reached(found[place - 1], field) for place, field in fields]


def _reached(one: tuple[Rows, pa.Array | None], field: int) -> pa.Array:
    rows, places = one
    column = rows.columns[field]
    return column if places is None else column.take(places)


def changed(old: Lookup, new: Lookup) -> Keys:
    """The keys whose value isn't the same in both, or that only one of them has.

    What is older may be of narrower numbers. pa.ArrowTypeError where it's something else.
    """
    return _differing(*((one.keys.columns, (one.values,)) for one in (old, new)))


def changed_rows(old: Rows, new: Rows) -> Keys:
    """The keys whose row isn't the same in both, or that only one of them has.

    Both are `keyed`, and have the same columns. Types as with `changed`.
    """
    fields = sorted(new.columns)
    return _differing(*((one.keys, tuple(one.columns[f] for f in fields)) for one in (old, new)))


_Side = tuple[tuple[pa.Array, ...], tuple[pa.Array, ...]]
"""Keys, and what they have."""


def _differing(old: _Side, new: _Side) -> Keys:
    for one, other in zip(sum(old, ()), sum(new, ()), strict=True):
        check_promoted(one.type, other.type)
    names = [f"k{i}" for i in range(len(new[0]))]
    values = [f"v{i}" for i in range(len(new[1]))]

    def table(side: _Side) -> pa.Table:
        columns: dict[str, Any] = {}
        for name, mine, like in zip([*names, *values], sum(side, ()), sum(new, ()), strict=True):
            columns[name] = mine.cast(like.type)
        return pa.table(columns)

    both = pa.concat_tables([table(old), table(new)]).group_by([*names, *values])
    counted = both.aggregate([([], "count_all")])
    alone = counted.filter(pc.equal(counted.column("count_all"), 1))
    distinct = alone.group_by(names).aggregate([])
    return Keys(tuple(distinct.column(name).combine_chunks() for name in names))


def check_promoted(old: pa.DataType, new: pa.DataType) -> None:
    """pa.ArrowTypeError unless values of the old type are those of the new one.

    A table that was made anew keeps a column's id whatever its type is now.
    """
    if not (old == new or _is_wider(new, old)):
        raise pa.ArrowTypeError(f"a column was {old}, and is {new}")


def _is_wider(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether Iceberg promotes the other type to this one, which has all its values."""
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        return bool(one.scale == other.scale and one.precision > other.precision)
    if pa.types.is_large_string(one) or pa.types.is_string(one):  # as different readers give it
        return bool(pa.types.is_large_string(other) or pa.types.is_string(other))
    return (one, other) in ((pa.int64(), pa.int32()), (pa.float64(), pa.float32()))
