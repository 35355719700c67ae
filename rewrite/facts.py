"""What the rewriter may ask about tables: names, field ids, Spark types, nullability, pins.

Plain values, filled by `accelerator.iceberg`; nothing here reads anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace


class ColumnFacts(Struct, frozen=True):
    """A top-level column. `type` is Spark's own text: `int`, `decimal(10,2)`, `timestamp_ntz`.

    `fields` are those of a struct, which have no layout.

    `layout` has what else decides a file's values: ids, nullability and defaults of nested fields,
    its own default, its names in files without field ids. It's empty for a column of a plain type
    without these.
    """

    field_id: int
    name: str
    type: str
    required: bool
    layout: str = ""
    fields: tuple[ColumnFacts, ...] = ()


class TableFacts(Struct, frozen=True, dict=True):
    """A table pinned to one snapshot; `snapshot_id` is None for a table that has none (empty).

    `name` is catalog.namespace.table as Spark writes it; `uuid` is Iceberg's table uuid.
    `schema_id` is the schema that rows are read under: the snapshot's for time travel, else the
    table's.
    """

    name: str
    uuid: str
    snapshot_id: int | None
    schema_id: int
    columns: tuple[ColumnFacts, ...]

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[ColumnFacts, ...]]:
        by_name: dict[str, tuple[ColumnFacts, ...]] = {}
        for column in self.columns:
            name = column.name.lower()
            by_name[name] = (*by_name.get(name, ()), column)
        return by_name

    def named(self, name: str) -> tuple[ColumnFacts, ...]:
        """The columns of that name, compared without case as Spark does by default."""
        return self._by_name.get(name.lower(), ())

    def column(self, name: str) -> ColumnFacts | None:
        """The first of them: there is one, or none, but in tables that others have made."""
        return next(iter(self.named(name)), None)

    def path(self, name: str) -> tuple[ColumnFacts, ...]:
        """The columns that lead to the one of that name, which may be a struct's field (`a.b.c`).

        Empty if there is none. A column's own name comes first, even if there are dots in it.
        """
        own = self.column(name)
        if own is not None or "." not in name:
            return () if own is None else (own,)
        found: list[ColumnFacts] = []
        within = self.columns
        for part in name.split("."):
            known = next((one for one in within if one.name == part), None)
            if known is None:
                return ()
            found.append(known)
            within = known.fields
        return tuple(found)

    def field(self, name: str) -> ColumnFacts | None:
        """The last of them, under its full name."""
        found = self.path(name)
        if len(found) < 2:
            return found[0] if found else None
        return replace(found[-1], name=name)

    def layouts(self, field_ids: Collection[int]) -> tuple[tuple[int, str, str], ...]:
        """What decides these columns' values, beside the files: their ids, types and layouts."""
        found = (one for one in self.columns if one.field_id in field_ids)
        return tuple((one.field_id, one.type, one.layout) for one in found)


class At(Struct, frozen=True):
    """Which state of a table is asked for; at most one field is set, none means the newest.

    `ref` is a branch or tag, read under its own rule of schemas; `branch` reads either under the
    table's schema. `selected`: the table's name has the state, as in `t.snapshot_id_1`.
    """

    snapshot_id: int | None = None
    ref: str | None = None
    branch: str | None = None
    timestamp_ms: int | None = None
    selected: bool = False


class ViewFacts(Struct, frozen=True):
    """A view: its SELECT, its columns as names with Spark's types, and where its names are found.

    `catalogs` are the names that stand for catalogs.
    """

    name: tuple[str, ...]
    sql: str
    columns: tuple[tuple[str, str], ...]
    catalog: str
    namespace: tuple[str, ...]
    catalogs: frozenset[str]

    def full(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The full name that one in its SELECT stands for."""
        if len(parts) == 1:
            return (self.catalog, *self.namespace, *parts)
        return parts if parts[0] in self.catalogs else (self.catalog, *parts)


class Facts(Protocol):
    """Resolves table names under one pin: asked twice for one name and state, it answers alike."""

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        """The pinned table of that name; None where it's no Iceberg table known here."""
        ...

    def read_ahead(
        self,
        names: Sequence[tuple[str, ...]],  # noqa: ARG002 - the default reads nothing
    ) -> None:
        """Announces the tables of a statement, so that they can be read at once."""
        return

    def unique(
        self,
        parts: tuple[str, ...],  # noqa: ARG002 - the default knows nothing
        at: At,  # noqa: ARG002
        field_ids: frozenset[int],  # noqa: ARG002
    ) -> bool:
        """Whether no two rows of that table agree in these columns, but for rows with a NULL there.

        `field_ids` isn't empty. A set of which a part is unique is unique. False: not known.
        """
        return False
