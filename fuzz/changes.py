"""Random changes of a world's tables, by Spark's own statements and Iceberg's procedures."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException

from fuzz import data, values
from fuzz.expressions import Dice, Expr, leaf
from fuzz.schema import Column, Table, new_column
from fuzz.values import literal
from fuzz.world import World

_PROMOTIONS = {"INT": "BIGINT", "FLOAT": "DOUBLE"}


def change(world: World) -> str:
    """Changes a table; says how, or that Spark refused it."""
    changes: list[tuple[int, Callable[[World], str]]] = [
        (4, _append),
        (3, _delete),
        (2, _update),
        (2, _merge),
        (3, _update_dimension),
        (2, _insert_dimension),
        (2, _delete_dimension),
        (1, _rename),
        (1, _add_column),
        (1, _replace_column),
        (1, _promote),
        (1, _rollback),
        (1, _compact),
        (1, _cluster),
        (1, _overwrite),
        (1, _add_cube),
        (2, _see),
    ]
    one = world.r.choices([c for _, c in changes], [w for w, _ in changes])[0]
    try:
        return one(world)
    except PySparkException as error:  # such as a rename of what a partition is by
        return f"{one.__name__} was refused: {str(error).splitlines()[0][:120]}"


def _fact(world: World) -> Table:
    return world.star.tables["f"]


def _where(world: World, table: Table) -> str:
    """A predicate on one of the table's columns."""
    column = world.r.choice(table.columns)
    return world.star.sql(leaf(Dice(world.r, world.r), Expr.of(column)), {})


def _dimension(world: World) -> Table:
    return world.star.tables[world.r.choice([s for s in world.star.tables if s != "f"])]


def _append(world: World) -> str:
    world.spark(data.append(world.r, _fact(world)))
    world.note("f")
    return "append"


def _delete(world: World) -> str:
    fact = _fact(world)
    world.spark(f"DELETE FROM {fact.name} WHERE {_where(world, fact)}")
    world.note("f")
    return "delete"


def _set(world: World, table: Table) -> str:
    column = world.r.choice([c for c in table.columns if c.id != f"{table.short}_k"])
    return f"{column.name} = {literal(column.value(world.r), column.type)}"


def _update(world: World) -> str:
    fact = _fact(world)
    world.spark(f"UPDATE {fact.name} SET {_set(world, fact)} WHERE {_where(world, fact)}")
    world.note("f")
    return "update"


def _merge(world: World) -> str:
    """Rows of a key go, those of another change, and of a third come."""
    fact, edge = _fact(world), world.star.edges[0]
    key = world.star.column(edge.key)
    keys = [literal(k, key.type) for k in world.r.sample(key.pool, min(3, len(key.pool)))]
    row = ", ".join(literal(c.value(world.r), c.type) for c in fact.columns)
    listed = ", ".join(c.name for c in fact.columns)
    source = f"SELECT DISTINCT col1 AS merged FROM VALUES {', '.join(f'({k})' for k in keys)}"
    world.spark(
        f"MERGE INTO {fact.name} t USING ({source}) s ON t.{key.name} = s.merged"
        f" WHEN MATCHED AND s.merged = {keys[0]} THEN DELETE"
        f" WHEN MATCHED THEN UPDATE SET {_set(world, fact)}"
        f" WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({row})"
    )
    world.note("f")
    return "merge"


def _update_dimension(world: World) -> str:
    table = _dimension(world)
    world.spark(f"UPDATE {table.name} SET {_set(world, table)} WHERE {_where(world, table)}")
    world.note(table.short)
    return f"update of {table.short}"


def _insert_dimension(world: World) -> str:
    """A key that facts may have had without a partner, or one more of a key that's there."""
    table = _dimension(world)
    edge = next(e for e in world.star.edges if e.child == table.short)
    key = world.r.choice(world.star.column(edge.key).pool)
    name = world.star.column(edge.unique).name
    if world.r.random() < 0.7:
        world.spark(f"DELETE FROM {table.name} WHERE {name} = {literal(key)}")
    world.spark(data.insert(table, [[key, *(c.value(world.r) for c in table.columns[1:])]]))
    world.note(table.short)
    return f"insert into {table.short}"


def _delete_dimension(world: World) -> str:
    table = _dimension(world)
    world.spark(f"DELETE FROM {table.name} WHERE {_where(world, table)}")
    world.note(table.short)
    return f"delete from {table.short}"


def _any_column(world: World) -> tuple[Table, Column]:
    table = world.r.choice(list(world.star.tables.values()))
    return table, world.r.choice(table.columns)


def _new_name(world: World, column: Column) -> str:
    return f"{column.id}_{len(world.script)}"


def _rename(world: World) -> str:
    table, column = _any_column(world)
    new = _new_name(world, column)
    world.spark(f"ALTER TABLE {table.name} RENAME COLUMN {column.name} TO {new}")
    column.name = new
    table.snapshots.clear()  # earlier states have earlier names
    return f"rename {column.id}"


def _see(world: World) -> str:
    world.see()
    return "the view"


def _add_column(world: World) -> str:
    table = world.r.choice(list(world.star.tables.values()))
    column = new_column(world.r, table, world.r.choice(("STRING", "INT", "DECIMAL")), 4)
    world.spark(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {column.type}")
    table.columns.append(column)
    table.snapshots.clear()
    return f"add {column.id}"


def _replace_column(world: World) -> str:
    """A column goes, and another one comes by its name."""
    table, column = _any_column(world)
    if column in (table.partitioned, table.columns[0]):
        return _append(world)
    world.spark(f"ALTER TABLE {table.name} DROP COLUMN {column.name}")
    world.spark(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {column.type}")
    table.columns.remove(column)
    table.columns.append(column)
    table.snapshots.clear()
    return f"replace {column.id}"


def _promote(world: World) -> str:
    """A wider type."""
    table, column = _any_column(world)
    decimal = values.is_decimal(column.type)
    wider = values.wider(column.type) if decimal else _PROMOTIONS.get(column.type, column.type)
    if wider == column.type:
        return _append(world)
    world.spark(f"ALTER TABLE {table.name} ALTER COLUMN {column.name} TYPE {wider}")
    column.type = wider
    return f"promote {column.id}"


def _rollback(world: World) -> str:
    table = world.r.choice(list(world.star.tables.values()))
    if len(table.snapshots) < 2:
        return _append(world)
    catalog, _, rest = table.name.partition(".")
    to = world.r.choice(table.snapshots[:-1])
    world.spark(
        f"CALL {catalog}.system.set_current_snapshot(table => '{rest}', snapshot_id => {to})"
    )
    return f"rollback of {table.short}"


def _compact(world: World) -> str:
    table = _fact(world)
    catalog, _, rest = table.name.partition(".")
    world.spark(
        f"CALL {catalog}.system.rewrite_data_files(table => '{rest}',"
        " options => map('rewrite-all', 'true'))"
    )
    world.note("f")
    return "compaction"


def _cluster(world: World) -> str:
    fact = _fact(world)
    column = world.r.choice([c for c in fact.columns if c.type not in values.FLOATS])
    world.ours(f"OPTIMIZE {fact.name} SORT BY ({column.name})")
    world.note("f")
    return f"sort by {column.id}"


def _overwrite(world: World) -> str:
    """All rows, or those of the partitions that are written, are replaced."""
    fact = _fact(world)
    world.spark(data.append(world.r, fact).replace("INSERT INTO", "INSERT OVERWRITE", 1))
    world.note("f")
    return "overwrite"


def _add_cube(world: World) -> str:
    world.add_cube()
    return "one more cube"
