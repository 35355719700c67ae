"""The path of a relate column at a pin: the dimensions that lead from the fact to its attribute."""

from __future__ import annotations

from msgspec import Struct

from accelerator.artifacts.relate.declaration import Join, RelateColumn, relate_columns
from accelerator.errors import RelateColumnError, UnknownTableError
from accelerator.iceberg import Pin, PinnedTable
from rewrite.facts import ColumnFacts
from rewrite.identifiers.qualified_name import joined
from rewrite.ir.block import joins_by_identity
from rewrite.render.expressions import quote

Snapshots = tuple[tuple[str, int | None], ...]
"""The uuid and the snapshot of each dimension of a path."""


class Path(Struct, frozen=True):
    """A relate column with the tables of its path, pinned."""

    column: RelateColumn
    dimensions: tuple[PinnedTable, ...]

    @property
    def snapshots(self) -> Snapshots:
        """Which states these are."""
        return tuple((one.facts.uuid, one.facts.snapshot_id) for one in self.dimensions)

    @property
    def attribute(self) -> ColumnFacts:
        """The column at the end of the path, or an expression as if it were one.

        RelateColumnError where a column was dropped, or one of an expression has another type.
        """
        expression, here = self.column.expression, self.columns
        if expression is None:
            return here[0]
        for one, now in zip(self.column.columns, here, strict=True):
            if one.type != now.type:
                raise RelateColumnError(
                    f"{now.name} was {one.type} when {self.column.name} was declared, and is"
                    f" {now.type} now",
                    hint="drop the relate column, and add it again",
                )
        return ColumnFacts(self.column.id, self.column.name, expression.type or "unknown", False)

    @property
    def columns(self) -> tuple[ColumnFacts, ...]:
        """Those of the dimensions that it's made of. RelateColumnError where one was dropped."""
        return tuple(
            column_there(self.dimensions[one.occurrence - 1], one.field_id, one.name)
            for one in self.column.columns
        )

    @property
    def types(self) -> tuple[str, ...]:
        """Spark's types of the attribute, its columns and the keys on the path that are there.

        With their layouts: files without field ids have columns by names, which may change.
        """
        pairs = zip(self.dimensions, self.column.path, strict=True)
        keys = (column_of(one, key.own.field_id) for one, join in pairs for key in join.keys)
        every = (*self.columns, *(key for key in keys if key is not None))
        return (self.attribute.type, *(f"{one.type} {one.layout}" for one in every))

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


class PathStep(Struct, frozen=True):
    """A dimension on a path: its key's columns, and the columns of tables before that they equal.

    Those are given by the number of their dimension; the first dimension has none, since the fact
    has its keys.
    """

    pinned: PinnedTable
    keys: tuple[ColumnFacts, ...]
    others: tuple[tuple[int, ColumnFacts], ...] = ()


def column_text(place: int, column: ColumnFacts) -> str:
    """Returns Spark SQL of a column of the dimension at that place of the path."""
    return f"d{place}.{quote(column.name, 'spark')}"


def steps_of(path: Path) -> list[PathStep]:
    """The path's dimensions in their order. RelateColumnError where a column is gone."""
    steps = list[PathStep]()
    for join, pinned in zip(path.column.path, path.dimensions, strict=True):
        own = (column_there(pinned, key.own.field_id, key.own.name) for key in join.keys)
        others = ((key.of - 1, key.other) for key in join.keys if steps)
        found = ((i, column_there(steps[i].pinned, f.field_id, f.name)) for i, f in others)
        steps.append(PathStep(pinned, tuple(own), tuple(found)))
    return steps


def check(path: Path, fact: PinnedTable) -> None:
    """RelateColumnError where a key's column is gone, or has another type than its partner."""
    tables = (fact, *path.dimensions)
    for place, join in enumerate(path.column.path, start=1):
        for key in join.keys:
            _check_types(
                column_there(tables[key.of], key.other.field_id, key.other.name),
                column_there(tables[place], key.own.field_id, key.own.name),
            )


def _check_types(one: ColumnFacts, other: ColumnFacts) -> None:
    if joins_by_identity(one.type, other.type):
        return
    if one.type == other.type:
        raise RelateColumnError(
            f"{one.name} is {one.type}, which can't be a relate column's key",
            hint="keys are whole numbers, decimals, texts, dates, times or booleans",
        )
    raise RelateColumnError(
        f"{one.name} is {one.type}, and {other.name} is {other.type}",
        hint="a key and its partner have the same type",
    )
