"""CREATE CUBE: registers a cube and builds it.

CREATE OR REPLACE builds the new cube beside the old one, under a name of its own, and puts it in
the old one's place by one commit. If the build fails, the old one stays in force, and the same
statement goes on with what was built.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from accelerator.builds.segments.builder import Built
from accelerator.errors import (
    AcceleratorError,
    BuildError,
    CancelledError,
    CubeExistsError,
    CubeNotFoundError,
    SparkMissingError,
    StatementError,
)
from accelerator.query.statements.definitions import bind_definition, cube_record
from accelerator.query.statements.nodes import CreateCube
from accelerator.services import publish
from accelerator.services.advisor.apply import user_changes
from accelerator.services.ddl.cubes.build_handle import start_build
from accelerator.store import BESIDE, CubeRecord
from accelerator.store.log.chunks import compact_json

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services


def create(statement: CreateCube, services: Services) -> Built:
    """Registers a cube and builds it, unless DEFERRED.

    CubeExistsError for a name in use, StatementError for one that replacing needs.
    """
    check_name(statement.name)
    cube = bind_definition(services, statement.select_sql)
    existing = services.store.registry().cubes.get(statement.name)
    if existing is not None and statement.if_not_exists:
        return Built(statement.name)
    if existing is not None and not statement.replace:
        raise CubeExistsError(
            f"a cube named {statement.name} exists",
            hint="drop it, choose another name, or say CREATE OR REPLACE CUBE",
        )
    record = cube_record(statement, services, cube)
    if existing is not None and not statement.deferred:
        return _replace(services, existing, record)
    if not statement.deferred:
        services.builder.check_spark(record)
    if existing is not None:
        publish.check_drop(services, existing)
        user_changes.note(services, "dropped", existing)
    try:
        services.store.create_cube(record, replace=statement.replace)
    except CubeExistsError:  # somebody else was quicker, or what was read before is old
        if not statement.if_not_exists:
            raise
        return Built(statement.name)
    if existing is not None:
        publish.drop_published(services, existing)
    return Built(statement.name) if statement.deferred else _built(services, record)


def check_name(name: str) -> None:
    """StatementError for a name that replacing a cube needs."""
    if name.endswith(BESIDE):
        raise StatementError(
            f"{name} is the name of a cube that is being replaced",
            hint=f"choose a name that doesn't end in {BESIDE}",
        )


def _built(services: Services, record: CubeRecord) -> Built:
    """Builds a cube that was just registered. Nothing stays of one that can't have a cell."""
    try:
        return start_build(services, record.name, wait=True, progress=None).wait()
    except (BuildError, SparkMissingError):
        _end_if_empty(services, record)
        raise


def _replace(services: Services, existing: CubeRecord, record: CubeRecord) -> Built:
    """Builds the new cube beside the old one, and puts it in its place."""
    services.store.check_writable()
    publish.check_drop(services, existing)
    beside = _beside(services, replace(record, name=record.name + BESIDE))
    services.builder.check_spark(beside)
    with suppress(CubeExistsError):  # of a build that was stopped, and goes on
        services.store.create_cube(beside)
    try:
        built = start_build(services, beside.name, wait=True, progress=None).wait()
        user_changes.note(services, "dropped", existing)
        old = services.store.rename_cube(beside.name, record.name, cube_id=beside.id)
    except (BuildError, SparkMissingError, CancelledError):
        _end_if_empty(services, beside)
        raise
    except CubeNotFoundError as error:
        raise BuildError(
            f"cube {record.name} was replaced, or dropped, by another statement at the same time",
            hint="SHOW CUBES lists the definitions in force; repeat the statement if one lacks",
        ) from error
    if old is not None:
        publish.drop_published(services, old)
    return replace(built, cube=record.name)


def _beside(services: Services, wanted: CubeRecord) -> CubeRecord:
    """The cube of that name and definition, if a build was stopped; else the one that is wanted."""
    left = services.store.registry(fresh=True).cubes.get(wanted.name)
    if left is None:
        return wanted
    if _meaning(left) == _meaning(wanted):
        return left
    with suppress(CubeNotFoundError):
        services.store.drop_cube(left.name, cube_id=left.id)
    return wanted


def _meaning(record: CubeRecord) -> str:
    facts = record.to_json()
    return compact_json([facts[key] for key in ("table_uuid", "definition", "settings")])


def _end_if_empty(services: Services, record: CubeRecord) -> None:
    """Drops a cube without cells; what has some can be gone on with."""
    if not services.store.table(record.table_uuid).of(record.id):
        with suppress(AcceleratorError):
            services.store.drop_cube(record.name, cube_id=record.id)
