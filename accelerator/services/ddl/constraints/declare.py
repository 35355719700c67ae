"""Declared keys of Iceberg tables: PRIMARY KEY, UNIQUE, FOREIGN KEY, none of them enforced.

They are hints, kept in the table's own properties (`docs/formats/constraints.md`) by field id, so
that a renamed column keeps its constraint and dropping one leaves no trace. Answers never rest on
them but on what a build counted. `accelerator.services.ddl.constraints.validate` counts violations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from accelerator.errors import (
    AcceleratorError,
    ConstraintError,
    UnknownTableError,
    no_column,
    stops_listing,
)
from accelerator.query.statements.constraint import (
    PREFIX,
    WORDS,
    Constraint,
    from_property,
    to_property,
)
from accelerator.services.ddl.constraints.validate import Validation, validate
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.iceberg import Lake  # imports PyIceberg, which is slow

__all__ = [
    "Constraint",
    "Validation",
    "add",
    "constraints_of",
    "drop",
    "find",
    "missing",
    "show",
    "validate",
]

_NEWEST = At()
_WHOLE_NUMBERS = {"tinyint", "smallint", "int", "bigint"}
_NESTED = ("struct<", "array<", "map<", "variant", "geometry", "geography")


def add(
    lake: Lake, table: tuple[str, ...], constraint: Constraint, *, enforced: bool = False
) -> Constraint:
    """Declares it; returns it with every name resolved."""
    if enforced:
        raise ConstraintError(
            f"the constraint {constraint.name} would have to be enforced, which nothing here does",
            hint=f"write NOT ENFORCED: ADD CONSTRAINT {constraint.name} {constraint.definition()}",
        )
    pin = lake.pin()
    facts = _facts(pin, table)
    _check_free(constraint, constraints_of(lake, table), facts.name)
    columns = _columns(facts, constraint.columns)
    there, partners = _partners(lake, pin, constraint)
    _check_comparable(constraint, columns, partners)
    resolved = replace(
        constraint,
        columns=tuple(column.name for column in columns),
        references=lake.resolve(constraint.references) if constraint.references else None,
        references_columns=tuple(column.name for column in partners),
    )
    text = to_property(resolved, columns, there, partners)
    lake.set_properties(table, {PREFIX + constraint.name: text})
    return resolved


def drop(lake: Lake, table: tuple[str, ...], name: str, *, if_exists: bool = False) -> bool:
    """Removes its property; whether there was one. A damaged property can be dropped too."""
    facts = _facts(lake.pin().listing(), table)
    keys = [key for key in _properties(lake, table) if _named(key, name)]
    if keys:
        lake.set_properties(table, dict.fromkeys(keys))
    elif not if_exists:
        raise missing(name, facts.name)
    return bool(keys)


def find(lake: Lake, table: tuple[str, ...], name: str) -> Constraint:
    """The constraint of that name, compared without case."""
    for one in constraints_of(lake, table):
        if one.name.lower() == name.lower():
            return one
    raise missing(name, _facts(lake.pin(), table).name)


def constraints_of(lake: Lake, table: tuple[str, ...]) -> tuple[Constraint, ...]:
    """The table's constraints by name, under its columns' current names."""
    pin = lake.pin().listing()
    facts = _facts(pin, table)
    return tuple(
        from_property(key.removeprefix(PREFIX), text, facts, pin)
        for key, text in sorted(_properties(lake, table).items())
        if key.startswith(PREFIX)
    )


def missing(name: str, table: str) -> ConstraintError:
    """Returns the error for a name that no constraint of the table has.

    Its hint lists no names: some may rest on tables that the user may not read.
    """
    return ConstraintError(
        f"{table} has no constraint {name}", hint=f"SHOW CONSTRAINTS ON {table} lists them"
    )


def show(lake: Lake, table: tuple[str, ...] | None = None) -> list[dict[str, object]]:
    """SHOW CONSTRAINTS: a row for each constraint of one table, or of all that can be listed.

    Of all tables, one that can't be read has a row with its problem alone.
    """
    if table is not None:
        full = lake.resolve(table)
        return [_row(joined(full), one) for one in constraints_of(lake, full)]
    rows: list[dict[str, object]] = []
    for full in sorted(lake.tables()):
        try:
            rows += [_row(joined(full), one) for one in constraints_of(lake, full)]
        except AcceleratorError as error:
            if stops_listing(error):
                raise
            rows.append({"table": joined(full), "references": None, "problem": error.message})
    return rows


def _row(table: str, constraint: Constraint) -> dict[str, object]:
    there = constraint.references
    return {
        "table": table,
        "name": constraint.name,
        "kind": WORDS[constraint.kind],
        "columns": list(constraint.columns),
        "references": joined(there) if there else None,
        "references_columns": list(constraint.references_columns) if there else None,
        "rely": constraint.rely,
        "problem": constraint.problem or None,
    }


def _properties(lake: Lake, table: tuple[str, ...]) -> Mapping[str, str]:
    pinned = lake.pin().described(table)
    return pinned.properties if pinned is not None else {}


def _facts(pin: Facts, table: tuple[str, ...]) -> TableFacts:
    facts = pin.table(table, _NEWEST)
    if facts is None:
        raise UnknownTableError(
            f"there is no Iceberg table {joined(table)}",
            unknown=joined(table),
            hint="check the name; constraints are kept for Iceberg tables only",
        )
    return facts


def _named(key: str, name: str) -> bool:
    return key.lower() == (PREFIX + name).lower()


def _check_free(constraint: Constraint, known: tuple[Constraint, ...], table: str) -> None:
    for one in known:
        same_name = one.name.lower() == constraint.name.lower()
        if same_name or one.kind == constraint.kind == "primary_key":
            what = f"a constraint {one.name}" if same_name else f"a primary key, {one.name}"
            raise ConstraintError(
                f"{table} has {what} already",
                hint=f"ALTER TABLE {table} DROP CONSTRAINT {one.name} drops it",
            )


def _columns(facts: TableFacts, names: tuple[str, ...]) -> tuple[ColumnFacts, ...]:
    found: list[ColumnFacts] = []
    for name in names:
        column = facts.column(name)
        if column is None:
            known = [column.name for column in facts.columns]
            raise no_column(facts.name, name, known, f"it has {', '.join(known)}")
        if column in found:
            raise ConstraintError(f"the column {name} stands twice", hint="name each column once")
        if column.type.startswith(_NESTED):
            raise ConstraintError(
                f"{facts.name}.{name} is of the type {column.type}, which can't be a key",
                hint="a key has columns of simple types",
            )
        found.append(column)
    return tuple(found)


def _partners(
    lake: Lake, pin: Facts, constraint: Constraint
) -> tuple[TableFacts | None, tuple[ColumnFacts, ...]]:
    """The referenced table and columns; without columns, those of its primary key."""
    if constraint.references is None:
        return None, ()
    facts = _facts(pin, constraint.references)
    names = constraint.references_columns or _primary_key(lake, constraint.references, facts)
    return facts, _columns(facts, names)


def _primary_key(lake: Lake, table: tuple[str, ...], facts: TableFacts) -> tuple[str, ...]:
    for one in constraints_of(lake, table):
        if one.kind == "primary_key" and not one.problem:
            return one.columns
    raise ConstraintError(
        f"{facts.name} has no primary key to refer to",
        hint=f"name the columns: REFERENCES {facts.name} (…)",
    )


def _check_comparable(
    constraint: Constraint, columns: tuple[ColumnFacts, ...], partners: tuple[ColumnFacts, ...]
) -> None:
    if constraint.references is None:
        return
    if len(columns) != len(partners):
        raise ConstraintError(
            f"{constraint.name} has {len(columns)} columns and refers to {len(partners)}",
            hint="name as many referenced columns as columns, in the same order",
        )
    for column, partner in zip(columns, partners, strict=True):
        if not _comparable(column.type, partner.type):
            raise ConstraintError(
                f"{column.name} is {column.type}, and {partner.name} is {partner.type}",
                hint="a foreign key and what it refers to have the same type",
            )


def _comparable(here: str, there: str) -> bool:
    """Whether the two are equal by value: the same type, or both whole numbers or decimals."""
    exact = [kind in _WHOLE_NUMBERS or kind.startswith("decimal(") for kind in (here, there)]
    return here == there or all(exact)
