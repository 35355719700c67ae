"""Runs the statements of our own against a session; each gives a small table of what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.builds.segments.builder import Built
from accelerator.common.records import as_dict
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
    table_uuid,
)
from accelerator.query.statements.nodes import (
    AddConstraint,
    AddRelateColumn,
    Analyze,
    ApplyRecommendations,
    BuildAll,
    BuildCube,
    BuildIndex,
    BuildStatistics,
    CompactCube,
    CreateCube,
    CreateIndex,
    DropConstraint,
    DropCube,
    DropIndex,
    DropRelateColumn,
    DropStatistics,
    EstimateCube,
    NotBuilt,
    OptimizeTable,
    PublishCube,
    SetCubeRefresh,
    SetIndexRefresh,
    ShowAdviceResults,
    ShowConstraints,
    ShowCoverage,
    ShowCubes,
    ShowIndexes,
    ShowQueries,
    ShowRecommendations,
    ShowRecycleBin,
    ShowRelateColumns,
    ShowStatistics,
    Statement,
    UndropCube,
    VacuumTable,
    ValidateConstraint,
)
from accelerator.services import publish
from accelerator.services.ddl import indexes as indexing
from accelerator.services.ddl.constraints import declare, validate
from accelerator.services.ddl.cubes import create, estimate, recycle_bin
from accelerator.services.ddl.cubes.build_handle import Build, start_build
from accelerator.services.refresh import ddl as refreshing
from accelerator.services.vacuum import vacuum as vacuuming
from accelerator.services.vacuum.vacuum import VacuumScope
from accelerator.store import BESIDE, CubeRecord, Report
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

__all__ = ["Build", "execute", "is_ours", "start_build", "vacuum"]

Rows = Iterable[Mapping[str, Any]]
Run = Callable[[Any, "Services"], Rows | pa.Table]


def is_ours(statement: Statement, services: Services) -> bool:
    """Whether the statement is for us: its words are ours alone, or its table is an Iceberg one."""
    table = getattr(statement, "table", None)
    form = FORM_OF.get(type(statement))
    if table is None or (form is not None and form.always):
        return True
    return services.lake.pin().described(table) is not None


def execute(
    statement: Statement, services: Services, own: Mapping[type, Callable[[Any], Rows]]
) -> pa.Table:
    """Runs one statement; its answer as rows. `own` are those that the session runs itself."""
    if isinstance(statement, NotBuilt):
        raise statement.error()
    form, run = FORM_OF.get(type(statement)), _RUN.get(type(statement))
    if form is None:
        raise StatementError(f"{type(statement).__name__} isn't a statement of ours")
    rows = own[form.kind](statement) if run is None else run(statement, services)
    return rows if isinstance(rows, pa.Table) else form.table(rows)


def _cube(services: Services, name: str) -> CubeRecord:
    return services.store.registry().named(name)


def _estimate(statement: EstimateCube, services: Services) -> Rows:
    services.builder.check_store()
    cube = bind_definition(services, statement.cube.select_sql)
    target = services.builder.target(cube_record(statement.cube, services, cube))
    return [estimate.estimate(services, target)]


def _create(statement: CreateCube, services: Services) -> Rows:
    return _built_rows(create.create(statement, services))


def _build(statement: BuildCube, services: Services) -> Rows:
    return _built_rows(start_build(services, statement.name, wait=True, progress=None).wait())


def _build_all(statement: BuildAll, services: Services) -> Rows:
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
            built.append(start_build(services, name, wait=True, progress=None).wait())
        except CancelledError:
            raise
        except AcceleratorError as error:  # the others are built first
            failed[name] = error
    made = indexing.build_all(services, facts.uuid)
    if failed:
        raise _failed(failed, len(names))
    return _built_rows(*built, *(Built(b.index, b.files, 0, b.rows, b.bytes) for b in made))


def _failed(failed: Mapping[str, AcceleratorError], of: int) -> AcceleratorError:
    """The one error, or one that names all cubes that weren't built."""
    first = next(iter(failed.values()))
    if len(failed) == 1:
        return first
    told = "; ".join(f"{name}: {error.message}" for name, error in failed.items())
    return BuildError(f"{len(failed)} of {of} cubes were not built: {told}", hint=first.hint)


def _create_index(statement: CreateIndex, services: Services) -> Rows:
    pinned = services.lake.pin().pinned(statement.table)
    if pinned is None:
        raise no_such_table(services, joined(statement.table))
    return indexing.create(statement, services, pinned)


def _drop_index(statement: DropIndex, services: Services) -> Rows:
    return [{"index": name} for name in indexing.drop(statement, services)]


def _show_indexes(statement: ShowIndexes, services: Services) -> Rows:
    return indexing.show(services, table_uuid(services, statement.table))


def _compact(statement: CompactCube, services: Services) -> Rows:
    with services.cancellation.tracked() as tag:
        return _built_rows(services.builder.compact(_cube(services, statement.name), tag=tag))


def _publish(statement: PublishCube, services: Services) -> Rows:
    record = _cube(services, statement.name)
    table = publish.publish(services, record, statement.table)
    return [{"cube": record.name, "table": table}]


def _drop(statement: DropCube, services: Services) -> Rows:
    try:
        recycle_bin.drop(services, statement.name, force=statement.force)
    except CubeNotFoundError:  # known only now: what was read before may be old
        if not statement.if_exists:
            raise
        return []
    return [{"cube": statement.name}]


def _undrop(statement: UndropCube, services: Services) -> Rows:
    return [{"cube": recycle_bin.undrop(services, statement.name, statement.new_name)}]


def _show_bin(statement: ShowRecycleBin, services: Services) -> Rows:
    return recycle_bin.show(services, table_uuid(services, statement.table))


def _show_statistics(statement: ShowStatistics, services: Services) -> Rows:
    from accelerator.services.statistics.metadata_statistics import (
        shown,  # imports Arrow's compute module
    )

    pinned = services.lake.pin().pinned(statement.table)
    if pinned is None:
        raise no_such_table(services, joined(statement.table))
    return shown(pinned)


def _build_statistics(statement: BuildStatistics, services: Services) -> Rows:
    from accelerator.services.statistics.ddl import run_build  # imports DataSketches

    return run_build(statement, services)


def _drop_statistics(statement: DropStatistics, services: Services) -> Rows:
    from accelerator.services.statistics.ddl import run_drop

    return run_drop(statement, services)


def _show_queries(statement: ShowQueries, services: Services) -> Rows:
    from accelerator.services.ddl.show_queries import shown  # imports Arrow's compute module

    services.log.unwritten()
    return shown(statement, services.store.files)


def _analyze(statement: Analyze, services: Services) -> Rows:
    from accelerator.services.advisor.ddl import run_analyze  # imports Arrow's compute module

    return run_analyze(statement, services)


def _show_recommendations(statement: ShowRecommendations, services: Services) -> Rows:
    from accelerator.services.advisor.ddl import show

    return show(statement, services)


def _show_results(statement: ShowAdviceResults, services: Services) -> Rows:
    from accelerator.services.advisor.results import show  # imports Arrow's compute module

    services.log.unwritten()
    return show(services, table_uuid(services, statement.table))


def _apply(statement: ApplyRecommendations, services: Services) -> Rows:
    from accelerator.services.advisor.ddl import run_apply

    return run_apply(statement, services, lambda one: execute(one, services, {}))


def _show_cubes(statement: ShowCubes, services: Services) -> Rows:
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


def _show_coverage(statement: ShowCoverage, services: Services) -> pa.Table:
    from accelerator.services.coverage.show import shown  # imports Arrow's compute module

    pinned = None
    if statement.table is not None:
        pinned = services.lake.pin().pinned(statement.table)
        if pinned is None:
            raise no_such_table(services, joined(statement.table))
    return shown(statement, services, pinned)


def _built_rows(*built: Built) -> Rows:
    return [as_dict(one) for one in built]


def _add_constraint(statement: AddConstraint, services: Services) -> Rows:
    declare.add(services.lake, statement.table, statement.constraint, enforced=statement.enforced)
    return [{"constraint": statement.constraint.name}]


def _drop_constraint(statement: DropConstraint, services: Services) -> Rows:
    declare.drop(services.lake, statement.table, statement.name, if_exists=statement.if_exists)
    return [{"constraint": statement.name}]


def _validate(statement: ValidateConstraint, services: Services) -> Rows:
    found = declare.find(services.lake, statement.table, statement.name)
    run = partial(services.plain_table, built=True)
    return [validate.validate(services.lake, statement.table, found, run).row()]


def _show_constraints(statement: ShowConstraints, services: Services) -> Rows:
    return declare.show(services.lake, statement.table)


def _add_relate(statement: AddRelateColumn, services: Services) -> Rows:
    from accelerator.services.ddl import relate_columns as relate  # imports Arrow's compute module

    return [{"relate_column": name} for name in relate.add(statement, services)]


def _drop_relate(statement: DropRelateColumn, services: Services) -> Rows:
    from accelerator.services.ddl import relate_columns as relate

    return [{"relate_column": name} for name in relate.drop(statement, services)]


def _show_relate(statement: ShowRelateColumns, services: Services) -> Rows:
    from accelerator.services.ddl import relate_columns as relate

    return relate.show(statement.table, services)


def _optimize(statement: OptimizeTable, services: Services) -> Rows:
    from accelerator.services.clustering.optimize import optimize  # imports Arrow's compute module

    return [optimize(statement, services)]


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


def _vacuum(statement: VacuumTable, services: Services) -> Rows:
    report = vacuum(statement, services)
    return [as_dict(line) | {"requests": report.requests} for line in report.lines]


_RUN: Mapping[type, Run] = {
    CreateCube: _create,
    EstimateCube: _estimate,
    BuildCube: _build,
    BuildAll: _build_all,
    BuildStatistics: _build_statistics,
    DropStatistics: _drop_statistics,
    CompactCube: _compact,
    PublishCube: _publish,
    DropCube: _drop,
    CreateIndex: _create_index,
    BuildIndex: indexing.build_named,
    DropIndex: _drop_index,
    SetCubeRefresh: refreshing.set_cube,
    SetIndexRefresh: refreshing.set_index,
    ShowIndexes: _show_indexes,
    UndropCube: _undrop,
    ShowCubes: _show_cubes,
    ShowCoverage: _show_coverage,
    ShowRecycleBin: _show_bin,
    ShowStatistics: _show_statistics,
    ShowQueries: _show_queries,
    Analyze: _analyze,
    ShowRecommendations: _show_recommendations,
    ShowAdviceResults: _show_results,
    ApplyRecommendations: _apply,
    AddConstraint: _add_constraint,
    DropConstraint: _drop_constraint,
    ValidateConstraint: _validate,
    ShowConstraints: _show_constraints,
    AddRelateColumn: _add_relate,
    DropRelateColumn: _drop_relate,
    ShowRelateColumns: _show_relate,
    VacuumTable: _vacuum,
    OptimizeTable: _optimize,
}
