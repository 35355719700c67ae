"""Dimensions of relate columns at their pinned states: lookups through them, and what has changed.

Everything is kept under names that never get new content: a relate column's id, and the snapshots
of the tables on its path. Threads may share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from accelerator.arrow_types import arrow_type
from accelerator.errors import AcceleratorError, RelateColumnError, UnknownTableError
from accelerator.iceberg import Lake, NeedsSparkError, Pin, PinnedTable
from accelerator.recent import Recent
from accelerator.relate.lookup import Keys, Link, Lookup, Rows, changed, changed_rows, composed
from accelerator.relate.property import Join, RelateColumn, relate_columns
from rewrite.dotted import joined
from rewrite.facts import At, ColumnFacts
from rewrite.render import quote

if TYPE_CHECKING:
    from accelerator.engines.spark import SparkEngine

_LOOKUPS_MAX = 32
_LOOKUP_BYTES_MAX = 64 * 1024 * 1024
"""A larger one isn't kept: a build asks for it once, and a statement only after a change."""
_CHANGES_MAX = 256
_ROWS_MAX = 20_000_000
"""Of a dimension: its keys and values are in the driver's memory, and in each worker's."""

Snapshots = tuple[tuple[str, int | None], ...]
"""The uuid and the snapshot of each dimension of a path."""


@dataclass(frozen=True, slots=True)
class Path:
    """A relate column with the tables of its path, pinned."""

    column: RelateColumn
    dimensions: tuple[PinnedTable, ...]

    @property
    def snapshots(self) -> Snapshots:
        """Which states these are."""
        return tuple((one.facts.uuid, one.facts.snapshot_id) for one in self.dimensions)

    @property
    def attribute(self) -> ColumnFacts:
        """The column at the end of the path. RelateColumnError where it was dropped."""
        attribute = self.column.attribute
        return column_there(self.dimensions[-1], attribute.field_id, attribute.name)

    @property
    def types(self) -> tuple[str, ...]:
        """Spark's types of the attribute, and of every key on the path that is there."""
        pairs = zip(self.dimensions, self.column.path, strict=True)
        keys = (column_of(one, key.own.field_id) for one, join in pairs for key in join.keys)
        return (self.attribute.type, *(key.type for key in keys if key is not None))

    @property
    def as_column(self) -> ColumnFacts:
        """The relate column as a column of the fact."""
        return ColumnFacts(self.column.id, self.column.name, self.attribute.type, False)


def column_of(pinned: PinnedTable, field_id: int) -> ColumnFacts | None:
    """The table's column of that id; None where it has none."""
    return next((c for c in pinned.facts.columns if c.field_id == field_id), None)


def column_there(pinned: PinnedTable, field_id: int, name: str) -> ColumnFacts:
    """The table's column of that id. RelateColumnError, with that name, where it has none."""
    found = column_of(pinned, field_id)
    if found is None:
        raise RelateColumnError(
            f"{pinned.facts.name} has no column {name} any more",
            hint="drop the relate column, and add it for columns that are there",
        )
    return found


def named(pinned: PinnedTable, name: str) -> RelateColumn | None:
    """The table's relate column of that name, compared without case."""
    known = relate_columns(pinned.properties)
    return next((one for one in known if one.name.lower() == name.lower()), None)


def path_of(column: RelateColumn, pin: Pin) -> Path:
    """The path at the pin. RelateColumnError, UnknownTableError where it's broken."""
    if column.problem:
        raise RelateColumnError(
            f"the relate column {column.name} can't be used: {column.problem}",
            hint="drop it and add it again",
        )
    return Path(column, tuple(_dimension(join, pin) for join in column.path))


def _dimension(join: Join, pin: Pin) -> PinnedTable:
    found = pin.pinned(join.table)
    if found is None or found.facts.uuid != join.uuid:
        what = "is gone" if found is None else "is another table than when it was declared"
        raise UnknownTableError(
            f"the dimension {joined(join.table)} {what}",
            hint="drop the relate column, and add it for a table that is there",
        )
    return found


@dataclass(frozen=True, slots=True)
class _Told:
    """A flag, as `Recent` takes None for what it doesn't keep."""

    value: bool


class Dimensions:
    """Reads dimensions, and keeps what came of it."""

    def __init__(self, lake: Lake, spark: Callable[[], SparkEngine]) -> None:
        self._lake, self._spark = lake, spark
        self._lookups: Recent[Lookup] = Recent(_LOOKUPS_MAX)
        self._changes: Recent[Keys] = Recent(_CHANGES_MAX)
        self._unique: Recent[_Told] = Recent(_CHANGES_MAX)

    def lookup(self, path: Path) -> Lookup:
        """The value of every key.

        RelateKeyError where a key isn't unique; UnknownTableError and RelateColumnError where
        columns are gone.
        """
        column = path.column
        name = (column.id, column.path, column.attribute.field_id, path.snapshots, path.types)
        known = self._lookups.get(name)
        if known is not None:
            return known
        made = self._composed(path)
        if made.nbytes > _LOOKUP_BYTES_MAX:
            return made
        return self._lookups.get_or(name, lambda: made)

    def never_null(self, path: Path) -> bool:
        """Whether each key of the path has a value; False where that can't be told."""
        try:
            return not self.lookup(path).values.null_count
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            return False

    def unique(self, pinned: PinnedTable, field_ids: frozenset[int]) -> bool:
        """Whether each combination of these columns stands once in the table, NULLs aside."""
        name = ("unique", pinned.facts.uuid, pinned.facts.snapshot_id, field_ids)
        return self._unique.get_or(name, lambda: _Told(self._counted(pinned, field_ids))).value

    def _counted(self, pinned: PinnedTable, field_ids: frozenset[int]) -> bool:
        try:
            columns = [column_there(pinned, one, str(one)) for one in sorted(field_ids)]
            self._rows(pinned, columns, {}).keyed()
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            return False
        return True

    def changed(self, path: Path, before: Snapshots) -> Keys | None:
        """Keys whose value differs between those snapshots and the path's own; empty for none.

        None where it can't be told: a snapshot has expired, or a key isn't unique there.
        """
        try:
            name = (path.column.id, before, path.snapshots, path.types)
            return self._changes.get_or(name, lambda: self._compared(path, before))
        except (AcceleratorError, OSError, ValueError, pa.ArrowException):
            return None

    def changed_rows(
        self,
        pinned: PinnedTable,
        before: int,
        key: tuple[int, ...],
        fields: frozenset[int],
    ) -> Keys | None:
        """Keys of the table whose row differs in these fields from that of the snapshot before.

        Keys and fields are given by their ids. None where it can't be told, as with `changed`.
        """
        facts = pinned.facts
        name = ("rows", facts.uuid, facts.snapshot_id, facts.schema_id, before, key, fields)
        try:
            return self._changes.get_or(
                name, lambda: self._rows_compared(pinned, before, key, fields)
            )
        except (AcceleratorError, OSError, ValueError, KeyError, pa.ArrowException):
            return None

    def _rows_compared(
        self, pinned: PinnedTable, before: int, key: tuple[int, ...], fields: frozenset[int]
    ) -> Keys:
        then = self._lake.pin().pinned(pinned.parts, At(snapshot_id=before))
        if then is None or then.facts.uuid != pinned.facts.uuid:
            raise RelateColumnError(
                "a dimension's earlier state is gone", hint="build the cube again"
            )
        old, new = (self._keyed(one, key, fields) for one in (then, pinned))
        return changed_rows(old, new)

    def _keyed(self, pinned: PinnedTable, key: tuple[int, ...], fields: frozenset[int]) -> Rows:
        own = [column_there(pinned, one, str(one)) for one in key]
        more = {one: column_there(pinned, one, str(one)) for one in sorted(fields)}
        return self._rows(pinned, own, more).keyed()

    def _compared(self, path: Path, before: Snapshots) -> Keys:
        new = self.lookup(path)
        pin = self._lake.pin()
        dimensions = []
        for (uuid, snapshot), pinned in zip(before, path.dimensions, strict=True):
            at = At() if snapshot is None else At(snapshot_id=snapshot)
            then = pin.pinned(pinned.parts, at)
            if snapshot is None or then is None or then.facts.uuid != uuid:
                raise RelateColumnError(
                    "a dimension's earlier state is gone", hint="build the index again"
                )
            dimensions.append(then)
        return changed(self.lookup(Path(path.column, tuple(dimensions))), new)

    def _composed(self, path: Path) -> Lookup:
        links = []
        wanted: list[set[int]] = [set() for _ in path.dimensions]
        wanted[-1].add(path.attribute.field_id)
        for join in path.column.path[1:]:
            for key in join.keys:
                wanted[key.of - 1].add(key.other.field_id)
        for number, (join, pinned) in enumerate(
            zip(path.column.path, path.dimensions, strict=True)
        ):
            own = [column_there(pinned, key.own.field_id, key.own.name) for key in join.keys]
            more = sorted(wanted[number])
            others = [column_there(pinned, one, str(one)) for one in more]
            rows = self._rows(pinned, own, dict(zip(more, others, strict=True)))
            before = [(key.of - 1, key.other.field_id) for key in join.keys] if number else []
            links.append(Link(rows, tuple(before)))
        return composed(links, path.attribute.field_id)

    def _rows(
        self, pinned: PinnedTable, keys: Sequence[ColumnFacts], others: dict[int, ColumnFacts]
    ) -> Rows:
        if pinned.rows_told > _ROWS_MAX:
            raise RelateColumnError(
                f"{pinned.facts.name} has {pinned.rows_told:,} rows, and dimensions of more than"
                f" {_ROWS_MAX:,} can't be looked up yet",
                hint="relate columns are for dimensions that fit into memory",
            )
        table = self._read(pinned, {column.name: column for column in (*keys, *others.values())})

        def column(one: ColumnFacts) -> pa.Array:
            found = table.column(one.name).combine_chunks()
            return found.cast(arrow_type(one.type)) if one.type != "string" else found

        return Rows(
            pinned.facts.name,
            tuple(one.name for one in keys),
            tuple(column(one) for one in keys),
            {number: column(one) for number, one in others.items()},
        )

    def _read(self, pinned: PinnedTable, columns: Mapping[str, ColumnFacts]) -> pa.Table:
        names = sorted(columns)
        if not pinned.has_doubtful((one.field_id, one.type) for one in columns.values()):
            with suppress(NeedsSparkError):  # equality deletes
                return pinned.arrow(names)
        engine = self._spark()
        with engine.stage(pinned, pinned.live_files()) as staged:
            wanted = ", ".join(quote(name, "spark") for name in names)
            return engine.session.sql(f"SELECT {wanted} FROM {staged.sql}").toArrow()
