"""What a cube's SELECT defines, and what is wrong where it defines nothing or names no table."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from msgspec.structs import replace
from sqlglot.errors import SqlglotError

from accelerator.errors import (
    AcceleratorError,
    DefinitionError,
    NotIcebergError,
    StatementError,
    StatementTooDeepError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.query.early_errors.check import check, raise_fault
from accelerator.query.early_errors.known_spark import is_known
from accelerator.query.early_errors.lake_tables import LakeTables
from accelerator.query.statements.nodes import CreateCube, Query
from accelerator.store import CubeRecord
from cubes.definition import CubeDefinition, define_stored, to_dict
from rewrite.analysis.syntax_errors import syntax_fault
from rewrite.analysis.unknown_names import COLUMN, TABLE
from rewrite.bind.calls.known_words import calls_ours
from rewrite.client import SPARK
from rewrite.identifiers.qualified_name import joined, parts_of
from rewrite.parse.bounds import HINT, TooDeepError
from rewrite.reason import DeclinedError
from rewrite.text.suggestions import did_you_mean

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable
    from accelerator.query.runtime.services import Services

_UNKNOWN = "table_unknown"


def bind_definition(services: Services, select_sql: str) -> CubeDefinition:
    """The cube that a SELECT describes; typed errors for what it can't hold."""
    try:
        block, pin = services.planner.bind(select_sql)
    except DeclinedError as error:
        if not error.name and error.declined.code != _UNKNOWN:
            _check(services, select_sql)
        raise _definition_error(services, error) from error
    except TooDeepError as error:
        raise StatementTooDeepError(
            f"the cube's SELECT isn't parsed: {error}", hint=HINT
        ) from error
    except SqlglotError as error:
        _check(services, select_sql)
        raise DefinitionError(
            f"the cube's SELECT can't be parsed: {str(error).splitlines()[0]}",
            hint="run the SELECT by itself: Spark says where it is wrong",
        ) from error
    except RecursionError as error:
        raise StatementTooDeepError("the cube's SELECT is nested too deeply", hint=HINT) from error
    if calls_ours(select_sql):
        raise DefinitionError(
            "has_token and match can't stand in a cube: another release may cut texts otherwise",
            hint="keep the text's column as a dimension where it has few values",
        )
    for occurrence in block.occurrences:
        if pin.table(occurrence.parts, occurrence.at) is None:
            raise UnknownTableError(f"no table {joined(occurrence.parts)}")
    return define_stored(block)


def _check(services: Services, select_sql: str) -> None:
    """Raises the typed error for a SELECT that Spark surely refuses, too."""
    if services.spark_source.started or not is_known(services.config):
        return
    tables = LakeTables(services.lake, services.config.catalog_name)
    fault = syntax_fault(select_sql)
    raise_fault(None if fault is None else replace(fault, at=None))  # a place in the SELECT alone
    check(Query(select_sql, select_sql, translated=True), tables)


def no_such_state(services: Services, error: DeclinedError) -> AcceleratorError:
    """What a name in FROM that isn't a table here means."""
    declined = error.declined
    if declined.code == _UNKNOWN:
        return no_such_table(services, declined.detail.removeprefix("The table ").rstrip("."))
    return StatementError(declined.sentence, hint="docs/reference/sql.md, States of a table")


def no_such_table(services: Services, name: str) -> AcceleratorError:
    """Unknown, or known to Spark as something else; Spark isn't started for the difference."""
    hint = "a cube's tables are Iceberg tables of this session's catalogs; views don't count"
    if services.spark_source.started and services.engine.session.catalog.tableExists(name):
        return NotIcebergError(f"{name} isn't an Iceberg table", hint=hint)
    near = LakeTables(services.lake, services.context.catalog()).near(parts_of(name))
    return UnknownTableError(
        f"there is no Iceberg table {name}",
        hint=did_you_mean(near) or hint,
        error_class=TABLE,
        suggestions=near,
        unknown=name,
    )


def pinned_table(services: Services, table: tuple[str, ...]) -> PinnedTable:
    """The table that a statement is about. As `no_such_table`."""
    found = services.lake.pin().pinned(table)
    if found is None:
        raise no_such_table(services, joined(table))
    return found


def table_uuid(services: Services, table: tuple[str, ...] | None) -> str | None:
    """The table that a statement is about; None where it names none. As `no_such_table`."""
    if table is None:
        return None
    found = services.lake.pin().described(table)
    if found is None:
        raise no_such_table(services, joined(table))
    return found.facts.uuid


def _definition_error(services: Services, error: DeclinedError) -> AcceleratorError:
    declined = error.declined
    if declined.code == _UNKNOWN:
        return no_such_state(services, error)
    if error.name:
        several = declined.code == "name_ambiguous"
        return UnknownColumnError(
            f"{'several tables have' if several else 'no table here has'} a column {error.name}",
            hint=did_you_mean(error.near)
            or "check the spelling, or qualify the name with its table",
            error_class="AMBIGUOUS_REFERENCE" if several else COLUMN,
            suggestions=error.near,
            unknown=error.name,
        )
    return DefinitionError(
        declined.sentence, hint="docs/reference/sql.md says what a cube's SELECT may hold"
    )


def cube_record(statement: CreateCube, services: Services, cube: CubeDefinition) -> CubeRecord:
    """Returns the record that CREATE CUBE registers."""
    return CubeRecord(
        id=statement.cube_id or uuid.uuid4().hex,
        name=statement.name,
        table=cube.fact.name,
        table_uuid=cube.fact.uuid,
        sql=statement.select_sql,
        dialect=SPARK,
        created_ms=int(time.time() * 1000),
        settings=tuple(sorted(services.context.settings().items())),
        definition=to_dict(cube),
    )
