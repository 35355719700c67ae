"""Runs the statements of our own against a session; each gives a small table of what it did.

Here is what runs those that need several services; a row of `statements/catalog.py` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.builds.segments.builder import Built
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import (
    AcceleratorError,
    BuildError,
    CancelledError,
    CubeNotFoundError,
    StatementError,
)
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.definitions import (
    bind_definition,
    cube_record,
    no_such_table,
    pinned_table,
    table_uuid,
)
from accelerator.query.statements.nodes import (
    AddConstraint,
    ApplyRecommendations,
    BuildAll,
    BuildCube,
    CompactCube,
    DropConstraint,
    DropCube,
    EstimateCube,
    NotBuilt,
    PublishCube,
    ShowConstraints,
    ShowCubes,
    ShowStatistics,
    Statement,
    UndropCube,
    VacuumTable,
    ValidateConstraint,
)
from accelerator.services import publish
from accelerator.services.ddl import indexes as indexing
from accelerator.services.ddl.constraints import declare, validate
from accelerator.services.ddl.cubes import estimate, recycle_bin
from accelerator.services.ddl.cubes.build_handle import Build, start_build
from accelerator.services.refresh import ddl as refreshing
from accelerator.services.vacuum import vacuum as vacuuming
from accelerator.services.vacuum.vacuum import VacuumScope
from accelerator.store import BESIDE, CubeRecord, Report
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

__all__ = ["Build", "execute", "start_build", "vacuum"]

Row = Mapping[str, Any]
Rows = Iterable[Row]


def execute(
    statement: Statement, services: Services, own: Mapping[type, Callable[[Any], Rows]]
) -> pa.Table:
    """Runs one statement; its answer as rows. `own` are those that the session runs itself."""
    if isinstance(statement, NotBuilt):
        raise statement.error()
    form = FORM_OF.get(type(statement))
    if form is None:
        raise StatementError(f"{type(statement).__name__} isn't a statement of ours")
    run = own.get(form.kind)
    return form.table(form.handler(statement, services) if run is None else run(statement))


def explain_create_cube(statement: EstimateCube, services: Services) -> Row:
    """EXPLAIN CREATE CUBE."""
    cube = bind_definition(services, statement.cube.select_sql)
    target = services.builder.target(cube_record(statement.cube, services, cube))
    return estimate.estimate(services, target)


def build_cube(statement: BuildCube, services: Services) -> Built:
    """BUILD CUBE."""
    return start_build(services, statement.name, wait=True, progress=None).wait()


def build_all(statement: BuildAll, services: Services) -> list[Built]:
    """BUILD ALL: a cube or index that fails doesn't keep the others from being built."""
    facts = services.lake.pin().table(statement.table)
    if facts is None:
        raise no_such_table(services, joined(statement.table))
    every = [record for record, _ in services.planner.cubes_of(facts.uuid)]
    records = [record for record in every if not record.name.endswith(BESIDE)]
    names = [record.name for record in services.builder.finest_first(records)]
    built: list[Built] = []
    failed: dict[str, AcceleratorError] = {}
    for name in names:
        try:
            built.append(build_cube(BuildCube(name), services))
        except CancelledError:
            raise
        except AcceleratorError as error:  # the others are built first
            failed[name] = error
    made = indexing.build_all(services, facts.uuid)
    if failed:
        raise _failed(failed, len(names))
    return built + [Built(b.index, b.files, 0, b.rows, b.bytes) for b in made]


def _failed(failed: Mapping[str, AcceleratorError], of: int) -> AcceleratorError:
    """The one error, or one that names all cubes that weren't built."""
    first = next(iter(failed.values()))
    if len(failed) == 1:
        return first
    told = "; ".join(f"{name}: {error.message}" for name, error in failed.items())
    return BuildError(f"{len(failed)} of {of} cubes were not built: {told}", hint=first.hint)


def compact_cube(statement: CompactCube, services: Services) -> Built:
    """COMPACT CUBE."""
    record = services.store.registry().named(statement.name)
    with services.cancellation.tracked() as tag:
        return services.builder.compact(record, tag=tag)


def publish_cube(statement: PublishCube, services: Services) -> Row:
    """PUBLISH CUBE."""
    record = services.store.registry().named(statement.name)
    return {
        "cube": record.name,
        "table": publish.publish(services, record, statement.target),
    }


def drop_cube(statement: DropCube, services: Services) -> Rows:
    """DROP CUBE."""
    try:
        recycle_bin.drop(services, statement.name, force=statement.force)
    except CubeNotFoundError:  # known only now: what was read before may be old
        if not statement.if_exists:
            raise
        return []
    return [{"cube": statement.name}]


def undrop_cube(statement: UndropCube, services: Services) -> Row:
    """UNDROP CUBE."""
    return {"cube": recycle_bin.undrop(services, statement.name, statement.new_name)}


def show_statistics(statement: ShowStatistics, services: Services) -> Rows:
    """SHOW STATISTICS."""
    from accelerator.services.statistics.metadata_statistics import (
        shown,  # imports Arrow's compute module
    )

    return shown(pinned_table(services, statement.table))


def apply_recommendations(statement: ApplyRecommendations, services: Services) -> Rows:
    """APPLY RECOMMENDATIONS."""
    from accelerator.services.advisor.ddl import run_apply

    return run_apply(statement, services, lambda one: execute(one, services, {}))


def show_cubes(statement: ShowCubes, services: Services) -> Rows:
    """SHOW CUBES."""
    wanted = table_uuid(services, statement.table)
    uses, followed = services.uses.known(), refreshing.Shown(services)
    return [
        _cube_row(services, record, followed)
        | uses.of_cube(record.name, record.created_ms).columns()
        for name, record in sorted(services.store.registry().cubes.items())
        if wanted in (None, record.table_uuid)
    ]


def _cube_row(services: Services, record: CubeRecord, followed: refreshing.Shown) -> dict[str, Any]:
    row: dict[str, Any] = {
        "cube": record.name,
        "table": record.table,
        "created": record.created_ms,
        "published": record.published,
        "definition": record.sql,
        **followed.of(record),
    }
    try:
        target = services.builder.target(record)
        coverage = services.builder.coverage(target)
    except (AcceleratorError, ValueError) as error:
        return row | {"status": str(error).splitlines()[0]}
    total = len(target.pinned[0].live_files())
    status = "complete" if not coverage.uncovered else "partial"
    return row | {
        "files_covered": total - len(coverage.uncovered),
        "files_total": total,
        "segments": len(coverage.segments),
        "rows": sum(s.rows for s in coverage.segments),
        "bytes": sum(s.bytes for s in coverage.segments),
        "lag_s": followed.lag_of_cube(target),
        "status": status if record.disabled is None else f"disabled: {record.disabled}",
    }


def add_constraint(statement: AddConstraint, services: Services) -> Row:
    """ADD CONSTRAINT."""
    declare.add(services.lake, statement.table, statement.constraint, enforced=statement.enforced)
    return {"constraint": statement.constraint.name}


def drop_constraint(statement: DropConstraint, services: Services) -> Row:
    """DROP CONSTRAINT."""
    declare.drop(services.lake, statement.table, statement.name, if_exists=statement.if_exists)
    return {"constraint": statement.name}


def validate_constraint(statement: ValidateConstraint, services: Services) -> Row:
    """VALIDATE CONSTRAINT."""
    found = declare.find(services.lake, statement.table, statement.name)
    run = partial(services.plain_table, built=True)
    return validate.validate(services.lake, statement.table, found, run).row()


def show_constraints(statement: ShowConstraints, services: Services) -> Rows:
    """SHOW CONSTRAINTS."""
    return declare.show(services.lake, statement.table)


def vacuum(statement: VacuumTable, services: Services) -> Report:
    """Deletes garbage of a table's store; UnknownTableError where it isn't an Iceberg table.

    StatementError where the hours aren't a number of hours.
    """
    if statement.hours is not None and not 0 <= statement.hours < float("inf"):
        raise StatementError(
            f"nothing can be retained for {statement.hours} hours",
            hint="give a number of hours, 0 or more",
        )
    table = services.lake.pin(fresh=True).described(statement.table)
    if table is None:
        raise no_such_table(services, joined(statement.table))
    services.frames.sweep()  # what nobody reads any more holds nothing back
    scope = VacuumScope(statement.full, statement.snapshots, statement.hours, statement.dry_run)
    return vacuuming.vacuum(services, table, scope, then=services.log.tidy)


def vacuum_table(statement: VacuumTable, services: Services) -> Rows:
    """VACUUM."""
    report = vacuum(statement, services)
    return [as_dict(line) | {"requests": report.requests} for line in report.lines]
