"""ALTER TABLE … ADD | DROP RELATE COLUMN and SHOW RELATE COLUMNS, run against a services.

Declaring one checks all that can be checked: that names resolve, that keys have one type, that the
joins lead from the fact to the attribute, and that each dimension's key is unique now.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.relate.declaration import (
    NO_FIELD,
    PREFIX,
    Field,
    Join,
    RelateColumn,
    RelateKeyColumn,
    relate_columns,
    to_property,
)
from accelerator.artifacts.relate.expressions import bound, check_raises, spark_text_of
from accelerator.artifacts.relate.path import check, named, path_of
from accelerator.errors import (
    AcceleratorError,
    RelateColumnError,
    UnknownColumnError,
    UnknownTableError,
    no_column,
    stops_listing,
)
from accelerator.query.statements.nodes import (
    AddRelateColumn,
    DropRelateColumn,
    ShowRelateColumns,
    TableName,
)
from accelerator.services.advisor.apply import user_changes
from rewrite.facts import ColumnFacts
from rewrite.identifiers.qualified_name import joined
from rewrite.ir.expr import Column, columns, transform

if TYPE_CHECKING:
    from accelerator.iceberg import Pin, PinnedTable
    from accelerator.query.runtime.services import Services
    from accelerator.store import RegistryVersion

_ID_BITS = 30
_DIMENSIONS_MAX = 8


def add(statement: AddRelateColumn, services: Services) -> dict[str, str]:
    """Declares it. RelateColumnError and its like where it can't be."""
    pin = services.lake.pin(fresh=True)
    fact = _table(pin, statement.table)
    column = resolved(statement, fact, pin)
    if fact.facts.column(column.name) is not None:
        raise RelateColumnError(
            f"{fact.facts.name} has a column {column.name}",
            hint="give the relate column a name of its own: … AS name",
        )
    if named(fact, column.name) is not None:
        raise RelateColumnError(
            f"{fact.facts.name} has a relate column {column.name} already",
            hint=f"ALTER TABLE {fact.facts.name} DROP RELATE COLUMN {column.name} drops it",
        )
    path = path_of(column, pin)
    if column.expression is not None:
        check_raises(column.expression, statement.expression, path.dimensions)
    services.dimensions.check(path)  # its keys are unique
    services.lake.set_properties(statement.table, {PREFIX + column.name: to_property(column)})
    return {"relate_column": column.name}


def drop(statement: DropRelateColumn, services: Services) -> list[dict[str, str]]:
    """Forgets it, and drops the indexes on it. A damaged one can be dropped too."""
    fact = _table(services.lake.pin(fresh=True), statement.table, listed=True)
    column = named(fact, statement.name)
    if column is None:
        if statement.if_exists:
            return []
        raise missing(statement.name, fact.facts.name)
    on_it = indexes_on(services.store.registry(fresh=True), fact, column)
    if on_it:
        registry = services.store.registry(fresh=True)
        user_changes.note(services, "dropped", *(registry.indexes[name] for name in on_it))
    services.lake.set_properties(statement.table, {PREFIX + column.name: None})
    for name in on_it:
        services.store.drop_index(name)
    return [{"relate_column": column.name}]


def missing(name: str, table: str) -> RelateColumnError:
    """Returns the error for a name that no relate column of the table has.

    Its hint lists no names: some may rest on tables that the user may not read.
    """
    return RelateColumnError(
        f"{table} has no relate column {name}", hint=f"SHOW RELATE COLUMNS ON {table} lists them"
    )


def show(statement: ShowRelateColumns, services: Services) -> list[dict[str, object]]:
    """A row for each relate column of one table, or of all that can be listed.

    Of all tables, one that can't be read has a row with its status alone.
    """
    pin, lake, table = services.lake.pin(fresh=True), services.lake, statement.table
    names = [lake.resolve(table)] if table is not None else sorted(lake.tables())
    registry = services.store.registry(fresh=True)
    rows: list[dict[str, object]] = []
    for name in names:
        try:
            fact = _table(pin, name, listed=True)
        except AcceleratorError as error:
            if table is not None or stops_listing(error):
                raise
            rows.append({"table": joined(name), "status": error.message})
            continue
        for column in relate_columns(fact.properties):
            told = {"table": joined(name), "indexes": indexes_on(registry, fact, column)}
            rows.append(_row(column, fact, pin) | told)
    return rows


def indexes_on(registry: RegistryVersion, fact: PinnedTable, column: RelateColumn) -> list[str]:
    """Names of those on the relate column."""
    own = fact.facts.uuid, column.id
    known = sorted(registry.indexes.items())
    return [name for name, one in known if (one.table_uuid, one.field_id) == own]


def _row(column: RelateColumn, fact: PinnedTable, pin: Pin) -> dict[str, object]:
    row: dict[str, object] = {"name": column.name}
    if not column.path:
        return row | {"status": column.problem}
    tables = [fact.parts, *(join.table for join in column.path)]
    if column.expression is None:
        row["attribute"] = joined((*tables[-1], column.attribute.name))
    else:
        row["attribute"] = spark_text_of(column.expression, tables)
    row["joins"] = [
        f"{joined((*tables[key.of], key.other.name))} = {joined((*join.table, key.own.name))}"
        for join in column.path
        for key in join.keys
    ]
    try:
        path = path_of(column, pin)
        check(path, fact)
        return row | {"type": path.attribute.type, "status": "ok"}
    except AcceleratorError as error:
        return row | {"status": error.message}


def _table(pin: Pin, name: TableName, *, listed: bool = False) -> PinnedTable:
    """The table; `listed`: though Spark refuses it, since no row is read."""
    found = pin.described(name) if listed else pin.pinned(name)
    if found is None:
        raise UnknownTableError(
            f"there is no Iceberg table {joined(name)}",
            unknown=joined(name),
            hint="relate columns are kept for Iceberg tables of this session's catalogs",
        )
    return found


class _End(Struct, frozen=True):
    """A column in ON: the place of its table among those that the statement names."""

    table: int
    column: ColumnFacts


def resolved(statement: AddRelateColumn, fact: PinnedTable, pin: Pin) -> RelateColumn:
    """The relate column that a statement means, under an id of its own; errors as of `add`."""
    tables = [fact]
    if statement.expression:
        value = bound(statement.expression, lambda path: _attribute(path, tables, pin))
    else:
        value = _attribute(statement.source, tables, pin)
    ends = [
        (_end(left, tables, pin), _end(right, tables, pin)) for left, right in statement.equalities
    ]
    path, order = _path(ends, tables, {c.occurrence for c in columns(value)})
    number = -1 - secrets.randbits(_ID_BITS)
    if isinstance(value, Column):
        attribute = Field(value.field_id, value.name)
        found = RelateColumn(statement.name or value.name, number, path, attribute)
    else:
        placed = transform(
            value,
            lambda n: (
                replace(n, occurrence=order.index(n.occurrence)) if isinstance(n, Column) else None
            ),
        )
        found = RelateColumn(statement.name, number, path, NO_FIELD, expression=placed)
    check(path_of(found, pin), fact)
    return found


def _attribute(path: TableName, tables: list[PinnedTable], pin: Pin) -> Column:
    """The column of a dimension that a name before ON means; a table that it brings in is added."""
    *qualifier, name = path
    if not qualifier:
        raise RelateColumnError(
            f"{name} doesn't name a table", hint="write FROM dimension.attribute"
        )
    end = _end(path, tables, pin)
    if tables[end.table].facts.uuid == tables[0].facts.uuid:
        raise RelateColumnError(
            f"{tables[0].facts.name} can't be its own dimension",
            hint="the attribute's table is another one than the fact",
        )
    return Column(end.table, end.column.field_id, end.column.name, end.column.type)


def _no_column(table: PinnedTable, name: str) -> UnknownColumnError:
    known = [column.name for column in table.facts.columns]
    return no_column(table.facts.name, name, known, f"it has {', '.join(known)}")


def _end(path: TableName, tables: list[PinnedTable], pin: Pin) -> _End:
    """The column that a name in ON means; a table that it brings in is added."""
    *qualifier, name = path
    if not qualifier:
        having = [i for i, t in enumerate(tables[:2]) if t.facts.column(name) is not None]
        if len(having) != 1:
            both = "both tables have" if having else "neither table has"
            raise UnknownColumnError(
                f"{both} a column {name}", hint="write it behind its table's name and a dot"
            )
        column = tables[having[0]].facts.column(name)
        if column is not None:
            return _End(having[0], column)
    parts = tuple(qualifier)
    lowered = [p.lower() for p in parts]
    places = [
        i for i, t in enumerate(tables) if [p.lower() for p in t.parts[-len(parts) :]] == lowered
    ]
    if len(places) > 1:
        raise RelateColumnError(
            f"{joined(path)} may be of several tables", hint="write the table's full name"
        )
    if not places:
        tables.append(_table(pin, parts))
        places = [len(tables) - 1]
    table = tables[places[0]]
    column = table.facts.column(name)
    if column is None:
        raise _no_column(table, name)
    return _End(places[0], column)


def _path(
    ends: Sequence[tuple[_End, _End]], tables: Sequence[PinnedTable], wanted: Collection[int]
) -> tuple[tuple[Join, ...], list[int]]:
    """The joins in the order in which they lead from the fact to the wanted tables, and that order.

    Each table is wanted, or leads on to one that is.
    """
    if len(tables) > _DIMENSIONS_MAX + 1:
        raise RelateColumnError(
            f"{len(tables) - 1} dimensions stand in one path",
            hint=f"up to {_DIMENSIONS_MAX} do",
        )
    order, left, path = [0], list(ends), list[Join]()
    while left:
        pairs = [(a, b) if a.table in order else (b, a) for a, b in left]
        reachable = [(a, b) for a, b in pairs if a.table in order and b.table not in order]
        closed = [b for a, b in pairs if a.table in order and b.table in order]
        if closed or not reachable:
            names = ", ".join(dict.fromkeys(tables[b.table].facts.name for _, b in pairs))
            what = "go round in a circle" if closed else "don't begin at the fact"
            raise RelateColumnError(
                f"the joins {what}: {names}",
                hint="lead from the fact to the attribute's table, each table once",
            )
        target = reachable[0][1].table
        own = [(a, b) for a, b in reachable if b.table == target]
        if order[1:] and any(a.table == 0 for a, _ in own):
            raise RelateColumnError(
                f"{tables[target].facts.name} is joined to the fact beside another dimension",
                hint="a path leads from the fact to one dimension, and from there on",
            )
        keys = tuple(
            RelateKeyColumn(
                order.index(a.table),
                Field(a.column.field_id, a.column.name),
                Field(b.column.field_id, b.column.name),
            )
            for a, b in own
        )
        path.append(Join(tables[target].parts, tables[target].facts.uuid, keys))
        order.append(target)
        left = [pair for pair in left if pair not in own and pair[::-1] not in own]
    missing = sorted(set(wanted) - set(order))
    through = {order[key.of] for join in path for key in join.keys}
    if missing or any(one not in wanted and one not in through for one in order[1:]):
        name = tables[missing[0] if missing else max(wanted)].facts.name
        raise RelateColumnError(
            f"no join leads on to {name}",
            hint="the last table of the path is the one behind FROM",
        )
    return tuple(path), order
