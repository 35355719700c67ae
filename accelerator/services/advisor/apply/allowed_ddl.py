"""What a recommendation's DDL does: the action on the object that it says, and nothing else.

The text is parsed again as if a stranger had written it.
"""

from __future__ import annotations

from accelerator.errors import AcceleratorError, AdviceStaleError
from accelerator.query.statements.nodes import (
    AddRelateColumn,
    CreateCube,
    CreateIndex,
    DropCube,
    DropIndex,
    DropRelateColumn,
    OptimizeTable,
)
from accelerator.query.statements.parse import parse_statement
from accelerator.store.journals.advice import Recommendation
from rewrite.identifiers.qualified_name import parts_of

Doable = (
    CreateCube
    | DropCube
    | CreateIndex
    | DropIndex
    | AddRelateColumn
    | DropRelateColumn
    | OptimizeTable
)


def statement_of(one: Recommendation) -> Doable:
    """The statement that its DDL is; AdviceStaleError where that isn't what it says it does."""
    try:
        found = parse_statement(one.ddl)
        table = parts_of(one.table)
    except AcceleratorError as error:
        raise _damaged(one) from error
    match one.action, found:
        case "CREATE CUBE", CreateCube() if found == CreateCube(one.cube, found.select_sql):
            return found
        case "DROP CUBE", DropCube() if found == DropCube(one.cube):
            return found
        case "CREATE INDEX", CreateIndex() if found == CreateIndex(
            one.index, table, found.kind, found.column
        ):
            return found
        case "DROP INDEX", DropIndex() if found == DropIndex(one.index):
            return found
        case "ADD RELATE COLUMN", AddRelateColumn() if found == AddRelateColumn(
            table, found.source, found.equalities, one.relate
        ):
            return found
        case "DROP RELATE COLUMN", DropRelateColumn() if found == DropRelateColumn(
            table, one.relate
        ):
            return found
        case "OPTIMIZE", OptimizeTable() if found == OptimizeTable(table, found.order, found.keys):
            return found
    raise _damaged(one)


def _damaged(one: Recommendation) -> AdviceStaleError:
    return AdviceStaleError(
        f"the recommendation {one.id} isn't what it was: its DDL does something else",
        hint="ANALYZE makes it anew",
    )
