"""The grammar of our ALTER statements: constraints and relate columns of tables, and SET REFRESH.

Spark 4.1 has the same words for constraints. CHECK stays Spark's; the session gives the others to
Spark too where the table isn't an Iceberg table of its own.
"""

from __future__ import annotations

from accelerator.common.config import refresh_schedule
from accelerator.errors import StatementError
from accelerator.query.statements.catalog import EXAMPLES
from accelerator.query.statements.constraint import Constraint, Kind
from accelerator.query.statements.cursor import Reader
from accelerator.query.statements.nodes import (
    AddConstraint,
    AddRelateColumn,
    DropConstraint,
    DropRelateColumn,
    SetCubeRefresh,
    SetIndexRefresh,
    Statement,
    ValidateConstraint,
)


def alter(reader: Reader) -> Statement | None:
    """Behind ALTER. Of tables ours where it's about constraints that are hints, or relate columns.

    No statement of Spark's is about a cube or an index.
    """
    if reader.take("CUBE"):
        reader.meant(EXAMPLES["ALTER CUBE"])
        return SetCubeRefresh(reader.cube(), _refresh(reader))
    if reader.take("INDEX"):
        reader.meant(EXAMPLES["ALTER INDEX"])
        return SetIndexRefresh(reader.name("the index's name"), _refresh(reader))
    if not reader.take("TABLE"):
        return None
    try:
        table = reader.table()
    except StatementError:
        return None  # IDENTIFIER(…) and the like: Spark's to read
    if reader.take("ADD", "CONSTRAINT"):
        return _add_constraint(reader, table)
    if reader.take("DROP", "CONSTRAINT"):
        return _drop_constraint(reader, table)
    if reader.take("VALIDATE"):
        reader.meant(EXAMPLES["VALIDATE CONSTRAINT"])
        reader.expect("CONSTRAINT")
        return reader.ended(ValidateConstraint(table, reader.name("the constraint's name")))
    if reader.take("ADD", "RELATE", "COLUMN"):
        return _add_relate(reader, table)
    if reader.take("DROP", "RELATE", "COLUMN"):
        reader.meant(EXAMPLES["DROP RELATE COLUMN"])
        if_exists = reader.take("IF", "EXISTS")
        name = reader.name("the relate column's name")
        return reader.ended(DropRelateColumn(table, name, if_exists))
    return None


def _refresh(reader: Reader) -> str | None:
    """SET REFRESH = …, up to the end; as the store's records have it, None for the default."""
    reader.expect("SET", "REFRESH", "=")
    if reader.take("ON"):
        reader.expect("COMMIT")
        return reader.ended(refresh_schedule.ON_COMMIT.text)
    if reader.take("MANUAL"):
        return reader.ended(refresh_schedule.MANUAL.text)
    if reader.take("DEFAULT"):
        return reader.ended(None)
    if not reader.take("EVERY"):
        raise reader.error("ON COMMIT, EVERY and an interval in quotes, MANUAL or DEFAULT")
    text = reader.quoted("an interval in quotes, '10 minutes'")
    try:
        found = refresh_schedule.every(text)
    except StatementError as error:
        raise reader.wrong(error) from error
    return reader.ended(found.text)


def _add_relate(reader: Reader, table: tuple[str, ...]) -> AddRelateColumn:
    reader.meant(EXAMPLES["ADD RELATE COLUMN"])
    name = "" if reader.at("FROM") else reader.name("the relate column's name, or FROM")
    reader.expect("FROM")
    if not reader.at_path_before("ON"):
        return _add_expression(reader, table, name)
    source = reader.path("the attribute, behind its table's name and a dot")
    if len(source) < 2:
        raise reader.error("a dot and the attribute's name")
    if name and source[-1].lower() != name.lower():
        raise reader.error(f"ON, behind an attribute that is called {name} (AS name renames it)")
    equalities = _equalities(reader)
    own = reader.name("the relate column's name") if reader.take("AS") else ""
    return reader.ended(AddRelateColumn(table, source, equalities, own))


def _add_expression(reader: Reader, table: tuple[str, ...], name: str) -> AddRelateColumn:
    """What stands behind FROM is more than an attribute's name: it needs a name, in one place."""
    text = reader.text_before("ON")
    equalities = _equalities(reader)
    if not name:
        reader.expect("AS")
        name = reader.name("the relate column's name")
    return reader.ended(AddRelateColumn(table, (), equalities, name, text))


def _equalities(reader: Reader) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    reader.expect("ON")
    found = [_equality(reader)]
    while reader.take("AND"):
        found.append(_equality(reader))
    return tuple(found)


def _equality(reader: Reader) -> tuple[tuple[str, ...], tuple[str, ...]]:
    left = reader.path("a column's name")
    reader.expect("=")
    return left, reader.path("a column's name")


def _add_constraint(reader: Reader, table: tuple[str, ...]) -> AddConstraint | None:
    reader.meant(EXAMPLES["ADD CONSTRAINT"])
    if reader.at("CHECK"):
        return None
    name = reader.name("the constraint's name")
    kind = _constraint_kind(reader)
    if kind is None:
        return None  # CHECK (…) is Spark's
    columns = reader.columns()
    references: tuple[str, ...] | None = None
    there: tuple[str, ...] = ()
    if kind == "foreign_key":
        reader.expect("REFERENCES")
        references = reader.table()
        there = reader.columns() if reader.at("(") else ()
    enforced, rely = _characteristics(reader)
    constraint = Constraint(name, kind, columns, references, there, rely)
    return reader.ended(AddConstraint(table, constraint, enforced))


def _constraint_kind(reader: Reader) -> Kind | None:
    if reader.take("PRIMARY", "KEY"):
        return "primary_key"
    if reader.take("FOREIGN", "KEY"):
        return "foreign_key"
    return "unique" if reader.take("UNIQUE") else None


def _characteristics(reader: Reader) -> tuple[bool, bool]:
    """(enforced, rely) from what stands behind the columns, in any order."""
    enforced, rely = True, False
    while True:
        if reader.take("NOT", "ENFORCED"):
            enforced = False
        elif reader.take("ENFORCED"):
            enforced = True
        elif reader.take("RELY") or reader.at("NORELY"):
            rely = not reader.take("NORELY")
        else:
            return enforced, rely


def _drop_constraint(reader: Reader, table: tuple[str, ...]) -> DropConstraint:
    reader.meant(EXAMPLES["DROP CONSTRAINT"])
    if_exists = reader.take("IF", "EXISTS")
    name = reader.name("the constraint's name")
    # Spark's words; nothing depends on a hint, so both mean the same.
    _ = reader.take("RESTRICT") or reader.take("CASCADE")
    return reader.ended(DropConstraint(table, name, if_exists))
