"""What a lake has, in the words of SQLAlchemy's inspector.

A schema is a namespace of the session's catalog, or catalog and namespace of another, written as in
SQL: `sales`, `other.sales`, `` `my.namespace` ``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from accelerator.errors import StatementError
from accelerator.iceberg import Lake
from accelerator.services.ddl.constraints.declare import Constraint, constraints_of
from accelerator.sqlalchemy.types import sqlalchemy_type
from rewrite.identifiers.qualified_name import joined, parts_of

_ANY = "t"
"""Whatever the name of a table is, its namespace is the same."""


class Reflected(Struct, frozen=True):
    """One look at it."""

    lake: Lake
    namespace: tuple[str, ...]

    def default_schema(self) -> str | None:
        """The namespace of names without one; None where there is none."""
        return joined(self.namespace) if self.namespace else None

    def schemas(self) -> list[str]:
        """Every namespace."""
        return sorted(map(self._schema, set(self.lake.listed(lambda one: one.namespaces()))))

    def tables(self, schema: str | None) -> list[str]:
        """The Iceberg tables of one."""
        return self._names(self.lake.tables(), schema)

    def views(self, schema: str | None) -> list[str]:
        """The views of one, as far as the catalog gives them."""
        return self._names(self.lake.listed(lambda one: one.views()), schema)

    def columns(self, name: str, schema: str | None) -> list[dict[str, Any]] | None:
        """Those of a table or view; None where there is none of that name."""
        full = self._full(name, schema)
        if full is None:
            return None
        pin = self.lake.pin()
        pinned = pin.described(full)
        if pinned is not None:
            told = {field.field_id: field.doc for field in pinned.schema.fields}
            return [
                _column(one.name, one.type, not one.required, told.get(one.field_id))
                for one in pinned.facts.columns
            ]
        view = pin.view(full)
        if view is None:
            return None
        return [_column(column, kind, True, None) for column, kind in view.columns]

    def view_text(self, name: str, schema: str | None) -> str | None:
        """The SELECT of a view; None where there is none of that name."""
        full = self._full(name, schema)
        view = None if full is None else self.lake.pin().view(full)
        return None if view is None else view.sql

    def constraints(self, name: str, schema: str | None) -> tuple[Constraint, ...]:
        """The declared keys of a table; a view has none."""
        full = self._full(name, schema)
        if full is None or self.lake.pin().described(full) is None:
            return ()
        return constraints_of(self.lake, full)

    def foreign_key(self, key: Constraint) -> dict[str, Any]:
        """As SQLAlchemy has one."""
        there = key.references or ()
        return {
            "name": key.name,
            "constrained_columns": list(key.columns),
            "referred_schema": self._schema(there[:-1]) if len(there) > 1 else None,
            "referred_table": there[-1],
            "referred_columns": list(key.references_columns),
        }

    def comment(self, name: str, schema: str | None) -> str | None:
        """What the table says of itself."""
        full = self._full(name, schema)
        pinned = None if full is None else self.lake.pin().described(full)
        return None if pinned is None else pinned.properties.get("comment")

    def _full(self, name: str, schema: str | None) -> tuple[str, ...] | None:
        try:
            return self.lake.resolve((*(parts_of(schema) if schema else ()), name))
        except StatementError:  # which no namespace can be named
            return None

    def _names(self, full_names: Iterable[tuple[str, ...]], schema: str | None) -> list[str]:
        within = self._full(_ANY, schema)
        return sorted(full[-1] for full in full_names if within and full[:-1] == within[:-1])

    def _schema(self, full: tuple[str, ...]) -> str:
        """Without the catalog, where the session's own is meant without it."""
        short = full[1:]
        return joined(short if self.lake.resolve((*short, _ANY)) == (*full, _ANY) else full)


def _column(name: str, kind: str, nullable: bool, comment: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "type": sqlalchemy_type(kind),
        "nullable": nullable,
        "default": None,
        "comment": comment,
    }
