"""What catalogs have, as far as one user may see it: schemas, tables, views and their columns.

One look, for one answer: what was asked is kept. Each catalog's own tables of itself stand beside
those of the lake; they are always seen, and so is the catalog `system`.

Names of tables and views, and which of the two they are, are listed for who sees them. Everything
else of them (columns, comments, definitions, metadata) is for who may read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from accelerator.gateway.access.check import denied
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.grants import Object
from accelerator.gateway.access.rulings import Rulings, noting
from accelerator.gateway.catalog.schemas import SYSTEM, is_virtual, virtual_schemas
from accelerator.iceberg import CatalogError, Lake, PinnedTable
from rewrite.dialects.trino.type_names import trino_type
from rewrite.facts import ViewFacts

MaySee = Callable[[str, str | None, str | None], bool]
"""Whether the user may see a catalog, a schema of it, or a table of that."""
CheckRead = Callable[[tuple[str, str, str]], None]
"""Raises AccessDeniedError if the user may not read that table or view, or what is under it."""
_NESTED = "rest"
"""Catalogs of which a name with dots isn't a namespace within another one."""


class Relation(Struct, frozen=True):
    """A table or a view by its name."""

    name: str
    is_view: bool = False


class ListedColumn(Struct, frozen=True):
    """A column: Trino's type, whether it may be NULL, and what is said of it."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None


def nobody(full: tuple[str, str, str]) -> None:
    """Lets nobody read the table: a listing of names needs no more."""
    raise denied("read", Object.table(full))


class Listing:
    """One look at a lake."""

    def __init__(self, lake: Lake, may_see: MaySee, check_read: CheckRead = nobody) -> None:
        self.lake = lake
        self._may_see, self.check_read = may_see, check_read
        self._readable: dict[tuple[str, str, str], bool] = {}
        self._pin = lake.pin()
        self._single = {one.name for one in lake.settings if one.type == _NESTED}
        self._schemas: dict[str, tuple[str, ...]] = {}
        self._relations: dict[tuple[str, str], tuple[Relation, ...]] = {}

    def catalogs(self) -> list[str]:
        """Their names, in order."""
        seen = [one for one in self.lake.catalogs if self._may_see(one, None, None)]
        return sorted([*seen, SYSTEM])

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Those of a catalog that is seen, in order. CatalogError where it can't be asked."""
        if catalog not in self._schemas:
            found = set(virtual_schemas(catalog))
            if catalog != SYSTEM:
                found |= set(self._visible_schemas(catalog, self._namespaces(catalog)))
            self._schemas[catalog] = tuple(sorted(found))
        return self._schemas[catalog]

    def has_schema(self, catalog: str, schema: str) -> bool:
        """Whether there is such a schema, as far as is seen."""
        return schema in self.schemas(catalog)

    def relations(self, catalog: str, schema: str) -> tuple[Relation, ...]:
        """Those of a schema, in order; none where there is no such schema."""
        key = catalog, schema
        if key not in self._relations:
            if is_virtual(*key):
                tables = virtual_schemas(catalog).get(schema, {})
                self._relations[key] = tuple(Relation(one) for one in sorted(tables))
            else:
                self._relations[key] = tuple(self._within(catalog, schema))
        return self._relations[key]

    def relation(self, catalog: str, schema: str, name: str) -> Relation | None:
        """The one of that name; nothing else of the schema is asked for."""
        if is_virtual(catalog, schema):
            return Relation(name) if name in virtual_schemas(catalog).get(schema, {}) else None
        reader = self.lake.catalogs.get(catalog)
        if reader is None or not self._is_seen(catalog, schema, name):
            return None
        if reader.pointer((schema, name), self) is not None:
            return Relation(name)
        return Relation(name, True) if reader.view((schema, name), self) is not None else None

    def reads(self, catalog: str, schema: str, name: str) -> bool:
        """Whether the user may read the table or view of that name, and all that is under it.

        Rules are asked before any catalog is, so a forbidden name costs no look at one.
        """
        full = catalog, schema, name
        if full not in self._readable:
            try:
                with noting(Rulings()):  # a list that leaves names out is no decision about each
                    self.check_read(full)
                self._readable[full] = True
            except AccessDeniedError:
                self._readable[full] = False
        return self._readable[full]

    def reads_full(self, full: tuple[str, ...]) -> bool:
        """The same of a full name of any parts; False if its catalog can't be asked."""
        if len(full) < 3:
            return False
        try:
            return self.reads(full[0], ".".join(full[1:-1]), full[-1])
        except CatalogError:
            return False

    def table(self, catalog: str, schema: str, name: str) -> PinnedTable | None:
        """The table of that name, if the user may read it; though Spark refuses it."""
        if not self._is_readable(catalog, schema, name):
            return None
        return self._pin.described((catalog, schema, name))

    def view(self, catalog: str, schema: str, name: str) -> ViewFacts | None:
        """The view of that name, if the user may read it and it's in Spark's dialect."""
        if not self._is_readable(catalog, schema, name):
            return None
        return self._pin.view((catalog, schema, name))

    def columns(self, catalog: str, schema: str, name: str) -> tuple[ListedColumn, ...]:
        """Those of a table or view that the user may read, in order; none of an unreadable view.

        CatalogError where a table's metadata can't be read.
        """
        if is_virtual(catalog, schema):
            own = virtual_schemas(catalog).get(schema, {}).get(name)
            return () if own is None else tuple(ListedColumn(*one) for one in own.shown.items())
        pinned = self.table(catalog, schema, name)
        if pinned is not None:
            told = {one.field_id: one.doc for one in pinned.schema.fields}
            return tuple(
                ListedColumn(
                    one.name, trino_type(one.type), not one.required, told.get(one.field_id)
                )
                for one in pinned.facts.columns
            )
        view = self.view(catalog, schema, name)
        return (
            () if view is None else tuple(ListedColumn(n, trino_type(t)) for n, t in view.columns)
        )

    def comment(self, catalog: str, schema: str, name: str) -> str | None:
        """What a table says of itself."""
        pinned = self.table(catalog, schema, name)
        return None if pinned is None else pinned.properties.get("comment")

    def _is_readable(self, catalog: str, schema: str, name: str) -> bool:
        if is_virtual(catalog, schema) or not self._is_seen(catalog, schema, name):
            return False
        return self.reads(catalog, schema, name)

    def _is_seen(self, catalog: str, schema: str, name: str) -> bool:
        return (
            catalog in self.lake.catalogs
            and self._may_see(catalog, None, None)
            and self._may_see(catalog, schema, None)
            and self._may_see(catalog, schema, name)
        )

    def _visible_schemas(self, catalog: str, schemas: Iterable[str]) -> Iterable[str]:
        if not self._may_see(catalog, None, None):
            return ()
        return (one for one in schemas if self._may_see(catalog, one, None))

    def _namespaces(self, catalog: str) -> Iterable[str]:
        """A namespace within another one is `a.b`, where statements can name it so."""
        reader = self.lake.catalogs.get(catalog)
        found = () if reader is None else reader.namespaces()
        single = catalog in self._single
        return (".".join(one) for one in found if len(one) == 1 or not single)

    def _within(self, catalog: str, schema: str) -> Iterable[Relation]:
        reader = self.lake.catalogs.get(catalog)
        if reader is None or schema not in self._visible_schemas(catalog, [schema]):
            return
        for name, is_view in sorted(reader.within((schema,))):
            if self._may_see(catalog, schema, name):
                yield Relation(name, is_view)
